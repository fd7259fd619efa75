//! Builds the arguments of bubblewrap, which define what a tool can see.
//!
//! Of the host, a tool sees `/usr`, the folders next to it such as `/lib`, and the parts of `/etc` that programs need,
//! all read-only. It also sees its own files and the input files, and can write to folders that a person allowed.
//! Everything else that it can write to is in memory and has a size limit. Variables are not passed as arguments,
//! because every user of the machine can read the arguments of a program.

use std::ffi::OsString;

use super::limits::{Limits, OUTPUT_BYTES};
use super::mount::{Mount, OUTPUT, WORKSPACE};

/// The user and group id inside the sandbox; it maps to the user who runs mcpkg.
pub const USER: &str = "1000";

/// The bytes that a file system in memory needs in addition to its files.
const OVERHEAD: u64 = 1 << 20;

#[derive(Clone, Debug)]
pub struct Sandbox {
    /// The mounts, in order.
    pub mounts: Vec<Mount>,
    /// Whether the tool may use the host's network.
    pub network: bool,
    pub limits: Limits,
    /// The size of a writable workspace in bytes; `None` if one of the mounts is the workspace.
    pub workspace: Option<u64>,
}

/// Returns bubblewrap's arguments up to the program to start.
pub fn arguments(sandbox: &Sandbox) -> Vec<OsString> {
    let mut arguments = Arguments::default();
    // The starter, mcpkg's own program inside the sandbox, must be the first process. Otherwise bubblewrap's own first
    // process would hold the starter's socket too, and a tool could take the socket from that process.
    arguments.add(["--unshare-all", "--unshare-user", "--disable-userns", "--as-pid-1", "--cap-drop", "ALL"]);
    arguments.add(["--die-with-parent", "--new-session", "--uid", USER, "--gid", USER, "--hostname", "sandbox"]);
    if sandbox.network {
        arguments.add(["--share-net"]);
    }
    arguments.add(["--proc", "/proc", "--dev", "/dev"]);
    arguments.memory("/dev/shm", sandbox.limits.scratch);
    arguments.memory("/tmp", sandbox.limits.scratch);
    arguments.memory(OUTPUT, OUTPUT_BYTES + OVERHEAD);
    if let Some(bytes) = sandbox.workspace {
        arguments.memory(WORKSPACE, bytes + OVERHEAD);
    }
    for mount in &sandbox.mounts {
        match mount {
            Mount::Read { from, at } => arguments.add([OsString::from("--ro-bind"), from.into(), at.into()]),
            Mount::Write { from, at } => arguments.add([OsString::from("--bind"), from.into(), at.into()]),
            Mount::Link { to, at } => arguments.add([OsString::from("--symlink"), to.into(), at.into()]),
        }
    }
    // `/dev` and `/` are file systems in memory without a size limit, so they become read-only; nothing else has to be
    // created in them.
    arguments.add(["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", WORKSPACE, "--"]);
    arguments.0
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn add<A: Into<OsString>>(&mut self, arguments: impl IntoIterator<Item = A>) {
        self.0.extend(arguments.into_iter().map(Into::into));
    }

    /// Adds a file system in memory with this many bytes.
    fn memory(&mut self, at: &str, bytes: u64) {
        self.add(["--perms", "0700", "--size", &bytes.to_string(), "--tmpfs", at]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(sandbox: &Sandbox) -> Vec<String> {
        arguments(sandbox).into_iter().map(|argument| argument.into_string().expect("UTF-8")).collect()
    }

    fn sandbox(mounts: Vec<Mount>, network: bool) -> Sandbox {
        Sandbox { mounts, network, limits: Limits { scratch: 4096, ..Limits::default() }, workspace: None }
    }

    #[test]
    fn a_sandbox_shares_nothing_and_each_file_system_that_is_written_to_has_a_size() {
        let link = Mount::Link { to: "usr/bin".into(), at: "/bin".into() };
        let arguments = shown(&sandbox(vec![Mount::read("/usr", "/usr"), link], false));
        let expected = "--unshare-all --unshare-user --disable-userns --as-pid-1 --cap-drop ALL --die-with-parent --new-session \
            --uid 1000 --gid 1000 --hostname sandbox --proc /proc --dev /dev \
            --perms 0700 --size 4096 --tmpfs /dev/shm --perms 0700 --size 4096 --tmpfs /tmp \
            --perms 0700 --size 17825792 --tmpfs /output \
            --ro-bind /usr /usr --symlink usr/bin /bin \
            --remount-ro /dev --remount-ro / --chdir /workspace --";
        assert_eq!(arguments.join(" "), expected.split_whitespace().collect::<Vec<_>>().join(" "));
        // `--size` applies to the next `--tmpfs`, so each `--tmpfs` needs its own `--size`.
        let tmpfs = arguments.iter().filter(|argument| *argument == "--tmpfs").count();
        let sizes = arguments.iter().filter(|argument| *argument == "--size").count();
        assert_eq!(tmpfs, sizes);
    }

    #[test]
    fn the_network_and_folders_are_there_where_they_were_allowed() {
        let write = Mount::Write { from: "/data/a b".into(), at: "/data/a b".into() };
        let arguments = shown(&sandbox(vec![write], true));
        let at = arguments.iter().position(|argument| argument == "--bind").expect("a mount");
        assert_eq!(arguments[at..at + 3], ["--bind", "/data/a b", "/data/a b"]);
        let unshared = arguments.iter().position(|argument| argument == "--unshare-all").expect("unshared");
        let shared = arguments.iter().position(|argument| argument == "--share-net").expect("shared");
        assert!(unshared < shared);
    }
}
