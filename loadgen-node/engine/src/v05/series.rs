//! One series over a world: issuing what the issuer decides, waiting, recording.
//!
//! A sample that fails counts as one without an answer, and the series goes on: its verdict says so. What arrives for
//! no sample that waits is counted and has no other effect.

use super::effective::Effective;
use super::issuer::{Answers as _, Decision, Issuer, Slot, Stop};
use super::record::Record;
use super::traffic::Trace;
use crate::recorder::{FinalQuery, Recorder, Timeline};
use crate::run::{self, AccuracyEntry, Observer, PhaseOutcome, Progress, RunOptions};
use crate::trace::{PhasePlan, Picks, Query};
use crate::traffic::Layout;
use crate::world::{Arrival, ArrivalKind, Issued, TimeNs, Wake, World};

/// Queries issued in a row before arrivals are taken.
const BURST: u32 = 128;
/// Samples of a large query handed over at once.
const PIECE: usize = 1_024;
/// Arrivals that there is room for from the start.
const ARRIVALS: usize = 4_096;
/// Waits without progress of any kind after which a broken world is given up.
const IDLE_WAITS: u32 = 1_000;

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

/// The values and options by which a series is run.
pub(crate) struct SeriesInput<'a> {
    pub(crate) effective: &'a Effective,
    pub(crate) phase: &'a PhasePlan,
    pub(crate) options: &'a RunOptions,
}

/// Runs a series from start to last answer. `picks` decides which answers are logged, and draws for each generated
/// sample, issued or not.
pub(crate) fn run_series<W: World, O: Observer + ?Sized>(
    input: &SeriesInput<'_>,
    picks: &mut Picks,
    world: &mut W,
    observer: &mut O,
) -> (SeriesRun, PhaseOutcome) {
    let SeriesInput { effective, phase, options } = *input;
    let generated = phase.generated;
    let samples = usize::try_from(generated.samples()).unwrap_or(usize::MAX);
    let mut recorder = Recorder::new(phase.first_sample, samples, false);
    if options.keep_issue_times && !phase.is_accuracy() {
        recorder.keep_issue_times();
    }
    let record = Record::new(phase.first_sample, generated.samples_per_query).with_room(generated.queries);
    let log = Log { picks, is_accuracy: phase.is_accuracy(), generated: generated.samples(), logged: Vec::new() };
    let start = world.now();
    recorder.begin(start);
    observer.phase_started(phase, start, &recorder.live());
    let (arrivals, buffer) = (Vec::with_capacity(ARRIVALS), Vec::new());
    let mut driver = Driver { world, observer, start, record, recorder, log, arrivals, buffer, wake: Wake::Ready };
    let is_pulled = effective.shape.layout == Layout::WholeSet;
    let mut stop = driver.issue_all(Issuer::new(effective, phase.is_accuracy()), Trace::new(phase), is_pulled);
    let outstanding = driver.record.outstanding();
    driver.world.flush();
    driver.drain(options.drain_grace_ns);
    match driver.wake {
        Wake::Ready => {}
        Wake::Interrupted => stop = Stop::Interrupted,
        Wake::Broken => stop = Stop::Broken,
    }
    driver.close(input, stop, outstanding)
}

struct Driver<'a, W: World, O: ?Sized> {
    world: &'a mut W,
    observer: &'a mut O,
    start: TimeNs,
    /// The queries as the issuer and the judge see them.
    record: Record,
    /// The samples as displays and files see them; each ends once.
    recorder: Recorder,
    log: Log<'a>,
    arrivals: Vec<Arrival<W::Data>>,
    buffer: Vec<Issued>,
    wake: Wake,
}

