//! Tests servers with `--as enact` that use Enact's files and command lines.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::installed::{META, signed};
use crate::support::{BINARY, Client, Ran, Scratch, at_a_terminal, skipped};

pub(super) const KEY: &str = "ed25519:SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU";

/// Returns a command that runs mcpkg through a link with another program name.
fn called(scratch: &Scratch, name: &str) -> Command {
    let link = scratch.path().join("bin").join(name);
    if !link.exists() {
        std::fs::create_dir_all(link.parent().expect("a parent")).expect("a folder");
        std::os::unix::fs::symlink(BINARY, &link).expect("a link");
    }
    let plain = scratch.command();
    let mut command = Command::new(link);
    command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(scratch.path());
    command
}

fn run(scratch: &Scratch, name: &str, arguments: &[&str]) -> Ran {
    scratch.finish(called(scratch, name).args(arguments))
}

pub(super) fn config(scratch: &Scratch, trust: &str) {
    scratch.file(".enact/config.yaml", format!("trust:\n{trust}registry:\n  url: https://api.enact.dev\n"));
}

/// Starts a server, lists its tools, and ends it. Returns the names of the tools and the log.
pub(super) fn served(scratch: &Scratch, command: &mut Command) -> (Vec<String>, String) {
    let log = scratch.path().join("log");
    let file = Stdio::from(std::fs::File::create(&log).expect("a file"));
    let mut client = Client::spawn_logging(command, file).shake_hands("2025-11-25");
    let tools = client.result("tools/list", json!({}))["tools"].take();
    client.finish();
    let names = tools.as_array().expect("tools").iter().map(|tool| tool["name"].as_str().expect("a name").to_owned());
    (names.collect(), std::fs::read_to_string(log).expect("a log"))
}

pub(super) fn server(scratch: &Scratch) -> Command {
    let mut command = scratch.command();
    command.args(["serve", "--as", "enact"]);
    command
}

pub(super) fn rules(scratch: &Scratch) -> (Value, Value) {
    let rules = scratch.json(&["tool", "trust", "policy"]);
    (rules["policy"].clone(), rules["minimum"].clone())
}

#[test]
fn stricter_settings_in_the_files_apply_at_once() {
    let scratch = Scratch::new();
    let before = rules(&scratch);
    config(&scratch, "  policy: require_attestation\n  minimum_attestations: 2\n");
    served(&scratch, &mut server(&scratch));
    let now = rules(&scratch);
    assert_ne!(before, now);
    assert_eq!(now, (json!("require_attestation"), json!(2)));
    // Other servers do not read these files.
    let other = Scratch::new();
    config(&other, "  policy: require_attestation\n");
    served(&other, other.command().arg("serve"));
    assert_eq!(rules(&other), before);
}

#[test]
fn looser_settings_need_a_person_at_a_terminal() {
    let scratch = Scratch::new();
    let before = rules(&scratch);
    config(&scratch, &format!("  policy: allow\n  trusted_auditors: [\"{KEY}\"]\n"));
    for _ in 0..2 {
        let (_, log) = served(&scratch, &mut server(&scratch));
        for waiting in ["policy allow", KEY, "https://api.enact.dev", "mcpkg tool import"] {
            assert!(log.contains(waiting), "{waiting}: {log}");
        }
        assert_eq!(rules(&scratch), before);
        assert_eq!(scratch.json(&["tool", "trust", "list"])["trusted"], json!([]));
        assert!(!scratch.ok(&["registry", "list"]).contains("api.enact.dev"));
    }
    let mut import = scratch.command();
    import.args(["tool", "import"]);
    let Some((shown, _)) = at_a_terminal(&import, "y\n") else { return skipped("there is no script") };
    assert!(
        shown.contains("Approve settings that loosen the current rules: ") && shown.contains("not prompt? [y/N]"),
        "{shown}"
    );
    assert_eq!(rules(&scratch).0, "allow");
    let (_, log) = served(&scratch, &mut server(&scratch));
    assert!(!log.contains("settings that you have not approved"), "{log}");
}

#[test]
fn the_active_toolset_limits_the_server_and_a_malformed_file_does_not_stop_it() {
    let scratch = Scratch::new();
    for name in ["alice/one", "alice/two"] {
        let at = format!("package/{name}");
        let front =
            format!("---\nname: {name}\nversion: 1.0.0\ndescription: Says hello\ncommand: echo hello\n---\n# Hello\n");
        scratch.file(&format!("{at}/SKILL.md"), front);
        let folder = scratch.path().join(&at).display().to_string();
        scratch.ok(&["tool", "publish", &folder, "--to", "local"]);
        signed(&scratch, name);
        scratch.ok(&["tool", "install", name]);
    }
    let mcp = json!({ "toolsets": { "web": ["alice/one"] }, "activeToolset": "web" });
    scratch.file(".enact/mcp.json", mcp.to_string());
    let (names, _) = served(&scratch, &mut server(&scratch));
    assert!(names.contains(&"alice__one".to_owned()) && !names.contains(&"alice__two".to_owned()), "{names:?}");
    // If an agent adds a tool to the file, the tool is still not shown.
    let wider = json!({ "toolsets": { "web": ["alice/one", "alice/two"] }, "activeToolset": "web" });
    scratch.file(".enact/mcp.json", wider.to_string());
    assert!(!served(&scratch, &mut server(&scratch)).0.contains(&"alice__two".to_owned()));
    // Other servers show all tools.
    assert!(served(&scratch, scratch.command().arg("serve")).0.contains(&"alice__two".to_owned()));
    scratch.file(".enact/mcp.json", "{");
    let (names, log) = served(&scratch, &mut server(&scratch));
    assert!(names.len() >= META.len() && log.contains("continues with what it last read"), "{log}");
}

#[test]
fn enacts_command_lines_work_under_its_program_names() {
    let scratch = Scratch::new();
    let (names, _) = served(&scratch, &mut called(&scratch, "enact-mcp"));
    assert_eq!(names.len(), META.len(), "{names:?}");
    assert!(META.iter().all(|name| names.contains(&(*name).to_owned())), "{names:?}");
    scratch.file(
        "hello/SKILL.md",
        "---\nname: alice/hello\nversion: 1.0.0\ndescription: Says hello\ncommand: echo hi\n---\n# Hello\n",
    );
    let folder = scratch.path().join("hello").display().to_string();
    scratch.ok(&["tool", "publish", &folder, "--to", "local"]);
    signed(&scratch, "alice/hello");
    for line in [
        &["search", "hello"][..],
        &["learn", "alice/hello"],
        &["install", "--global", "alice/hello"],
        &["list", "--global"],
        &["mcp", "toolset", "create", "my-toolset"],
        &["mcp", "toolset", "add", "my-toolset", "alice/hello"],
        &["mcp", "toolsets"],
        &["mcp", "use", "my-toolset"],
        &["mcp", "use", "--all"],
        &["uninstall", "--global", "alice/hello"],
    ] {
        let ran = run(&scratch, "enact", line);
        assert_eq!(ran.status, 0, "{line:?}: {ran}");
    }
}
