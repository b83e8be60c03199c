//! Which answers a test had to log, worked out again from its seeds and its sampling target, against those it logged.

use std::collections::BTreeSet;

use loadgen::official::{self, MAX_LIBRARY};
use loadgen::plan::Plan;
use loadgen::settings::{Profile, Qsl};
use loadgen::vectors;
use serde_json::Value;

use super::check::AuditCheck;
use super::run::AuditedRun;

const LOADED: &str = "samples in memory";
const LOGGED: &str = "answers in the log of the test";
const WANTED: &str = "those that the seeds and the sampling target draw";

/// Most answers that are drawn again for a log with few, and how many times those of a log with many.
const MAX_LOGGED: f64 = 1e6;
const MAX_TIMES: f64 = 10.0;

/// Why nothing can be drawn again.
enum Undrawn {
    /// The log does not say enough, or what no run of an official round has: a fault.
    Fault(String),
    /// An honest log does not have enough for it either.
    Unknown(String),
}

/// The rows on what was loaded and what was logged.
pub(super) fn checks(test: &AuditedRun) -> Vec<AuditCheck> {
    match plan_of(test) {
        Ok((plan, row)) => vec![row, logged(test, &plan)],
        Err(row) => vec![row],
    }
}

/// The row on what was loaded.
pub(super) fn loaded_row(test: &AuditedRun) -> AuditCheck {
    plan_of(test).map_or_else(|row| row, |(_, row)| row)
}

/// The answers that a test had to log: sequence number and sample of each.
///
/// # Errors
/// Why they cannot be worked out.
pub fn picks(test: &AuditedRun) -> Result<BTreeSet<(u64, u64)>, String> {
    let (plan, _) = plan_of(test).map_err(|row| row.found)?;
    let queries = test.detail.whole("result_query_count").ok_or("the detail log has no result_query_count")?;
    let most = samples_of(&plan, queries) as f64 * most_of(&plan);
    if most > MAX_LOGGED {
        return Err(format!("the settings draw about {most:.0}"));
    }
    Ok(answer_keys(&plan, queries)?.into_iter().collect())
}

/// The answers that are logged of so many queries: sequence number and sample of each.
fn answer_keys(plan: &Plan, queries: u64) -> Result<Vec<(u64, u64)>, String> {
    let answers = vectors::logged_answers(plan, queries).map_err(|error| error.to_string())?;
    Ok(answers.iter().map(|one| (one.seq.0, u64::from(one.index.0))).collect())
}

/// The plan of the test with the row on what it had loaded, or a row on why there is none.
fn plan_of(test: &AuditedRun) -> Result<(Plan, AuditCheck), AuditCheck> {
    let plans = plans(test).map_err(|why| match why {
        Undrawn::Fault(why) => AuditCheck::ours(LOGGED, false, WANTED, why),
        Undrawn::Unknown(why) => AuditCheck::unchecked(LOGGED, WANTED, why),
    })?;
    let loaded = loaded(test);
    let Some(plan) = plans.into_iter().find(|plan| set_of(plan) == loaded) else {
        let finding = "other samples than the seeds draw by any rule of LoadGen";
        return Err(AuditCheck::ours(LOADED, false, "those that the seeds draw", finding));
    };
    let finding = format!("{} samples, the same", loaded.map_or(0, |loaded| loaded.len()));
    Ok((plan, AuditCheck::ours(LOADED, true, "those that the seeds draw", finding)))
}

/// The plans that the test may have had: one by its own record, else one for each kind of release.
fn plans(test: &AuditedRun) -> Result<Vec<Plan>, Undrawn> {
    let fault = |error: &dyn ToString| Undrawn::Fault(error.to_string());
    let samples = test.detail.qsl_samples();
    if samples > MAX_LIBRARY {
        return Err(Undrawn::Fault(format!("a library of {samples} samples, and {MAX_LIBRARY} are the most")));
    }
    let new_plan = |settings: &_, qsl, profile| Plan::with_profile(Clone::clone(settings), qsl, profile);
    if let Some(own) = &test.own {
        let profile = own.profile.ok_or_else(|| Undrawn::Unknown("the round of the run is not known".to_owned()))?;
        let count = |key| test.detail.whole(key).ok_or_else(|| fault(&format!("the detail log has no {key}")));
        let qsl =
            Qsl { total: count("qsl_reported_total_count")?, performance: count("qsl_reported_performance_count")? };
        return new_plan(&own.settings, qsl, profile).map(|plan| vec![plan]).map_err(|error| fault(&error));
    }
    let log = test.detail.log().map_err(|error| fault(error))?;
    let requested = official::requested(log).map_err(|error| fault(&error))?;
    if requested.is_rounded {
        return Err(Undrawn::Unknown("the log has six digits of the requested rate, which had more".to_owned()));
    }
    let plans: Result<Vec<Plan>, _> =
        Profile::POSSIBLE.into_iter().map(|profile| new_plan(&requested.settings, requested.qsl, profile)).collect();
    plans.map_err(|error| fault(&error))
}

