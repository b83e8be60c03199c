//! The engine's only view of the world: time, issuing, and arrivals.
//!
//! The engine decides *what* is asked and *when*; a [`World`] makes it happen. A real world stamps a monotonic
//! clock and sends over a network, the simulated one (`sim`) has virtual time. The trait is this
//! small so that both are short, and so that the engine can be tested over thousands of seeds without a socket.
//!
//! It is not a transport interface: nodes, connections, bytes and timeouts belong to the world and reach
//! the engine only as arrivals (a reply, or the failure of one sample) and as a [`Wake`].

use std::ops::{Add, Sub};

/// Nanoseconds on the world's monotonic clock, counted from an origin of the world's choosing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeNs(pub u64);

impl TimeNs {
    /// Nanoseconds from `earlier` to `self`; zero when `earlier` is later.
    pub fn since(self, earlier: TimeNs) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<u64> for TimeNs {
    type Output = TimeNs;
    fn add(self, ns: u64) -> TimeNs {
        TimeNs(self.0.saturating_add(ns))
    }
}

impl Sub<TimeNs> for TimeNs {
    type Output = i64;
    fn sub(self, other: TimeNs) -> i64 {
        self.0.wrapping_sub(other.0) as i64
    }
}

/// Position of a sample in the query sample library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SampleIndex(pub u32);

/// Sequence id of a sample: counts all generated samples over all phases of a test, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SampleSeq(pub u64);

/// Sequence id of a query: counts all generated queries over all phases of a test, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QuerySeq(pub u64);

/// One sample that is handed to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// The id under which the answer must come back.
    pub seq: SampleSeq,
    /// The sample of the library to send.
    pub index: SampleIndex,
}

/// Arrival of a first token, an answer or a failure for one sample.
#[derive(Clone, Debug)]
pub struct Arrival<D> {
    /// The sample it answers.
    pub seq: SampleSeq,
    /// When the answer was there, complete and inflated.
    pub at: TimeNs,
    /// When the sample was handed to the network, if the world knows; feeds the schedule lag.
    pub sent_at: Option<TimeNs>,
    /// First token, whole answer or failure.
    pub kind: ArrivalKind<D>,
}

/// The kinds of [`Arrival`].
#[derive(Clone, Debug)]
pub enum ArrivalKind<D> {
    /// The first token of a streamed answer; the rest follows as [`ArrivalKind::Done`].
    FirstToken(D),
    /// The whole answer; ends the sample.
    Done {
        /// The answer's bytes, as they go to the accuracy log.
        data: D,
        /// Number of tokens in the answer; 0 when the SUT gave none.
        n_tokens: i64,
    },
    /// The sample will get no answer: refused, timed out, or its node was lost. Ends the sample.
    Failed,
}

/// End of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// The time was reached, something arrived, or the world has room again.
    Ready,
    /// The user asked to stop. The engine issues nothing more and drains for its grace time.
    Interrupted,
    /// The SUT as a whole is no longer usable. Treated like `Interrupted`, and reported as such.
    Broken,
}

/// Interface between the engine and the world: a clock, samples to send, answers that arrive.
///
/// All calls come from the one thread that drives the engine.
pub trait World {
    /// The bytes of an answer.
    type Data: AsRef<[u8]>;

    /// The time of the world's monotonic clock.
    fn now(&mut self) -> TimeNs;

    /// Makes these samples of the library ready to send. Called outside any timed stretch, before each phase.
    ///
    /// # Errors
    /// A text for the user: the phase cannot be run.
    fn load(&mut self, set: &[SampleIndex]) -> Result<(), String>;

    /// Frees what [`World::load`] made ready.
    fn unload(&mut self, set: &[SampleIndex]);

    /// Returns the number of further samples of the current query that the world takes now. Only the issuer of a query
    /// too large to hand over at once (Offline) asks; worlds without such a bound keep the default.
    fn room(&mut self) -> usize {
        usize::MAX
    }

    /// Sends samples of one query. Never blocks: what cannot be sent comes back as [`ArrivalKind::Failed`].
    /// May be called several times for one query when [`World::room`] is less than the query. With query coalescing
    /// (a setting of the official LoadGen) it is called once for several queries, under the name of the first.
    fn issue(&mut self, query: QuerySeq, samples: &[Issued]);

    /// Every query of the phase has been issued (LoadGen's `FlushQueries`). Does not block.
    fn flush(&mut self);

    /// Returns true when a phase that has all it needs may end. It is asked again and again from then on. A world that
    /// several tests share says no while another of them still measures; the phase goes on until then (see
    /// [`RunOptions::goes_on`](crate::run::RunOptions::goes_on)).
    fn may_end(&mut self) -> bool {
        true
    }

    /// Does work that needs nothing of the world and may take long, such as judging a large phase. A world that has to
    /// be attended to all the time, such as one with heartbeats, attends to itself meanwhile.
    fn meanwhile<T: Send>(&mut self, work: impl FnOnce() -> T + Send) -> T {
        work()
    }

    /// Waits until `until` (`None`: as long as it takes) or, when `wake_on_arrival`, until something arrived or room
    /// was freed, then appends what has arrived. With `until` in the past it only collects. May return early.
    ///
    /// After the first [`Wake::Interrupted`] or [`Wake::Broken`] the engine drains: it goes on waiting, with `until` at
    /// most its grace time away, and takes arrivals as before. Every issued sample must arrive sooner or later (as
    /// failed, if need be) unless the world reports one of the two; otherwise the run would never end.
    fn wait(&mut self, until: Option<TimeNs>, wake_on_arrival: bool, arrivals: &mut Vec<Arrival<Self::Data>>) -> Wake;

    /// An answer among the arrivals of the last [`World::wait`] has ended its sample, with this latency. Called in the
    /// order of the arrivals, for a world that says where the time went.
    #[inline]
    fn answered(&mut self, _seq: SampleSeq, _latency_ns: u64) {}
}
