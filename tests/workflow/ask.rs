//! Tests `mcpkg ask` with a fake agent: a script named `claude` or `codex` that calls the server as that agent would.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Scratch, skipped, typed_after};

const NO_SCRIPT: &str = "there is no script of util-linux";

const TEXT: &str = "Make a web app";

/// The script of the fake agents. It finds the server in a settings file or in its arguments, lists commands and
/// proposes a workflow. The file `proposal` among the notes, if it exists, contains the arguments of the proposal. The
/// variable `DOES` selects what the script does, such as `stall`.
const AGENT: &str = r#"#!/bin/sh
cat >"$NOTES/prompt"
pwd >"$NOTES/folder"
printf '%s\n' "$@" >"$NOTES/arguments"
env >"$NOTES/variables"
stay() { sleep 1000 & echo $! >"$NOTES/child.new" && mv "$NOTES/child.new" "$NOTES/child"; wait; }
case $DOES in
stall) stay ;;
fail) echo 'no credit' >&2; exit 3 ;;
forge) printf '%s\n' '{"type":"assistant","message":{"content":[{"type":"text","text":"done\u001b[2J\u001b]52;c;aGk=\u0007 password: hunter2hunter2"}]}}'; exit ;;
esac
if [ -f mcpkg.json ]; then
    program=$(sed -n 's/^ *"command": "\(.*\)",\{0,1\}$/\1/p' mcpkg.json)
    words=$(sed -n '/"args"/,/]/s/^ *"\(.*\)",\{0,1\}$/\1/p' mcpkg.json)
else
    for word; do
        case $word in
        mcp_servers.mcpkg.command=*) program=$(printf %s "${word#*=}" | sed 's/^"//; s/"$//') ;;
        mcp_servers.mcpkg.args=*) words=$(printf %s "${word#*=}" | sed 's/^\["//; s/"\]$//; s/","/\n/g') ;;
        esac
    done
fi
set --
while IFS= read -r word; do set -- "$@" "$word"; done <<END
$words
END
mkfifo in out
"$program" "$@" <in >out 2>"$NOTES/server" &
exec 3>in 4<out
call() { printf '{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}\n' "$1" "$2" "$3" >&3 && read -r answer <&4; }
call 1 initialize '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"fake","version":"1"}}'
echo '{"jsonrpc":"2.0","method":"notifications/initialized"}' >&3
call 2 tools/call '{"name":"search_commands","arguments":{"query":"prompt"}}'
proposal='{"yaml":"workflow: app\nsteps:\n  - id: a\n    run: mcpkg:command:search\n    with:\n      query: x\n"}'
if [ -f "$NOTES/proposal" ]; then proposal=$(cat "$NOTES/proposal"); fi
call 3 tools/call "{\"name\":\"propose_workflow\",\"arguments\":$proposal}"
case $DOES in
hang) stay ;;
esac
echo 'a warning that is no JSON'
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"I made it."}]}}'
echo '{"type":"item.completed","item":{"type":"agent_message","text":"I made it."}}'
echo '{"type":"result","is_error":false,"total_cost_usd":0.04}'
"#;

/// A project, and a folder with fake agents for PATH.
pub struct Ground {
    pub scratch: Scratch,
}

impl Ground {
    pub fn new(agents: &[&str]) -> Self {
        Self::on(Scratch::with_project(), agents)
    }

    /// Like [`Ground::new`], but uses an existing scratch folder.
    pub fn on(scratch: Scratch, agents: &[&str]) -> Self {
        for agent in agents {
            crate::support::set_mode(&scratch.file(&format!("agents/{agent}"), AGENT), 0o755);
        }
        std::fs::create_dir_all(scratch.path().join("notes")).expect("a folder");
        Self { scratch }
    }

    /// Returns a command that runs mcpkg with the fake agents first on PATH. `does` is the value of `DOES`.
    pub fn command(&self, does: &str) -> Command {
        let mut command = self.scratch.command();
        command
            .env("PATH", format!("{}:/usr/bin:/bin", self.scratch.path().join("agents").display()))
            .env("NOTES", self.scratch.path().join("notes"))
            .env("TMPDIR", self.tmp())
            .env("DOES", does);
        command
    }

