//! Effective settings: what the requested ones come to in the chosen scenario.

use crate::judge::{self, Measured, Summary, Terms, TokenLimits, Users};
use crate::mode::{Mode, Qsl};
use crate::scenarios::{Scenario, TestSettings};
use crate::traffic::arrivals::DueTimes;
use crate::traffic::{Arrivals, PlanError, Request, Sanitised, Shape, Trigger};

/// Longest `min_duration_ms` and `max_duration_ms`: ten years.
pub const MAX_DURATION_MS: u64 = 10 * 365 * 24 * 3_600 * 1_000;

/// The settings in force, with the official names of the `effective_*` log keys.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names are the official ones; TestSettings explains them")]
pub struct Effective {
    /// The requested settings, with compliance test 05 applied: those not below are in force as they are.
    pub settings: TestSettings,
    pub scenario: Scenario,
    pub mode: Mode,
    pub shape: Shape,
    pub arrivals: Arrivals,
    pub samples_per_query: u64,
    pub target_qps: f64,
    pub target_latency_ns: u64,
    pub target_latency_percentile: f64,
    pub max_async_queries: u64,
    pub target_duration_ms: u64,
    pub min_query_count: u64,
    pub min_sample_count: u64,
    pub performance_sample_count: u64,
    pub accuracy_sample_count: u64,
}

impl Effective {
    /// Applies test 05 and works out the effective values. Returns them, and objections that are logged as errors.
    ///
    /// # Errors
    /// A value is outside its range.
    pub(crate) fn of(requested: TestSettings, qsl: Qsl) -> Result<(Self, Vec<String>), PlanError> {
        let requested = requested.with_test05_applied();
        check_ranges(&requested)?;
        check_further(&requested)?;
        let performance_sample_count = or_else(requested.performance_sample_count_override, qsl.performance);
        let mut faults = Vec::new();
        let request = Request { settings: &requested, qsl, performance_sample_count };
        let sanitised = requested.scenario.traffic().sanitise(&request, &mut faults)?;
        check_percentile(sanitised.target_latency_percentile)?;
        let effective = Self::assemble(&request, sanitised)?;
        effective.object(&mut faults);
        Ok((effective, faults))
    }

    fn assemble(request: &Request<'_>, sanitised: Sanitised) -> Result<Self, PlanError> {
        let s = request.settings;
        let min_sample_count = sanitised.min_query_count.checked_mul(sanitised.samples_per_query).ok_or_else(|| {
            PlanError::value("min_query_count", &sanitised.min_query_count, "too large with these samples per query")
        })?;
        let arrivals = s.scenario.traffic().arrivals(request)?;
        Ok(Self {
            scenario: s.scenario,
            mode: s.mode,
            shape: s.scenario.traffic().shape(request)?,
            samples_per_query: sanitised.samples_per_query,
            target_qps: arrivals.own_rate_per_s().unwrap_or(sanitised.target_qps),
            arrivals,
            target_latency_ns: sanitised.target_latency_ns,
            target_latency_percentile: sanitised.target_latency_percentile,
            max_async_queries: sanitised.max_async_queries,
            target_duration_ms: sanitised.target_duration_ms,
            min_query_count: sanitised.min_query_count,
            min_sample_count,
            performance_sample_count: request.performance_sample_count,
            accuracy_sample_count: or_else(s.accuracy_sample_count_override, request.qsl.total),
            settings: s.clone(),
        })
    }

    /// Contradictions that the official LoadGen logs and then ignores.
    fn object(&self, faults: &mut Vec<String>) {
        if self.settings.performance_issue_same
            && self.settings.performance_issue_same_index >= self.performance_sample_count
        {
            faults.push(format!(
                "Sample Idx to be repeated in performance_issue_same mode cannot be greater than loaded \
                 performance_sample_count. performance_issue_same_index: {} performance_sample_count: {}",
                self.settings.performance_issue_same_index, self.performance_sample_count
            ));
        }
        if self.settings.performance_issue_unique && self.settings.performance_issue_same {
            faults.push(
                "Performance_issue_unique and performance_issue_same, both cannot be true at the same time. \
                 performance_issue_unique: 1 performance_issue_same: 1"
                    .to_owned(),
            );
        }
    }

