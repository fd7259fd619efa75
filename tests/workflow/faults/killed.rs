//! Kills a run of thirty steps of all kinds at many points. Requests that must not be repeated are sent once, and no
//! step that succeeded is repeated.

use serde_json::{Value, json};

use super::{approved, attempts, execute_or_die, requests_noted};
use crate::faults::{assert_sound, error_code, under_strace};
use crate::support::api::Trouble;
use crate::support::{Client, Ran, Saved, eventually, finds, kill_stride, skipped};
use crate::workflow::runs::{Ground, code};

const THIRTY: &str = include_str!("thirty.yaml");

/// The steps whose requests must be sent only once: the step's id, the request line, and texts in its body.
const ONCE: [(&str, &str, &[&str]); 8] = [
    ("first_db", "POST /api/v1/databases", &["small", "app-1"]),
    ("first_rename", "PATCH /api/v1/apps/app-1", &["renamed"]),
    ("first_said", "POST /api/v1/apps/app-1/logs", &["said of db-1"]),
    ("first_addon", "POST /api/v1/apps/app-1/addons", &["redis"]),
    ("second_db", "POST /api/v1/databases", &["large", "app-2"]),
    ("second_rename", "PATCH /api/v1/apps/app-2", &["settled"]),
    ("second_addon", "POST /api/v1/apps/app-2/addons", &["cache"]),
    ("third_db", "POST /api/v1/databases", &["large", "app-1"]),
];

/// The approved run of thirty steps, with a copy of the scratch folder from before the run.
struct Thirty {
    ground: Ground,
    saved: Saved,
    arguments: Value,
}

impl Thirty {
    /// Returns `None` if the database is not a file: each run needs a copy of it, and kills happen at its flushes.
    fn new() -> Option<Self> {
        let ground = Ground::new();
        if !ground.scratch.is_file() {
            return None;
        }
        let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
        let inputs = json!({ "region": "eu", "addon": "redis" });
        let arguments = approved(&ground, &mut client, THIRTY, &inputs);
        client.finish();
        let saved = Saved::of(&[ground.scratch.path()]);
        Some(Self { ground, saved, arguments })
    }

    /// Resets the API and the folder to their state before the run.
    fn again(&self) {
        self.ground.api.reset();
        self.saved.restore();
    }

    /// Runs the workflow in a server that may be killed meanwhile. Returns whether the run ended.
    #[track_caller]
    fn run_in(&self, mut client: Client) -> bool {
        if !client.try_shake_hands("2025-06-18") {
            return false;
        }
        let Some(done) = execute_or_die(&mut client, self.arguments.clone()) else { return false };
        assert_eq!(code(&done), "ok", "{done}");
        true
    }

    /// Returns how often the API received a step's request.
    fn sent(&self, step: &str) -> usize {
        let (_, line, words) = ONCE.iter().find(|(id, ..)| *id == step).expect("a step that is sent once");
        let seen = self.ground.api.seen();
        let is = |seen: &&crate::support::api::Seen| {
            let body = String::from_utf8_lossy(&seen.body).into_owned();
            seen.line == *line && words.iter().all(|word| body.contains(word))
        };
        seen.iter().filter(is).count()
    }

    /// Returns the run, if it started.
    fn run(&self) -> Option<Value> {
        let runs = self.ground.scratch.json(&["workflow", "runs"]);
        let id = runs["runs"].as_array().expect("runs").first()?["run"].as_str().expect("an id").to_owned();
        Some(self.ground.scratch.json(&["workflow", "runs", &id]))
    }

