//! Caches the listings of folders that several checks read one after the other.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::FileType;
use std::path::Path;
use std::rc::Rc;

use super::folder::Kind;

pub type Listing = Rc<[(OsString, Kind)]>;

/// The listings so far, by the requested path. The keys are texts, because comparing paths part by part is slower.
#[derive(Debug, Default)]
pub struct Listings(RefCell<HashMap<OsString, Option<Listing>>>);

impl Listings {
    /// Returns the entries of a folder, as of the first request for it; `None` if it could not be listed.
    pub fn of(&self, folder: &Path) -> Option<Listing> {
        if let Some(known) = self.known(folder) {
            return known;
        }
        let listing = list(folder);
        self.0.borrow_mut().insert(folder.into(), listing.clone());
        listing
    }

    /// Whether the folder's cached listing lacks this name; false if no listing is cached.
    pub fn lacks(&self, folder: &Path, name: &str) -> bool {
        let listing = self.known(folder).flatten();
        listing.is_some_and(|listing| !listing.iter().any(|(found, _)| found == name))
    }

    fn known(&self, folder: &Path) -> Option<Option<Listing>> {
        self.0.borrow().get(folder.as_os_str()).cloned()
    }
}

fn list(folder: &Path) -> Option<Listing> {
    let kind = |of: FileType| match () {
        () if of.is_file() => Kind::File,
        () if of.is_symlink() => Kind::Link,
        () if of.is_dir() => Kind::Folder,
        () => Kind::Other,
    };
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    Some(entries.filter_map(|entry| Some((entry.file_name(), kind(entry.file_type().ok()?)))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_listed_once() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("a"), "").expect("a file");
        let listings = Listings::default();
        assert!(!listings.lacks(folder.path(), "b"), "it is not known yet");
        let of = |path: &Path| listings.of(path).map(|listing| listing.to_vec());
        let found = Some(vec![(OsString::from("a"), Kind::File)]);
        assert_eq!(of(folder.path()), found);
        std::fs::create_dir(folder.path().join("b")).expect("a folder");
        assert_eq!(of(folder.path()), found);
        assert!(listings.lacks(folder.path(), "b") && !listings.lacks(folder.path(), "a"));
        assert_eq!(of(&folder.path().join("none")), None);
    }
}
