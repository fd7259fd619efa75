//! Tests `mcpkg undo`: an agent's changes are undone, later changes by others stay, and every undo can itself be
//! undone.

use serde_json::{Value, json};

use crate::support::{Client, Ground, Scratch, at_a_terminal, skipped};

/// Starts a client of the agent `name`.
fn agent(scratch: &Scratch, name: &str) -> Client {
    let mut client = Client::start(scratch, &[]);
    let info = json!({ "name": name, "version": "1" });
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info });
    assert!(client.request("initialize", hello)["result"].is_object());
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    client
}

#[track_caller]
fn call(client: &mut Client, tool: &str, arguments: Value) {
    let (text, failed) = client.call(tool, arguments);
    assert!(!failed, "{tool}: {text}");
}

/// Runs `mcpkg undo`, and returns its exit status and its data.
#[track_caller]
fn undo(scratch: &Scratch, arguments: &[&str]) -> (i32, Value) {
    let ran = scratch.run(&[&["undo", "--json"], arguments].concat());
    let data: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran}"));
    (ran.status, data)
}

/// Returns the lines of a preview: status, subject, and what the undo does.
fn lines(data: &Value) -> Vec<String> {
    let line = |line: &Value| {
        let [status, subject, undo] = ["status", "subject", "undo"].map(|key| line[key].as_str().expect("a text"));
        // Times differ from run to run.
        let undo = undo.split(" at 20").next().expect("a part");
        format!("{status}: {subject}: {undo}")
    };
    data["changes"].as_array().expect("changes").iter().map(line).collect()
}

/// Returns everything that the project shows: prompts and resources with their content.
fn content(scratch: &Scratch) -> Value {
    let list = |kind: &str, rows: &str| {
        let list = scratch.json(&[kind, "list"]);
        let names: Vec<_> = list[rows].as_array().expect("rows").iter().map(|row| row["name"].clone()).collect();
        let show = |name: &Value| {
            let name = name.as_str().expect("a name");
            let mut shown = scratch.json(&[kind, "show", name]);
            // Undoing adds a revision, so the revision's number and times differ.
            for key in ["revision", "updated_at", "created_at"] {
                shown.as_object_mut().expect("an object").remove(key);
            }
            shown
        };
        names.iter().map(show).collect::<Vec<_>>()
    };
    json!([list("prompt", "prompts"), list("resource", "resources")])
}

#[test]
fn an_agents_changes_are_undone_and_what_another_agent_changed_later_stays() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "review", "Review it."]);
    scratch.ok(&["prompt", "create", "commit-message", "Write one."]);
    let mut claude = agent(&scratch, "claude-code");
    call(&mut claude, "create_prompt", json!({ "name": "changelog", "content": "List changes." }));
    call(&mut claude, "update_prompt", json!({ "name": "review", "content": "Review fast." }));
    call(&mut claude, "delete_prompt", json!({ "name": "commit-message" }));
    let skill = "---\nname: tidy\ndescription: Tidies\n---\nTidy.\n";
    call(&mut claude, "create_skill", json!({ "name": "tidy", "content": skill }));
    let mut codex = agent(&scratch, "codex");
    call(&mut codex, "update_prompt", json!({ "name": "review", "content": "Review slowly." }));
    let since = ["--by", "mcp:claude-code", "--since", "1h"];

    let (status, shown) = undo(&scratch, &[&since[..], &["--dry-run"]].concat());
    assert_eq!(
        lines(&shown),
        [
            "in: prompt changelog: delete it; its history stays",
            "stop: prompt review: mcp:codex changed it",
            "in: prompt commit-message: bring back revision 1",
            "in: skill tidy/SKILL.md: delete it; its history stays",
        ]
    );
    assert_eq!((status, &shown["event"], &shown["undone"]), (3, &Value::Null, &json!(0)), "nothing was changed");
    assert_eq!(shown["changes"][1]["later"]["actor"], "mcp:codex");
    assert_eq!(scratch.ok(&["prompt", "show", "changelog"]), "List changes.");

    // Without a terminal, undo needs --yes.
    let refused = scratch.run(&[&["undo"], &since[..]].concat());
    assert_eq!(refused.status, 1, "{refused}");
    let (status, done) = undo(&scratch, &[&since[..], &["--yes"]].concat());
    assert_eq!((status, &done["undone"], &done["stopped"]), (3, &json!(3), &json!(1)));
    assert_eq!(scratch.ok(&["prompt", "show", "review"]), "Review slowly.");
    assert_eq!(scratch.ok(&["prompt", "show", "commit-message"]), "Write one.");
    assert_ne!(scratch.run(&["prompt", "show", "changelog"]).status, 0);
    assert_ne!(scratch.run(&["skill", "show", "tidy"]).status, 0);

    // The undo is one event. It can be undone, and that undo can be undone too.
    let seq = done["event"].to_string();
    let (status, again) = undo(&scratch, &[&seq, "--yes"]);
    assert_eq!((status, &again["undone"]), (0, &json!(3)));
    assert_eq!(scratch.ok(&["prompt", "show", "changelog"]), "List changes.");
    let (status, _) = undo(&scratch, &[&again["event"].to_string(), "--yes"]);
    assert_eq!(status, 0);
    assert_ne!(scratch.run(&["prompt", "show", "changelog"]).status, 0);
    let (_, nothing) = undo(&scratch, &[&since[..], &["--dry-run"]].concat());
    assert_eq!(lines(&nothing)[0], "out: prompt changelog: already back");
    claude.finish();
    codex.finish();
}

