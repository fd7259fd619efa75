//! Tests the checks before a command runs, and their order.

use serde_json::{Value, json};

use super::{Ground, code, create, execute, with_nonce};
use crate::support::{Client, Http, Scratch, at_a_terminal, http, skipped};

#[test]
fn x35_nothing_is_run_before_a_person_consented() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let asked = execute(&mut client, create());
    assert_eq!(code(&asked), "E_CONSENT_REQUIRED", "{asked}");
    let details = &asked["error"]["details"];
    let effects = details["effects"].as_array().expect("lines");
    assert!(
        effects[0].as_str().is_some_and(|line| line.starts_with("POST http://127.0.0.1") && line.ends_with("writes)"))
    );
    assert!(effects.contains(&json!("name = \"web\"")), "{effects:?}");
    assert!(details["command"].as_str().is_some_and(|command| command.starts_with("mcpkg consent approve ")));
    assert_eq!(code(&execute(&mut client, with_nonce_at_once(&asked))), "E_CONSENT_PENDING");
    assert_eq!(ground.changes(), 0);
    ground.approve(&asked);
    let done = execute(&mut client, with_nonce(&create(), &asked));
    assert_eq!((&done["state"], &done["final_output"]["name"]), (&json!("succeeded"), &json!("web")), "{done}");
    assert_eq!((ground.changes(), ground.api.apps()), (1, 1));
    let run = ground.run();
    assert_eq!((&run["run"], &run["name"]), (&done["run"], &json!("hosting:apps:create")));
    let attempt = &run["steps"][0]["attempts"][0];
    assert_eq!(
        (&attempt["method"], &attempt["path"], &attempt["status"]),
        (&json!("POST"), &json!("/api/v1/apps"), &json!(201))
    );
    client.finish();
}

fn with_nonce_at_once(asked: &serde_json::Value) -> serde_json::Value {
    let mut arguments = with_nonce(&create(), asked);
    arguments["wait_s"] = json!(0);
    arguments
}

#[test]
fn own_commands_need_consent_only_if_their_tools_do() {
    let scratch = Scratch::with_project();
    let mut client = Client::start(&scratch, &[]).shake_hands("2025-06-18");
    let read = execute(&mut client, json!({ "command": "mcpkg:prompt:list" }));
    assert_eq!((code(&read), &read["state"]), ("ok", &json!("succeeded")), "{read}");
    assert!(read.get("run").is_none(), "nothing is kept of a read: {read}");
    // The tools of these operations need no consent, so the operations need none as commands either.
    let create = json!({ "command": "mcpkg:prompt:create", "args": { "name": "n", "content": "x" } });
    let skill = json!({ "name": "pdf", "description": "Reads PDFs", "content": "Read them" });
    let skill = json!({ "command": "mcpkg:skill:create", "args": skill });
    let draft = json!({ "yaml": "workflow: w\nsteps:\n  - id: a\n    run: mcpkg:prompt:list\n" });
    let draft = json!({ "command": "mcpkg:draft:add", "args": draft });
    for free in [create, skill, draft.clone()] {
        let done = execute(&mut client, free.clone());
        assert_eq!((code(&done), &done["state"]), ("ok", &json!("succeeded")), "{free}: {done}");
    }
    assert_eq!(scratch.json(&["prompt", "list"])["prompts"].as_array().expect("prompts").len(), 1);
    assert_eq!(scratch.json(&["draft", "list"])["drafts"].as_array().expect("drafts").len(), 1);
    // As a command, a rollback needs consent.
    let asked = execute(&mut client, json!({ "command": "mcpkg:rollback", "args": { "to": "pristine", "yes": true } }));
    assert_eq!(code(&asked), "E_CONSENT_REQUIRED", "{asked}");
    // A workflow of several steps needs consent to its plan.
    let plan = "workflow: w\nsteps:\n  - id: a\n    run: mcpkg:prompt:list\n  - id: b\n    run: mcpkg:prompt:list\n";
    assert_eq!(code(&execute(&mut client, json!({ "yaml": plan }))), "E_CONSENT_REQUIRED");
    client.finish();
    let mut client = Client::start(&scratch, &["--confirm", "destructive"]).shake_hands("2025-06-18");
    let more = json!({ "command": "mcpkg:prompt:create", "args": { "name": "more", "content": "x" } });
    assert_eq!(code(&execute(&mut client, more)), "ok");
    let delete = json!({ "command": "mcpkg:prompt:delete", "args": { "name": "n" } });
    assert_eq!(code(&execute(&mut client, delete)), "E_CONSENT_REQUIRED");
    client.finish();
    // With `--as assistant`, everything needs consent.
    let mut client = Client::start(&scratch, &["--as", "assistant"]).shake_hands("2025-06-18");
    let missing = execute(&mut client, json!({ "command": "mcpkg:prompt:list" }));
    assert_ne!(code(&missing), "ok", "{missing}");
    assert_ne!(code(&execute(&mut client, draft)), "ok");
    client.finish();
}

