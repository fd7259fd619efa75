//! Tests that real shells complete names, and that completing changes nothing.

use std::path::Path;
use std::process::Command;

use mcpkg_core::op::Names;

use crate::support::{BINARY, Scratch, skipped, typed_after};

/// Returns a project with names of several kinds, and another project.
fn filled() -> Scratch {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "review-code", "Reviewed"]);
    scratch.ok(&["prompt", "create", "release", "Released"]);
    scratch.ok(&["resource", "create", "api", "file:///docs/api.md", "The API"]);
    scratch.ok(&["skill", "create", "pdf", "# PDF", "--description", "Works with PDFs"]);
    scratch.ok(&["project", "create", "auth"]);
    scratch
}

/// Asks for completions as a shell's script does. `words` are the words of the command line, and the last word is
/// completed.
fn answered(scratch: &Scratch, shell: &str, words: &[&str]) -> Vec<String> {
    let mut command = scratch.command();
    let index = words.len().to_string();
    command.env("MCPKG_COMPLETE", shell).env("_CLAP_COMPLETE_INDEX", index).args(["--", "mcpkg"]).args(words);
    let output = command.output().expect("an answer");
    assert!(output.status.success() && output.stderr.is_empty(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

fn names(scratch: &Scratch, words: &[&str]) -> Vec<String> {
    answered(scratch, "fish", words).iter().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn names_of_every_kind_are_completed() {
    let scratch = filled();
    scratch.ok(&["access", "create", "laptop"]);
    let root = scratch.path().join("root");
    std::fs::create_dir(&root).expect("a folder");
    let root = root.to_str().expect("a path");
    scratch.ok(&["deploy", "--root", root, "--target", "codex", "--apply", "--yes"]);
    scratch.ok(&["mcp", "add", "github", "--url", "https://mcp.example/"]);
    scratch.file("note.yaml", crate::workflow::saved::NOTE);
    scratch.ok(&["workflow", "import", "note.yaml"]);
    scratch.ok(&["workflow", "env", "set", "REGION", "eu"]);
    let snapshot = scratch.json(&["snapshot", "list", "--root", root]);
    let snapshot = snapshot["data"]["snapshots"][0]["id"].as_str().expect("an id").to_owned();
    for (words, expected) in [
        (&["prompt", "show", ""][..], &["release", "review-code"][..]),
        (&["prompt", "show", "rev"], &["review-code"]),
        (&["prompt", "get", "rev"], &["review-code"]),
        (&["prompt", "rm", "rel"], &["release"]),
        (&["prompt", "history", "rel"], &["release"]),
        (&["prompt", "show", "-p", "auth", "re"], &[]),
        (&["--project=auth", "prompt", "show", "re"], &[]),
        (&["--project", "a"], &["auth"]),
        (&["--project=a"], &["--project=auth"]),
        (&["project", "select", ""], &["auth", "p"]),
        (&["resource", "show", "ap"], &["api"]),
        (&["resource", "show", "file:"], &["file:///docs/api.md"]),
        (&["skill", "show", "p"], &["pdf"]),
        (&["skill", "show", "rev"], &["review-code"]),
        (&["skill", "delete", ""], &["pdf"]),
        (&["module", "show", "skill:"], &["skill:pdf"]),
        (&["module", "set", "skill:pdf", "--targets", "codex,cur"], &["codex,cursor"]),
        (&["access", "revoke", ""], &["laptop"]),
        (&["limit", "set", "ev"], &["events"]),
        (&["plan", "--target", "co"], &["codex", "copilot"]),
        (&["target", "enable", "g"], &["gemini"]),
        (&["mcp", "show", "git"], &["github"]),
        (&["workflow", "show", "keep"], &["keep_note"]),
        (&["workflow", "env", "unset", "RE"], &["REGION"]),
        (&["workflow", "test", "keep"], &["keep_note"]),
        (&["template", "use", "create"], &["create_and_wait"]),
        (&["client", "show", "claude-c"], &["claude-code"]),
        (&["serve", "--groups", "content,dep"], &["content,deploy"]),
        (&["rollback", "--to", "pri"], &["pristine"]),
        (&["snapshot", "show", &snapshot[..6]], &[&snapshot]),
        (&["promp"], &["prompt"]),
        (&["prompt", "sh"], &["show"]),
    ] {
        assert_eq!(names(&scratch, words), expected, "{words:?}");
    }
    assert!(answered(&scratch, "fish", &["snapshot", "show", ""])[0].contains("\tdeploy 20"));
    assert_eq!(answered(&scratch, "bash", &["module", "show", "skill", ":", ""]), ["pdf"]);
    assert_eq!(answered(&scratch, "bash", &["--project", "=", "a"]), ["auth"]);
    assert_eq!(answered(&scratch, "zsh", &["module", "show", "skill:"]), [r"skill\:pdf:"]);
}

#[test]
fn flags_are_completed_after_a_dash() {
    let scratch = filled();
    assert_eq!(names(&scratch, &["prompt", "show", "x", "--ra"]), ["--raw"]);
    assert!(names(&scratch, &["prompt", "list", "--"]).contains(&"--json".to_owned()));
}

#[test]
fn completing_creates_and_changes_nothing() {
    let scratch = Scratch::new();
    if !scratch.is_file() {
        return;
    }
    assert!(names(&scratch, &["prompt", "show", ""]).iter().all(|name| name.starts_with('-')), "no database");
    assert!(!scratch.db().exists() && !scratch.state().exists());

    let filled = filled();
    let before = std::fs::read(filled.db()).expect("the database");
    assert_eq!(names(&filled, &["prompt", "show", "rel"]), ["release"]);
    assert_eq!(std::fs::read(filled.db()).expect("the database"), before);
    assert!(!filled.path().join("test.db-wal").exists());

    for fixture in ["v1.db", "v8.db"] {
        let old = Scratch::new();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(fixture);
        std::fs::copy(&file, old.db()).expect("a copy");
        names(&old, &["prompt", "show", ""]);
        let kept = std::fs::read(old.db()).expect("the database") == std::fs::read(file).expect("the fixture");
        assert!(kept, "{fixture} was brought up to date");
        assert_eq!(std::fs::read_dir(old.path()).expect("a folder").count(), 1, "{fixture}");
    }
    filled.file("test.db", "no database");
    assert!(names(&filled, &["prompt", "show", "rel"]).is_empty(), "damage is told by the command itself");
}

#[test]
fn every_argument_that_takes_a_name_completes_it() {
    // Arguments called `name` that complete nothing, most of them because they take a new name.
    const FREE: &[&str] = &[
        "init_tool name",
        "create_project name",
        "create_prompt name",
        "create_resource name",
        "create_access_key name",
        "add_passkey name",
        "add_mcp_server name",
        "create_toolset name",
        "add_registry name",
        "new_tool_key name",
        "set_tool_env name",
        "set_workflow_env name",
        "add_workflow_fixture name",
        "smctl_spec_new name",
        "smctl_workspace_init name",
        "smctl_flow_feature_start name",
        "smctl_flow_hotfix_start name",
        "smctl_flow_push name",
        "smctl_worktree_add name",
    ];
    let mut without = Vec::new();
    for entry in mcpkg::DOMAINS.operations().filter(|entry| entry.faces.shell()) {
        let mut command = entry.augment(clap::Command::new("x"));
        command.build();
        for arg in command.get_arguments() {
            let id = arg.get_id().as_str();
            let names_a_thing = matches!(id, "name" | "project") && arg.get_long().is_none();
            let here = format!("{} {id}", entry.tool);
            if names_a_thing && arg.get::<Names>().is_none() && !FREE.contains(&&*here) {
                without.push(here);
            }
        }
    }
    assert_eq!(without, ["create_skill name"], "the one that makes what it names");
}

/// Returns a shell whose PATH begins with the binary's folder.
fn shell(scratch: &Scratch, program: &str) -> Command {
    let mut command = Command::new(program);
    let folder = Path::new(BINARY).parent().expect("a folder").display();
    command
        .env_clear()
        .env("PATH", format!("{folder}:/usr/local/bin:/usr/bin:/bin"))
        .env("HOME", scratch.path())
        .env("MCPKG_DB", scratch.db())
        .env("TERM", "dumb")
        .current_dir(scratch.path());
    command
}

fn is_there(program: &str) -> bool {
    let there = Command::new(program).args(["-c", "exit 0"]).output().is_ok();
    if !there {
        skipped(&format!("{program} is not installed"));
    }
    there
}

/// Types a line with a tab at a shell's prompt, and checks that the command ran with the completed name.
fn typed(command: &Command, line: &str, expected: &str) {
    match typed_after(command, "READY>", &format!("{line}\nexit\n")) {
        Some((shown, _)) => assert!(shown.contains(expected), "{line:?}: {shown}"),
        None => skipped("there is no script(1)"),
    }
}

const LINES: [(&str, &str); 4] = [
    ("mcpkg prompt show rev\t", "Reviewed"),
    ("mcpkg resource show file:///d\t", "The API"),
    ("mcpkg module show skill:p\t | head -n 1", "skill:pdf: skill"),
    ("mcpkg --project=au\t project current", "auth"),
];

#[test]
fn bash_completes() {
    if !is_there("bash") {
        return;
    }
    let scratch = filled();
    scratch.ok(&["project", "select", "p"]);
    let rc = scratch.file("rc", "PS1='READY>'\nsource <(mcpkg completions bash)\n");
    for (line, expected) in LINES {
        let mut bash = shell(&scratch, "bash");
        bash.args(["--noprofile", "--rcfile", rc.to_str().expect("a path"), "-i"]);
        typed(&bash, line, expected);
    }
}

#[test]
fn zsh_completes() {
    if !is_there("zsh") {
        return;
    }
    let scratch = filled();
    let read = "PS1='READY>'\nautoload -Uz compinit && compinit -u -D\nsource <(mcpkg completions zsh)\n";
    let loaded = "fpath=($HOME/functions $fpath)\nPS1='READY>'\nautoload -Uz compinit && compinit -u -D\n";
    std::fs::create_dir(scratch.path().join("functions")).expect("a folder");
    scratch.file("functions/_mcpkg", scratch.ok(&["completions", "zsh"]));
    for startup in [read, loaded] {
        scratch.file(".zshrc", startup);
        for (line, expected) in LINES {
            let mut zsh = shell(&scratch, "zsh");
            zsh.arg("-i");
            typed(&zsh, line, expected);
        }
    }
}

#[test]
fn fish_completes() {
    if !is_there("fish") {
        return;
    }
    let scratch = filled();
    for (line, expected) in [
        ("mcpkg prompt show rev", "review-code"),
        ("mcpkg resource show file:///d", "file:///docs/api.md"),
        ("mcpkg module show skill:p", "skill:pdf"),
        ("mcpkg --project=au", "--project=auth"),
    ] {
        let mut fish = shell(&scratch, "fish");
        fish.args(["--no-config", "-c", &format!("mcpkg completions fish | source; complete -C '{line}'")]);
        let output = fish.output().expect("fish");
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.lines().any(|line| line.split('\t').next() == Some(expected)), "{line}: {output:?}");
    }
}
