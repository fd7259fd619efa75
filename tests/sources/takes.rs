//! Tests which files of a source become items. By default, these are the files that an agent of the project would read.

use std::fs;

use super::{ALL, kit, update, with_kit};
use crate::support::{Ran, Scratch, Upstream, skill};

/// Returns the commands in the hints that contain `part`, without the program's name.
fn commands(ran: &Ran, part: &str) -> Vec<Vec<String>> {
    let hints = ran.stderr.lines().filter(|line| line.contains(part));
    let commands = hints.filter_map(|line| line.rsplit_once('`')?.0.rsplit_once("`mcpkg "));
    commands.map(|(_, command)| shlex::split(command).expect("words")).collect()
}

/// Runs the only command in the hints that contain `part`.
fn follow(scratch: &Scratch, ran: &Ran, part: &str) -> Ran {
    let found = commands(ran, part);
    let [command] = found.as_slice() else { panic!("{part}: {ran}") };
    scratch.run(&command.iter().map(String::as_str).chain(["--yes"]).collect::<Vec<_>>())
}

const UNREAD: &str = "that no agent reads";
const THEIRS: &str = "for the repository's contributors";

#[test]
fn skipped_files_are_reported_with_the_command_that_takes_them() {
    let upstream = kit();
    upstream.commit(&[(".claude/settings.json", "{}\n"), (".github/copilot-instructions.md", "Ours.\n")]);
    let scratch = Scratch::with_project();
    let url = upstream.url();
    let shown = scratch.run(&["source", "add", &url, "--dry-run"]);
    for line in [
        "left out: no agent reads it\t2\tLICENSE, README.md",
        "left out: for contributors\t3\t.claude/settings.json, .github/copilot-instructions.md, AGENTS.md",
    ] {
        assert!(shown.stdout.contains(line), "{line}: {shown}");
    }
    let planned = scratch.json(&["source", "add", &url, "--dry-run"]);
    let left: Vec<_> = planned["left_out"].as_array().expect("files").iter().map(|left| left["path"].clone()).collect();
    assert!(left.contains(&"README.md".into()) && left.contains(&"AGENTS.md".into()), "{planned}");
    let words = commands(&shown, UNREAD).remove(0);
    assert_eq!(words, ["source", "add", &url, "--documents"]);

    let added = scratch.run(&["source", "add", &url, "--yes"]);
    assert_eq!(added.status, 0, "{added}");
    for gone in ["file:///kit/README.md", "instructions://AGENTS.md", "instructions://copilot-instructions.md"] {
        assert_eq!(scratch.run(&["resource", "show", gone]).status, 1, "{gone}");
    }
    scratch.ok(&["resource", "show", "skill://pdf/SKILL.md"]);
    // An update skips the same files.
    upstream.commit(&[("docs/more.md", "# More\n"), ("CLAUDE.md", "For us.\n"), ("AGENTS.md", "Changed.\n")]);
    assert_eq!(update(&scratch, &[])["items"], serde_json::json!([]));
    let documents = follow(&scratch, &added, UNREAD);
    assert_eq!(documents.status, 0, "{documents}");
    scratch.ok(&["resource", "show", "file:///kit/README.md"]);
    scratch.ok(&["resource", "show", "file:///kit/docs/more.md"]);
    assert_eq!(scratch.run(&["resource", "show", "instructions://AGENTS.md"]).status, 1);
    let theirs = follow(&scratch, &added, THEIRS);
    assert_eq!(theirs.status, 0, "{theirs}");
    assert_eq!(scratch.ok(&["resource", "show", "instructions://AGENTS.md"]), "Changed.\n");
    scratch.ok(&["resource", "show", "instructions://copilot-instructions.md"]);
    let sources = scratch.json(&["source", "list"])["sources"].clone();
    assert_eq!((&sources[0]["takes"], &sources[1]["name"]), (&"documents".into(), &"kit-root".into()), "{sources}");
}

#[test]
fn wildcards_do_not_match_files_for_contributors() {
    let upstream = kit();
    let scratch = Scratch::with_project();
    scratch.ok(&["source", "add", &upstream.url(), "--only", "*.md", "--yes"]);
    scratch.ok(&["resource", "show", "file:///kit/README.md"]);
    assert_eq!(scratch.run(&["resource", "show", "instructions://AGENTS.md"]).status, 1);
    // With `--path`, the instructions in that folder are taken too. An import of a user's own folder also takes them.
    let upstream = Upstream::new(&[("x/CLAUDE.md", "Of x.\n"), ("x/skills/a/SKILL.md", &skill("a", "x\n"))]);
    let scratch = Scratch::with_project();
    scratch.ok(&["source", "add", &upstream.url(), "--path", "x", "--yes"]);
    scratch.ok(&["resource", "show", "instructions://CLAUDE.md"]);
    let scratch = Scratch::with_project();
    scratch.ok(&["import", &upstream.tree().join("x").display().to_string()]);
    scratch.ok(&["resource", "show", "instructions://CLAUDE.md"]);
}

