//! A test whose samples another engine issues and judges, for example the official LoadGen. Here they are sent, counted
//! and handed back; what is known of the network afterwards is the same as of a test of our own.
//!
//! The other engine knows no lost samples: it waits for each for ever, or takes what it is given for an answer. So the
//! first sample that fails, and the first node that is lost, make the whole run unusable. The samples that are under
//! way have a grace time to be answered; what is issued from then on is not sent.
//!
//! - here: the run as its owner uses it;
//! - `ears`: what arrives, counted and handed on.

mod ears;

use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant, SystemTime};

use anyhow::anyhow;
use lon_qsl::dataset::Dataset;
use qdl::{NodeDescription, Sample, SampleId, SutName};

use self::ears::Ears;
pub use self::ears::Taker;
use super::connected::{Connected, Holding};
use super::finished::Finished;
use super::gather::{Held, Seen};
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
pub struct Guided {
    ears: Arc<Ears>,
    /// The nodes and the run. `None` once the run is over.
    held: RwLock<Option<Held>>,
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
    pub fn guide(self, taker: Arc<dyn Taker>) -> Outcome<(Guided, Dataset)> {
        let io_threads = match self.io_threads() {
            Some(0) => return Err(anyhow!("io-threads 0: the network needs a thread of its own")).or_exit(Exit::Usage),
            threads => threads.unwrap_or(1),
        };
        let pacing = Pacing { io_threads, spin: Duration::ZERO, linger: Duration::ZERO };
        let ears = Arc::new(Ears::new(taker));
        let Holding { held, dataset, .. } = self.hold(Arc::clone(&ears) as _, Some(pacing), || Ok(()))?;
        let guided = Guided {
            ears,
            describes: held.qdl.nodes().to_vec(),
            title: held.setup.title(),
            held: RwLock::new(Some(held)),
            issuing: Mutex::new(()),
            pacing,
            watch: Mutex::new(Some(Watch::begin())),
            started: SystemTime::now(),
        };
        Ok((guided, dataset))
    }
}

impl Guided {
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
        self.held().as_ref().map(|held| held.qdl.name())
    }

    /// Sends samples. Returns when all are on their way: at once as long as the nodes take them, else when they have
    /// room again. From the first lost sample on nothing is sent, and the samples count as lost. False when the run was
    /// ended before: then nothing is sent or counted.
    #[must_use]
    pub fn issue(&self, samples: impl Iterator<Item = Sample>) -> bool {
        pace::sharpen_this_thread();
        let held = self.held();
        if held.is_none() && self.ears.why().is_none() {
            return false;
        }
        let issuing = self.issuing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut samples = samples.inspect(|_| self.ears.issued());
        while let Some(sample) = samples.next() {
            match held.as_ref().filter(|held| self.wait_for_room(held, sample.payload.len() as u64)) {
                Some(held) => {
                    // As many together as the backlog takes; without a backlog each finds its node by itself.
                    let more = match held.run.room() {
                        usize::MAX => 0,
                        room => room.saturating_sub(1),
                    };
                    // The samples are collected before the QDL's locks are taken: samples may be copied here.
                    let together: Vec<Sample> = std::iter::once(sample).chain(samples.by_ref().take(more)).collect();
                    held.run.issue(together.into_iter(), Instant::now());
                }
                None => self.ears.lose(sample.id),
            }
        }
        drop(issuing);
        true
    }

    /// Sends a sample if that needs no waiting, neither for the nodes nor for another thread that issues. False: it was
    /// not sent or counted, and [`Guided::issue`] takes it.
    #[must_use]
    pub fn try_issue(&self, sample: Sample) -> bool {
        pace::sharpen_this_thread();
        let Ok(held) = self.held.try_read() else { return false };
        let Ok(_issuing) = self.issuing.try_lock() else { return false };
        let bytes = sample.payload.len() as u64;
        let Some(held) = held.as_ref().filter(|held| !self.ears.is_broken() && held.run.takes(bytes)) else {
            return false;
        };
        self.ears.issued();
        held.run.issue(std::iter::once(sample), Instant::now());
        true
    }

    /// Returns when the nodes take a sample of this many bytes; false when the run has become unusable.
    fn wait_for_room(&self, held: &Held, bytes: u64) -> bool {
        loop {
            if self.ears.is_broken() {
                return false;
            }
            if held.run.takes(bytes) {
                return true;
            }
            self.ears.wait_for_room(LOOK_AGAIN, || held.run.takes(bytes));
        }
    }

    /// Tells the nodes that nothing more comes for now.
    pub fn flush(&self) {
        if let Some(held) = self.held().as_ref() {
            held.run.flush();
        }
    }

    /// Why the run is unusable, once it is.
    pub fn broken(&self) -> Option<String> {
        self.ears.why()
    }

    /// Waits until the run has become unusable and what was under way has had its time; false when `timeout` passed
    /// first.
    pub fn wait_broken(&self, timeout: Duration) -> bool {
        if !self.ears.wait_broken(timeout) {
            return false;
        }
        let until = Instant::now() + GRACE;
        while !self.ears.is_closed() && self.ears.outstanding() > 0 && Instant::now() < until {
            std::thread::sleep(LOOK_AGAIN);
        }
        true
    }

    /// The samples that were lost since this was asked before.
    pub fn take_lost(&self) -> Vec<SampleId> {
        self.ears.take_lost()
    }

    /// Lets the nodes go and puts together what is known; `None` when that was done before. Samples without an answer
    /// are lost.
    pub fn finish(&self) -> Option<Finished> {
        // Before the lock: whoever waits for room holds it.
        self.ears.close();
        let held = self.held.write().unwrap_or_else(PoisonError::into_inner).take()?;
        let watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let saturation = watch.end(self.pacing, false, held.run.capacity());
        let seen = Seen {
            outcome: self.outcome(),
            v05: None,
            tally: self.ears.take_tally(),
            stalls: Vec::new(),
            judges_stalls: false,
            origin: self.ears.origin(),
            started: self.started,
            wall_time: self.ears.origin().elapsed(),
            saturation,
        };
        Some(held.gather(seen, |_, _| None))
    }

    /// The run as far as it is known without the engine that led it: one phase that nobody judges here.
    fn outcome(&self) -> RunOutcome {
        let counts = self.ears.counts();
        let [started, latest_end] = self.ears.span();
        let ended = TimeNs(self.ears.origin().elapsed().as_nanos() as u64);
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
        let end = if self.ears.why().is_some() { End::Broken } else { End::Completed };
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

    fn held(&self) -> RwLockReadGuard<'_, Option<Held>> {
        self.held.read().unwrap_or_else(PoisonError::into_inner)
    }
}
