//! Samples and their answers, over one stream: how they come, what is in them, and what is said between them.

use std::time::Duration;

use bytes::Bytes;
use lon_proto::assembly::Part;
use lon_proto::limits::HEARTBEAT_INTERVAL;
use lon_proto::stages::{Stages, duration_ns};
use tokio::task::JoinHandle;
use tonic::Status;

use super::caller::Caller;
use super::claims::Claim;
use super::dispatch_stream::{Answer, Count, DispatchStream};
use super::notes::{Notes, status_text};
use super::rules::{
    ANSWER_ONCE, ANSWER_OUTPUTS, ANSWER_PARTS, FLUSH, HEARTBEATS, SAMPLE_LARGE, SAMPLE_PARTS, STAGES, STREAM_AT_ONCE,
};
use super::samples;
use crate::control::{AnswersChecked, NodeDescription};
use crate::dispatch::AnswerRule;

/// Number of samples sent in one go, where the node takes as many.
const BURST: u64 = 16;

/// Their ids are multiples of this: more than 32 bits, the first is 0.
const ID_STEP: u64 = 0x0100_0000_0000_0001;

/// Longest wait for the next answer.
const ANSWER_TIME: Duration = Duration::from_secs(60);

/// Time without sending, to receive heartbeats, and the fewest that must come: half of those that are due.
const QUIET: Duration = Duration::from_secs(3);
const LEAST_HEARTBEATS: u64 = 3;

/// Time within which the return of a Flush is too soon.
const TOO_SOON: Duration = Duration::from_millis(300);

/// Bytes of an answer whose size is free, at most.
const MAX_ANSWER_BYTES: u64 = 1 << 30;

/// Traffic on the streams of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heard {
    pub(super) sent: Count,
    pub(super) received: Count,
    /// Samples that were answered with an error.
    pub(super) failed: u64,
    /// All samples were answered: the counters of both ends can be compared.
    pub(super) is_whole: bool,
}

/// Sends samples and judges their answers; what crossed, and the stream, which is still open.
pub(super) async fn check(
    caller: &Caller,
    node: &NodeDescription,
    claim: &Claim,
    notes: &mut Notes,
) -> (Heard, Option<DispatchStream>) {
    let mut stream = match caller.open(&claim.pass).await {
        Ok(stream) => stream,
        Err(status) => {
            notes.judge(&STREAM_AT_ONCE, Err(format!("no stream: {}", status_text(&status))));
            notes.stop("no stream could be opened");
            return (Heard::default(), None);
        }
    };
    notes.judge(&STREAM_AT_ONCE, Ok("before the first sample".to_owned()));
    let whole = match samples::small(&node.inputs) {
        Ok(sample) => exchange(caller, node, claim, &mut stream, &sample, notes).await,
        Err(why) => {
            notes.stop(format!("no sample can be made: {why}"));
            Ok(())
        }
    };
    if let Err(why) = &whole {
        notes.judge(&ANSWER_ONCE, Err(why.clone()));
        notes.stop(why.clone());
    }
    for (rule, why) in std::mem::take(&mut stream.faults) {
        notes.judge(rule, Err(why));
    }
    judge(node, &stream, notes);
    let failed = stream.answers.iter().filter(|answer| answer.result.is_err()).count() as u64;
    let is_whole = whole.is_ok() && stream.sent.samples > 0;
    (Heard { sent: stream.sent, received: stream.received, failed, is_whole }, Some(stream))
}

