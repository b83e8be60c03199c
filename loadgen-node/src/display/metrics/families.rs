//! The metrics of a run, by name.

use lon_shell::metrics::family::{Family, counter, gauge, histogram, info};

pub(super) const BUILD: Family = info("lon_loadgen_build", "Build of the program.");
pub(super) const RUN: Family = info(
    "lon_loadgen_run",
    "Benchmark and scenario of the run, its SUT, its transport, and each --label KEY=VALUE as label_KEY.",
);
pub(super) const PHASE: Family =
    gauge("lon_loadgen_phase", "", "Number of the phase that goes on, or of the last one; 0 before the first.");
pub(super) const RULES: Family = gauge(
    "lon_loadgen_rule_state",
    "",
    "State of each rule for a VALID result: 0 kept so far, 1 not kept yet, 2 not kept so far, 3 broken.",
);
pub(super) const FINISHED: Family = gauge("lon_loadgen_finished", "", "1 when the run is over and judged, else 0.");
pub(super) const VALID: Family = gauge("lon_loadgen_valid", "", "1 when the result is VALID, 0 when it is not.");

pub(super) const QUERIES: Family = counter("lon_loadgen_issued", "queries", "Queries issued.");
pub(super) const ISSUED: Family = counter("lon_loadgen_issued", "samples", "Samples issued.");
pub(super) const ANSWERED: Family = counter("lon_loadgen_answered", "samples", "Samples answered.");
pub(super) const FAILED: Family = counter("lon_loadgen_failed", "samples", "Samples that got no answer, by reason.");
pub(super) const OUTSTANDING: Family =
    gauge("lon_loadgen_outstanding", "samples", "Samples issued that have not ended.");

pub(super) const SENT: Family = counter("lon_loadgen_sent", "samples", "Samples sent in full to each node.");
pub(super) const IN_FLIGHT: Family =
    gauge("lon_loadgen_in_flight", "samples", "Samples that each node was given and that have not ended.");
pub(super) const LOST: Family = gauge("lon_loadgen_node_lost", "", "1 when the node was lost, else 0.");
pub(super) const NETWORK: Family = counter(
    "lon_loadgen_network",
    "bytes",
    "Bytes of the run's samples and answers by node, layer and direction; ingress is towards the SUT.",
);
pub(super) const RETRANSMITS: Family =
    counter("lon_loadgen_retransmits", "", "Segments or packets that this end sent again, where the system says it.");
pub(super) const BAD_ANSWERS: Family = counter(
    "lon_loadgen_bad_answers",
    "",
    "Answers to samples that had been answered, that had been given up, or that were never sent.",
);

pub(super) const LAG: Family =
    gauge("lon_loadgen_schedule_lag", "seconds", "Schedule lag of the phase so far: median, 99th percentile, largest.");
pub(super) const LATENCY: Family =
    histogram("lon_loadgen_latency", "seconds", "Latency of answered samples, from their scheduled time.");
pub(super) const FIRST_TOKEN: Family =
    histogram("lon_loadgen_first_token", "seconds", "Latency of first tokens, from the scheduled time of the sample.");
pub(super) const PER_TOKEN: Family =
    histogram("lon_loadgen_per_token", "seconds", "Time per output token after the first, of each sample.");
pub(super) const TOKENS: Family = counter("lon_loadgen_answered", "tokens", "Tokens in all answers.");
