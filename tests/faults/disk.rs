//! Tests with disks that fail, are full, or cannot be written.

use serde_json::json;

use super::{assert_refused, assert_sound, content_of, fails, prompts, under_strace};
use crate::support::{Client, Mount, Scratch, as_bound_user, eventually, skipped};

/// Starts a server under strace with the fault `inject`, and calls `create_prompt` eight times. Returns the client, the
/// texts of the calls that failed, and the number of calls that succeeded.
fn failures(scratch: &Scratch, inject: &str) -> Option<(Client, Vec<String>, usize)> {
    let mut command = under_strace(scratch, inject)?;
    let mut client = Client::spawn(command.arg("serve")).shake_hands("2025-06-18");
    let mut failed = Vec::new();
    let mut made = 0;
    for n in 0..8 {
        let name = format!("n{n}");
        let (text, is_error) =
            client.call("create_prompt", json!({ "name": name, "content": content_of(&name, 3000) }));
        let there = client.request("prompts/get", json!({ "name": name }))["result"].is_object();
        assert_eq!(there, !is_error, "{text}");
        if is_error { failed.push(text) } else { made += 1 }
    }
    Some((client, failed, made))
}

#[test]
fn f04_a_failed_fsync_is_not_acknowledged() {
    let mut failed = 0;
    for n in 1..=4 {
        let scratch = Scratch::with_project();
        scratch.ok(&["prompt", "create", "before", "x"]);
        let Some((mut client, texts, made)) = failures(&scratch, &format!("fsync:error=EIO:when={n}")) else {
            return skipped("there is no strace");
        };
        assert!(texts.iter().all(|text| text.starts_with("Error: The disk reported an error")), "{texts:?}");
        failed += texts.len();
        assert!(client.result("prompts/get", json!({ "name": "before" })).is_object());
        client.kill();
        assert_eq!(prompts(&scratch).len(), made + 1);
        assert_sound(&scratch);
    }
    assert!(failed > 0, "no write met the failure");
}

#[test]
fn f05_a_write_that_fails_once_changes_nothing_and_the_next_one_works() {
    for (errno, says) in [("ENOSPC", "Error: The disk is full"), ("EIO", "Error: The disk reported an error")] {
        let mut failed = 0;
        // strace counts the calls of each thread separately. The main thread makes its first sixteen while it opens the
        // database.
        for n in [17, 22, 31, 46, 70] {
            let scratch = Scratch::with_project();
            scratch.ok(&["prompt", "create", "before", "x"]);
            let Some((client, texts, made)) = failures(&scratch, &format!("pwrite64:error={errno}:when={n}")) else {
                return skipped("there is no strace");
            };
            assert!(texts.iter().all(|text| text.starts_with(says)), "{texts:?}");
            // The fault fires once in each thread that writes.
            assert!(made >= 4, "only {made} of 8 were made after one failure of each thread: {texts:?}");
            failed += texts.len();
            client.finish();
            assert_eq!(prompts(&scratch).len(), made + 1);
            assert_sound(&scratch);
        }
        assert!(failed > 0, "no write met {errno}");
    }
}

/// Fills the file system below the scratch folder to the last byte.
pub(crate) fn fill(scratch: &Scratch, name: &str) -> std::path::PathBuf {
    use std::io::Write;
    let path = scratch.path().join(name);
    let mut file = std::fs::File::create(&path).expect("a file");
    for size in [64 << 10, 4 << 10, 1] {
        while file.write_all(&vec![b'x'; size]).is_ok() {}
    }
    path
}

