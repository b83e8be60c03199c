//! Prediction of a run from its plan: traffic, time, memory and logs. Also finds why the run could not become VALID.
//!
//! Scenarios that wait for answers are taken to be answered within the expected latency, Offline at the expected rate:
//! the same assumptions from which LoadGen decides how much traffic to generate.

use super::checked::Plan;
use crate::effective::Effective;
use crate::judge::early_stopping::percent;
use crate::trace::PhasePlan;
use crate::traffic::Expected;

/// Sizes of one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleSize {
    /// Ready to be sent, in memory.
    pub memory_bytes: u64,
    /// In messages, on its way to the SUT.
    pub wire_bytes: u64,
}

/// Traffic, time, memory and logs that a run will take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Queries issued in all phases.
    pub queries: u64,
    /// Samples issued in all phases.
    pub samples: u64,
    /// Time in which they are issued; Offline: in which they are answered.
    pub duration_s: f64,
    /// Samples and records held at once.
    pub memory_bytes: u64,
    /// Bytes of messages to the SUT.
    pub wire_bytes: u64,
    /// Answers in the accuracy log.
    pub logged: u64,
    /// The log files and the timeline, without the bytes of the answers, each of which takes two more.
    pub log_bytes: u64,
}

/// The part of a phase that is issued.
#[derive(Clone, Copy, Debug)]
struct Share {
    queries: u64,
    duration_s: f64,
}

/// Bytes that the engine keeps for each sample of a phase.
const RECORD_BYTES: u64 = 8;
/// Bytes of an index in a loaded set.
const INDEX_BYTES: u64 = 4;
/// A line of the accuracy log without its data, about.
const LOG_ENTRY_BYTES: u64 = 64;
/// Summary and detail log without lists, about.
const LOG_FIXED_BYTES: u64 = 20_000;
/// Magic, header and checksums of the timeline, about.
const TIMELINE_FIXED_BYTES: u64 = 2_500;
/// A sample in the timeline.
const TIMELINE_SAMPLE_BYTES: u64 = 8;
/// Additional bytes of a sample in the timeline of a token run.
const TIMELINE_TOKEN_BYTES: u64 = 12;
/// An index in the list of loaded samples, about.
const LOG_INDEX_BYTES: u64 = 7;

/// Predicts the traffic, time, memory and logs of a run of this plan.
pub fn predict(plan: &Plan, size: SampleSize) -> Prediction {
    let (mut queries, mut samples, mut duration_s, mut logged, mut loaded) = (0, 0, 0.0, 0, 0);
    let (mut most_loaded, mut most_records, mut timeline_bytes) = (0, 0, 0);
    for phase in plan.phases() {
        let share = share(plan.effective(), phase);
        let issued = share.queries.saturating_mul(phase.generated.samples_per_query);
        queries += share.queries;
        samples += issued;
        duration_s += share.duration_s;
        let probability = if phase.is_accuracy() { 1.0 } else { plan.effective().log_probability().clamp(0.0, 1.0) };
        logged += (issued as f64 * probability).round() as u64;
        loaded += phase.set.indices.len() as u64;
        if !phase.is_accuracy() {
            timeline_bytes = self::timeline_bytes(plan.effective(), issued);
        }
        most_loaded = most_loaded.max(phase.set.end as u64);
        most_records =
            most_records.max(RECORD_BYTES * phase.generated.samples() + INDEX_BYTES * phase.set.indices.len() as u64);
    }
    Prediction {
        queries,
        samples,
        duration_s,
        memory_bytes: size.memory_bytes.saturating_mul(most_loaded).saturating_add(most_records),
        wire_bytes: size.wire_bytes.saturating_mul(samples),
        logged,
        log_bytes: LOG_FIXED_BYTES + LOG_INDEX_BYTES * loaded + LOG_ENTRY_BYTES * logged + timeline_bytes,
    }
}

/// Returns the time in which the phases of this plan are issued, in seconds; Offline: in which they are answered.
pub fn duration_s(plan: &Plan) -> f64 {
    plan.phases().iter().map(|phase| share(plan.effective(), phase).duration_s).sum()
}

/// Bytes of the timeline of the judged phase.
fn timeline_bytes(effective: &Effective, samples: u64) -> u64 {
    let per_sample =
        TIMELINE_SAMPLE_BYTES + if effective.settings.use_token_latencies { TIMELINE_TOKEN_BYTES } else { 0 };
    TIMELINE_FIXED_BYTES + per_sample.saturating_mul(samples)
}

/// Why a run of this plan cannot become VALID, however good the SUT, each in a clause; nothing when it can. A run that
/// is `extended` goes on until early stopping has the queries that it asks for.
pub fn obstacles(plan: &Plan, extended: bool) -> Vec<String> {
    let effective = plan.effective();
    let Some(phase) = plan.phases().iter().find(|phase| !phase.is_accuracy()) else {
        return Vec::new();
    };
    let share = share(effective, phase);
    let mut obstacles = Vec::new();
    let least = effective.scenario.judge().early_stopping().least_queries(effective.target_latency_percentile);
    if share.queries < least && !extended {
        let percentile = percent(effective.target_latency_percentile);
        obstacles.push(format!(
            "{} queries are too few for early stopping, which needs at least {least} at percentile {percentile}",
            share.queries
        ));
    }
    if share.queries < effective.min_query_count {
        obstacles.push(format!(
            "it ends after {} queries, short of the {} of min_query_count",
            share.queries, effective.min_query_count
        ));
    }
    if share.duration_s < effective.min_duration_s() {
        obstacles.push(format!(
            "it takes about {:.1} s, short of the {:.1} s of min_duration",
            share.duration_s,
            effective.min_duration_s()
        ));
    }
    obstacles
}

