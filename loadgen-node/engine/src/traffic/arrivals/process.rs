//! The processes as checked values, with the mean and the variation that each one promises.

use std::sync::Arc;

use super::modulated::Modulated;
use super::profile::Profile;
use super::weibull::weibull_cv;

/// An arrival process. Each is drawn from the round's schedule seed, in whole nanoseconds, and nothing is rescaled.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// Exponential gaps at the target rate: the official process.
    Poisson,
    /// Equal gaps, one over the target rate.
    Constant,
    /// Gamma gaps at the target rate; the shape is one over the square of their CV.
    Gamma {
        /// The shape of the distribution.
        shape: f64,
    },
    /// Weibull gaps at the target rate.
    Weibull {
        /// The shape of the distribution.
        shape: f64,
    },
    /// Exponential gaps at a rate that jumps between states.
    Modulated(Arc<Modulated>),
    /// Bursts of queries that are due at once.
    Bursts {
        /// Queries in a burst.
        size: u64,
        /// Time between two bursts, ns; the mean where gaps are exponential.
        every_ns: u64,
        /// The times between bursts are exponential, and not equal.
        is_exponential: bool,
    },
    /// A rate that changes over time by a profile.
    Rated {
        /// The rate over time.
        profile: Profile,
        /// One query each time the integral of the rate has grown by one, and not by an exponential draw.
        is_even: bool,
    },
    /// The due times of a trace.
    Listed(Listed),
}

/// The due times of a trace, which a file outside the engine gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// The text after `trace:`, which names the file.
    pub source: String,
    /// Due times, ns from the start, sorted. `None` before the file was read: enough to judge a run.
    pub due_ns: Option<Arc<[u64]>>,
    /// The sample of each query, an index in the library. `None`: the seeds choose.
    pub samples: Option<Arc<[u32]>>,
    /// The trace begins again after this time, ns; it ends without.
    pub repeat_ns: Option<u64>,
}

/// The due times that a trace file has.
#[derive(Clone, Debug, PartialEq)]
pub struct DueTimes {
    /// Due times, ns from the start, sorted.
    pub due_ns: Arc<[u64]>,
    /// The sample of each query, an index in the library; as many as due times. `None`: the seeds choose.
    pub samples: Option<Arc<[u32]>>,
    /// The trace begins again after this time, ns; it ends without.
    pub repeat_ns: Option<u64>,
}

/// The mean and the variation that a process promises.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Promise {
    /// Mean rate, queries per second.
    pub rate_per_s: f64,
    /// Coefficient of variation of the gaps; `None` where it has no simple formula.
    pub gap_cv: Option<f64>,
}

impl Arrivals {
    /// The name of the process.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Poisson => "poisson",
            Self::Constant => "constant",
            Self::Gamma { .. } => "gamma",
            Self::Weibull { .. } => "weibull",
            Self::Modulated(_) => "mmpp",
            Self::Bursts { .. } => "burst",
            Self::Rated { .. } => "rated",
            Self::Listed(_) => "trace",
        }
    }

    /// The mean rate of a process that has one of its own, queries per second; `None` where the target rate is the mean
    /// rate. A trace has one when its file was read.
    pub fn own_rate_per_s(&self) -> Option<f64> {
        match self {
            Self::Poisson | Self::Constant | Self::Gamma { .. } | Self::Weibull { .. } => None,
            Self::Modulated(modulated) => Some(modulated.mean_per_s()),
            Self::Bursts { size, every_ns, .. } => Some(*size as f64 * 1e9 / *every_ns as f64),
            Self::Rated { profile, .. } => Some(profile.mean_per_s()),
            Self::Listed(listed) => listed.rate_per_s(),
        }
    }

    /// Returns true when the process has rates of its own, and the target rate has no effect.
    pub fn has_own_rate(&self) -> bool {
        !matches!(self, Self::Poisson | Self::Constant | Self::Gamma { .. } | Self::Weibull { .. })
    }

    /// The time that the process describes, ns: its stages, its ramp, its trace. A run lasts at least as long.
    pub fn span_ns(&self) -> u64 {
        match self {
            Self::Rated { profile: Profile::Sine { .. }, .. } => 0,
            Self::Rated { profile, .. } => profile.span_ns(),
            // One more, so that all queries that are due last belong to it.
            Self::Listed(listed) => listed.last_ns().saturating_add(1),
            _ => 0,
        }
    }

    /// Most queries of the process; a trace without repetition ends.
    pub fn most_queries(&self) -> u64 {
        match self {
            Self::Listed(Listed { due_ns: Some(due_ns), repeat_ns: None, .. }) => due_ns.len() as u64,
            _ => u64::MAX,
        }
    }

    /// The mean and the variation that the process promises at a target rate.
    pub fn promise(&self, target_qps: f64) -> Promise {
        let gap_cv = match self {
            Self::Poisson => Some(1.0),
            Self::Constant => Some(0.0),
            Self::Gamma { shape } => Some(shape.sqrt().recip()),
            Self::Weibull { shape } => Some(weibull_cv(*shape)),
            Self::Modulated(_) | Self::Bursts { .. } | Self::Rated { .. } | Self::Listed(_) => None,
        };
        Promise { rate_per_s: self.own_rate_per_s().unwrap_or(target_qps), gap_cv }
    }
}

impl Listed {
    fn last_ns(&self) -> u64 {
        self.due_ns.as_deref().and_then(<[u64]>::last).copied().unwrap_or(0)
    }

    /// Queries over the time of one repetition, or of the trace.
    fn rate_per_s(&self) -> Option<f64> {
        let queries = self.due_ns.as_ref()?.len() as f64;
        let time_ns = self.repeat_ns.unwrap_or_else(|| self.last_ns());
        (time_ns > 0).then(|| queries * 1e9 / time_ns as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_are_those_of_the_formulas() {
        let promise = |text: &str| super::super::process_text::parse(text).unwrap().promise(50.0);
        assert_eq!(promise("poisson"), Promise { rate_per_s: 50.0, gap_cv: Some(1.0) });
        assert_eq!(promise("constant"), Promise { rate_per_s: 50.0, gap_cv: Some(0.0) });
        assert_eq!(promise("gamma:burstiness=0.25"), Promise { rate_per_s: 50.0, gap_cv: Some(2.0) });
        assert_eq!(promise("burst:size=8,every=100ms").rate_per_s, 80.0);
        assert_eq!(promise("onoff:high=100,low=0,mean-high=1s,mean-low=3s").rate_per_s, 25.0);
        assert_eq!(promise("stages:100x60s,40x30s").rate_per_s, 80.0);
        assert_eq!(promise("ramp:from=10,to=30,over=10s").rate_per_s, 20.0);
        assert_eq!(promise("sine:mean=20,amplitude=10,period=1s").rate_per_s, 20.0);
    }

    #[test]
    fn a_trace_has_the_rate_of_its_due_times() {
        let listed = |due_ns: &[u64], repeat_ns| {
            let source = "a.csv".to_owned();
            Arrivals::Listed(Listed { source, due_ns: Some(due_ns.into()), samples: None, repeat_ns })
        };
        let once = listed(&[0, 250_000_000, 500_000_000], None);
        assert_eq!((once.own_rate_per_s(), once.span_ns(), once.most_queries()), (Some(6.0), 500_000_001, 3));
        let again = listed(&[0, 1], Some(1_000_000_000));
        assert_eq!((again.own_rate_per_s(), again.most_queries()), (Some(2.0), u64::MAX));
        assert_eq!(listed(&[0], None).own_rate_per_s(), None);
    }
}
