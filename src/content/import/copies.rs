//! Files that lie in a tree twice, byte for byte: an export writes each of them again.

use super::place::Destination;
use super::scan::File;
use crate::store::links::{Link, Target};

/// Returns the copies among the files that are the `same` as others. `files` are sorted by path.
pub fn among<'f>(
    same: &'f [(String, String)],
    files: &'f [(File, Option<Destination>)],
) -> impl Iterator<Item = Link> + 'f {
    let find = |path: &str| {
        let at = files.binary_search_by(|(file, _)| file.relative.as_str().cmp(path)).ok()?;
        Some(&files[at].0)
    };
    same.iter().filter_map(move |(path, original)| {
        let (copy, file) = (find(path)?, find(original)?);
        let is_copy = path != original && copy.content == file.content && copy.executable == file.executable;
        is_copy.then(|| Link { path: path.clone(), target: Target::Copy(original.clone()) })
    })
}