/// The indices that the log says were loaded first.
fn loaded(test: &AuditedRun) -> Option<Vec<u64>> {
    let Value::Array(list) = test.detail.value("loaded_qsl_set")? else { return None };
    list.iter().map(Value::as_u64).collect()
}

/// The indices of the first set of a plan.
fn set_of(plan: &Plan) -> Option<Vec<u64>> {
    Some(plan.phases().first()?.set.indices.iter().map(|index| u64::from(index.0)).collect())
}

/// The samples of so many queries of the performance phase.
fn samples_of(plan: &Plan, queries: u64) -> u64 {
    let phase = plan.phases().iter().find(|phase| !phase.is_accuracy());
    queries.saturating_mul(phase.map_or(1, |phase| phase.generated.samples_per_query))
}

/// The largest share of samples that are logged: LoadGen divides the sampling target by the samples that it expects, of
/// which there are at least so many.
fn most_of(plan: &Plan) -> f64 {
    let effective = plan.effective();
    let target = effective.settings.accuracy_log_sampling_target;
    if target == 0 {
        return effective.settings.accuracy_log_probability.clamp(0.0, 1.0);
    }
    let by_duration = effective.target_qps * effective.settings.min_duration_ms as f64 / 1000.0;
    (target as f64 / by_duration.max(effective.min_sample_count as f64).max(1.0)).min(1.0)
}

fn logged(test: &AuditedRun, plan: &Plan) -> AuditCheck {
    let Some(queries) = test.detail.whole("result_query_count") else {
        return AuditCheck::ours(LOGGED, false, WANTED, "the detail log has no result_query_count");
    };
    let samples = samples_of(plan, queries);
    let entries = test.answers.as_ref().map(|log| log.answers.as_slice()).unwrap_or_default();
    let most = samples as f64 * most_of(plan);
    if most > (MAX_TIMES * entries.len() as f64).max(MAX_LOGGED) {
        let finding = format!("{} answers, and the settings draw about {most:.0}", entries.len());
        return AuditCheck::ours(LOGGED, false, WANTED, finding);
    }
    let mut seed_keys = match answer_keys(plan, queries) {
        Ok(keys) => keys,
        Err(why) => return AuditCheck::unchecked(LOGGED, WANTED, why),
    };
    seed_keys.sort_unstable();
    let log_keys: Option<Vec<(u64, u64)>> = entries.iter().map(|one| Some((one.seq_id?, one.qsl_idx))).collect();
    let Some(mut log_keys) = log_keys else {
        return AuditCheck::ours(LOGGED, false, WANTED, "an answer has no sequence number");
    };
    log_keys.sort_unstable();
    let is_same = log_keys == seed_keys;
    let count =
        |list: &[(u64, u64)], other: &[(u64, u64)]| list.iter().filter(|one| other.binary_search(one).is_err()).count();
    let finding = match is_same {
        true => format!("{} answers of {samples} samples, the same", log_keys.len()),
        false => {
            let (missing, extra) = (count(&seed_keys, &log_keys), count(&log_keys, &seed_keys));
            let twice = log_keys.len() - {
                let mut once = log_keys.clone();
                once.dedup();
                once.len()
            };
            format!("{} of {} missing, {extra} others, {twice} twice", missing, seed_keys.len())
        }
    };
    AuditCheck::ours(LOGGED, is_same, WANTED, finding)
}

#[cfg(test)]
mod tests {
    use loadgen::plan::Plan;
    use loadgen::settings::{Mode, Scenario, TestSettings};
    use serde_json::json;

