//! Tests in which a clone or a fetch is cut off in the middle.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::error;
use crate::support::Ran;
use crate::workspace::shop::{REPOS, Shop};

/// A replacement for ssh that runs the other host's command on this machine. For `web`, it dies after `$CUT` bytes
/// unless `$CUT` is empty.
const SSH: &str = r#"#!/bin/sh
for last; do :; done
case "$last" in
*web.git*) if [ -n "$CUT" ]; then eval "$last" | { dd bs=1 count="$CUT" 2>/dev/null; kill -9 $$; }; fi;;
esac
eval "$last"
"#;

struct Remote {
    shop: Shop,
    ssh: String,
}

impl Remote {
    fn new() -> Self {
        let shop = Shop::bare();
        let ssh = shop.scratch.file("own-ssh", SSH);
        std::fs::set_permissions(&ssh, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        // A file so large that it is sent in many packets.
        let seed = shop.scratch.path().join("seed/web");
        let noise: Vec<u8> = (0..200_000_u64).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8).collect();
        std::fs::write(seed.join("noise.bin"), noise).expect("a file");
        shop.git(&seed, &["add", "-A"]);
        shop.git(&seed, &["commit", "-q", "-m", "noise"]);
        shop.git(&seed, &["push", "-q", &shop.origin("web").display().to_string(), "main"]);
        Self { ssh: ssh.display().to_string(), shop }
    }

    fn url(&self, repo: &str) -> String {
        format!("ssh://host{}", self.shop.origin(repo).display())
    }

    fn command(&self, cut: &str, line: &[String]) -> Command {
        let mut command = self.shop.command();
        command
            .env("GIT_SSH_COMMAND", &self.ssh)
            .env("GIT_SSH_VARIANT", "ssh")
            .env("CUT", cut)
            .arg("--json")
            .args(line);
        command
    }

    fn run(&self, cut: &str, line: &[String]) -> Ran {
        self.shop.scratch.finish(&mut self.command(cut, line))
    }

    fn init(&self) -> Vec<String> {
        let mut line = vec!["workspace".to_owned(), "init".to_owned(), "shop".to_owned()];
        for (repo, path) in REPOS {
            line.extend(["--repo".to_owned(), format!("{}={path}", self.url(repo))]);
        }
        line
    }
}

fn words(line: &[&str]) -> Vec<String> {
    line.iter().map(|word| (*word).to_owned()).collect()
}

/// The numbers of bytes after which the connection is cut: in the list of refs, at the beginning of the pack, and near
/// its end.
const CUTS: [&str; 4] = ["1", "600", "5000", "150000"];

#[test]
fn a_clone_that_is_cut_off_leaves_none_of_the_workspace() {
    let remote = Remote::new();
    let shop = &remote.shop;
    for cut in CUTS {
        let error = error(&remote.run(cut, &remote.init()));
        assert_eq!(error["code"], "E_REMOTE_FAILED", "{cut}: {error}");
        assert_eq!(error["details"]["repo"], "web", "{cut}: {error}");
        assert!(REPOS.iter().all(|(repo, _)| !shop.repo(repo).exists()), "{cut}");
        assert!(!shop.root().join(".smctl/workspace.toml").exists(), "{cut}");
        shop.assert_tidy();
    }
    let ran = remote.run("", &remote.init());
    assert_eq!(ran.status, 0, "{ran}");
    assert!(shop.repo("web").join("noise.bin").exists());
    // Add another repository, and then one whose origin is missing.
    let manifest = std::fs::read_to_string(shop.root().join(".smctl/workspace.toml")).expect("a manifest");
    let again = format!("ssh://host{}/more-web.git", shop.scratch.path().join("work/origins").display());
    let bare = shop.origin("more-web").display().to_string();
    shop.git(&shop.origin("web"), &["clone", "-q", "--bare", ".", &bare]);
    let add = words(&["workspace", "add", &format!("{again}=again")]);
    let sync = words(&["workspace", "sync"]);
    for cut in CUTS {
        let error = error(&remote.run(cut, &add));
        assert_eq!(error["code"], "E_REMOTE_FAILED", "{cut}: {error}");
        let after = std::fs::read_to_string(shop.root().join(".smctl/workspace.toml")).expect("a manifest");
        assert!(after == manifest && !shop.root().join("again").exists(), "{cut}");
        shop.assert_tidy();
    }
    std::fs::remove_dir_all(shop.repo("web")).expect("gone");
    for cut in CUTS {
        let ran = remote.run(cut, &sync);
        let data: serde_json::Value = serde_json::from_str(&ran.stdout).expect("one document");
        assert_eq!(ran.status, 1, "{ran}");
        assert_eq!((&data["repos"][0]["state"], &data["repos"][2]["state"]), (&"unchanged".into(), &"failed".into()));
        assert!(!shop.repo("web").exists(), "{cut}");
        shop.assert_tidy();
    }
    let ran = remote.run("", &sync);
    assert_eq!(ran.status, 0, "{ran}");
    let ran = remote.run("", &add);
    assert_eq!(ran.status, 0, "{ran}");
}

#[test]
fn a_fetch_that_is_cut_off_moves_no_branch() {
    let remote = Remote::new();
    let shop = &remote.shop;
    let ran = remote.run("", &remote.init());
    assert_eq!(ran.status, 0, "{ran}");
    for (repo, _) in REPOS {
        let seed = shop.scratch.path().join("seed").join(repo);
        let more: Vec<u8> = (0..100_000_u64).map(|n| (n.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as u8).collect();
        std::fs::write(seed.join("more.bin"), more).expect("a file");
        shop.git(&seed, &["add", "-A"]);
        shop.git(&seed, &["commit", "-q", "-m", "more"]);
        shop.git(&seed, &["push", "-q", &shop.origin(repo).display().to_string(), "main"]);
    }
    let old = shop.id("web", "main");
    let sync = words(&["workspace", "sync"]);
    for (n, cut) in ["1", "700", "20000"].into_iter().enumerate() {
        let ran = remote.run(cut, &sync);
        assert_eq!(ran.status, 1, "{ran}");
        let data: serde_json::Value = serde_json::from_str(&ran.stdout).expect("one document");
        let states: Vec<_> = data["repos"].as_array().expect("rows").iter().map(|row| row["state"].clone()).collect();
        let others = if n == 0 { "synced" } else { "unchanged" };
        assert_eq!(states, [others, others, "failed"], "{cut}");
        assert_eq!(shop.id("web", "main"), old, "{cut}");
        shop.assert_tidy();
    }
    let ran = remote.run("", &sync);
    assert_eq!(ran.status, 0, "{ran}");
    assert!(shop.repo("web").join("more.bin").exists());
}
