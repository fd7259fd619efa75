//! The files that a module sees: all of them are in memory, and none is the user's.
//!
//! `/workspace` is the package and `/input` what the call was given, for reading; `/tmp` and `/output` are empty, and have a
//! size. `.` is the package too, for paths that are relative.

mod collect;
mod descriptor;
mod path;
mod tree;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::limits::{Limits, OUTPUT_BYTES};
use super::super::mount::{OUTPUT, WORKSPACE};

pub use collect::Left;
pub use descriptor::{Descriptor, Open, Table};
pub use path::{find, place};
pub use tree::{Facts, Id, Room, Tree};

/// Where a call's own files are.
const INPUT: &str = "/input";

/// The files of a package or of a call, by their paths.
pub type Given = BTreeMap<String, Arc<[u8]>>;

/// The files of a run, and what is open of them.
pub struct Files {
    pub tree: Tree,
    pub table: Table,
    output: Id,
}

impl Files {
    /// Returns the files of a run of this package with these inputs, whose paths are below `/input`.
    pub fn new(package: &Given, inputs: &Given, limits: &Limits) -> Self {
        let mut tree = Tree::default();
        let workspace = tree.mount(None);
        give(&mut tree, workspace, package);
        let scratch = tree.mount(Some(Room::new(limits.scratch, limits.file_size)));
        let output = tree.mount(Some(Room::new(OUTPUT_BYTES, limits.file_size)));
        let input = tree.mount(None);
        give(&mut tree, input, inputs);
        let given = [(workspace, WORKSPACE), (scratch, "/tmp"), (output, OUTPUT), (input, INPUT), (workspace, ".")];
        let mut table = Table::new(usize::try_from(limits.files).unwrap_or(usize::MAX).max(3 + given.len()));
        for (id, path) in given {
            // There is room for these.
            let _ = table.add(&mut tree, Descriptor::Folder { id, given: Some(path) });
        }
        Self { tree, table, output }
    }
}

fn give(tree: &mut Tree, folder: Id, files: &Given) {
    for (path, bytes) in files {
        tree.give(folder, path, Arc::clone(bytes));
    }
}

#[cfg(test)]
mod tests;