    use super::super::answers::AnswerLog;
    use super::super::check::CheckOutcome;
    use super::super::detail::Detail;
    use super::super::run::OwnFacts;
    use super::*;

    const QSL: Qsl = Qsl { total: 100, performance: 40 };
    const QUERIES: u64 = 400;

    fn settings() -> TestSettings {
        let mode = Mode::PerformanceOnly;
        let mut settings = TestSettings { scenario: Scenario::SERVER, mode, min_duration_ms: 0, ..Default::default() };
        settings.min_query_count = QUERIES;
        settings.accuracy_log_sampling_target = 50;
        settings
    }

    /// A run as it was, with other values of some keys; a null takes the key away.
    fn run(settings: TestSettings, changed: &[(&str, Value)]) -> AuditedRun {
        let profile = Profile::ALL[0].1;
        let plan = Plan::with_profile(settings.clone(), QSL, profile).unwrap();
        let issued = vectors::logged_answers(&plan, QUERIES).unwrap_or_default();
        let entry = |one: &loadgen::world::Issued| json!({"seq_id": one.seq.0, "qsl_idx": one.index.0, "data": "00"});
        let answers = AnswerLog::read(Value::Array(issued.iter().map(entry).collect()).to_string()).unwrap();
        let mut values = vec![
            ("qsl_reported_total_count", json!(QSL.total)),
            ("qsl_reported_performance_count", json!(QSL.performance)),
            ("result_query_count", json!(QUERIES)),
            ("loaded_qsl_set", json!(set_of(&plan))),
        ];
        for (key, value) in changed {
            values.retain(|(own, _)| own != key);
            values.extend(Some((*key, value.clone())).filter(|_| !value.is_null()));
        }
        let line = |(key, value): &(&str, Value)| format!(":::MLLOG {}\n", json!({"key": key, "value": value}));
        let detail = Detail::read(&values.iter().map(line).collect::<String>()).unwrap();

        let own = OwnFacts { settings, profile: Some(profile), ..OwnFacts::default() };
        AuditedRun { detail, summary: String::new(), answers: Some(answers), own: Some(own) }
    }

    fn last(test: &AuditedRun) -> AuditCheck {
        checks(test).pop().unwrap()
    }

    #[test]
    fn a_run_as_it_was_passes_and_says_of_how_many_samples() {
        let row = last(&run(settings(), &[]));
        assert_eq!(row.outcome, CheckOutcome::Passed, "{row:?}");
        assert!(row.found.ends_with(" answers of 400 samples, the same"), "{row:?}");
    }

    #[test]
    fn a_line_that_was_taken_out_is_a_fault() {
        for key in ["result_query_count", "qsl_reported_total_count", "qsl_reported_performance_count"] {
            let row = last(&run(settings(), &[(key, Value::Null)]));
            assert_eq!(row.outcome, CheckOutcome::Failed, "{row:?}");
            assert!(row.found.contains(key), "{row:?}");
        }
        let mut unknown = run(settings(), &[]);
        unknown.own = unknown.own.map(|own| OwnFacts { profile: None, ..own });
        assert_eq!(last(&unknown).outcome, CheckOutcome::Unchecked);
        unknown.own = None;
        assert_eq!(last(&unknown).outcome, CheckOutcome::Failed, "there are no requested settings");
    }

    #[test]
    fn numbers_that_no_memory_is_enough_for_are_faults() {
        for key in ["qsl_reported_total_count", "qsl_reported_performance_count"] {
            let row = last(&run(settings(), &[(key, json!(4_000_000_000_u64))]));
            assert_eq!(row.outcome, CheckOutcome::Failed, "{row:?}");
            assert!(row.found.contains("4000000000 samples"), "{row:?}");
        }
        let mut many = run(settings(), &[("result_query_count", json!(190_000_000))]);
        let all = |own: OwnFacts| {
            let settings = TestSettings { accuracy_log_sampling_target: 190_000_000, ..own.settings };
            OwnFacts { settings: TestSettings { min_query_count: 190_000_000, ..settings }, ..own }
        };
        many.own = many.own.map(all);
        let row = last(&many);
        assert_eq!(row.outcome, CheckOutcome::Failed, "{row:?}");
        assert!(row.found.contains("draw about 190000000"), "{row:?}");
    }
}
