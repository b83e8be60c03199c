//! A connection of the simulated network: two ends, bytes that take their time, and what happens to them.
//!
//! It behaves as TCP does as far as programs can see: bytes come in order and in pieces of any size; a full buffer
//! holds up who writes; an end that is dropped with bytes unread resets the other; an end that writes to one that is
//! gone hears of it a round trip later.

use std::collections::VecDeque;
use std::future::Future as _;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::{Buf as _, Bytes};
use lon_net::clock;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use crate::lies::{Liar, Lie};
use crate::record::{Happened, Record};
use crate::rng::Rng;

/// Number of a connection's first bytes that are kept, for a connection that repeats them.
const KEPT_BYTES: usize = 2 << 10;

/// The link between the LoadGen node and one node, which all connections to that node share.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) record: Record,
    state: Mutex<LinkState>,
}

#[derive(Debug)]
struct LinkState {
    latency: Duration,
    jitter_ms: u64,
    /// Nothing passes, and nobody is told.
    is_dark: bool,
    /// The end of this number neither reads nor writes.
    is_stalled: [bool; 2],
    /// Lie that the far end tells, when it tells one.
    lie: Option<Lie>,
    wires: Vec<Arc<Wire>>,
}

/// The end that connected, by its number.
pub(crate) const NEAR: usize = 0;
/// The end that accepted, by its number.
pub(crate) const FAR: usize = 1;

