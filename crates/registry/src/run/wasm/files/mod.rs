//! The files that a module sees. All of them are in memory.
//!
//! `/workspace` is the package and `/input` has the input files of the call; both are read-only. `/tmp` and
//! `/output` are empty at first, and limited in size. Relative paths start at the package.

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

/// The path of the input files.
const INPUT: &str = "/input";

/// The files of a package or of a call, by path.
pub type FileMap = BTreeMap<String, Arc<[u8]>>;

/// The files of a run, and the open descriptors.
pub struct Files {
    pub tree: Tree,
    pub table: Table,
    output: Id,
}

impl Files {
    /// Returns the files for a run of this package; the paths of `inputs` are relative to `/input`.
    pub fn new(package: &FileMap, inputs: &FileMap, limits: &Limits) -> Self {
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
            // This cannot fail: the table has room for these few folders.
            let _ = table.add(&mut tree, Descriptor::Folder { id, given: Some(path) });
        }
        Self { tree, table, output }
    }
}

fn give(tree: &mut Tree, folder: Id, files: &FileMap) {
    for (path, bytes) in files {
        tree.give(folder, path, Arc::clone(bytes));
    }
}

#[cfg(test)]
mod tests;