#[test]
fn events_have_a_session_for_each_connection_and_names_for_ids() {
    let scratch = Scratch::with_project();
    let mut one = agent(&scratch, "codex");
    call(&mut one, "create_prompt", json!({ "name": "a", "content": "x" }));
    call(&mut one, "create_prompt", json!({ "name": "b", "content": "x" }));
    let mut two = agent(&scratch, "codex");
    call(&mut two, "create_prompt", json!({ "name": "c", "content": "x" }));
    scratch.ok(&["prompt", "create", "d", "x"]);
    let all = scratch.json(&["events"]);
    let events = all["events"].as_array().expect("events");
    let session = |subject: &str| {
        let event = events.iter().find(|event| event["subject"] == subject).expect("an event");
        event["session"].as_str().expect("a session").to_owned()
    };
    assert_eq!(session("a"), session("b"));
    assert!(session("a") != session("c") && session("c") != session("d"));
    let of = |arguments: &[&str]| {
        let listed = scratch.json(&[&["events"], arguments].concat());
        let subjects = listed["events"].as_array().expect("events").iter().map(|event| event["subject"].to_string());
        subjects.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(of(&["--session", &session("a")]), "\"a\" \"b\"");
    assert_eq!(of(&["--by", "mcp:codex"]), "\"a\" \"b\" \"c\"");
    assert_eq!(of(&["--by", "mcp:codex", "--since", "2020-01-01T00:00:00Z", "-n", "1"]), "\"c\"");
    assert_eq!(of(&["--project", "p", "--by", "mcp:nobody"]), "");
    assert_eq!(of(&["--kind", "Prompt.Create", "-n", "2"]), "\"c\" \"d\"");
    assert_eq!(of(&["--kind", "prompt.*", "--by", "shell"]), "\"d\"");
    // All other characters stand for themselves.
    assert_eq!(of(&["--kind", "prompt_create"]) + &of(&["--kind", "%"]) + &of(&["--kind", "prompt"]), "");
    let none = scratch.run(&["events", "--by", "mcp:nobody"]);
    assert!(none.status == 0 && none.stderr.contains("No events match"), "{none}");
    let (status, done) = undo(&scratch, &["--session", &session("a"), "--yes"]);
    assert_eq!((status, &done["undone"]), (0, &json!(2)));
    let wrong = scratch.run(&["events", "--since", "noon"]);
    assert!(wrong.status == 2 && wrong.stderr.contains("is not a time"), "{wrong}");
    one.finish();
    two.finish();
}

#[test]
fn an_event_is_left_out_with_a_reason() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "a", "one"]);
    scratch.ok(&["prompt", "update", "a", "--content", "two"]);
    scratch.ok(&["prompt", "create", "b", "x"]);
    scratch.run(&["prompt", "create", "b", "x"]);
    let events = scratch.json(&["events"]);
    let seq = |at: usize| events["events"][events["events"].as_array().expect("events").len() - at]["seq"].to_string();
    let (status, refused) = undo(&scratch, &[&seq(1), "--yes"]);
    assert_eq!(status, 3);
    assert_eq!(lines(&refused), ["out: b: it was refused (E_ALREADY_EXISTS), so it changed nothing"]);
    // The excluded update was made by the same shell, but still prevents the undo of the event before it.
    let (status, left) = undo(&scratch, &["--by", "shell", "--since", "1h", "--except", &seq(3), "--dry-run"]);
    assert_eq!(status, 3);
    assert_eq!(
        lines(&left)[1..],
        ["stop: prompt a: shell changed it", "out: a: left out", "in: prompt b: delete it; its history stays"]
    );
    assert!(lines(&left)[0].starts_with("out: p: "), "{left}");
    // Another prompt has taken the name of the deleted prompt.
    scratch.ok(&["prompt", "delete", "b", "--yes"]);
    scratch.ok(&["prompt", "rename", "a", "b"]);
    let events = scratch.json(&["events", "--by", "shell", "-n", "2"]);
    let (status, taken) = undo(&scratch, &[&events["events"][0]["seq"].to_string(), "--yes"]);
    assert_eq!(status, 3);
    assert_eq!(lines(&taken), ["stop: prompt b: another prompt, 'b', has taken its name or URI"]);
    let missing = scratch.run(&["undo", "99", "--yes"]);
    assert!(missing.stderr.contains("Event 99 does not exist"), "{missing}");
    assert_eq!(scratch.run(&["undo"]).status, 2);
}

