//! WASI calls for arguments, variables, clocks and random bytes.

use super::super::errno::{Answer, Errno};
use super::super::guest::{Guest, MAX_MOVED};
use super::super::host::Host;

const REALTIME: u32 = 0;
const MONOTONIC: u32 = 1;

/// Writes texts one after the other to `buffer`, and their addresses to `list`.
fn texts(guest: &mut Guest<'_>, texts: &[Vec<u8>], list: u32, buffer: u32) -> Answer {
    let (mut entry, mut at) = (list, buffer);
    for text in texts {
        guest.put(at, text)?;
        guest.put_u32(entry, at)?;
        let length = u32::try_from(text.len()).map_err(|_| Errno::FAULT)?;
        at = at.checked_add(length).ok_or(Errno::FAULT)?;
        entry = entry.checked_add(4).ok_or(Errno::FAULT)?;
    }
    Ok(())
}

fn sizes(guest: &mut Guest<'_>, texts: &[Vec<u8>], count: u32, bytes: u32) -> Answer {
    let size = |size: usize| u32::try_from(size).map_err(|_| Errno::INVAL);
    guest.put_u32(count, size(texts.len())?)?;
    guest.put_u32(bytes, size(texts.iter().map(Vec::len).sum())?)
}

fn count(host: &mut Host, texts: fn(&Host) -> &Vec<Vec<u8>>) {
    let bytes: usize = texts(host).iter().map(Vec::len).sum();
    host.moved(bytes as u64);
}

pub fn args_get(host: &mut Host, guest: &mut Guest<'_>, list: u32, buffer: u32) -> Answer {
    count(host, |host| &host.arguments);
    texts(guest, &host.arguments, list, buffer)
}

pub fn args_sizes_get(host: &mut Host, guest: &mut Guest<'_>, number: u32, bytes: u32) -> Answer {
    sizes(guest, &host.arguments, number, bytes)
}

pub fn environ_get(host: &mut Host, guest: &mut Guest<'_>, list: u32, buffer: u32) -> Answer {
    count(host, |host| &host.variables);
    texts(guest, &host.variables, list, buffer)
}

pub fn environ_sizes_get(host: &mut Host, guest: &mut Guest<'_>, number: u32, bytes: u32) -> Answer {
    sizes(guest, &host.variables, number, bytes)
}

/// Returns the time of a clock in nanoseconds.
pub(super) fn time(host: &Host, clock: u32) -> Answer<u64> {
    match clock {
        REALTIME => Ok(host.now()),
        // This clock starts with the run, so that it does not reveal how long the machine has been up.
        MONOTONIC => Ok(u64::try_from(host.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)),
        _ => Err(Errno::INVAL),
    }
}

pub fn clock_time_get(host: &mut Host, guest: &mut Guest<'_>, clock: u32, _precision: u64, at: u32) -> Answer {
    let time = time(host, clock)?;
    guest.put_u64(at, time)
}

pub fn clock_res_get(_host: &mut Host, guest: &mut Guest<'_>, clock: u32, at: u32) -> Answer {
    match clock {
        REALTIME => guest.put_u64(at, 1_000_000),
        MONOTONIC => guest.put_u64(at, 1),
        _ => Err(Errno::INVAL),
    }
}

pub fn random_get(host: &mut Host, guest: &mut Guest<'_>, at: u32, length: u32) -> Answer {
    if length > MAX_MOVED {
        return Err(Errno::INVAL);
    }
    // A random byte costs far more than a copied one.
    host.moved(u64::from(length) * 16);
    host.clock.fill(guest.bytes_mut(at, length)?).map_err(|_| Errno::IO)
}

pub fn sched_yield(_host: &mut Host, _guest: &mut Guest<'_>) -> Answer {
    Ok(())
}
