//! Tenants of one run: they begin on one clock, and each goes on until all of them have what they need.
//!
//! [`Mix`] is what they share; [`Seat`] is the place of one tenant in it; [`MixedWorld`] is a tenant's world, which
//! asks the mix when its phase may begin and when it may end.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loadgen::world::{Arrival, Issued, QuerySeq, SampleIndex, SampleSeq, TimeNs, Wake, World};

/// Time from the moment at which the last tenant is ready until the clock of the mix starts, so that all of them hear
/// of it before.
const LEAD_NS: u64 = 20_000_000;

/// The longest wait of a tenant before it looks at the mix again.
const LOOK_NS: u64 = 1_000_000;

/// Tenants that run together. A clone is the same mix.
#[derive(Clone, Debug)]
pub struct Mix(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// True when no tenant needs more time.
    is_over: AtomicBool,
}

#[derive(Debug)]
struct State {
    stands: Vec<Stand>,
    /// Start of the clock of the mix.
    begin: Option<TimeNs>,
}

/// Progress of a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    /// It makes its samples ready.
    Loading,
    /// It waits for the others.
    Ready,
    /// It has what it needs, and goes on for the others.
    HasAll,
    /// It takes no part any more.
    Gone {
        /// Others still measured.
        early: bool,
    },
}

impl Mix {
    /// A mix of so many tenants, none of them ready.
    pub fn new(tenants: usize) -> Mix {
        let state = State { stands: vec![Stand::Loading; tenants], begin: None };
        Mix(Arc::new(Shared { state: Mutex::new(state), is_over: AtomicBool::new(tenants == 0) }))
    }

    /// The seat of the tenant at this place.
    pub fn seat(&self, place: usize) -> Seat {
        Seat { mix: self.clone(), place }
    }

    /// Start of the clock of the mix; `None` before all tenants are ready.
    pub fn begin(&self) -> Option<TimeNs> {
        self.lock().begin
    }

    /// Returns true when the tenant at this place left while others still measured.
    pub fn left_early(&self, place: usize) -> bool {
        self.lock().stands.get(place) == Some(&Stand::Gone { early: true })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one tenant in a mix. Dropped, it has left.
#[derive(Debug)]
pub struct Seat {
    mix: Mix,
    place: usize,
}

impl Seat {
    /// The tenant's samples are ready. Returns when the clock of the mix starts, once that is known.
    fn ready(&self, now: TimeNs) -> Option<TimeNs> {
        let mut state = self.mix.lock();
        self.change(&mut state, Stand::Ready);
        if state.stands.iter().all(|stand| *stand != Stand::Loading) {
            state.begin.get_or_insert(now + LEAD_NS);
        }
        state.begin
    }

    /// The tenant has what it needs. Returns true when no other one needs more time.
    fn has_all(&self) -> bool {
        if self.mix.0.is_over.load(SeqCst) {
            return true;
        }
        let mut state = self.mix.lock();
        self.change(&mut state, Stand::HasAll);
        let is_over = state.is_over();
        self.mix.0.is_over.store(is_over, SeqCst);
        is_over
    }

    fn change(&self, state: &mut State, stand: Stand) {
        if let Some(own) = state.stands.get_mut(self.place) {
            *own = stand;
        }
    }
}

impl State {
    /// No tenant needs more time.
    fn is_over(&self) -> bool {
        self.stands.iter().all(|stand| matches!(stand, Stand::HasAll | Stand::Gone { .. }))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = self.mix.lock();
        self.change(&mut state, Stand::HasAll);
        let early = !state.is_over();
        self.change(&mut state, Stand::Gone { early });
        self.mix.0.is_over.store(!early, SeqCst);
    }
}

/// The world of one tenant.
pub struct MixedWorld<'a, W> {
    world: &'a mut W,
    seat: Seat,
    /// When the tenant starts, on the clock of the mix.
    start_ns: u64,
}

impl<'a, W: World> MixedWorld<'a, W> {
    /// The tenant of this seat starts so long after the clock of the mix. The worlds of all tenants have one clock.
    pub fn new(world: &'a mut W, seat: Seat, start_ns: u64) -> MixedWorld<'a, W> {
        MixedWorld { world, seat, start_ns }
    }

    /// Waits for the other tenants, and for this one's start. Returns at once when the run is to stop, which the next
    /// wait says again.
    fn begin(&mut self) {
        let mut none = Vec::new();
        let mut begin = None;
        loop {
            let now = self.world.now();
            begin = begin.or_else(|| Some(self.seat.ready(now)? + self.start_ns));
            let until = match begin {
                Some(begin) if now >= begin => return,
                Some(begin) => begin,
                None => now + LOOK_NS,
            };
            if self.world.wait(Some(until), false, &mut none) != Wake::Ready {
                return;
            }
        }
    }
}

impl<W: World> World for MixedWorld<'_, W> {
    type Data = W::Data;

    fn now(&mut self) -> TimeNs {
        self.world.now()
    }

    fn load(&mut self, set: &[SampleIndex]) -> Result<(), String> {
        self.world.load(set)?;
        self.begin();
        Ok(())
    }

    fn unload(&mut self, set: &[SampleIndex]) {
        self.world.unload(set);
    }

    fn room(&mut self) -> usize {
        self.world.room()
    }

    fn issue(&mut self, query: QuerySeq, samples: &[Issued]) {
        self.world.issue(query, samples);
    }

    fn flush(&mut self) {
        self.world.flush();
    }

    fn meanwhile<T: Send>(&mut self, work: impl FnOnce() -> T + Send) -> T {
        self.world.meanwhile(work)
    }

    fn may_end(&mut self) -> bool {
        self.seat.has_all()
    }

    fn wait(&mut self, until: Option<TimeNs>, wake_on_arrival: bool, arrivals: &mut Vec<Arrival<W::Data>>) -> Wake {
        self.world.wait(until, wake_on_arrival, arrivals)
    }

    #[inline]
    fn answered(&mut self, seq: SampleSeq, latency_ns: u64) {
        self.world.answered(seq, latency_ns);
    }
}

#[cfg(test)]
mod tests;
