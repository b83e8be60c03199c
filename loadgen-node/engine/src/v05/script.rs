//! A world with virtual time and a SUT whose latencies are written down: whole tests take microseconds.
//!
//! Time passes in waits alone. The SUT answers each sample with its index, four bytes with the lowest first.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use serde::Deserialize;

use crate::world::{Arrival, ArrivalKind, Issued, QuerySeq, SampleIndex, SampleSeq, TimeNs, Wake, World};

/// The latencies of a scripted SUT, from the issue of a query on. Of several, the first that applies counts.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// By the number of the query in its series.
    latency_by_query_ns: BTreeMap<u64, u64>,
    /// By the number of samples in the query.
    latency_by_n: Option<ByLength>,
    /// By the number of the series; those after the list have `latency_rest_ns`.
    latency_by_series_ns: Vec<u64>,
    /// Of the series after `latency_by_series_ns`.
    latency_rest_ns: Option<u64>,
    /// By the number of the query, over and over.
    latency_cycle_ns: Vec<u64>,
    /// One worker takes queries in their order, and this long for each.
    one_worker_service_ns: Option<u64>,
    /// Of all other queries.
    latency_ns: u64,
    /// Each sample of a query is answered this much after the one before it.
    per_sample_step_ns: u64,
    /// The bytes of answers in words, for readers.
    answer_data: Option<String>,
}

/// Latencies by the number of samples in a query.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ByLength {
    /// Queries of up to so many samples are fast.
    n_limit: u64,
    ok_ns: u64,
    slow_ns: u64,
}

/// A call of the library or the SUT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// The next set was loaded.
    Load,
    /// The queries of a series were issued.
    Series,
    /// A set was unloaded.
    Unload,
}

impl Call {
    /// The word for the call in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Series => "series",
            Self::Unload => "unload",
        }
    }
}

/// The samples of the queries of a series, all of one length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeriesSamples {
    /// Samples in each query.
    pub samples_per_query: usize,
    /// The samples of all queries, one after another.
    pub samples: Vec<u32>,
}

/// The world: a clock, a library, a SUT, and what they saw.
#[derive(Debug)]
pub struct ScriptedWorld {
    script: Script,
    now: TimeNs,
    worker_free: TimeNs,
    answers: BinaryHeap<Reverse<(TimeNs, SampleSeq, SampleIndex)>>,
    /// Queries issued in the series that goes on.
    queries: u64,
    /// All calls, in order.
    pub calls: Vec<Call>,
    /// The lists that were loaded, in order.
    pub loaded: Vec<Vec<u32>>,
    /// The lists that were unloaded, in order.
    pub unloaded: Vec<Vec<u32>>,
    /// The queries of each series.
    pub series: Vec<SeriesSamples>,
}

impl ScriptedWorld {
    /// A world at time 0.
    pub fn new(script: Script) -> Self {
        Self {
            script,
            now: TimeNs(0),
            worker_free: TimeNs(0),
            answers: BinaryHeap::new(),
            queries: 0,
            calls: Vec::new(),
            loaded: Vec::new(),
            unloaded: Vec::new(),
            series: Vec::new(),
        }
    }

    /// The moment at which the first sample of a query is answered that is issued now.
    fn answered_at(&mut self, samples: usize) -> TimeNs {
        let (script, query, series) = (&self.script, self.queries, self.series.len() - 1);
        let cycle = &script.latency_cycle_ns;
        let latency_ns = if let Some(ns) = script.latency_by_query_ns.get(&query) {
            *ns
        } else if let Some(by) = script.latency_by_n {
            if samples as u64 <= by.n_limit { by.ok_ns } else { by.slow_ns }
        } else if let Some(ns) = script.latency_by_series_ns.get(series).or(script.latency_rest_ns.as_ref()) {
            *ns
        } else if !cycle.is_empty() {
            cycle[query as usize % cycle.len()]
        } else if let Some(service_ns) = script.one_worker_service_ns {
            self.worker_free = self.worker_free.max(self.now) + service_ns;
            return self.worker_free;
        } else {
            script.latency_ns
        };
        self.now + latency_ns
    }
}

fn numbers(set: &[SampleIndex]) -> Vec<u32> {
    set.iter().map(|index| index.0).collect()
}

impl World for ScriptedWorld {
    type Data = [u8; 4];

    fn now(&mut self) -> TimeNs {
        self.now
    }

