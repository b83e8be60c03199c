//! The trace log: Chrome trace events of every sample of the judged phase, for `chrome://tracing` or Perfetto.
//!
//! The official event names and fields, in JSON that can be parsed (the official file cannot). Of the official events
//! it has those of samples (`Sample`, `Token`, `Latency`, `Token_Latency`), and only of the judged phase, because
//! nothing is recorded of samples in accuracy phases and in the other trials of a search beyond their answers. Every
//! phase has one event, `lon_phase`, instead of `GenerateQueries`, `IssueQuery`, `Waiting` and the like, which time
//! the inside of the official implementation. Loading and unloading (`LoadSamples`) are left out too: they lie outside
//! the phases, and no result depends on how long they take.
//!
//! It needs a run with [`crate::run::RunOptions::keep_issue_times`], and is written as a stream, a line for each event.

use std::io::{self, Write};

use super::detail::DetailContext;
use crate::plan::Plan;
use crate::recorder::{SampleEnd, Timeline};
use crate::run::{PhaseOutcome, RunOutcome};
use crate::trace::{PhasePlan, Trace};
use crate::traffic::Shape;
use crate::value::quoted;
use crate::world::{Issued, QuerySeq, TimeNs};

/// Samples fetched at once.
const PIECE: usize = 4_096;

/// Writes the whole trace log of a run to `out`.
///
/// # Errors
/// Writing to `out` fails.
pub fn write(
    plan: &Plan,
    outcome: &RunOutcome,
    context: &DetailContext<'_>,
    out: &mut (impl Write + ?Sized),
) -> io::Result<()> {
    writeln!(out, "{{\"traceEvents\":[")?;
    for phase in &outcome.phases {
        write_phase(phase, context, out)?;
    }
    let judged = outcome.judged_plan(plan);
    let of_plan = judged.phases().iter().find(|phase| !phase.is_accuracy());
    if let (Some(phase), Some(of_plan)) = (outcome.performance(), of_plan)
        && let Some(timeline) = &phase.timeline
    {
        let shape = judged.effective().shape;
        Samples { timeline, start: phase.started, shape, context, out }.write(of_plan)?;
    }
    writeln!(out, "{{\"name\":\"LastTrace\"}}\n],\n\"displayTimeUnit\":\"ns\",\n\"otherData\":{{")?;
    let version = quoted(&format!("lon {}, unofficial", context.version));
    writeln!(out, "\"ts\":{},\n\"version\":{version}\n}}\n}}", context.start_unix_ns / 1_000)
}

/// Writes the event of a phase, from its start to its last answer.
fn write_phase(phase: &PhaseOutcome, context: &DetailContext<'_>, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    writeln!(
        out,
        "{{\"name\":\"lon_phase\",\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"args\":{{\"mode\":{},\
         \"queries\":{},\"samples\":{},\"stop\":{}}}}},",
        context.pid,
        context.tid,
        us(phase.started.since(context.start)),
        us(phase.latest_end.since(phase.started)),
        quoted(phase.mode.name()),
        phase.queries_issued,
        phase.counts.issued,
        quoted(&format!("{:?}", phase.stop)),
    )
}

/// Writes the events of the samples of a phase.
struct Samples<'a, W: ?Sized> {
    timeline: &'a Timeline,
    start: TimeNs,
    shape: Shape,
    context: &'a DetailContext<'a>,
    out: &'a mut W,
}

/// One sample; times are ns from the start of the phase.
struct Sample {
    query: QuerySeq,
    issued: Issued,
    scheduled_ns: u64,
    issued_ns: u64,
    end: SampleEnd,
    first_token_ns: Option<u64>,
}

