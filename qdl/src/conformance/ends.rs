//! Check of the end of a run: the counters of both ends, and the time when the node is free again.

use std::time::Duration;

use lon_net::clock;
use lon_proto::limits::CLIENT_SILENCE;
use lon_proto::run_identity::RunPass;
use lon_proto::v1::EndRunResponse;
use tonic::{Code, Status};

use super::answers::Heard;
use super::caller::Caller;
use super::claims::{Claim, stranger};
use super::dispatch_stream::DispatchStream;
use super::notes::{Notes, refused, status_text};
use super::rules::{CLAIM_ENDS, COUNTERS, END_FREES, SOCKETS, START_SECRET};

/// Pause between questions to a node whether it is free again.
const PAUSE: Duration = Duration::from_millis(250);

/// Longest delay of a node in becoming free that does not count as too late.
const GRACE: Duration = Duration::from_secs(3);

/// Ends the run and then its stream, claims the node once more, and leaves it by closing the stream alone.
pub(super) async fn check(
    caller: &Caller,
    claim: Claim,
    heard: Heard,
    stream: Option<DispatchStream>,
    notes: &mut Notes,
) {
    let pass = claim.pass;
    let ended = caller.end(&pass).await;
    drop(stream);
    match ended {
        Ok(counters) => compare(&counters, &heard, notes),
        Err(status) => {
            notes.judge(&COUNTERS, Err(format!("EndRun failed with {}", status_text(&status))));
            notes.stop("EndRun failed");
        }
    }
    let next = match caller.start_again().await {
        Ok((next, _)) => next,
        Err(status) => {
            notes.judge(&END_FREES, Err(format!("the next StartRun failed with {}", status_text(&status))));
            notes.stop("the node could not be claimed again");
            return;
        }
    };
    stranger(caller, &pass, "of the run that has ended", &END_FREES, notes).await;
    notes.judge(&END_FREES, Ok("the next run had the node at once".to_owned()));
    let is_new = next.secret() != pass.secret();
    notes.judge(
        &START_SECRET,
        match is_new {
            true => Ok("2 runs, 2 secrets".to_owned()),
            false => Err("two runs have the same secret".to_owned()),
        },
    );
    let ended = without_end(caller, &next).await;
    if ended.is_err() {
        // The check ends its claim in any case, to leave nothing on the node.
        let _ = caller.end(&next).await;
    }
    notes.judge(&CLAIM_ENDS, ended);
}

/// Opens a stream and closes it; how long it takes until the node is free.
async fn without_end(caller: &Caller, pass: &RunPass) -> Result<String, String> {
    let stream = caller.open(pass).await.map_err(|status| format!("no stream: {}", status_text(&status)))?;
    drop(stream);
    let since = clock::now();
    loop {
        let outcome = caller.start_again().await;
        let took = clock::since(since);
        match outcome {
            Ok((free, _)) => {
                let _ = caller.end(&free).await;
                return Ok(format!("after {:.1} s", took.as_secs_f64()));
            }
            Err(status) if took > CLIENT_SILENCE + GRACE => return Err(still_taken(took, &status)),
            busy => refused("StartRun", Code::ResourceExhausted, busy)?,
        };
        tokio::time::sleep(PAUSE).await;
    }
}

fn still_taken(took: Duration, status: &Status) -> String {
    format!("{:.1} s later it still says {}", took.as_secs_f64(), status_text(status))
}

