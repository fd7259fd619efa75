//! Tests that mcpkg can use a workspace of smctl, with its manifest, worktrees and specs.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::shop::Shop;

/// The manifest in smctl's README.
pub const MANIFEST: &str = r#"[workspace]
name = "my-project"
root = "."                    # workspace root (default: ".")

[[repos]]
name = "SmallAIOS"
url = "https://github.com/SmallAIOS/SmallAIOS"
path = "smallaios"            # local path (default: repo name)
default_branch = "main"
smctl_home = false            # true if this repo contains smctl
build_cmd = "cargo build"     # custom build command
test_cmd = "cargo test"       # custom test command
clean_cmd = "cargo clean"     # custom clean command
depends_on = []               # build ordering dependencies

[[repos]]
name = "ModelGate"
url = "https://github.com/SmallAIOS/ModelGate"
default_branch = "main"
smctl_home = true
depends_on = ["SmallAIOS"]    # built after SmallAIOS

[flow]
main_branch = "main"          # default: "main"
develop_branch = "develop"    # default: "develop"
feature_prefix = "feature/"   # default: "feature/"
release_prefix = "release/"   # default: "release/"
hotfix_prefix = "hotfix/"     # default: "hotfix/"

[worktree]
base_dir = ".worktrees"       # default: ".worktrees"

[spec]
openspec_dir = "openspec"     # default: "openspec"

[logging]
transports = ["stderr"]       # any of "stderr", "file", "syslog"
level = "info"                # error / warn / info / debug / trace

[verify.policy]
sources = ["security/policies/*.cedar"]   # globs relative to each repo
fail_on = "any"                            # "any" or "error"
"#;

/// The documents of a spec as users of smctl keep it. smctl itself never wrote such metadata.
const METADATA: &str =
    "schema: spec-driven\ncreated: 2026-03-08\nstatus: ff\nparent: smctl-tool-v1\ndescription: \"Control plane\"\n";
const PROPOSAL: &str =
    "# Gate — Proposal\n\n## Why\n\nThere is not a command for it.\n\n## What Changes\n\n- `gate status`\n";
const DESIGN: &str = "# Gate — Design Document\n\n## Decisions\n\n**D1 — One client.** It is the standard one, so that \
    timeouts need no code.\n\n## Open Questions\n\nNone blocking.\n";
pub const TASKS: &str = "# Tasks\n\n## 1. Client\n\n- [x] 1.1 Ask for the status\n- [ ] 1.2 Tell a refusal\n";

/// Creates a workspace as smctl leaves it.
pub fn original() -> Shop {
    let shop = Shop::bare();
    let root = shop.root();
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    for repo in ["smallaios", "ModelGate"] {
        let folder = root.join(repo);
        fs::create_dir_all(&folder).expect("a folder");
        shop.git(&folder, &["init", "-q", "-b", "main"]);
        shop.commit(&folder, "README.md", repo);
        shop.git(&folder, &["switch", "-q", "-c", "develop"]);
    }
    write(".smctl/workspace.toml", MANIFEST);
    let open = "ModelGate/openspec/changes/smctl-gate-v1";
    for (file, text) in
        [(".openspec.yaml", METADATA), ("proposal.md", PROPOSAL), ("design.md", DESIGN), ("tasks.md", TASKS)]
    {
        write(&format!("{open}/{file}"), text);
        write(&format!("ModelGate/openspec/changes/archive/2026-04-24-smctl-tool-v1/{file}"), text);
    }
    let gate = root.join("ModelGate");
    shop.git(&gate, &["add", "-A"]);
    shop.git(&gate, &["commit", "-q", "-m", "specs"]);
    for repo in ["smallaios", "ModelGate"] {
        let place = root.join(".worktrees/smctl-gate-v1").join(repo).display().to_string();
        shop.git(&root.join(repo), &["worktree", "add", "-q", "-b", "feature/smctl-gate-v1", &place]);
        shop.commit(Path::new(&place), "gate.rs", "// the client\n");
    }
    shop
}

