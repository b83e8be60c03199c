//! A phase that is over: the end of every sample, and the few times from which rates are computed.
//!
//! Enough to judge the phase again, offline, with other limits. Samples that got no answer enter every statistic as
//! over-latency: [`Timeline::measured`] is the only place where that rule is written down.

use super::bursts;
use super::column::Column;
use super::packed_record::{Cell, SampleEnd};
use super::tokens::Tokens;
use crate::effective::Effective;
use crate::judge::{Counts, Measured};

/// The last query that was issued; times are ns from the start of the phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FinalQuery {
    /// Due time of the query in the generated schedule.
    pub due_ns: u64,
    /// When the query was issued.
    pub issued_ns: u64,
    /// When the latency of the query started.
    pub scheduled_ns: u64,
    /// Position of the query's first sample in the phase.
    pub first_position: u64,
}

/// A closed phase, in the form in which it is judged and stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// Number of queries issued.
    pub queries: u64,
    /// Samples in each query.
    pub samples_per_query: u64,
    /// When the phase was closed, ns from its start.
    pub end_ns: u64,
    /// The last query, if any was issued.
    pub final_query: Option<FinalQuery>,
    /// Numbers of samples: those issued, and those with each kind of end. `cells` says which samples have no answer.
    pub counts: Counts,
    pub(crate) cells: Column<Cell>,
    pub(crate) tokens: Option<Tokens>,
    /// When each sample was issued, ns from the start of the phase; only kept on request, and not stored.
    pub(crate) issued_ns: Option<Vec<u64>>,
}

impl Timeline {
    /// Number of issued samples.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Returns true when nothing was issued.
    pub fn is_empty(&self) -> bool {
        self.cells.len() == 0
    }