#[test]
fn swapped_names_and_the_selected_project_come_back() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "a", "one"]);
    scratch.ok(&["resource", "create", "doc", "file:///doc", "one"]);
    let before = content(&scratch);
    let last = scratch.json(&["events", "-n", "1"])["events"][0]["seq"].as_i64().expect("a number");
    scratch.ok(&["prompt", "rename", "a", "b"]);
    scratch.ok(&["prompt", "create", "a", "two"]);
    scratch.ok(&["resource", "update", "doc", "--content", "two"]);
    scratch.ok(&["resource", "delete", "doc", "--yes"]);
    scratch.ok(&["project", "create", "q"]);
    scratch.ok(&["project", "select", "q"]);
    let all = scratch.json(&["events", "--after", &last.to_string()]);
    let seqs: Vec<String> =
        all["events"].as_array().expect("events").iter().map(|event| event["seq"].to_string()).collect();
    let named: Vec<&str> = seqs.iter().map(String::as_str).chain(["--yes"]).collect();
    let (_, done) = undo(&scratch, &named);
    assert_eq!(done["undone"], 5, "{done:#}");
    assert_eq!(scratch.json(&["project", "current"])["name"], "p");
    assert_eq!(content(&scratch), before);
}

#[test]
fn a_deploy_is_undone_alone_by_a_rollback() {
    let ground = Ground::new();
    ground.ok(&["prompt", "create", "fix", "Fix it"]);
    let before = ground.tree();
    let deploy = ["deploy", "--apply", "--yes", "--target", "claude_code"];
    ground.data(&deploy);
    let seq = |ground: &Ground| ground.scratch.json(&["events", "-n", "1"])["events"][0]["seq"].to_string();
    let first = seq(&ground);
    let together = ground.scratch.json(&["undo", "--by", "shell", "--since", "1h", "--dry-run"]);
    assert!(lines(&together).iter().any(|line| line.contains("it changed files, so it is undone on its own")));
    ground.ok(&["prompt", "update", "fix", "--content", "Fix it well"]);
    ground.data(&deploy);
    let second = seq(&ground);
    let refused = ground.run(&["undo", &first, "--yes"]);
    assert!(refused.stderr.contains("was deployed to the same folder later"), "{refused}");
    ground.ok(&["undo", &second, "--yes"]);
    assert!(
        ground.read(".claude/commands/fix.md").contains("Fix it\n")
            || ground.read(".claude/commands/fix.md").ends_with("Fix it")
    );
    ground.ok(&["undo", &seq(&ground), "--yes"]);
    assert!(ground.read(".claude/commands/fix.md").contains("Fix it well"));
    ground.ok(&["undo", &seq(&ground), "--yes"]);
    ground.ok(&["undo", &first, "--yes"]);
    ground.tree().assert_is(&before, "both deploys are undone");
}

