//! Limits the number of connections, and decides which one is closed to make room.
//!
//! An idle connection costs its client nothing, but costs this server a file descriptor. So if the server is full and a
//! new client arrives, the connection that has been idle the longest is closed. This way, idle connections cannot keep
//! new clients out.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use crate::mcp::http::access_control::subnet;

/// The open connections, up to a limit.
pub(in crate::mcp) struct Room {
    most: usize,
    most_of_address: usize,
    begun: Instant,
    open: Mutex<HashMap<u64, Arc<Place>>>,
    next: AtomicU64,
}

/// The place of an open connection in the room. Dropping this value frees the place.
pub(in crate::mcp) struct Entered {
    room: Arc<Room>,
    number: u64,
    pub(in crate::mcp) place: Arc<Place>,
}

/// The state of a connection.
pub(in crate::mcp) struct Place {
    from: IpAddr,
    begun: Instant,
    /// When the connection became idle, in microseconds since the room was created; or [`BUSY`], or [`CLOSED`].
    idle: AtomicU64,
    /// The number of requests and answers in progress.
    works: AtomicUsize,
    /// Cancelled when the connection is closed to make room.
    pub(in crate::mcp) closed: CancellationToken,
}

/// A request or its answer is in progress.
const BUSY: u64 = u64::MAX - 1;

/// The connection was closed to make room. No further request begins on it, so none is lost halfway.
const CLOSED: u64 = u64::MAX;

/// The reason for refusing a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mcp) enum Full {
    /// The address has reached its limit, and all its connections are busy.
    Address,
    /// The server has reached its limit, and all connections are busy.
    Room,
}

impl Room {
    /// Creates a room for `most` connections. One address may have at most half of them.
    pub(in crate::mcp) fn new(most: usize) -> Arc<Self> {
        let (open, next) = (Mutex::default(), AtomicU64::default());
        Arc::new(Self { most, most_of_address: most.div_ceil(2), begun: Instant::now(), open, next })
    }

    /// Admits a connection. If there is no room, closes an idle one.
    pub(in crate::mcp) fn enter(self: &Arc<Self>, from: IpAddr) -> Result<Entered, Full> {
        let from = subnet(from);
        let mut open = self.open();
        if open.values().filter(|place| place.from == from).count() >= self.most_of_address {
            give_way(&mut open, Some(from)).then_some(()).ok_or(Full::Address)?;
        }
        if open.len() >= self.most {
            give_way(&mut open, None).then_some(()).ok_or(Full::Room)?;
        }
        let place = Arc::new(Place {
            from,
            begun: self.begun,
            idle: AtomicU64::new(micros(self.begun)),
            works: AtomicUsize::default(),
            closed: CancellationToken::new(),
        });
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        open.insert(number, Arc::clone(&place));
        Ok(Entered { room: Arc::clone(self), number, place })
    }

    /// Closes the connection that has been idle the longest. Returns whether there was one.
    pub(in crate::mcp) fn make(&self) -> bool {
        give_way(&mut self.open(), None)
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, Arc<Place>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes the connection that has been idle the longest, among those of one address or among all.
fn give_way(open: &mut HashMap<u64, Arc<Place>>, from: Option<IpAddr>) -> bool {
    loop {
        let of = open.iter().filter(|(_, place)| from.is_none_or(|from| place.from == from));
        let idle = of.map(|(number, place)| (place.idle.load(Ordering::Acquire), *number));
        let Some((since, number)) = idle.filter(|(since, _)| *since < BUSY).min() else { return false };
        // A request may have begun since `idle` was read.
        let place = &open[&number];
        if place.idle.compare_exchange(since, CLOSED, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            place.closed.cancel();
            open.remove(&number);
            return true;
        }
    }
}

fn micros(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_micros()).unwrap_or(0)
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.room.open().remove(&self.number);
    }
}

impl Place {
    /// Marks the beginning of a request. Returns `None` if the connection was closed to make room.
    pub(in crate::mcp) fn begin(self: &Arc<Self>) -> Option<Work> {
        let busy = |idle| (idle != CLOSED).then_some(BUSY);
        self.idle.fetch_update(Ordering::AcqRel, Ordering::Acquire, busy).ok()?;
        self.works.fetch_add(1, Ordering::AcqRel);
        Some(Work(Arc::clone(self)))
    }

    /// Marks the connection as idle if every answer was sent.
    pub(in crate::mcp) fn rest(&self) {
        if self.works.load(Ordering::Acquire) == 0 && self.idle.load(Ordering::Acquire) == BUSY {
            let _ = self.idle.compare_exchange(BUSY, micros(self.begun), Ordering::AcqRel, Ordering::Acquire);
        }
    }
}

/// Marks work as in progress on a connection until this guard is dropped.
pub(in crate::mcp) struct Work(Arc<Place>);

impl Drop for Work {
    fn drop(&mut self) {
        self.0.works.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gets_half_of_the_connections_and_busy_ones_are_not_closed() {
        let room = Room::new(4);
        let [one, other, third] = [1, 2, 3].map(|last| IpAddr::from([127, 0, 0, last]));
        let (first, second) = (room.enter(one).expect("room"), room.enter(one).expect("room"));
        let work = first.place.begin().expect("it is open");
        let newer = room.enter(one).expect("an idle one gives way");
        assert!(second.place.closed.is_cancelled() && !first.place.closed.is_cancelled());
        assert!(second.place.begin().is_none(), "no request begins on what gave way");
        let _works = newer.place.begin().expect("it is open");
        assert_eq!(room.enter(one).err(), Some(Full::Address));
        let others = [room.enter(other).expect("room"), room.enter(other).expect("room")];
        let _others: Vec<_> = others.iter().map(|entered| entered.place.begin().expect("it is open")).collect();
        assert_eq!(room.enter(third).err(), Some(Full::Room));
        drop(work);
        // An answer is still being sent.
        assert!(!room.make());
        first.place.rest();
        assert!(room.enter(third).is_ok() && first.place.closed.is_cancelled());
    }

    #[test]
    fn the_connection_that_was_idle_the_longest_is_closed() {
        let room = Room::new(8);
        let entered: Vec<_> = (0..3).map(|last| room.enter(IpAddr::from([127, 0, 0, last])).expect("room")).collect();
        for (place, since) in entered.iter().zip([30, 10, 20]) {
            place.place.idle.store(since, Ordering::Release);
        }
        let closed = || entered.iter().map(|entered| entered.place.closed.is_cancelled()).collect::<Vec<_>>();
        assert!(room.make());
        assert_eq!(closed(), [false, true, false]);
        assert!(room.make() && room.make() && !room.make());
        drop(entered);
        assert!(room.open().is_empty());
    }
}
