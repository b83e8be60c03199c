//! The official trace log: when each sample was due, issued and answered.
//!
//! Times are microseconds with three decimals, and the latencies in the arguments of an event are whole ns: nothing is
//! lost. The file as a whole need not be JSON, but each event stands on a line of its own.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;

use serde::Deserialize;

use super::error::LogError;

/// The name of the file.
pub const TRACE_FILE: &str = "mlperf_log_trace.json";
/// Longest time that an event may have: more than ten years.
const LONGEST_NS: i64 = 1 << 59;

/// Samples of an official trace log. All times are ns from the origin of the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceLog {
    /// Every sample that was answered, by its sequence number.
    pub(super) samples: BTreeMap<u64, Traced>,
    /// Latency of the first token, by the sample's sequence number.
    pub(super) first_tokens: BTreeMap<u64, Traced>,
    /// Latencies of first tokens where only the scheduled time of the sample is named.
    pub(super) tokens_by_schedule: BTreeMap<i64, VecDeque<i64>>,
    /// When the queries of each phase had been generated.
    pub(super) generated: Vec<i64>,
    /// When the issuing of each query began.
    pub(super) issuing: Vec<i64>,
    /// Samples whose end is drawn.
    pub(super) ends: BTreeSet<u64>,
    /// Samples that do not fit within the trace: a sample, its end by its latency, and its end as it is drawn.
    pub(super) misfits: Vec<(u64, i64, i64)>,
}

/// One sample of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Traced {
    pub(super) query: u64,
    pub(super) scheduled_ns: i64,
    pub(super) issue_delay_ns: i64,
    pub(super) latency_ns: i64,
}

#[derive(Deserialize)]
struct Event {
    ph: String,
    ts: f64,
    dur: Option<f64>,
    id: Option<u64>,
    args: Option<Args>,
}

#[derive(Deserialize)]
struct Args {
    sample_seq: Option<u64>,
    query_seq: Option<u64>,
    issue_start_ns: Option<i64>,
    complete_ns: Option<i64>,
    issue_delay: Option<i64>,
    issue_to_done: Option<i64>,
}

impl TraceLog {
    /// Reads the lines of the file; `None` when it is empty, as it is of a run without a trace.
    ///
    /// # Errors
    /// It cannot be read, an event is not of the official form, or the end is missing.
    pub fn read(lines: impl Iterator<Item = io::Result<String>>) -> Result<Option<TraceLog>, LogError> {
        let (mut log, mut line_no, mut is_whole) = (TraceLog::default(), 0, false);
        for line in lines {
            line_no += 1;
            let line = line.map_err(|error| LogError::new(TRACE_FILE, line_no, error.to_string()))?;
            if let Some(name) = line.strip_prefix("{\"name\":\"").and_then(|text| text.split('"').next()) {
                is_whole |= name == "LastTrace";
                log.event(name, line.trim_end_matches(',')).map_err(|why| LogError::new(TRACE_FILE, line_no, why))?;
            }
        }
        match is_whole {
            true => Ok(Some(log)),
            false if line_no == 0 => Ok(None),
            false => Err(LogError::new(TRACE_FILE, line_no, "the file ends here, before the last event (LastTrace)")),
        }
    }

    fn event(&mut self, name: &str, text: &str) -> Result<(), String> {
        if !["Sample", "Token", "Token_Latency", "GenerateQueries", "SampleLoop"].contains(&name) {
            return Ok(());
        }
        let event: Event = serde_json::from_str(text).map_err(|error| format!("{name}: {error}"))?;
        let why = "the event is not complete, is there twice, or has a time out of range";
        self.take(name, &event).ok_or_else(|| format!("{name}: {why}"))
    }

    fn take(&mut self, name: &str, event: &Event) -> Option<()> {
        let at = ns(event.ts)?;
        match (name, event.ph.as_str()) {
            ("GenerateQueries", "X") => self.generated.push(at + ns(event.dur?)?),
            ("SampleLoop", "X") => self.issuing.push(at),
            ("Token_Latency", "C") => {
                let latency_ns = event.args.as_ref()?.counted()?;
                self.tokens_by_schedule.entry(at).or_default().push_back(latency_ns);
            }
            ("Sample" | "Token", "b") => {
                let (seq, traced) = event.args.as_ref()?.traced(at)?;
                if self.spans(name).insert(seq, traced).is_some() {
                    return None;
                }
            }
            ("Sample" | "Token", "e") => self.end(name, event.id?, at),
            _ => return None,
        }
        Some(())
    }

