//! Tests that after each write from the shell, clients are notified exactly of the lists and resources whose content
//! changed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Client, DEADLINE, Ground, Http, Wait, http};

/// Pairs each list's notification with the method that reads the list.
const LISTS: [(&str, &str); 3] = [
    ("notifications/prompts/list_changed", "prompts/list"),
    ("notifications/resources/list_changed", "resources/list"),
    ("notifications/tools/list_changed", "tools/list"),
];

/// The URIs that clients subscribe to.
const URIS: [&str; 7] = [
    "file:///doc",
    "mcpkg://prompt/greet",
    "mcpkg://resource/doc",
    "mcpkg://history/prompt/greet",
    "mcpkg://events",
    "skill://tidy/SKILL.md",
    "mcpkg://workflow/keep_note",
];

/// How long to wait for unexpected notifications. The server checks for changes four times in this time. A notification
/// that arrives later makes the next step fail.
const WHILE: Duration = Duration::from_millis(80);

/// Shell commands that the test does not run, each with the reason.
const ELSEWHERE: [(&[&str], &str); 27] = [
    (&["finding", "ignore"], "no list shows it"),
    (&["finding", "unignore"], "the same"),
    (&["up"], "imports and deploys; the steps for these hear of it"),
    (&["ask"], "needs an agent; no list shows it"),
    (&["init"], "makes a database that no server has yet"),
    (&["access", "create"], "ends the streams of those who came without a key"),
    (&["access", "revoke"], "the same"),
    (&["access", "rule", "add"], "no list shows it"),
    (&["access", "rule", "remove"], "ends the streams of those who signed in"),
    (&["consent", "approve"], "needs a terminal and a request of an agent's; no list shows it"),
    (&["consent", "deny"], "the same"),
    (&["approval", "revoke"], "needs an approval of a person's; no list shows it"),
    (&["passkey", "add"], "needs a terminal; no list shows it"),
    (&["passkey", "remove"], "needs a passkey; no list shows it"),
    (&["draft", "approve"], "needs a terminal; `tests/workflow/saved` hears of it"),
    (&["plugin", "add"], "needs a terminal; no list shows it"),
    (&["plugin", "set"], "the same"),
    (&["plugin", "check"], "the same"),
    (&["workflow", "run"], "needs a terminal; it tells of its commands"),
    (&["workflow", "pause"], "needs a run that goes on; `tests/workflow/runs` has some"),
    (&["workflow", "resume"], "the same"),
    (&["workflow", "cancel"], "the same"),
    (&["source", "install"], "writes as `source add` does"),
    (&["tool", "trust", "add"], "needs a terminal"),
    (&["tool", "trust", "root"], "the same"),
    (&["tool", "allow"], "the same"),
    (&["workspace", "trust"], "needs a terminal; no list shows it"),
];

/// The notifications that a client received: for a changed list, the method; for a changed resource, its URI.
type Told = BTreeSet<String>;

struct Listeners {
    pipe: Client,
    server: Http,
    events: http::Events,
}

impl Listeners {
    fn new(ground: &Ground) -> Self {
        let mut pipe = Client::spawn(ground.command().arg("serve")).shake_hands("2025-06-18");
        for uri in URIS {
            pipe.result("resources/subscribe", json!({ "uri": uri }));
        }
        let mut command = ground.command();
        let server = Http::spawn(command.args(["--json", "serve", "--http", "--port", "0"]));
        let wanted = json!({
            "promptsListChanged": true,
            "resourcesListChanged": true,
            "toolsListChanged": true,
            "resourceSubscriptions": URIS,
        });
        let events = server.open(&http::modern("/mcp", "subscriptions/listen", json!({ "notifications": wanted })));
        events.message();
        Self { pipe, server, events }
    }

    /// Returns the content of each list and each URI, by the notification's method or the URI.
    fn answers(&self) -> BTreeMap<String, Value> {
        let ask = |method: &str, params: Value| self.server.modern("/mcp", method, params)["result"].clone();
        let lists = LISTS.map(|(told, method)| (told.to_owned(), ask(method, json!({}))));
        let reads = URIS.map(|uri| (uri.to_owned(), ask("resources/read", json!({ "uri": uri }))));
        lists.into_iter().chain(reads).collect()
    }

