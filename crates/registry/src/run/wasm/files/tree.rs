//! File systems in memory. Some of them are writable.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::super::errno::{Answer, Errno};

/// The maximum number of files and folders of a writable file system.
const MAX_NODES: usize = 4096;

/// The id of a file or folder; ids are never reused.
pub type Id = u64;

#[derive(Default)]
pub struct Tree {
    nodes: HashMap<Id, Node>,
    systems: Vec<Option<Room>>,
    next: Id,
}

struct Node {
    kind: Kind,
    /// The id of the parent folder. For a root, and for a node that was removed from its folder, this is the node's own
    /// id.
    parent: Id,
    system: usize,
    /// Whether a folder contains the node; always true for a root.
    is_linked: bool,
    /// How many descriptors have the node open.
    open: u32,
    /// The time of the last change, in nanoseconds since the Unix epoch.
    changed: u64,
}

enum Kind {
    Folder(BTreeMap<String, Id>),
    /// A read-only file.
    Given(Arc<[u8]>),
    Written(Vec<u8>),
}

/// The remaining space of a writable file system.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// The bytes that are left for all files together.
    pub bytes: u64,
    /// The maximum size of one file in bytes.
    pub file: u64,
    nodes: usize,
}

impl Room {
    /// Returns room for `bytes` bytes of files in total, and at most `file` bytes per file.
    pub fn new(bytes: u64, file: u64) -> Self {
        Self { bytes, file, nodes: MAX_NODES }
    }
}

/// The metadata of a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    pub id: Id,
    pub system: usize,
    pub is_folder: bool,
    pub size: u64,
    pub changed: u64,
}

impl Tree {
    /// Adds a file system and returns its root; without `room` it is read-only.
    pub fn mount(&mut self, room: Option<Room>) -> Id {
        let system = self.systems.len();
        self.systems.push(room);
        self.add(Kind::Folder(BTreeMap::new()), None, system, 0)
    }

    /// Adds a read-only file below a folder, and creates the folders of its path. Existing files are kept.
    pub fn give(&mut self, folder: Id, path: &str, bytes: Arc<[u8]>) {
        let mut folder = folder;
        let mut parts = path.split('/').filter(|part| !part.is_empty()).peekable();
        while let Some(part) = parts.next() {
            let found = self.entries(folder).ok().and_then(|entries| entries.get(part).copied());
            let kind = match parts.peek() {
                Some(_) => Kind::Folder(BTreeMap::new()),
                None => Kind::Given(Arc::clone(&bytes)),
            };
            folder = match found {
                Some(found) => found,
                None => self.link(folder, part, kind, 0),
            };
        }
    }

    fn add(&mut self, kind: Kind, parent: Option<Id>, system: usize, changed: u64) -> Id {
        let id = self.next;
        self.next += 1;
        let is_linked = true;
        self.nodes.insert(id, Node { kind, parent: parent.unwrap_or(id), system, is_linked, open: 0, changed });
        id
    }

    fn link(&mut self, folder: Id, name: &str, kind: Kind, now: u64) -> Id {
        let system = self.nodes.get(&folder).map_or(0, |folder| folder.system);
        let id = self.add(kind, Some(folder), system, now);
        if let Some(Node { kind: Kind::Folder(entries), .. }) = self.nodes.get_mut(&folder) {
            entries.insert(name.to_owned(), id);
        }
        id
    }

    fn node(&self, id: Id) -> Answer<&Node> {
        self.nodes.get(&id).ok_or(Errno::BADF)
    }

    /// Returns the entries of a folder by name.
    pub fn entries(&self, folder: Id) -> Answer<&BTreeMap<String, Id>> {
        match &self.node(folder)?.kind {
            Kind::Folder(entries) => Ok(entries),
            Kind::Given(_) | Kind::Written(_) => Err(Errno::NOTDIR),
        }
    }