    /// Returns the end of each sample, in issue order. Lost samples are still pending.
    pub fn samples(&self) -> impl Iterator<Item = SampleEnd> + '_ {
        self.cells.iter().map(|cell| cell.state())
    }

    /// When each sample was issued, ns from the start of the phase, where the run kept these times.
    pub fn issued_ns(&self) -> Option<&[u64]> {
        self.issued_ns.as_deref()
    }

    /// First-token latency (ns, if there was one) and token count (0 if unknown) of each sample; empty unless token
    /// latencies were used.
    pub fn tokens(&self) -> impl Iterator<Item = (Option<u64>, u32)> + '_ {
        self.tokens.iter().flat_map(|t| (0..self.cells.len()).map(|i| (t.first_token_ns(i), t.count(i))))
    }

    /// The phase in the form in which it is judged.
    pub fn measured(&self, effective: &Effective) -> Measured {
        let scenario = effective.scenario;
        let answered_max_ns = self.answered_max_ns();
        let sample_latencies_ns = self.latencies(effective.target_latency_ns, answered_max_ns.unwrap_or(0));
        let max_latency_ns = sample_latencies_ns.iter().copied().max().unwrap_or(0);
        let is_unanswered = |ns: &&i64| **ns > answered_max_ns.map_or(-1, signed);
        let query_latencies_ns: Vec<i64> = if effective.shape.has_query_latencies() {
            let per_query = usize::try_from(self.samples_per_query.max(1)).unwrap_or(usize::MAX);
            sample_latencies_ns.chunks(per_query).filter_map(|query| query.iter().copied().max()).collect()
        } else {
            Vec::new()
        };
        let final_query = self.final_query.unwrap_or_default();
        let bursts = bursts::of(effective, &sample_latencies_ns);
        let mut measured = Measured {
            bursts,
            final_query_done_s: seconds(self.final_done_ns(&sample_latencies_ns)),
            unanswered: (self.cells.len() - self.answered().count()) as u64,
            unanswered_queries: query_latencies_ns.iter().filter(is_unanswered).count() as u64,
            sample_latencies_ns: sample_latencies_ns.into(),
            query_latencies_ns: query_latencies_ns.into(),
            queries_issued: self.queries,
            max_latency_s: seconds(max_latency_ns as u64),
            final_query_scheduled_s: seconds(final_query.due_ns),
            final_query_issued_s: seconds(final_query.issued_ns),
            ..Measured::default()
        };
        if let Some(tokens) = &self.tokens {
            measured.tokens = self.answered().map(|i| i64::from(tokens.count(i))).sum();
            if scenario.judge().has_token_latencies() {
                self.token_latencies(tokens, effective, &mut measured);
            }
        }
        measured
    }

    /// Positions of the samples that were answered.
    fn answered(&self) -> impl Iterator<Item = usize> {
        let ends = self.samples().enumerate();
        ends.filter(|(_, end)| matches!(end, SampleEnd::Done { .. })).map(|(position, _)| position)
    }

    /// The largest latency of an answer.
    fn answered_max_ns(&self) -> Option<u64> {
        let answered = |end| if let SampleEnd::Done { latency_ns } = end { Some(latency_ns) } else { None };
        self.samples().filter_map(answered).max()
    }

    /// Latencies in issue order. Without an answer: at least the time until the phase was closed, above the target,
    /// and above every answered one.
    fn latencies(&self, target_ns: u64, answered_max_ns: u64) -> Vec<i64> {
        let least_ns = target_ns.saturating_add(1).max(answered_max_ns + 1);
        self.samples()
            .map(|end| match end {
                SampleEnd::Done { latency_ns } => latency_ns as i64,
                SampleEnd::Pending { scheduled_ns } | SampleEnd::Failed { scheduled_ns } => {
                    signed(self.end_ns.saturating_sub(scheduled_ns).max(least_ns))
                }
                SampleEnd::Unissued => signed(least_ns),
            })
            .collect()
    }

    /// When the last sample of the last query ended.
    fn final_done_ns(&self, latencies_ns: &[i64]) -> u64 {
        let Some(query) = self.final_query else { return 0 };
        let samples = latencies_ns.get(query.first_position as usize..).unwrap_or_default();
        query.scheduled_ns.saturating_add(samples.iter().copied().max().unwrap_or(0) as u64)
    }

    /// Samples with unusable token information are left out; samples without an answer are over the limits.
    fn token_latencies(&self, tokens: &Tokens, effective: &Effective, measured: &mut Measured) {
        let (mut unanswered, mut without_first) = (0, 0);
        let (mut first_tokens_ns, mut per_token_ns) = (Vec::new(), Vec::new());
        for (position, end) in self.samples().enumerate() {
            let first_token_ns = tokens.first_token_ns(position);
            first_tokens_ns.extend(first_token_ns.map(signed));
            match (end, first_token_ns, tokens.count(position)) {
                (SampleEnd::Done { latency_ns }, Some(first_ns), 2..) => {
                    let after_first_ns = signed(latency_ns) - signed(first_ns);
                    per_token_ns.push(after_first_ns / (i64::from(tokens.count(position)) - 1));
                }
                (SampleEnd::Done { .. }, ..) => {}
                (_, first_token_ns, _) => {
                    unanswered += 1;
                    without_first += usize::from(first_token_ns.is_none());
                }
            }
        }
        measured.without_first_token = without_first as u64;
        add_over_limit(&mut first_tokens_ns, without_first, effective.settings.server_ttft_latency);
        add_over_limit(&mut per_token_ns, unanswered, effective.settings.server_tpot_latency);
        measured.first_token_latencies_ns = first_tokens_ns.into();
        measured.times_per_token_ns = per_token_ns.into();
    }
}

