//! WASI calls on descriptors: reading, writing and metadata.

use super::super::errno::{Answer, Errno};
use super::super::files::{Descriptor, Facts, Open};
use super::super::guest::{Buffer, Guest};
use super::super::host::Host;
use super::{kind, rights};

/// The flag for writing to the end of a file.
pub(super) const APPEND: u16 = 1;

/// The bytes of a folder entry before its name.
const ENTRY: usize = 24;

pub fn fd_close(host: &mut Host, _guest: &mut Guest<'_>, fd: u32) -> Answer {
    host.files.table.close(&mut host.files.tree, fd)
}

pub fn fd_renumber(host: &mut Host, _guest: &mut Guest<'_>, from: u32, to: u32) -> Answer {
    host.files.table.renumber(&mut host.files.tree, from, to)
}

/// Does nothing for any valid descriptor: files are in memory, so there is nothing to write out or read ahead.
pub fn fd_sync(host: &mut Host, _guest: &mut Guest<'_>, fd: u32) -> Answer {
    host.files.table.get(fd).map(drop)
}

pub fn fd_advise(host: &mut Host, guest: &mut Guest<'_>, fd: u32, _at: u64, _length: u64, _advice: u32) -> Answer {
    fd_sync(host, guest, fd)
}

pub fn fd_fdstat_get(host: &mut Host, guest: &mut Guest<'_>, fd: u32, at: u32) -> Answer {
    let (kind, flags, base, inheriting) = match host.files.table.get(fd)? {
        Descriptor::Input => (kind::UNKNOWN, 0, rights::READ, 0),
        Descriptor::Output | Descriptor::Errors => (kind::UNKNOWN, 0, rights::WRITE, 0),
        Descriptor::Folder { id, .. } => {
            let inside = if host.files.tree.is_writable(*id) { rights::ALL } else { rights::ALL & !rights::WRITE };
            (kind::FOLDER, 0, rights::ALL & !(rights::READ | rights::WRITE), inside)
        }
        Descriptor::File(open) => {
            let mut base = rights::ALL;
            for (may, right) in [(open.reads, rights::READ), (open.writes, rights::WRITE)] {
                base &= if may { rights::ALL } else { !right };
            }
            (kind::FILE, if open.appends { APPEND } else { 0 }, base, 0)
        }
    };
    let mut stat = [0; 24];
    stat[0] = kind;
    stat[2..4].copy_from_slice(&flags.to_le_bytes());
    stat[8..16].copy_from_slice(&base.to_le_bytes());
    stat[16..24].copy_from_slice(&inheriting.to_le_bytes());
    guest.put(at, &stat)
}

pub fn fd_fdstat_set_flags(host: &mut Host, _guest: &mut Guest<'_>, fd: u32, flags: u32) -> Answer {
    if let Descriptor::File(_) = host.files.table.get(fd)? {
        host.files.table.file(fd)?.appends = flags & u32::from(APPEND) != 0;
    }
    Ok(())
}

/// Writes metadata in the layout that modules expect.
pub(super) fn put_facts(guest: &mut Guest<'_>, at: u32, facts: &Facts) -> Answer {
    let mut stat = [0; 64];
    stat[..8].copy_from_slice(&(facts.system as u64).to_le_bytes());
    stat[8..16].copy_from_slice(&facts.id.to_le_bytes());
    stat[16] = if facts.is_folder { kind::FOLDER } else { kind::FILE };
    stat[24..32].copy_from_slice(&1_u64.to_le_bytes());
    stat[32..40].copy_from_slice(&facts.size.to_le_bytes());
    for time in [40, 48, 56] {
        stat[time..time + 8].copy_from_slice(&facts.changed.to_le_bytes());
    }
    guest.put(at, &stat)
}

pub fn fd_filestat_get(host: &mut Host, guest: &mut Guest<'_>, fd: u32, at: u32) -> Answer {
    match host.files.table.get(fd)?.id() {
        Some(id) => put_facts(guest, at, &host.files.tree.facts(id)?),
        // A standard stream has neither an id nor a size.
        None => guest.put(at, &[0; 64]),
    }
}

pub fn fd_filestat_set_size(host: &mut Host, _guest: &mut Guest<'_>, fd: u32, size: u64) -> Answer {
    let Open { id, writes, .. } = *host.files.table.file(fd)?;
    if !writes {
        return Err(Errno::INVAL);
    }
    let was = host.files.tree.facts(id)?.size;
    host.moved(size.saturating_sub(was));
    host.files.tree.resize(id, size, host.now())
}

