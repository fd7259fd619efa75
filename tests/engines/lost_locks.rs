//! Tests in which the holder of a lock on a server loses its connection: it is ended, or the server restarts or is away
//! for a while. By default, a test has two of the three cases once; `MCPKG_TEST_LOST_LOCKS=N` repeats all three N times.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::deploy::tasks;
use crate::support::api::Trouble;
use crate::support::fuzz::Cases;
use crate::support::postgres::Server;
use crate::support::{Client, Scratch, eventually, runs_all};
use crate::workflow::faults::{WAITING, begun};
use crate::workflow::runs::{Ground, approve, code, create, execute, with_nonce};

/// What happens to the connections of lock holders.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Blow {
    /// Somebody ends the connections.
    Ended,
    /// The server crashes and restarts immediately.
    Restarted,
    /// The server is away for a while, as during a failover.
    Away,
}

impl Blow {
    fn strike(self, server: &Server, address: &str) {
        match self {
            Self::Ended => server.end_connections(address),
            Self::Restarted => server.restart(Duration::ZERO),
            Self::Away => server.restart(Duration::from_secs(1)),
        }
    }
}

/// Returns the blows with their numbers: by default two of the three, without the one that is named.
fn blows(without: Blow) -> impl Iterator<Item = (usize, Blow)> {
    let times = std::env::var("MCPKG_TEST_LOST_LOCKS").ok().and_then(|times| times.parse().ok());
    let is_whole = times.is_some() || runs_all();
    let times = times.unwrap_or(if runs_all() { 2 } else { 1 });
    let all = (0..times).flat_map(|_| [Blow::Ended, Blow::Restarted, Blow::Away]);
    all.filter(move |blow| is_whole || *blow != without).enumerate()
}

/// Starts a server that only this test uses and may restart. Its data survives a crash.
fn server() -> Option<Server> {
    Server::start_with(5432, "-c listen_addresses=''", |_| {})
}

/// Creates a prompt through a server. Returns the whole answer if it was refused.
fn write(client: &mut Client, name: &str) -> Result<(), String> {
    let arguments = json!({ "name": name, "content": "text" });
    let answer = client.request("tools/call", json!({ "name": "create_prompt", "arguments": arguments }));
    match &answer["result"] {
        result if result["isError"] == json!(false) => Ok(()),
        _ => Err(answer.to_string()),
    }
}

/// Either a `move` right after the blow is refused, or the server's later writes are. So nothing that the server
/// acknowledged is missing in the copy.
#[test]
fn a_move_during_writes_of_a_server_loses_no_acknowledged_write() {
    let Some(server) = server() else { return };
    for (n, blow) in blows(Blow::Restarted) {
        let address = server.database();
        let here = Scratch::at(&address);
        here.ok(&["project", "create", "p"]);
        // `there` is another machine: it has none of the lock files of `here`.
        let there = Scratch::at(&address);
        let mut client = Client::start(&here, &["-p", "p"]).shake_hands("2025-06-18");
        write(&mut client, "first").expect("it is written");
        let (ends, acknowledged) = (AtomicBool::new(false), Mutex::new(vec!["first".to_owned()]));
        let refused = std::thread::scope(|scope| {
            let writing = scope.spawn(|| {
                let mut refused = None;
                for n in 0.. {
                    if ends.load(Ordering::Relaxed) {
                        break;
                    }
                    match write(&mut client, &format!("n{n:06}")) {
                        Ok(()) => acknowledged.lock().expect("names").push(format!("n{n:06}")),
                        Err(why) => refused = Some(why),
                    }
                }
                refused
            });
            std::thread::sleep(Duration::from_millis(100));
            blow.strike(&server, &address);
            let asking = if n % 2 == 0 { &there } else { &here };
            let moved = asking.run(&["move", "--to", "moved.db"]);
            let copy = asking.path().join("moved.db");
            if moved.status == 0 {
                std::thread::sleep(Duration::from_millis(500));
                ends.store(true, Ordering::Relaxed);
                let refused = writing.join().expect("it ends");
                let copy = copy.to_string_lossy().into_owned();
                let names = asking.ok(&["--db", &copy, "prompt", "list", "-p", "p", "--json"]);
                for name in acknowledged.lock().expect("names").iter() {
                    assert!(names.contains(&format!("\"{name}\"")), "{blow:?}: {name} stayed behind\n{names}");
                }
                return Some(refused);
            }
            assert!(
                moved.stderr.contains("Servers are connected") || moved.stderr.contains("was lost"),
                "{blow:?}: {moved}"
            );
            assert!(!copy.exists(), "{blow:?}");
            // The server registers again, and continues to write.
            let before = acknowledged.lock().expect("names").len();
            eventually("it writes again", || (acknowledged.lock().expect("names").len() > before + 2).then_some(()));
            ends.store(true, Ordering::Relaxed);
            writing.join().expect("it ends");
            None
        });
        if let Some(refused) = refused {
            let refused = refused.unwrap_or_default();
            assert!(refused.contains("was moved"), "{blow:?}: the server goes on as if nothing was: {refused}");
            client.kill();
            continue;
        }
        let restored = there.run(&["restore", "nothing.db", "--yes"]);
        assert_ne!(restored.status, 0, "{restored}");
        client.finish();
        // Once the server has ended, the move works.
        there.ok(&["move", "--to", "after.db"]);
    }
}

