//! The process group of a program: how its end is seen, and how all of it is ended.

use std::io;
#[cfg(unix)]
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::Sender;

/// Has `command` start in a process group of its own.
#[cfg(unix)]
pub(super) fn separate(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

#[cfg(not(unix))]
pub(super) fn separate(_: &mut Command) {}

/// Sends `ended` once `child` has ended. Until the child is waited for, its id, which is its group's too, stays its own.
///
/// # Errors
/// How the system refused a thread.
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

/// Does nothing where no wait leaves the child's id alone: the caller looks from time to time.
#[cfg(not(unix))]
pub(super) fn watch<E: Send + 'static>(_: &Child, _: E, _: Sender<E>) -> io::Result<()> {
    Ok(())
}

/// How a group is ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    /// It is asked to end.
    Asked,
    Forced,
}

/// Ends the group of `child`, which was not waited for yet.
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

/// Asks the groups that the children of `child` lead to end; returns whether there were any.
#[cfg(unix)]
pub(super) fn ask_below(child: &Child) -> bool {
    use rustix::process::{Pid, Signal, kill_process_group};
    let id = child.id();
    let children = super::proc::read(Path::new(&format!("/proc/{id}/task/{id}/children")));
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