impl<W: Write + ?Sized> Samples<'_, W> {
    fn write(&mut self, phase: &PhasePlan) -> io::Result<()> {
        let timeline = self.timeline;
        let issue_times = timeline.issued_ns.as_deref().unwrap_or_default();
        let mut ends = timeline.samples().zip(issue_times.iter().copied());
        let mut tokens = timeline.tokens();
        let (mut trace, mut buffer) = (Trace::new(phase), Vec::new());
        let (mut queries, mut burst_ns) = (0_u64, 0);
        while let Some(query) = trace.next() {
            let begins_a_burst = queries.is_multiple_of(self.shape.group);
            queries += 1;
            let mut from = 0;
            while from < query.samples {
                buffer.clear();
                trace.samples(&query, from, PIECE, &mut buffer);
                from += buffer.len() as u64;
                for issued in &buffer {
                    let Some((end, issued_ns)) = ends.next() else { return Ok(()) };
                    if begins_a_burst {
                        burst_ns = issued_ns;
                    }
                    let scheduled_ns = self.shape.latency_start.scheduled_ns(query.due_ns, issued_ns, burst_ns);
                    let first_token_ns = tokens.next().and_then(|(first_ns, _)| first_ns);
                    self.sample(&Sample {
                        query: query.seq,
                        issued: *issued,
                        scheduled_ns,
                        issued_ns,
                        end,
                        first_token_ns,
                    })?;
                }
            }
        }
        Ok(())
    }

    fn sample(&mut self, sample: &Sample) -> io::Result<()> {
        let latency_ns = if let SampleEnd::Done { latency_ns } = sample.end { Some(latency_ns) } else { None };
        self.span("Sample", sample, latency_ns)?;
        if self.shape.has_schedule() {
            self.counter("Latency", sample, latency_ns)?;
            self.counter("Token_Latency", sample, sample.first_token_ns)
        } else if sample.first_token_ns.is_some() {
            self.span("Token", sample, sample.first_token_ns)
        } else {
            Ok(())
        }
    }

    /// Writes begin and end of a span; a sample without an answer has no end.
    fn span(&mut self, name: &str, sample: &Sample, latency_ns: Option<u64>) -> io::Result<()> {
        let (pid, seq) = (self.context.pid, sample.issued.seq.0);
        let ts = self.ts(sample.scheduled_ns);
        let complete = latency_ns.map_or("null".to_owned(), |ns| ns.to_string());
        writeln!(
            self.out,
            "{{\"name\":\"{name}\",\"cat\":\"default\",\"ph\":\"b\",\"pid\":{pid},\"id\":{seq},\"ts\":{ts},\
             \"args\":{{\"sample_seq\":{seq},\"query_seq\":{},\"sample_idx\":{},\"issue_start_ns\":{},\
             \"complete_ns\":{complete}}}}},",
            sample.query.0,
            sample.issued.index.0,
            sample.issued_ns.saturating_sub(sample.scheduled_ns),
        )?;
        let Some(latency_ns) = latency_ns else { return Ok(()) };
        let ts = self.ts(sample.scheduled_ns + latency_ns);
        writeln!(
            self.out,
            "{{\"name\":\"{name}\",\"cat\":\"default\",\"ph\":\"e\", \"pid\":{pid},\"id\":{seq},\"ts\":{ts}}},"
        )
    }

    fn counter(&mut self, name: &str, sample: &Sample, latency_ns: Option<u64>) -> io::Result<()> {
        let Some(latency_ns) = latency_ns else { return Ok(()) };
        let delay_ns = sample.issued_ns.saturating_sub(sample.scheduled_ns);
        let (pid, ts) = (self.context.pid, self.ts(sample.scheduled_ns));
        let done_ns = latency_ns.saturating_sub(delay_ns);
        writeln!(
            self.out,
            "{{\"name\":\"{name}\",\"ph\": \"C\",\"pid\":{pid},\"ts\":{ts},\"args\":{{ \"issue_delay\":{delay_ns},\
             \"issue_to_done\":{done_ns}}}}},"
        )
    }

    fn ts(&self, ns: u64) -> String {
        us((self.start + ns).since(self.context.start))
    }
}

/// Microseconds with three decimals: the exact nanoseconds.
fn us(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000, ns % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{RunOptions, run};
    use crate::settings::{Qsl, Scenario, TestSettings};
    use crate::sim::{SimOptions, SimWorld};
    use serde_json::Value;

    fn events(scenario: Scenario, sim: SimOptions) -> (RunOutcome, Vec<Value>) {
        let settings = TestSettings {
            scenario,
            min_duration_ms: 0,
            min_query_count: 50,
            server_target_qps: 2_000.0,
            use_token_latencies: sim.tokens.is_some(),
            ..TestSettings::default()
        };
        let plan = Plan::new(settings, Qsl { total: 9, performance: 9 }).unwrap();
        let options = RunOptions { keep_issue_times: true, ..RunOptions::default() };
        let outcome = run(&plan, &mut SimWorld::new(sim), &mut (), options);
        let context = DetailContext {
            version: "0 \"x\"",
            sut_name: "",
            sut_name_duration_ns: 0,
            qsl_name: "",
            start: TimeNs(0),
            start_unix_ns: 7_000,
            pid: 1,
            tid: 2,
        };
        let mut bytes = Vec::new();
        write(&plan, &outcome, &context, &mut bytes).unwrap();
        let mut file: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(file["otherData"]["ts"], 7);
        let Value::Array(events) = file["traceEvents"].take() else { panic!("no list") };
        (outcome, events)
    }

    fn named<'a>(events: &'a [Value], name: &str, ph: &str) -> Vec<&'a Value> {
        events.iter().filter(|event| event["name"] == name && event["ph"] == ph).collect()
    }

    #[test]
    fn every_sample_begins_and_ends_in_every_scenario() {
        for scenario in Scenario::ALL {
            let (outcome, events) = events(scenario, SimOptions::default());
            let issued = outcome.counts().issued as usize;
            let (begins, ends) = (named(&events, "Sample", "b"), named(&events, "Sample", "e"));
            assert_eq!((begins.len(), ends.len()), (issued, issued), "{scenario:?}");
            let longest = begins.iter().map(|event| event["args"]["complete_ns"].as_i64().unwrap()).max();
            assert_eq!(longest, outcome.summary.as_ref().map(|summary| summary.latency.max_ns));
            let counters = named(&events, "Latency", "C").len();
            let has_schedule = [Scenario::SERVER, Scenario::BURST].contains(&scenario);
            assert_eq!(counters, if has_schedule { issued } else { 0 });
            assert_eq!(
                (named(&events, "lon_phase", "X").len(), &events[events.len() - 1]["name"]),
                (1, &"LastTrace".into())
            );
        }
    }

    #[test]
    fn unanswered_samples_have_no_end_and_tokens_have_events() {
        let (outcome, failed) = events(Scenario::SERVER, SimOptions { failing: 0.3, ..SimOptions::default() });
        assert_eq!(named(&failed, "Sample", "e").len() as u64, outcome.counts().completed);
        for (scenario, name, ph) in [(Scenario::SERVER, "Token_Latency", "C"), (Scenario::SINGLE_STREAM, "Token", "e")]
        {
            let (outcome, events) = events(scenario, SimOptions { tokens: Some(3), ..SimOptions::default() });
            assert_eq!(named(&events, name, ph).len() as u64, outcome.counts().completed, "{scenario:?}");
        }
    }
}