    /// Returns the folder that contains a file or folder; a root contains itself.
    pub fn parent(&self, id: Id) -> Answer<Id> {
        self.node(id).map(|node| node.parent)
    }

    pub fn facts(&self, id: Id) -> Answer<Facts> {
        let node = self.node(id)?;
        let (is_folder, size) = match &node.kind {
            Kind::Folder(_) => (true, 0),
            Kind::Given(bytes) => (false, bytes.len() as u64),
            Kind::Written(bytes) => (false, bytes.len() as u64),
        };
        Ok(Facts { id, system: node.system, is_folder, size, changed: node.changed })
    }

    pub fn bytes(&self, id: Id) -> Answer<&[u8]> {
        match &self.node(id)?.kind {
            Kind::Given(bytes) => Ok(bytes),
            Kind::Written(bytes) => Ok(bytes),
            Kind::Folder(_) => Err(Errno::ISDIR),
        }
    }

    fn room(&mut self, system: usize) -> Answer<&mut Room> {
        self.systems.get_mut(system).and_then(Option::as_mut).ok_or(Errno::ROFS)
    }

    /// Returns whether the file system of a file or folder is writable.
    pub fn is_writable(&self, id: Id) -> bool {
        self.node(id).is_ok_and(|node| matches!(self.systems.get(node.system), Some(Some(_))))
    }

    /// Creates an empty file or a folder; the name must not exist yet.
    pub fn make(&mut self, folder: Id, name: &str, is_folder: bool, now: u64) -> Answer<Id> {
        if self.entries(folder)?.contains_key(name) {
            return Err(Errno::EXIST);
        }
        let Node { system, is_linked, .. } = *self.node(folder)?;
        let room = self.room(system)?;
        if !is_linked {
            return Err(Errno::NOENT);
        }
        room.nodes = room.nodes.checked_sub(1).ok_or(Errno::NOSPC)?;
        let kind = if is_folder { Kind::Folder(BTreeMap::new()) } else { Kind::Written(Vec::new()) };
        Ok(self.link(folder, name, kind, now))
    }

    /// Writes at an offset, and returns how many bytes fit. A gap before the offset is filled with zeros.
    pub fn write(&mut self, id: Id, at: u64, bytes: &[u8], now: u64) -> Answer<usize> {
        let size = self.facts(id)?.size;
        let system = self.node(id)?.system;
        let room = *self.room(system)?;
        if at >= room.file && !bytes.is_empty() {
            return Err(Errno::FBIG);
        }
        // The file may grow by the remaining space, up to the maximum size of a file.
        let end = at.saturating_add(bytes.len() as u64).min(room.file).min(size.saturating_add(room.bytes));
        let length = usize::try_from(end.saturating_sub(at)).unwrap_or(0).min(bytes.len());
        if length == 0 && !bytes.is_empty() {
            return Err(Errno::NOSPC);
        }
        if length == 0 {
            return Ok(0);
        }
        if end > size {
            self.resize(id, end, now)?;
        }
        let node = self.nodes.get_mut(&id).ok_or(Errno::BADF)?;
        let Kind::Written(content) = &mut node.kind else { return Err(Errno::ISDIR) };
        let begin = usize::try_from(at).map_err(|_| Errno::FBIG)?;
        let place = content.get_mut(begin..begin + length).ok_or(Errno::IO)?;
        place.copy_from_slice(&bytes[..length]);
        node.changed = now;
        Ok(length)
    }

    /// Extends a file with zeros, or shortens it.
    pub fn resize(&mut self, id: Id, size: u64, now: u64) -> Answer {
        let was = self.facts(id)?;
        let room = self.room(was.system)?;
        if was.is_folder {
            return Err(Errno::ISDIR);
        }
        if size > room.file {
            return Err(Errno::FBIG);
        }
        let left = (room.bytes + was.size).checked_sub(size).ok_or(Errno::NOSPC)?;
        let node = self.nodes.get_mut(&id).ok_or(Errno::BADF)?;
        let Kind::Written(content) = &mut node.kind else { return Err(Errno::ROFS) };
        let size = usize::try_from(size).map_err(|_| Errno::FBIG)?;
        content.try_reserve(size.saturating_sub(content.len())).map_err(|_| Errno::NOSPC)?;
        content.resize(size, 0);
        node.changed = now;
        self.room(was.system)?.bytes = left;
        Ok(())
    }

