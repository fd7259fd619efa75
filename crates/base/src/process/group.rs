//! Watches and ends the process group of a program.

use std::io;
#[cfg(unix)]
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::Sender;

/// Makes `command` start in its own process group.
#[cfg(unix)]
pub(super) fn separate(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

#[cfg(not(unix))]
pub(super) fn separate(_: &mut Command) {}

/// Sends `ended` when `child` has exited. Does not collect the exit status, so the child's id, which is also the id of its group,
/// stays reserved.
///
/// # Errors
/// The system's error if no thread could be started.
#[cfg(unix)]
pub(super) fn watch<E: Send + 'static>(child: &Child, ended: E, to: Sender<E>) -> io::Result<()> {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let Some(id) = group(child) else { return Err(io::Error::other("the program has no process ID")) };
    let wait = move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while waitid(WaitId::Pid(id), options).is_err_and(|error| error == rustix::io::Errno::INTR) {}
        let _ = to.send(ended);
    };
    std::thread::Builder::new().name("program-end".to_owned()).spawn(wait).map(drop)
}

/// Does nothing: this system cannot watch a child without waiting for it, so the caller checks at intervals.
#[cfg(not(unix))]
pub(super) fn watch<E: Send + 'static>(_: &Child, _: E, _: Sender<E>) -> io::Result<()> {
    Ok(())
}

/// How to end a group.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    /// Ask the processes to end.
    Asked,
    Forced,
}

/// Ends the group of `child`, which must not have been waited for yet.
#[cfg(unix)]
pub(super) fn end(child: &mut Child, how: End) {
    use rustix::process::{Signal, kill_process_group};
    let signal = match how {
        End::Asked => Signal::TERM,
        End::Forced => Signal::KILL,
    };
    let ended = group(child).is_some_and(|id| kill_process_group(id, signal).is_ok());
    if !ended && matches!(how, End::Forced) {
        let _ = child.kill();
    }
}

#[cfg(not(unix))]
pub(super) fn end(child: &mut Child, how: End) {
    if matches!(how, End::Forced) {
        let _ = child.kill();
    }
}

/// Asks the process groups led by children of `child` to end; returns whether there were any.
#[cfg(unix)]
pub(super) fn ask_below(child: &Child) -> bool {
    use rustix::process::{Pid, Signal, kill_process_group};
    let id = child.id();
    let children = crate::file::read_kernel(Path::new(&format!("/proc/{id}/task/{id}/children")));
    let Ok(children) = children else { return false };
    let ids = children.split_ascii_whitespace().filter_map(|id| id.parse().ok().and_then(Pid::from_raw));
    ids.filter(|id| kill_process_group(*id, Signal::TERM).is_ok()).count() > 0
}

#[cfg(not(unix))]
pub(super) fn ask_below(_: &Child) -> bool {
    false
}

#[cfg(unix)]
fn group(child: &Child) -> Option<rustix::process::Pid> {
    i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw)
}
