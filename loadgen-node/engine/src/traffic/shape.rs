//! The queries of a scenario as plain values: their samples, the moment of their issue, the start of their latency.
//!
//! A scenario gives them before a test starts; the trace and the run loop copy them and ask nothing per sample.

/// Rule by which the samples of a query are taken from the loaded set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One sample a query.
    One,
    /// Consecutive samples of the loaded set, from a start position on.
    Window,
    /// The whole loaded set, repeated and cut to the length of the query.
    WholeSet,
}

/// The event that lets a query be issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Answers to earlier samples.
    Reply {
        /// The query is issued when fewer samples than this are outstanding; at least 1.
        below: u64,
    },
    /// The query's due time.
    Schedule,
    /// Room in the world, which takes the query in pieces.
    Room,
    /// A tick of a fixed interval, the first one interval after the start. Ticks at which too many samples are
    /// outstanding pass without a query.
    Ticks {
        /// Time between two ticks, ns; at least 1.
        interval_ns: u64,
        /// The query is issued when fewer samples than this are outstanding; at least 1.
        below: u64,
    },
    /// Answers to all queries of the burst before: so many queries are issued at once, one after the other.
    Bursts {
        /// Queries in a burst; at least 1.
        size: u64,
    },
    /// A user that is free. Each of them issues a query, awaits its answer, thinks, and issues the next one.
    Users {
        /// Number of users; at least 1.
        count: u64,
        /// Time between an answer and the user's next query, ns.
        think_ns: u64,
    },
}

/// The moment at which the latency of a query starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyStart {
    /// The issue of the query.
    Issue,
    /// The due time of the query, even if it is issued late.
    Due,
    /// The start of the phase.
    Phase,
    /// The issue of the first query of the burst that the query belongs to.
    Burst,
}

/// The setting that says how fast the SUT is expected to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// `target_qps`: the rate at which queries are due.
    QueryRate,
    /// `target_qps`: the rate at which all samples together are answered.
    SampleRate,
    /// `target_latency`: the latency of a query.
    Latency,
    /// No setting: the others say which queries are due, and when.
    Bursts,
    /// `most_qps`: the highest rate that the answers can come to.
    MostQps,
}

/// The queries of a scenario with its settings: samples, issue, latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rule by which the samples of a query are taken from the loaded set.
    pub layout: Layout,
    /// The event that lets a query be issued.
    pub trigger: Trigger,
    /// The moment at which the latency of a query starts.
    pub latency_start: LatencyStart,
    /// Queries are generated for this many times the target duration.
    pub duration_factor: u64,
    /// Queries come in whole groups of this many; at least 1.
    pub group: u64,
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

/// The first tick that is not before `free_ns`. The ticks from `next_ns` on are left; all in ns.
pub(crate) fn first_tick_ns(next_ns: u64, free_ns: u64, interval_ns: u64) -> u64 {
    let wait_ns = free_ns.saturating_sub(next_ns);
    next_ns.saturating_add(wait_ns.checked_next_multiple_of(interval_ns).unwrap_or(wait_ns))
}

impl LatencyStart {
    /// The moment, ns from the start of the phase. `burst_ns` is the issue of the first query of the present burst.
    #[inline]
    pub fn scheduled_ns(self, due_ns: u64, issued_ns: u64, burst_ns: u64) -> u64 {
        match self {
            Self::Issue => issued_ns,
            Self::Due => due_ns,
            Self::Phase => 0,
            Self::Burst => burst_ns,
        }
    }
}

impl Shape {
    /// Queries have due times, so that they can be issued late, and all of them are issued.
    pub fn has_schedule(&self) -> bool {
        self.trigger == Trigger::Schedule
    }

    /// The nodes take samples as they have room for them. Otherwise the engine decides when one is sent.
    pub fn is_pulled(&self) -> bool {
        self.trigger == Trigger::Room
    }

    /// Each query is issued after the answer to the one before it.
    pub fn is_one_by_one(&self) -> bool {
        matches!(self.trigger, Trigger::Reply { below: 1 } | Trigger::Users { count: 1, think_ns: 0 })
    }

    /// Queries in a burst, where latencies are reported by bursts.
    pub fn burst_size(&self) -> Option<u64> {
        (self.group > 1 || matches!(self.trigger, Trigger::Bursts { .. })).then_some(self.group)
    }

    /// A query has one sample.
    pub fn is_one_sample(&self) -> bool {
        self.layout == Layout::One
    }

    /// Queries of several samples have a latency of their own: that of their last sample.
    pub fn has_query_latencies(&self) -> bool {
        self.layout == Layout::Window
    }
}
