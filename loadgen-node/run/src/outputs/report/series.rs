//! From a timeline to curves: latencies by percentile, and over time.

use hdrhistogram::Histogram;
use loadgen::recorder::{SampleEnd, Timeline};

/// Most steps of time in which a run is shown. One with fewer samples has a step for each: the rate of a step in which
/// one sample was answered says nothing of the run.
const STEPS: usize = 120;
/// Digits of latencies that are right.
const DIGITS: u8 = 3;
/// The percentiles of the distribution: each further one leaves out a third of the rest.
const TAIL_STEPS: usize = 22;

/// Latencies and counts of samples in one step of time.
#[derive(Clone, Debug)]
pub struct Step {
    /// Latencies of samples that started in it, ns.
    pub latencies: Histogram<u32>,
    /// Samples that were answered in it.
    pub answered: u64,
    /// Samples that started in it.
    started: u64,
    /// Samples without an answer at its end.
    pub outstanding: u64,
}

/// The curves of a timeline.
#[derive(Clone, Debug)]
pub struct Series {
    /// All latencies, ns.
    pub latencies: Histogram<u64>,
    /// The length of a step, s.
    pub step_s: f64,
    /// The steps in their order.
    pub steps: Vec<Step>,
    /// Of token runs.
    pub tokens: Option<TokenTimes>,
}

/// Latencies of tokens.
#[derive(Clone, Debug)]
pub struct TokenTimes {
    /// Time to the first token, ns.
    pub(super) first: Histogram<u64>,
    /// Time per token after the first, ns.
    pub(super) each: Histogram<u64>,
}

impl Series {
    /// Of a phase whose latencies started then, ns from its start.
    ///
    /// # Errors
    /// The latencies cannot be counted.
    pub(crate) fn of(timeline: &Timeline, starts_ns: impl Iterator<Item = u64>) -> anyhow::Result<Series> {
        let latencies_ns = timeline.samples().map(|end| match end {
            SampleEnd::Done { latency_ns } => Some(latency_ns),
            _ => None,
        });
        let steps = usize::try_from(timeline.counts.issued).unwrap_or(STEPS).clamp(1, STEPS);
        let series = Series::of_samples(timeline.end_ns.max(1), steps, starts_ns.zip(latencies_ns))?;
        Ok(Series { tokens: TokenTimes::of(timeline)?, ..series })
    }

    /// Of samples that took this long, in so many steps; each sample with when it started and its latency, ns; none: it
    /// has no answer.
    pub fn of_samples(
        length_ns: u64,
        steps: usize,
        samples: impl Iterator<Item = (u64, Option<u64>)>,
    ) -> anyhow::Result<Series> {
        let step = Step { latencies: Histogram::new(DIGITS)?, answered: 0, started: 0, outstanding: 0 };
        let mut series = Series {
            latencies: Histogram::new(DIGITS)?,
            step_s: length_ns as f64 / 1e9 / steps as f64,
            steps: vec![step; steps],
            tokens: None,
        };
        let step_of = |ns: u64| ((ns as f64 / length_ns as f64 * steps as f64) as usize).min(steps - 1);
        for (start_ns, latency_ns) in samples {
            let began = step_of(start_ns);
            series.steps[began].started += 1;
            if let Some(latency_ns) = latency_ns {
                series.latencies.record(latency_ns)?;
                series.steps[began].latencies.record(latency_ns)?;
                series.steps[step_of(start_ns.saturating_add(latency_ns))].answered += 1;
            }
        }
        let (mut started, mut answered) = (0, 0);
        for step in &mut series.steps {
            started += step.started;
            answered += step.answered;
            step.outstanding = started.saturating_sub(answered);
        }
        Ok(series)
    }

    /// Returns true when a sample began.
    pub(super) fn has_begun(&self) -> bool {
        self.steps.iter().any(|step| step.started > 0)
    }

    /// Returns the length of all steps together, s.
    pub fn length_s(&self) -> f64 {
        self.step_s * self.steps.len() as f64
    }
}

impl TokenTimes {
    /// Returns the token latencies of a timeline. `None` when tokens were not timed.
    fn of(timeline: &Timeline) -> anyhow::Result<Option<TokenTimes>> {
        let (mut first, mut each) = (Histogram::new(DIGITS)?, Histogram::new(DIGITS)?);
        for (end, (first_ns, count)) in timeline.samples().zip(timeline.tokens()) {
            let Some(first_ns) = first_ns else { continue };
            first.record(first_ns)?;
            if let SampleEnd::Done { latency_ns } = end
                && count > 1
            {
                each.record(latency_ns.saturating_sub(first_ns) / u64::from(count - 1))?;
            }
        }
        Ok((!first.is_empty()).then_some(TokenTimes { first, each }))
    }
}

/// Percentiles from 0 on, up to that of the last of so many values but one, or 99.99, each as a share of 1.
pub(super) fn known_shares(values: u64) -> Vec<f64> {
    let shares = (0..TAIL_STEPS).map(|step| 1.0 - 0.65f64.powi(step as i32));
    let usable_shares = shares.chain([0.5, 0.9, 0.99, 0.999, 0.9999]).filter(|share| is_known(*share, values));
    let mut usable_shares: Vec<f64> = usable_shares.filter(|share| *share <= 0.9999).collect();
    usable_shares.sort_by(f64::total_cmp);
    usable_shares
}

/// Returns true when so many values have one above the percentile.
pub(super) fn is_known(share: f64, values: u64) -> bool {
    (1.0 - share) * values as f64 >= 1.0
}