impl Link {
    pub(crate) fn new(record: Record, latency: Duration, jitter_ms: u64) -> Link {
        let state =
            LinkState { latency, jitter_ms, is_dark: false, is_stalled: [false; 2], lie: None, wires: Vec::new() };
        Link { record, state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, LinkState> {
        self.state.lock().unwrap()
    }

    pub(crate) fn latency(&self) -> Duration {
        self.lock().latency
    }

    pub(crate) fn is_dark(&self) -> bool {
        self.lock().is_dark
    }

    /// From here on nothing passes, or all does again.
    pub(crate) fn set_dark(&self, is_dark: bool) {
        self.lock().is_dark = is_dark;
        self.wake_all();
    }

    /// From here on one end does nothing, or works again.
    pub(crate) fn set_stalled(&self, side: usize, is_stalled: bool) {
        self.lock().is_stalled[side] = is_stalled;
        self.wake_all();
    }

    /// From here on new connections tell this lie.
    pub(crate) fn set_lie(&self, lie: Lie) {
        self.lock().lie = Some(lie);
    }

    /// Breaks every connection, at both ends at once.
    pub(crate) fn reset_all(&self) {
        let wires = std::mem::take(&mut self.lock().wires);
        for wire in wires {
            let mut state = wire.lock();
            state.is_broken = [true; 2];
            state.wake();
        }
    }

    /// Breaks the connections at one end. The other end hears nothing of it.
    pub(crate) fn break_end(&self, side: usize) {
        for wire in self.wires() {
            let mut state = wire.lock();
            state.is_broken[side] = true;
            state.wake();
        }
    }

    /// A new connection: its near end and its far end.
    pub(crate) fn connect(self: &Arc<Self>, mut rng: Rng) -> (End, End) {
        let capacity = rng.of(&[2 << 10, 16 << 10, 256 << 10, 4 << 20]);
        let id = self.record.next_id();
        let state = WireState {
            rng,
            flows: [Flow::new(capacity), Flow::new(capacity)],
            is_gone: [false; 2],
            is_broken: [false; 2],
            reset_at: [None; 2],
            first: Vec::new(),
            liar: self.lock().lie.clone().map(Liar::new),
        };
        let wire = Arc::new(Wire { id, link: Arc::clone(self), state: Mutex::new(state) });
        let mut link = self.lock();
        link.wires.retain(|wire| !wire.is_over());
        link.wires.push(Arc::clone(&wire));
        drop(link);
        (End::new(&wire, NEAR), End::new(&wire, FAR))
    }

    fn wires(&self) -> Vec<Arc<Wire>> {
        self.lock().wires.clone()
    }

    fn wake_all(&self) {
        self.wires().iter().for_each(|wire| wire.lock().wake());
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Wire {
    id: u64,
    link: Arc<Link>,
    state: Mutex<WireState>,
}

#[derive(Debug)]
struct WireState {
    rng: Rng,
    /// Bytes that the end of this number has written.
    flows: [Flow; 2],
    /// The end of this number was dropped.
    is_gone: [bool; 2],
    /// The end of this number was broken from outside.
    is_broken: [bool; 2],
    /// When the end of this number hears that the other has reset the connection.
    reset_at: [Option<Instant>; 2],
    /// The first bytes that the near end wrote.
    first: Vec<u8>,
    /// Changes what the far end writes.
    liar: Option<Liar>,
}

/// Bytes in transit in one direction.
#[derive(Debug)]
struct Flow {
    chunks: VecDeque<(Instant, Bytes)>,
    bytes: usize,
    capacity: usize,
    /// When the last of them arrives.
    last_at: Option<Instant>,
    /// When the reader hears that no more comes.
    end_at: Option<Instant>,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Flow {
    fn new(capacity: usize) -> Flow {
        let (chunks, bytes, last_at, end_at) = (VecDeque::new(), 0, None, None);
        Flow { chunks, bytes, capacity, last_at, end_at, reader: None, writer: None }
    }

    fn wake_reader(&mut self) {
        self.reader.take().into_iter().for_each(Waker::wake);
    }

    fn wake_writer(&mut self) {
        self.writer.take().into_iter().for_each(Waker::wake);
    }
}

impl WireState {
    fn wake(&mut self) {
        for flow in &mut self.flows {
            flow.wake_reader();
            flow.wake_writer();
        }
    }

    /// When something that leaves now in this direction arrives.
    fn arrival(&mut self, from: usize, link: &LinkState) -> Instant {
        let delay = link.latency + Duration::from_millis(self.rng.within(0..link.jitter_ms + 1));
        let at = (clock::now() + delay).max(self.flows[from].last_at.unwrap_or_else(clock::now));
        self.flows[from].last_at = Some(at);
        at
    }

    fn is_reset(&self, side: usize) -> bool {
        self.is_broken[side] || self.reset_at[side].is_some_and(|at| at <= clock::now())
    }
}

impl Wire {
    fn lock(&self) -> MutexGuard<'_, WireState> {
        self.state.lock().unwrap()
    }

    fn is_over(&self) -> bool {
        self.lock().is_gone == [true; 2]
    }

    /// The first bytes that the near end wrote.
    pub(crate) fn first(&self) -> Vec<u8> {
        self.lock().first.clone()
    }
}

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct End {
    wire: Arc<Wire>,
    side: usize,
    timer: Option<Pin<Box<Sleep>>>,
}

fn reset() -> io::Error {
    io::ErrorKind::ConnectionReset.into()
}

impl End {
    fn new(wire: &Arc<Wire>, side: usize) -> End {
        End { wire: Arc::clone(wire), side, timer: None }
    }

    pub(crate) fn wire(&self) -> &Arc<Wire> {
        &self.wire
    }

    /// Has `cx` woken at `at`; ready when that is now.
    fn wait_until(&mut self, at: Instant, cx: &mut Context<'_>) -> Poll<()> {
        let at = tokio::time::Instant::from_std(at);
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
        timer.as_mut().reset(at);
        timer.as_mut().poll(cx)
    }

    /// Takes what has arrived; or when there will be something, if that is known.
    fn take(&self, cx: &Context<'_>, buf: &mut ReadBuf<'_>) -> Result<(), Result<Option<Instant>, io::Error>> {
        let Wire { link, id, .. } = &*self.wire;
        let link_state = link.lock();
        let mut state = self.wire.lock();
        let WireState { rng, flows, reset_at, is_broken, .. } = &mut *state;
        let flow = &mut flows[1 - self.side];
        flow.reader = Some(cx.waker().clone());
        if is_broken[self.side] {
            return Err(Err(reset()));
        }
        if link_state.is_stalled[self.side] || link_state.is_dark {
            return Err(Ok(None));
        }
        let now = clock::now();
        let is_reset = reset_at[self.side].is_some_and(|at| at <= now);
        // A reset overtakes what was not read yet, or does not.
        if is_reset && (flow.chunks.is_empty() || rng.chance(500)) {
            return Err(Err(reset()));
        }
        match flow.chunks.front_mut() {
            Some((at, chunk)) if *at <= now || is_reset => {
                let most = if rng.chance(50) { 1 + rng.within(0..64) as usize } else { usize::MAX };
                let count = chunk.len().min(buf.remaining()).min(most);
                buf.put_slice(&chunk[..count]);
                chunk.advance(count);
                if chunk.is_empty() {
                    flow.chunks.pop_front();
                }
                flow.bytes -= count;
                flow.wake_writer();
                link.record.note(Happened::Read, *id, count as u64);
                Ok(())
            }
            None if flow.end_at.is_some_and(|at| at <= now) => Ok(()),
            front => {
                let next = front.map(|(at, _)| *at).or(flow.end_at);
                Err(Ok([next, reset_at[self.side]].into_iter().flatten().min()))
            }
        }
    }

    fn put(&self, cx: &Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let Wire { link, id, .. } = &*self.wire;
        let link_state = link.lock();
        let mut state = self.wire.lock();
        if state.is_reset(self.side) {
            return Poll::Ready(Err(reset()));
        }
        state.flows[self.side].writer = Some(cx.waker().clone());
        if link_state.is_stalled[self.side] {
            return Poll::Pending;
        }
        let whole: usize = slices.iter().map(|slice| slice.len()).sum();
        if state.is_gone[1 - self.side] {
            // The reset that answers it comes a round trip later.
            let at = clock::now() + 2 * link_state.latency;
            state.reset_at[self.side].get_or_insert(at);
            state.flows[1 - self.side].wake_reader();
            return Poll::Ready(Ok(whole));
        }
        let flow = &state.flows[self.side];
        let room = flow.capacity.saturating_sub(flow.bytes);
        let most = if state.rng.chance(50) { 1 + state.rng.within(0..64) as usize } else { usize::MAX };
        let count = whole.min(room).min(most);
        if count == 0 && whole > 0 {
            return Poll::Pending;
        }
        let mut chunk = Vec::with_capacity(count);
        for slice in slices {
            chunk.extend_from_slice(&slice[..slice.len().min(count - chunk.len())]);
        }
        if self.side == NEAR && state.first.len() < KEPT_BYTES {
            state.first.extend_from_slice(&chunk);
        }
        let WireState { liar, first, .. } = &mut *state;
        if let (FAR, Some(liar)) = (self.side, liar) {
            chunk = liar.pass(&chunk, first);
        }
        if !chunk.is_empty() {
            let at = state.arrival(self.side, &link_state);
            let flow = &mut state.flows[self.side];
            flow.bytes += chunk.len();
            flow.chunks.push_back((at, chunk.into()));
            flow.wake_reader();
        }
        link.record.note(Happened::Written, *id, count as u64);
        Poll::Ready(Ok(count))
    }
}

impl AsyncRead for End {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            match self.take(cx, buf) {
                Ok(()) => return Poll::Ready(Ok(())),
                Err(Err(error)) => return Poll::Ready(Err(error)),
                Err(Ok(None)) => return Poll::Pending,
                Err(Ok(Some(at))) => match self.wait_until(at, cx) {
                    Poll::Ready(()) => {}
                    Poll::Pending => return Poll::Pending,
                },
            }
        }
    }
}

impl AsyncWrite for End {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.put(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.put(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.end_output();
        Poll::Ready(Ok(()))
    }
}

impl End {
    fn end_output(&self) {
        let link = self.wire.link.lock();
        let mut state = self.wire.lock();
        if state.flows[self.side].end_at.is_none() {
            let at = state.arrival(self.side, &link);
            state.flows[self.side].end_at = Some(at);
            state.flows[self.side].wake_reader();
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.end_output();
        let Wire { link, id, .. } = &*self.wire;
        let latency = link.latency();
        let mut state = self.wire.lock();
        state.is_gone[self.side] = true;
        // A reset answers the bytes that arrive at an end that is gone.
        if let Some((at, _)) = state.flows[1 - self.side].chunks.front() {
            let at = (*at).max(clock::now()) + latency;
            state.reset_at[1 - self.side].get_or_insert(at);
        }
        state.wake();
        link.record.note(Happened::Closed, *id, self.side as u64);
    }
}
