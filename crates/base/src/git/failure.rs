//! Turns failures of git into errors that quote git's own message.

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitStatus;

use serde_json::{Value, json};

use crate::disk::posix;
use crate::error::{Code, Error, Result};
use crate::process::{Failure, Limits, Output, Printed};
use crate::redact::{redact, redact_at_cut};

/// Returns the error for a git process that could not be started, was lost, or was stopped.
pub(super) fn ended<A: AsRef<OsStr>>(folder: &Path, args: &[A], limits: &Limits<'_>, failure: Failure) -> Error {
    match failure {
        Failure::NotStarted(error) => not_started(folder, args, error),
        Failure::Lost(error) => {
            Error::new(Code::GitFailed, format!("Cannot communicate with git: {error}")).with_source(error)
        }
        Failure::TimedOut => {
            let seconds = limits.time.as_secs();
            let what = subcommand(args);
            Error::new(
                Code::GitFailed,
                format!("git {what}: it did not finish within {seconds} seconds and was stopped"),
            )
            .with_details(about(folder, args))
            .hint("run the same git command by hand: git or ssh may be waiting for input, which mcpkg cannot give")
        }
        Failure::Cancelled => {
            Error::new(Code::Cancelled, format!("git {} was stopped: the call was cancelled", subcommand(args)))
        }
    }
}

/// Returns the whole output of git. Fails if the output is larger than the part that was captured.
pub(super) fn printed<A: AsRef<OsStr>>(args: &[A], output: Output) -> Result<Vec<u8>> {
    output.stdout.whole().ok_or_else(|| {
        Error::new(Code::GitFailed, format!("git {}: its output is larger than mcpkg can read", subcommand(args)))
    })
}

pub(super) fn not_started<A: AsRef<OsStr>>(folder: &Path, args: &[A], error: std::io::Error) -> Error {
    if error.kind() == std::io::ErrorKind::NotFound && folder.is_dir() {
        return Error::new(Code::GitNotFound, "git is required, but is not on the PATH")
            .with_details(with(about(folder, args), json!({ "hint": "install git" })))
            .hint("install git");
    }
    Error::file("run git in", folder, error)
}

pub(super) fn failed<A: AsRef<OsStr>>(folder: &Path, args: &[A], status: &ExitStatus, stderr: &Printed) -> Error {
    let said = stderr.text_by(|text| redact(&text), redact_at_cut);
    let said = said.trim();
    let gist = gist(said);
    let more = json!({ "status": status.code(), "stderr": said });
    let error = Error::new(Code::GitFailed, format!("git {}: {gist}", subcommand(args)))
        .with_details(with(about(folder, args), more));
    match is_of_disk(said) {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// Returns the line that names the reason: git's own line, or the one before it if git only says that another program
/// failed.
fn gist(said: &str) -> &str {
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let own = lines.iter().position(|line| line.starts_with("fatal: ") || line.starts_with("error: "));
    let at = match own {
        Some(at) if at > 0 && lines[at] == "fatal: Could not read from remote repository." => Some(at - 1),
        own => own.or(lines.len().checked_sub(1)),
    };
    at.map_or("git gave no reason", |at| lines[at])
}

/// Returns a hint if the disk may be the cause: it is full, or git may not write there. Often git does not say which.
fn is_of_disk(said: &str) -> Option<&'static str> {
    const ROOM: &str = "free some space on the disk, and try again";
    const EITHER: &str = "check whether the disk is full or read-only, and try again";
    const WORDS: [(&str, &str); 9] = [
        ("No space left on device", ROOM),
        ("Out of diskspace", ROOM),
        ("Disk quota exceeded", ROOM),
        ("Read-only file system", "the disk is mounted read-only: make the disk writable, and try again"),
        ("Permission denied", "make the repository and its files writable for this user, and try again"),
        ("unable to write", EITHER),
        ("couldn't write", EITHER),
        ("unable to create directory", EITHER),
        ("unable to append", EITHER),
    ];
    WORDS.iter().find(|(words, _)| said.contains(words)).map(|(_, hint)| *hint)
}

/// Whether git failed because another git process holds a lock.
pub(super) fn is_locked(stderr: &Printed) -> bool {
    let said = stderr.text();
    // The last message is about refs in the reftable format.
    [".lock': File exists", "is locked by another process", "cannot lock references"]
        .iter()
        .any(|words| said.contains(words))
}

/// Returns the error for a lock that another git process holds.
pub(super) fn locked<A: AsRef<OsStr>>(folder: &Path, args: &[A], status: &ExitStatus, stderr: &Printed) -> Error {
    let failed = failed(folder, args, status, stderr);
    let message = format!("Another git process is working in `{}`", folder.display());
    let error = Error::new(Code::GitLocked, message).with_details(failed.details().cloned().unwrap_or_default());
    let file = stderr.text();
    let file = file.split('\'').find(|part| part.ends_with(".lock")).map(redact);
    error.hint(match file {
        Some(file) => format!("wait until that process has ended; if no git is running, delete `{file}`"),
        None => "wait until that process has ended".to_owned(),
    })
}

/// Returns the folder and arguments of a git command, for an error's details.
pub(super) fn about<A: AsRef<OsStr>>(folder: &Path, args: &[A]) -> Value {
    json!({ "cwd": folder.display().to_string(), "cwd_posix": posix(folder), "args": listed(args) })
}

pub(super) fn with(mut details: Value, more: Value) -> Value {
    if let (Value::Object(details), Value::Object(more)) = (&mut details, more) {
        details.extend(more);
    }
    details
}

/// Returns the words of a command line from the subcommand on, without the global options before it.
pub(super) fn words<A: AsRef<OsStr>>(args: &[A]) -> impl Iterator<Item = String> {
    let all = listed(args);
    let mut at = 0;
    while all.get(at).is_some_and(|word| word.starts_with('-')) {
        at += if all[at] == "-c" { 2 } else { 1 };
    }
    all.into_iter().skip(at)
}

pub(super) fn subcommand<A: AsRef<OsStr>>(args: &[A]) -> String {
    words(args).next().unwrap_or_default()
}

pub(super) fn listed<A: AsRef<OsStr>>(args: &[A]) -> Vec<String> {
    args.iter().map(|arg| redact(&arg.as_ref().to_string_lossy())).collect()
}

pub(super) fn shown<A: AsRef<OsStr>>(args: &[A]) -> String {
    listed(args).join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sshs_message_is_the_reason_if_git_gives_none() {
        let ssh = "ssh: Could not resolve hostname nohost.invalid: Name or service not known";
        let fatal = "fatal: Could not read from remote repository.";
        let more = "Please make sure you have the correct access rights\nand the repository exists.";
        assert_eq!(gist(&format!("{ssh}\n{fatal}\n\n{more}")), ssh);
        assert_eq!(gist(&format!("{fatal}\n\n{more}")), fatal);
        assert_eq!(gist("warning: odd\nfatal: not a repository\nmore"), "fatal: not a repository");
        assert_eq!(gist("first\nlast\n"), "last");
        assert_eq!(gist(""), "git gave no reason");
    }
}
