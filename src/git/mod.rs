//! git: the one place that runs it. It never asks, never runs hooks, and never takes an argument for an option.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::error::{Code, Error, Result};
use crate::file;
use crate::process::{Environment, Failure, Limits, Output, Printed, Program, Tell};
use crate::redact::redact;

/// What would make git work on something else than the folder it is run in, as it is set inside a hook.
const MISLEADING: [&str; 6] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY"];

/// How long a git may run that asks no other host.
pub const LOCAL: Duration = Duration::from_secs(60);

/// Said to every git: no hooks, no monitor, no helper of a foreign transport, no signing, no upkeep that runs on.
const QUIET: [&str; 12] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "protocol.ext.allow=never",
    "-c",
    "commit.gpgsign=false",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
];

/// Runs git in `folder` and returns what it printed. The caller puts `--` before what users wrote.
///
/// # Errors
/// `E_GIT_NOT_FOUND`; `E_GIT_FAILED` with git's own words, cwd, args, status and stderr, or where it did not end in time;
/// `E_CANCELLED`.
pub fn run<A: AsRef<OsStr>>(folder: &Path, args: &[A], limits: &Limits<'_>) -> Result<Vec<u8>> {
    feed(folder, args, &[], limits)
}

/// Runs git in `folder` with `input` on its standard input, and returns what it printed.
///
/// # Errors
/// As [`run`].
pub fn feed<A: AsRef<OsStr>>(folder: &Path, args: &[A], input: &[u8], limits: &Limits<'_>) -> Result<Vec<u8>> {
    let output = spawn(folder, args, input, limits)?;
    if output.status.success() {
        printed(args, output)
    } else {
        Err(failed(folder, args, &output.status, &output.stderr))
    }
}

/// Runs git in `folder`, and returns what it printed, or `None` where it ended with status 1: its way to say no.
///
/// # Errors
/// As [`run`].
pub fn ask<A: AsRef<OsStr>>(folder: &Path, args: &[A], limits: &Limits<'_>) -> Result<Option<Vec<u8>>> {
    let output = spawn(folder, args, &[], limits)?;
    match output.status.code() {
        Some(0) => printed(args, output).map(Some),
        Some(1) => Ok(None),
        _ => Err(failed(folder, args, &output.status, &output.stderr)),
    }
}

/// Returns the top of the git work tree that `folder` is in, without links.
pub fn toplevel(folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    folder.ancestors().find(|top| self::folder(top).is_some()).map(Path::to_path_buf)
}

/// Returns the folder where git keeps what all work trees of the repository share.
pub fn folder(toplevel: &Path) -> Option<PathBuf> {
    let git = toplevel.join(".git");
    let own = if git.is_dir() {
        git
    } else {
        let said = file::read_text(&git, file::TEXT).ok()?;
        toplevel.join(said.strip_prefix("gitdir:")?.trim())
    };
    if !own.join("HEAD").exists() {
        return None;
    }
    match file::read_text(&own.join("commondir"), file::TEXT) {
        Ok(common) => Some(own.join(common.trim())),
        Err(_) => Some(own),
    }
}

/// Runs git in `folder`, and hands `tell` what it prints to its standard error when it comes.
///
/// # Errors
/// As [`run`].
pub fn watch<A: AsRef<OsStr>>(folder: &Path, args: &[A], tell: Tell, limits: &Limits<'_>) -> Result<Vec<u8>> {
    let output =
        program(folder, args).tell(tell).run(&[], limits).map_err(|failure| ended(folder, args, limits, failure))?;
    if output.status.success() {
        printed(args, output)
    } else {
        Err(failed(folder, args, &output.status, &output.stderr))
    }
}

/// Runs git in `folder` with `input` on its standard input, and lets `f` read what it prints while it runs: for output of
/// any size. `f` runs on a thread of its own, and reads to the end.
///
/// # Errors
/// As [`run`], and what `f` returns.
pub fn stream<A: AsRef<OsStr>, T: Send>(
    folder: &Path,
    args: &[A],
    input: Vec<u8>,
    limits: &Limits<'_>,
    f: impl FnOnce(&mut dyn Read) -> Result<T> + Send,
) -> Result<T> {
    let mut running = program(folder, args).start().map_err(|failure| ended(folder, args, limits, failure))?;
    let (stdin, stdout) = (running.stdin(), running.stdout());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // A git that ends early says why itself.
            let _ = stdin.map(|mut stdin| std::io::Write::write_all(&mut stdin, &input));
        });
        let reading = scope.spawn(move || match stdout {
            Some(mut stdout) => f(&mut stdout),
            None => Err(Error::internal("git has no standard output")),
        });
        let until = Instant::now().checked_add(limits.time).unwrap_or_else(Instant::now);
        let status = match running.wait(until, limits.cancelled) {
            Ok(Some(status)) => Ok(status),
            Ok(None) => Err(Failure::TimedOut),
            Err(failure) => Err(failure),
        };
        let stderr = match status {
            Ok(_) => running.stderr(),
            Err(_) => {
                // Its pipes close, so that the threads end.
                running.end(limits.grace);
                running.stderr()
            }
        };
        let read = reading.join().map_err(|_| Error::internal("what reads git's output panicked"))?;
        match status {
            Err(failure) => Err(ended(folder, args, limits, failure)),
            Ok(status) if status.success() => read,
            // A reader that gave up closed the pipe on git.
            Ok(status) => Err(read.err().unwrap_or_else(|| failed(folder, args, &status, &stderr))),
        }
    })
}

