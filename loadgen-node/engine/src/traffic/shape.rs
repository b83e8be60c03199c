//! What the queries of a scenario look like and what they wait for, as plain values.
//!
//! A scenario gives them before a test starts; the trace and the run loop copy them and ask nothing per sample.

/// The time between the due times of two queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// Exponentially distributed, with the target rate as mean rate: a Poisson process.
    Poisson,
    /// Always one over the target rate.
    Constant,
}

/// How the samples of a query are taken from the loaded set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One sample a query.
    One,
    /// Consecutive samples of the loaded set, from a start position on.
    Window,
    /// The whole loaded set, repeated and cut to the length of the query.
    WholeSet,
}

/// What a query waits for before it is issued, and with it when its latency starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// Answers to earlier samples; the latency starts when the query is issued.
    Reply {
        /// The query is issued when fewer samples than this are outstanding; at least 1.
        below: u64,
    },
    /// The query's due time; the latency starts then, even if the query is issued late.
    Schedule,
    /// Room in the world, which takes the query in pieces; the latency starts with the phase.
    Room,
}

/// What the queries of a scenario look like and what they wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The time between the due times of two queries.
    pub gap: Gap,
    /// How the samples of a query are taken from the loaded set.
    pub layout: Layout,
    /// What a query waits for.
    pub pacing: Pacing,
    /// Queries are generated for this many times the target duration.
    pub duration_factor: u64,
}

impl Layout {
    /// Entries repeated at the end of a loaded set, so that a query may start at any sample of it.
    pub(crate) fn set_padding(self, samples_per_query: u64) -> u64 {
        match self {
            Self::One | Self::WholeSet => 0,
            Self::Window => samples_per_query - 1,
        }
    }

    /// Samples in a query of an accuracy phase over `set_end` samples.
    pub(crate) fn accuracy_samples_per_query(self, samples_per_query: u64, set_end: u64) -> u64 {
        match self {
            Self::One | Self::Window => samples_per_query,
            Self::WholeSet => set_end,
        }
    }

    /// Distance between the positions of the loaded set at which queries may start.
    pub(crate) fn stride(self, samples_per_query: u64) -> usize {
        match self {
            Self::One | Self::WholeSet => 1,
            Self::Window => samples_per_query as usize,
        }
    }

    /// Samples that `target_qps` counts as one: the rate of [`Layout::WholeSet`] is one of samples, the others' are
    /// rates of queries.
    pub(crate) fn samples_per_rate_unit(self, samples_per_query: u64) -> u64 {
        match self {
            Self::One | Self::Window => samples_per_query,
            Self::WholeSet => 1,
        }
    }
}

impl Pacing {
    /// When the latency of a query starts, ns from the start of the phase.
    #[inline]
    pub fn scheduled_ns(self, due_ns: u64, issued_ns: u64) -> u64 {
        match self {
            Self::Reply { .. } => issued_ns,
            Self::Schedule => due_ns,
            Self::Room => 0,
        }
    }

    /// Whether queries are issued one after the other, each after the answer to the one before it.
    pub fn is_one_by_one(self) -> bool {
        self == Self::Reply { below: 1 }
    }
}
