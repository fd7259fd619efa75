//! Starts, watches, limits and ends processes.

use std::ffi::OsStr;
use std::io::{self, Error};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use rlimit::Resource;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, kill_process_group, waitid};

use crate::platform::system::{End, Limit};

pub use signal_hook::consts::SIGXCPU as CPU_TIME_IS_UP;
pub use std::os::unix::net::{UnixListener as Listener, UnixStream as Socket};
/// mcpkg's ends of a program's pipes, for an async runtime.
pub use tokio::net::unix::pipe::{Receiver as Output, Sender as Input};

/// Whether [`limit`] can limit a process.
pub const HAS_LIMITS: bool = true;

/// How often to check whether a program has ended; `None` if [`watch`] reports it.
pub const POLL: Option<Duration> = None;

/// Sets the name that a program gets as its own (`argv[0]`).
pub fn call_as(command: &mut Command, name: &OsStr) {
    command.arg0(name);
}

/// Makes a program start in its own process group.
pub fn separate(command: &mut Command) {
    command.process_group(0);
}

/// Calls `ended` when the child has exited. Does not collect the exit status, so the child's id, which is also the id of
/// its group, stays reserved.
///
/// # Errors
/// The system's error if no thread could be started.
pub fn watch(child: &Child, ended: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let Some(id) = pid(child.id()) else { return Err(Error::other("the program has no process ID")) };
    let wait = move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while waitid(WaitId::Pid(id), options).is_err_and(|error| error == Errno::INTR) {}
        ended();
    };
    std::thread::Builder::new().name("program-end".to_owned()).spawn(wait).map(drop)
}

/// Asks the group of `child` to end, or kills it. `child` must not have been waited for yet.
pub fn end(child: &mut Child, how: End) {
    let signal = match how {
        End::Asked => Signal::TERM,
        End::Forced => Signal::KILL,
    };
    let ended = pid(child.id()).is_some_and(|id| kill_process_group(id, signal).is_ok());
    if !ended && matches!(how, End::Forced) {
        let _ = child.kill();
    }
}

/// Asks a process group to end. `id` is the id of the group's first process. Returns whether the group exists.
pub fn ask_group(id: u32) -> bool {
    pid(id).is_some_and(|id| kill_process_group(id, Signal::TERM).is_ok())
}

/// Asks this process's own group to end, which includes this process.
pub fn ask_own_group() {
    let _ = rustix::process::kill_current_process_group(Signal::TERM);
}

pub fn kill(id: u32) {
    let _ = pid(id).map(|id| kill_process(id, Signal::KILL));
}

fn pid(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw)
}

/// Waits for a child. While waiting, reaps orphaned processes: in a sandbox this process may be the first one, so
/// nobody else reaps them.
pub fn wait_for(child: &mut Child) -> io::Result<ExitStatus> {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((id, status))) if id.as_raw_nonzero().get().cast_unsigned() == child.id() => {
                return Ok(ExitStatus::from_raw(status.as_raw()));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Reaps children that have ended.
pub fn reap_ended() {
    while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
}

/// Returns the signal that ended a program.
pub fn signal(status: ExitStatus) -> Option<i32> {
    status.signal()
}

/// Replaces this process with a program. Returns only if that fails.
pub fn become_program(mut command: Command) -> Error {
    command.exec()
}

/// Limits this process and everything that it starts. Keeps a lower limit that the machine already sets.
pub fn limit(limit: Limit, soft: u64, hard: u64) -> io::Result<()> {
    let resource = match limit {
        Limit::AddressSpace => Resource::AS,
        Limit::Core => Resource::CORE,
        Limit::Cpu => Resource::CPU,
        Limit::Data => Resource::DATA,
        Limit::FileSize => Resource::FSIZE,
        Limit::OpenFiles => Resource::NOFILE,
        Limit::Processes => Resource::NPROC,
    };
    let (_, most) = resource.get()?;
    resource.set(soft.min(most), hard.min(most))
}

/// Raises the number of files that this process may open as far as the system permits. Returns the number that applies
/// then; `None` if there is no limit or it is unknown.
pub fn raise_open_files() -> Option<u64> {
    match rlimit::increase_nofile_limit(u64::MAX) {
        Ok(limit) => Some(limit),
        Err(error) => {
            tracing::warn!(%error, "cannot raise the limit on open files");
            Resource::NOFILE.get_soft().ok()
        }
    }
}

/// Returns a socket as a program's standard input.
pub fn as_stdin(socket: Socket) -> Stdio {
    Stdio::from(OwnedFd::from(socket))
}

/// Returns the pipes of a program for the current runtime.
pub fn pipes(stdin: ChildStdin, stdout: ChildStdout) -> io::Result<(Input, Output)> {
    Ok((Input::from_owned_fd(OwnedFd::from(stdin))?, Output::from_owned_fd(OwnedFd::from(stdout))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_on_open_files_is_the_one_that_applies() {
        let before = Resource::NOFILE.get_soft().unwrap();
        let raised = raise_open_files().unwrap();
        assert!(raised >= before);
        assert_eq!(Resource::NOFILE.get_soft().unwrap(), raised);
    }
}
