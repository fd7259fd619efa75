//! Looks after the processes below the starter when there is no sandbox.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions};
use signal_hook::consts::SIGTERM;
use signal_hook::iterator::Signals;

use super::protocol::{FAILED, Within};
use crate::process::proc;

/// How often all that is below is looked for again: what is killed may have started another.
const ROUNDS: usize = 1_000;

/// Starts to watch the surroundings of the starter: whether anybody still listens to it, and whether it is asked to
/// end.
///
/// # Errors
/// How the system refused a thread, or to have orphans become children of this process.
pub(super) fn watch(within: Within, channel: &UnixStream) -> io::Result<()> {
    if within == Within::Sandbox {
        return Ok(());
    }
    if within == Within::Container {
        let mut signals = Signals::new([SIGTERM])?;
        thread::Builder::new().name("asked-to-end".to_owned()).spawn(move || {
            // The first process of a container is the one that is asked. It is of the group itself: one request is passed on.
            if signals.forever().next().is_some() {
                let _ = rustix::process::kill_current_process_group(Signal::TERM);
            }
        })?;
    }
    if within == Within::Nothing {
        let mut signals = Signals::new([SIGTERM])?;
        thread::Builder::new().name("asked-to-end".to_owned()).spawn(move || {
            // The tool was asked too, since it is of the same group. This process is killed when it has not ended by then.
            if signals.forever().next().is_some() {
                thread::sleep(crate::process::GRACE / 4 * 3);
                kill_all();
            }
        })?;
        // A process that detaches itself becomes a child of this one, so it can be found.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    }
    let mut channel = channel.try_clone()?;
    thread::Builder::new().name("listened-to".to_owned()).spawn(move || {
        // Nothing comes in any more: this ends when the other side does.
        let _ = channel.read(&mut [0]);
        if within == Within::Nothing {
            kill_all();
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "there is no other way to end the thread that waits for the program"
        )]
        std::process::exit(i32::from(FAILED));
    })?;
    Ok(())
}

/// Kills every process below this one.
pub(super) fn kill_all() {
    for round in 0..ROUNDS {
        let children = children();
        if children.is_empty() {
            return;
        }
        for child in children {
            let _ = rustix::process::kill_process(child, Signal::KILL);
        }
        // Those of them that have children leave them to this process, once they have ended.
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        thread::sleep(Duration::from_millis(u64::from(round > 0)));
    }
}

/// Whether the kernel killed a process of this container since memory had run out, as far as the container sees it.
pub(super) fn ran_out_of_memory() -> bool {
    let files = ["/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"];
    let counted = |file: &str| proc::read(Path::new(file)).unwrap_or_default();
    let is_killed = |line: &str| line.strip_prefix("oom_kill ").is_some_and(|count| count.trim() != "0");
    files.iter().any(|file| counted(file).lines().any(is_killed))
}

/// Returns the children of this process, whichever of its threads they belong to.
fn children() -> Vec<Pid> {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| proc::read(Path::new(&thread.path().join("children"))).ok());
    let ids = |list: String| {
        list.split_ascii_whitespace().filter_map(|id| id.parse().ok().and_then(Pid::from_raw)).collect::<Vec<_>>()
    };
    lists.flat_map(ids).collect()
}