pub fn fd_prestat_get(host: &mut Host, guest: &mut Guest<'_>, fd: u32, at: u32) -> Answer {
    let path = opened_path(host, fd)?;
    // In WASI, the tag 0 marks a folder that was open from the start.
    guest.put_u32(at, 0)?;
    guest.put_u32(at.checked_add(4).ok_or(Errno::FAULT)?, u32::try_from(path.len()).unwrap_or(u32::MAX))
}

pub fn fd_prestat_dir_name(host: &mut Host, guest: &mut Guest<'_>, fd: u32, at: u32, length: u32) -> Answer {
    let path = opened_path(host, fd)?;
    if usize::try_from(length).map_or(true, |length| length < path.len()) {
        return Err(Errno::NAMETOOLONG);
    }
    guest.put(at, path.as_bytes())
}

/// Returns the path of a folder that was open from the start.
fn opened_path(host: &Host, fd: u32) -> Answer<&'static str> {
    match host.files.table.get(fd)? {
        Descriptor::Folder { given: Some(path), .. } => Ok(path),
        _ => Err(Errno::BADF),
    }
}

pub fn fd_read(host: &mut Host, guest: &mut Guest<'_>, fd: u32, list: u32, count: u32, number: u32) -> Answer {
    let buffers = guest.buffers(list, count)?;
    let read = match host.files.table.get(fd)? {
        Descriptor::Input => 0,
        Descriptor::Output | Descriptor::Errors => return Err(Errno::BADF),
        Descriptor::Folder { .. } => return Err(Errno::ISDIR),
        Descriptor::File(open) => {
            let read = read(host, guest, open.id, open.reads, open.at, &buffers)?;
            host.files.table.file(fd)?.at += u64::from(read);
            read
        }
    };
    guest.put_u32(number, read)
}

pub fn fd_pread(
    host: &mut Host,
    guest: &mut Guest<'_>,
    fd: u32,
    list: u32,
    count: u32,
    at: u64,
    number: u32,
) -> Answer {
    let buffers = guest.buffers(list, count)?;
    let Open { id, reads, .. } = *host.files.table.file(fd)?;
    let read = read(host, guest, id, reads, at, &buffers)?;
    guest.put_u32(number, read)
}

/// Reads from an offset into buffers, and returns the number of bytes read.
fn read(host: &mut Host, guest: &mut Guest<'_>, id: u64, may: bool, mut at: u64, buffers: &[Buffer]) -> Answer<u32> {
    if !may {
        return Err(Errno::BADF);
    }
    let mut read = 0;
    for buffer in buffers {
        let bytes = host.files.tree.bytes(id)?;
        let rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
        let length = u32::try_from(rest.len()).unwrap_or(u32::MAX).min(buffer.length);
        guest.put(buffer.at, &rest[..length as usize])?;
        read += length;
        at = at.saturating_add(u64::from(length));
        if length < buffer.length {
            break;
        }
    }
    host.moved(u64::from(read));
    Ok(read)
}

pub fn fd_write(host: &mut Host, guest: &mut Guest<'_>, fd: u32, list: u32, count: u32, number: u32) -> Answer {
    let buffers = guest.buffers(list, count)?;
    let written = match host.files.table.get(fd)? {
        Descriptor::Input => return Err(Errno::BADF),
        Descriptor::Folder { .. } => return Err(Errno::ISDIR),
        stream @ (Descriptor::Output | Descriptor::Errors) => {
            let is_output = *stream == Descriptor::Output;
            print(host, guest, is_output, &buffers)?
        }
        Descriptor::File(open) => {
            let open = *open;
            let at = if open.appends { host.files.tree.facts(open.id)?.size } else { open.at };
            let written = write(host, guest, open.id, open.writes, at, &buffers)?;
            host.files.table.file(fd)?.at = at.saturating_add(u64::from(written));
            written
        }
    };
    guest.put_u32(number, written)
}

