//! Sums over all runs of the node, for those who ask for metrics.
//!
//! Runs count for themselves, as they do for `EndRun`. The ledger keeps each run until nobody else does, and then its
//! sums: no sample costs more because there is a ledger.

use std::ops::AddAssign;
use std::sync::{Arc, Mutex, PoisonError};

use lon_proto::v1::EndRunResponse;

use super::durations::{DurationShares, StageDurations};
use super::failure::FailureCounts;
use super::report;
use super::state::ClaimedRun;

/// The sums over the runs of each model, and apart from them over all probes.
pub(crate) struct Ledger {
    books: Mutex<Books>,
    /// Durations of the samples of runs, by the number of their model.
    pub(crate) durations: Vec<DurationShares>,
}

struct Books {
    /// Of runs that are over, and of which nothing can come any more.
    settled: Sums,
    open: Vec<Arc<ClaimedRun>>,
    refused: u64,
}

/// Sums over the node's runs and probes until now.
#[derive(Clone, Debug)]
pub(crate) struct Sums {
    /// Of runs, by the number of their model.
    pub(crate) runs: Vec<Sum>,
    pub(crate) probes: Sum,
}

/// Sum over one run, or over many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) begun: u64,
    /// Those that their clients have ended.
    pub(crate) ended: u64,
    /// Those that the node has ended, since their clients were gone.
    pub(crate) lapsed: u64,
    pub(crate) received: u64,
    pub(crate) answered: u64,
    pub(crate) failed: FailureCounts,
    pub(crate) nan: u64,
    /// Bytes of tensors, towards the SUT and back.
    pub(crate) tensor_bytes: [u64; 2],
    /// Bytes of samples and answers as they are encoded.
    pub(crate) encoded_bytes: [u64; 2],
    /// Bytes of messages around them.
    pub(crate) message_bytes: [u64; 2],
    /// Bytes that crossed the sockets of the connections.
    pub(crate) socket_bytes: [u64; 2],
    pub(crate) heartbeats: [u64; 2],
    /// Segments or packets that were sent again, where the system says it.
    pub(crate) retransmits: u64,
}

impl Ledger {
    /// An empty ledger of a node with so many models.
    pub(crate) fn new(models: usize) -> Ledger {
        let durations = std::iter::repeat_with(DurationShares::default).take(models).collect();
        let settled = Sums { runs: vec![Sum::default(); models], probes: Sum::default() };
        Ledger { books: Mutex::new(Books { settled, open: Vec::new(), refused: 0 }), durations }
    }

    /// Where one stream of a run that asks this model counts durations: see [`DurationShares::lend`].
    pub(crate) fn lend_durations(&self, model: usize) -> Option<Arc<StageDurations>> {
        self.durations.get(model).map(DurationShares::lend)
    }

    /// Enters a run that has just begun.
    pub(crate) fn enter(&self, run: &Arc<ClaimedRun>) {
        let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        books.settle();
        books.open.push(Arc::clone(run));
    }

    /// Enters a claim that was refused because another run has the node.
    pub(crate) fn refused(&self) {
        self.books.lock().unwrap_or_else(PoisonError::into_inner).refused += 1;
    }

    /// Returns the sums until now, and the number of refused claims.
    pub(crate) fn sums(&self) -> (Sums, u64) {
        let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        books.settle();
        let mut sums = books.settled.clone();
        books.open.iter().for_each(|run| sums.add(run));
        (sums, books.refused)
    }
}

impl Books {
    /// Sums up the runs that nobody else has any more.
    fn settle(&mut self) {
        let Books { settled, open, .. } = self;
        open.retain_mut(|run| {
            let is_over = Arc::get_mut(run).is_some();
            if is_over {
                settled.add(run);
            }
            !is_over
        });
    }
}

impl Sums {
    fn add(&mut self, run: &ClaimedRun) {
        let sum = if run.is_probe { Some(&mut self.probes) } else { self.runs.get_mut(run.model) };
        // A run's model is one of the node's.
        if let Some(sum) = sum {
            *sum += Sum::of(run);
        }
    }
}

impl Sum {
    /// Returns the sum over this run until now, as `EndRun` reports it.
    fn of(run: &ClaimedRun) -> Sum {
        let counts: EndRunResponse = report::counted(run);
        let (is_over, by_client) = (run.has_ended(), run.how_ended().is_ok());
        Sum {
            begun: 1,
            ended: u64::from(is_over && by_client),
            lapsed: u64::from(is_over && !by_client),
            received: counts.samples_received,
            answered: counts.samples_answered,
            failed: run.counters.failed_by_kind(),
            nan: counts.samples_nan,
            tensor_bytes: [counts.tensor_bytes_in, counts.tensor_bytes_out],
            encoded_bytes: [counts.payload_bytes_in, counts.payload_bytes_out],
            message_bytes: [counts.message_bytes_in, counts.message_bytes_out],
            socket_bytes: [counts.socket_bytes_in.unwrap_or(0), counts.socket_bytes_out.unwrap_or(0)],
            heartbeats: [counts.client_heartbeats, counts.heartbeats],
            retransmits: counts.retransmits.unwrap_or(0),
        }
    }
}