#[test]
fn a_proposed_draft_is_rejected_and_a_request_denied() {
    let scratch = Scratch::with_project();
    let mut codex = agent(&scratch, "codex");
    call(&mut codex, "propose_workflow", json!({ "yaml": crate::workflow::saved::NOTE }));
    scratch.ok(&["prompt", "create", "x", "one"]);
    let restore = json!({ "command": "mcpkg:prompt:restore", "args": { "name": "x", "revision": 1 } });
    let asked = codex.call("execute", restore).0;
    assert!(asked.contains("E_CONSENT_REQUIRED"), "{asked}");
    let named = scratch.json(&["events", "--by", "mcp:codex"]);
    let name = |at: usize| named["events"][at]["subject_name"].as_str().expect("a name").to_owned();
    assert_eq!(name(0), "keep_note");
    assert!(scratch.ok(&["events"]).contains("keep_note ("), "the table has names");
    let (status, done) = undo(&scratch, &["--by", "mcp:codex", "--since", "1h", "--yes"]);
    let shown = lines(&done);
    assert_eq!((status, shown[0].as_str()), (0, "in: draft keep_note: reject it"), "{done:#}");
    assert!(shown[1].starts_with("in: request ") && shown[1].ends_with(": deny it"), "{done:#}");
    assert_eq!(scratch.json(&["draft", "list", "--all"])["drafts"][0]["state"], "rejected");
    assert_eq!(scratch.json(&["consent", "list", "--all"])["consents"][0]["state"], "denied");
    // A rejected draft can be opened again. A denial is final.
    let (status, again) = undo(&scratch, &[&done["event"].to_string(), "--yes"]);
    assert_eq!(status, 3);
    assert!(lines(&again).contains(&"in: draft keep_note: open it again".to_owned()), "{again:#}");
    assert!(lines(&again).iter().any(|line| line.ends_with("a denial is final; the agent can ask again")), "{again:#}");
    assert_eq!(scratch.json(&["draft", "list", "--all"])["drafts"][0]["state"], "open");
    codex.finish();
}

#[test]
fn a_killed_undo_changes_everything_or_nothing() {
    let scratch = Scratch::with_project();
    for n in 0..20 {
        scratch.ok(&["prompt", "create", &format!("n{n}"), "x"]);
    }
    for wait in 0..12 {
        let mut child = scratch.command();
        child.args(["undo", "--by", "shell", "--since", "1h", "--yes"]).stdout(std::process::Stdio::null());
        let mut child = child.spawn().expect("an undo starts");
        std::thread::sleep(std::time::Duration::from_millis(wait * 3));
        let _ = child.kill();
        let _ = child.wait();
        let left = scratch.json(&["prompt", "list"])["prompts"].as_array().expect("prompts").len();
        assert!(left == 20 || left == 0, "{left} of 20 prompts are left");
        if left == 0 {
            let last = scratch.json(&["events", "-n", "1"])["events"][0].clone();
            assert_eq!(last["kind"], "undo", "the event is there as well");
            scratch.ok(&["undo", &last["seq"].to_string(), "--yes"]);
        }
    }
}

