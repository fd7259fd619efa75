//! The WASI call for waiting: for a time, or for a descriptor, which is always ready.

use std::time::Duration;

use super::super::errno::{Answer, Errno};
use super::super::guest::Guest;
use super::super::host::Host;
use super::process::time;

/// The maximum number of subscriptions in one call.
const MAX_SUBSCRIPTIONS: u32 = 1024;

/// The size of a subscription and of an event in bytes.
const SUBSCRIPTION: u32 = 48;
const EVENT: u32 = 32;

const CLOCK: u8 = 0;
const READ: u8 = 1;
const WRITE: u8 = 2;

/// The flag for an absolute time instead of a duration.
const ABSOLUTE: u16 = 1;

/// An event to wait for.
struct Subscription {
    user: u64,
    kind: u8,
    /// The time to wait; zero if the event is ready, or an error for this event alone.
    time: Answer<Duration>,
}

impl Subscription {
    fn read(host: &Host, guest: &Guest<'_>, at: u32) -> Answer<Self> {
        let (user, kind) = (guest.u64(at, 0)?, guest.u8(at, 8)?);
        let time = match kind {
            CLOCK => {
                let (clock, wanted) = (guest.u32(at, 16)?, guest.u64(at, 24)?);
                let is_absolute = guest.u16(at, 40)? & ABSOLUTE != 0;
                let passed = time(host, clock);
                passed.map(|now| Duration::from_nanos(if is_absolute { wanted.saturating_sub(now) } else { wanted }))
            }
            READ | WRITE => host.files.table.get(guest.u32(at, 16)?).map(|_| Duration::ZERO),
            _ => return Err(Errno::INVAL),
        };
        Ok(Self { user, kind, time })
    }
}

pub fn poll_oneoff(host: &mut Host, guest: &mut Guest<'_>, list: u32, events: u32, count: u32, number: u32) -> Answer {
    if count == 0 || count > MAX_SUBSCRIPTIONS {
        return Err(Errno::INVAL);
    }
    host.moved(u64::from(count) * u64::from(SUBSCRIPTION + EVENT));
    let at = |base: u32, index: u32, size: u32| base.checked_add(index * size).ok_or(Errno::FAULT);
    let read = |index| Subscription::read(host, guest, at(list, index, SUBSCRIPTION)?);
    let subscriptions = (0..count).map(read).collect::<Answer<Vec<_>>>()?;
    // A failure is reported immediately, like a ready descriptor.
    let first = subscriptions.iter().map(|subscription| subscription.time.unwrap_or_default()).min();
    let first = first.unwrap_or_default();
    guest.bytes(events, count * EVENT)?;
    guest.put_u32(number, 0)?;
    if !first.is_zero() {
        host.ending.wait(first);
        // Use up all fuel, so that the module pauses and the end of the run is checked.
        host.work = u64::MAX;
    }
    let due = subscriptions.iter().filter(|subscription| subscription.time.unwrap_or_default() <= first);
    let mut told = 0;
    for subscription in due {
        let mut event = [0; EVENT as usize];
        event[..8].copy_from_slice(&subscription.user.to_le_bytes());
        let errno = subscription.time.err().map_or(0, |errno| errno.0);
        event[8..10].copy_from_slice(&errno.to_le_bytes());
        event[10] = subscription.kind;
        guest.put(at(events, told, EVENT)?, &event)?;
        told += 1;
    }
    guest.put_u32(number, told)
}