#[test]
fn a_restore_sees_a_server_whose_connection_was_ended() {
    let Some(server) = server() else { return };
    for (_, blow) in blows(Blow::Away) {
        let address = server.database();
        let (here, there) = (Scratch::at(&address), Scratch::at(&address));
        here.ok(&["project", "create", "p"]);
        there.ok(&["backup", "b.db"]);
        let client = Client::start(&here, &[]).shake_hands("2025-06-18");
        blow.strike(&server, &address);
        let restored = there.run(&["restore", "b.db", "--yes"]);
        assert!(restored.status == 1 && restored.stderr.contains("Servers are connected"), "{blow:?}: {restored}");
        client.finish();
        there.ok(&["restore", "b.db", "--yes"]);
    }
}

/// While a run waits, its process loses its connection. No other process calls the run interrupted or takes it over,
/// and it continues.
#[test]
fn a_live_run_is_not_called_interrupted_and_sends_nothing_twice() {
    let Some(server) = server() else { return };
    blows(Blow::Restarted).for_each(|(_, blow)| live_run(&server, &[(blow, Duration::from_secs(2))]));
}

/// Like the test above, but with one to three blows at random times.
#[test]
fn hostile_losses_of_connections_make_no_run_send_twice() {
    let Some(server) = server() else { return };
    let mut cases = Cases::new("lost connections of runs", 2);
    while cases.more() {
        let count = 1 + cases.random.below(3);
        let blows: Vec<(Blow, Duration)> = (0..count)
            .map(|_| {
                let blow = [Blow::Ended, Blow::Restarted, Blow::Away][cases.random.below(3)];
                (blow, Duration::from_millis(cases.random.below(900) as u64))
            })
            .collect();
        live_run(&server, &blows);
    }
}

/// Returns the state of a run as a command shows it, or `None` while the database is away.
fn told(scratch: &Scratch, id: &str) -> Option<Value> {
    let ran = scratch.run(&["--json", "workflow", "runs", id]);
    (ran.status == 0).then(|| serde_json::from_str(&ran.stdout).expect("JSON"))
}

/// Waits until a run ends, and returns its last state. Checks that it is never called interrupted.
#[track_caller]
fn end_of(scratch: &Scratch, id: &str, why: &dyn std::fmt::Debug) -> String {
    eventually("it ends", || {
        let told = told(scratch, id)?;
        let state = told["state"].as_str().expect("a state").to_owned();
        assert_ne!(state, "interrupted", "{why:?}: {told}");
        (!matches!(&*state, "running" | "waiting" | "unknown")).then_some(state)
    })
}

/// Starts a run that waits. After each blow, others look at it and try to take it over. Then it continues.
#[track_caller]
fn live_run(server: &Server, blows: &[(Blow, Duration)]) {
    let address = server.database();
    let ground = Ground::on(Scratch::at(&address));
    let there = Scratch::at(&address);
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let id = begun(&ground, &mut client, WAITING);
    eventually("it waits", || (ground.api.seen().len() >= 2).then_some(()));
    for (blow, pause) in blows {
        blow.strike(server, &address);
        let until = Instant::now() + *pause;
        while Instant::now() < until {
            for scratch in [&ground.scratch, &there] {
                if let Some(told) = told(scratch, &id) {
                    let state = told["state"].as_str().expect("a state");
                    assert!(matches!(state, "running" | "waiting" | "unknown"), "{blows:?}: {told}");
                }
                let resumed = scratch.run(&["workflow", "resume", &id, "--yes"]);
                assert_ne!(resumed.status, 0, "{blows:?}: {resumed}");
            }
        }
    }
    let json = vec![("content-type", "application/json".to_owned())];
    ground.api.trouble([Trouble::Status(200, json, "[{\"id\": \"go\"}]")]);
    let state = end_of(&ground.scratch, &id, &blows);
    assert_eq!((state.as_str(), ground.changes()), ("succeeded", 1), "{blows:?}");
    client.finish();
}