#[test]
fn f06_a_full_disk_refuses_writes_and_serves_reads() {
    let scratch = Scratch::new();
    let Some(_mount) = Mount::in_memory("6m", scratch.path()) else {
        return skipped("a full disk needs root and tmpfs");
    };
    scratch.ok(&["project", "create", "p"]);
    scratch.ok(&["prompt", "create", "before", "as it was"]);
    let mut client = Client::legacy(&scratch, "2025-06-18");
    let filler = fill(&scratch, "filler");
    let big = content_of("big", 200_000);
    for n in 0..5 {
        let arguments = json!({ "name": format!("n{n}"), "content": big });
        let (text, is_error) = client.call("create_prompt", arguments);
        assert!(is_error && text.starts_with("Error: The disk is full"), "{text}");
        let got = client.result("prompts/get", json!({ "name": "before" }));
        assert_eq!(got["messages"][0]["content"]["text"], "as it was");
    }
    assert_eq!(client.result("prompts/list", json!({}))["prompts"].as_array().expect("prompts").len(), 1);
    // These commands run next to the server. Further down, commands run without a server.
    assert_eq!(scratch.ok(&["prompt", "show", "before"]), "as it was");
    assert_refused(&scratch, &["prompt", "create", "shell", &content_of("shell", 90_000)], "E_DISK_FULL");
    assert_refused(&scratch, &["backup", "copy.db"], "E_DISK_FULL");
    assert!(!scratch.path().join("copy.db").exists());
    client.finish();
    // Without a server, there is not even room for the WAL's index, which readers share.
    let more = fill(&scratch, "more");
    assert_eq!(scratch.ok(&["prompt", "show", "before"]), "as it was");
    assert_refused(&scratch, &["prompt", "create", "shell", "x"], "E_DISK_FULL");
    let mut client = Client::legacy(&scratch, "2025-06-18");
    assert!(client.result("prompts/get", json!({ "name": "before" })).is_object());
    client.finish();
    std::fs::remove_file(filler).expect("the filler goes");
    std::fs::remove_file(more).expect("the rest goes");
    let mut client = Client::legacy(&scratch, "2025-06-18");
    let (text, is_error) = client.call("create_prompt", json!({ "name": "after", "content": big }));
    assert!(!is_error, "{text}");
    client.finish();
    assert_eq!(prompts(&scratch).into_iter().collect::<Vec<_>>(), ["after", "before"]);
    assert_sound(&scratch);
}

#[test]
fn a_database_that_cannot_be_created_for_lack_of_room_leaves_no_file() {
    let (mut refused, mut made) = (0, 0);
    for kilobytes in (100..3_000).step_by(200) {
        let scratch = Scratch::new();
        let Some(_mount) = Mount::in_memory(&format!("{kilobytes}k"), scratch.path()) else {
            return skipped("a full disk needs root and tmpfs");
        };
        let ran = scratch.run(&["--json", "init"]);
        if ran.status == 0 {
            assert_sound(&scratch);
            made += 1;
            continue;
        }
        assert!(super::fails(&ran, "E_DISK_FULL"), "{kilobytes} KiB: {ran}");
        let left: Vec<_> = std::fs::read_dir(scratch.path()).expect("the folder").flatten().collect();
        let left: Vec<_> =
            left.iter().filter(|entry| !entry.file_name().to_string_lossy().ends_with(".lock")).collect();
        assert!(left.iter().all(|entry| entry.path().is_dir()), "{kilobytes} KiB: {left:?}");
        refused += 1;
    }
    assert!(refused > 2 && made > 2, "{refused} refused, {made} made");
}

/// Checks that reads work and writes fail with E_READ_ONLY, in a shell and in a server. `wrapper` starts both.
fn assert_read_only(scratch: &Scratch, wrapper: &[&str]) {
    let run = |arguments: &[&str]| scratch.finish(scratch.command_under(wrapper).args(arguments));
    let shown = run(&["prompt", "show", "before"]);
    assert_eq!((shown.status, shown.stdout.as_str()), (0, "as it was"), "{shown}");
    let refused = run(&["--json", "prompt", "create", "n", "x"]);
    assert!(refused.status == 1 && fails(&refused, "E_READ_ONLY"), "{refused}");
    let mut server = scratch.command_under(wrapper);
    let mut client = Client::spawn(server.arg("serve")).shake_hands("2025-06-18");
    let got = client.result("prompts/get", json!({ "name": "before" }));
    assert_eq!(got["messages"][0]["content"]["text"], "as it was");
    let (text, is_error) = client.call("create_prompt", json!({ "name": "n", "content": "x" }));
    assert!(is_error && text.contains("Cannot write to the database"), "{text}");
    client.finish();
}

#[test]
fn f07_a_read_only_file_system_refuses_writes_and_serves_reads() {
    let scratch = Scratch::new();
    let Some(mount) = Mount::in_memory("6m", scratch.path()) else {
        return skipped("a read-only file system needs root and tmpfs");
    };
    scratch.ok(&["project", "create", "p"]);
    scratch.ok(&["prompt", "create", "before", "as it was"]);
    mount.remount("ro");
    assert_read_only(&scratch, &[]);
    mount.remount("rw");
    // If a killed server left a WAL, reads include what it contains.
    let mut client = Client::legacy(&scratch, "2025-06-18");
    client.call("update_prompt", json!({ "name": "before", "content": "newer" }));
    client.kill();
    mount.remount("ro");
    assert_eq!(scratch.ok(&["prompt", "show", "before"]), "newer");
    mount.remount("rw");
    std::fs::remove_file(scratch.path().join("test.db-shm")).expect("the index of the WAL");
    mount.remount("ro");
    let ran = scratch.run(&["prompt", "show", "before"]);
    assert!(ran.stdout == "newer" || ran.status == 1, "an old state was served: {ran}");
}