impl AddAssign for Sum {
    fn add_assign(&mut self, more: Sum) {
        let Sum { begun, ended, lapsed, received, answered, failed, nan, .. } = more;
        let Sum { tensor_bytes, encoded_bytes, message_bytes, socket_bytes, heartbeats, retransmits, .. } = more;
        self.begun += begun;
        self.ended += ended;
        self.lapsed += lapsed;
        self.received += received;
        self.answered += answered;
        self.nan += nan;
        self.retransmits += retransmits;
        add_each(&mut self.failed, failed);
        add_each(&mut self.tensor_bytes, tensor_bytes);
        add_each(&mut self.encoded_bytes, encoded_bytes);
        add_each(&mut self.message_bytes, message_bytes);
        add_each(&mut self.socket_bytes, socket_bytes);
        add_each(&mut self.heartbeats, heartbeats);
    }
}

fn add_each<const N: usize>(sums: &mut [u64; N], more: [u64; N]) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use lon_proto::run_identity::RunPass;
    use tonic::Status;

    use super::*;
    use crate::config::Limits;
    use crate::run::codecs::Codecs;
    use crate::run::state::Purpose;

    fn run(purpose: Purpose) -> Arc<ClaimedRun> {
        let pass = RunPass::new(Bytes::from_static(&[1; 16]), Bytes::from_static(&[2; 32]));
        Arc::new(ClaimedRun::new(pass, "a test".to_owned(), Limits::default(), purpose, None))
    }

    #[test]
    fn runs_add_up_while_they_last_and_when_they_are_gone() {
        let ledger = Ledger::new(1);
        let (first, second) = (run(Purpose::Run(Codecs::NONE)), run(Purpose::Run(Codecs::NONE)));
        ledger.enter(&first);
        first.count_received(5);
        first.counters.add_message_in(120, 100);
        assert_eq!(
            ledger.sums().0.runs[0],
            Sum {
                begun: 1,
                received: 5,
                tensor_bytes: [100, 0],
                encoded_bytes: [100, 0],
                message_bytes: [120, 0],
                ..Sum::default()
            }
        );
        first.end();
        ledger.enter(&second);
        second.count_received(2);
        second.count_answers(2, &[1, 0, 0, 0, 0, 0]);
        second.take_back(Status::aborted("gone"));
        second.end();
        // Late answers count, too.
        first.count_answers(5, &[0, 0, 0, 0, 0, 3]);
        drop((first, second));
        for _ in 0..2 {
            let (sums, refused) = ledger.sums();
            let Sum { begun, ended, lapsed, received, answered, failed, .. } = sums.runs[0];
            assert_eq!((begun, ended, lapsed, received, answered, refused), (2, 1, 1, 7, 7, 0));
            assert_eq!(failed, [1, 0, 0, 0, 0, 3]);
            assert_eq!(sums.probes, Sum::default());
        }
        assert!(ledger.books.lock().unwrap().open.is_empty(), "they are not kept");
    }

    #[test]
    fn probes_and_refusals_are_counted_apart() {
        let ledger = Ledger::new(1);
        let probe = run(Purpose::Probe);
        ledger.enter(&probe);
        probe.count_received(9);
        ledger.refused();
        let (sums, refused) = ledger.sums();
        assert_eq!((sums.runs[0], sums.probes.received, sums.probes.begun, refused), (Sum::default(), 9, 1, 1));
    }

    #[test]
    fn runs_are_counted_by_their_models() {
        let ledger = Ledger::new(3);
        let of = |model, samples| {
            let pass = RunPass::new(Bytes::from_static(&[1; 16]), Bytes::from_static(&[2; 32]));
            let run = ClaimedRun::new(pass, "a test".to_owned(), Limits::default(), Purpose::Run(Codecs::NONE), None);
            let run = Arc::new(run.of_tenant(model, None));
            ledger.enter(&run);
            run.count_received(samples);
            run
        };
        let open = of(2, 7);
        drop((of(0, 1), of(2, 10)));
        let received = |ledger: &Ledger| ledger.sums().0.runs.iter().map(|sum| sum.received).collect::<Vec<_>>();
        assert_eq!(received(&ledger), [1, 0, 17]);
        drop(open);
        assert_eq!(received(&ledger), [1, 0, 17]);
    }
}