    /// Returns the decision of a person about an uncertain step. The person checks whether the step did its work.
    fn decision(&self, step: &str) -> Vec<String> {
        let (is_done, output) = match step {
            "note" => (self.ground.scratch.run(&["prompt", "show", "thirty"]).status == 0, json!(null)),
            "document" => (self.ground.scratch.run(&["resource", "show", "note://thirty"]).status == 0, json!(null)),
            step => {
                let place = match step {
                    "first_db" => "db-1",
                    "second_db" => "db-2",
                    _ => "none",
                };
                (self.sent(step) == 1, json!({ "id": place }))
            }
        };
        if !is_done {
            return vec!["--step".to_owned(), format!("{step}=retry")];
        }
        let file = self.ground.scratch.file("done.json", output.to_string()).display().to_string();
        vec!["--step".to_owned(), format!("{step}=done"), "--output".to_owned(), file]
    }

    /// Resumes the run until it has ended. `resume` runs `mcpkg workflow resume` with the arguments that it gets, and
    /// may be killed.
    fn carry_on(&self, id: &str, when: &str, resume: impl Fn(&[&str]) -> Ran) {
        let mut decision: Vec<String> = Vec::new();
        for _ in 0..200 {
            let words = ["--json", "workflow", "resume", id];
            let words: Vec<&str> = words.into_iter().chain(decision.iter().map(String::as_str)).collect();
            let ran = resume(&words);
            decision.clear();
            match error_code(&ran).as_deref() {
                None if ran.status == 0 => return,
                // The command was killed.
                None => {}
                Some("E_STEP_UNCERTAIN") => {
                    let error: Value = serde_json::from_str(&ran.stdout).expect("an error");
                    let step = error["error"]["details"]["step"].as_str().expect("a step");
                    decision = self.decision(step);
                }
                // The run had ended, but the command was killed before it reported that.
                Some("E_RUN_STATE") => return,
                // This machine has no record of the run yet, because the command was killed before writing it. So a
                // person approves.
                Some("E_CONSENT_REQUIRED") => {
                    let asked: Value = serde_json::from_str(&ran.stdout).expect("an error");
                    self.ground.approve(&asked);
                }
                Some(_) => panic!("{when}: {ran}"),
            }
        }
        panic!("{when}: it does not end");
    }

    /// Resumes the killed run, and checks the result.
    #[track_caller]
    fn check_rest(&self, when: &str) {
        let scratch = &self.ground.scratch;
        let Some(killed) = self.run() else {
            // The run did not start. Approve its request again, because the kill may have interrupted the use of the
            // approval.
            assert!(self.ground.api.seen().is_empty(), "{when}: it was not begun");
            let id = self.arguments["nonce"].as_str().and_then(|nonce| nonce.split('.').next()).expect("an id");
            self.ground.approve(&json!({ "error": { "details": { "consent": id } } }));
            assert!(self.run_in(Client::start(scratch, &[])), "{when}: it can be begun again");
            return self.check(when);
        };
        let (sent, noted) = (self.ground.api.seen().len(), requests_noted(&killed));
        assert!(sent <= noted, "{when}: {sent} requests came, and {noted} were noted");
        if killed["state"] != "succeeded" {
            assert_eq!(killed["state"], "interrupted", "{when}: {killed}");
            let id = killed["run"].as_str().expect("an id");
            self.carry_on(id, when, |words| scratch.run(words));
        }
        let done = self.run().expect("the run");
        let succeeded = |run: &Value, id: &str| {
            run["steps"].as_array().expect("steps").iter().any(|step| step["id"] == id && step["state"] == "succeeded")
        };
        let count = |run: &Value, id: &str| attempts(run).iter().filter(|(step, _)| step == id).count();
        for (step, _) in attempts(&killed).iter().filter(|(step, _)| succeeded(&killed, step)) {
            assert_eq!(count(&done, step), count(&killed, step), "{when}: '{step}' had succeeded");
        }
        let (after, noted_after) = (self.ground.api.seen().len(), requests_noted(&done));
        assert_eq!(after - sent, noted_after - noted, "{when}: each request of the resume is an attempt");
        self.check(when);
    }

