//! Ends the starter (mcpkg's own program, which starts a tool) when the process that started it closes the connection.
//! Also kills the processes below the starter, if no sandbox or container does that.

use std::io::{self, Read};
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::protocol::{FAILED, Within};
use crate::file::read_kernel;
use crate::platform::{self, Socket, TERMINATE};

/// How many times to search for processes to kill, because a process may start another one before it is killed.
const ROUNDS: usize = 1_000;

/// Starts watching for the end of the connection to the process that started the starter, and for requests to end the
/// starter. Does nothing in a sandbox, which takes care of both.
///
/// # Errors
/// The system's error if a thread cannot be started, or if this process cannot become the parent of orphans.
pub(super) fn watch(within: Within, channel: &Socket) -> io::Result<()> {
    if within == Within::Sandbox {
        return Ok(());
    }
    if within == Within::Container {
        // Only the first process of a container gets the request to end, so this process passes the request on to its
        // group. This process belongs to that group too and gets the request again, so it handles only the first
        // request.
        platform::on_signal(&[TERMINATE], "asked-to-end", platform::ask_own_group)?;
    }
    if within == Within::Nothing {
        platform::on_signal(&[TERMINATE], "asked-to-end", || {
            // The tool is in the same group, so it was also asked to end. Kill it shortly before this process is killed.
            thread::sleep(crate::process::GRACE / 4 * 3);
            kill_all();
        })?;
        // With this, a process that detaches itself becomes a child of this process and can be found.
        platform::adopt_orphans()?;
    }
    let mut channel = channel.try_clone()?;
    thread::Builder::new().name("listened-to".to_owned()).spawn(move || {
        // After its request, mcpkg sends nothing more, so this read returns when mcpkg closes the connection.
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

/// Kills all descendants of this process.
pub(super) fn kill_all() {
    for round in 0..ROUNDS {
        let children = children();
        if children.is_empty() {
            return;
        }
        for child in children {
            platform::kill(child);
        }
        // When a killed process has exited, its children become children of this process.
        platform::reap_ended();
        thread::sleep(Duration::from_millis(u64::from(round > 0)));
    }
}

/// Whether the kernel killed a process of this container because memory ran out, as far as the container can see that.
pub(super) fn ran_out_of_memory() -> bool {
    let files = ["/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"];
    let counted = |file: &str| read_kernel(Path::new(file)).unwrap_or_default();
    let is_killed = |line: &str| line.strip_prefix("oom_kill ").is_some_and(|count| count.trim() != "0");
    files.iter().any(|file| counted(file).lines().any(is_killed))
}

/// Returns the children of all threads of this process.
fn children() -> Vec<u32> {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| read_kernel(Path::new(&thread.path().join("children"))).ok());
    let ids = |list: String| list.split_ascii_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>();
    lists.flat_map(ids).collect()
}