    fn spans(&mut self, name: &str) -> &mut BTreeMap<u64, Traced> {
        if name == "Token" { &mut self.first_tokens } else { &mut self.samples }
    }

    /// Holds the end of a span against its latency: both say when it ended.
    fn end(&mut self, name: &str, seq: u64, at: i64) {
        if name == "Sample" {
            self.ends.insert(seq);
        }
        let by_latency = self.spans(name).get(&seq).map(|traced| traced.scheduled_ns + traced.latency_ns);
        if by_latency != Some(at) {
            self.misfits.push((seq, by_latency.unwrap_or_default(), at));
        }
    }
}

impl Args {
    fn traced(&self, scheduled_ns: i64) -> Option<(u64, Traced)> {
        let (issue_delay_ns, latency_ns) = (in_range(self.issue_start_ns?)?, in_range(self.complete_ns?)?);
        Some((self.sample_seq?, Traced { query: self.query_seq?, scheduled_ns, issue_delay_ns, latency_ns }))
    }

    fn counted(&self) -> Option<i64> {
        Some(in_range(self.issue_delay?)? + in_range(self.issue_to_done?)?)
    }
}

/// Microseconds as the trace has them, in ns: exact for a hundred days.
fn ns(us: f64) -> Option<i64> {
    in_range((us * 1_000.0).round() as i64)
}

/// A time that no sum can make too large.
fn in_range(ns: i64) -> Option<i64> {
    (-LONGEST_NS..=LONGEST_NS).contains(&ns).then_some(ns)
}

#[cfg(test)]
mod tests {
    use std::io::BufRead as _;

    use super::*;

    const BEGIN: &str = "{\"name\":\"Sample\",\"cat\":\"default\",\"ph\":\"b\",\"pid\":1,\"id\":7,\"ts\":12.001,\
        \"args\":{\"sample_seq\":7,\"query_seq\":6,\"sample_idx\":1,\"issue_start_ns\":5,\"complete_ns\":1002}},";

    fn read(lines: &[&str]) -> Result<Option<TraceLog>, LogError> {
        TraceLog::read(lines.join("\n").as_bytes().lines())
    }

    #[test]
    fn times_are_exact_ns() {
        let end = "{\"name\":\"Sample\",\"ph\":\"e\", \"pid\":1,\"id\":7,\"ts\":13.003},";
        let token = "{\"name\":\"Token_Latency\",\"ph\": \"C\",\"pid\":1,\"ts\":12.001,\"args\":{ \"issue_delay\":5,\
            \"issue_to_done\":300}},";
        let spans = "{\"name\":\"GenerateQueries\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1.500,\"dur\":2.250,\
            \"args\":{}},\n{\"name\":\"Other \\q\",\"ph\":\"X\"},";
        let log = read(&["{\"traceEvents\":[", spans, BEGIN, end, token, "{\"name\":\"LastTrace\"}", "]"]);
        let log = log.unwrap().unwrap();
        let traced = Traced { query: 6, scheduled_ns: 12_001, issue_delay_ns: 5, latency_ns: 1_002 };
        assert_eq!((log.samples[&7], log.generated[0], log.misfits.len()), (traced, 3_750, 0));
        assert_eq!(log.tokens_by_schedule[&12_001], [305]);
    }

    #[test]
    fn an_end_that_does_not_fit_its_latency_is_kept() {
        let end = "{\"name\":\"Sample\",\"ph\":\"e\", \"pid\":1,\"id\":7,\"ts\":13.004},";
        let log = read(&[BEGIN, end, "{\"name\":\"LastTrace\"}"]).unwrap().unwrap();
        assert_eq!(log.misfits, [(7, 13_003, 13_004)]);
    }

    #[test]
    fn broken_files_are_named_with_their_line() {
        assert_eq!(read(&[]), Ok(None));
        let message = read(&["{\"traceEvents\":[", BEGIN]).unwrap_err().to_string();
        assert!(message.starts_with("mlperf_log_trace.json, line 2: the file ends here"), "{message}");
        let message = read(&["", &BEGIN.replace("1002", "10x2")]).unwrap_err().to_string();
        assert!(message.starts_with("mlperf_log_trace.json, line 2: Sample: "), "{message}");
        let message = read(&[&BEGIN.replace("query_seq", "query")]).unwrap_err().to_string();
        assert!(message.contains("not complete"), "{message}");
    }
}
