//! Inflates the answers of a run whose SUT compresses them: timed, and never on a thread that does network I/O.
//!
//! Between the lanes and the caller's [`Sink`]: whole answers wait here for one of a few threads, everything else is
//! passed on at once. A first token is not wrapped in the codec, only whole answers are. A sample whose answer waits
//! here counts against what its node may hold, so the queue is bounded as what is in flight is. Not in the path of
//! runs without a codec.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;

use bytes::Bytes;
use lon_net::clock;
use lon_proto::codec::{Codec, Inflater};
use lon_proto::limits;
use lon_proto::stages::duration_ns;
use lon_proto::text::printable;

use super::dispatcher::Dispatcher;
use super::rule::AnswerRule;
use crate::account::inflated::Inflated;
use crate::error::ConnectError;
use crate::types::{Answer, Failure, NodeFailure, NodeIndex, Outcome, Reply, Sink};

/// There is one inflating thread for this many cores.
const CORES_PER_THREAD: usize = 4;

/// Answers that a thread takes at once at most, so that many small ones do not cost a wake-up each.
const BATCH: usize = 32;
/// Bytes of answers that a thread takes at once, so that a large one is delivered before the next is begun.
const BATCH_BYTES: u64 = 64 << 10;

/// The sink that lanes see: answers go to the queue, the rest to the caller's own sink.
pub(crate) struct Inflating {
    sink: Arc<dyn Sink>,
    codec: Codec,
    /// Counters by [`NodeIndex`].
    nodes: Vec<Arc<Inflated>>,
    /// Rules that answers are checked against, by [`NodeIndex`].
    rules: Vec<Arc<AnswerRule>>,
    queue: Mutex<Queue>,
    filled: Condvar,
}

#[derive(Default)]
struct Queue {
    replies: VecDeque<Reply>,
    /// Threads that sleep.
    idle: usize,
    /// The run is over.
    closed: bool,
}

