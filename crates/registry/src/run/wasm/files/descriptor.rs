//! Descriptors: the numbers by which a module names what it has open.

use std::collections::BTreeMap;

use super::super::errno::{Answer, Errno};
use super::tree::{Id, Tree};

/// What a descriptor refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Descriptor {
    /// Standard input, which is empty.
    Input,
    Output,
    Errors,
    Folder {
        id: Id,
        /// The path that a module was given it under, where it did not open it.
        given: Option<&'static str>,
    },
    File(Open),
}

/// A file that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    pub id: Id,
    /// Where the next byte is read or written.
    pub at: u64,
    /// Whether it was opened for reading.
    pub reads: bool,
    /// Whether it was opened for writing.
    pub writes: bool,
    /// Whether what is written goes to its end.
    pub appends: bool,
}

/// The descriptors of a module.
pub struct Table {
    open: BTreeMap<u32, Descriptor>,
    most: usize,
}

impl Table {
    /// Returns the three standard ones; `most` is how many there may be.
    pub fn new(most: usize) -> Self {
        let standard = [Descriptor::Input, Descriptor::Output, Descriptor::Errors];
        Self { open: (0..).zip(standard).collect(), most }
    }

    /// Returns what a number refers to.
    pub fn get(&self, number: u32) -> Answer<&Descriptor> {
        self.open.get(&number).ok_or(Errno::BADF)
    }

    /// Returns the folder of a number.
    pub fn folder(&self, number: u32) -> Answer<Id> {
        match self.get(number)? {
            Descriptor::Folder { id, .. } => Ok(*id),
            _ => Err(Errno::NOTDIR),
        }
    }

    /// Returns the file of a number.
    pub fn file(&mut self, number: u32) -> Answer<&mut Open> {
        match self.open.get_mut(&number).ok_or(Errno::BADF)? {
            Descriptor::File(open) => Ok(open),
            Descriptor::Folder { .. } => Err(Errno::ISDIR),
            Descriptor::Input | Descriptor::Output | Descriptor::Errors => Err(Errno::SPIPE),
        }
    }

    /// Gives a file or folder the lowest number that is free.
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

    /// Takes a number back.
    pub fn close(&mut self, tree: &mut Tree, number: u32) -> Answer {
        let closed = self.open.remove(&number).ok_or(Errno::BADF)?;
        if let Some(id) = closed.id() {
            tree.closed(id);
        }
        Ok(())
    }

    /// Moves what one number refers to to another number, replacing what that one referred to.
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
    /// Returns the file or folder that it refers to.
    pub fn id(&self) -> Option<Id> {
        match self {
            Self::Folder { id, .. } => Some(*id),
            Self::File(open) => Some(open.id),
            Self::Input | Self::Output | Self::Errors => None,
        }
    }
}
