//! Tests a running server whose cache of unpacked tools is deleted or changed. A call still works, or reports why it
//! does not.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::trusting;
use crate::support::{Client, Mount, Scratch, finds, set_mode, skipped};

/// Returns a scratch folder with an installed, signed tool that runs a script.
fn with_tool() -> Scratch {
    let scratch = Scratch::new();
    scratch.file("say/enact.yaml", "name: alice/say\nversion: 1.0.0\ndescription: Says it\ncommand: sh say.sh\n");
    scratch.file("say/say.sh", "echo right\n");
    // Random bytes, because an archive that compresses too well would be refused.
    let padding = (0..200_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect::<Vec<u8>>();
    scratch.file("say/padding.bin", padding);
    scratch.ok(&["tool", "publish", "say", "--to", "local"]);
    scratch.ok(&["tool", "key", "new"]);
    let signed = scratch.json(&["tool", "sign", "alice/say"]);
    trusting(&scratch, signed["identity"].as_str().expect("an identity"));
    scratch.ok(&["tool", "install", "alice/say"]);
    scratch
}

fn call(client: &mut Client) -> Value {
    client.result("tools/call", json!({ "name": "alice__say", "arguments": {} }))
}

/// Calls the tool and checks that the right script ran.
#[track_caller]
fn works(client: &mut Client) {
    let called = call(client);
    assert_eq!(called["content"][0]["text"], "right\n", "{called}");
}

/// If tools cannot run on this machine, reports the test as skipped and returns true.
fn no_sandbox(client: &mut Client) -> bool {
    let unavailable = call(client).to_string().contains("E_RUNNER_UNAVAILABLE");
    if unavailable {
        skipped("tools cannot be run here");
    }
    unavailable
}

#[test]
fn a_deleted_or_changed_copy_is_unpacked_again() {
    let scratch = with_tool();
    let mut client = Client::legacy(&scratch, "2025-06-18");
    if no_sandbox(&mut client) {
        return;
    }
    works(&mut client);
    let cache = scratch.path().join(".cache/mcpkg/tools");
    let copy = || {
        let mut folders = fs::read_dir(&cache).expect("the cache").map(|entry| entry.expect("an entry").path());
        folders.find(|path| path.is_dir()).expect("a copy")
    };
    let script = copy().join("say.sh");
    // Edited files never run.
    let edits: [&dyn Fn(); 6] = [
        &|| {
            set_mode(&script, 0o644);
            fs::write(&script, "echo wrong\n").expect("written");
        },
        &|| fs::write(copy().join("more.sh"), "").expect("written"),
        &|| fs::remove_file(&script).expect("gone"),
        &|| fs::remove_dir_all(copy()).expect("gone"),
        &|| fs::remove_dir_all(&cache).expect("gone"),
        &|| fs::remove_dir_all(scratch.path().join(".cache")).expect("gone"),
    ];
    for edit in edits {
        edit();
        works(&mut client);
    }
    // If the cache is not writable, the error names its path. Once it is writable, the tool works again.
    fs::remove_dir_all(&cache).expect("gone");
    fs::write(&cache, "a file").expect("written");
    let refused = call(&mut client);
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(refused.to_string().contains(".cache/mcpkg/tools"), "{refused}");
    fs::remove_file(&cache).expect("gone");
    works(&mut client);
    client.finish();
}

#[test]
fn x36_nothing_runs_after_the_sandbox_disappeared() {
    let scratch = with_tool();
    let Some(bwrap) = finds("bwrap") else { return skipped("there is no bubblewrap") };
    fs::create_dir(scratch.path().join("bin")).expect("a folder");
    let link = scratch.path().join("bin/bwrap");
    symlink(&bwrap, &link).expect("a link");
    let mut command = scratch.command();
    let mut client =
        Client::spawn(command.env("PATH", scratch.path().join("bin")).arg("serve")).shake_hands("2025-06-18");
    if no_sandbox(&mut client) {
        return;
    }
    fs::remove_file(&link).expect("gone");
    let refused = call(&mut client);
    assert_eq!(refused["isError"], true, "{refused}");
    let text = refused.to_string();
    assert!(text.contains("E_RUNNER_UNAVAILABLE") && text.contains("bubblewrap is not installed"), "{text}");
    symlink(&bwrap, &link).expect("a link");
    works(&mut client);
    client.finish();
}

#[test]
fn a_full_disk_leaves_no_partial_copy() {
    let scratch = with_tool();
    let cache = scratch.path().join("small");
    let Some(mount) = Mount::in_memory("128k", &cache) else {
        return skipped("a full disk needs root and tmpfs");
    };
    let mut command = scratch.command();
    let mut client = Client::spawn(command.env("XDG_CACHE_HOME", &cache).arg("serve")).shake_hands("2025-06-18");
    let refused = call(&mut client);
    if refused.to_string().contains("E_RUNNER_UNAVAILABLE") {
        return skipped("tools cannot be run here");
    }
    assert!(refused["isError"] == true && refused.to_string().contains("E_DISK_FULL"), "{refused}");
    let left: Vec<_> = fs::read_dir(cache.join("mcpkg/tools"))
        .expect("the cache")
        .map(|entry| entry.expect("an entry").file_name())
        .filter(|name| !name.to_string_lossy().ends_with(".lock"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    mount.remount("size=8m");
    works(&mut client);
    client.finish();
}
