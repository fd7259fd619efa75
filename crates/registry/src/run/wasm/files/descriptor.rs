//! Descriptors: the numbers by which a module refers to its open files and folders.

use std::collections::BTreeMap;

use super::super::errno::{Answer, Errno};
use super::tree::{Id, Tree};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Descriptor {
    /// Standard input, which is empty.
    Input,
    Output,
    Errors,
    Folder {
        id: Id,
        /// The path of a folder that was open from the start; `None` if the module opened it itself.
        given: Option<&'static str>,
    },
    File(Open),
}

/// An open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    pub id: Id,
    /// The position of the next read or write.
    pub at: u64,
    pub reads: bool,
    pub writes: bool,
    /// Whether writes go to the end of the file.
    pub appends: bool,
}

pub struct Table {
    open: BTreeMap<u32, Descriptor>,
    most: usize,
}

impl Table {
    /// Returns a table with the three standard descriptors; `most` is the maximum number of descriptors.
    pub fn new(most: usize) -> Self {
        let standard = [Descriptor::Input, Descriptor::Output, Descriptor::Errors];
        Self { open: (0..).zip(standard).collect(), most }
    }

    pub fn get(&self, number: u32) -> Answer<&Descriptor> {
        self.open.get(&number).ok_or(Errno::BADF)
    }

    pub fn folder(&self, number: u32) -> Answer<Id> {
        match self.get(number)? {
            Descriptor::Folder { id, .. } => Ok(*id),
            _ => Err(Errno::NOTDIR),
        }
    }

    pub fn file(&mut self, number: u32) -> Answer<&mut Open> {
        match self.open.get_mut(&number).ok_or(Errno::BADF)? {
            Descriptor::File(open) => Ok(open),
            Descriptor::Folder { .. } => Err(Errno::ISDIR),
            Descriptor::Input | Descriptor::Output | Descriptor::Errors => Err(Errno::SPIPE),
        }
    }

    /// Assigns the lowest free number.
    pub fn add(&mut self, tree: &mut Tree, descriptor: Descriptor) -> Answer<u32> {
        if self.open.len() >= self.most {
            return Err(Errno::MFILE);
        }
        let free = (0..).find(|number| !self.open.contains_key(number)).ok_or(Errno::MFILE)?;
        if let Some(id) = descriptor.id() {
            tree.opened(id);
        }
        self.open.insert(free, descriptor);
        Ok(free)
    }

    pub fn close(&mut self, tree: &mut Tree, number: u32) -> Answer {
        let closed = self.open.remove(&number).ok_or(Errno::BADF)?;
        if let Some(id) = closed.id() {
            tree.closed(id);
        }
        Ok(())
    }

    /// Moves the descriptor `from` to the number `to`, and closes the descriptor that had the number `to`.
    pub fn renumber(&mut self, tree: &mut Tree, from: u32, to: u32) -> Answer {
        self.get(from)?;
        self.get(to)?;
        if from == to {
            return Ok(());
        }
        self.close(tree, to)?;
        let moved = self.open.remove(&from).ok_or(Errno::BADF)?;
        self.open.insert(to, moved);
        Ok(())
    }
}

impl Descriptor {
    /// Returns the id of the open file or folder.
    pub fn id(&self) -> Option<Id> {
        match self {
            Self::Folder { id, .. } => Some(*id),
            Self::File(open) => Some(open.id),
            Self::Input | Self::Output | Self::Errors => None,
        }
    }
}
