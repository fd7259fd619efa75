//! Whether this machine can run tools, and which limits it can hold them to.

use super::bubblewrap;
use super::limits::Limits;
use crate::process::cgroup;

/// A runner, and whether it works here.
#[derive(Debug)]
pub struct Probed {
    /// Its name.
    pub runner: &'static str,
    /// Why it does not work.
    pub works: Result<(), String>,
}

/// Returns the runners, each tried by running `true` in it.
pub fn runners() -> Vec<Probed> {
    vec![Probed { runner: "bubblewrap", works: bubblewrap::probe() }]
}

/// Returns what to do about bubblewrap where it does not work for this reason.
pub fn mend(why: &str) -> &'static str {
    let says = |words: &[&str]| words.iter().any(|word| why.contains(word));
    if says(&["not installed", "older than"]) {
        "install bubblewrap 0.8 or newer (Debian: `apt install bubblewrap`)"
    } else if says(&["namespace", "uid map", "Operation not permitted", "Permission denied"]) {
        "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1 and user.max_user_namespaces; on Ubuntu an AppArmor \
         profile for bwrap"
    } else if says(&["Linux only"]) {
        "run mcpkg on Linux; elsewhere tools can be found and installed, not run"
    } else {
        "run `bwrap --unshare-all --ro-bind / / true` and see what it says"
    }
}

/// Returns the limits that this machine cannot hold tools to, as sentences without a final period.
pub fn not_applied() -> Vec<String> {
    let counted = bubblewrap::cgroup(&Limits::default());
    if counted.is_some() {
        return Vec::new();
    }
    let what = "no control group can be made: limits of memory and processes hold for each process of a tool, not for all of them \
                together";
    vec![what.to_owned()]
}

/// Returns how many control groups are left of processes that were killed.
pub fn left_groups() -> usize {
    cgroup::abandoned().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_something_to_do_about_it() {
        for (why, what) in [
            ("bubblewrap is not installed: there is no `bwrap` on PATH", "install"),
            ("bwrap: Unknown option --disable-userns: bubblewrap is older than 0.8", "install"),
            ("bwrap: No permissions to create a new namespace", "user namespaces"),
            ("bwrap: setting up uid map: Permission denied", "user namespaces"),
            ("bubblewrap runs on Linux only", "on Linux"),
            ("bwrap: Can't mount proc", "bwrap --unshare-all"),
        ] {
            assert!(mend(why).contains(what), "{why}: {}", mend(why));
        }
    }
}