/// A server that started without write access can write as soon as the file system allows it. From then on, `restore`
/// also notices that the server uses the database.
#[test]
fn a_server_that_began_without_write_access_writes_once_it_may() {
    let scratch = Scratch::new();
    let Some(mount) = Mount::in_memory("6m", scratch.path()) else {
        return skipped("a read-only file system needs root and tmpfs");
    };
    scratch.ok(&["project", "create", "p"]);
    scratch.ok(&["prompt", "create", "before", "as it was"]);
    scratch.ok(&["backup", "backup.db"]);
    mount.remount("ro");
    let mut client = Client::legacy(&scratch, "2025-06-18");
    let write = |client: &mut Client| client.call("create_prompt", json!({ "name": "after", "content": "x" }));
    let (text, is_error) = write(&mut client);
    assert!(is_error && text.contains("Cannot write to the database"), "{text}");
    mount.remount("rw");
    eventually("it is written", || (!write(&mut client).1).then_some(()));
    let names: Vec<_> = client.result("prompts/list", json!({}))["prompts"].as_array().expect("prompts").clone();
    assert_eq!(names.len(), 2, "{names:?}");
    // Now the server also reads what others write.
    scratch.ok(&["prompt", "update", "before", "--content", "newer"]);
    let got = client.result("prompts/get", json!({ "name": "before" }));
    assert_eq!(got["messages"][0]["content"]["text"], "newer");
    eventually("it is announced", || {
        let ran = scratch.run(&["--json", "restore", "backup.db", "--yes"]);
        fails(&ran, "E_DB_IN_USE").then_some(())
    });
    client.finish();
    assert_sound(&scratch);
}

#[test]
fn f07_a_read_only_folder_refuses_writes_and_serves_reads() {
    use std::os::unix::fs::PermissionsExt;
    let Some(nobody) = as_bound_user().filter(|words| !words.is_empty()) else {
        return skipped("another user needs root and runuser, and has to reach the binary");
    };
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "before", "as it was"]);
    let mode = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a mode");
    };
    // By default, only the owner can read the database.
    for (file, folder) in [(0o644, 0o755), (0o666, 0o755), (0o444, 0o555)] {
        mode(&scratch.db(), file);
        mode(scratch.path(), folder);
        assert_read_only(&scratch, nobody);
    }
    // The owner can write. A server without write access opens the file as if nobody wrote to it. It must still serve
    // what the owner wrote, and never a mixture of old and new.
    mode(&scratch.db(), 0o644);
    let mut reader = Client::spawn(scratch.command_under(nobody).arg("serve")).shake_hands("2025-06-18");
    let mut read = || {
        let got = reader.request("prompts/get", json!({ "name": "before" }));
        got["result"]["messages"][0]["content"]["text"].as_str().map(str::to_owned)
    };
    assert_eq!(read().as_deref(), Some("as it was"));
    for text in ["newer", "newest"] {
        scratch.ok(&["prompt", "update", "before", "--content", text]);
        eventually("the change is read", || (read().as_deref() == Some(text)).then_some(()));
    }
    // The server can also write as soon as the modes allow it.
    mode(scratch.path(), 0o777);
    mode(&scratch.db(), 0o666);
    eventually("it is written", || {
        let (text, is_error) = reader.call("create_prompt", json!({ "name": "mine", "content": "x" }));
        assert!(
            !is_error || text.contains("Cannot write to the database") || text.contains("removed or replaced"),
            "{text}"
        );
        (!is_error).then_some(())
    });
    assert_eq!(reader.result("prompts/get", json!({ "name": "mine" }))["messages"][0]["content"]["text"], "x");
    reader.finish();
    mode(&scratch.db(), 0o600);
    let unreadable = scratch.finish(scratch.command_under(nobody).args(["--json", "prompt", "list"]));
    assert!(unreadable.status == 1 && fails(&unreadable, "E_DB_UNAVAILABLE"), "{unreadable}");
}

#[test]
fn a_connection_that_cannot_be_opened_fails_with_its_cause() {
    let scratch = Scratch::with_project();
    let store = scratch.store();
    // The store keeps one connection open. Take it, so that the read has to open another.
    let _reader = store.reader().expect("a reader");
    std::fs::rename(scratch.db(), scratch.path().join("away.db")).expect("a rename");
    let (sender, answer) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(store.read(|_| Ok(())).map_err(|error| error.code())));
    // If no connection can be opened, the pool retries for twice the busy timeout.
    let answer = answer.recv_timeout(mcpkg_store::BUSY_TIMEOUT).expect("an answer before the pool gives up");
    assert_eq!(answer, Err(mcpkg_base::error::Code::Unavailable));
}
