//! Collects the files that a module wrote to `/output`.

use super::super::super::limits::{OUTPUT_BYTES, OUTPUT_FILES};
use super::Files;

/// The maximum number of files that are listed as left out.
const MOST_LEFT_OUT: usize = 64;

/// The files in `/output`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// The files that are returned, with their contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// Paths of files that are left out because of the limits on their number and size.
    pub left_out: Vec<String>,
}

impl Files {
    /// Returns the files of `/output`, sorted by path. For files beyond the limits, returns the first `MOST_LEFT_OUT`
    /// paths.
    pub fn collect(&self) -> Left {
        let mut left = Left::default();
        let mut bytes_left = OUTPUT_BYTES;
        let mut folders = vec![(String::new(), self.output)];
        let mut found = Vec::new();
        while let Some((path, folder)) = folders.pop() {
            for (name, id) in self.tree.entries(folder).into_iter().flatten() {
                let path = format!("{path}{name}");
                match self.tree.bytes(*id) {
                    Ok(bytes) => found.push((path, bytes)),
                    Err(_) => folders.push((format!("{path}/"), *id)),
                }
            }
        }
        found.sort_unstable();
        for (path, bytes) in found {
            let size = bytes.len() as u64;
            if left.files.len() < OUTPUT_FILES && size <= bytes_left {
                bytes_left -= size;
                left.files.push((path, bytes.to_vec()));
            } else if left.left_out.len() < MOST_LEFT_OUT {
                left.left_out.push(path);
            }
        }
        left
    }
}
