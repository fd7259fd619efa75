//! Tests that a rollback restores a file's attributes, not only its bytes and mode.

use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::XattrFlags;

use super::place::Place;
use crate::support::{is_root, skipped};

const NAME: &str = "user.mcpkg-test";

fn extended(path: &Path) -> Option<Vec<u8>> {
    let mut value = Vec::with_capacity(100);
    rustix::fs::getxattr(path, NAME, rustix::buffer::spare_capacity(&mut value)).ok()?;
    Some(value)
}

/// Writes a hand-written command where the project's command will go. It has a modification time in 2001, and if the
/// disk and the user's rights allow it, an extended attribute and another owner.
fn hand_written(place: &Place) -> std::path::PathBuf {
    let path = place.write("root/.claude/commands/review.md", "Mine\n");
    let file = std::fs::File::options().write(true).open(&path).expect("a file");
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_789)).expect("a time");
    if rustix::fs::setxattr(&path, NAME, b"kept", XattrFlags::empty()).is_err() {
        skipped("the disk takes no extended attributes");
    }
    match is_root() {
        true => chown(&path, Some(1234), Some(5678)).expect("another owner"),
        false => skipped("another owner needs root"),
    }
    path
}

type Besides = ((i64, i64), (u32, u32), Option<Vec<u8>>);

fn besides(path: &Path) -> Besides {
    let metadata = std::fs::metadata(path).expect("a file");
    ((metadata.mtime(), metadata.mtime_nsec()), (metadata.uid(), metadata.gid()), extended(path))
}

#[test]
fn a_rollback_restores_times_owners_and_extended_attributes() {
    let place = Place::with_project();
    let path = hand_written(&place);
    let before = besides(&path);
    let first = place.deploy(&["--adopt"]);
    // The deployed file keeps the owner and the extended attribute, and has a new modification time.
    let ((changed, _), owner, extended) = besides(&path);
    assert!(changed > 1_500_000_000);
    assert_eq!((owner, &extended), (before.1, &before.2));
    place.prompt("review", "Review it twice.\n");
    place.deploy(&[]);
    place.ok(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(std::fs::read_to_string(&path).expect("the file"), "Mine\n");
    assert_eq!(besides(&path), before);
    // A rollback to the state before a later snapshot restores the attributes too.
    let second = place.deploy(&["--adopt"]);
    place.ok(&["rollback", "--to", &format!("{second}^"), "--yes"]);
    assert_eq!(besides(&path), before);
    place.ok(&["rollback", "--to", &first, "--yes"]);
    assert_eq!(std::fs::read_to_string(&path).expect("the file"), "Review the change.\n");
    place.ok(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(besides(&path), before);
}

#[test]
fn a_deleted_file_is_restored_with_its_attributes() {
    let place = Place::with_project();
    let path = hand_written(&place);
    let before = besides(&path);
    place.deploy(&["--adopt"]);
    place.ok(&["prompt", "delete", "review", "--yes"]);
    place.deploy(&[]);
    assert!(!path.exists());
    place.ok(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(besides(&path), before);
}