#[test]
fn a_repository_of_documents_names_the_command_that_takes_them() {
    let upstream = Upstream::new(&[("README.md", "# Kit\n"), ("AGENTS.md", "Ours.\n")]);
    let scratch = Scratch::with_project();
    let refused = scratch.run(&["source", "add", &upstream.url(), "--yes"]);
    assert!(refused.status == 1 && refused.stderr.contains("contains nothing to add"), "{refused}");
    assert_eq!(follow(&scratch, &refused, UNREAD).status, 0);
    assert_eq!(follow(&scratch, &refused, THEIRS).status, 0);
}

/// Tests a source in a database of an older version, which stored no choice of files and had no column for plugins.
#[test]
fn a_source_of_an_older_version_keeps_taking_all() {
    let upstream = kit();
    let scratch = with_kit(&upstream);
    let before = scratch.json(&["source", "show", "kit"])["items"].clone();
    let connection = rusqlite::Connection::open(scratch.db()).expect("the database opens");
    connection
        .execute_batch(
            "UPDATE source SET choice = '{}';
             ALTER TABLE source DROP COLUMN plugins;
             DROP TABLE access_rule;
             DELETE FROM refinery_schema_history WHERE version >= 22;
             PRAGMA user_version = 21;",
        )
        .expect("the change");
    drop(connection);
    let shown = scratch.json(&["source", "show", "kit"]);
    assert_eq!((&shown["takes"], &shown["items"]), (&"all".into(), &before));
    upstream.commit(&[("CLAUDE.md", "New.\n"), ("docs/new.md", "# New\n"), ("AGENTS.md", "Changed.\n")]);
    let updated = update(&scratch, &[]);
    assert_eq!(updated["counts"], serde_json::json!({ "created": 2, "updated": 1 }), "{updated}");
    for uri in ["file:///kit/README.md", "file:///kit/docs/new.md", "instructions://CLAUDE.md"] {
        scratch.ok(&["resource", "show", uri]);
    }
    // A lock of such a source still installs all files.
    scratch.ok(&["source", "lock"]);
    let lock = scratch.path().join("mcpkg.lock").display().to_string();
    let text = fs::read_to_string(&lock).expect("the lock");
    assert!(!text.contains("takes"), "{text}");
    let fresh = Scratch::with_project();
    fresh.ok(&["source", "install", "--locked", &lock, "--yes"]);
    fresh.ok(&["resource", "show", "instructions://CLAUDE.md"]);
}

#[test]
fn a_lock_stores_which_files_are_taken() {
    let upstream = kit();
    let scratch = Scratch::with_project();
    scratch.ok(&["source", "add", &upstream.url(), "--yes"]);
    scratch.ok(&["source", "lock"]);
    let lock = scratch.path().join("mcpkg.lock").display().to_string();
    let fresh = Scratch::with_project();
    fresh.ok(&["source", "install", "--locked", &lock, "--yes"]);
    assert_eq!(fresh.json(&["source", "show", "kit"])["items"], scratch.json(&["source", "show", "kit"])["items"]);
    upstream.commit(&[("docs/new.md", "# New\n")]);
    assert_eq!(update(&fresh, &[])["items"], serde_json::json!([]));
}

#[test]
fn a_lock_of_somebody_else_fetches_nothing_before_it_asks() {
    let upstream = kit();
    let scratch = Scratch::with_project();
    scratch.ok(&[&["source", "add", &upstream.url(), "--yes"], &ALL[..]].concat());
    scratch.ok(&["source", "lock"]);
    let lock = scratch.path().join("mcpkg.lock").display().to_string();
    let fresh = Scratch::with_project();
    // Without the repository, a fetch fails.
    fs::rename(upstream.bare(), upstream.bare().with_extension("away")).expect("a rename");
    let ran = fresh.run(&["source", "install", "--locked", &lock, "--dry-run"]);
    assert!(ran.status == 1 && ran.stderr.contains("you have never fetched it"), "{ran}");
    fs::rename(upstream.bare().with_extension("away"), upstream.bare()).expect("a rename");
    fresh.ok(&["source", "install", "--locked", &lock, "--dry-run", "--yes"]);
    // The user who added the source has fetched it.
    scratch.ok(&["source", "remove", "kit"]);
    scratch.ok(&["project", "create", "q"]);
    scratch.ok(&["-p", "q", "source", "install", "--locked", &lock, "--dry-run"]);
}