impl<W: World, O: Observer + ?Sized> Driver<'_, W, O> {
    fn issue_all(&mut self, mut issuer: Issuer, mut trace: Trace<'_>, is_pulled: bool) -> Stop {
        let mut upcoming = trace.next();
        let mut burst = 0;
        loop {
            let now_ns = self.world.now().since(self.start);
            match issuer.decide(now_ns, upcoming.map(|query| query.due_ns), &self.record) {
                Decision::Issue(slot) => {
                    let Some(query) = upcoming else { continue };
                    self.record.issued(slot, now_ns);
                    self.issue(&mut trace, &query, Moment { slot, now_ns }, is_pulled);
                    burst += 1;
                    if issuer.counts_outstanding() || burst == BURST {
                        burst = 0;
                        // A sample that was answered by now is no longer outstanding.
                        self.wait(Some(self.start + now_ns), false);
                    }
                    issuer.issued(now_ns, &self.record);
                    upcoming = trace.next();
                }
                Decision::WaitUntil(at_ns) => {
                    burst = 0;
                    self.wait(Some(self.start + at_ns), false);
                }
                Decision::AwaitAnswer => {
                    burst = 0;
                    self.wait(None, true);
                }
                Decision::Stop(stop) => return stop,
            }
            match self.wake {
                Wake::Ready => {}
                Wake::Interrupted => return Stop::Interrupted,
                Wake::Broken => return Stop::Broken,
            }
        }
    }

    /// Issues a query; one that the nodes pull goes in pieces, as there is room.
    fn issue(&mut self, trace: &mut Trace<'_>, query: &Query, moment: Moment, is_pulled: bool) {
        let Moment { slot, now_ns } = moment;
        let mut handed = 0;
        while handed < query.samples && self.wake == Wake::Ready {
            let max = match is_pulled.then(|| self.world.room()) {
                None | Some(usize::MAX) => usize::MAX,
                Some(room) => room.min(PIECE),
            };
            if max == 0 {
                self.wait(None, true);
                self.world.now();
                continue;
            }
            self.buffer.clear();
            trace.samples(query, handed, max, &mut self.buffer);
            for issued in &self.buffer {
                let logged = self.log.take(*issued).then_some(issued.index);
                self.recorder.issue(slot.scheduled_ns, now_ns, logged);
            }
            handed += self.buffer.len() as u64;
            self.world.issue(query.seq, &self.buffer);
        }
    }

    /// Waits until every issued sample has ended; after the world broke, for the grace time only.
    fn drain(&mut self, grace_ns: u64) {
        while self.recorder.pending() > 0 && self.wake == Wake::Ready {
            self.wait(None, true);
        }
        let mut now = self.world.now();
        let deadline = now + grace_ns;
        let mut idle = 0;
        while self.recorder.pending() > 0 && now < deadline && idle < IDLE_WAITS {
            let pending = self.recorder.pending();
            self.wait(Some(deadline), true);
            let later = self.world.now();
            idle = if later == now && self.recorder.pending() == pending { idle + 1 } else { 0 };
            now = later;
        }
    }

    fn wait(&mut self, until: Option<TimeNs>, wake_on_arrival: bool) {
        let wake = self.world.wait(until, wake_on_arrival, &mut self.arrivals);
        if self.wake == Wake::Ready {
            self.wake = wake;
        }
        let mut arrivals = std::mem::take(&mut self.arrivals);
        for arrival in arrivals.drain(..) {
            self.arrived(arrival);
        }
        self.arrivals = arrivals;
        let counts = &self.recorder.counts;
        let (samples_issued, samples_ended) = (counts.issued, counts.ended());
        let queries_issued = self.record.queries().len() as u64;
        self.observer.progress(Progress { queries_issued, samples_issued, samples_ended });
    }

    fn arrived(&mut self, arrival: Arrival<W::Data>) {
        let Arrival { seq, at, sent_at, kind } = arrival;
        if let Some(sent_at) = sent_at {
            self.recorder.mark_sent(seq, sent_at);
        }
        let at_ns = at.since(self.start);
        let refused = match kind {
            ArrivalKind::Done { data, .. } => self.recorder.complete(seq, at).map(|accepted| {
                self.world.answered(seq, accepted.latency_ns);
                self.record.answered(seq, at_ns);
                if let Some(index) = accepted.logged {
                    let data = data.as_ref();
                    self.observer.accuracy(&AccuracyEntry { seq, index, data, token_data: None, token_count: None });
                }
            }),
            ArrivalKind::Failed => self.recorder.fail(seq).map(|()| self.record.failed(seq, at_ns)),
            ArrivalKind::FirstToken(_) => Ok(()),
        };
        if let Err(refused) = refused {
            self.recorder.refuse(refused);
        }
    }

    fn close(self, input: &SeriesInput<'_>, stop: Stop, outstanding: u64) -> (SeriesRun, PhaseOutcome) {
        let Self { world, observer, start, mut record, mut recorder, log, .. } = self;
        let SeriesInput { effective, phase, .. } = *input;
        let ended = world.now();
        let end_ns = ended.since(start);
        let (latest_end, max_pending) = (recorder.latest_end(), recorder.max_pending());
        let (lag, lag_course, issued_ns) = (recorder.lag(), recorder.lag_course(), recorder.take_issue_times());
        let (cells, tokens, counts) = recorder.close();
        record.close(end_ns, effective.target_latency_ns);
        let queries = record.queries().len() as u64;
        let timeline = (!phase.is_accuracy()).then(|| Timeline {
            queries,
            samples_per_query: phase.generated.samples_per_query,
            end_ns,
            final_query: final_query(&record, phase),
            counts,
            cells,
            tokens,
            issued_ns,
        });
        let outcome = PhaseOutcome {
            mode: phase.mode,
            queries_issued: queries,
            extended_by: 0,
            stop: stop_of_today(stop, queries, outstanding, end_ns),
            started: start,
            latest_end,
            ended,
            counts,
            lag,
            lag_course,
            behind: None,
            max_pending,
            timeline,
        };
        observer.phase_ended(&outcome);
        (SeriesRun { record, stop, logged: log.finish() }, outcome)
    }
}

