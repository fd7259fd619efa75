//! Tests of opening a database: what is created, which files are refused with which message, and that these files stay
//! unchanged.

use mcpkg_base::error::Code;
use mcpkg_store::{Access, Store};

use crate::support::Scratch;

#[track_caller]
fn refused(scratch: &Scratch, bytes: &[u8], code: Code, says: &str) {
    let path = scratch.file("refused.db", bytes);
    let error = Store::open(&path).err().expect("it is refused");
    assert_eq!(error.code(), code, "{error}");
    assert!(error.message().contains(says), "{error}");
    assert!(!error.hints().is_empty(), "{error}");
    assert!(std::fs::read(&path).expect("the file") == bytes, "it was touched");
    for suffix in ["-wal", "-shm"] {
        assert!(!scratch.path().join(format!("refused.db{suffix}")).exists());
    }
}

#[test]
fn a_new_database_is_private_and_in_wal_mode() {
    let scratch = Scratch::new();
    let path = scratch.path().join("deep/er/new.db");
    let store = Store::open(&path).expect("it is made");
    assert_eq!(store.access().expect("it is asked"), Access::Writable);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &std::path::Path| std::fs::metadata(path).expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().expect("a folder")), 0o700);
    }
    let header = std::fs::read(&path).expect("the file");
    assert_eq!(header[18..20], [2, 2], "WAL");
    assert_eq!(header[68..72], *b"mcpk");
    let left: Vec<_> = std::fs::read_dir(path.parent().expect("a folder"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .filter(|name| name.to_string_lossy().contains(".new"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_file_of_another_application_is_refused_and_unchanged() {
    let scratch = Scratch::with_project();
    let good = {
        scratch.ok(&["backup", "copy.db"]);
        std::fs::read(scratch.path().join("copy.db")).expect("a copy")
    };
    refused(&scratch, b"", Code::NotDatabase, "is empty (0 bytes)");
    refused(&scratch, b"hello, this is a text file", Code::NotDatabase, "is not an SQLite database");
    refused(&scratch, &vec![7; 8192], Code::NotDatabase, "is not an SQLite database");
    let mut foreign = good.clone();
    foreign[68..72].copy_from_slice(&[0, 0, 0, 0]);
    refused(&scratch, &foreign, Code::ForeignDatabase, "another application");
    let mut newer = good;
    newer[60..64].copy_from_slice(&99_u32.to_be_bytes());
    refused(&scratch, &newer, Code::NewerDatabase, "has schema 99");
    let folder = Store::open(scratch.path()).err().expect("a folder is refused");
    assert!(folder.message().contains("is a folder"), "{folder}");
}

#[test]
fn a_folder_that_cannot_be_created_is_named() {
    let scratch = Scratch::new();
    let file = scratch.file("a-file", "x");
    let error = Store::open(&file.join("below/x.db")).err().expect("a file is not a folder");
    assert_eq!(error.code(), Code::Unavailable, "{error}");
    assert!(error.message().contains("below"), "{error}");
}

#[test]
fn a_link_to_a_database_is_followed() {
    #[cfg(unix)]
    {
        let scratch = Scratch::with_project();
        if !scratch.is_file() {
            return;
        }
        let link = scratch.path().join("link.db");
        std::os::unix::fs::symlink(scratch.db(), &link).expect("a link");
        let store = Store::open(&link).expect("it opens");
        assert_eq!(store.location().file(), Some(&*scratch.db().canonicalize().expect("the file")));
    }
}