    /// Checks that the run did all of its work once.
    #[track_caller]
    fn check(&self, when: &str) {
        let run = self.run().expect("the run");
        assert_eq!(run["state"], "succeeded", "{when}: {run}");
        assert_eq!(run["final_output"], json!({ "first": "ready", "second": "ready", "left": "app-2" }), "{when}");
        let skipped: Vec<&Value> = run["steps"]
            .as_array()
            .expect("steps")
            .iter()
            .filter(|step| step["state"] == "skipped")
            .map(|step| &step["id"])
            .collect();
        assert_eq!(json!(skipped), json!(["only_with_extra", "after_extra"]), "{when}");
        for (step, ..) in ONCE {
            assert_eq!(self.sent(step), 1, "{when}: '{step}' is sent once");
        }
        // The run created two apps with idempotency keys, and deleted one of them.
        assert_eq!(self.ground.api.apps(), 1, "{when}");
        let prompts = self.ground.scratch.json(&["prompt", "list"]);
        assert_eq!(prompts["prompts"].as_array().expect("prompts").len(), 1, "{when}: {prompts}");
        assert_sound(&self.ground.scratch);
    }
}

#[test]
fn a_run_that_is_killed_after_any_commit_sends_nothing_twice() {
    if finds("strace").is_none() {
        return skipped("there is no strace");
    }
    let Some(thirty) = Thirty::new() else { return };
    let mut killed = 0;
    for n in (1..=200).step_by(kill_stride()) {
        thirty.again();
        let inject = format!("fsync:signal=SIGKILL:when={n}");
        let mut server = under_strace(&thirty.ground.scratch, &inject).expect("there is a strace");
        if thirty.run_in(Client::spawn(server.arg("serve"))) {
            break;
        }
        killed += 1;
        thirty.check_rest(&format!("killed at commit {n}"));
    }
    // Each of the 28 steps that run makes at least one commit, which records the step's result and the start of the next
    // step.
    assert!(killed * kill_stride() >= 28, "only {killed} were killed");
}

#[test]
fn a_run_that_is_killed_during_any_request_sends_nothing_twice() {
    let Some(thirty) = Thirty::new() else { return };
    assert!(thirty.run_in(Client::start(&thirty.ground.scratch, &[])));
    thirty.check("nothing killed it");
    let requests = thirty.ground.api.seen().len();
    assert!(requests >= 25, "only {requests}");
    for n in (0..requests).step_by(kill_stride()) {
        thirty.again();
        // The API processes the request, but its answer is lost.
        thirty.ground.api.trouble_after(n, Trouble::Unheard);
        let mut client = Client::start(&thirty.ground.scratch, &[]).shake_hands("2025-06-18");
        let arguments = thirty.arguments.clone();
        client.post("tools/call", json!({ "name": "execute", "arguments": arguments }));
        eventually("the request comes", || (thirty.ground.api.seen().len() > n).then_some(()));
        client.kill();
        thirty.check_rest(&format!("killed in request {n}"));
    }
}

#[test]
fn a_run_that_is_killed_again_and_again_comes_to_its_end() {
    if finds("strace").is_none() {
        return skipped("there is no strace");
    }
    let Some(thirty) = Thirty::new() else { return };
    let scratch = &thirty.ground.scratch;
    let inject = "fsync:signal=SIGKILL:when=6";
    let mut server = under_strace(scratch, inject).expect("there is a strace");
    assert!(!thirty.run_in(Client::spawn(server.arg("serve"))), "it is killed");
    let id = thirty.run().expect("it was begun")["run"].as_str().expect("an id").to_owned();
    let mut killed = std::cell::Cell::new(0);
    thirty.carry_on(&id, "killed again and again", |words| {
        let mut resume = under_strace(scratch, inject).expect("there is a strace");
        let ran = scratch.finish(resume.args(words));
        killed.set(killed.get() + usize::from(ran.stdout.is_empty()));
        ran
    });
    assert!(*killed.get_mut() >= 8, "only {killed:?} were killed");
    thirty.check("killed again and again");
}