    fn tmp(&self) -> PathBuf {
        let folder = self.scratch.path().join("tmp");
        std::fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    pub fn note(&self, name: &str) -> String {
        std::fs::read_to_string(self.scratch.path().join("notes").join(name)).unwrap_or_default()
    }

    /// Runs `mcpkg ask` at a terminal, where a person answers the question with `typed`.
    fn at_terminal(&self, agent: &str, typed: &str) -> Option<(String, i32)> {
        let mut command = self.command("");
        command.args(["ask", "--agent", agent, TEXT]);
        typed_after(&command, "[y/N", typed)
    }

    /// Approves an agent as a person. Returns false if there is no terminal to do so.
    fn approve(&self, agent: &str) -> bool {
        let approved = self.at_terminal(agent, "y\n");
        if let Some((shown, status)) = &approved {
            assert_eq!(*status, 0, "{shown}");
        } else {
            skipped(NO_SCRIPT);
        }
        approved.is_some()
    }

    fn drafts(&self) -> Vec<Value> {
        self.scratch.json(&["draft", "list"])["drafts"].as_array().expect("drafts").clone()
    }

    fn is_clean(&self) -> bool {
        std::fs::read_dir(self.tmp()).expect("a folder").next().is_none()
    }
}

/// Waits until a file exists, and returns its content.
pub fn awaited(file: &Path) -> String {
    let until = Instant::now() + Duration::from_secs(60);
    while !file.exists() {
        assert!(Instant::now() < until, "{} is not there", file.display());
        std::thread::sleep(Duration::from_millis(10));
    }
    std::fs::read_to_string(file).expect("a file").trim().to_owned()
}

/// Waits until a process has ended.
#[track_caller]
pub fn assert_gone(id: &str) {
    let until = Instant::now() + Duration::from_secs(30);
    let runs = || std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    while runs() {
        assert!(Instant::now() < until, "a process of the agent still runs");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_person_sees_what_would_run_once_and_a_draft_comes() {
    let ground = Ground::new(&["claude"]);
    let Some((shown, status)) = ground.at_terminal("claude-code", "n\n") else { return skipped(NO_SCRIPT) };
    assert_ne!(status, 0, "{shown}");
    assert_eq!(ground.note("prompt"), "", "it ran");
    for part in ["agents/claude -p", "--as assistant", "temporary folder", "propose_workflow", "You pay the maker"] {
        let text: Vec<&str> = shown.split_whitespace().filter(|word| *word != "↳").collect();
        let text = text.join(" ");
        assert!(text.contains(part), "{part}: {shown}");
    }
    let Some((shown, status)) = ground.at_terminal("claude-code", "y\n") else { return };
    assert_eq!(status, 0, "{shown}");
    let drafts = ground.drafts();
    assert_eq!(
        (drafts.len(), &drafts[0]["workflow"], &drafts[0]["proposed_by"]),
        (1, &json!("app"), &json!("mcp:fake"))
    );
    for part in ["search_commands: ", "propose_workflow: draft ", "| I made it.", "proposed 1 draft", "$0.04"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // The second time, mcpkg does not ask.
    let ran = ground.scratch.finish(ground.command("").args(["ask", "--agent", "claude-code", TEXT]));
    assert_eq!(ran.status, 0, "{ran}");
    assert_eq!(ground.drafts().len(), 2);
    assert!(ran.stderr.contains("draft diff"), "{ran}");
    assert!(ground.note("prompt").ends_with("\nMake a web app\n"), "{}", ground.note("prompt"));
    assert!(ground.note("folder").contains("/tmp/mcpkg-ask-"), "{}", ground.note("folder"));
    assert!(!ground.note("arguments").contains(TEXT), "the request is an argument");
    let variables = ground.note("variables");
    assert!(!variables.contains("MCPKG_") && variables.contains(&format!("PWD={}", ground.note("folder").trim())));
    assert!(ground.is_clean(), "a temporary folder stays");
}

#[test]
fn codex_gets_the_server_by_its_arguments() {
    let ground = Ground::new(&["codex"]);
    if !ground.approve("codex") {
        return;
    }
    assert_eq!(ground.drafts().len(), 1);
    let ran = ground.scratch.finish(ground.command("").args(["--json", "ask", TEXT]));
    assert_eq!(ran.status, 0, "{ran}");
    let values: Vec<Value> =
        serde_json::Deserializer::from_str(&ran.stdout).into_iter().map(|value| value.expect("JSON")).collect();
    let kinds: Vec<&str> = values.iter().filter_map(|value| value["kind"].as_str()).collect();
    assert_eq!(kinds, ["call", "call", "text"], "{ran}");
    let last = values.last().expect("an answer");
    assert_eq!((&last["agent"], &last["calls"]), (&json!("codex"), &json!(2)), "{last}");
    assert_eq!(last["drafts"][0]["id"], values[1]["draft"]["id"], "{last}");
    assert_eq!(last["drafts"][0]["workflow"], "app");
}

#[test]
fn without_a_terminal_nothing_runs_even_with_yes() {
    let ground = Ground::new(&["claude"]);
    for yes in [&[][..], &["--yes"]] {
        let ran = ground.scratch.finish(ground.command("").args(yes).args(["ask", TEXT]));
        assert_eq!(ran.status, 1, "{ran}");
        assert!(
            ran.stderr.contains("You have not approved") && ran.stderr.contains("mcpkg ask --agent claude-code"),
            "{ran}"
        );
    }
    assert_eq!(ground.note("prompt"), "");
}

#[test]
fn mcpkg_asks_again_if_the_project_or_the_executable_changes() {
    let ground = Ground::new(&["claude"]);
    if !ground.approve("claude-code") {
        return;
    }
    let ask = |project: &str| ground.scratch.finish(ground.command("").args(["ask", "--project", project, TEXT]));
    ground.scratch.ok(&["project", "create", "q"]);
    assert_eq!(ask("p").status, 0);
    assert!(ask("q").stderr.contains("You have not approved"));
    // The approval does not cover an executable with the same name in another folder of PATH.
    std::fs::create_dir(ground.scratch.path().join("other")).expect("a folder");
    std::fs::rename(ground.scratch.path().join("agents/claude"), ground.scratch.path().join("other/claude"))
        .expect("moved");
    let mut moved = ground.command("");
    moved.env("PATH", format!("{}:/usr/bin:/bin", ground.scratch.path().join("other").display()));
    let ran = ground.scratch.finish(moved.args(["ask", TEXT]));
    assert!(ran.stderr.contains("You have not approved"), "{ran}");
}

#[test]
fn a_cancelled_run_ends_with_all_its_processes_and_its_draft_stays() {
    let ground = Ground::new(&["claude"]);
    if !ground.approve("claude-code") {
        return;
    }
    let before = ground.drafts().len();
    let mut command = ground.command("hang");
    let started =
        command.args(["ask", TEXT]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("mcpkg starts");
    let child = awaited(&ground.scratch.path().join("notes/child"));
    let signal = Command::new("kill").args(["-INT", &started.id().to_string()]).status().expect("kill runs");
    assert!(signal.success());
    let ended = started.wait_with_output().expect("mcpkg ends");
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("Cancelled") && stderr.contains("draft diff"), "{stderr}");
    assert_gone(&child);
    assert_eq!(ground.drafts().len(), before + 1);
    assert!(ground.is_clean(), "a temporary folder stays");
}

#[test]
fn a_run_that_takes_too_long_is_ended() {
    let ground = Ground::new(&["claude"]);
    if !ground.approve("claude-code") {
        return;
    }
    let ran = ground.scratch.finish(ground.command("stall").args(["ask", "--timeout", "3s", TEXT]));
    assert_eq!(ran.status, 1, "{ran}");
    assert!(ran.stderr.contains("did not finish in time") && ran.stderr.contains("--timeout"), "{ran}");
    assert_gone(&awaited(&ground.scratch.path().join("notes/child")));
}

#[test]
fn a_missing_or_failing_agent_is_reported_with_a_hint() {
    let ground = Ground::new(&[]);
    let ran = ground.scratch.finish(ground.command("").args(["ask", TEXT]));
    assert!(ran.stderr.contains("No agent that mcpkg can ask is on PATH"), "{ran}");
    let ground = Ground::new(&["claude"]);
    let ran = ground.scratch.finish(ground.command("").args(["ask", "--agent", "codex", TEXT]));
    assert!(ran.stderr.contains("Codex is not installed: there is no program `codex` on PATH"), "{ran}");
    assert!(ran.stderr.contains("mcpkg ask --agent claude-code 'Make a web app'"), "{ran}");
    if !ground.approve("claude-code") {
        return;
    }
    let ran = ground.scratch.finish(ground.command("fail").args(["--json", "ask", TEXT]));
    let failed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(failed["error"]["code"], "E_AGENT_FAILED", "{ran}");
    assert!(failed["error"]["message"].as_str().is_some_and(|text| text.contains("no credit")), "{ran}");
}

#[test]
fn no_text_of_the_agent_reaches_the_terminal_raw() {
    let ground = Ground::new(&["claude"]);
    if !ground.approve("claude-code") {
        return;
    }
    let ran = ground.scratch.finish(ground.command("forge").args(["ask", TEXT]));
    assert_eq!(ran.status, 0, "{ran}");
    assert!(!ran.stdout.contains('\u{1b}') && !ran.stdout.contains("hunter2"), "{ran}");
    assert!(ran.stdout.contains("| done^[[2J") && ran.stdout.contains("proposed no workflow"), "{ran}");
}

#[test]
fn the_prompt_contains_the_workflow_to_change() {
    let ground = Ground::new(&["claude"]);
    if !ground.approve("claude-code") {
        return;
    }
    let id = ground.drafts()[0]["id"].as_str().expect("an id").to_owned();
    ground.scratch.finish(ground.command("").args(["ask", "--draft", &id, TEXT]));
    assert!(ground.note("prompt").contains("\n\nworkflow: app\nsteps:"), "{}", ground.note("prompt"));
    let approved = typed_after(ground.command("").args(["draft", "approve", &id]), "[y/N", "y\n");
    assert!(approved.is_some_and(|(_, status)| status == 0));
    ground.scratch.finish(ground.command("").args(["ask", "--workflow", "app", TEXT]));
    assert!(ground.note("prompt").contains("\"replaces\": \"app\" and \"revision\": 1"), "{}", ground.note("prompt"));
}
