//! Checks for `doctor` whether this machine can run tools, and which limits it can enforce.

use super::kind::RunnerKind;
use super::runner::Runner;
use super::{bubblewrap, engine};
use mcpkg_base::process::cgroup;

/// A runner, and whether it works on this machine.
#[derive(Debug)]
pub struct Probed {
    pub kind: RunnerKind,
    /// The limits that the runner cannot enforce here, or the reason why it does not work.
    pub works: Result<Vec<&'static str>, String>,
}

/// Tests bubblewrap, which runs the tools that need no image.
pub fn bubblewrap() -> Probed {
    let works = bubblewrap::probe().map(|()| bubblewrap::Bubblewrap.unlimited());
    Probed { kind: RunnerKind::Bubblewrap, works }
}

/// Tests the container engines, which run the tools that need an image.
pub fn engines() -> Vec<Probed> {
    let limits = |engine: engine::Engine| match engine.limits {
        true => Vec::new(),
        false => vec!["shared memory", "processes"],
    };
    let probed = |kind| Probed { kind, works: engine::probe(kind).map(limits) };
    [RunnerKind::Podman, RunnerKind::Docker].map(probed).into()
}

/// Returns whether this mcpkg can run WebAssembly modules.
pub const fn runs_modules() -> bool {
    cfg!(feature = "wasm")
}

/// Suggests how to fix bubblewrap, based on the reason why it does not work.
pub fn mend(why: &str) -> &'static str {
    let says = |words: &[&str]| words.iter().any(|word| why.contains(word));
    if says(&["not installed", "older than"]) {
        "install bubblewrap 0.8 or newer (Debian: `apt install bubblewrap`)"
    } else if says(&["cannot be written"]) {
        "make that folder writable, or set XDG_CACHE_HOME to a writable folder"
    } else if says(&["namespace", "uid map", "Operation not permitted", "Permission denied"]) {
        "allow user namespaces: set the sysctls kernel.unprivileged_userns_clone=1 and user.max_user_namespaces; on Ubuntu, add an \
        AppArmor profile for bwrap"
    } else if says(&["Linux only"]) {
        "run mcpkg on Linux: on Windows in WSL 2 (`wsl --install`), on macOS in a virtual machine; outside Linux, mcpkg runs \
        only tools that are WebAssembly modules"
    } else {
        "run `bwrap --unshare-all --ro-bind / / true` and read the error message"
    }
}

/// Returns how many control groups of killed processes remain.
pub fn left_groups() -> usize {
    cgroup::abandoned().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_suggested_fix() {
        for (why, what) in [
            ("bubblewrap is not installed: there is no `bwrap` on PATH", "install"),
            ("bwrap: Unknown option --disable-userns: bubblewrap is older than 0.8", "install"),
            (
                "the files that bwrap needs cannot be written: The file `/c/mcpkg` cannot be made: Permission denied",
                "XDG_CACHE_HOME",
            ),
            ("bwrap: No permissions to create a new namespace", "user namespaces"),
            ("bwrap: setting up uid map: Permission denied", "user namespaces"),
            ("bubblewrap runs on Linux only", "on Linux: on Windows in WSL 2"),
            ("mcpkg runs tools in containers on Linux only", "WebAssembly modules"),
            ("bwrap: Can't mount proc", "bwrap --unshare-all"),
        ] {
            assert!(mend(why).contains(what), "{why}: {}", mend(why));
        }
    }
}
