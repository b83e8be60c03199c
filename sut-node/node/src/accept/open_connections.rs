//! Connections of a node, and the choice of the one to close when there are too many.
//!
//! A connection is a stranger's until a run is claimed or carried over it, and again when that run has ended. A node
//! has few strangers at one time. When one more comes than there may be, one leaves: of the address that has the most
//! strangers the one that came first. Connections of the run that has the node never leave for others.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lon_net::{clock, descriptors};

use super::open_connection::{OpenConnection, Seat};

/// The most strangers at one time.
const MAX_STRANGERS: usize = 384;

/// The most strangers of one address at one time. A LoadGen node that starts opens 257 connections at most, which are
/// strangers' until each has said which run it belongs to; the rest is for 63 others behind the same address.
const MAX_STRANGERS_OF_ADDRESS: usize = 320;

/// Least age of a connection that the node closes when there are no descriptors left. A run's connections count as
/// strangers' at first.
const SETTLED: Duration = Duration::from_secs(1);

/// Age up to which a connection has hardly had the time to say what it wants. Until then further connections wait, and
/// do not replace it. A node that was itself held up finds hundreds of them waiting at once.
const NEWCOMER: Duration = Duration::from_millis(100);

/// File descriptors that are left for everything but connections.
const KEPT_DESCRIPTORS: u64 = 128;

/// The connections of a node, over all its I/O threads and transports. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct OpenConnections(Arc<Mutex<Book>>);

#[derive(Debug)]
struct Book {
    next: u64,
    /// By the order in which they came.
    seats: BTreeMap<u64, Arc<Seat>>,
    /// The most connections at one time, strangers' and others.
    most: usize,
}

/// Whom a connection comes from, as far as fairness goes: an address, or a network of IPv6 that one customer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place(IpAddr);

/// The strangers of one place.
#[derive(Debug)]
struct Strangers {
    count: usize,
    first: u64,
}

impl OpenConnections {
    /// Returns an empty list, bounded by the number of files that this program may have open.
    pub(crate) fn new() -> OpenConnections {
        let limit = descriptors::limit();
        let most = limit - KEPT_DESCRIPTORS.min(limit / 2);
        OpenConnections(Arc::new(Mutex::new(Book {
            next: 0,
            seats: BTreeMap::new(),
            most: usize::try_from(most).unwrap_or(usize::MAX),
        })))
    }

    /// Returns true when a connection from `address` would replace one that has only just come.
    pub(crate) fn is_crowded(&self, address: IpAddr) -> bool {
        self.is_crowded_at(address, clock::now())
    }

    fn is_crowded_at(&self, address: IpAddr, now: Instant) -> bool {
        let book = self.lock();
        let leaver = book.is_full_for(Place::of(address)).then(|| book.leaver(Duration::ZERO)).flatten();
        let seat = leaver.and_then(|id| book.seats.get(&id));
        seat.is_some_and(|seat| now.saturating_duration_since(seat.since) < NEWCOMER)
    }

    /// Takes a connection in, and has others leave for it where needed. `None` when nobody can: every connection that
    /// there may be is of the run that has the node.
    pub(crate) fn enter(&self, address: IpAddr) -> Option<OpenConnection> {
        let mut book = self.lock();
        book.have_others_leave(Place::of(address));
        if book.seats.len() >= book.most {
            return None;
        }
        let (id, seat) = (book.next, Arc::new(Seat::new(address)));
        book.next += 1;
        book.seats.insert(id, Arc::clone(&seat));
        let open_connections = self.clone();
        Some(OpenConnection::new(seat, move || drop(open_connections.lock().seats.remove(&id))))
    }