/// The moment at which a query is issued, and its place in time.
#[derive(Clone, Copy)]
struct Moment {
    slot: Slot,
    now_ns: u64,
}

fn final_query(record: &Record, phase: &PhasePlan) -> Option<FinalQuery> {
    let last = record.queries().last()?;
    Some(FinalQuery {
        due_ns: last.scheduled_ns,
        issued_ns: last.issued_ns,
        scheduled_ns: last.scheduled_ns,
        first_position: (record.queries().len() as u64 - 1) * phase.generated.samples_per_query,
    })
}

/// The reason of the end as later rounds have it.
fn stop_of_today(stop: Stop, issued: u64, outstanding: u64, duration_ns: u64) -> run::Stop {
    match stop {
        Stop::AllIssued => run::Stop::AllIssued,
        Stop::Naturally => run::Stop::Naturally,
        Stop::TooManyOutstanding => run::Stop::TooManyOutstanding { issued, outstanding },
        Stop::MaxQueryCount => run::Stop::MaxQueryCount { issued },
        Stop::MaxDuration => run::Stop::MaxDuration { duration_ns },
        Stop::RanOut => run::Stop::RanOut,
        Stop::Interrupted => run::Stop::Interrupted,
        Stop::Broken => run::Stop::Broken,
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
    /// Decides about the next sample.
    fn take(&mut self, issued: Issued) -> bool {
        let is_logged = if self.is_accuracy {
            true
        } else if self.picks.possible() {
            self.generated -= 1;
            self.picks.next()
        } else {
            false
        };
        if is_logged {
            self.logged.push(issued);
        }
        is_logged
    }

    /// Draws for the samples that were generated and not issued.
    fn finish(self) -> Vec<Issued> {
        self.picks.skip(self.generated);
        self.logged
    }
}