    /// Removes a file or an empty folder. An open file is freed only after it is closed.
    pub fn remove(&mut self, folder: Id, name: &str, is_folder: bool) -> Answer {
        let id = *self.entries(folder)?.get(name).ok_or(Errno::NOENT)?;
        let facts = self.facts(id)?;
        self.room(facts.system)?;
        match (is_folder, facts.is_folder) {
            (true, false) => return Err(Errno::NOTDIR),
            (false, true) => return Err(Errno::ISDIR),
            (true, true) if !self.entries(id)?.is_empty() => return Err(Errno::NOTEMPTY),
            _ => {}
        }
        self.unlink(folder, name);
        Ok(())
    }

    fn unlink(&mut self, folder: Id, name: &str) {
        let Some(Node { kind: Kind::Folder(entries), .. }) = self.nodes.get_mut(&folder) else { return };
        let Some(id) = entries.remove(name) else { return };
        if let Some(node) = self.nodes.get_mut(&id) {
            node.is_linked = false;
            node.parent = id;
        }
        self.free(id);
    }

    /// Frees the space of a file or folder that is neither in a folder nor open.
    fn free(&mut self, id: Id) {
        let Some(node) = self.nodes.get(&id).filter(|node| !node.is_linked && node.open == 0) else { return };
        let (system, size) = (node.system, if let Kind::Written(bytes) = &node.kind { bytes.len() as u64 } else { 0 });
        self.nodes.remove(&id);
        if let Ok(room) = self.room(system) {
            room.bytes += size;
            room.nodes += 1;
        }
    }

    /// Moves a file or folder. An existing file or empty folder at the target is replaced.
    pub fn rename(&mut self, from: (Id, &str), to: (Id, &str), now: u64) -> Answer {
        let id = *self.entries(from.0)?.get(from.1).ok_or(Errno::NOENT)?;
        let facts = self.facts(id)?;
        self.room(facts.system)?;
        let target = self.node(to.0)?;
        if target.system != facts.system {
            return Err(Errno::XDEV);
        }
        if !target.is_linked {
            return Err(Errno::NOENT);
        }
        if from == to {
            return Ok(());
        }
        // A folder must not be moved into itself.
        let mut above = to.0;
        loop {
            if above == id {
                return Err(Errno::INVAL);
            }
            match self.parent(above)? {
                parent if parent == above => break,
                parent => above = parent,
            }
        }
        if self.entries(to.0)?.contains_key(to.1) {
            self.remove(to.0, to.1, facts.is_folder)?;
        }
        if let Some(Node { kind: Kind::Folder(entries), .. }) = self.nodes.get_mut(&from.0) {
            entries.remove(from.1);
        }
        if let Some(Node { kind: Kind::Folder(entries), .. }) = self.nodes.get_mut(&to.0) {
            entries.insert(to.1.to_owned(), id);
        }
        if let Some(node) = self.nodes.get_mut(&id) {
            node.parent = to.0;
            node.changed = now;
        }
        Ok(())
    }

    /// Counts an additional open descriptor.
    pub fn opened(&mut self, id: Id) {
        if let Some(node) = self.nodes.get_mut(&id) {
            node.open += 1;
        }
    }

    /// Counts a closed descriptor.
    pub fn closed(&mut self, id: Id) {
        if let Some(node) = self.nodes.get_mut(&id) {
            node.open = node.open.saturating_sub(1);
        }
        self.free(id);
    }
}