/// All that is sent.
///
/// # Errors
/// An answer did not come, or the stream ended; in words.
async fn exchange(
    caller: &Caller,
    node: &NodeDescription,
    claim: &Claim,
    stream: &mut DispatchStream,
    sample: &Bytes,
    notes: &mut Notes,
) -> Result<(), String> {
    let fit = claim.bounds.max_bytes_in_flight / (sample.len() as u64).max(1);
    let burst = BURST.min(claim.bounds.max_samples_in_flight).min(fit).max(1);
    (0..burst).for_each(|number| stream.ask(number * ID_STEP, sample));
    stream.hear_all(ANSWER_TIME).await?;
    if burst > 1 {
        let mixed = mixed(stream, sample, burst).await;
        notes.judge(&SAMPLE_PARTS, mixed.clone());
        mixed?;
    } else {
        notes.not_seen(&SAMPLE_PARTS, "the node takes one sample at a time");
    }
    match samples::large(&node.inputs) {
        Err(why) => notes.not_seen(&SAMPLE_LARGE, why),
        Ok(large) if large.len() as u64 > claim.bounds.max_sample_bytes.min(claim.bounds.max_bytes_in_flight) => {
            notes.not_seen(&SAMPLE_LARGE, format!("the node takes {} bytes", claim.bounds.max_sample_bytes));
        }
        Ok(large) => {
            stream.ask((burst + 2) * ID_STEP, &large);
            let heard = stream.hear_all(ANSWER_TIME).await;
            let last = stream.answers.last().map(|answer| answer.result.clone());
            notes.judge(&SAMPLE_LARGE, taken(heard.clone(), last, large.len()));
            heard?;
        }
    }
    flush(caller, claim, stream, sample, notes).await?;
    quiet(stream, notes).await
}

fn taken(
    heard: Result<(), String>,
    answer: Option<Result<(u64, u64), String>>,
    bytes: usize,
) -> Result<String, String> {
    match (heard, answer) {
        (Ok(()), Some(Err(why))) => Err(format!("a sample of {bytes} bytes failed: {why}")),
        (Ok(()), _) => Ok(format!("{bytes} bytes")),
        (Err(why), _) => Err(format!("a sample of {bytes} bytes: {why}")),
    }
}

/// Two samples in two parts each, by turns.
async fn mixed(stream: &mut DispatchStream, sample: &Bytes, before: u64) -> Result<String, String> {
    let (ids, half) = ([before * ID_STEP, (before + 1) * ID_STEP], (sample.len() / 2).min(1 << 19));
    for number in 0..2u32 {
        for id in ids {
            // Samples of more than two parts would have parts that are too large.
            let tail = sample.slice(half..);
            if number == 0 {
                let data = sample.slice(..half);
                stream.say(id, Part { number, last: false, total_len: sample.len() as u64, data });
            } else if tail.len() <= lon_proto::limits::PART_BYTES {
                stream.say(id, Part { number, last: true, total_len: 0, data: tail });
            } else {
                say_tail(stream, id, tail);
            }
        }
    }
    stream.hear_all(ANSWER_TIME).await?;
    let failed = stream.answers.iter().filter(|answer| ids.contains(&answer.id)).find_map(|a| a.result.as_ref().err());
    match failed {
        Some(why) if !stream.answers.iter().any(|answer| !ids.contains(&answer.id) && answer.result.is_err()) => {
            Err(format!("a sample in parts failed: {why}"))
        }
        _ => Ok("2 samples in parts, by turns".to_owned()),
    }
}

/// The rest of a sample whose first part was sent.
fn say_tail(stream: &mut DispatchStream, id: u64, tail: Bytes) {
    for part in lon_proto::assembly::Parts::new(tail) {
        stream.say(id, Part { number: part.number + 1, total_len: 0, ..part });
    }
}

/// A Flush for one sample more than was sent, then that sample.
async fn flush(
    caller: &Caller,
    claim: &Claim,
    stream: &mut DispatchStream,
    sample: &Bytes,
    notes: &mut Notes,
) -> Result<(), String> {
    let (asking, pass, due) = (caller.clone(), claim.pass.clone(), stream.sent.samples + 1);
    let mut flushing = tokio::spawn(async move { asking.flush(&pass, due).await });
    stream.hear_for(TOO_SOON).await?;
    let too_soon = flushing.is_finished();
    stream.ask((BURST + 3) * ID_STEP, sample);
    stream.hear_all(ANSWER_TIME).await?;
    let outcome = match returned(&mut flushing).await {
        Ok(()) if too_soon => Err(format!("it returned before the last of {due} samples was sent")),
        Ok(()) => Ok(format!("after {due} samples")),
        Err(why) => Err(why),
    };
    flushing.abort();
    notes.judge(&FLUSH, outcome);
    Ok(())
}