fn compare(counters: &EndRunResponse, heard: &Heard, notes: &mut Notes) {
    let Heard { sent, received, failed, is_whole } = *heard;
    if !is_whole {
        notes.not_seen(&COUNTERS, "not all samples were answered");
        notes.not_seen(&SOCKETS, "not all samples were answered");
        return;
    }
    let mut pairs = vec![
        ("samples_received", counters.samples_received, sent.samples),
        ("samples_answered", counters.samples_answered, received.samples),
        ("samples_failed", counters.samples_failed, failed),
        ("message_bytes_in", counters.message_bytes_in, sent.message_bytes),
        ("message_bytes_out", counters.message_bytes_out, received.message_bytes),
        ("payload_bytes_in", counters.payload_bytes_in, sent.payload_bytes),
        ("payload_bytes_out", counters.payload_bytes_out, received.payload_bytes),
    ];
    if failed == 0 {
        // A sample that failed may never have become a tensor.
        pairs.push(("tensor_bytes_in", counters.tensor_bytes_in, sent.payload_bytes));
        pairs.push(("tensor_bytes_out", counters.tensor_bytes_out, received.payload_bytes));
    }
    let wrong: Vec<String> = pairs
        .iter()
        .filter(|(_, theirs, ours)| theirs != ours)
        .map(|(name, theirs, ours)| format!("{name} is {theirs}, {ours} counted here"))
        .collect();
    notes.judge(
        &COUNTERS,
        match wrong.is_empty() {
            true => Ok(format!("{} bytes of messages in, {} out", sent.message_bytes, received.message_bytes)),
            false => Err(wrong.join("; ")),
        },
    );
    sockets(counters, heard, notes);
}

fn sockets(counters: &EndRunResponse, heard: &Heard, notes: &mut Notes) {
    let pairs = [
        ("socket_bytes_in", counters.socket_bytes_in, heard.sent.message_bytes),
        ("socket_bytes_out", counters.socket_bytes_out, heard.received.message_bytes),
    ];
    for (name, theirs, messages) in pairs {
        notes.judge(
            &SOCKETS,
            match theirs {
                None => Ok("left out".to_owned()),
                Some(bytes) if bytes >= messages => Ok("no fewer than those of the messages".to_owned()),
                Some(bytes) => Err(format!("{name} is {bytes}, the messages alone have {messages}")),
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::dispatch_stream::Count;
    use super::super::notes::Verdict;
    use super::*;

    fn verdicts(change: impl Fn(&mut EndRunResponse, &mut Heard)) -> (Verdict, Verdict) {
        let count = Count { samples: 2, message_bytes: 100, payload_bytes: 80 };
        let mut heard = Heard { sent: count, received: count, failed: 0, is_whole: true };
        let mut counters = EndRunResponse {
            samples_received: 2,
            samples_answered: 2,
            message_bytes_in: 100,
            message_bytes_out: 100,
            payload_bytes_in: 80,
            payload_bytes_out: 80,
            tensor_bytes_in: 80,
            tensor_bytes_out: 80,
            ..EndRunResponse::default()
        };
        change(&mut counters, &mut heard);
        let mut notes = Notes::default();
        compare(&counters, &heard, &mut notes);
        let findings = notes.findings();
        let of = |rule| findings.iter().find(|finding| finding.rule == rule).unwrap().verdict;
        (of(&COUNTERS), of(&SOCKETS))
    }

    #[test]
    fn counters_are_those_of_the_other_end() {
        use Verdict::{Broken, Kept, NotSeen};
        assert_eq!(verdicts(|_, _| {}), (Kept, Kept));
        assert_eq!(verdicts(|counters, _| counters.message_bytes_out += 1), (Broken, Kept));
        assert_eq!(verdicts(|counters, _| counters.tensor_bytes_in = 0), (Broken, Kept));
        let one_failed = |counters: &mut EndRunResponse, heard: &mut Heard| {
            (counters.samples_failed, heard.failed, counters.tensor_bytes_in) = (1, 1, 40);
        };
        assert_eq!(verdicts(one_failed), (Kept, Kept));
        assert_eq!(verdicts(|counters, _| counters.socket_bytes_in = Some(99)), (Kept, Broken));
        assert_eq!(verdicts(|counters, _| counters.socket_bytes_in = Some(100)), (Kept, Kept));
        assert_eq!(verdicts(|_, heard| heard.is_whole = false), (NotSeen, NotSeen));
    }
}
