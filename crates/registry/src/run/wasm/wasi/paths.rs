//! WASI calls on paths relative to an open folder: opening, creating, moving and removing.

use super::super::errno::{Answer, Errno};
use super::super::files::{Descriptor, Id, Open, find, place};
use super::super::guest::Guest;
use super::super::host::Host;
use super::descriptors::{APPEND, put_facts};
use super::rights;

const CREATE: u32 = 1;
const FOLDER: u32 = 2;
const NEW: u32 = 4;
const EMPTY: u32 = 8;

/// A path as a module passes it: a base folder and a text.
#[derive(Clone, Copy)]
pub struct Path {
    /// The descriptor of the base folder.
    pub fd: u32,
    /// The address of the text.
    pub at: u32,
    /// The length of the text in bytes.
    pub length: u32,
}

impl Path {
    /// Reads the base folder and the text. The longer the path, the more fuel this costs.
    fn read<'g>(self, host: &mut Host, guest: &'g Guest<'_>) -> Answer<(Id, &'g str)> {
        host.moved(u64::from(self.length.min(4096)) * 16);
        Ok((host.files.table.folder(self.fd)?, guest.path(self.at, self.length)?))
    }
}

/// The options for opening a file.
#[derive(Clone, Copy)]
pub struct How {
    /// Flags for what to do if the file exists, and if it does not.
    pub flags: u32,
    /// The operations to allow, as rights.
    pub rights: u64,
    /// Flags for how writes work, such as appending.
    pub status: u32,
}

pub fn path_open(host: &mut Host, guest: &mut Guest<'_>, path: Path, how: How, result: u32) -> Answer {
    let (base, text) = path.read(host, guest)?;
    let id = found_or_made(host, base, text, how)?;
    let facts = host.files.tree.facts(id)?;
    let writes = how.rights & rights::WRITE != 0;
    let descriptor = if facts.is_folder {
        if how.flags & (EMPTY | CREATE) != 0 && how.flags & FOLDER == 0 {
            return Err(Errno::ISDIR);
        }
        Descriptor::Folder { id, given: None }
    } else {
        if how.flags & FOLDER != 0 {
            return Err(Errno::NOTDIR);
        }
        if (writes || how.flags & EMPTY != 0) && !host.files.tree.is_writable(id) {
            return Err(Errno::ROFS);
        }
        let (reads, appends) = (how.rights & rights::READ != 0, how.status & u32::from(APPEND) != 0);
        Descriptor::File(Open { id, at: 0, reads, writes, appends })
    };
    // Check the address first: a file must not be opened or truncated if its number cannot be returned.
    guest.put_u32(result, 0)?;
    let fd = host.files.table.add(&mut host.files.tree, descriptor)?;
    if how.flags & EMPTY != 0 && !facts.is_folder {
        host.files.tree.resize(id, 0, host.now())?;
    }
    guest.put_u32(result, fd)
}

fn found_or_made(host: &mut Host, base: Id, path: &str, how: How) -> Answer<Id> {
    if how.flags & CREATE == 0 {
        return find(&host.files.tree, base, path);
    }
    match find(&host.files.tree, base, path) {
        Ok(_) if how.flags & NEW != 0 => Err(Errno::EXIST),
        Err(Errno::NOENT) => {
            let place = place(&host.files.tree, base, path)?;
            if place.says_folder || how.flags & FOLDER != 0 {
                return Err(Errno::INVAL);
            }
            host.files.tree.make(place.folder, place.name, false, host.now())
        }
        found => found,
    }
}

pub fn path_create_directory(host: &mut Host, guest: &mut Guest<'_>, path: Path) -> Answer {
    let (base, text) = path.read(host, guest)?;
    if find(&host.files.tree, base, text).is_ok() {
        return Err(Errno::EXIST);
    }
    let place = place(&host.files.tree, base, text)?;
    host.files.tree.make(place.folder, place.name, true, host.now()).map(drop)
}

pub fn path_filestat_get(host: &mut Host, guest: &mut Guest<'_>, path: Path, result: u32) -> Answer {
    let (base, text) = path.read(host, guest)?;
    let found = find(&host.files.tree, base, text)?;
    put_facts(guest, result, &host.files.tree.facts(found)?)
}

pub fn path_remove_directory(host: &mut Host, guest: &mut Guest<'_>, path: Path) -> Answer {
    remove(host, guest, path, true)
}

pub fn path_unlink_file(host: &mut Host, guest: &mut Guest<'_>, path: Path) -> Answer {
    remove(host, guest, path, false)
}

fn remove(host: &mut Host, guest: &Guest<'_>, path: Path, is_folder: bool) -> Answer {
    let (base, text) = path.read(host, guest)?;
    let place = place(&host.files.tree, base, text)?;
    if place.says_folder && !is_folder {
        find(&host.files.tree, base, text)?;
    }
    host.files.tree.remove(place.folder, place.name, is_folder)
}

pub fn path_rename(host: &mut Host, guest: &mut Guest<'_>, from: Path, to: Path) -> Answer {
    let (from, from_text) = from.read(host, guest)?;
    let (to, to_text) = to.read(host, guest)?;
    let from = place(&host.files.tree, from, from_text)?;
    let to = place(&host.files.tree, to, to_text)?;
    let id = *host.files.tree.entries(from.folder)?.get(from.name).ok_or(Errno::NOENT)?;
    if (from.says_folder || to.says_folder) && !host.files.tree.facts(id)?.is_folder {
        return Err(Errno::NOTDIR);
    }
    host.files.tree.rename((from.folder, from.name), (to.folder, to.name), host.now())
}

/// Always fails, since there are no links.
pub fn path_readlink(host: &mut Host, guest: &mut Guest<'_>, path: Path) -> Answer {
    let (base, text) = path.read(host, guest)?;
    find(&host.files.tree, base, text)?;
    Err(Errno::INVAL)
}
