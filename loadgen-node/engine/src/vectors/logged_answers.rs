//! Which answers a run logs in its performance phase, worked out again from its settings.

use super::form::VectorError;
use crate::plan::Plan;
use crate::trace::{Picks, Trace};
use crate::world::Issued;

/// Most samples that are gone through: some seconds.
const MAX_SAMPLES: u64 = 200_000_000;
/// Samples fetched at once.
const PIECE: usize = 4_096;

/// The samples of a performance phase of this many queries whose answers are logged, in the order in which they are
/// issued. The draws are those of the run: two for each sample, the seed of the accuracy log shifts them.
///
/// # Errors
/// There are too many samples, or none because the test has no performance phase.
pub fn logged_answers(plan: &Plan, queries: u64) -> Result<Vec<Issued>, VectorError> {
    let effective = plan.effective();
    let mut picks = Picks::new(effective.settings.accuracy_log_rng_seed, effective.log_probability());
    let mut logged = Vec::new();
    let mut buffer = Vec::new();
    let mut has_performance = false;
    for phase in plan.phases() {
        if phase.is_accuracy() {
            picks.skip(phase.generated.samples());
            continue;
        }
        has_performance = true;
        let samples = queries.saturating_mul(phase.generated.samples_per_query);
        if samples > MAX_SAMPLES {
            let message = format!("{samples} samples, and {MAX_SAMPLES} are the most that are gone through");
            return Err(VectorError::TooMuch(message));
        }
        if !picks.possible() {
            continue;
        }
        let mut trace = Trace::of(phase, queries);
        while let Some(query) = trace.next() {
            let mut from = 0;
            while from < query.samples {
                buffer.clear();
                trace.samples(&query, from, PIECE, &mut buffer);
                from += buffer.len() as u64;
                logged.extend(buffer.iter().filter(|_| picks.next()));
            }
        }
    }
    if has_performance { Ok(logged) } else { Err(VectorError::TooMuch("the test has no performance phase".to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::super::trace::{LoggedSamples, traffic};
    use super::super::{Numbers, VectorError};
    use super::logged_answers;
    use crate::mode::{Mode, Qsl};
    use crate::plan::Plan;
    use crate::scenarios::{Scenario, TestSettings};

    fn plan(scenario: Scenario, mode: Mode) -> Plan {
        let mut settings = TestSettings { scenario, mode, min_duration_ms: 0, ..TestSettings::default() };
        settings.min_query_count = 400;
        settings.accuracy_log_rng_seed = 720_381_539_243_781_796;
        settings.accuracy_log_sampling_target = 60;
        Plan::new(settings, Qsl { total: 90, performance: 30 }).unwrap()
    }

    #[test]
    fn they_are_those_that_the_traffic_lists() {
        for scenario in Scenario::ALL {
            for mode in [Mode::PerformanceOnly, Mode::SubmissionRun] {
                let plan = plan(scenario, mode);
                let traffic = traffic(&plan, false).unwrap();
                let phase = traffic.phases.last().unwrap();
                let LoggedSamples::Some(Numbers::Full(listed)) = &phase.accuracy_log_seq_ids else { panic!() };
                let logged = logged_answers(&plan, phase.generated_query_count).unwrap();
                let numbers: Vec<u64> = logged.iter().map(|sample| sample.seq.0).collect();
                assert_eq!(&numbers, listed, "{} {}", scenario.name(), mode.name());
                assert!(!listed.is_empty(), "{}", scenario.name());
            }
        }
    }

    #[test]
    fn a_test_without_a_performance_phase_has_none() {
        let refused = logged_answers(&plan(Scenario::SERVER, Mode::AccuracyOnly), 10);
        assert!(matches!(refused, Err(VectorError::TooMuch(_))));
    }
}
