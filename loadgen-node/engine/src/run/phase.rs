//! The state of one phase, from loading to the closed timeline. The loop that moves it is in `driver`.

use super::events::EventLog;
use super::extension::{Extension, MOST_MORE};
use super::give_up::GiveUp;
use super::issuer::{Issuer, Stop};
use super::options::RunOptions;
use super::outcome::PhaseOutcome;
use crate::effective::Effective;
use crate::mode::Mode;
use crate::recorder::{FinalQuery, Recorder, Timeline};
use crate::trace::{PhasePlan, Picks, Query, Trace};
use crate::traffic::Shape;
use crate::value::Value;
use crate::world::{Issued, SampleIndex, TimeNs};

/// A phase before and while it runs.
pub(super) struct PhaseRun<'a> {
    pub(super) phase: &'a PhasePlan,
    pub(super) drain_grace_ns: u64,
    pub(super) give_up: Option<GiveUp>,
    extension: Option<Extension>,
    /// The phase ends when the world lets it.
    goes_on: bool,
    /// Queries after which the phase would have ended without the two above; none as long as it would not have.
    enough: Option<u64>,
    picks: &'a mut Picks,
    trace: Trace<'a>,
    pub(super) upcoming: Option<Query>,
    /// Samples of `upcoming` already handed over.
    handed: u64,
    pub(super) issuer: Issuer,
    effective: &'a Effective,
    pub(super) recorder: Recorder,
    pub(super) shape: Shape,
    pub(super) coalesces: bool,
    pub(super) first_tokens_expected: bool,
    pub(super) start: TimeNs,
    final_query: Option<FinalQuery>,
    /// When the first query of the present burst was issued, ns from the start.
    burst_ns: u64,
}

impl<'a> PhaseRun<'a> {
    pub(super) fn new(
        effective: &'a Effective,
        phase: &'a PhasePlan,
        options: &RunOptions,
        picks: &'a mut Picks,
    ) -> Self {
        let (scenario, shape) = (effective.scenario, effective.shape);
        let token_run = effective.settings.use_token_latencies;
        let extension = if options.extend { Extension::new(effective, phase) } else { None };
        let planned = phase.generated.queries;
        let goes_on = options.goes_on.filter(|_| phase.unit().is_some());
        let further = goes_on.map_or(planned, |times| most(planned, times.get()));
        let queries = extension.as_ref().map_or(planned, Extension::most).max(further);
        let samples = usize::try_from(queries.saturating_mul(phase.generated.samples_per_query)).unwrap_or(usize::MAX);
        let gives_up = options.find_peak.give_up_early && effective.mode == Mode::FindPeakPerformance;
        let give_up = if gives_up { GiveUp::new(effective, phase.generated.samples()) } else { None };
        let mut recorder = Recorder::new(phase.first_sample, samples, token_run);
        if effective.has_equal_due_times() {
            recorder.split_lag();
        }
        if options.keep_issue_times {
            recorder.keep_issue_times();
        }
        let mut trace = Trace::of(phase, queries);
        Self {
            phase,
            drain_grace_ns: options.drain_grace_ns,
            give_up,
            extension,
            goes_on: goes_on.is_some(),
            enough: None,
            picks,
            upcoming: trace.next(),
            trace,
            handed: 0,
            issuer: Issuer::new(effective, phase, TimeNs(0)),
            effective,
            recorder,
            shape,
            coalesces: shape.has_schedule() && effective.settings.server_coalesce_queries,
            first_tokens_expected: token_run && scenario.judge().has_token_latencies(),
            start: TimeNs(0),
            final_query: None,
            burst_ns: 0,
        }
    }

    pub(super) fn announce(&self, now: TimeNs, events: &mut EventLog) {
        let generated = self.phase.generated;
        events.info(now, "generated_query_count", generated.queries);
        events.info(now, "generated_samples_per_query", generated.samples_per_query);
        events.info(now, "generated_query_duration", generated.duration_ns);
    }

    /// Returns a stop when nothing can make the phase pass any more, where the options ask for that check.
    pub(super) fn hopeless(&mut self, now: TimeNs) -> Option<Stop> {
        let late = self.give_up.as_mut()?.late_beyond_repair(&self.recorder, now, self.start)?;
        Some(Stop::GivenUp { late })
    }

    /// Why a phase ends that may go on beyond what was planned, when it does. `may_end`: whether the world lets it.
    pub(super) fn finished(&mut self, now: TimeNs, may_end: impl FnOnce() -> bool) -> Option<Stop> {
        if self.extension.is_none() && !self.goes_on {
            return None;
        }
        if let Some(extension) = &mut self.extension {
            extension.look(&self.recorder);
        }
        let (queries, is_scheduled) = (self.issuer.count(), self.shape.has_schedule());
        let stop = if is_scheduled { Stop::AllIssued } else { Stop::Naturally };
        let is_due = || self.upcoming.as_ref().is_none_or(|next| self.start + next.due_ns <= now);
        let would_end = match self.issuer.stop() {
            Some(stop) => !is_scheduled && stop == Stop::Naturally,
            // The answers that come until the next query is due tell more.
            None => {
                let all = is_scheduled && queries >= self.phase.generated.queries;
                all && (self.recorder.pending() == 0 || is_due())
            }
        };
        if !would_end {
            return None;
        }
        self.enough.get_or_insert(queries);
        let extension = self.extension.as_mut();
        let has_all = extension.is_none_or(|it| it.ends(queries, &self.recorder, now, self.start));
        if has_all && (!self.goes_on || may_end()) {
            return Some(stop);
        }
        self.issuer.go_on();
        None
    }