#[test]
fn checks_run_in_order() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &["--no-execute"]).shake_hands("2025-06-18");
    let tools = client.result("tools/list", json!({}));
    assert!(!tools["tools"].as_array().expect("tools").iter().any(|tool| tool["name"] == "execute"));
    // The arguments are checked before the policy, and the policy before the plan.
    assert_eq!(code(&execute(&mut client, json!({}))), "E_INVALID_ARGUMENT");
    assert_eq!(
        code(&execute(&mut client, json!({ "command": "hosting:apps:create", "wait_s": 51 }))),
        "E_INVALID_ARGUMENT"
    );
    assert_eq!(code(&execute(&mut client, json!({ "command": "hosting:apps:creat" }))), "E_NOT_FOUND");
    assert_eq!(
        code(&execute(&mut client, json!({ "command": "hosting:apps:create", "args": { "nam": 1 } }))),
        "E_EXECUTE_DENIED"
    );
    assert_eq!(code(&execute(&mut client, create())), "E_EXECUTE_DENIED");
    assert_eq!(code(&execute(&mut client, json!({ "command": "mcpkg:prompt:list" }))), "ok");
    client.finish();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let wrong =
        execute(&mut client, json!({ "command": "hosting:apps:create", "args": { "region": "eu", "nam": "x" } }));
    assert_eq!(code(&wrong), "E_INVALID_ARGUMENT", "{wrong}");
    assert_eq!(wrong["error"]["hint"], "did you mean 'name'?", "{wrong}");
    client.finish();
    assert_eq!(ground.changes(), 0);
}

#[test]
fn the_environment_can_deny_execute() {
    let ground = Ground::new();
    let mut command = ground.scratch.command();
    command.env("MCPKG_NO_EXECUTE", "1").args(["command", "run", "hosting:apps:create", "--yes"]);
    let ran = ground.scratch.finish(&mut command);
    assert_eq!(ran.status, 1, "{ran}");
    assert!(ran.stderr.contains("does not allow commands to run"), "{ran}");
}

#[test]
fn execute_is_not_a_command() {
    let scratch = Scratch::with_project();
    let mut client = Client::start(&scratch, &[]).shake_hands("2025-06-18");
    for id in ["mcpkg:command:run", "mcpkg:execute", "execute"] {
        assert_eq!(code(&execute(&mut client, json!({ "command": id }))), "E_NOT_FOUND", "{id}");
    }
    client.finish();
}

#[test]
fn read_only_and_restricted_keys_run_nothing() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &["--groups", "content"]).shake_hands("2025-06-18");
    client.error("tools/call", json!({ "name": "execute", "arguments": create() }));
    client.finish();
    let key = ground.scratch.json(&["access", "create", "reader", "--read-only"])["key"].clone();
    let mut server = Http::start(&ground.scratch, &[]);
    let ask = |arguments: Value| {
        let request = http::modern("/mcp", "tools/call", json!({ "name": "execute", "arguments": arguments }));
        let bearer = format!("Bearer {}", key.as_str().expect("a key"));
        server.send(&request.with("authorization", &bearer)).message()
    };
    for arguments in [create(), json!({ "command": "hosting:apps:list" }), json!({ "command": "mcpkg:prompt:create" })]
    {
        let refused = ask(arguments);
        assert!(refused.get("error").is_some() || refused["result"]["isError"] == true, "{refused}");
    }
    server.kill();
    assert!(ground.api.seen().is_empty() && ground.scratch.json(&["workflow", "runs"])["runs"] == json!([]));
}

