//! What `EndRun` returns of a run, and what the log says of it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lon_net::nic::{self, Traffic};
use lon_proto::codec::Codec;
use lon_proto::v1;

use super::state::Run;
use crate::host;

/// The node's own account of the run until now.
pub(crate) fn report(run: &Run) -> v1::EndRunResponse {
    let counters = &run.counters;
    let traffic = run.socket_traffic();
    let (payload_bytes_in, payload_bytes_out) =
        (counters.payload_bytes_in.load(Relaxed), counters.payload_bytes_out.load(Relaxed));
    // What has no codec is counted once: its payload is the tensors.
    let tensor = |codec: Codec, payload, raw: &AtomicU64| if codec.is_none() { payload } else { raw.load(Relaxed) };
    v1::EndRunResponse {
        samples_received: counters.received(),
        samples_answered: counters.answered(),
        samples_nan: counters.nan.load(Relaxed),
        samples_failed: counters.failed.load(Relaxed),
        message_bytes_in: counters.message_bytes_in.load(Relaxed),
        message_bytes_out: counters.message_bytes_out.load(Relaxed),
        payload_bytes_in,
        payload_bytes_out,
        heartbeats: counters.heartbeats.load(Relaxed),
        tensor_bytes_in: tensor(run.codecs.samples, payload_bytes_in, &counters.raw_bytes_in),
        tensor_bytes_out: tensor(run.codecs.answers, payload_bytes_out, &counters.raw_bytes_out),
        socket_bytes_in: traffic.bytes_in,
        socket_bytes_out: traffic.bytes_out,
        retransmits: traffic.retransmits,
        nic: run.nic().and_then(|(interface, before)| {
            let Traffic { bytes_in, bytes_out } = nic::traffic(&interface.name)?.since(*before);
            Some(v1::NicTraffic { nic: Some(host::nic(interface.clone())), bytes_in, bytes_out })
        }),
    }
}

/// What the log says of a run at its end.
pub(crate) fn in_words(report: &v1::EndRunResponse) -> String {
    let v1::EndRunResponse { samples_received, samples_answered, samples_failed, samples_nan, .. } = report;
    let nan = if *samples_nan > 0 { format!(", {samples_nan} with a NaN") } else { String::new() };
    let retransmits = report.retransmits.map_or_else(String::new, |count| format!(", {count} retransmits"));
    format!(
        "{samples_received} samples received, {samples_answered} answered ({samples_failed} of them failed{nan}); \
         {} bytes of samples in, {} bytes of answers out; {} and {} bytes on the sockets{retransmits}",
        report.payload_bytes_in, report.payload_bytes_out, report.socket_bytes_in, report.socket_bytes_out,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_run_is_told_in_words() {
        let report = v1::EndRunResponse {
            samples_received: 7,
            samples_answered: 6,
            samples_failed: 2,
            payload_bytes_in: 700,
            ..v1::EndRunResponse::default()
        };
        let words = in_words(&report);
        assert!(
            words.starts_with("7 samples received, 6 answered (2 of them failed); 700 bytes of samples in,"),
            "{words}"
        );
        let words = in_words(&v1::EndRunResponse { samples_nan: 3, ..report });
        assert!(words.contains("failed, 3 with a NaN)"), "{words}");
    }
}
