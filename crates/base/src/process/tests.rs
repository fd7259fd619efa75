//! Tests real programs that end in different ways.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::*;

const LONG: Duration = Duration::from_secs(20);

fn shell(script: &str) -> Program {
    Program::new("/bin/sh").args(["-c", script])
}

fn run(program: Program, input: &[u8], time: Duration) -> Result<Output, Failure> {
    program.run(input, &Limits::new(time, &CancellationToken::new()))
}

fn printed(program: Program) -> String {
    let output = run(program, b"", LONG).unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.whole().unwrap()).unwrap()
}

#[test]
fn a_program_gets_its_input_and_its_output_is_returned() {
    let output = run(shell("cat; echo no >&2; exit 3"), b"in", LONG).unwrap();
    assert_eq!((output.status.code(), output.stderr.text().as_str()), (Some(3), "no\n"));
    assert_eq!(output.stdout.whole().unwrap(), b"in");
    // More input than a pipe holds, for a program that reads nothing.
    let many = vec![b'x'; 1 << 20];
    assert!(!run(shell("exit 1"), &many, LONG).unwrap().status.success());
    assert!(matches!(run(shell("exit 0"), &many, LONG), Err(Failure::Lost(_))));
    assert!(matches!(run(Program::new("/none"), b"", LONG), Err(Failure::NotStarted(_))));
}

#[test]
fn both_outputs_are_merged_in_order_even_if_the_program_is_killed() {
    let token = CancellationToken::new();
    let as_one = |script: &str, time| shell(script).run_as_one(&Limits::new(time, &token));
    let (status, printed) = as_one("echo 1; echo 2 >&2; echo 3; cat; exit 4", LONG);
    assert_eq!((status.unwrap().code(), printed.text().as_str()), (Some(4), "1\n2\n3\n"));
    let (ended, printed) = as_one("echo before; echo it >&2; sleep 1000 & wait", Duration::from_millis(300));
    assert!(matches!(ended, Err(Failure::TimedOut)));
    assert_eq!(printed.text(), "before\nit\n");
    assert!(matches!(Program::new("/none").run_as_one(&Limits::new(LONG, &token)).0, Err(Failure::NotStarted(_))));
}

#[test]
fn keeps_the_beginning_and_the_end_of_a_long_output() {
    let Capture { head, tail } = Capture::default();
    let output = run(shell("yes begin | head -c 9000000; echo end"), b"", LONG).unwrap();
    let text = output.stdout.text();
    assert!(text.starts_with("begin\n") && text.ends_with("\nend\n"));
    let dropped = 9_000_004 - head - tail;
    assert!(text.contains(&format!("\n... {dropped} bytes left out ...\n")));
    assert_eq!(output.stdout.whole(), None);

    let small = shell("printf 123456789").capture(Capture { head: 2, tail: 3 });
    assert_eq!(run(small, b"", LONG).unwrap().stdout.text(), "12\n... 4 bytes left out ...\n789");
    // Characters are not cut in half.
    let small = shell("printf 1äöü9").capture(Capture { head: 2, tail: 2 });
    assert_eq!(run(small, b"", LONG).unwrap().stdout.text(), "1\n... 6 bytes left out ...\n9");
}

#[test]
fn a_program_gets_only_the_given_variables() {
    // cargo sets the variables that start with `CARGO_` for tests.
    assert!(std::env::var("CARGO_MANIFEST_DIR").is_ok() && std::env::var("PATH").is_ok());
    let names = |program: Program| {
        let mut names: Vec<String> = printed(program).lines().map(|line| line.replace('=', " ")).collect();
        names.sort_unstable();
        names
    };
    let env = || Program::new("/usr/bin/env");
    let usual = names(env().variable("A", "1"));
    assert!(usual.contains(&"A 1".to_owned()) && usual.iter().any(|line| line.starts_with("PATH ")), "{usual:?}");
    assert!(!usual.iter().any(|line| line.starts_with("CARGO_")), "{usual:?}");
    let inherited = env().environment(Environment::Inherited).without("CARGO_MANIFEST_DIR");
    let inherited = names(inherited);
    assert!(inherited.iter().any(|line| line.starts_with("CARGO_PKG_NAME ")), "{inherited:?}");
    assert!(!inherited.iter().any(|line| line.starts_with("CARGO_MANIFEST_DIR ")), "{inherited:?}");
    let without = names(env().environment(Environment::Without(&["CARGO_PKG_", "MCPKG_"])));
    assert!(without.iter().any(|line| line.starts_with("CARGO_MANIFEST_DIR ")), "{without:?}");
    assert!(!without.iter().any(|line| line.starts_with("CARGO_PKG_")), "{without:?}");
    let exactly = Environment::Exactly([("B".into(), "2".into())].into());
    assert_eq!(names(env().environment(exactly)), ["B 2"]);
}