#[test]
fn the_shell_shows_the_request_and_asks() {
    let ground = Ground::new();
    let mut command = ground.scratch.command();
    command.args(["command", "run", "hosting:apps:create", "--arg", "name=web", "--arg", "region=eu"]);
    let Some((shown, ended_well)) = at_a_terminal(&command, "y\n") else {
        return skipped("there is no script of util-linux");
    };
    assert!(ended_well && shown.contains("POST http://127.0.0.1") && shown.contains("name = \"web\""), "{shown}");
    assert_eq!(ground.changes(), 1);
    let mut command = ground.scratch.command();
    command.args(["command", "run", "hosting:apps:create", "--arg", "region=eu"]);
    let (shown, ended_well) = at_a_terminal(&command, "n\n").expect("script is there");
    assert!(!ended_well, "{shown}");
    assert_eq!(ground.changes(), 1);
}

#[test]
fn without_a_terminal_yes_covers_only_reads_and_own_commands() {
    let ground = Ground::new();
    let create = ["command", "run", "hosting:apps:create", "--arg", "region=eu"];
    for yes in [&[][..], &["--yes"]] {
        let ran = ground.scratch.run(&[&create[..], yes].concat());
        assert_eq!(ran.status, 1, "{ran}");
        assert!(ran.stderr.contains("a person has to consent first"), "{ran}");
    }
    assert_eq!(ground.changes(), 0);
    let list = ["command", "run", "hosting:apps:list"];
    let ran = ground.scratch.run(&list);
    assert!(ran.status == 1 && ran.stderr.contains("confirm with --yes"), "{ran}");
    assert_eq!(ground.scratch.ok(&[&list[..], &["--yes"]].concat()), "[]\n");
    // The shell has its own command for this operation, so `--yes` is enough.
    let write = ["command", "run", "mcpkg:prompt:create", "-a", "name=n", "-a", "content=x", "--yes"];
    assert!(ground.scratch.ok(&write).contains("\"name\": \"n\""));
    let shown = ground.scratch.ok(&["command", "run", "hosting:apps:create", "-a", "region=eu", "--dry-run"]);
    assert!(shown.contains("region = \"eu\""), "{shown}");
}

#[test]
fn calls_over_stdio_are_bounded_and_reads_are_free() {
    let scratch = Scratch::with_project();
    let mut client = Client::start(&scratch, &[]).shake_hands("2025-06-18");
    let codes = |client: &mut Client, arguments: serde_json::Value| {
        (0..300).map(|_| code(&execute(client, arguments.clone())).to_owned()).collect::<Vec<_>>()
    };
    assert!(codes(&mut client, json!({ "command": "mcpkg:prompt:list" })).iter().all(|code| code == "ok"));
    // Calls of an unknown command are the fastest.
    let begun = std::time::Instant::now();
    let asked = codes(&mut client, json!({ "command": "nothing" }));
    let refused = asked.iter().filter(|code| *code == "E_RATE_LIMITED").count();
    let most = 50 + 50 * (begun.elapsed().as_secs() as usize + 1);
    assert!(asked.len() - refused >= 50 && asked.len() - refused <= most, "{refused} of {} refused", asked.len());
    client.finish();
}

#[test]
fn calls_are_logged_with_short_arguments_and_results() {
    let ground = Ground::new();
    let log = ground.scratch.path().join("log");
    let mut command = ground.scratch.command();
    let file = std::process::Stdio::from(std::fs::File::create(&log).expect("a file"));
    let mut client = Client::spawn_logging(command.arg("serve"), file).shake_hands("2025-06-18");
    execute(&mut client, create());
    client.result("tools/call", json!({ "name": "list_prompts", "arguments": {} }));
    client.finish();
    let text = std::fs::read_to_string(&log).expect("a log");
    assert!(text.contains("tool=\"execute\"") && text.contains("command=hosting:apps:create"), "{text}");
    assert!(text.contains("args={2}") && text.contains("outcome=\"E_CONSENT_REQUIRED\""), "{text}");
    assert!(!text.contains("list_prompts"), "{text}");
}
