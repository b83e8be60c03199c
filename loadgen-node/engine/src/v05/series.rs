//! One series over a world: issuing what the issuer decides, waiting, recording.

use thiserror::Error;

use super::effective::Effective;
use super::issuer::{Answers as _, Decision, Issuer, Stop};
use super::record::Record;
use super::traffic::Trace;
use crate::trace::{PhasePlan, Picks};
use crate::world::{Arrival, ArrivalKind, Issued, TimeNs, Wake, World};

/// The reasons for which a series has no result.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SeriesError {
    /// The world was told to stop, or the SUT can no longer be used.
    #[error("the run was stopped before all answers arrived")]
    Stopped,
    /// A sample was refused, lost or given up.
    #[error("a sample has no answer")]
    Failed,
    /// An answer arrived to a sample that was not issued, or that had one.
    #[error("an answer belongs to no sample that waits for one")]
    Foreign,
}

/// The outcome of a series.
#[derive(Debug)]
pub struct SeriesRun {
    /// The record of its queries.
    pub record: Record,
    /// The reason of its end.
    pub stop: Stop,
    /// The issued samples whose answers are logged, in the order of their ids.
    pub logged: Vec<Issued>,
}

/// Runs a series from start to last answer. `picks` decides which answers are logged, and draws for each generated
/// sample, issued or not.
///
/// # Errors
/// The world stopped, or a sample has no answer.
pub(crate) fn run_series<W: World>(
    effective: &Effective,
    phase: &PhasePlan,
    picks: &mut Picks,
    world: &mut W,
) -> Result<SeriesRun, SeriesError> {
    let record = Record::new(phase.first_sample, phase.generated.samples_per_query);
    let start = world.now();
    let mut driver = Driver { world, start, record, arrivals: Vec::new() };
    let mut log =
        Log { picks, is_accuracy: phase.is_accuracy(), generated: phase.generated.samples(), logged: Vec::new() };
    let stop = driver.issue_all(Issuer::new(effective, phase.is_accuracy()), phase, &mut log)?;
    driver.world.flush();
    while driver.record.outstanding() > 0 {
        driver.wait(None, true)?;
    }
    Ok(SeriesRun { record: driver.record, stop, logged: log.finish() })
}

struct Driver<'a, W: World> {
    world: &'a mut W,
    start: TimeNs,
    record: Record,
    arrivals: Vec<Arrival<W::Data>>,
}

impl<W: World> Driver<'_, W> {
    fn issue_all(&mut self, mut issuer: Issuer, phase: &PhasePlan, log: &mut Log<'_>) -> Result<Stop, SeriesError> {
        let mut trace = Trace::new(phase);
        let mut upcoming = trace.next();
        let mut samples = Vec::new();
        loop {
            let now_ns = self.world.now().since(self.start);
            match issuer.decide(now_ns, upcoming.map(|query| query.due_ns), &self.record) {
                Decision::Issue(slot) => {
                    let Some(query) = upcoming else { continue };
                    samples.clear();
                    trace.samples(&query, 0, usize::MAX, &mut samples);
                    log.take(&samples);
                    self.record.issued(slot, now_ns);
                    self.world.issue(query.seq, &samples);
                    // A sample that was answered by now is no longer outstanding.
                    self.wait(Some(self.start + now_ns), false)?;
                    issuer.issued(now_ns, &self.record);
                    upcoming = trace.next();
                }
                Decision::WaitUntil(at_ns) => self.wait(Some(self.start + at_ns), false)?,
                Decision::AwaitAnswer => self.wait(None, true)?,
                Decision::Stop(stop) => return Ok(stop),
            }
        }
    }

    fn wait(&mut self, until: Option<TimeNs>, wake_on_arrival: bool) -> Result<(), SeriesError> {
        let wake = self.world.wait(until, wake_on_arrival, &mut self.arrivals);
        for arrival in self.arrivals.drain(..) {
            match arrival.kind {
                ArrivalKind::Done { .. } if self.record.answered(arrival.seq, arrival.at.since(self.start)) => {}
                ArrivalKind::Done { .. } => return Err(SeriesError::Foreign),
                ArrivalKind::FirstToken(_) => {}
                ArrivalKind::Failed => return Err(SeriesError::Failed),
            }
        }
        if wake == Wake::Ready { Ok(()) } else { Err(SeriesError::Stopped) }
    }
}

/// Which samples have their answers logged: all of an accuracy series, else those that are drawn.
struct Log<'a> {
    picks: &'a mut Picks,
    is_accuracy: bool,
    /// Number of generated samples without a draw so far.
    generated: u64,
    logged: Vec<Issued>,
}

impl Log<'_> {
    fn take(&mut self, samples: &[Issued]) {
        if self.is_accuracy {
            self.logged.extend_from_slice(samples);
        } else if self.picks.possible() {
            self.generated -= samples.len() as u64;
            let picks = &mut self.picks;
            self.logged.extend(samples.iter().filter(|_| picks.next()));
        }
    }

    /// Draws for the samples that were generated and not issued.
    fn finish(self) -> Vec<Issued> {
        self.picks.skip(self.generated);
        self.logged
    }
}
