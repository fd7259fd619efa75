//! Tests of `workspace add` and `remove`, and of listing and pruning what they keep.

use serde_json::json;

use super::shop::Shop;
use crate::support::Scratch;

/// Creates a git repository with a first commit. Returns its path.
pub fn seed(scratch: &Scratch, name: &str) -> String {
    let folder = scratch.file(&format!("{name}/code.txt"), "one\n").parent().expect("a folder").to_owned();
    for line in [
        &["init", "-q", "-b", "main"][..],
        &["add", "-A"],
        &["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-q", "-m", "first"],
    ] {
        let ended = std::process::Command::new("git").args(line).current_dir(&folder).status();
        assert!(ended.expect("git starts").success(), "{line:?}");
    }
    folder.display().to_string()
}

/// Creates `docs`, another bare repository.
pub(super) fn more(shop: &Shop) {
    let seed = shop.scratch.path().join("seed/lib");
    shop.git(&seed, &["clone", "-q", "--bare", ".", &shop.origin("docs").display().to_string()]);
}

#[test]
fn a_relative_address_is_relative_to_the_current_folder() {
    let shop = Shop::new();
    more(&shop);
    let origin = shop.origin("docs");
    let folder = origin.parent().expect("a folder").join("deep");
    std::fs::create_dir_all(&folder).expect("a folder");
    let relative = format!("../{}=manual/docs", origin.file_name().expect("a name").to_string_lossy());
    let mut command = shop.command();
    let root = shop.root().display().to_string();
    let output =
        command.current_dir(&folder).args(["-w", &root, "workspace", "add", &relative]).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    assert!(shop.root().join("manual/docs/code.txt").exists());
}

#[test]
fn a_repository_is_added_and_taken_out_and_the_rest_of_the_manifest_stays() {
    let shop = Shop::new();
    more(&shop);
    let manifest = shop.root().join(".smctl/workspace.toml");
    let read = || std::fs::read_to_string(&manifest).expect("a manifest");
    let before = format!("# ours\n{}\n# the end\n", read());
    std::fs::write(&manifest, &before).expect("a manifest");
    let origin = shop.origin("docs").display().to_string();
    let foreseen = shop.data(&["workspace", "add", &format!("{origin}=manual/docs"), "--dry-run"]);
    assert!(foreseen["dry_run"] == true && !shop.root().join("manual").exists() && read() == before, "{foreseen}");
    let data = shop.data(&["workspace", "add", &format!("{origin}=manual/docs")]);
    assert_eq!(data["repos"], json!([{ "name": "docs", "path": "manual/docs", "cloned": true }]));
    let docs = shop.root().join("manual/docs");
    assert_eq!(shop.git(&docs, &["branch", "--format=%(refname:short)"]), "develop\nmain");
    assert!(read().starts_with("# ours\n") && read().contains("manual/docs"), "{}", read());
    let (error, _) = shop.refused(&["workspace", "add", &origin]);
    assert_eq!(error["code"], "E_ALREADY_EXISTS", "{error}");
    let status = shop.data(&["workspace", "status"]);
    assert_eq!(status["repos"][3]["name"], "docs");
    shop.assert_tidy();

    let text = read();
    let needing = text.replacen("name = \"lib\"", "name = \"lib\"\ndepends_on = [\"docs\"]", 1);
    std::fs::write(&manifest, &needing).expect("a manifest");
    let (error, _) = shop.refused(&["workspace", "remove", "docs"]);
    assert!(error["message"].as_str().expect("a message").contains("lib depends on it"), "{error}");
    std::fs::write(&manifest, text).expect("a manifest");
    let foreseen = shop.data(&["workspace", "remove", "docs", "--dry-run"]);
    assert!(foreseen["dry_run"] == true && read().contains("manual/docs"));
    shop.ok(&["workspace", "remove", "docs"]);
    assert!(!read().contains("manual/docs") && docs.join("code.txt").exists(), "its files stay");
    let (error, _) = shop.refused(&["workspace", "remove", "docs"]);
    assert_eq!(error["code"], "E_INVALID_ARGUMENT");
    // The folder already exists, so `add` uses it and clones nothing.
    let data = shop.data(&["workspace", "add", &format!("{origin}=manual/docs")]);
    assert_eq!(data["repos"][0]["cloned"], false);
}

#[test]
fn kept_data_is_listed_and_deleted_when_it_is_old() {
    let shop = Shop::new();
    assert_eq!(shop.data(&["workspace", "kept"]), json!({ "kept": [] }));
    shop.ok(&["worktree", "add", "login"]);
    shop.ok(&["worktree", "remove", "login"]);
    let data = shop.data(&["workspace", "kept"]);
    let rows = data["kept"].as_array().expect("rows");
    assert_eq!(rows.len(), 3, "{data}");
    assert_eq!((&rows[0]["operation"], &rows[0]["repo_name"]), (&json!("worktree remove"), &json!("lib")));
    let shown = shop.ok(&["workspace", "kept"]);
    assert!(shown.contains("worktrees/login"), "{shown}");
    let none = shop.data(&["workspace", "prune", "--yes"]);
    assert_eq!(none["deleted"], json!([]), "it is not thirty days old");
    let (error, _) = shop.refused(&["workspace", "prune", "--older-than", "0d"]);
    assert_eq!(error["code"], "E_CONFIRM_REQUIRED");
    let (error, exit) = shop.refused(&["workspace", "prune", "--older-than", "soon"]);
    assert_eq!((error["code"].as_str(), exit), (Some("E_INVALID_ARGUMENT"), 2));
    let foreseen = shop.data(&["workspace", "prune", "--older-than", "0d", "--dry-run"]);
    assert_eq!(foreseen["deleted"].as_array().map(Vec::len), Some(3));
    assert_eq!(shop.data(&["workspace", "kept"])["kept"].as_array().map(Vec::len), Some(3));
    shop.ok(&["workspace", "prune", "--older-than", "0d", "--yes"]);
    assert_eq!(shop.data(&["workspace", "kept"]), json!({ "kept": [] }));
    let (error, _) = shop.refused(&["worktree", "restore", "login"]);
    assert_eq!(error["code"], "E_NOT_FOUND");
}

#[cfg(unix)]
#[test]
fn the_root_folder_is_named_if_it_is_not_in_a_workspace() {
    let scratch = Scratch::new();
    let mut command = scratch.command();
    let ran = scratch.finish(command.current_dir("/").args(["--json", "workspace", "status"]));
    assert!(ran.stdout.contains("`/` is not in a workspace") && ran.stdout.contains(r#""path": "/""#), "{ran}");
}