    /// Returns true when many queries can be due at the same moment.
    pub(crate) fn has_equal_due_times(&self) -> bool {
        self.shape.has_schedule() && matches!(self.arrivals, Arrivals::Bursts { .. } | Arrivals::Listed(_))
    }

    /// Takes the due times of a trace that the arrivals name.
    pub(crate) fn set_due_times(&mut self, times: DueTimes) {
        if let Arrivals::Listed(listed) = &mut self.arrivals {
            listed.due_ns = Some(times.due_ns);
            listed.samples = times.samples;
            listed.repeat_ns = times.repeat_ns;
            self.target_qps = self.arrivals.own_rate_per_s().unwrap_or(self.target_qps);
        }
    }

    /// Probability with which the answer to a sample of a performance phase is logged.
    pub(crate) fn log_probability(&self) -> f64 {
        if self.settings.accuracy_log_sampling_target == 0 {
            return self.settings.accuracy_log_probability;
        }
        let by_duration = (self.target_qps * self.settings.min_duration_ms as f64 / 1000.0) as u64;
        let per_query = self.shape.layout.samples_per_rate_unit(self.samples_per_query);
        let expected = by_duration.saturating_mul(per_query).max(self.min_sample_count);
        self.settings.accuracy_log_sampling_target as f64 / expected as f64
    }

    /// `min_duration_ms` in seconds.
    pub fn min_duration_s(&self) -> f64 {
        self.settings.min_duration_ms as f64 / 1000.0
    }

    /// Judges a performance phase that was run with these settings.
    pub fn judge(&self, measured: Measured) -> Summary {
        judge::judge(self.scenario.judge(), &self.terms(), measured)
    }

    fn users(&self) -> Option<Users> {
        match self.shape.trigger {
            Trigger::Users { count, think_ns } => Some(Users { count, think_ns }),
            _ => None,
        }
    }

    /// Returns the limits and least sizes by which a performance phase is judged.
    pub fn terms(&self) -> Terms {
        let limits =
            TokenLimits { ttft_ns: self.settings.server_ttft_latency, tpot_ns: self.settings.server_tpot_latency };
        Terms {
            target_percentile: self.target_latency_percentile,
            target_latency_ns: self.target_latency_ns,
            min_duration_ms: self.settings.min_duration_ms,
            min_query_count: self.min_query_count,
            min_sample_count: self.min_sample_count,
            users: self.users(),
            tokens: self.settings.use_token_latencies.then_some(limits),
            inferred_tokens_per_sample: self
                .settings
                .infer_token_latencies
                .then_some(self.settings.token_latency_scaling_factor),
        }
    }
}

fn or_else(value: u64, default: u64) -> u64 {
    if value == 0 { default } else { value }
}

fn check_ranges(s: &TestSettings) -> Result<(), PlanError> {
    for (setting, ms) in [("min_duration_ms", s.min_duration_ms), ("max_duration_ms", s.max_duration_ms)] {
        if ms > MAX_DURATION_MS {
            return Err(PlanError::value(setting, &ms, "at most ten years"));
        }
    }
    if !s.accuracy_log_probability.is_finite() {
        let percent = s.accuracy_log_probability * 100.0;
        return Err(PlanError::value("accuracy_log_probability", &percent, "percent, from 0 to 100"));
    }
    Ok(())
}

/// Settings beside the official ones belong to the scenario, and are within their ranges.
fn check_further(s: &TestSettings) -> Result<(), PlanError> {
    match s.further.fault(s.scenario.traffic().keys()) {
        None => Ok(()),
        Some((field, reason)) => {
            Err(PlanError::Further { scenario: s.scenario.name(), field: field.to_owned(), reason })
        }
    }
}

fn check_percentile(fraction: f64) -> Result<(), PlanError> {
    if fraction > 0.0 && fraction < 1.0 {
        Ok(())
    } else {
        Err(PlanError::value("target_latency_percentile", &(fraction * 100.0), "percent, above 0 and below 100"))
    }
}