fn share(effective: &Effective, phase: &PhasePlan) -> Share {
    let generated = phase.generated;
    let all = match effective.scenario.traffic().expected() {
        Expected::QueryRate | Expected::Bursts => {
            Share { queries: generated.queries, duration_s: generated.duration_ns as f64 / 1e9 }
        }
        Expected::SampleRate => {
            Share { queries: generated.queries, duration_s: generated.samples() as f64 / effective.target_qps }
        }
        // The rate of the answers decides, which nobody knows before.
        Expected::MostQps => Share { queries: generated.queries, duration_s: generated.duration_ns as f64 / 1e9 },
        Expected::Latency => {
            let for_time = (effective.min_duration_s() * effective.target_qps).ceil() as u64;
            let ends_after = effective.min_query_count.max(for_time).min(generated.queries);
            let queries = if phase.is_accuracy() { generated.queries } else { ends_after };
            Share { queries, duration_s: queries as f64 / effective.target_qps }
        }
    };
    if phase.is_accuracy() { all } else { limited(effective, all) }
}

/// Cut off by the limits that end a performance phase early.
fn limited(effective: &Effective, all: Share) -> Share {
    let mut part = 1.0_f64;
    if effective.settings.max_query_count != 0 {
        part = part.min(effective.settings.max_query_count as f64 / all.queries as f64);
    }
    // A query that has been issued is not taken back: a single one is not cut.
    if effective.settings.max_duration_ms != 0 && all.queries > 1 {
        part = part.min(effective.settings.max_duration_ms as f64 / 1e3 / all.duration_s);
    }
    let queries = ((all.queries as f64 * part).round() as u64).max(1);
    Share { queries, duration_s: if all.queries > 1 { all.duration_s * part } else { all.duration_s } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Mode, Qsl, Scenario, TestSettings};

    const SIZE: SampleSize = SampleSize { memory_bytes: 100, wire_bytes: 110 };

    fn plan(scenario: Scenario, change: impl FnOnce(&mut TestSettings)) -> Plan {
        let mut settings = TestSettings { scenario, ..TestSettings::default() };
        change(&mut settings);
        Plan::new(settings, Qsl { total: 100, performance: 100 }).unwrap()
    }

    #[test]
    fn closed_loops_end_long_before_what_is_generated() {
        let plan = plan(Scenario::SINGLE_STREAM, |s| s.single_stream_expected_latency_ns = 2e6);
        let predicted = predict(&plan, SIZE);
        assert_eq!((predicted.queries, predicted.samples), (5_000, 5_000));
        assert_eq!(predicted.duration_s, 10.0);
        assert_eq!(predicted.wire_bytes, 550_000);
        assert!(obstacles(&plan, false).is_empty(), "{:?}", obstacles(&plan, false));
    }

    #[test]
    fn server_follows_its_schedule() {
        let plan = plan(Scenario::SERVER, |s| s.server_target_qps = 100.0);
        let predicted = predict(&plan, SIZE);
        assert!((900..1_100).contains(&predicted.queries), "{predicted:?}");
        assert!((10.0..10.5).contains(&predicted.duration_s), "{predicted:?}");
        assert!(obstacles(&plan, false).is_empty(), "{:?}", obstacles(&plan, false));
    }

    #[test]
    fn accuracy_phases_count_too() {
        let plan = plan(Scenario::OFFLINE, |s| {
            s.mode = Mode::SubmissionRun;
            s.offline_expected_qps = 50.0;
        });
        let predicted = predict(&plan, SIZE);
        assert_eq!((predicted.queries, predicted.samples, predicted.logged), (2, 100 + 550, 100));
        assert_eq!(predicted.duration_s, 2.0 + 11.0);
        assert_eq!(predicted.memory_bytes, 100 * 100 + 550 * 8 + 100 * 4);
    }

    #[test]
    fn the_timeline_of_the_judged_phase_is_a_log_file_too() {
        let bytes = |change: fn(&mut TestSettings)| predict(&plan(Scenario::SINGLE_STREAM, change), SIZE).log_bytes;
        let (few, many) = (bytes(|s| s.min_duration_ms = 1_000), bytes(|s| s.min_duration_ms = 2_000));
        assert_eq!(many - few, 1_000 * 8, "a thousand queries more");
        let tokens = bytes(|s| (s.min_duration_ms, s.use_token_latencies) = (1_000, true));
        assert_eq!(tokens - few, 1_000 * 12);
        let accuracy = bytes(|s| s.mode = Mode::AccuracyOnly);
        assert_eq!(accuracy, 20_000 + 100 * (7 + 64));
    }

    #[test]
    fn obstacles_are_named() {
        let cases: [(Plan, &str); 4] = [
            (plan(Scenario::SERVER, |_| ()), "early stopping, which needs at least 459"),
            (plan(Scenario::MULTI_STREAM, |s| s.max_query_count = 50), "short of the 100 of min_query_count"),
            (plan(Scenario::SINGLE_STREAM, |s| s.max_duration_ms = 5_000), "about 5.0 s, short of the 10.0 s"),
            (
                plan(Scenario::OFFLINE, |s| {
                    s.offline_expected_qps = 50.0;
                    s.performance_issue_unique = true;
                }),
                "about 2.0 s, short of the 10.0 s",
            ),
        ];
        for (plan, part) in cases {
            let text = obstacles(&plan, false).join("\n");
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(obstacles(&plan(Scenario::SERVER, |_| ()), true), [""; 0]);
    }

    #[test]
    fn accuracy_runs_have_no_verdict_to_miss() {
        assert!(obstacles(&plan(Scenario::SERVER, |s| s.mode = Mode::AccuracyOnly), false).is_empty());
    }
}
