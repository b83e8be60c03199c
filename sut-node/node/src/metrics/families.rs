//! The metrics of a SUT node by name. `docs/reference/metrics.md` has the same list; a test compares.

use lon_shell::metrics::family::{Family, counter, gauge, histogram, info};

pub(super) const BUILD: Family = info("lon_sut_build", "Build of the program.");
pub(super) const MODEL: Family =
    info("lon_sut_model", "Model that answers the samples, and its engine; empty where there is no model.");

pub(super) const CLAIMED: Family = gauge("lon_sut_claimed", "", "1 while a run or a probe has the node, else 0.");
pub(super) const STREAMS: Family = gauge("lon_sut_streams", "", "Dispatch streams that are open.");
pub(super) const IN_FLIGHT_SAMPLES: Family =
    gauge("lon_sut_in_flight", "samples", "Samples admitted whose answers have not been handed to the network.");
pub(super) const IN_FLIGHT_BYTES: Family =
    gauge("lon_sut_in_flight", "bytes", "Bytes of the samples in flight, as they came.");
pub(super) const WAITING: Family =
    gauge("lon_sut_waiting", "samples", "Samples that wait for a thread to decode them, or for a worker.");

pub(super) const RUNS_BEGUN: Family =
    counter("lon_sut_runs_begun", "", "Runs, each of their tenants, and probes that claimed the node.");
pub(super) const RUNS_ENDED: Family =
    counter("lon_sut_runs_ended", "", "Runs and probes that are over: ended by the client, or lapsed without it.");
pub(super) const REFUSED: Family =
    counter("lon_sut_claims_refused", "", "Claims that were refused because another run or probe had the node.");

pub(super) const RECEIVED: Family = counter("lon_sut_received", "samples", "Samples that came in whole.");
pub(super) const ANSWERED: Family =
    counter("lon_sut_answered", "samples", "Samples whose answers were ready, failed ones among them.");
pub(super) const FAILED: Family = counter("lon_sut_failed", "samples", "Samples that were answered with an error.");
pub(super) const NAN: Family = counter("lon_sut_nan", "samples", "Samples whose answers hold a NaN.");

pub(super) const NETWORK: Family =
    counter("lon_sut_network", "bytes", "Bytes of runs and probes, by layer and direction, as EndRun reports them.");
pub(super) const RETRANSMITS: Family =
    counter("lon_sut_retransmits", "", "Segments or packets that were sent again, where the system says it.");
pub(super) const HEARTBEATS: Family = counter("lon_sut_heartbeats", "", "Heartbeats that came and that were sent.");

pub(super) const STAGE: Family =
    histogram("lon_sut_stage", "seconds", "Time of answered samples in each stage that took them any; no probes.");
pub(super) const SAMPLE: Family =
    histogram("lon_sut_sample", "seconds", "Time of answered samples in all stages together; no probes.");
pub(super) const BATCH: Family = histogram("lon_sut_batch", "samples", "Samples in the batches that workers took.");