    /// Returns what each of the two clients received: waits for the `expected` notifications, then for unexpected ones.
    fn hear(&mut self, expected: &Told) -> [Told; 2] {
        let until = Instant::now() + DEADLINE;
        let what = |message: &Value| match message["params"]["uri"].as_str() {
            Some(uri) => Some(uri.to_owned()),
            None => message["method"].as_str().map(str::to_owned),
        };
        let (mut piped, mut listened) = (Told::new(), Told::new());
        loop {
            let complete = piped.is_superset(expected) && listened.is_superset(expected) || Instant::now() > until;
            piped.extend(self.pipe.seen.drain(..).filter_map(|line| what(&line)));
            while let Wait::Line(line) = self.pipe.wait(if complete { WHILE } else { WHILE / 8 }) {
                piped.extend(what(&line));
            }
            listened.extend(self.events.messages(WHILE / 8).iter().filter_map(what));
            if complete {
                return [piped, listened];
            }
        }
    }
}

#[test]
fn clients_are_notified_exactly_of_the_answers_that_a_shell_command_changes() {
    let ground = Ground::new();
    ground.ok(&["project", "create", "twin"]);
    let [import, skill, kit, synced, ignored] = ["import", "skill", "kit", "synced", "ignored/.cursorignore"]
        .map(|name| ground.scratch.path().join(name).display().to_string());
    ground.scratch.file("kit/.claude/commands/of-a-kit.md", "From a kit\n");
    ground.scratch.file("ignored/.cursorignore", "*.pem\n");
    ground.scratch.file("import/.claude/commands/new.md", "From a file\n");
    let tidy = "---\nname: tidy\ndescription: Tidies up\n---\n# Tidy\n";
    ground.scratch.file("skill/SKILL.md", tidy);
    ground.ok(&["prompt", "create", "first", "Text"]);
    ground.ok(&["backup", "kept.db"]);
    // Make some events old, so that pruning removes them.
    assert!(ground.scratch.change("UPDATE event SET at = 0 WHERE project = 'p'") > 1);
    crate::tools::put(&ground.scratch, "alice/weather", "Sun");
    crate::tools::registries::package(&ground.scratch, "1.0.0");
    let [shared, package] =
        ["shared-tools", "weather"].map(|name| ground.scratch.path().join(name).display().to_string());
    ground.scratch.ok(&["tool", "key", "new", "before"]);
    let signed = ground.scratch.json(&["tool", "sign", "alice/weather", "--key", "before"]);
    crate::tools::trusting(&ground.scratch, signed["identity"].as_str().expect("an identity"));
    let sets = ground.scratch.file("sets.json", r#"{ "toolsets": { "more": ["alice/weather"] } }"#);
    let sets = sets.display().to_string();
    let of_enact = "---\nname: bob/taken\nversion: 1.0.0\ndescription: Taken over\n---\n# Taken\n";
    ground.scratch.file("enact-home/.agents/skills/bob/taken/SKILL.md", of_enact);
    let tools = ground.scratch.file("enact-home/.enact/tools.json", r#"{ "tools": { "bob/taken": "1.0.0" } }"#);
    let enact = tools.parent().expect("a folder").display().to_string();
    crate::tools::trusting(&ground.scratch, "ed25519:SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU");
    ground.scratch.file("shop/lib/file", "");
    ground.scratch.file("shop/.smctl/workspace.toml", crate::workspace::builds::ONE);
    let shop = ground.scratch.path().join("shop").display().to_string();
    let relu = ground.scratch.file("relu.onnx", crate::workspace::gate::RELU).display().to_string();
    std::fs::write(ground.home().join(".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.org\n")
        .expect("a file");
    let [lib, docs] =
        ["seeds/lib", "seeds/docs"].map(|name| crate::workspace::repositories::seed(&ground.scratch, name));
    let many = ground.scratch.path().join("many");
    std::fs::create_dir(&many).expect("a folder");
    let many = many.display().to_string();
    let api = format!("{}/tests/fixtures/api/hosting.json", env!("CARGO_MANIFEST_DIR"));
    let note = crate::workflow::saved::NOTE.replace("Keeps a note", "Keeps it again");
    let note = ground.scratch.file("note.yaml", note).display().to_string();
    let servers = r#"{ "mcpServers": { "other": { "command": "other" } } }"#;
    let servers = ground.scratch.file("mcp.json", servers).display().to_string();
    let empty = ground.scratch.file("empty.yaml", "{}").display().to_string();
    let template = "{template: ours, workflow: {workflow: w, steps: [{id: a, run: 'mcpkg:prompt:list'}]}}";
    let template = ground.scratch.file("template.yaml", template).display().to_string();
    let mut listeners = Listeners::new(&ground);
    let edited = tidy.replace("# Tidy", "# Tidier");
    let steps: Vec<Vec<&str>> = vec![
        vec!["prompt", "create", "greet", "text", "-d", "Says hello"],
        vec!["prompt", "update", "greet", "--content", "text again"],
        vec!["prompt", "update", "greet", "--content", "text again"],
        vec!["prompt", "update", "greet", "-d", "Greets", "--argument", "who"],
        vec!["prompt", "edit", "greet"],
        vec!["prompt", "rename", "greet", "other"],
        vec!["prompt", "rename", "other", "greet"],
        vec!["prompt", "delete", "greet"],
        vec!["prompt", "restore", "greet", "1"],
        vec!["prompt", "restore", "greet", "1"],
        vec!["resource", "create", "doc", "file:///doc", "text"],
        vec!["resource", "update", "doc", "--content", "more text"],
        vec!["resource", "update", "doc", "--content", "more text"],
        vec!["resource", "update", "doc", "--mime-type", "text/markdown"],
        vec!["resource", "delete", "doc"],
        vec!["resource", "restore", "doc", "1"],
        vec!["skill", "create", "tidy", tidy],
        vec!["skill", "update", "tidy", &edited],
        vec!["skill", "update", "tidy", &edited],
        vec!["skill", "delete", "tidy", "--yes"],
        vec!["skill", "restore", "tidy"],
        vec!["skill", "delete", "tidy", "--yes"],
        vec!["import", &skill, "--yes"],
        vec!["import", &import],
        vec!["import", &import],
        vec!["source", "add", &kit, "--yes"],
        vec!["source", "update"],
        vec!["source", "remove", "kit"],
        vec!["prompt", "delete", "of-a-kit"],
        vec!["sync", &synced, "--yes"],
        vec!["mcp", "add", "github", "--url", "https://mcp.example/"],
        vec!["mcp", "set", "github", "--description", "Issues"],
        vec!["mcp", "remove", "github", "--yes"],
        vec!["import", &ignored],
        vec!["agent-file", "remove", ".cursorignore", "--yes"],
        vec!["module", "add", "doc"],
        vec!["module", "set", "instructions:doc", "--targets", "codex"],
        vec!["module", "remove", "instructions:doc"],
        vec!["deploy", "--apply", "--yes"],
        vec!["EDIT", ".claude/commands/greet.md", "text", "Edited text"],
        vec!["evolve", "propose", "--yes"],
        vec!["evolve", "accept", "1", "--yes"],
        vec!["deploy", "--apply", "--yes"],
        vec!["EDIT", ".claude/commands/greet.md", "Edited", "Unwanted"],
        vec!["evolve", "propose", "--yes"],
        vec!["evolve", "reject", "2", "--yes"],
        vec!["evolve", "restore", "--yes"],
        vec!["snapshot", "pin", "SNAPSHOT"],
        vec!["snapshot", "prune", "--yes"],
        vec!["rollback", "--to", "pristine", "--yes", "--adopt"],
        vec!["target", "enable", "gemini"],
        vec!["target", "disable", "gemini"],
        vec!["client", "add", "codex"],
        vec!["client", "remove", "codex"],
        vec!["tool", "key", "new"],
        vec!["tool", "sign", "alice/weather"],
        vec!["tool", "audit", "alice/weather", "--result", "passed"],
        vec!["tool", "key", "remove", "default", "--yes"],
        vec!["tool", "search", "weather"],
        vec!["tool", "learn", "alice/weather"],
        vec!["tool", "verify", "alice/weather"],
        vec!["tool", "install", "alice/weather"],
        vec!["tool", "install", "alice/weather"],
        vec!["toolset", "create", "kit"],
        vec!["toolset", "remove", "kit", "alice/weather"],
        vec!["toolset", "use", "kit"],
        vec!["toolset", "add", "kit", "alice/weather"],
        vec!["toolset", "rename", "kit", "box"],
        vec!["toolset", "use", "--all"],
        vec!["toolset", "import", &sets],
        vec!["toolset", "delete", "box", "--yes"],
        vec!["tool", "use", "alice/weather@1.0.0"],
        vec!["tool", "outdated"],
        vec!["tool", "update", "--all"],
        vec!["tool", "run", "alice/weather"],
        vec!["tool", "env", "set", "CITY", "--value", "Bern"],
        vec!["tool", "env", "unset", "CITY"],
        vec!["tool", "config", "execution.timeout", "10m"],
        vec!["tool", "alias", "weather", "alice/weather"],
        vec!["tool", "prune", "--yes"],
        vec!["tool", "import", &enact],
        vec!["tool", "uninstall", "alice/weather"],
        vec!["tool", "trust", "remove", "somebody"],
        vec!["tool", "trust", "policy", "require_attestation"],
        vec!["registry", "add", "shared", &shared, "--create"],
        vec!["tool", "publish", &package, "--to", "shared"],
        vec!["tool", "yank", "alice/utils/weather@1.0.0", "--registry", "shared"],
        vec!["tool", "unyank", "alice/utils/weather@1.0.0", "--registry", "shared"],
        vec!["registry", "index", "shared"],
        vec!["registry", "remove", "shared"],
        vec!["build", "-w", &shop],
        vec!["gate", "models", "add", &relu, "-w", &shop],
        vec!["gate", "routes", "set", "relu", "/v1/relu", "-w", &shop],
        vec!["gate", "models", "remove", "relu", "--yes", "-w", &shop],
        vec!["spec", "new", "login", "-w", &shop],
        vec!["spec", "archive", "login", "--force", "-w", &shop],
        vec!["workspace", "init", "many", "--repo", &lib, "-w", &many],
        vec!["workspace", "add", &docs, "-w", &many],
        vec!["workspace", "sync", "-w", &many],
        vec!["worktree", "add", "login", "-w", &many],
        vec!["worktree", "remove", "login", "-w", &many],
        vec!["worktree", "restore", "login", "-w", &many],
        vec!["workspace", "recover", "-w", &many],
        vec!["flow", "init", "-w", &many],
        vec!["flow", "feature", "start", "cart", "-w", &many],
        vec!["flow", "feature", "finish", "cart", "-w", &many],
        vec!["flow", "release", "start", "1.0.0", "-w", &many],
        vec!["flow", "release", "finish", "1.0.0", "-w", &many],
        vec!["flow", "hotfix", "start", "crash", "-w", &many],
        vec!["flow", "hotfix", "finish", "crash", "-w", &many],
        vec!["flow", "undo", "-w", &many],
        vec!["flow", "push", "cart", "--yes", "-w", &many],
        vec!["workspace", "prune", "--older-than", "0d", "--yes", "-w", &many],
        vec!["workspace", "remove", "docs", "-w", &many],
        vec!["catalog", "import", &api],
        vec!["catalog", "set", "hosting", "--timeout", "60"],
        vec!["catalog", "patch", "hosting:apps:list", "--list", "none"],
        vec!["catalog", "refresh", "hosting", "--yes"],
        vec!["catalog", "remove", "hosting", "--yes"],
        vec!["plugin", "import", &servers],
        vec!["plugin", "remove", "other", "--yes"],
        vec!["mcp", "remove", "other", "--yes"],
        vec!["workflow", "import", &note],
        vec!["workflow", "import", &note],
        vec!["workflow", "edit", "keep_note"],
        vec!["workflow", "rename", "keep_note", "other"],
        vec!["workflow", "rename", "other", "keep_note"],
        vec!["workflow", "fixture", "add", "keep_note", "empty", &empty],
        vec!["workflow", "fixture", "remove", "keep_note", "empty", "--yes"],
        vec!["workflow", "expose", "keep_note", "--yes"],
        vec!["template", "add", &template],
        vec!["template", "remove", "ours", "--yes"],
        vec!["draft", "add", &note, "--replaces", "keep_note"],
        vec!["draft", "edit", "DRAFT"],
        vec!["draft", "reject", "DRAFT"],
        vec!["workflow", "delete", "keep_note"],
        vec!["workflow", "restore", "keep_note", "1"],
        vec!["workflow", "unexpose", "keep_note"],
        vec!["command", "run", "mcpkg:prompt:create", "--arg", "name=by_run", "--arg", "content=x", "--yes"],
        vec!["draft", "infer", "RUN"],
        vec!["workflow", "policy", "deny"],
        vec!["workflow", "env", "set", "REGION", "eu"],
        vec!["workflow", "env", "unset", "REGION"],
        vec!["limit", "set", "events", "--age", "1d"],
        vec!["prune", "--yes"],
        vec!["compact", "--keep-revisions", "1", "--yes"],
        vec!["compact"],
        vec!["undo", "--by", "shell", "--since", "1h", "--yes"],
        vec!["project", "create", "q"],
        vec!["project", "select", "q"],
        vec!["project", "select", "twin"],
        vec!["project", "rename", "twin", "renamed"],
        vec!["-p", "p", "prompt", "create", "elsewhere", "text"],
        vec!["project", "select", "p"],
        vec!["project", "select", "q", "--here"],
        vec!["-p", "q", "resource", "create", "of-q", "file:///doc", "text"],
        vec!["project", "unbind"],
        vec!["project", "select", "q", "--here"],
        vec!["project", "delete", "q", "--yes"],
        vec!["restore", "kept.db", "--yes", "--while-serving"],
    ];
    let mut walked = BTreeSet::new();
    let mut before = listeners.answers();
    for step in &steps {
        if let ["EDIT", file, from, to] = step[..] {
            let text = ground.read(file);
            assert!(text.contains(from), "{file}: {text}");
            ground.put(file, text.replace(from, to), 0o644);
            continue;
        }
        let newest = || ground.data(&["snapshot", "list"])["snapshots"][0]["id"].as_str().expect("an id").to_owned();
        let draft = || ground.scratch.json(&["draft", "list"])["drafts"][0]["id"].as_str().expect("an id").to_owned();
        let word = |word: &&str| match *word {
            "SNAPSHOT" => newest(),
            "DRAFT" => draft(),
            "RUN" => ground.scratch.json(&["workflow", "runs"])["runs"][0]["run"].as_str().expect("an id").to_owned(),
            word => word.to_owned(),
        };
        let words: Vec<String> = step.iter().map(word).collect();
        let ran = ground.scratch.finish(ground.command().env("EDITOR", "sed -i s/again/edited/").args(&words));
        assert_eq!(ran.status, 0, "mcpkg {}\n{ran}", step.join(" "));
        walked.insert(step.iter().skip_while(|word| ["-p", "p", "q"].contains(*word)).copied().collect::<Vec<_>>());
        let after = listeners.answers();
        let differs = |(what, answer): &(&String, &Value)| before.get(*what) != Some(*answer);
        let expected: Told = after.iter().filter(differs).map(|(what, _)| what.clone()).collect();
        for (heard, by) in listeners.hear(&expected).iter().zip(["stdio", "HTTP"]) {
            if step[0] == "restore" {
                // A restore may also notify of content that did not change.
                assert!(heard.is_superset(&expected), "{step:?} by {by}: {heard:?} {expected:?}");
            } else {
                assert_eq!(*heard, expected, "{step:?} by {by}");
            }
        }
        before = after;
    }
    let writing = mcpkg::DOMAINS.operations().filter(|entry| entry.faces.shell() && !entry.effect.reads());
    for entry in writing.filter(|entry| ELSEWHERE.iter().all(|(known, _)| *known != entry.cli)) {
        assert!(walked.iter().any(|step| step.starts_with(entry.cli)), "{} is not walked", entry.cli.join(" "));
    }
}