    fn load(&mut self, set: &[SampleIndex]) -> Result<(), String> {
        self.calls.push(Call::Load);
        self.loaded.push(numbers(set));
        Ok(())
    }

    fn unload(&mut self, set: &[SampleIndex]) {
        self.calls.push(Call::Unload);
        self.unloaded.push(numbers(set));
    }

    fn issue(&mut self, _query: QuerySeq, samples: &[Issued]) {
        if self.queries == 0 {
            self.calls.push(Call::Series);
            self.series.push(SeriesSamples { samples_per_query: samples.len(), samples: Vec::new() });
        }
        let mut at = self.answered_at(samples.len());
        for sample in samples {
            self.answers.push(Reverse((at, sample.seq, sample.index)));
            at = at + self.script.per_sample_step_ns;
        }
        if let Some(series) = self.series.last_mut() {
            series.samples.extend(samples.iter().map(|sample| sample.index.0));
        }
        self.queries += 1;
    }

    fn flush(&mut self) {
        self.queries = 0;
    }

    fn wait(&mut self, until: Option<TimeNs>, wake_on_arrival: bool, arrivals: &mut Vec<Arrival<[u8; 4]>>) -> Wake {
        let next = self.answers.peek().map(|Reverse((at, ..))| *at).filter(|_| wake_on_arrival);
        let Some(target) = [until, next].into_iter().flatten().min() else {
            // No answer is on its way: the wait would never end.
            return Wake::Broken;
        };
        self.now = self.now.max(target);
        while let Some(Reverse((at, seq, index))) = self.answers.peek().copied() {
            if at > self.now {
                break;
            }
            self.answers.pop();
            let kind = ArrivalKind::Done { data: index.0.to_le_bytes(), n_tokens: 0 };
            arrivals.push(Arrival { seq, at, sent_at: None, kind });
        }
        Wake::Ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(script: &str) -> ScriptedWorld {
        ScriptedWorld::new(serde_json::from_str(script).unwrap())
    }

    /// The answers to queries that are issued at once, each of so many samples: ns, by sample.
    fn answers(world: &mut ScriptedWorld, queries: &[u64]) -> Vec<u64> {
        let (start, mut seq) = (world.now, 0);
        for samples in queries {
            let issued = |seq| Issued { seq: SampleSeq(seq), index: SampleIndex(7) };
            world.issue(QuerySeq(0), &(seq..seq + samples).map(issued).collect::<Vec<_>>());
            seq += samples;
        }
        world.flush();
        let mut arrivals = Vec::new();
        while !world.answers.is_empty() {
            world.wait(None, true, &mut arrivals);
        }
        arrivals.sort_by_key(|arrival| arrival.seq);
        arrivals.iter().map(|arrival| arrival.at.since(start)).collect()
    }

    #[test]
    fn every_kind_of_script() {
        for (script, queries, expected) in [
            (r#"{"latency_ns": 5}"#, vec![1, 2], vec![5, 5, 5]),
            (r#"{"latency_ns": 5, "per_sample_step_ns": 3}"#, vec![3], vec![5, 8, 11]),
            (r#"{"latency_cycle_ns": [1, 9]}"#, vec![1, 1, 1], vec![1, 9, 1]),
            (r#"{"latency_ns": 5, "latency_by_query_ns": {"1": 8}}"#, vec![1, 1, 1], vec![5, 8, 5]),
            (r#"{"latency_by_n": {"n_limit": 1, "ok_ns": 2, "slow_ns": 4}}"#, vec![1, 2], vec![2, 4, 4]),
            (r#"{"one_worker_service_ns": 6}"#, vec![1, 1], vec![6, 12]),
        ] {
            assert_eq!(answers(&mut world(script), &queries), expected, "{script}");
        }
    }

    #[test]
    fn series_have_latencies_of_their_own() {
        let mut world = world(r#"{"latency_by_series_ns": [4, 2], "latency_rest_ns": 1}"#);
        let rows: Vec<_> = (0..3).map(|_| answers(&mut world, &[1])).collect();
        assert_eq!(rows, [[4], [2], [1]]);
        assert_eq!(world.calls, [Call::Series; 3]);
    }

    #[test]
    fn a_script_with_an_unknown_key_is_refused() {
        let error = serde_json::from_str::<Script>(r#"{"latncy_ns": 5}"#).unwrap_err();
        assert!(error.to_string().contains("latncy_ns"), "{error}");
    }
}
