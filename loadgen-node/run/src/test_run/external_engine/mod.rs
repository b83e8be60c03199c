//! A test whose samples another engine issues and judges, for example the official LoadGen. Here they are sent, counted
//! and handed back; what is known of the network afterwards is the same as of a test of our own.
//!
//! The other engine knows no lost samples: it waits for each for ever, or takes what it is given for an answer. So the
//! first sample that fails, and the first node that is lost, make the whole run unusable. The samples that are under
//! way have a grace time to be answered; what is issued from then on is not sent.
//!
//! - here: the run as its owner uses it;
//! - `reply_sink`: what arrives, counted and handed on.

mod reply_sink;

use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant, SystemTime};

use anyhow::anyhow;
use lon_qsl::dataset::Dataset;
use qdl::{NodeDescription, Sample, SampleId, SutName};

use self::reply_sink::ReplySink;
pub use self::reply_sink::Taker;
use super::connected::{Connected, Holding};
use super::finished::Finished;
use super::gather::{ClaimedParts, Observations};
use crate::exit::{Exit, OrExit as _, Outcome};
use crate::verdict::saturation::Watch;
use loadgen::judge::Verdict;
use loadgen::run::{End, EventLog, PhaseOutcome, RunOutcome, Stop};
use loadgen::trace::PhaseMode;
use loadgen::world::TimeNs;
use lon_world::pace::{self, Pacing};

/// The time in which samples under way may still be answered after the run has become unusable; as in runs of our own.
const GRACE: Duration = Duration::from_secs(10);

/// The longest sleep of an issuing thread before it looks again for room at the nodes.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Nodes that are claimed for another engine. All functions may be called from several threads at the same time.
pub struct ExternalTest {
    reply_sink: Arc<ReplySink>,
    /// The nodes and the run. `None` once the run is over.
    parts: RwLock<Option<ClaimedParts>>,
    /// The lock of the thread that hands samples to the QDL, so that there is still room when they arrive there.
    issuing: Mutex<()>,
    describes: Vec<NodeDescription>,
    title: String,
    pacing: Pacing,
    watch: Mutex<Option<Watch>>,
    started: SystemTime,
}

impl Connected {
    /// Claims every node for samples that another engine issues. `taker` gets what arrives; the dataset is the caller's
    /// from here on.
    ///
    /// # Errors
    /// A node is lost, busy or refuses the run (exit code 4).
    pub fn guide(self, taker: Arc<dyn Taker>) -> Outcome<(ExternalTest, Dataset)> {
        let io_threads = match self.io_threads() {
            Some(0) => return Err(anyhow!("io-threads 0: the network needs a thread of its own")).or_exit(Exit::Usage),
            threads => threads.unwrap_or(1),
        };
        let pacing = Pacing { io_threads, spin: Duration::ZERO, linger: Duration::ZERO };
        let reply_sink = Arc::new(ReplySink::new(taker));
        let Holding { parts, dataset, .. } = self.hold(Arc::clone(&reply_sink) as _, Some(pacing), || Ok(()))?;
        let external = ExternalTest {
            reply_sink,
            describes: parts.qdl.nodes().to_vec(),
            title: parts.setup.title(),
            parts: RwLock::new(Some(parts)),
            issuing: Mutex::new(()),
            pacing,
            watch: Mutex::new(Some(Watch::begin())),
            started: SystemTime::now(),
        };
        Ok((external, dataset))
    }
}

impl ExternalTest {
    /// Returns the descriptions that the nodes gave of themselves, in the given order.
    pub fn nodes(&self) -> &[NodeDescription] {
        &self.describes
    }

    /// Benchmark and scenario.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The SUT's name, from round trips made by this very call. `None`: the run is over.
    pub fn name(&self) -> Option<SutName> {
        self.parts().as_ref().map(|parts| parts.qdl.name())
    }

    /// Sends samples. Returns when all are on their way: at once as long as the nodes take them, else when they have
    /// room again. From the first lost sample on nothing is sent, and the samples count as lost. False when the run was
    /// ended before: then nothing is sent or counted.
    #[must_use]
    pub fn issue(&self, samples: impl Iterator<Item = Sample>) -> bool {
        pace::sharpen_this_thread();
        let parts = self.parts();
        if parts.is_none() && self.reply_sink.why().is_none() {
            return false;
        }
        let issuing = self.issuing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut samples = samples.inspect(|_| self.reply_sink.issued());
        while let Some(sample) = samples.next() {
            match parts.as_ref().filter(|parts| self.wait_for_room(parts, sample.payload.len() as u64)) {
                Some(parts) => {
                    // As many together as the backlog takes; without a backlog each finds its node by itself.
                    let more = match parts.run.room() {
                        usize::MAX => 0,
                        room => room.saturating_sub(1),
                    };
                    // The samples are collected before the QDL's locks are taken: samples may be copied here.
                    let batch: Vec<Sample> = std::iter::once(sample).chain(samples.by_ref().take(more)).collect();
                    parts.run.issue(batch.into_iter(), Instant::now());
                }
                None => self.reply_sink.lose(sample.id),
            }
        }
        drop(issuing);
        true
    }

