//! Tests git commands in temporary folders.

use tokio_util::sync::CancellationToken;

use super::super::*;
use crate::error::Code;
use crate::process::Limits;
use std::path::Path;
use std::time::Duration;

fn within<T>(time: Duration, f: impl FnOnce(&Limits<'_>) -> T) -> T {
    f(&Limits::new(time, &CancellationToken::new()))
}

#[test]
fn errors_contain_gits_message() {
    let folder = tempfile::tempdir().unwrap();
    let run = |folder: &Path, args: &[&str]| within(LOCAL, |limits| run(folder, args, limits));
    let error = run(folder.path(), &["ls-remote", "--", "https://u:secret@h.invalid:1/x y"]).unwrap_err();
    assert_eq!(error.code(), Code::GitFailed);
    assert!(error.message().starts_with("git ls-remote: fatal: "), "{error}");
    let details = error.details().unwrap();
    assert!(details["stderr"].is_string() && !details.to_string().contains("secret"), "{details}");
    assert!(!error.message().contains("secret"));
    assert_eq!(run(folder.path(), &["hash-object", "--stdin"]).unwrap().len(), 41);
    let asked = within(LOCAL, |limits| ask(folder.path(), &["config", "--local-that-is-none"], limits));
    assert_eq!(asked.unwrap_err().code(), Code::GitFailed);
    assert_eq!(run(&folder.path().join("none"), &["status"]).unwrap_err().code(), Code::NotFound);
}

#[test]
fn git_ends_at_its_limits() {
    let folder = tempfile::tempdir().unwrap();
    let hang = ["-c", "alias.hang=!sleep 1000", "hang"];
    let error = within(Duration::from_millis(50), |limits| run(folder.path(), &hang, limits)).unwrap_err();
    assert_eq!(error.code(), Code::GitFailed);
    assert!(error.message().starts_with("git hang: it did not finish within 0 seconds"), "{error}");
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let error = run(folder.path(), &hang, &Limits::new(LOCAL, &cancelled)).unwrap_err();
    assert_eq!(error.code(), Code::Cancelled);
}
