//! Statements of the detail log about the test: its requested settings and its library. Works out the settings that
//! follow from both here.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use super::detail_log::{DETAIL_FILE, DetailLog};
use super::digits::{is_full, printed_as};
use super::error::LogError;
use crate::mode::Qsl;
use crate::plan::Plan;
use crate::scenarios::TestSettings;

/// Most samples of a library whose sets are drawn again. The largest official dataset has 788,379.
pub const MAX_LIBRARY: u64 = 20_000_000;

/// Steps by which a rounded rate is approached: as many as a number has binary digits.
const STEPS: usize = 60;

/// The requested settings and the library, as the log has them.
pub(super) struct Statements {
    settings: Map<String, Value>,
    qsl: Qsl,
    pub(super) sut_name: String,
    /// Settings that were requested and that this engine does not have: key and value.
    pub(super) unknown: Vec<(String, String)>,
    /// The rate that was asked for, which the log has in six digits, and what it can have been.
    rate: Option<(String, Range)>,
    /// True where that rate has six digits in the log, and had more probably.
    pub(super) is_rounded: bool,
}

/// The interval of a number that a log gives in six digits.
type Range = RangeInclusive<f64>;

const NS_PER_S: f64 = 1e9;

/// Names of the requested rates by which traffic is generated. A log has the rate of its scenario.
const RATES: [&str; 4] = [
    "server_target_qps",
    "offline_expected_qps",
    "single_stream_expected_latency_ns",
    "multi_stream_expected_latency_ns",
];
/// Settings with token latencies, which detail logs have in some scenarios and summaries in all.
const TOKEN_LIMITS: [&str; 2] = ["server_ttft_latency", "server_tpot_latency"];

/// The settings as this engine understands them.
pub(super) struct Plans {
    /// The settings to judge by.
    pub(super) judging: Plan,
    /// The same with the least and with the largest values of what the detail log does not say; none where it says all.
    pub(super) silent: Option<[Plan; 2]>,
    /// The settings with the least and the largest rate that the log can mean.
    pub(super) extremes: Vec<Plan>,
    /// The same settings with all phases; none where they cannot be run.
    pub(super) whole: Option<Plan>,
}

impl Plans {
    /// All phases with the least rate that the log can mean, with the judged one, and with the largest.
    pub(super) fn generated<T>(&self, of: impl Fn(&Plan) -> T) -> Vec<T> {
        let whole = |plan: &Plan| Plan::new(plan.requested().clone(), plan.qsl()).ok().map(|plan| of(&plan));
        let mut ends: Vec<T> = self.extremes.iter().filter_map(whole).collect();
        if let Some(plan) = &self.whole {
            ends.insert(ends.len() / 2, of(plan));
        }
        ends
    }

    /// Each filling of what was measured with the plan to judge it by. Where settings are silent, too, there are two.
    pub(super) fn with_fillings<T: Clone>(&self, mut fillings: Vec<T>) -> Vec<(T, &Plan)> {
        let Some(silent) = &self.silent else {
            return fillings.into_iter().map(|filling| (filling, &self.judging)).collect();
        };
        fillings.extend(fillings.first().cloned().filter(|_| fillings.len() == 1));
        fillings.into_iter().zip(silent).collect()
    }
}

impl Statements {
    pub(super) fn read(log: &DetailLog) -> Result<Statements, LogError> {
        let defaults = match serde_json::to_value(TestSettings::default()) {
            Ok(Value::Object(defaults)) => defaults,
            _ => Map::new(),
        };
        let qsl = Qsl {
            total: log.needed("qsl_reported_total_count")?,
            performance: log.needed("qsl_reported_performance_count")?,
        };
        if qsl.total > MAX_LIBRARY {
            let message = format!("qsl_reported_total_count: {} samples, and {MAX_LIBRARY} are the most", qsl.total);
            return Err(LogError::new(DETAIL_FILE, 0, message));
        }
        let sut_name = log.text("sut_name").unwrap_or_default().to_owned();
        let mut statements =
            Statements { settings: Map::new(), qsl, sut_name, unknown: Vec::new(), rate: None, is_rounded: false };
        for entry in log.beginning("requested_") {
            let key = entry.key.trim_start_matches("requested_");
            let name = if key == "test_mode" { "mode" } else { key };
            if !defaults.contains_key(name) {
                statements.unknown.push((entry.key.clone(), entry.value.clone()));
                continue;
            }
            let why = |error| LogError::new(DETAIL_FILE, entry.line, format!("{}: {error}", entry.key));
            let value: Value = serde_json::from_str(&entry.value).map_err(why)?;
            let alone = Map::from_iter([(name.to_owned(), value.clone())]);
            serde_json::from_value::<TestSettings>(Value::Object(alone)).map_err(why)?;
            statements.settings.insert(name.to_owned(), value);
            let can_be = printed_as(&entry.value).filter(|_| RATES.contains(&name));
            statements.is_rounded |= can_be.is_some() && is_full(&entry.value);
            statements.rate = can_be.map(|range| (name.to_owned(), range)).or(statements.rate);
        }
        for needed in ["scenario", "mode"] {
            if !statements.settings.contains_key(needed) {
                return Err(LogError::new(DETAIL_FILE, 0, "it has no requested settings"));
            }
        }
        Ok(statements)
    }