fn program<A: AsRef<OsStr>>(folder: &Path, args: &[A]) -> Program {
    let mut git = Program::new("git").args(QUIET).args(args).folder(folder).environment(Environment::Inherited);
    git = git.variable("GIT_TERMINAL_PROMPT", "0").variable("GIT_OPTIONAL_LOCKS", "0").variable("LC_ALL", "C");
    // ssh in a group of its own would be stopped where it asks a terminal.
    git = git.variable("SSH_ASKPASS_REQUIRE", "force");
    for variable in MISLEADING {
        git = git.without(variable);
    }
    tracing::debug!(folder = %folder.display(), args = %shown(args), "git");
    // The credential cache and ssh's shared connection outlive the git that began them.
    git.leaves_children()
}

fn spawn<A: AsRef<OsStr>>(folder: &Path, args: &[A], input: &[u8], limits: &Limits<'_>) -> Result<Output> {
    program(folder, args).run(input, limits).map_err(|failure| ended(folder, args, limits, failure))
}

/// Returns why git gave no output.
fn ended<A: AsRef<OsStr>>(folder: &Path, args: &[A], limits: &Limits<'_>, failure: Failure) -> Error {
    match failure {
        Failure::NotStarted(error) => not_started(folder, args, error),
        Failure::Lost(error) => Error::new(Code::GitFailed, format!("Cannot talk to git: {error}")).with_source(error),
        Failure::TimedOut => {
            let seconds = limits.time.as_secs();
            let what = subcommand(args);
            Error::new(
                Code::GitFailed,
                format!("git {what}: it had not ended after {seconds} seconds, and was stopped"),
            )
            .with_details(about(folder, args))
            .hint("mcpkg answers no question of git's or ssh's; try the same git command by hand")
        }
        Failure::Cancelled => {
            Error::new(Code::Cancelled, format!("git {} was stopped: the call was cancelled", subcommand(args)))
        }
    }
}

/// Returns what git printed, all of it.
fn printed<A: AsRef<OsStr>>(args: &[A], output: Output) -> Result<Vec<u8>> {
    output.stdout.whole().ok_or_else(|| {
        Error::new(Code::GitFailed, format!("git {}: it printed more than mcpkg reads", subcommand(args)))
    })
}

fn not_started<A: AsRef<OsStr>>(folder: &Path, args: &[A], error: std::io::Error) -> Error {
    if error.kind() == std::io::ErrorKind::NotFound && folder.is_dir() {
        return Error::new(Code::GitNotFound, "git is needed, and no program of this name is on the PATH")
            .with_details(with(about(folder, args), json!({ "hint": "install git" })))
            .hint("install git");
    }
    Error::file("run git in", folder, error)
}

fn failed<A: AsRef<OsStr>>(folder: &Path, args: &[A], status: &ExitStatus, stderr: &Printed) -> Error {
    let said = redact(stderr.text().trim());
    let gist = said.lines().find(|line| line.starts_with("fatal: ") || line.starts_with("error: "));
    let gist = gist.or_else(|| said.lines().last()).unwrap_or("it gave no reason");
    let more = json!({ "status": status.code(), "stderr": said });
    Error::new(Code::GitFailed, format!("git {}: {gist}", subcommand(args)))
        .with_details(with(about(folder, args), more))
}

/// Which git was run where, for an error's details.
fn about<A: AsRef<OsStr>>(folder: &Path, args: &[A]) -> Value {
    json!({ "cwd": folder.display().to_string(), "cwd_posix": posix(folder), "args": listed(args) })
}

fn with(mut details: Value, more: Value) -> Value {
    if let (Value::Object(details), Value::Object(more)) = (&mut details, more) {
        details.extend(more);
    }
    details
}

/// The word after what is said to every subcommand.
fn subcommand<A: AsRef<OsStr>>(args: &[A]) -> String {
    let mut words = listed(args).into_iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-c" => drop(words.next()),
            option if option.starts_with('-') => {}
            _ => return word,
        }
    }
    String::new()
}

fn listed<A: AsRef<OsStr>>(args: &[A]) -> Vec<String> {
    args.iter().map(|arg| redact(&arg.as_ref().to_string_lossy())).collect()
}

fn shown<A: AsRef<OsStr>>(args: &[A]) -> String {
    listed(args).join(" ")
}

fn posix(path: &Path) -> String {
    path.display().to_string().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;

    fn within<T>(time: Duration, f: impl FnOnce(&Limits<'_>) -> T) -> T {
        f(&Limits::new(time, &CancellationToken::new()))
    }

    #[test]
    fn says_what_git_said() {
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
    fn ends_at_its_limits() {
        let folder = tempfile::tempdir().unwrap();
        let hang = ["-c", "alias.hang=!sleep 1000", "hang"];
        let error = within(Duration::from_millis(50), |limits| run(folder.path(), &hang, limits)).unwrap_err();
        assert_eq!(error.code(), Code::GitFailed);
        assert!(error.message().starts_with("git hang: it had not ended after 0 seconds"), "{error}");
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        let error = run(folder.path(), &hang, &Limits::new(LOCAL, &cancelled)).unwrap_err();
        assert_eq!(error.code(), Code::Cancelled);
    }
}
