//! Tests with more requests than any client sends at once, and with content larger than an answer may be.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::process::Command;
use std::thread;

use serde_json::{Value, json};

use super::content_of;
use crate::support::{Client, Raw, Scratch, finds, free_space, memory, request, runs_all, skipped};

/// Sends `count` requests without waiting. Checks that each is answered once and that memory stays below `most` KiB.
/// Pages of the program's file do not count, because their number depends on how the program was built.
fn flood(scratch: &Scratch, count: i64, method: &str, params: &Value, most: u64) {
    let mut server = Raw::start(scratch, &[]);
    let mut input = server.input.take().expect("the input");
    let sender = thread::spawn({
        let (method, params) = (method.to_owned(), params.clone());
        move || {
            for first in (1..=count).step_by(1000) {
                let lines: String = (first..first + 1000).map(|id| request(id, &method, &params)).collect();
                input.write_all(lines.as_bytes()).expect("the server reads");
            }
            input
        }
    });
    let mut answered = HashSet::new();
    for _ in 0..count {
        let answer = server.answer();
        assert!(answer["result"].is_object(), "{answer}");
        assert!(answered.insert(answer["id"].as_i64()), "answered twice: {answer}");
    }
    let held = memory(server.pid(), "VmHWM") - memory(server.pid(), "RssFile");
    eprintln!("{count} x {method}: at most {held} KiB");
    assert!(held < most, "{held} KiB");
    server.input = Some(sender.join().expect("the sender ends"));
    server.input = None;
    assert_eq!(server.rest(), Vec::<Value>::new());
    assert!(server.ended().success());
}

#[test]
fn f22_a_hundred_thousand_pipelined_reads_are_all_answered() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "n", "x"]);
    flood(&scratch, 100_000, "prompts/get", &json!({ "name": "n" }), 32 << 10);
}

#[test]
fn f22_pipelined_requests_to_the_engine_are_all_answered() {
    let scratch = Scratch::with_project();
    let count = if runs_all() { 20_000 } else { 4_000 };
    flood(&scratch, count, "resources/templates/list", &json!({}), 32 << 10);
}

/// Writes a sparse file of `size` bytes. Each MiB begins with its own offset, so that chunks in the wrong order are
/// detected.
fn write_large(path: &Path, size: u64) {
    let mut file = File::create(path).expect("a file");
    file.set_len(size).expect("room for holes");
    for at in (0..size).step_by(1 << 20) {
        file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(&at.to_le_bytes())).expect("a mark");
    }
}

/// Returns whether two files are equal, without loading them into memory.
fn same(one: &Path, other: &Path) -> bool {
    let status = Command::new("cmp").arg("-s").args([one, other]).status();
    status.expect("cmp starts").success()
}

#[test]
fn f23_a_gib_goes_in_and_out_in_little_memory_and_no_answer_carries_it() {
    // A smaller file is enough, as long as it exceeds the memory that the process gets.
    let size: u64 = if runs_all() { 1 << 30 } else { 256 << 20 };
    if finds("prlimit").is_none() || finds("cmp").is_none() {
        return skipped("a limit of memory needs prlimit, and files are compared by cmp");
    }
    let scratch = Scratch::with_project();
    if free_space(scratch.path()) < 5 * size {
        return skipped("a large file in and out needs five times its size of free disk");
    }
    write_large(&scratch.path().join("large.bin"), size);
    scratch.ok(&["prompt", "create", "n", "x"]);
    // The address space of the process is smaller than the resource. With more malloc arenas, the C library would
    // reserve so much of it that no thread could start.
    let limited = || {
        let mut command = scratch.command_under(&["prlimit", &format!("--as={}", 200 << 20), "--"]);
        command.env("MALLOC_ARENA_MAX", "1");
        command
    };
    let run = |arguments: &[&str]| {
        let ran = scratch.finish(limited().args(arguments));
        assert_eq!(ran.status, 0, "{arguments:?}: {ran}");
        ran.stdout
    };
    run(&["resource", "create", "large", "file:///large.bin", "@large.bin"]);

    let mut client = Client::spawn(limited().arg("serve")).shake_hands("2025-06-18");
    let error = client.error("resources/read", json!({ "uri": "file:///large.bin" }));
    assert_eq!(error["code"], -32602);
    let (message, bytes) = (error["message"].as_str().unwrap_or_default(), format!("{size} bytes"));
    assert!(message.contains(&bytes) && message.contains("mcpkg resource show large -o FILE"), "{message}");
    let (text, is_error) = client.call("read_resource", json!({ "uri": "file:///large.bin" }));
    assert!(is_error && text.contains(&bytes), "{text}");
    assert!(client.result("prompts/get", json!({ "name": "n" })).is_object());
    client.finish();

    let (large, out) = (scratch.path().join("large.bin"), scratch.path().join("out.bin"));
    run(&["resource", "show", "large", "-o", "out.bin"]);
    assert!(same(&large, &out), "other bytes came out");
    fs::remove_file(out).expect("the file");
    run(&["export", "out"]);
    assert!(same(&large, &scratch.path().join("out/large.bin")), "other bytes were exported");
    scratch.ok(&["project", "create", "q"]);
    run(&["-p", "q", "import", "out"]);
    let again = run(&["-p", "q", "import", "out"]);
    assert!(again.contains("(2 unchanged)"), "{again}");
    // Content that is already stored is not stored again.
    assert!(scratch.size().is_none_or(|stored| stored < size + size / 50));
    run(&["check", "--deep"]);
}

#[test]
fn f23_a_file_that_changes_while_it_is_read_leaves_nothing_behind() {
    let scratch = Scratch::with_project();
    let file = scratch.path().join("changing.bin");
    write_large(&file, 128 << 20);
    let mut child = scratch
        .command()
        .args(["--json", "resource", "create", "c", "file:///c", "@changing.bin"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("mcpkg starts");
    // The file changes all the time, so two reads of it are never equal.
    let mut writer = File::options().write(true).open(&file).expect("the file");
    for n in 0_u64.. {
        writer.seek(SeekFrom::Start(127 << 20)).and_then(|_| writer.write_all(&n.to_le_bytes())).expect("a write");
        if child.try_wait().expect("a child can be waited for").is_some() {
            break;
        }
    }
    let output = child.wait_with_output().expect("mcpkg ends");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.code() == Some(1) && stdout.contains("E_FILE_FAILED"), "{stdout}");
    assert_eq!(scratch.ok(&["check", "--deep"]).matches(" of 0 stored contents").count(), 1);
    assert!(scratch.size().is_none_or(|size| size < 1 << 20));
}

#[test]
fn a_long_line_without_an_end_is_bounded() {
    let scratch = Scratch::with_project();
    let mut server = Raw::start(&scratch, &["--max-line", "1000000"]);
    server.write(request(1, "ping", &json!({ "a": content_of("x", 900_000) })));
    assert!(server.answer()["result"].is_object());
    let before = memory(server.pid(), "VmHWM");
    server.write(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\",\"params\":{\"a\":\"");
    for _ in 0..64 {
        server.write(vec![b'x'; 1 << 20]);
    }
    assert_eq!(server.answer()["error"]["code"], -32600);
    server.write(b"\"}}\n");
    server.write(request(3, "prompts/list", &json!({})));
    assert_eq!(server.answer()["id"], 3);
    let held = memory(server.pid(), "VmHWM");
    // The server keeps nothing of the line's 64 MiB. Allow a few pages for the next answer.
    assert!(held < before + (8 << 10), "{before} KiB grew to {held} KiB");
}
