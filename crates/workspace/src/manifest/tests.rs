//! Tests manifests: every key, every error with its position, and edits that keep the rest byte for byte.

use proptest::prelude::*;

use super::*;
use mcpkg_base::error::Result;

fn read_text(text: &str) -> Result<Manifest> {
    read(text, ".smctl/workspace.toml")
}

const WHOLE: &str = r#"# our workspace
[workspace]
name = "shop"
root = "."   # here

[[repos]]
name = "lib"
url = "https://u:secret@example.org/lib.git"

[[repos]]
name = "api"
url = "git@example.org:api.git"
path = "services/api"
default_branch = "master"
build_cmd = "make 'all of it' $(id)"
test_cmd = ["make", "test"]
clean_cmd = "make clean"
depends_on = ["lib"]
timeout_secs = 60

[flow]
feature_prefix = "f/"
changelog = "CHANGELOG.md"

[logging]
level = "debug"
"#;

#[test]
fn every_key_is_read() {
    let manifest = read_text(WHOLE).unwrap();
    assert_eq!(manifest.name, "shop");
    let [lib, api] = &manifest.repos[..] else { panic!("two") };
    assert_eq!((lib.path.as_str(), lib.default_branch.as_str()), ("lib", "main"));
    assert!(!lib.url.contains("secret"), "{}", lib.url);
    assert_eq!(lib.build, ["cargo", "build"]);
    assert_eq!(api.build, ["make", "all of it", "$(id)"], "words, and no shell");
    assert_eq!((api.path.as_str(), api.default_branch.as_str()), ("services/api", "master"));
    assert_eq!(api.clean.as_deref(), Some(&["make".to_owned(), "clean".to_owned()][..]));
    assert_eq!(api.timeout, Duration::from_secs(60));
    assert_eq!(manifest.flow.feature_prefix, "f/");
    assert_eq!(manifest.flow.changelog.as_deref(), Some("CHANGELOG.md"));
    assert_eq!(manifest.worktree.base_dir, ".worktrees");
    assert!(manifest.warnings.is_empty(), "{:?}", manifest.warnings);
}

#[test]
fn all_errors_are_reported_with_their_positions() {
    let text = "[workspace]\nname = 1\n\n[[repos]]\nname = \"a\"\nurl = \"u\"\npath = \"../a\"\n\n[[repos]]\nname = \"a\"\nurl = \"u\"\n";
    let error = read_text(text).unwrap_err();
    assert_eq!(error.code(), Code::WorkspaceInvalid);
    assert_eq!(
        error.message(),
        ".smctl/workspace.toml:2:8: `name` has the type integer, but must be a string (and 2 more)"
    );
    let findings = error.details().unwrap()["findings"].as_array().unwrap().clone();
    let lines: Vec<_> = findings.iter().map(|finding| finding["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [2, 7, 9]);
    let broken = read_text("[workspace\nname = \"x\"").unwrap_err();
    assert!(broken.message().starts_with(".smctl/workspace.toml:1:"), "{broken}");
}

#[test]
fn no_timeout_is_longer_than_a_day() {
    let text = |seconds: &str| format!("[workspace]\nname = \"a\"\n[gate]\ntimeout_secs = {seconds}\n");
    assert_eq!(read_text(&text("86400")).unwrap().gate.timeout, Duration::from_secs(86_400));
    for seconds in ["0", "-1", "86401", "9223372036854775807"] {
        let error = read_text(&text(seconds)).unwrap_err();
        assert!(error.code() == Code::WorkspaceInvalid && error.message().contains("from 1 to 86400"), "{error}");
    }
}

#[test]
fn an_unknown_key_is_a_warning_with_a_similar_key() {
    let text = "[workspace]\nname = \"a\"\n[flow]\nmain_brunch = \"trunk\"\n";
    let warnings = read_text(text).unwrap().warnings;
    assert_eq!(
        warnings,
        [
            ".smctl/workspace.toml:4:1: [flow] does not support the key `main_brunch`, so mcpkg ignores it; did you mean \
            `main_branch`?"
        ]
    );
}

#[test]
fn x28_a_cycle_is_shown_completely_and_an_unknown_dependency_with_a_similar_name() {
    let repo = |name: &str, on: &str| format!("[[repos]]\nname = \"{name}\"\nurl = \"u\"\ndepends_on = [{on}]\n");
    let text = |repos: &[(&str, &str)]| {
        let repos: String = repos.iter().map(|(name, on)| repo(name, on)).collect();
        format!("[workspace]\nname = \"a\"\n{repos}")
    };
    let error = read_text(&text(&[("a", "\"b\""), ("b", "\"c\""), ("c", "\"b\"")])).unwrap_err();
    assert!(error.message().ends_with("depend on each other in a cycle: b -> c -> b"), "{error}");
    let error = read_text(&text(&[("library", ""), ("b", "\"libary\"")])).unwrap_err();
    assert!(error.message().contains("no repository is called \"libary\"; did you mean \"library\"?"), "{error}");
    assert!(read_text(&text(&[("a", "\"b\", \"c\""), ("b", "\"c\""), ("c", "")])).is_ok());
}

#[test]
fn an_edit_keeps_the_rest_byte_for_byte() {
    let manifest = read_text(WHOLE).unwrap();
    let new = NewRepo { name: "web", url: "https://example.org/web.git", path: "web", default_branch: "main" };
    let added = add(WHOLE, "m", &manifest, &new).unwrap();
    let lines: Vec<_> = WHOLE.lines().filter(|line| !added.lines().any(|other| other == *line)).collect();
    assert!(lines.is_empty(), "{lines:?}\n{added}");
    assert_eq!(remove(&added, "m", "web").unwrap(), WHOLE);
    let error = remove(WHOLE, "m", "lib").unwrap_err();
    assert!(error.message().contains("no repository is called \"lib\""), "{error}");
    let inline = "repos = [\n  { name = \"a\", url = \"u\" }, # first\n]\n[workspace]\nname = \"x\"\n";
    let manifest = read_text(inline).unwrap();
    let added = add(inline, "m", &manifest, &new).unwrap();
    assert_eq!(read_text(&added).unwrap().repos.len(), 2, "{added}");
}

proptest! {
    #![proptest_config(crate::seed::config(256))]

    #[test]
    fn random_text_never_panics(text in "(\\[workspace\\]\n|name = \"a\"\n|\\[\\[repos\\]\\]\n|path = \"[./a]{0,4}\"\n|[a-z=\\[\\]\"{}, 0-9]{0,12}\n){0,12}") {
        let _ = read_text(&text);
    }

    /// Whatever comments and blank lines a manifest has, adding and then removing a repository restores the same bytes.
    #[test]
    fn x15_adding_and_removing_gives_the_same_bytes(
        comments in prop::collection::vec("(# [a-z ]{0,12})?\n{1,2}", 4),
        names in prop::collection::btree_set("[a-z]{2,6}", 0..4),
    ) {
        let mut text = format!("{}[workspace]\nname = \"x\" {}\n", comments[0], comments[1].trim_end());
        for name in &names {
            text += &format!("{}[[repos]]\nurl = 'u'\nname='{name}'\n{}", comments[2], comments[3]);
        }
        let manifest = read_text(&text).unwrap();
        let new = NewRepo { name: "Q", url: "https://example.org/q", path: "sub/q", default_branch: "trunk" };
        let added = add(&text, "m", &manifest, &new).unwrap();
        prop_assert_eq!(read_text(&added).unwrap().repos.len(), names.len() + 1);
        let removed = remove(&added, "m", "Q").unwrap();
        prop_assert_eq!(removed, text);
    }
}