    pub(super) fn begin(&mut self, start: TimeNs) {
        self.start = start;
        self.recorder.begin(start);
        self.issuer = Issuer::new(self.effective, self.phase, start);
    }

    pub(super) fn close(mut self, now: TimeNs, stop: Stop, events: &mut EventLog) -> PhaseOutcome {
        let queries = self.issuer.count() + u64::from(self.handed > 0);
        let extended_by = self.enough.map_or(0, |enough| queries.saturating_sub(enough));
        if extended_by > 0 {
            let why = if self.goes_on { "while others measured" } else { "for early stopping" };
            let text = format!("Went on beyond the planned queries {why}. count: {extended_by}");
            events.info(now, "generic_message", text.as_str());
        }
        let latest_end = self.recorder.latest_end();
        let (lag, lag_course, behind) = (self.recorder.lag(), self.recorder.lag_course(), self.recorder.behind());
        let max_pending = self.recorder.max_pending();
        let issued_ns = self.recorder.take_issue_times();
        let (cells, tokens, counts) = self.recorder.close();
        self.picks.skip(self.phase.generated.samples().saturating_sub(counts.issued));
        log_end(now, self.start, latest_end, events);
        if counts.failed > 0 {
            events.error(now, format!("Samples were given up without an answer. count: {}", counts.failed));
        }
        if counts.lost > 0 {
            let text = "Encountered incomplete samples at the end of a series of queries. count:";
            events.error(now, format!("{text} {}", counts.lost));
        }
        let timeline = (!self.phase.is_accuracy()).then(|| Timeline {
            queries,
            samples_per_query: self.phase.generated.samples_per_query,
            end_ns: now.since(self.start),
            final_query: self.final_query,
            counts,
            cells,
            tokens,
            issued_ns,
        });
        PhaseOutcome {
            mode: self.phase.mode,
            queries_issued: queries,
            extended_by,
            stop,
            started: self.start,
            latest_end,
            ended: now,
            counts,
            lag,
            lag_course,
            behind,
            max_pending,
            timeline,
        }
    }

    /// Appends the next samples of `upcoming` to `buffer` and records them; whether that completes the query.
    pub(super) fn take_samples(&mut self, query: &Query, now: TimeNs, max: usize, buffer: &mut Vec<Issued>) -> bool {
        let issued_ns = now.since(self.start);
        if self.handed == 0 && self.issuer.count().is_multiple_of(self.shape.group) {
            self.burst_ns = issued_ns;
        }
        let due_ns = self.issuer.due_ns(query);
        let scheduled_ns = self.shape.latency_start.scheduled_ns(due_ns, issued_ns, self.burst_ns);
        if self.handed == 0 {
            self.final_query = Some(FinalQuery {
                due_ns,
                issued_ns,
                scheduled_ns,
                first_position: query.first_sample.0 - self.phase.first_sample.0,
            });
        }
        let from = buffer.len();
        self.trace.samples(query, self.handed, max, buffer);
        for issued in &buffer[from..] {
            let logged = self.logged(issued.index);
            self.recorder.issue(scheduled_ns, issued_ns, logged);
        }
        self.handed += (buffer.len() - from) as u64;
        let complete = self.handed >= query.samples;
        if complete {
            self.handed = 0;
            self.upcoming = self.trace.next();
        }
        complete
    }

    #[inline]
    fn logged(&mut self, index: SampleIndex) -> Option<SampleIndex> {
        if self.phase.is_accuracy() {
            self.picks.skip(1);
            Some(index)
        } else {
            (self.picks.possible() && self.picks.next()).then_some(index)
        }
    }
}

/// The most queries of a phase that goes on, with room for so many times those that are planned.
fn most(planned: u64, times: u64) -> u64 {
    planned.saturating_mul(times).min(planned.saturating_add(MOST_MORE))
}

/// The six counters of the official logger, which this one has no use for.
const LOGGER_COUNTERS: [&str; 6] = [
    "logger_swap_request_slots_retry_count",
    "logger_swap_request_slots_retry_retry_count",
    "logger_swap_request_slots_retry_reencounter_count",
    "logger_start_reading_entries_retry_count",
    "logger_tls_total_log_cas_fail_count",
    "logger_tls_total_swap_buffers_slot_retry_count",
];

fn log_end(now: TimeNs, start: TimeNs, latest_end: TimeNs, events: &mut EventLog) {
    for key in LOGGER_COUNTERS {
        events.info(now, key, 0_u64);
    }
    events.info(now, "power_begin", Value::Wall(start));
    events.info(now, "power_end", Value::Wall(latest_end));
}
