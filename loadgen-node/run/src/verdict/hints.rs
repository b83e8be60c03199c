//! Settings for the next run when a run was too short, or its rate too high: a number instead of a direction. Pure.

use super::lateness::LATE;
use crate::network::cause::Cause;
use loadgen::judge::Summary;
use loadgen::plan::Effective;
use loadgen::settings::{Mode, TestSettings};
use loadgen::traffic::Expected;
use lon_proto::figures::length_ns;

/// Factor by which a hint exceeds the measured value, so that the next run is not too short again.
const MORE: f64 = 1.2;

/// Words of a hint that no rate would be kept.
pub(crate) const NO_RATE_HELPS: &str = "no lower rate helps";

/// A run that is shorter does not show the rate of a SUT.
const SHORT_NS: i64 = 1_000_000_000;

/// The remedy for a search that ended before it had a load.
pub(crate) const UNFINISHED: &str =
    "the same command with --find-peak-resume FOLDER/find_peak.json, or a higher --find-peak-max-trials";

/// The setting by which the next run becomes long enough; none where this one was. `offers_auto` is false where a look
/// at the nodes has found the setting that was too low.
pub(crate) fn longer(summary: &Summary, effective: &Effective, offers_auto: bool) -> Option<String> {
    if summary.checks.min_duration {
        return None;
    }
    if let Some(set) = higher_limit(summary, effective) {
        return Some(format!("--set {set} (the run ended there, before min_duration)"));
    }
    let set = long_enough(summary, effective)?;
    let key = set.split('=').next().unwrap_or_default();
    let can_be_found = offers_auto && effective.scenario.traffic().expected() != Expected::MostQps;
    let is_of_rate = effective.scenario.traffic().expected() == Expected::SampleRate;
    if can_be_found && is_of_rate && summary.latency.max_ns < SHORT_NS {
        return Some(format!("--set {key}=auto (so short a run does not show how fast the SUT is), or --set {set}"));
    }
    let or_auto = if can_be_found { format!(", or --set {key}=auto") } else { String::new() };
    Some(format!("--set {set} (the next run is then long enough at this speed){or_auto}"))
}

/// The setting by which a run at this speed is long enough; none where the schedule gives its length.
pub(crate) fn long_enough(summary: &Summary, effective: &Effective) -> Option<String> {
    Some(match effective.scenario.traffic().expected() {
        Expected::SampleRate => format!("target_qps={}", upwards(summary.rates.samples_per_s * MORE)?),
        Expected::Latency => {
            let latency_ms = summary.judged_latency().mean_ns as f64 / 1e6;
            format!("target_latency={}ms", downwards(latency_ms / MORE)?)
        }
        Expected::MostQps => format!("most_qps={}", upwards(summary.rates.completed_samples_per_s * MORE)?),
        Expected::QueryRate | Expected::Bursts => return None,
    })
}

/// The limit that the run ended at before `min_duration`, raised; none where it ended at none.
fn higher_limit(summary: &Summary, effective: &Effective) -> Option<String> {
    let &TestSettings { min_duration_ms, max_duration_ms, max_query_count, .. } = &effective.settings;
    if (1..min_duration_ms).contains(&max_duration_ms) {
        return Some(format!("max_duration={}ms", upwards(min_duration_ms as f64 * MORE)?));
    }
    if !(1..=summary.queries).contains(&max_query_count) {
        return None;
    }
    let count = upwards(summary.rates.qps_with_overhead * min_duration_ms as f64 / 1e3 * MORE)?.ceil();
    Some(format!("max_query_count={}", (count as u64).max(least_queries(effective))))
}

/// As many queries as early stopping takes.
fn least_queries(effective: &Effective) -> u64 {
    effective.scenario.judge().early_stopping().least_queries(effective.target_latency_percentile)
}

/// The remedy where this host was busy: a lower rate only hides that. `codes` are those of the reasons.
pub(crate) fn free_host<'a>(bound: Option<Cause>, mut codes: impl Iterator<Item = &'a str>) -> Option<String> {
    let is_late = codes.any(|code| code == LATE);
    (is_late && bound == Some(Cause::Host)).then(|| {
        "the same run while no other program uses this host, or with --priority realtime, or with a core for the \
         LoadGen node alone (this host was busy, so the result says little on the SUT)"
            .to_owned()
    })
}

/// The setting by which the next run has as many queries as early stopping takes; none where this one had, or where too
/// many are over the limit for any number of queries.
pub(crate) fn more_queries(summary: &Summary, effective: &Effective) -> Option<String> {
    if summary.checks.early_stopping {
        return None;
    }
    let least = if summary.queries < least_queries(effective) {
        least_queries(effective)
    } else {
        // With as many late ones as there were, and some to spare.
        let late_share = summary.early_stopping.furthest().late as f64 / summary.queries as f64;
        let rule = effective.scenario.judge().early_stopping();
        let queries = rule.queries_for(effective.target_latency_percentile, late_share * MORE)?;
        upwards(queries as f64)? as u64
    };
    let limit = if (1..least).contains(&effective.settings.max_query_count) {
        format!(",max_query_count={least}")
    } else {
        String::new()
    };
    if effective.settings.max_duration_ms > 0 && summary.queries < effective.min_query_count {
        let queries = summary.queries;
        return Some(format!(
            "--set max_duration=0 (it ended the run after {queries} queries; early stopping takes {least})"
        ));
    }
    Some(format!("--set min_query_count={least}{limit} (early stopping takes as many)"))
}