#[test]
fn arguments_reach_a_program_unchanged() {
    let odd = ["a b", "$(id)", "'", "", "-n", "\\", "é\n"];
    let seen = printed(Program::new("printf").args(["%s\\0"]).args(odd));
    assert_eq!(seen.split_terminator('\0').collect::<Vec<_>>(), odd);
}

/// Returns a script that starts a child, writes the child's id to `file` and waits for it.
fn parent(file: &Path) -> String {
    format!("sleep 1000 & echo $! > '{0}.new'; mv '{0}.new' '{0}'; wait", file.display())
}

fn wait_for(file: &Path) -> String {
    let end = Instant::now() + LONG;
    while !file.exists() {
        assert!(Instant::now() < end, "the program did not begin");
        thread::sleep(Duration::from_millis(2));
    }
    std::fs::read_to_string(file).unwrap().trim().to_owned()
}

fn assert_gone(id: &str) {
    let end = Instant::now() + LONG;
    let runs = || std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    while runs() {
        assert!(Instant::now() < end, "the program's child still runs");
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn cancelling_ends_the_wait_the_program_and_its_children() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("child");
    let cancelled = CancellationToken::new();
    let child = thread::scope(|scope| {
        let running = scope.spawn(|| shell(&parent(&file)).run(b"", &Limits::new(LONG * 100, &cancelled)));
        let child = wait_for(&file);
        cancelled.cancel();
        assert!(matches!(running.join().unwrap(), Err(Failure::Cancelled)));
        child
    });
    assert_gone(&child);
    // If the call was cancelled before it started, nothing is waited for.
    assert!(matches!(shell("sleep 1000").run(b"", &Limits::new(LONG, &cancelled)), Err(Failure::Cancelled)));
}

#[test]
fn at_the_deadline_a_program_is_asked_to_end_and_then_killed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("asked");
    let tidy = format!("trap 'echo yes > \"{}\"; exit' TERM; sleep 1000 & wait", file.display());
    assert!(matches!(run(shell(&tidy), b"", Duration::from_millis(300)), Err(Failure::TimedOut)));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "yes\n");
    // This program ignores the request to end.
    let token = CancellationToken::new();
    let limits = Limits { time: Duration::from_millis(50), grace: Duration::from_millis(50), cancelled: &token };
    let deaf = shell("trap '' TERM; sleep 1000; sleep 1000");
    assert!(matches!(deaf.run(b"", &limits), Err(Failure::TimedOut)));
}

#[test]
fn children_of_a_program_end_with_it_unless_they_may_stay() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("child");
    let leave = format!("sleep 1000 > /dev/null 2>&1 & echo $! > '{}'; echo done", file.display());
    assert_eq!(printed(shell(&leave)), "done\n");
    assert_gone(&wait_for(&file));
    assert_eq!(printed(shell(&leave).leaves_children()), "done\n");
    let child = wait_for(&file);
    assert!(Path::new("/proc").join(&child).exists());
    let killed = run(Program::new("kill").args(["-KILL", &child]), b"", LONG).unwrap();
    assert!(killed.status.success());
}

#[test]
fn an_output_that_is_held_open_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("child");
    let holder = format!("sleep 1000 & echo $! > '{}'; echo done", file.display());
    assert_eq!(printed(shell(&holder).leaves_children()), "done\n");
    assert!(run(Program::new("kill").args(["-KILL", &wait_for(&file)]), b"", LONG).unwrap().status.success());
}

#[test]
fn a_program_with_pipes_exchanges_messages_and_is_ended() {
    let mut running = shell("while read line; do echo \"<$line>\"; done; echo bye >&2; exit 4").start().unwrap();
    let (mut stdin, stdout) = (running.stdin().unwrap(), running.stdout().unwrap());
    let mut lines = BufReader::new(stdout).lines();
    stdin.write_all(b"a\n").unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "<a>");
    let token = CancellationToken::new();
    assert!(running.wait(Instant::now() + Duration::from_millis(20), &token).unwrap().is_none());
    drop(stdin);
    let status = running.wait(Instant::now() + LONG, &token).unwrap().unwrap();
    assert_eq!((status.code(), running.stderr().text().as_str()), (Some(4), "bye\n"));

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("child");
    let running = shell(&parent(&file)).start().unwrap();
    let child = wait_for(&file);
    drop(running);
    assert_gone(&child);
}