    /// Has one stranger leave, when there are no descriptors left. False when there is none that has been here for a
    /// second.
    pub(crate) fn make_room(&self) -> bool {
        self.lock().have_one_leave(SETTLED)
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    /// Has as many strangers leave as there are too many when one comes from `place`.
    fn have_others_leave(&mut self, place: Place) {
        while self.is_full_for(place) && self.have_one_leave(Duration::ZERO) {}
    }

    /// Returns true when a connection from `place` would replace another.
    fn is_full_for(&self, place: Place) -> bool {
        // Without a look at each while there are few.
        if self.seats.len() < MAX_STRANGERS_OF_ADDRESS.min(self.most) {
            return false;
        }
        let strangers = self.strangers(Duration::ZERO);
        let all: usize = strangers.values().map(|strangers| strangers.count).sum();
        let of_place = strangers.get(&place).map_or(0, |strangers| strangers.count);
        all >= MAX_STRANGERS || of_place >= MAX_STRANGERS_OF_ADDRESS || self.seats.len() >= self.most
    }

    /// Has one stranger leave that has been here for `at_least`. False when there is none.
    fn have_one_leave(&mut self, at_least: Duration) -> bool {
        let leaver = self.leaver(at_least).and_then(|id| self.seats.remove(&id));
        leaver.is_some_and(|seat| {
            seat.have_leave();
            true
        })
    }

    /// Returns the next stranger to close, of those that have been connected for `at_least`.
    fn leaver(&self, at_least: Duration) -> Option<u64> {
        let of_run = self.seats.values().find(|seat| !seat.is_stranger()).map(|seat| Place::of(seat.address));
        let strangers = self.strangers(at_least).into_iter();
        // A run opens its further connections from its own place, so the node closes strangers from that place last.
        let last = strangers.max_by_key(|(place, strangers)| {
            let may_leave = Some(*place) != of_run || strangers.count >= MAX_STRANGERS_OF_ADDRESS;
            (may_leave, strangers.count, std::cmp::Reverse(strangers.first))
        });
        last.map(|(_, strangers)| strangers.first)
    }

    fn strangers(&self, at_least: Duration) -> HashMap<Place, Strangers> {
        let now = clock::now();
        let stays = |seat: &Seat| seat.is_stranger() && now.saturating_duration_since(seat.since) >= at_least;
        let mut places = HashMap::new();
        for (id, seat) in self.seats.iter().filter(|(_, seat)| stays(seat)) {
            let strangers = places.entry(Place::of(seat.address)).or_insert(Strangers { count: 0, first: *id });
            strangers.count += 1;
        }
        places
    }
}

impl Place {
    fn of(address: IpAddr) -> Place {
        Place(match address.to_canonical() {
            IpAddr::V6(v6) => {
                let [a, b, c, d, ..] = v6.segments();
                IpAddr::V6([a, b, c, d, 0, 0, 0, 0].into())
            }
            v4 => v4,
        })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::accept::open_connection::tests::run;

    fn address(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    fn has_left(entry: &OpenConnection) -> bool {
        entry.leave_signal().now_or_never().is_some()
    }

    fn enter(open_connections: &OpenConnections, from: u8, count: usize) -> Vec<OpenConnection> {
        (0..count).map(|_| open_connections.enter(address(from)).unwrap()).collect()
    }

    #[test]
    fn of_the_address_with_the_most_the_first_leaves() {
        let open_connections = OpenConnections::new();
        let few = enter(&open_connections, 1, 3);
        let many = enter(&open_connections, 2, MAX_STRANGERS - 3);
        // More than one address may have: the first of its own left.
        let surplus = MAX_STRANGERS - 3 - MAX_STRANGERS_OF_ADDRESS;
        assert_eq!(many.iter().filter(|entry| has_left(entry)).count(), surplus);
        let more: Vec<OpenConnection> = (3..=63).flat_map(|from| enter(&open_connections, from, 2)).collect();
        assert!(few.iter().chain(&more).all(|entry| !has_left(entry)));
        // A connection gets the notice to leave once, and no second one.
        let count = many[surplus..].iter().take_while(|entry| has_left(entry)).count();
        assert_eq!(count, 3 + MAX_STRANGERS_OF_ADDRESS + 2 * 61 - MAX_STRANGERS);
        assert!(!has_left(&many[surplus + count]));
        drop((few, many, more));
        assert!(open_connections.lock().seats.is_empty());
    }

    #[test]
    fn whoever_has_just_come_is_given_time() {
        let open_connections = OpenConnections::new();
        let _few = enter(&open_connections, 1, MAX_STRANGERS_OF_ADDRESS - 1);
        let came = open_connections.lock().seats.values().next().unwrap().since;
        assert!(!open_connections.is_crowded_at(address(1), came), "there is room");
        let _one = enter(&open_connections, 1, 1);
        assert!(open_connections.is_crowded_at(address(1), came) && !open_connections.is_crowded_at(address(2), came));
        assert!(!open_connections.is_crowded_at(address(1), came + NEWCOMER), "the first may leave now");
    }

    #[test]
    fn connections_of_the_run_stay_and_are_strangers_when_it_has_ended() {
        let open_connections = OpenConnections::new();
        let run = run();
        let claimed = enter(&open_connections, 1, 200);
        claimed.iter().for_each(|entry| entry.belongs_to(std::slice::from_ref(&run)));
        // Its further connections, which have not said yet that they are.
        let opening = enter(&open_connections, 1, 57);
        let _flood = enter(&open_connections, 2, 2 * MAX_STRANGERS);
        assert!(claimed.iter().chain(&opening).all(|entry| !has_left(entry)));
        run.end();
        let _others: Vec<OpenConnection> =
            (3..=202).map(|from| open_connections.enter(address(from)).unwrap()).collect();
        assert!(claimed.iter().any(has_left));
    }

    #[test]
    fn without_descriptors_the_run_keeps_its_own() {
        let open_connections = OpenConnections::new();
        open_connections.lock().most = 4;
        let run = run();
        let claimed = enter(&open_connections, 1, 3);
        claimed.iter().for_each(|entry| entry.belongs_to(std::slice::from_ref(&run)));
        let stranger = open_connections.enter(address(1)).unwrap();
        let next = open_connections.enter(address(1)).unwrap();
        assert!(has_left(&stranger) && claimed.iter().all(|entry| !has_left(entry)));
        next.belongs_to(std::slice::from_ref(&run));
        assert!(open_connections.enter(address(2)).is_none() && !open_connections.make_room());
    }

    #[test]
    fn a_network_of_one_customer_is_one_place() {
        let of = |text: &str| Place::of(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2::3"), of("2001:db8:1:2:ffff::4"));
        assert_ne!(of("2001:db8:1:2::3"), of("2001:db8:1:3::3"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }
}