#[test]
fn x48_a_workspace_of_smctl_is_taken_over() {
    let shop = original();
    let status = shop.data(&["workspace", "status"]);
    let names: Vec<&Value> = status["repos"].as_array().expect("rows").iter().map(|row| &row["name"]).collect();
    assert_eq!((names, &status["name"]), (vec![&json!("SmallAIOS"), &json!("ModelGate")], &json!("my-project")));
    assert!(status["repos"].as_array().expect("rows").iter().all(|row| row["state"] == "ok"), "{status:#}");
    let specs = shop.data(&["spec", "list"]);
    let phases: Vec<(&Value, &Value)> =
        specs["specs"].as_array().expect("rows").iter().map(|spec| (&spec["qualified"], &spec["phase"])).collect();
    let expected = [("ModelGate:smctl-gate-v1", "Active"), ("ModelGate:2026-04-24-smctl-tool-v1", "Archived")];
    assert_eq!(
        phases,
        expected.map(|(name, phase)| (json!(name), json!(phase))).iter().map(|(n, p)| (n, p)).collect::<Vec<_>>()
    );
    let sets = shop.data(&["worktree", "list"]);
    assert_eq!(sets["sets"][0]["name"], "smctl-gate-v1", "{sets}");
    // Inside the set, the branch decides which spec is meant.
    let inside = shop.root().join(".worktrees/smctl-gate-v1/ModelGate");
    let ran = shop.scratch.finish(shop.command().current_dir(&inside).args(["--json", "spec", "status"]));
    let spec: Value = serde_json::from_str(&ran.stdout).expect("one document");
    assert_eq!((&spec["qualified"], &spec["tasks_done"]), (&json!("ModelGate:smctl-gate-v1"), &json!(1)), "{ran}");
    assert_eq!(spec["branches"].as_array().map(Vec::len), Some(2), "{ran}");
    assert_eq!((&spec["open_questions"], &spec["created"]), (&json!([]), &json!("2026-03-08")), "{ran}");
    // The feature is merged into develop of both repositories. Its spec is archived when it is done.
    let (refused, exit) = shop.refused(&["spec", "archive", "smctl-gate-v1"]);
    assert_eq!((exit, &refused["code"]), (5, &json!("E_SPEC_INVALID")), "{refused}");
    shop.ok(&["flow", "feature", "finish", "smctl-gate-v1"]);
    for repo in ["smallaios", "ModelGate"] {
        assert!(shop.root().join(repo).join("gate.rs").is_file(), "{repo}");
    }
    assert!(!inside.exists());
    let tasks = shop.root().join("ModelGate/openspec/changes/smctl-gate-v1/tasks.md");
    fs::write(&tasks, TASKS.replace("[ ]", "[x]")).expect("a file");
    let archived = shop.data(&["spec", "archive", "smctl-gate-v1"]);
    let metadata = Path::new(archived["archive_path"].as_str().expect("a path")).join(".openspec.yaml");
    let metadata = metadata.display().to_string().replace("<SCRATCH>", &shop.scratch.path().display().to_string());
    let said = fs::read_to_string(metadata).expect("the metadata");
    assert!(said.starts_with(&METADATA.replace("status: ff", "status: archived")), "{said}");
    assert_eq!(fs::read_to_string(shop.root().join(".smctl/workspace.toml")).expect("the manifest"), MANIFEST);
}

/// Adding and then removing a repository leaves smctl's manifest unchanged, including its comments.
#[test]
fn x48_smctls_manifest_is_edited_in_place() {
    let shop = original();
    let manifest = || fs::read_to_string(shop.root().join(".smctl/workspace.toml")).expect("the manifest");
    shop.ok(&["workspace", "add", "../origins/web.git=apps/web"]);
    let added = manifest();
    let more = added.lines().filter(|line| !MANIFEST.lines().any(|known| known == *line)).collect::<Vec<_>>();
    assert!(more.iter().any(|line| line.contains("apps/web")) && more.len() <= 4, "{added}");
    assert!(MANIFEST.lines().all(|line| added.lines().any(|known| known == line)), "{added}");
    shop.ok(&["workspace", "remove", "web"]);
    assert_eq!(manifest(), MANIFEST);
}