    /// Sends a sample if that needs no waiting, neither for the nodes nor for another thread that issues. False: it was
    /// not sent or counted, and [`ExternalTest::issue`] takes it.
    #[must_use]
    pub fn try_issue(&self, sample: Sample) -> bool {
        pace::sharpen_this_thread();
        let Ok(parts) = self.parts.try_read() else { return false };
        let Ok(_issuing) = self.issuing.try_lock() else { return false };
        let bytes = sample.payload.len() as u64;
        let Some(parts) = parts.as_ref().filter(|parts| !self.reply_sink.is_broken() && parts.run.takes(bytes)) else {
            return false;
        };
        self.reply_sink.issued();
        parts.run.issue(std::iter::once(sample), Instant::now());
        true
    }

    /// Returns when the nodes take a sample of this many bytes; false when the run has become unusable.
    fn wait_for_room(&self, parts: &ClaimedParts, bytes: u64) -> bool {
        loop {
            if self.reply_sink.is_broken() {
                return false;
            }
            if parts.run.takes(bytes) {
                return true;
            }
            self.reply_sink.wait_for_room(LOOK_AGAIN, || parts.run.takes(bytes));
        }
    }

    /// Tells the nodes that nothing more comes for now.
    pub fn flush(&self) {
        if let Some(parts) = self.parts().as_ref() {
            parts.run.flush();
        }
    }

    /// Why the run is unusable, once it is.
    pub fn broken(&self) -> Option<String> {
        self.reply_sink.why()
    }

    /// Waits until the run has become unusable and what was under way has had its time; false when `timeout` passed
    /// first.
    pub fn wait_broken(&self, timeout: Duration) -> bool {
        if !self.reply_sink.wait_broken(timeout) {
            return false;
        }
        let until = Instant::now() + GRACE;
        while !self.reply_sink.is_closed() && self.reply_sink.outstanding() > 0 && Instant::now() < until {
            std::thread::sleep(LOOK_AGAIN);
        }
        true
    }

    /// The samples that were lost since this was asked before.
    pub fn take_lost(&self) -> Vec<SampleId> {
        self.reply_sink.take_lost()
    }

    /// Lets the nodes go and puts together what is known; `None` when that was done before. Samples without an answer
    /// are lost.
    pub fn finish(&self) -> Option<Finished> {
        // Before the lock: whoever waits for room holds it.
        self.reply_sink.close();
        let parts = self.parts.write().unwrap_or_else(PoisonError::into_inner).take()?;
        let watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let saturation = watch.end(self.pacing, false, parts.run.capacity());
        let observations = Observations {
            outcome: self.outcome(),
            v05: None,
            tally: self.reply_sink.take_tally(),
            stalls: Vec::new(),
            judges_stalls: false,
            origin: self.reply_sink.origin(),
            started: self.started,
            wall_time: self.reply_sink.origin().elapsed(),
            saturation,
        };
        Some(parts.gather(observations, |_, _| None))
    }

    /// The run as far as it is known without the engine that led it: one phase that nobody judges here.
    fn outcome(&self) -> RunOutcome {
        let counts = self.reply_sink.counts();
        let [started, latest_end] = self.reply_sink.span();
        let ended = TimeNs(self.reply_sink.origin().elapsed().as_nanos() as u64);
        let phase = PhaseOutcome {
            mode: PhaseMode::PerformanceOnly,
            queries_issued: 0,
            extended_by: 0,
            stop: Stop::AllIssued,
            started,
            latest_end,
            ended,
            counts,
            lag: Default::default(),
            lag_course: Default::default(),
            behind: None,
            max_pending: 0,
            timeline: None,
        };
        let end = if self.reply_sink.why().is_some() { End::Broken } else { End::Completed };
        let verdict = Verdict::new(None, &counts);
        RunOutcome {
            end,
            phases: vec![phase],
            events: EventLog::default(),
            summary: None,
            find_peak: None,
            verdict,
            ended,
        }
    }

    fn parts(&self) -> RwLockReadGuard<'_, Option<ClaimedParts>> {
        self.parts.read().unwrap_or_else(PoisonError::into_inner)
    }
}
