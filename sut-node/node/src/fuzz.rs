//! Functions from any bytes to nothing, for the fuzz targets in `tests/fuzz` and for their seeds, which are run on
//! every build. They fail by a panic: either the code's own, or that of what must always hold.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use lon_net::flow::{Fill as _, Filled, Source};
use lon_net::framing::{Inbound, Outbound};
use lon_proto::run_identity::RunPass;
use tonic::Status;

use crate::backend::null::Null;
use crate::backend::{Backend as _, Input, openai};
use crate::config::Limits;
use crate::run::codecs::Codecs;
use crate::run::state::{ClaimedRun, Purpose};
use crate::stop::stop;
use crate::work::answer_queue::AnswerQueue;
use crate::work::output::AnswerOutput;
use crate::work::reader::{self, Reader, Target};

/// More than any input can ask for.
const ENOUGH_TURNS: usize = 1 << 20;

/// Bytes of a connection, a few at a time.
struct Pieces {
    bytes: Bytes,
    size: usize,
}

impl Source for Pieces {
    fn poll_read(&mut self, _cx: &mut Context<'_>, into: &mut Inbound) -> Poll<Result<bool, Status>> {
        let piece = self.bytes.split_to(self.size.min(self.bytes.len()));
        let is_more = !piece.is_empty();
        into.push(piece);
        Poll::Ready(Ok(is_more))
    }
}

/// Reads the bytes of a Dispatch stream: the first byte says how many come in one read, the others are the stream.
///
/// # Panics
/// The reader does not end, or what it has taken is not given back.
pub fn dispatch(bytes: &[u8]) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_time().build() else { return };
    let _entered = runtime.enter();
    let Some((&size, stream)) = bytes.split_first() else { return };
    let mut source = Pieces { bytes: Bytes::copy_from_slice(stream), size: usize::from(size).max(1) };
    let mut inbound = Inbound::default();
    let mut cx = Context::from_waker(Waker::noop());
    {
        let opened = pin!(reader::open(&mut source, &mut inbound));
        // All bytes are there, so it need not wait.
        assert!(opened.poll(&mut cx).is_ready(), "an Open that is still waited for");
    }
    let limits = Limits { max_samples_in_flight: 16, max_bytes_in_flight: 1 << 16, max_sample_bytes: 1 << 16 };
    let pass = RunPass::new(Bytes::from_static(&[1; 16]), Bytes::from_static(&[2; 32]));
    let run = Arc::new(ClaimedRun::new(pass, String::new(), limits, Purpose::Run(Codecs::NONE), None));
    let answer_queue = AnswerQueue::new(Arc::clone(&run));
    let mut output = AnswerOutput::new(Arc::clone(&answer_queue));
    let Some(worker) = Null::default().worker().ok().and_then(|half| half.batch()) else { return };
    let (_stopper, stop) = stop();
    let mut reading =
        Box::pin(Reader::new(answer_queue, Target::Inline(worker), Input::Tensors).run(source, inbound, stop));
    let (mut is_read, mut out) = (false, Outbound::default());
    for turn in 0..ENOUGH_TURNS {
        let before = (run.counters.received(), out.total());
        is_read = is_read || reading.as_mut().poll(&mut cx).is_ready();
        match output.poll_fill(&mut cx, &mut out) {
            Poll::Ready(Filled::End(_)) => break,
            Poll::Ready(Filled::Some) => drop(std::iter::from_fn(|| out.pop()).count()),
            Poll::Pending => {}
        }
        // It waits for room that its own stream holds: only the end of the run helps, and that must.
        if (run.counters.received(), out.total()) == before {
            run.end();
        }
        assert!(turn < ENOUGH_TURNS - 1, "a stream that does not end");
    }
    drop((reading, output));
    assert_eq!(run.counters.received(), run.counters.answered());
    assert!(run.admission.is_empty(), "room that is not given back");
}

/// An answer of a server behind `openai:`, as it comes on the connection: the first byte says how many come in one
/// read.
pub fn http_answer(bytes: &[u8]) {
    let Some((&size, reply)) = bytes.split_first() else { return };
    openai::fuzz_reply(reply.chunks(usize::from(size).max(1)));
}