    /// The plans for these settings. Of a rounded rate that one is taken which explains the whole numbers in force.
    pub(super) fn plans(&self, log: &DetailLog) -> Result<Plans, LogError> {
        let plain = self.with(None)?;
        let Some((name, range)) = &self.rate else {
            return Ok(self.with_phases(plain, Vec::new()));
        };
        let (plain, range) = self.narrowed(log, plain, name, range);
        let extremes = [*range.start(), *range.end()].map(|value| self.with(Some((name, value))));
        let [Ok(least), Ok(most)] = extremes else { return Ok(self.with_phases(plain, Vec::new())) };
        let logged = ["effective_samples_per_query", "effective_min_query_count"];
        let logged_size = logged.iter().filter_map(|key| log.number::<u64>(key)).map(u128::from).sum();
        let judging = match size(&plain) == logged_size {
            true => plain,
            false => self.explaining(logged_size, name, range, size(&least) < size(&most)).unwrap_or(plain),
        };
        Ok(self.with_phases(judging, vec![least, most]))
    }

    /// An expected latency in six digits leaves more rates open than the rate in six digits that follows from it does.
    fn narrowed(&self, log: &DetailLog, plain: Plan, name: &str, range: &Range) -> (Plan, Range) {
        let in_force = log.last("effective_target_qps").and_then(|entry| printed_as(&entry.value));
        let Some(rates) = in_force.filter(|rates| name.ends_with("_ns") && *rates.start() > 0.0) else {
            return (plain, range.clone());
        };
        let least = (NS_PER_S / rates.end()).max(*range.start());
        let most = (NS_PER_S / rates.start()).min(*range.end());
        match self.with(Some((name, f64::midpoint(least, most)))) {
            // No rate explains both: what is there differs.
            Ok(middle) if least <= most => (middle, least..=most),
            _ => (plain, range.clone()),
        }
    }

    fn with_phases(&self, judging: Plan, extremes: Vec<Plan>) -> Plans {
        let whole = Plan::new(judging.requested().clone(), self.qsl).ok();
        Plans { silent: self.silent(&judging), judging, extremes, whole }
    }

    /// The plan with the least and with the largest limits of tokens, where the log has none.
    fn silent(&self, judging: &Plan) -> Option<[Plan; 2]> {
        if !judging.effective().settings.use_token_latencies {
            return None;
        }
        let of = |limit: u64| {
            let mut settings = judging.requested().clone();
            for (name, field) in
                TOKEN_LIMITS.into_iter().zip([&mut settings.server_ttft_latency, &mut settings.server_tpot_latency])
            {
                if !self.settings.contains_key(name) {
                    *field = limit;
                }
            }
            Plan::for_judging(settings, self.qsl).ok()
        };
        let [least, most] = [of(0)?, of(i64::MAX.unsigned_abs())?];
        (least.requested() != most.requested()).then_some([least, most])
    }

    /// The plan with a rounded number that comes to the wanted size, if there is one.
    fn explaining(&self, logged_size: u128, name: &str, range: Range, grows: bool) -> Option<Plan> {
        let (mut low, mut high) = range.into_inner();
        for _ in 0..STEPS {
            let middle = low + (high - low) / 2.0;
            let plan = self.with(Some((name, middle))).ok()?;
            if size(&plan) == logged_size {
                return Some(plan);
            }
            if (size(&plan) < logged_size) == grows { low = middle } else { high = middle }
        }
        None
    }

    fn with(&self, changed: Option<(&str, f64)>) -> Result<Plan, LogError> {
        let mut settings = self.settings.clone();
        settings.extend(changed.map(|(name, value)| (name.to_owned(), Value::from(value))));
        let why = |error: String| LogError::new(DETAIL_FILE, 0, format!("the requested settings: {error}"));
        let settings: TestSettings =
            serde_json::from_value(Value::Object(settings)).map_err(|error| why(error.to_string()))?;
        Plan::for_judging(settings, self.qsl).map_err(|error| why(error.to_string()))
    }
}

/// Returns one number that grows or shrinks with a rate: samples per query plus least number of queries.
fn size(plan: &Plan) -> u128 {
    u128::from(plan.effective().samples_per_query) + u128::from(plan.effective().min_query_count)
}
