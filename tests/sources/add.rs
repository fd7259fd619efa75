//! Tests of `source add`, `list`, `show`, `outdated` and `remove`.

use std::fs;

use super::{ALL, kit, with_kit};
use crate::support::{Scratch, Upstream, skill};

#[test]
fn the_content_is_shown_and_nothing_in_it_is_run() {
    let upstream = kit();
    let scratch = Scratch::with_project();
    let shown = scratch.ok(&[&["source", "add", &upstream.url(), "--dry-run"], &ALL[..]].concat());
    for line in [
        "skills\t2\tpdf, xlsx",
        "prompt\t1\tcommit",
        "subagent\t1\tagents.rev.md",
        "instructions file\t1\tAGENTS.md",
        "documents\t2\tkit.LICENSE, kit.README.md",
        "of these, programs and scripts\t1\tskills/pdf/scripts/run.sh",
        "licence\t1\tLICENSE",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(shown.contains(".mcp.json"), "{shown}");
    assert_eq!(scratch.json(&["source", "list"])["sources"].as_array().map(Vec::len), Some(0));
    assert_eq!(scratch.json(&["prompt", "list"])["prompts"].as_array().map(Vec::len), Some(0));

    let refused = scratch.run(&["source", "add", &upstream.url()]);
    assert!(refused.status == 1 && refused.stderr.contains("confirm with --yes"), "{refused}");

    let added = scratch.json(&[&["source", "add", &upstream.url(), "--yes"], &ALL[..]].concat());
    assert_eq!(added["counts"]["skill"], 2);
    let files = &added["files"];
    let number = |key: &str| files[key].as_u64().expect("a count");
    assert_eq!(number("total"), number("imported") + number("same") + number("left_out"));
    assert_eq!(number("total"), 10, "each file is accounted for: {files}");
    assert!(!scratch.path().join("ran").exists(), "a script of the source was run");
    let commit = upstream.git(&["rev-parse", "HEAD"]);
    let shown = scratch.json(&["source", "show", "kit"]);
    assert_eq!((&shown["commit"], &shown["ref"]), (&commit.into(), &"refs/heads/main".into()));
    let items = shown["items"].as_array().expect("items");
    assert_eq!(items.len(), 9);
    let run = items.iter().find(|item| item["path"] == "skills/pdf/scripts/run.sh").expect("the script");
    assert_eq!((&run["mode"], &run["uri"]), (&"100755".into(), &"skill://pdf/scripts/run.sh".into()));
    assert!(items.iter().all(|item| item["sha256"].as_str().is_some_and(|sha| sha.len() == 64)));
    assert!(items.iter().all(|item| item["state"] == "as it came"), "{shown}");
}

#[test]
fn a_name_that_is_taken_is_reported_and_a_prefix_helps() {
    let (one, other) = (kit(), kit());
    let scratch = with_kit(&one);
    let again = scratch.run(&["source", "add", &one.url(), "--yes"]);
    assert!(again.status == 1 && again.stderr.contains("already has a source 'kit'"), "{again}");
    other.commit(&[("skills/pdf/SKILL.md", &skill("pdf", "other\n"))]);
    let clash = scratch.run(&["source", "add", &other.url(), "--name", "other", "--yes"]);
    assert!(clash.status == 1 && clash.stderr.contains("`--prefix other`"), "{clash}");
    assert!(clash.stderr.contains("skill 'pdf.SKILL.md'"), "{clash}");
    assert_eq!(scratch.json(&["source", "list"])["sources"].as_array().map(Vec::len), Some(1), "nothing was added");
    scratch.ok(&["source", "add", &other.url(), "--name", "other", "--prefix", "o", "--documents", "--yes"]);
    let skills = scratch.json(&["skill", "list"]);
    let skills = skills["skills"].as_array().expect("skills").iter().filter(|skill| skill["from"] == "skill");
    let names: Vec<_> = skills.map(|skill| skill["name"].clone()).collect();
    assert_eq!(names, ["o-pdf", "o-xlsx", "pdf", "xlsx"]);
    assert!(scratch.ok(&["resource", "show", "skill://o-pdf/SKILL.md"]).contains("other"));
    assert!(scratch.ok(&["resource", "show", "file:///o/README.md"]).contains("# Kit"));
    scratch.ok(&["prompt", "show", "o-commit"]);
}

#[test]
fn a_part_of_a_repository_a_tag_and_a_commit() {
    let upstream = kit();
    upstream.git(&["tag", "v1"]);
    upstream.git(&["push", "-q", "origin", "v1"]);
    let first = upstream.git(&["rev-parse", "HEAD"]);
    upstream.commit(&[("skills/pdf/SKILL.md", &skill("pdf", "newer\n"))]);
    for (arguments, says) in [
        (&["--ref", "v1", "--path", "skills"][..], "one"),
        (&["--ref", &first, "--path", "skills/pdf"], "one"),
        (&["--ref", "main", "--only", "skills/pdf"], "newer"),
        (&["--only", "skills", "--only", "!xlsx"], "newer"),
    ] {
        let scratch = Scratch::with_project();
        let url = upstream.url();
        let words = [&["source", "add", &url, "--yes"], arguments].concat();
        scratch.ok(&words);
        let main = scratch.ok(&["resource", "show", "skill://pdf/SKILL.md"]);
        assert!(main.contains(says), "{arguments:?}: {main}");
        assert_eq!(scratch.run(&["prompt", "show", "commit"]).status, 1, "{arguments:?}");
    }
    let scratch = Scratch::with_project();
    for (reference, code) in [("none", "E_NOT_FOUND"), ("--upload-pack=x", "E_INVALID_ARGUMENT")] {
        let option = format!("--ref={reference}");
        let ran = scratch.run(&["--json", "source", "add", &upstream.url(), &option, "--yes"]);
        assert!(ran.stdout.contains(code), "{reference}: {ran}");
    }
    let ran = scratch.run(&["source", "add", &upstream.url(), "--path", "nowhere", "--yes"]);
    assert!(ran.status == 1 && ran.stderr.contains("no folder `nowhere`"), "{ran}");
}

#[test]
fn a_short_name_means_github_and_git_may_take_it_from_a_mirror() {
    let upstream = kit();
    let scratch = Scratch::with_project();
    let config =
        scratch.file("gitconfig", format!("[url \"{}\"]\n\tinsteadOf = https://github.com/team/kit\n", upstream.url()));
    let mut command = scratch.command();
    command.env("GIT_CONFIG_GLOBAL", config).args(["source", "add", "team/kit@main//skills", "--yes"]);
    let ran = scratch.finish(&mut command);
    assert_eq!(ran.status, 0, "{ran}");
    let source = &scratch.json(&["source", "list"])["sources"][0];
    assert_eq!((&source["url"], &source["path"]), (&"https://github.com/team/kit".into(), &"skills".into()));
}

#[test]
fn a_folder_and_a_bundle_are_sources_too() {
    let upstream = kit();
    let scratch = Scratch::with_project();
    let bundle = scratch.path().join("kit.bundle").display().to_string();
    upstream.git(&["bundle", "create", "-q", &bundle, "main"]);
    scratch.ok(&["source", "add", &bundle, "--prefix", "b", "--yes"]);
    assert_eq!(scratch.json(&["source", "show", "kit"])["kind"], "git");
    scratch.ok(&["resource", "show", "skill://b-pdf/SKILL.md"]);
    // A folder is read as in an import: .gitignore excludes the skill that git does not track.
    upstream.write("skills/own/SKILL.md", "---\nname: own\ndescription: Own\n---\n");
    let tree = upstream.tree().display().to_string();
    scratch.ok(&[&["source", "add", &tree, "--yes"], &ALL[..]].concat());
    let shown = scratch.json(&["source", "show", "tree"]);
    assert_eq!((&shown["kind"], shown.get("commit")), (&"folder".into(), None));
    scratch.ok(&["resource", "show", "skill://pdf/SKILL.md"]);
    assert_eq!(scratch.run(&["resource", "show", "skill://own/SKILL.md"]).status, 1);
    assert_eq!(scratch.json(&["source", "outdated", "tree"])["sources"][0]["state"], "current");
    upstream.write("AGENTS.md", "Be briefer.\n");
    assert_eq!(scratch.json(&["source", "outdated", "tree"])["sources"][0]["state"], "newer");
}

#[test]
fn outdated_reports_and_check_exits_with_3() {
    let upstream = kit();
    let scratch = with_kit(&upstream);
    assert_eq!(scratch.run(&["source", "outdated", "--check"]).status, 0);
    let commit = upstream.commit(&[("AGENTS.md", "Be briefer.\n")]);
    let ran = scratch.run(&["--json", "source", "outdated", "--check"]);
    assert_eq!(ran.status, 3, "{ran}");
    assert!(ran.stdout.contains(&commit) && ran.stdout.contains("\"newer\""), "{ran}");
    assert_eq!(scratch.run(&["source", "outdated"]).status, 0, "without --check it only tells");
    let unknown = scratch.run(&["source", "outdated", "kitt"]);
    assert!(unknown.status == 1 && unknown.stderr.contains("did you mean 'kit'?"), "{unknown}");
}

#[test]
fn remove_leaves_the_items() {
    let scratch = with_kit(&kit());
    let ran = scratch.run(&["source", "remove", "kit"]);
    assert!(ran.status == 0 && ran.stdout.contains("the project keeps 9 items"), "{ran}");
    assert_eq!(scratch.json(&["source", "list"])["sources"].as_array().map(Vec::len), Some(0));
    scratch.ok(&["resource", "show", "skill://pdf/SKILL.md"]);
    // After a project with a source is deleted, the database is sound.
    let upstream = kit();
    scratch.ok(&["project", "create", "q"]);
    scratch.ok(&["-p", "q", "source", "add", &upstream.url(), "--yes"]);
    scratch.ok(&["project", "delete", "q", "--yes"]);
    scratch.ok(&["check", "--deep"]);
}

#[test]
fn a_hostile_tree_writes_nowhere_else() {
    let upstream = Upstream::new(&[("skills/a/SKILL.md", &skill("a", "x\n"))]);
    let outside = tempfile::tempdir().expect("a folder");
    fs::write(outside.path().join("secret.md"), "secret").expect("a file");
    let target = outside.path().display().to_string();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&target, upstream.tree().join("skills/out")).expect("a link");
        std::os::unix::fs::symlink(format!("{target}/secret.md"), upstream.tree().join("skills/a/secret.md"))
            .expect("a link");
    }
    // Write attributes that would run a filter or change line endings during a checkout.
    upstream.write(".gitattributes", "*.md text eol=crlf filter=evil\n");
    upstream.write(".gitmodules", "[submodule \"s\"]\n\tpath = s\n\turl = ext::sh -c 'touch ran'\n");
    let commit = upstream.git(&["rev-parse", "HEAD"]);
    upstream.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},s")]);
    upstream.git(&["add", "-f", "skills", ".gitattributes", ".gitmodules"]);
    upstream.git(&["commit", "-q", "-m", "evil"]);
    let blob = upstream.git(&["rev-parse", "HEAD:skills/a/SKILL.md"]);
    upstream.git(&["push", "-q", "origin", "main"]);
    let scratch = Scratch::with_project();
    let config = scratch.file("gitconfig", "[filter \"evil\"]\n\tsmudge = touch ran\n\tclean = touch ran\n");
    let mut command = scratch.command();
    command.env("GIT_CONFIG_GLOBAL", config).args(["--json", "source", "add", &upstream.url(), "--yes"]);
    let ran = scratch.finish(&mut command);
    assert_eq!(ran.status, 0, "{ran}");
    assert!(ran.stdout.contains("a submodule") && ran.stdout.contains("a link that leads out of the folder"), "{ran}");
    assert!(!ran.stdout.contains("secret.md\",\n      \"sha256"), "{ran}");
    assert!(!scratch.path().join("ran").exists());
    assert_eq!(scratch.ok(&["resource", "show", "skill://a/SKILL.md"]), skill("a", "x\n"), "no line end was changed");
    assert_eq!(blob.len(), 40);
    assert!(fs::read_dir(outside.path()).expect("a folder").count() == 1);
}

#[test]
fn a_database_of_somebody_else_causes_no_fetch() {
    let upstream = kit();
    let scratch = with_kit(&upstream);
    upstream.commit(&[("AGENTS.md", "Be briefer.\n")]);
    for arguments in [&["source", "update"][..], &["source", "update", "kit"], &["source", "outdated"]] {
        let mut command = scratch.command();
        command.env("XDG_STATE_HOME", scratch.path().join("other-state")).args(arguments);
        let ran = scratch.finish(&mut command);
        assert!(ran.status == 1 && format!("{ran}").contains("You have never fetched the source"), "{ran}");
    }
    assert_eq!(scratch.run(&["source", "update"]).status, 0);
}
