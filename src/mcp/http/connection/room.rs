//! Limits the number of connections, and decides which one is closed to make room.
//!
//! A connection without a running request costs its client nothing, but costs this server a descriptor. So when a new
//! client comes and there is no room, the connection that has been idle the longest is closed. Idle connections cannot
//! starve anybody.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use crate::mcp::http::access_control::subnet;

/// The connections that are open.
pub(in crate::mcp) struct Room {
    most: usize,
    most_of_address: usize,
    begun: Instant,
    open: Mutex<HashMap<u64, Arc<Place>>>,
    next: AtomicU64,
}

/// A connection's place in the room, as long as it is open.
pub(in crate::mcp) struct Entered {
    room: Arc<Room>,
    number: u64,
    pub(in crate::mcp) place: Arc<Place>,
}

/// The state of a connection.
pub(in crate::mcp) struct Place {
    from: IpAddr,
    begun: Instant,
    /// Since when it waits for a request, in microseconds of the room; or [`BUSY`], or [`CLOSED`].
    idle: AtomicU64,
    /// Requests that are answered, and answers that are still being made.
    works: AtomicUsize,
    /// Cancelled where the connection gives way.
    pub(in crate::mcp) closed: CancellationToken,
}

/// A request is under way, or its answer is.
const BUSY: u64 = u64::MAX - 1;

/// It gave way. No request begins on it any more, so that none is lost half done.
const CLOSED: u64 = u64::MAX;

/// The reason for refusing a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mcp) enum Full {
    /// Its address has as many as it may have, and all of them work.
    Address,
    /// There are as many as there may be, and all of them work.
    Room,
}

impl Room {
    /// Returns a room for so many connections, of which one address has half at most.
    pub(in crate::mcp) fn new(most: usize) -> Arc<Self> {
        let (open, next) = (Mutex::default(), AtomicU64::default());
        Arc::new(Self { most, most_of_address: most.div_ceil(2), begun: Instant::now(), open, next })
    }

    /// Admits a connection; if there is no room, closes an idle one.
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

    /// Closes the connection that has been idle for the longest; returns whether there was one.
    pub(in crate::mcp) fn make(&self) -> bool {
        give_way(&mut self.open(), None)
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, Arc<Place>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes the connection that has been idle for the longest, of an address or of all.
fn give_way(open: &mut HashMap<u64, Arc<Place>>, from: Option<IpAddr>) -> bool {
    loop {
        let of = open.iter().filter(|(_, place)| from.is_none_or(|from| place.from == from));
        let idle = of.map(|(number, place)| (place.idle.load(Ordering::Acquire), *number));
        let Some((since, number)) = idle.filter(|(since, _)| *since < BUSY).min() else { return false };
        // A request may have begun meanwhile.
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
    /// Notes that a request begins; `None` where the connection gave way.
    pub(in crate::mcp) fn begin(self: &Arc<Self>) -> Option<Work> {
        let busy = |idle| (idle != CLOSED).then_some(BUSY);
        self.idle.fetch_update(Ordering::AcqRel, Ordering::Acquire, busy).ok()?;
        self.works.fetch_add(1, Ordering::AcqRel);
        Some(Work(Arc::clone(self)))
    }

    /// Notes that all was sent and a request is waited for.
    pub(in crate::mcp) fn rest(&self) {
        if self.works.load(Ordering::Acquire) == 0 && self.idle.load(Ordering::Acquire) == BUSY {
            let _ = self.idle.compare_exchange(BUSY, micros(self.begun), Ordering::AcqRel, Ordering::Acquire);
        }
    }
}

/// Something that a connection works on as long as this is there.
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
    fn an_address_has_half_of_the_room_and_what_works_gives_no_way() {
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
    fn the_one_that_waited_for_the_longest_gives_way() {
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
