//! Reports on a run: for `EndRun` and the log, and meanwhile for the client of a probe.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lon_machine::nic::{self, Traffic};
use lon_net::end_counters::EndCounters;
use lon_proto::codec::Codec;
use lon_proto::node_name::NodeName;
use lon_proto::v1;

use super::state::ClaimedRun;

/// The node's own account of a run that ends. From here on its sockets are not counted any more.
pub(crate) fn report(run: &ClaimedRun) -> v1::EndRunResponse {
    run.close_traffic();
    let nic = run.nic().and_then(|(interface, before)| {
        let Traffic { bytes_in, bytes_out } = nic::traffic(&interface.name)?.since(*before);
        Some(v1::NicTraffic { nic: Some(interface.clone().into()), bytes_in, bytes_out })
    });
    let processor_time = run.processor_time().map(v1::ProcessorTime::from);
    v1::EndRunResponse { nic, processor_time, ..counted(run) }
}

/// Returns the node's counts of the run until now, without its network interface and processors.
pub(crate) fn counted(run: &ClaimedRun) -> v1::EndRunResponse {
    let counters = &run.counters;
    let traffic = run.socket_traffic();
    let (payload_bytes_in, payload_bytes_out) =
        (counters.payload_bytes_in.load(Relaxed), counters.payload_bytes_out.load(Relaxed));
    // Without a codec the bytes are counted once: the payload is the tensors.
    let tensor = |codec: Codec, payload, raw: &AtomicU64| if codec.is_none() { payload } else { raw.load(Relaxed) };
    v1::EndRunResponse {
        samples_received: counters.received(),
        samples_answered: counters.answered(),
        samples_nan: counters.nan.load(Relaxed),
        samples_failed: counters.failed_by_kind().iter().sum(),
        message_bytes_in: counters.message_bytes_in.load(Relaxed),
        message_bytes_out: counters.message_bytes_out.load(Relaxed),
        payload_bytes_in,
        payload_bytes_out,
        heartbeats: counters.heartbeats.load(Relaxed),
        client_heartbeats: counters.client_heartbeats.load(Relaxed),
        tensor_bytes_in: tensor(run.codecs.samples, payload_bytes_in, &counters.raw_bytes_in),
        tensor_bytes_out: tensor(run.codecs.answers, payload_bytes_out, &counters.raw_bytes_out),
        socket_bytes_in: Some(traffic.bytes_in),
        socket_bytes_out: Some(traffic.bytes_out),
        retransmits: traffic.retransmits,
        nic: None,
        processor_time: None,
    }
}

/// Returns the resources and counts of this end of a probe until now.
pub(crate) fn probe_counters(run: &ClaimedRun) -> v1::ProbeCounters {
    EndCounters::now(run.local(), run.socket_traffic().retransmits, run.path()).into()
}

/// Logs the end of a run at this node.
pub(crate) fn log(run: &ClaimedRun, node: &NodeName, report: &v1::EndRunResponse) {
    tracing::info!(
        run = run.title(),
        %node,
        samples_received = report.samples_received,
        samples_answered = report.samples_answered,
        samples_failed = report.samples_failed,
        samples_nan = report.samples_nan,
        payload_bytes_in = report.payload_bytes_in,
        payload_bytes_out = report.payload_bytes_out,
        socket_bytes_in = report.socket_bytes_in,
        socket_bytes_out = report.socket_bytes_out,
        retransmits = report.retransmits,
        "ended"
    );
}