/// The connection is lost during a request. The request's answer is stored all the same.
#[test]
fn the_answer_of_a_request_is_stored_although_the_connection_was_lost() {
    let Some(server) = server() else { return };
    for (_, blow) in blows(Blow::Away) {
        let address = server.database();
        let ground = Ground::on(Scratch::at(&address));
        let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
        let asked = execute(&mut client, create());
        assert_eq!(code(&asked), "E_CONSENT_REQUIRED", "{asked}");
        approve(&ground.scratch, &asked);
        let mut arguments = with_nonce(&create(), &asked);
        arguments["wait_s"] = json!(0);
        ground.api.trouble([Trouble::Late(Duration::from_millis(700))]);
        let begun = execute(&mut client, arguments);
        assert_eq!(code(&begun), "ok", "{begun}");
        eventually("it is sent", || (ground.changes() == 1).then_some(()));
        blow.strike(&server, &address);
        let state = end_of(&ground.scratch, begun["run"].as_str().expect("an id"), &blow);
        assert_eq!((state.as_str(), ground.changes(), ground.api.apps()), ("succeeded", 1, 1), "{blow:?}");
        client.finish();
    }
}

/// While a task runs, its server loses its connection. No other server reports the task as failed.
#[test]
fn a_live_task_is_not_called_failed() {
    let Some(server) = server() else { return };
    for (n, blow) in blows(Blow::Ended) {
        let address = server.database();
        let place = tasks::slow_on(Scratch::at(&address));
        let mut client = tasks::client(&place);
        let task = tasks::task(&mut client, tasks::call(&place, "plan"));
        let there = Scratch::at(&address);
        let mut other = match n % 2 {
            0 => tasks::client(&place),
            _ => Client::modern_with(
                there.command().arg("serve"),
                json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }),
            ),
        };
        other.result("prompts/list", json!({}));
        blow.strike(&server, &address);
        let until = Instant::now() + Duration::from_secs(1);
        let mut looks = 0;
        while Instant::now() < until {
            let told = other.request("tasks/get", task.clone());
            if let Some(status) = told["result"]["status"].as_str() {
                assert_eq!(status, "working", "{blow:?}: {told}");
                looks += 1;
            }
        }
        assert!(looks > 0, "nobody could look");
        place.write("go", "");
        let done = eventually("the task ends", || {
            let told = other.request("tasks/get", task.clone())["result"].take();
            told["status"].as_str().is_some_and(|status| status != "working").then_some(told)
        });
        assert_eq!(done["status"], "completed", "{blow:?}: {done:#}");
        client.kill();
        other.kill();
    }
}

/// The machine of the killed process knows that its run was interrupted. Other machines cannot see the process.
#[test]
fn a_run_whose_process_was_killed_is_interrupted_here_and_unknown_elsewhere() {
    let Some(server) = server() else { return };
    let address = server.database();
    let ground = Ground::on(Scratch::at(&address));
    let there = Scratch::at(&address);
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let id = begun(&ground, &mut client, WAITING);
    eventually("it waits", || (ground.api.seen().len() >= 2).then_some(()));
    client.kill();
    eventually("its machine knows", || (ground.run()["state"] == "interrupted").then_some(()));
    assert_eq!(there.json(&["workflow", "runs", &id])["state"], "unknown");
    let resumed = there.run(&["workflow", "resume", &id, "--yes"]);
    assert!(resumed.status == 1 && resumed.stderr.contains("may still be working"), "{resumed}");
    // If the run's process was not seen for a long time, the run can be taken over.
    server.query_of(&address, "UPDATE mcpkg.setting SET value = '0' WHERE key LIKE 'beat.run-%'");
    let resumed = there.run(&["workflow", "resume", &id, "--yes"]);
    assert!(!resumed.stderr.contains("may still be working"), "{resumed}");
}