async fn returned(flushing: &mut JoinHandle<Result<(), Status>>) -> Result<(), String> {
    match tokio::time::timeout(ANSWER_TIME, flushing).await {
        Ok(Ok(outcome)) => outcome.map_err(|status| format!("it failed with {}", status_text(&status))),
        Ok(Err(_)) => Err("it could not be waited for".to_owned()),
        Err(_) => Err(format!("it did not return within {ANSWER_TIME:?} after the last answer")),
    }
}

/// Nothing to say: heartbeats come, and no answer any more.
async fn quiet(stream: &mut DispatchStream, notes: &mut Notes) -> Result<(), String> {
    let before = stream.heartbeats;
    stream.hear_for(QUIET).await?;
    let heard = stream.heartbeats - before;
    let says = format!("{heard} in {QUIET:?}, one is due every {HEARTBEAT_INTERVAL:?}");
    notes.judge(&HEARTBEATS, if heard >= LEAST_HEARTBEATS { Ok(says) } else { Err(says) });
    Ok(())
}

/// Judges the contents of the answers.
fn judge(node: &NodeDescription, stream: &DispatchStream, notes: &mut Notes) {
    let answers = &stream.answers;
    if answers.is_empty() {
        return;
    }
    let failed = answers.iter().find_map(|answer| answer.result.as_ref().err());
    let failed_too = failed.map(|why| format!("; some failed: {why}")).unwrap_or_default();
    notes.judge(&ANSWER_ONCE, Ok(format!("{} samples, as many answers{failed_too}", answers.len())));
    let whole: Vec<(&Answer, u64, u64)> = answers
        .iter()
        .filter_map(|answer| answer.result.as_ref().ok().map(|&(bytes, tokens)| (answer, bytes, tokens)))
        .collect();
    let Some(&(_, bytes, _)) = whole.first() else {
        for rule in [&ANSWER_PARTS, &ANSWER_OUTPUTS, &STAGES] {
            notes.not_seen(rule, format!("every sample failed{failed_too}"));
        }
        return;
    };
    notes.judge(&ANSWER_PARTS, Ok(format!("{} answers, the first has {bytes} bytes", whole.len())));
    if node.answers_checked != AnswersChecked::No {
        let rule = AnswerRule::new(&node.name, &node.outputs, MAX_ANSWER_BYTES);
        let fit = whole.iter().try_for_each(|&(_, bytes, tokens)| rule.check(bytes, tokens));
        notes.judge(&ANSWER_OUTPUTS, fit.map(|()| node.outputs.to_string()));
    } else {
        notes.not_seen(&ANSWER_OUTPUTS, "Describe names no outputs");
    }
    let stages = whole.iter().try_for_each(|(answer, ..)| plausible(answer));
    notes.judge(&STAGES, stages.map(|()| "none adds up to more".to_owned()));
}

fn plausible(answer: &Answer) -> Result<(), String> {
    let Some(stages) = &answer.stages else { return Err(format!("the answer to id {} has none", answer.id)) };
    let stages = Stages::from(*stages);
    match stages.fit_into_ns(duration_ns(answer.took)) {
        true => Ok(()),
        false => {
            let sum = Duration::from_nanos(stages.sum_ns());
            Err(format!("id {}: stages of {sum:?} in an answer that took {:?}", answer.id, answer.took))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_fit_into_the_time_that_an_answer_took() {
        let answer = |inference_ns| {
            let stages = Some(Stages { inference_ns, ..Stages::default() }.into());
            Answer { id: 1, result: Ok((8, 0)), stages, took: Duration::from_millis(10) }
        };
        assert_eq!(plausible(&answer(10_000_000)), Ok(()));
        assert!(plausible(&answer(100_000_000)).unwrap_err().contains("100ms"));
        assert!(plausible(&answer(u64::MAX)).is_err());
        assert!(plausible(&Answer { stages: None, ..answer(0) }).is_err());
    }
}