fn print(host: &mut Host, guest: &Guest<'_>, is_output: bool, buffers: &[Buffer]) -> Answer<u32> {
    let printed = if is_output { &mut host.stdout } else { &mut host.stderr };
    let mut told = host.told.as_mut().filter(|_| !is_output);
    let mut written = 0;
    for buffer in buffers {
        let bytes = guest.bytes(buffer.at, buffer.length)?;
        printed.push(bytes);
        if let Some(tell) = &mut told {
            tell(bytes);
        }
        written += buffer.length;
    }
    host.moved(u64::from(written));
    Ok(written)
}

pub fn fd_pwrite(
    host: &mut Host,
    guest: &mut Guest<'_>,
    fd: u32,
    list: u32,
    count: u32,
    at: u64,
    number: u32,
) -> Answer {
    let buffers = guest.buffers(list, count)?;
    let Open { id, writes, .. } = *host.files.table.file(fd)?;
    let written = write(host, guest, id, writes, at, &buffers)?;
    guest.put_u32(number, written)
}

/// Writes buffers at an offset, and returns how many bytes fit.
fn write(host: &mut Host, guest: &Guest<'_>, id: u64, may: bool, mut at: u64, buffers: &[Buffer]) -> Answer<u32> {
    if !may {
        return Err(Errno::BADF);
    }
    let now = host.now();
    let mut written = 0;
    // Filling the gap before the offset with zeros also costs fuel.
    host.moved(at.saturating_sub(host.files.tree.facts(id)?.size));
    for buffer in buffers {
        let bytes = guest.bytes(buffer.at, buffer.length)?;
        let length = match host.files.tree.write(id, at, bytes, now) {
            Ok(length) => u32::try_from(length).unwrap_or(u32::MAX),
            // Report the bytes written so far; the next call reports the error.
            Err(_) if written > 0 => break,
            Err(errno) => return Err(errno),
        };
        written += length;
        at = at.saturating_add(u64::from(length));
        if length < buffer.length {
            break;
        }
    }
    host.moved(u64::from(written));
    Ok(written)
}

pub fn fd_seek(host: &mut Host, guest: &mut Guest<'_>, fd: u32, by: i64, from: u32, result: u32) -> Answer {
    let open = *host.files.table.file(fd)?;
    let base = match from {
        0 => 0,
        1 => open.at,
        2 => host.files.tree.facts(open.id)?.size,
        _ => return Err(Errno::INVAL),
    };
    let at = base.checked_add_signed(by).ok_or(Errno::INVAL)?;
    guest.put_u64(result, at)?;
    host.files.table.file(fd)?.at = at;
    Ok(())
}

pub fn fd_tell(host: &mut Host, guest: &mut Guest<'_>, fd: u32, result: u32) -> Answer {
    let at = host.files.table.file(fd)?.at;
    guest.put_u64(result, at)
}

pub fn fd_readdir(
    host: &mut Host,
    guest: &mut Guest<'_>,
    fd: u32,
    buffer: u32,
    length: u32,
    cookie: u64,
    number: u32,
) -> Answer {
    let folder = host.files.table.folder(fd)?;
    guest.bytes(buffer, length)?;
    let room = usize::try_from(length).unwrap_or(usize::MAX).min(super::super::guest::MAX_MOVED as usize);
    let tree = &host.files.tree;
    let dots = [(".", folder), ("..", folder)].into_iter();
    let entries = dots.chain(tree.entries(folder)?.iter().map(|(name, id)| (name.as_str(), *id)));
    let mut listed = Vec::new();
    for (next, (name, id)) in (1_u64..).zip(entries).skip(usize::try_from(cookie).unwrap_or(usize::MAX)) {
        let mut head = [0; ENTRY];
        head[..8].copy_from_slice(&next.to_le_bytes());
        head[8..16].copy_from_slice(&id.to_le_bytes());
        head[16..20].copy_from_slice(&u32::try_from(name.len()).unwrap_or(u32::MAX).to_le_bytes());
        head[20] = if tree.facts(id)?.is_folder { kind::FOLDER } else { kind::FILE };
        listed.extend_from_slice(&head);
        listed.extend_from_slice(name.as_bytes());
        // A completely filled buffer tells the module that there may be more entries.
        if listed.len() >= room {
            listed.truncate(room);
            break;
        }
    }
    host.moved(listed.len() as u64 + cookie.min(1 << 16) * 16);
    guest.put(buffer, &listed)?;
    guest.put_u32(number, u32::try_from(listed.len()).unwrap_or(u32::MAX))
}