#[test]
fn a_terminal_shows_what_would_be_undone_and_asks() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "a", "one"]);
    scratch.ok(&["prompt", "update", "a", "--content", "two"]);
    let seq = scratch.json(&["events", "-n", "1"])["events"][0]["seq"].to_string();
    let Some((shown, ok)) = at_a_terminal(scratch.command().args(["undo", &seq]), "n\n") else {
        return skipped("there is no script(1) that runs a command at a terminal");
    };
    assert!(!ok && shown.contains("back to revision 1") && shown.contains("Undo 1 change?"), "{shown}");
    assert_eq!(scratch.ok(&["prompt", "show", "a"]), "two");
    let (shown, ok) = at_a_terminal(scratch.command().args(["undo", &seq]), "y\n").expect("script");
    assert!(ok && shown.contains("Undid 1 change"), "{shown}");
    assert_eq!(scratch.ok(&["prompt", "show", "a"]), "one");
}

#[test]
fn two_prompts_that_swapped_their_names_swap_back() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "a", "one"]);
    scratch.ok(&["prompt", "create", "b", "two"]);
    let last = scratch.json(&["events", "-n", "1"])["events"][0]["seq"].as_i64().expect("a number");
    for (from, to) in [("a", "c"), ("b", "a"), ("c", "b")] {
        scratch.ok(&["prompt", "rename", from, to]);
    }
    assert_eq!(scratch.ok(&["prompt", "show", "a"]), "two");
    let seqs = [1, 2, 3].map(|more| (last + more).to_string());
    let (status, done) = undo(&scratch, &[&seqs[0], &seqs[1], &seqs[2], "--yes"]);
    assert_eq!((status, &done["undone"]), (0, &json!(3)), "{done:#}");
    let shown = ["a", "b"].map(|name| scratch.ok(&["prompt", "show", name]));
    assert_eq!(shown, ["one", "two"]);
    let (status, again) = undo(&scratch, &[&done["event"].to_string(), "--yes"]);
    assert_eq!((status, &again["undone"]), (0, &json!(2)), "{again:#}");
    assert_eq!(scratch.ok(&["prompt", "show", "a"]), "two");
}

#[test]
fn an_import_is_undone_except_for_what_has_no_history() {
    let scratch = Scratch::with_project();
    scratch.file("from/.claude/commands/fix.md", "Fix it\n");
    scratch.file("from/.mcp.json", r#"{ "mcpServers": { "docs": { "command": "docs-server" } } }"#);
    scratch.ok(&["import", "from"]);
    let seq = scratch.json(&["events", "-n", "1"])["events"][0]["seq"].to_string();
    let (status, done) = undo(&scratch, &[&seq, "--yes"]);
    let shown = lines(&done);
    assert!(shown.contains(&"in: prompt fix: delete it; its history stays".to_owned()), "{done:#}");
    assert!(shown.iter().any(|line| line.ends_with("mcpkg keeps no history of MCP servers")), "{done:#}");
    assert_eq!(status, 3, "a part of the event that was named is left out");
    assert_ne!(scratch.run(&["prompt", "show", "fix"]).status, 0);
    scratch.ok(&["mcp", "show", "docs"]);
}

#[test]
fn an_undo_that_changed_nothing_says_so_when_it_is_undone() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "draft", "Draft."]);
    scratch.ok(&["prompt", "delete", "draft"]);
    let newest = || scratch.json(&["events", "--limit", "1"])["events"][0]["seq"].as_i64().expect("a number");
    let deleted = newest();
    let (status, done) = undo(&scratch, &[&(deleted - 1).to_string(), &deleted.to_string(), "--yes"]);
    assert_eq!(status, 0, "{done:#}");
    let (status, again) = undo(&scratch, &[&newest().to_string(), "--dry-run"]);
    assert_eq!((status, lines(&again)), (3, vec![format!("out: {}-{deleted}: it changed nothing", deleted - 1)]));
}
