//! Tests that kill the client or the server during a publish to a server. Afterwards the server has the whole version
//! or none of it, and publishing again works.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Stdio};

use super::{assert_sound, strace, under_strace};
use crate::support::{Ran, Saved, Scratch, eventually, skipped, tool};
use crate::tools::team::{Team, body, with_token};

const TOOL: &str = "alice/weather";

/// Returns the versions that a server lists. Checks that each can be downloaded in full.
fn published(team: &Team, token: &str) -> BTreeSet<String> {
    let answer = team.ask("GET", &format!("/tools/{TOOL}"), Some(token));
    if answer.status == 404 {
        return BTreeSet::new();
    }
    let versions = body(&answer)["versions"].take();
    let version = |version: &serde_json::Value| version["version"].as_str().expect("a version").to_owned();
    let versions: BTreeSet<String> = versions.as_array().expect("versions").iter().map(version).collect();
    for version in &versions {
        let archive = team.ask("GET", &format!("/tools/{TOOL}/versions/{version}/download"), Some(token));
        assert_eq!(archive.status, 200, "{}", archive.text());
    }
    versions
}

/// Creates the folder of a version, and returns its path.
fn package(scratch: &Scratch, version: &str) -> String {
    let front = format!("---\nname: {TOOL}\nversion: {version}\ndescription: Tells the weather\n---\nSun {version}\n");
    let file = scratch.file(&format!("packages/{version}/SKILL.md"), front);
    file.parent().expect("a folder").display().to_string()
}

fn publish(home: &Scratch, token: &str, folder: &str) -> Ran {
    with_token(home, token, &["tool", "publish", folder, "--to", "team"])
}

#[test]
fn kill_9_of_a_client_at_each_step_of_a_publish_to_a_server_leaves_all_or_nothing_there() {
    let team = Team::start(&[]);
    let token = team.key(&["alice", "--publish", "alice"]);
    let home = team.home();
    let (mut killed, mut whole) = (0_usize, 0_usize);
    for (call, step) in [("connect", 1), ("sendto,write,writev,sendmsg", 1), ("recvfrom,read", 25)] {
        for n in (1..).step_by(step) {
            let version = format!("1.{}.0", killed + whole);
            let folder = package(&home, &version);
            let inject = format!("{call}:signal=SIGKILL:when={n}");
            let Some(mut command) = under_strace(&home, &inject) else { return skipped("there is no strace") };
            command.env("TEAM_TOKEN", &token).args(["--json", "tool", "publish", &folder, "--to", "team"]);
            let before = published(&team, &token);
            let ran = home.finish(&mut command);
            // The killed client may have published the version or not, but nothing else may be new.
            let is_there = eventually("the server has what it was sent, or nothing", || {
                let after = published(&team, &token);
                (after.difference(&before).all(|new| *new == version)).then(|| after.contains(&version))
            });
            if ran.status == 0 {
                assert!(is_there, "{call} {n}: {ran}");
                whole += 1;
                break;
            }
            killed += 1;
            assert_sound(&home);
            let again = publish(&home, &token, &folder);
            assert_eq!(again.status, 0, "killed at {call} {n}, and done again: {again}");
            assert!(published(&team, &token).contains(&version), "killed at {call} {n}, and done again");
        }
    }
    assert_sound(&team.scratch);
    eprintln!("a client that publishes: {killed} killed");
    assert!(killed >= 5, "only {killed} were killed");
}

/// Attaches strace to a running server, with the fault `inject`. Counts of system calls begin now. Returns `None`
/// without strace.
fn killed_at(team: &Team, inject: &str) -> Option<Child> {
    let words = strace(inject)?;
    let pid = team.server.pid().to_string();
    let mut command = tool(&words[0]);
    let child = command.args(&words[1..]).args(["-p", &pid]).stderr(Stdio::null()).spawn().expect("strace starts");
    let is_traced =
        |status: String| status.lines().any(|line| line.starts_with("TracerPid:") && !line.ends_with("\t0"));
    eventually("strace holds each thread", || {
        let mut tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("a process").flatten();
        tasks.all(|task| fs::read_to_string(task.path().join("status")).is_ok_and(is_traced)).then_some(())
    });
    Some(child)
}

#[test]
fn kill_9_of_a_server_at_each_write_of_a_publish_leaves_all_or_nothing_there() {
    let mut team = Team::start(&[]);
    let token = team.key(&["alice", "--publish", "alice"]);
    let author = team.home();
    assert_eq!(publish(&author, &token, &package(&author, "1.0.0")).status, 0);
    let folder = package(&author, "1.1.0");
    team.server.kill();
    team.server.ended();
    let saved = Saved::of(&[team.scratch.path()]);
    let (mut killed, mut whole) = (0, 0);
    for call in ["pwrite64", "fdatasync"] {
        for n in 1.. {
            saved.restore();
            team.server = Team::serve(&team.scratch, &[]);
            let home = team.home();
            let Some(mut tracer) = killed_at(&team, &format!("{call}:signal=SIGKILL:when={n}")) else {
                return skipped("there is no strace");
            };
            let ran = publish(&home, &token, &folder);
            team.server.kill();
            team.server.ended();
            tracer.wait().expect("strace ends");
            assert_sound(&team.scratch);
            team.server = Team::serve(&team.scratch, &[]);
            let found = published(&team, &token);
            let is_there = found.contains("1.1.0");
            assert!(found.contains("1.0.0") && found.len() == 1 + usize::from(is_there), "{call} {n}: {found:?}");
            if ran.status == 0 {
                assert!(is_there, "{call} {n}: an acknowledged version is there");
                break;
            }
            assert!(ran.stdout.contains("E_REGISTRY_"), "{call} {n}: {ran}");
            killed += 1;
            whole += usize::from(is_there);
            let home = team.home();
            let again = publish(&home, &token, &folder);
            assert_eq!(again.status, 0, "killed at {call} {n}, and done again: {again}");
            assert!(published(&team, &token).contains("1.1.0"));
            team.server.kill();
            team.server.ended();
        }
    }
    eprintln!("a server that is published to: {killed} killed, {whole} of them when it was done");
    assert!(killed >= 3, "only {killed} were killed");
}
