//! Tests of marketplaces: the plugins that a repository lists.

use serde_json::{Value, json};

use super::{done, update};
use crate::support::{Scratch, Upstream, skill};

/// Returns a repository whose marketplace lists two plugins in folders, one at the root, and two that are elsewhere
/// (GitHub and npm).
fn market() -> Upstream {
    let marketplace = json!({
        "name": "market", "owner": { "name": "o" },
        "plugins": [
            { "name": "git", "description": "Git commands", "source": "./plugins/git" },
            { "name": "docs", "source": "./plugins/docs" },
            { "name": "art", "source": "./", "strict": false, "skills": ["./skills/art"] },
            { "name": "far", "source": { "source": "github", "repo": "o/r", "ref": "v1" } },
            { "name": "pack", "source": { "source": "npm", "package": "@o/pack" } },
        ],
    });
    Upstream::new(&[
        (".claude-plugin/marketplace.json", &marketplace.to_string()),
        ("plugins/git/.claude-plugin/plugin.json", r#"{"name":"git"}"#),
        ("plugins/git/commands/commit.md", "Commit\n"),
        ("plugins/git/skills/rebase/SKILL.md", &skill("rebase", "Rebase\n")),
        ("plugins/docs/skills/pdf/SKILL.md", &skill("pdf", "PDF\n")),
        ("skills/art/SKILL.md", &skill("art", "Art\n")),
        ("skills/other/SKILL.md", &skill("other", "Other\n")),
        ("AGENTS.md", "For us\n"),
    ])
}

/// Returns the names of the project's skills.
fn skills(scratch: &Scratch) -> Vec<Value> {
    let listed = scratch.json(&["skill", "list"]);
    let skills = listed["skills"].as_array().expect("skills").iter().filter(|skill| skill["from"] == "skill");
    skills.map(|skill| skill["name"].clone()).collect()
}

#[test]
fn the_plugins_are_listed_and_by_default_all_are_taken() {
    let upstream = market();
    let scratch = Scratch::with_project();
    let shown = scratch.run(&["source", "add", &upstream.url(), "--dry-run"]);
    for line in [
        "git\tyes\tplugins/git\tGit commands",
        "art\tyes\tskills/art\t",
        "far: mcpkg source add o/r --ref=v1",
        "pack: a plugin from npm @o/pack",
    ] {
        assert!(shown.stdout.contains(line), "{line}: {shown}");
    }
    let added = scratch.json(&["source", "add", &upstream.url(), "--yes"]);
    let taken: Vec<_> = added["plugins"].as_array().expect("plugins").iter().map(|one| one["taken"].clone()).collect();
    assert_eq!(taken, [true, true, true, false, false]);
    assert_eq!(skills(&scratch), ["art", "other", "pdf", "rebase"]);
}

#[test]
fn chosen_plugins_are_taken_alone_and_an_update_stays_with_them() {
    let upstream = market();
    let scratch = Scratch::with_project();
    let url = upstream.url();
    let unknown = scratch.run(&["source", "add", &url, "--plugin", "gti", "--yes"]);
    assert!(unknown.status == 1 && unknown.stderr.contains("did you mean 'git'?"), "{unknown}");
    let far = scratch.run(&["source", "add", &url, "--plugin", "far", "--yes"]);
    assert!(far.status == 1 && far.stderr.contains("`mcpkg source add o/r --ref=v1`"), "{far}");
    let planned = scratch.json(&["source", "add", &url, "--plugin", "git", "--dry-run"]);
    assert_eq!(planned["source"]["plugins"], json!(["git"]));
    scratch.ok(&["source", "add", &url, "--plugin", "git", "--plugin", "art", "--yes"]);
    assert_eq!(skills(&scratch), ["art", "rebase"]);
    scratch.ok(&["prompt", "show", "commit"]);

    // Changes in other plugins are not taken. For a new plugin, the output names the command that takes it.
    let text = std::fs::read_to_string(upstream.tree().join(".claude-plugin/marketplace.json")).expect("a file");
    let mut listed: Value = serde_json::from_str(&text).expect("JSON");
    let plugins = listed["plugins"].as_array_mut().expect("plugins");
    plugins.push(json!({ "name": "new", "source": "./plugins/new" }));
    upstream.commit(&[
        (".claude-plugin/marketplace.json", &listed.to_string()),
        ("plugins/new/skills/fresh/SKILL.md", &skill("fresh", "Fresh\n")),
        ("plugins/docs/skills/csv/SKILL.md", &skill("csv", "CSV\n")),
        ("plugins/git/commands/push.md", "Push\n"),
    ]);
    let ran = scratch.run(&["source", "update"]);
    assert!(ran.stderr.contains("has a new plugin 'new'; to add it: `mcpkg source update kit --plugin new`"), "{ran}");
    assert_eq!(skills(&scratch), ["art", "rebase"]);
    scratch.ok(&["prompt", "show", "push"]);
    let updated = update(&scratch, &["kit", "--plugin", "new"]);
    assert_eq!(done(&updated), [("plugins/new/skills/fresh/SKILL.md".to_owned(), "created".to_owned())]);
    assert_eq!(skills(&scratch), ["art", "fresh", "rebase"]);
    // The lock stores which plugins were chosen.
    scratch.ok(&["source", "lock"]);
    let fresh = Scratch::with_project();
    let lock = scratch.path().join("mcpkg.lock").display().to_string();
    fresh.ok(&["source", "install", "--locked", &lock, "--yes"]);
    assert_eq!(skills(&fresh), ["art", "fresh", "rebase"]);

    // A plugin that is no longer listed is removed. If the marketplace cannot be read, nothing changes.
    listed["plugins"].as_array_mut().expect("plugins").retain(|plugin| plugin["name"] != "new");
    upstream.commit(&[(".claude-plugin/marketplace.json", &listed.to_string())]);
    let ran = scratch.run(&["source", "update"]);
    assert!(ran.stderr.contains("the plugin 'new' is no longer in the marketplace"), "{ran}");
    assert_eq!(skills(&scratch), ["art", "rebase"]);
    upstream.commit(&[(".claude-plugin/marketplace.json", "{")]);
    let ran = scratch.run(&["source", "update", "kit"]);
    assert!(ran.status == 1 && ran.stderr.contains("has no plugin 'git'"), "{ran}");
    assert_eq!(skills(&scratch), ["art", "rebase"]);
}

#[test]
fn a_folder_that_only_the_marketplace_calls_a_plugin_is_one() {
    for file in [
        ".claude-plugin/marketplace.json",
        ".agents/plugins/marketplace.json",
        ".cursor-plugin/marketplace.json",
        ".plugin/marketplace.json",
        ".github/plugin/marketplace.json",
    ] {
        let listed = json!({
            "metadata": { "pluginRoot": "./tools" },
            "plugins": [{ "name": "a", "source": "a" }, { "name": "b", "source": { "source": "local", "path": "./b" } }],
        });
        let upstream = Upstream::new(&[
            (file, &listed.to_string()),
            ("tools/a/commands/x.md", "X\n"),
            ("b/agents/y.md", "---\nname: y\ndescription: Y\n---\nY\n"),
        ]);
        let scratch = Scratch::with_project();
        let added = scratch.json(&["source", "add", &upstream.url(), "--plugin", "a", "--yes"]);
        assert_eq!(
            (&added["counts"]["prompt"], &added["counts"]["subagent"]),
            (&json!(1), &json!(0)),
            "{file}: {added}"
        );
        let scratch = Scratch::with_project();
        let added = scratch.json(&["source", "add", &upstream.url(), "--yes"]);
        assert_eq!(
            (&added["counts"]["prompt"], &added["counts"]["subagent"]),
            (&json!(1), &json!(1)),
            "{file}: {added}"
        );
    }
}

#[test]
fn the_lists_of_an_entry_decide_the_types_of_files() {
    let listed = json!({ "plugins": [
        { "name": "api", "source": "./", "strict": false, "agents": ["./experts/api.md"], "commands": ["./tools/deploy.md"] },
        { "name": "web", "source": "./", "strict": false, "agents": ["./experts/web.md"] },
    ] });
    let expert = |name: &str| format!("---\nname: {name}\ndescription: An expert\n---\nHelp\n");
    let upstream = Upstream::new(&[
        (".claude-plugin/marketplace.json", &listed.to_string()),
        ("experts/api.md", &expert("api")),
        ("experts/web.md", &expert("web")),
        ("experts/README.md", "# Experts\n"),
        ("tools/deploy.md", "Deploy\n"),
    ]);
    let scratch = Scratch::with_project();
    let added = scratch.json(&["source", "add", &upstream.url(), "--plugin", "api", "--yes"]);
    let paths: Vec<_> = added["items"].as_array().expect("items").iter().map(|item| item["path"].clone()).collect();
    assert_eq!(paths, ["experts/api.md", "tools/deploy.md"], "{added}");
    assert_eq!((&added["counts"]["prompt"], &added["counts"]["subagent"]), (&json!(1), &json!(1)));
    upstream.commit(&[("experts/api.md", &format!("{}More\n", expert("api")))]);
    assert_eq!(done(&update(&scratch, &[])), [("experts/api.md".to_owned(), "updated".to_owned())]);
    let scratch = Scratch::with_project();
    let added = scratch.json(&["source", "add", &upstream.url(), "--yes"]);
    assert_eq!((&added["counts"]["prompt"], &added["counts"]["subagent"]), (&json!(1), &json!(2)), "{added}");
}

#[test]
fn a_hostile_marketplace_gives_nothing_from_elsewhere() {
    let outside = tempfile::tempdir().expect("a folder");
    let secret = skill("secret", "secret\n");
    std::fs::create_dir_all(outside.path().join("skills/secret")).expect("a folder");
    std::fs::write(outside.path().join("skills/secret/SKILL.md"), &secret).expect("a file");
    let upstream = market();
    let mut plugins = vec![
        json!({ "name": "up", "source": "../../x" }),
        json!({ "name": "root", "source": outside.path().display().to_string() }),
        json!({ "name": "link", "source": "./out" }),
        json!({ "name": "lists", "source": "./", "strict": false, "skills": ["../../etc", "./../.."] }),
        json!({ "name": "--yes", "source": { "source": "url", "url": "--upload-pack=touch ran" } }),
        json!({ "name": "url", "source": { "source": "url", "url": "ext::touch ran" } }),
        json!({ "name": "esc\u{1b}[2J", "source": "./plugins/git" }),
        json!({ "name": 7, "source": [], "strict": "no", "skills": { "a": 1 } }),
        json!({ "name": "git", "source": "./plugins/git", "description": "\u{1b}[2J\u{202e}evil" }),
        json!([]),
        Value::Null,
    ];
    plugins.extend((0..10_000).map(|n| json!({ "name": format!("p{n}"), "source": "./plugins/docs" })));
    #[cfg(unix)]
    std::os::unix::fs::symlink(outside.path(), upstream.tree().join("out")).expect("a link");
    let listed = json!({ "metadata": { "pluginRoot": "../.." }, "plugins": plugins });
    upstream.commit(&[(".claude-plugin/marketplace.json", &listed.to_string())]);
    let scratch = Scratch::with_project();
    let shown = scratch.run(&["source", "add", &upstream.url(), "--dry-run"]);
    assert!(shown.status == 0 && !format!("{shown}").contains('\u{1b}'), "{shown}");
    for name in ["up", "root", "link", "lists", "url"] {
        let ran = scratch.run(&["source", "add", &upstream.url(), "--plugin", name, "--yes"]);
        assert_eq!(ran.status, 1, "{name}: {ran}");
    }
    scratch.ok(&["source", "add", &upstream.url(), "--plugin", "git", "--plugin", "p9999", "--yes"]);
    assert_eq!(skills(&scratch), ["pdf", "rebase"]);
    for (at, text) in ["", "[]", "{\"plugins\": 7}", "nul", "{\"plugins\": [[[[[]]]]]}"].iter().enumerate() {
        upstream.commit(&[(".claude-plugin/marketplace.json", text)]);
        let name = format!("n{at}");
        let ran = scratch.run(&["source", "add", &upstream.url(), "--name", &name, "--prefix", &name, "--yes"]);
        assert_eq!(ran.status, 0, "{text}: {ran}");
    }
    assert!(!scratch.path().join("ran").exists());
}

#[cfg(unix)]
#[test]
fn a_plugin_contains_the_targets_of_its_links() {
    let upstream = market();
    std::os::unix::fs::symlink("../../../skills/other", upstream.tree().join("plugins/docs/skills/other"))
        .expect("a link");
    std::os::unix::fs::symlink("../../git/commands/commit.md", upstream.tree().join("plugins/docs/linked.md"))
        .expect("a link");
    upstream.commit(&[]);
    let scratch = Scratch::with_project();
    scratch.ok(&["source", "add", &upstream.url(), "--plugin", "docs", "--yes"]);
    assert_eq!(skills(&scratch), ["other", "pdf"]);
    upstream.commit(&[("skills/other/SKILL.md", &skill("other", "Changed\n"))]);
    assert_eq!(done(&update(&scratch, &[])), [("skills/other/SKILL.md".to_owned(), "updated".to_owned())]);
}
