//! Tests that the console restores the terminal after a signal, a suspension and an editor, and ends after a hangup.

use std::process::Command;
use std::time::{Duration, Instant};

use super::{NO_SCRIPT, USUAL};
use crate::support::{Scratch, Screen, morning, skipped};

const ENTERS: &str = "\u{1b}[?1049h";
const LEAVES: &str = "\u{1b}[?1049l";
const SHOWS_CURSOR: &str = "\u{1b}[?25h";

/// Creates a project with one prompt.
fn scratch() -> Scratch {
    let scratch = Scratch::with_project_here();
    scratch.ok(&["prompt", "create", "review", "Look for missing tests."]);
    scratch
}

/// Runs a line of bash with job control. In it, `$0 console` is the console, and `state N` saves the terminal's
/// settings in the file `state.N`.
fn shell(scratch: &Scratch, line: &str) -> Option<Screen> {
    if Command::new("/bin/bash").arg("-c").arg(":").status().is_err() {
        skipped("there is no bash");
        return None;
    }
    let plain = scratch.command();
    let mut command = Command::new("/bin/bash");
    let line = format!("state() {{ stty -g > state.$1; }}; state before; {line}");
    command.args(["--norc", "-m", "-c", &line]).arg(plain.get_program());
    for (name, value) in plain.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.env("TERM", "xterm-256color").env("TZ", morning()).current_dir(scratch.path());
    let screen = Screen::start(USUAL, &command);
    if screen.is_none() {
        skipped(NO_SCRIPT);
    }
    screen
}

/// Waits for a file that the shell's line writes, and returns its text.
#[track_caller]
fn awaited(scratch: &Scratch, name: &str) -> String {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        match std::fs::read_to_string(scratch.path().join(name)) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            _ => assert!(Instant::now() < until, "{name} was not written"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[track_caller]
fn assert_given_back(scratch: &Scratch, screen: &Screen, state: &str) {
    assert_eq!(awaited(scratch, &format!("state.{state}")), awaited(scratch, "state.before"));
    let written = String::from_utf8_lossy(&screen.written()).into_owned();
    let last = |code: &str| written.rfind(code).unwrap_or_else(|| panic!("{code:?} was not written: {written:?}"));
    assert!(last(LEAVES) > last(ENTERS) && last(SHOWS_CURSOR) > last(ENTERS), "{written:?}");
}

fn signal(pid: &str, name: &str) {
    let status = Command::new("kill").args([name, pid]).status();
    assert!(status.expect("kill starts").success());
}

const RUNS: &str = "bash -c 'echo $$ > pid; exec \"$0\" console --ascii' \"$0\"";

#[test]
fn each_frame_is_shown_at_once() {
    let scratch = scratch();
    let Some(mut screen) = super::console(&scratch, &[]) else { return };
    screen.wait("nothing waits for you");
    screen.keys("3");
    screen.wait("Look for missing tests");
    let before = screen.text();
    screen.resize((70, 20));
    screen.wait_until(|text| *text != before && text.contains("Look for missing tests"), "the screen of the new size");
    screen.keys("\u{3}");
    screen.assert_frames();
}

#[test]
fn sigterm_restores_the_terminal() {
    let scratch = scratch();
    let Some(screen) = shell(&scratch, &format!("{RUNS}; state after; sleep 60")) else { return };
    screen.wait("nothing waits for you");
    signal(&awaited(&scratch, "pid"), "-TERM");
    assert_given_back(&scratch, &screen, "after");
}

#[test]
fn ctrl_z_restores_the_terminal_and_fg_takes_it_back() {
    let scratch = scratch();
    let line = format!("{RUNS}; state stopped; sleep 1; fg; state after; sleep 60");
    let Some(mut screen) = shell(&scratch, &line) else { return };
    screen.wait("nothing waits for you");
    screen.keys("3");
    screen.wait("Look for missing tests.");
    screen.keys("\u{1a}");
    assert_eq!(awaited(&scratch, "state.stopped"), awaited(&scratch, "state.before"));
    // The same screen is shown again, and reacts to keys.
    screen.wait_until(|text| text.contains("3 CONTENT") && text.contains("Look for missing tests."), "the content");
    screen.keys("2");
    screen.wait("Feed, by time");
    screen.keys("qq\u{3}");
    assert_given_back(&scratch, &screen, "after");
}

#[test]
fn a_hangup_ends_the_console() {
    let scratch = scratch();
    let Some(screen) = shell(&scratch, RUNS) else { return };
    screen.wait("nothing waits for you");
    let pid = awaited(&scratch, "pid");
    // The terminal's other side goes away, as when a connection is lost.
    drop(screen);
    let until = Instant::now() + Duration::from_secs(60);
    let is_there = || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    while is_there() {
        assert!(Instant::now() < until, "the console lives on without a terminal");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn an_editor_that_fails_is_reported_and_the_screen_is_back() {
    let scratch = scratch();
    let line = format!("export EDITOR=/bin/false; {RUNS}; state after; sleep 60");
    let Some(mut screen) = shell(&scratch, &line) else { return };
    screen.wait("nothing waits for you");
    screen.keys("3");
    screen.wait("Look for missing tests.");
    screen.keys("E");
    let text = screen.wait("error:");
    assert!(text.contains("3 CONTENT"), "{text}");
    screen.keys("2");
    screen.wait("Feed, by time");
    screen.keys("\u{3}");
    assert_given_back(&scratch, &screen, "after");
}

#[test]
fn an_editor_has_the_terminal_to_itself_and_the_edit_is_shown() {
    let scratch = scratch();
    // The editor reads a line from the terminal. None of its keys may go to the console.
    let editor = scratch.path().join("edit.sh");
    std::fs::write(&editor, "#!/bin/sh\nstty -g > state.editor\nprintf 'line? '\nread line\necho \"$line\" > \"$1\"\n")
        .expect("an editor");
    let line = format!("export EDITOR='/bin/sh {}'; {RUNS}; state after; sleep 60", editor.display());
    let Some(mut screen) = shell(&scratch, &line) else { return };
    screen.wait("nothing waits for you");
    screen.keys("3");
    screen.wait("Look for missing tests.");
    screen.keys("E");
    screen.wait("line?");
    assert_eq!(awaited(&scratch, "state.editor"), awaited(&scratch, "state.before"));
    screen.keys("Look for 2 bugs, q and D.\r");
    screen.wait_until(|text| text.contains("3 CONTENT") && text.contains("Look for 2 bugs, q and D."), "the edit");
    screen.keys("\u{3}");
    assert_given_back(&scratch, &screen, "after");
}