/// The setting by which the next run keeps its limits, where this one had a schedule and missed one: a rate below that
/// of the answers. None where the limits were kept, and where a search chooses the rate.
pub(crate) fn lower_rate(summary: &Summary, effective: &Effective) -> Option<String> {
    // A process with rates of its own does not look at target_qps.
    let has_rate = effective.scenario.traffic().expected() == Expected::QueryRate;
    let is_scheduled = has_rate && !effective.arrivals.has_own_rate();
    let missed = summary.checks.performance_constraints == Some(false);
    if !is_scheduled || !missed || effective.mode == Mode::FindPeakPerformance {
        return None;
    }
    let fastest_ns = summary.judged_latency().min_ns;
    if let Ok(limit_ns) = i64::try_from(effective.target_latency_ns)
        && !effective.settings.use_token_latencies
        && fastest_ns > limit_ns
    {
        let [fastest, limit] = [fastest_ns, limit_ns].map(|ns| length_ns(ns.unsigned_abs()));
        return Some(format!(
            "a faster SUT, or a higher target_latency ({NO_RATE_HELPS}: the fastest answer took {fastest}, the limit \
             is {limit})"
        ));
    }
    let answered = summary.rates.completed_samples_per_s / effective.samples_per_query.max(1) as f64;
    let lower = downwards(answered / MORE)?;
    // Near the limit already without a queue: a rate that holds is far below, if there is one.
    if !effective.settings.use_token_latencies
        && fastest_ns.saturating_mul(2) > effective.target_latency_ns.cast_signed()
    {
        let [fastest, limit] = [fastest_ns.unsigned_abs(), effective.target_latency_ns].map(length_ns);
        return Some(format!(
            "a higher target_latency, a faster SUT or link, or --compression (the fastest answer took {fastest}, and \
             two in a row exceed the limit of {limit}); --set target_qps=auto finds a rate that holds, if there is one"
        ));
    }
    let measured = format!("{answered:.0} queries/s were answered");
    Some(format!("--set target_qps={lower} ({measured}), or --set target_qps=auto (finds a safe rate)"))
}

/// Rounds up to two digits.
fn upwards(number: f64) -> Option<f64> {
    rounded(number, f64::ceil)
}

/// Rounds down to two digits.
fn downwards(number: f64) -> Option<f64> {
    rounded(number, f64::floor)
}

fn rounded(number: f64, how: fn(f64) -> f64) -> Option<f64> {
    if !(1e-9..1e15).contains(&number) {
        return None;
    }
    let digits = 1 - number.log10().floor() as i32;
    let step = 10_f64.powi(digits);
    // The number is written as text and read again, so that 0.27 is not 0.27000000000000002.
    let places = usize::try_from(digits).unwrap_or(0);
    format!("{:.places$}", how(number * step) / step).parse().ok()
}

#[cfg(test)]
mod tests {
    use loadgen::plan::Plan;
    use loadgen::run::{RunOptions, run};
    use loadgen::settings::{Qsl, Scenario, TestSettings};
    use loadgen::sim::{Service, SimOptions, SimWorld};

    use super::*;

    #[test]
    fn a_busy_host_has_a_remedy_of_its_own() {
        let of = |cause, code| free_host(cause, [code, "performance_constraints"].into_iter());
        assert!(of(Some(Cause::Host), LATE).is_some_and(|hint| hint.contains("no other program uses this host")));
        assert_eq!(of(Some(Cause::Host), "min_duration"), None, "nothing was late");
        assert_eq!(of(Some(Cause::Link), LATE), None);
    }

    #[test]
    fn a_rate_that_was_too_high_has_a_lower_one() {
        let of = |server_target_qps: f64| {
            let server = TestSettings { scenario: Scenario::SERVER, server_target_qps, ..TestSettings::default() };
            let settings = TestSettings { min_duration_ms: 2_000, server_target_latency_ns: 50_000_000, ..server };
            let plan = Plan::new(settings, Qsl { total: 20, performance: 20 }).unwrap();
            // One sample takes 10 ms: 100 are answered per second.
            let sut = SimOptions { service: Service::Constant { ns: 10_000_000 }, servers: 1, ..SimOptions::default() };
            let outcome = run(&plan, &mut SimWorld::new(sut), &mut (), RunOptions::default());
            lower_rate(&outcome.summary.unwrap(), plan.effective())
        };
        let hint = of(400.0).unwrap();
        assert!(hint.starts_with("--set target_qps=8") && hint.contains("target_qps=auto"), "{hint}");
        assert_eq!(of(5.0), None);
    }

    #[test]
    fn numbers_have_two_digits() {
        assert_eq!([28_345.0, 5.01, 0.0123].map(upwards), [Some(29_000.0), Some(5.1), Some(0.013)]);
        assert_eq!([28_345.0, 5.01, 0.0123].map(downwards), [Some(28_000.0), Some(5.0), Some(0.012)]);
        assert_eq!([0.0, f64::NAN, -1.0, f64::INFINITY].map(upwards), [None; 4]);
    }
}
