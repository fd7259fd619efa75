//! Tests of the commands for projects, backups and the trail, and of what they print.

use insta::assert_snapshot;

use crate::support::Scratch;

#[test]
fn a_project_from_its_first_prompt_to_its_end() {
    let scratch = Scratch::new();
    assert_snapshot!(scratch.run(&["project", "create", "auth"]), @r#"
    status: 0
    --- stdout
    Created project 'auth'
    --- stderr
    hint: 'auth' is the first project, so mcpkg selected it
    "#);
    assert_snapshot!(scratch.run(&["prompt", "create", "review", "Review {{ file }}", "--argument", "file=The file"]), @r#"
    status: 0
    --- stdout
    Created prompt 'review' in project 'auth'
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["prompt", "show", "review", "-a", "file=a.rs"]), @r#"
    status: 0
    --- stdout
    Review a.rs--- stderr
    "#);
    assert_snapshot!(scratch.run(&["prompt", "rename", "review", "look"]), @r#"
    status: 0
    --- stdout
    Renamed prompt 'review' to 'look' in project 'auth'
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["prompt", "update", "look", "--content", "Look at {{ file }}"]), @r#"
    status: 0
    --- stdout
    Updated prompt 'look' in project 'auth'
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["prompt", "diff", "look", "1", "3"]), @r#"
    status: 0
    --- stdout
    --- look 1 (attributes)
    +++ look 3 (attributes)
    @@ -7,5 +7,5 @@
           "required": true
         }
       ],
    -  "name": "review"
    +  "name": "look"
     }
    --- look 1
    +++ look 3
    @@ -1 +1 @@
    -Review {{ file }}
    \ No newline at end of file
    +Look at {{ file }}
    \ No newline at end of file
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["prompt", "delete", "look"]), @r#"
    status: 0
    --- stdout
    Deleted prompt 'look' from project 'auth'
    --- stderr
    hint: `mcpkg prompt restore look 3` restores the prompt
    "#);
    assert_snapshot!(scratch.run(&["prompt", "restore", "look", "1"]), @r#"
    status: 0
    --- stdout
    Restored prompt 'look' in project 'auth' from revision 1 as revision 5
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["project", "current"]), @r#"
    status: 0
    --- stdout
    auth (selected)
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["project", "delete", "auth"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Delete project 'auth' with its prompts, resources and their history needs to be confirmed. Nothing was changed
    hint: confirm with --yes
    "#);
    assert_snapshot!(scratch.run(&["project", "delete", "auth", "--yes"]), @r#"
    status: 0
    --- stdout
    Deleted project 'auth'
    --- stderr
    "#);
    let kinds: Vec<String> = scratch.json(&["events"])["events"]
        .as_array()
        .expect("events")
        .iter()
        .map(|event| format!("{} {} {}", event["kind"], event["subject"], event["outcome"]).replace('"', ""))
        .collect();
    assert_eq!(
        kinds,
        [
            "project.create auth ok",
            "prompt.create review ok",
            "prompt.rename review ok",
            "prompt.update look ok",
            "prompt.delete look ok",
            "prompt.restore look ok",
            "project.delete auth ok",
        ]
    );
}

#[test]
fn a_folder_is_bound_and_unbound() {
    let scratch = Scratch::with_project();
    scratch.ok(&["project", "create", "q"]);
    std::fs::create_dir_all(scratch.path().join("sub/gone")).expect("folders");
    let inside = |folder: &str, arguments: &[&str]| {
        scratch.finish(scratch.command().current_dir(scratch.path().join(folder)).args(arguments))
    };
    inside("", &["project", "select", "q", "--here"]);
    inside("sub/gone", &["project", "select", "q", "--here"]);
    assert_snapshot!(inside("sub", &["project", "unbind"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: The folder <SCRATCH>/sub is not bound to a project
    hint: `mcpkg project unbind <SCRATCH>` unbinds the bound parent folder
    "#);
    std::fs::remove_dir(scratch.path().join("sub/gone")).expect("a folder");
    scratch.ok(&["project", "unbind", "sub/gone"]);
    assert_snapshot!(inside("", &["project", "unbind"]), @r#"
    status: 0
    --- stdout
    Unbound <SCRATCH> from project 'q'
    --- stderr
    hint: in this folder, mcpkg now uses project 'p'; `mcpkg project current` shows why
    "#);
    assert_snapshot!(inside("", &["project", "unbind"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: The folder <SCRATCH> is not bound to a project
    hint: `mcpkg project show NAME` lists the folders bound to a project
    "#);
    let events = scratch.json(&["events"]);
    let newest = &events["events"].as_array().expect("events")[6];
    assert_eq!(
        (&newest["kind"], &newest["subject"], &newest["project"]),
        (&"project.unbind".into(), &"<SCRATCH>".into(), &"q".into())
    );
}

#[test]
fn backups_are_dated_pruned_and_restored() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "kept", "x"]);
    std::fs::create_dir(scratch.path().join("backups")).expect("a folder");
    for _ in 0..4 {
        scratch.ok(&["backup", "--keep", "2", "backups"]);
    }
    let mut files: Vec<_> = std::fs::read_dir(scratch.path().join("backups"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    assert_eq!(files.len(), 2);
    scratch.ok(&["prompt", "delete", "kept"]);
    let newest = files.pop().expect("a backup").display().to_string();
    let refused = scratch.run(&["restore", &newest]);
    assert_eq!(refused.status, 1, "{refused}");
    assert!(refused.stderr.contains("hint: confirm with --yes"), "{refused}");
    // A file that cannot be restored is refused before anybody is asked.
    scratch.file("notes.txt", "no backup");
    for (file, why) in [
        ("notes.txt", "`notes.txt` is not an SQLite database\nhint: name a file that `mcpkg backup` wrote\n"),
        (&scratch.db().display().to_string(), "is the database itself\nhint: name a backup instead\n"),
    ] {
        let refused = scratch.run(&["restore", file]);
        assert!(refused.status != 0 && refused.stderr.contains(why), "{refused}");
    }
    scratch.ok(&["restore", &newest, "--yes"]);
    assert_eq!(scratch.ok(&["prompt", "show", "kept"]), "x");
    let checked = scratch.ok(&["check", "--deep"]);
    let database = scratch.db().display().to_string().replace(&*scratch.path().to_string_lossy(), "<SCRATCH>");
    assert_eq!(checked, format!("The database {database} is sound; verified the SHA-256 of 1 stored content\n"));
    let again = scratch.run(&["backup", &newest]);
    assert_eq!(again.status, 1);
    assert!(again.stderr.contains("already exists"), "{again}");
}

#[test]
fn a_server_reports_that_its_project_does_not_exist() {
    let scratch = Scratch::with_project();
    let served = scratch.run(&["serve", "--project", "nope"]);
    assert!(
        served.status == 0 && served.stderr.contains("warning: project 'nope' does not exist (--project)"),
        "{served}"
    );
    assert_eq!(scratch.run(&["serve", "--project", "p"]).stderr, "");
    let refused = scratch.run(&["serve", "--http", "--host", "example.com"]);
    assert!(refused.status == 2 && refused.stderr.contains("such as 127.0.0.1"), "{refused}");
    let server = crate::support::Http::start(&scratch, &["--host", "localhost"]);
    assert!(server.address.ip().is_loopback());
}

#[test]
fn init_prints_the_path_and_the_next_steps() {
    let scratch = Scratch::new();
    if !scratch.is_file() {
        return;
    }
    let data = scratch.json(&["init"]);
    assert_eq!(data["database"], "<SCRATCH>/test.db");
    let default = scratch.finish(scratch.command().env_remove("MCPKG_DB").arg("init"));
    assert!(default.stdout.starts_with("The database is <SCRATCH>/.local/share/mcpkg/mcpkg.db\n"), "{default}");
    assert_eq!(default.stdout.lines().count(), 1, "{default}");
    assert!(default.stderr.contains("`mcpkg project create NAME`"), "{default}");
    assert!(default.stderr.contains("`mcpkg client add claude-code`"), "{default}");
    let named = scratch.run(&["init"]);
    assert!(named.stderr.contains("`mcpkg --db <SCRATCH>/test.db client add claude-code`"), "{named}");
    assert_eq!(scratch.run(&["-q", "init"]).stderr, "");
    let selected = Scratch::with_project().run(&["init"]);
    assert!(!selected.stderr.contains("project create"), "{selected}");
}

#[test]
fn completions_and_man_pages_are_written() {
    let scratch = Scratch::new();
    for shell in ["bash", "zsh", "fish", "powershell"] {
        assert!(scratch.ok(&["completions", shell]).contains("mcpkg"), "{shell}");
    }
    scratch.ok(&["man", "man1"]);
    let page = std::fs::read_to_string(scratch.path().join("man1/mcpkg-prompt-create.1")).expect("a page");
    assert!(page.contains("CONTENT"));
    assert!(!scratch.db().exists(), "neither needs a database");
}

#[test]
fn a_read_creates_no_database() {
    let scratch = Scratch::new();
    let missing = scratch.path().join("mistyped.db");
    let named = missing.to_str().expect("a readable path");
    for arguments in [&["prompt", "list"][..], &["project", "list"], &["search", "x"], &["events"], &["access", "list"]]
    {
        let ran = scratch.run(&[&["--db", named], arguments].concat());
        assert_eq!(ran.status, 1, "{arguments:?}: {ran}");
        assert!(ran.stderr.contains("mistyped.db` does not exist"), "{ran}");
    }
    assert!(!missing.exists());
    // The default database is not created either, and reads as empty.
    let usual = |arguments: &[&str]| {
        let mut command = scratch.command();
        command.env_remove("MCPKG_DB").env("XDG_DATA_HOME", scratch.path().join("data")).args(arguments);
        command.output().expect("mcpkg runs")
    };
    let ran = usual(&["project", "list"]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert!(!scratch.path().join("data").exists());
    assert!(usual(&["project", "create", "p"]).status.success());
    assert!(scratch.path().join("data/mcpkg/mcpkg.db").exists());
}

#[test]
fn the_last_change_is_shown_and_what_can_be_restored() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "p", "one\n"]);
    assert_snapshot!(scratch.run(&["prompt", "diff", "p"]), @r"
    status: 0
    --- stdout
    Prompt 'p' has only one revision, so there is nothing to compare
    --- stderr
    ");
    scratch.ok(&["prompt", "update", "p", "--content", "two\n"]);
    scratch.ok(&["prompt", "update", "p", "--content", "three\n"]);
    assert_snapshot!(scratch.run(&["prompt", "diff", "p"]), @r"
    status: 0
    --- stdout
    --- p 2
    +++ p 3
    @@ -1 +1 @@
    -two
    +three
    --- stderr
    ");
    assert_snapshot!(scratch.run(&["prompt", "diff", "p", "1"]), @r"
    status: 0
    --- stdout
    --- p 1
    +++ p 3
    @@ -1 +1 @@
    -one
    +three
    --- stderr
    ");
    let ran = scratch.run(&["prompt", "restore", "p"]);
    assert_eq!(ran.status, 2, "{ran}");
    assert!(ran.stderr.contains("hint: 3: update, "), "{ran}");
    assert_eq!(scratch.ok(&["prompt", "show", "p"]), "three\n");
    scratch.ok(&["prompt", "rm", "p", "--yes"]);
    assert_snapshot!(scratch.run(&["prompt", "restore", "q"]), @r"
    status: 1
    --- stdout
    --- stderr
    error: Prompt 'q' does not exist in project 'p'
    ");
}

#[test]
fn an_empty_list_says_so_also_in_a_pipe() {
    let scratch = Scratch::with_project();
    let mut empty = Vec::new();
    for entry in mcpkg::DOMAINS.operations().filter(|entry| entry.faces.shell() && entry.cli.ends_with(&["list"])) {
        let Some(lists) = entry.lists else { continue };
        let ran = scratch.run(&[&["--json"], entry.cli].concat());
        let printed: serde_json::Value =
            serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}\n{ran}"));
        // Some lists need a workspace, and some are never empty.
        if !printed[lists].as_array().or_else(|| printed["data"][lists].as_array()).is_some_and(Vec::is_empty) {
            continue;
        }
        let ran = scratch.run(entry.cli);
        assert!(ran.status == 0 && ran.stdout.is_empty() && ran.stderr.len() > 5, "{:?}\n{ran}", entry.cli);
        let quiet = scratch.run(&[&["-q"], entry.cli].concat());
        assert!(quiet.stdout.is_empty() && quiet.stderr.is_empty(), "{:?}\n{quiet}", entry.cli);
        empty.push(entry.cli[0]);
    }
    assert!(empty.len() > 10 && ["passkey", "access", "prompt"].iter().all(|name| empty.contains(name)), "{empty:?}");
}