fn add_over_limit(latencies_ns: &mut Vec<i64>, count: usize, limit_ns: u64) {
    let largest_ns = latencies_ns.iter().copied().max().unwrap_or(0);
    let over_ns = signed(limit_ns.saturating_add(1)).max(largest_ns.saturating_add(1));
    latencies_ns.resize(latencies_ns.len() + count, over_ns);
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::LatencyStats;
    use crate::plan::Plan;
    use crate::settings::{Qsl, Scenario, TestSettings};

    fn server(target_latency_ns: u64) -> Effective {
        let settings = TestSettings {
            scenario: Scenario::SERVER,
            server_target_latency_ns: target_latency_ns,
            ..TestSettings::default()
        };
        Plan::for_judging(settings, Qsl { total: 8, performance: 8 }).unwrap().effective().clone()
    }

    fn timeline(cells: Vec<Cell>, end_ns: u64) -> Timeline {
        let queries = cells.len() as u64;
        let final_query =
            Some(FinalQuery { due_ns: 900, issued_ns: 905, scheduled_ns: 900, first_position: queries - 1 });
        let counts = Counts::all_answered(queries);
        let cells = cells.into();
        Timeline { queries, samples_per_query: 1, end_ns, final_query, counts, cells, tokens: None, issued_ns: None }
    }

    #[test]
    fn samples_without_an_answer_are_over_latency() {
        let cells = vec![Cell::done(70), Cell::failed(100), Cell::pending(900, false)];
        let measured = timeline(cells.clone(), 1_000).measured(&server(5_000));
        assert_eq!(measured.sample_latencies_ns, vec![70, 5_001, 5_001].into(), "above the target");
        assert_eq!(measured.unanswered, 2);
        let measured = timeline(cells.clone(), 50_000).measured(&server(5_000));
        assert_eq!(measured.sample_latencies_ns, vec![70, 49_900, 49_100].into(), "at least until the end");
        let measured = timeline(cells, 80).measured(&server(0));
        assert_eq!(measured.sample_latencies_ns, vec![70, 71, 71].into(), "above every answered one");
    }

    #[test]
    fn a_percentile_of_what_was_not_answered_is_no_measurement() {
        let cells = [vec![Cell::done(70); 98], vec![Cell::failed(100); 2]].concat();
        let effective = server(5_000);
        let latency = effective.judge(timeline(cells, 1_000).measured(&effective)).latency;
        assert_eq!((latency.count, latency.unanswered), (100, 2));
        assert_eq!(
            [0.0, 0.5, 0.97, 0.98, 0.99, 1.0].map(|at| latency.is_measured(at)),
            [true, true, true, false, false, false]
        );
        assert!(!LatencyStats::default().is_measured(0.5), "of nothing nothing is measured");
    }

    #[test]
    fn an_estimate_that_falls_on_what_was_not_answered_is_no_metric() {
        let settings = TestSettings { scenario: Scenario::SINGLE_STREAM, ..TestSettings::default() };
        let plan = Plan::for_judging(settings, Qsl { total: 8, performance: 8 }).unwrap();
        // Of so few queries early stopping takes the slowest.
        let metric = |last| {
            let phase = timeline([vec![Cell::done(70); 63], vec![last]].concat(), 1_000);
            plan.effective().judge(phase.measured(plan.effective())).metric.value
        };
        assert_eq!(metric(Cell::done(80)), Some(80.0));
        assert_eq!(metric(Cell::failed(100)), None);
    }

    #[test]
    fn a_query_with_a_sample_that_was_not_answered_was_not_answered() {
        let settings = TestSettings {
            scenario: Scenario::MULTI_STREAM,
            multi_stream_samples_per_query: 2,
            ..TestSettings::default()
        };
        let plan = Plan::for_judging(settings, Qsl { total: 8, performance: 8 }).unwrap();
        let cells =
            vec![Cell::done(70), Cell::done(30), Cell::failed(100), Cell::done(90), Cell::done(7), Cell::done(9)];
        let phase = Timeline { queries: 3, samples_per_query: 2, ..timeline(cells, 80) };
        let queries = plan.effective().judge(phase.measured(plan.effective())).query_latency.unwrap();
        assert_eq!((queries.count, queries.unanswered), (3, 1));
    }

    #[test]
    fn a_timeline_that_makes_no_sense_is_judged_all_the_same() {
        let extremes = [0, 1, 7, u64::MAX];
        let cells = |bits: u64| vec![Cell::from_bits(bits); 3];
        for scenario in Scenario::ALL {
            let settings = TestSettings { scenario, ..TestSettings::default() };
            let plan = Plan::for_judging(settings, Qsl { total: 8, performance: 8 }).unwrap();
            for a in extremes {
                for b in extremes {
                    let final_query = Some(FinalQuery { due_ns: a, issued_ns: b, scheduled_ns: a, first_position: b });
                    let odd = Timeline { samples_per_query: b, final_query, ..timeline(cells(a), b) };
                    let summary = plan.effective().judge(odd.measured(plan.effective()));
                    assert_eq!(summary.latency.count, 3);
                    let empty = Timeline { cells: Column::new(0), ..odd };
                    plan.effective().judge(empty.measured(plan.effective()));
                }
            }
        }
    }

    #[test]
    fn the_final_query_gives_the_times_of_the_rates() {
        let measured = timeline(vec![Cell::done(70), Cell::done(30)], 5_000).measured(&server(100));
        assert_eq!(measured.final_query_scheduled_s, 900e-9);
        assert_eq!(measured.final_query_issued_s, 905e-9);
        assert_eq!(measured.final_query_done_s, 930e-9);
    }
}