impl Inflating {
    /// `nodes` and `rules`: the counters of each node and what its answers are held against, in the nodes' order.
    pub(crate) fn new(
        sink: Arc<dyn Sink>,
        codec: Codec,
        nodes: Vec<Arc<Inflated>>,
        rules: Vec<Arc<AnswerRule>>,
    ) -> Inflating {
        Inflating { sink, codec, nodes, rules, queue: Mutex::default(), filled: Condvar::new() }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn node(&self, reply: &Reply) -> Option<&Inflated> {
        self.nodes.get(reply.node?.0).map(Arc::as_ref)
    }

    /// Takes some of the answers that wait, or sleeps until there are some; false when none will come any more.
    fn take(&self, batch: &mut Vec<Reply>, threads: usize) -> bool {
        let mut queue = self.queue();
        while queue.replies.is_empty() {
            if queue.closed {
                return false;
            }
            queue.idle += 1;
            queue = self.filled.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
        let share = queue.replies.len().div_ceil(threads).min(BATCH);
        let mut bytes = 0;
        while batch.len() < share && bytes < BATCH_BYTES {
            let Some(reply) = queue.replies.pop_front() else { break };
            if let Outcome::Done(answer) = &reply.outcome {
                // An answer that declares more than the limit is refused, and takes no time.
                bytes += self.codec.declared_bytes(&answer.data).min(limits::MAX_SAMPLE_BYTES);
            }
            batch.push(reply);
        }
        true
    }

    /// Inflates an answer and stamps its reply.
    fn inflate(&self, inflate: &mut impl FnMut(Bytes) -> Result<Bytes, String>, reply: &mut Reply) {
        let Outcome::Done(answer) = &mut reply.outcome else { return };
        let data = std::mem::take(&mut answer.data);
        let rule = reply.node.and_then(|node| self.rules.get(node.0));
        let declared = self.codec.declared_bytes(&data);
        let inflated = match rule {
            Some(rule) if declared > rule.max_bytes() => Err(rule.wrong_size(declared)),
            // A codec that panics on a node's bytes must not end the thread, on which all other answers depend.
            _ => catch_unwind(AssertUnwindSafe(|| inflate(data)))
                .unwrap_or_else(|_| Err("inflating panicked".to_owned())),
        };
        let arrived = std::mem::replace(&mut reply.at, clock::now());
        let took = reply.at.saturating_duration_since(arrived);
        match inflated {
            Ok(data) => {
                let Answer { n_tokens, mut stages, .. } = *answer;
                let len = data.len();
                stages.inflate_ns = duration_ns(took);
                reply.outcome = match rule.map_or(Ok(()), |rule| rule.check(len as u64, n_tokens)) {
                    Ok(()) => Outcome::Done(Answer { data, n_tokens, stages }),
                    Err(reason) => Outcome::Failed(Failure::Unusable(reason)),
                };
                self.node(reply).inspect(|node| node.add_tensor_bytes(len));
            }
            Err(error) => {
                reply.outcome = Outcome::Failed(Failure::Inflate(printable(&error)));
                self.node(reply).inspect(|node| node.miss());
            }
        }
    }

    /// Passes on answers that have been inflated; their samples are no longer in flight.
    fn deliver(&self, batch: &mut Vec<Reply>, dispatcher: &Weak<Dispatcher>) {
        let mut freed: Vec<NodeIndex> = Vec::new();
        for reply in batch.iter() {
            self.node(reply).inspect(|node| node.dequeue());
            freed.extend(reply.node.filter(|node| !freed.contains(node)));
        }
        self.sink.replies(batch);
        batch.clear();
        if let Some(dispatcher) = dispatcher.upgrade() {
            freed.iter().for_each(|&node| dispatcher.has_room(node));
        }
    }

    /// Fails the answers that no thread has begun to inflate, and ends the threads.
    fn close(&self) {
        let mut queue = self.queue();
        queue.closed = true;
        let mut replies: Vec<Reply> = queue.replies.drain(..).collect();
        drop(queue);
        self.filled.notify_all();
        let now = clock::now();
        for reply in &mut replies {
            reply.at = now;
            reply.outcome = Outcome::Failed(Failure::RunEnded);
            if let Some(node) = self.node(reply) {
                node.miss();
                node.dequeue();
            }
        }
        if !replies.is_empty() {
            self.sink.replies(&mut replies);
        }
    }
}

impl Sink for Inflating {
    fn replies(&self, replies: &mut Vec<Reply>) {
        let mut queue = self.queue();
        for reply in replies.iter_mut() {
            let Some(node) = reply.node.and_then(|node| self.nodes.get(node.0)) else { continue };
            match &reply.outcome {
                // The threads have ended: the answer came after the run's end.
                Outcome::Done(_) if queue.closed => {
                    node.miss();
                    reply.outcome = Outcome::Failed(Failure::RunEnded);
                }
                Outcome::Done(_) => node.enqueue(),
                Outcome::FirstToken(data) => node.add_tensor_bytes(data.len()),
                Outcome::Failed(_) => {}
            }
        }
        if !queue.closed {
            let before = queue.replies.len();
            queue.replies.extend(replies.extract_if(.., |reply| matches!(reply.outcome, Outcome::Done(_))));
            let (new, idle) = (queue.replies.len() - before, queue.idle);
            drop(queue);
            for _ in 0..new.min(idle) {
                self.filled.notify_one();
            }
        }
        if !replies.is_empty() {
            self.sink.replies(replies);
        }
    }

    fn node_lost(&self, node: NodeIndex, failure: &NodeFailure) {
        self.sink.node_lost(node, failure);
    }

    fn room(&self) {
        self.sink.room();
    }

    fn tick(&self) {
        self.sink.tick();
    }
}

/// The inflating threads of one run. They end when this is dropped: answers that are being inflated are delivered,
/// answers that wait fail.
pub(crate) struct Inflaters {
    inflating: Arc<Inflating>,
    threads: Vec<JoinHandle<()>>,
}

impl Inflaters {
    /// Starts one thread for every few cores. `dispatcher` is told when inflating has made room.
    pub(crate) fn start(
        inflating: &Arc<Inflating>,
        codec: Codec,
        dispatcher: &Arc<Dispatcher>,
    ) -> Result<Inflaters, ConnectError> {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let count = (cores / CORES_PER_THREAD).max(1);
        Inflaters::spawn(inflating, count, &Arc::downgrade(dispatcher), || {
            let mut inflater = Inflater::new(codec, limits::MAX_SAMPLE_BYTES);
            move |data| inflater.inflate(data).map_err(|error| error.to_string())
        })
    }

    /// Starts `count` threads, each with an inflater of its own.
    fn spawn<I: FnMut(Bytes) -> Result<Bytes, String> + Send + 'static>(
        inflating: &Arc<Inflating>,
        count: usize,
        dispatcher: &Weak<Dispatcher>,
        inflater: impl Fn() -> I,
    ) -> Result<Inflaters, ConnectError> {
        let mut inflaters = Inflaters { inflating: Arc::clone(inflating), threads: Vec::with_capacity(count) };
        for number in 0..count {
            let (inflating, dispatcher, mut inflate) = (Arc::clone(inflating), Weak::clone(dispatcher), inflater());
            let body = move || {
                let mut batch = Vec::with_capacity(BATCH);
                while inflating.take(&mut batch, count) {
                    batch.iter_mut().for_each(|reply| inflating.inflate(&mut inflate, reply));
                    inflating.deliver(&mut batch, &dispatcher);
                }
            };
            let thread = std::thread::Builder::new().name(format!("qdl-inflate-{number}")).spawn(body);
            let os =
                |error: std::io::Error| ConnectError::Os { what: "cannot start a thread", reason: error.to_string() };
            inflaters.threads.push(thread.map_err(os)?);
        }
        Ok(inflaters)
    }
}

impl Drop for Inflaters {
    fn drop(&mut self) {
        self.inflating.close();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use lon_proto::stages::Stages;

    use crate::types::SampleId;

    #[derive(Default)]
    struct ReplySink(Mutex<Vec<Reply>>);

    impl ReplySink {
        /// Returns the end of each sample, and checks that each ended once.
        fn ends(&self) -> BTreeMap<u64, Result<Bytes, Failure>> {
            let mut ends = BTreeMap::new();
            for reply in self.0.lock().unwrap().iter() {
                let end = match reply.outcome.clone() {
                    Outcome::FirstToken(_) => continue,
                    Outcome::Done(answer) => Ok(answer.data),
                    Outcome::Failed(failure) => Err(failure),
                };
                assert!(ends.insert(reply.id.0, end).is_none(), "{:?} ended twice", reply.id);
            }
            ends
        }
    }

    impl Sink for ReplySink {
        fn replies(&self, replies: &mut Vec<Reply>) {
            self.0.lock().unwrap().append(replies);
        }
        fn node_lost(&self, _: NodeIndex, _: &NodeFailure) {}
    }

    fn reply(id: u64, outcome: Outcome) -> Reply {
        Reply { id: SampleId(id), node: Some(NodeIndex(0)), sent_at: None, at: clock::now(), outcome }
    }

    fn answer(id: u64) -> Reply {
        let data = Bytes::copy_from_slice(&id.to_le_bytes());
        reply(id, Outcome::Done(Answer { data, n_tokens: 3, stages: Stages::default() }))
    }

    fn inflating() -> (Arc<Inflating>, Arc<ReplySink>, Arc<Inflated>) {
        let (sink, node) = (Arc::new(ReplySink::default()), Arc::<Inflated>::default());
        let rules = vec![Arc::new(AnswerRule::anything("n", 100))];
        (Arc::new(Inflating::new(Arc::clone(&sink) as _, Codec::None, vec![Arc::clone(&node)], rules)), sink, node)
    }

    /// Twice the bytes; those of sample 7 cannot be inflated.
    fn twice(data: Bytes) -> Result<Bytes, String> {
        if data[0] == 7 { Err("zstd:\n corrupt".to_owned()) } else { Ok([data.clone(), data].concat().into()) }
    }

    #[test]
    fn answers_are_inflated_elsewhere_and_stamped_then_and_one_that_cannot_be_fails_alone() {
        let (inflating, sink, node) = inflating();
        let inflaters = Inflaters::spawn(&inflating, 2, &Weak::new(), || twice).unwrap();
        let arrived = clock::now();
        let mut replies: Vec<Reply> = (0..100).map(answer).collect();
        inflating.replies(&mut replies);
        assert!(replies.is_empty(), "all of them were taken");
        while node.waiting() > 0 || sink.0.lock().unwrap().len() < 100 {
            std::thread::yield_now();
        }
        drop(inflaters);
        for (id, end) in sink.ends() {
            match end {
                Ok(data) => assert!(id != 7 && data.len() == 16 && data[..8] == id.to_le_bytes()),
                Err(failure) => {
                    let expected = "its answer cannot be inflated: zstd:\u{fffd} corrupt";
                    assert_eq!((id, failure.to_string().as_str()), (7, expected));
                }
            }
        }
        for reply in sink.0.lock().unwrap().iter() {
            assert!(reply.at >= arrived);
            let Outcome::Done(answer) = &reply.outcome else { continue };
            assert!(answer.stages.inflate_ns > 0 && answer.n_tokens == 3);
        }
        assert_eq!((node.tensor_bytes(), node.missed()), (99 * 16, 1));
    }

    #[test]
    fn what_is_not_as_it_was_said_fails_when_it_has_been_inflated() {
        let (inflating, sink, node) = inflating();
        let inflaters =
            Inflaters::spawn(&inflating, 1, &Weak::new(), || |_: Bytes| Ok::<_, String>(Bytes::from(vec![0; 101])));
        inflating.replies(&mut vec![answer(1)]);
        while sink.0.lock().unwrap().is_empty() {
            std::thread::yield_now();
        }
        drop(inflaters);
        let Some(Err(Failure::Unusable(reason))) = sink.ends().remove(&1) else { panic!("{:?}", sink.ends()) };
        assert!(reason.contains("101 bytes, 100 are allowed"), "{reason}");
        assert_eq!((node.tensor_bytes(), node.missed()), (101, 0), "the books agree all the same");
    }

    #[test]
    fn what_needs_no_inflating_does_not_wait() {
        let (inflating, sink, node) = inflating();
        let token = reply(1, Outcome::FirstToken(Bytes::from_static(b"tok")));
        let mut replies = vec![token, reply(2, Outcome::Failed(Failure::NodeLost)), answer(3)];
        // No thread is there.
        inflating.replies(&mut replies);
        assert_eq!((sink.0.lock().unwrap().len(), node.waiting(), node.tensor_bytes()), (2, 1, 3));
        inflating.close();
        assert_eq!(sink.ends().get(&3), Some(&Err(Failure::RunEnded)));
        inflating.replies(&mut vec![answer(4)]);
        assert_eq!(sink.ends().get(&4), Some(&Err(Failure::RunEnded)), "after the end, too");
        assert_eq!((node.waiting(), node.missed()), (0, 2));
    }

    #[test]
    fn each_sample_ends_once_also_when_the_run_ends_meanwhile() {
        let (inflating, sink, node) = inflating();
        let (start_sender, start_receiver) = mpsc::channel();
        let gate = Arc::new(Mutex::new(()));
        let closed = gate.lock().unwrap();
        let inflaters = Inflaters::spawn(&inflating, 1, &Weak::new(), || {
            let (start_sender, gate) = (start_sender.clone(), Arc::clone(&gate));
            move |data| {
                start_sender.send(()).unwrap();
                drop(gate.lock().unwrap());
                Ok(data)
            }
        });
        inflating.replies(&mut (0..3 * BATCH as u64).map(answer).collect());
        start_receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        let ending = std::thread::spawn(move || drop(inflaters));
        while sink.0.lock().unwrap().is_empty() {
            std::thread::yield_now();
        }
        assert!(sink.ends().values().all(|end| *end == Err(Failure::RunEnded)), "what nobody has begun fails at once");
        drop(closed);
        ending.join().unwrap();
        let ends = sink.ends();
        assert_eq!((ends.len(), ends.values().filter(|end| end.is_ok()).count()), (3 * BATCH, BATCH));
        assert_eq!((node.waiting(), node.missed()), (0, 2 * BATCH as u64));
    }
}
