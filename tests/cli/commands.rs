//! Tests of the commands for projects, prompts, resources, searches and backups, and of what they print.

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
fn content_comes_from_the_line_a_file_or_standard_input() {
    let scratch = Scratch::with_project();
    let file = scratch.file("notes/guide.md", "from a file\n");
    scratch.ok(&["prompt", "create", "file", &format!("@{}", file.display())]);
    scratch.ok(&["prompt", "create", "literal", "@@home"]);
    assert_eq!(scratch.run_with_input(&["prompt", "create", "piped", "-"], b"from a pipe").status, 0);
    scratch.ok(&["prompt", "create", "list", "- one\n- two", "-d", "- a list"]);
    // `update` accepts content in the same forms as `create`, and also in the option `--content`.
    scratch.ok(&["prompt", "create", "changed", "first"]);
    let shown = |name: &str| scratch.run(&["prompt", "show", name, "--raw"]).stdout;
    for (words, content) in [
        (&["second"][..], "second"),
        (&["-d", "Only the description"], "second"),
        (&["@notes/guide.md", "-d", "Both"], "from a file\n"),
        (&["@@home"], "@home"),
        (&["--description", "Before", "- one\n- two"], "- one\n- two"),
        (&["-c", "by the flag"], "by the flag"),
        (&["--content", "- again"], "- again"),
    ] {
        scratch.ok(&[&["prompt", "update", "changed"], words].concat());
        assert_eq!(shown("changed"), content, "{words:?}");
    }
    assert_eq!(scratch.run_with_input(&["prompt", "update", "changed", "-"], b"from a pipe").status, 0);
    assert_eq!(shown("changed"), "from a pipe");
    let twice = scratch.run(&["prompt", "update", "changed", "one", "--content", "two"]);
    assert!(twice.status == 2 && twice.stderr.contains("cannot be used with"), "{twice}");
    scratch.ok(&["resource", "create", "api", "file:///api.md", "first"]);
    for words in [&["@notes/guide.md"][..], &["-m", "text/markdown"], &["--content", "@notes/guide.md"]] {
        scratch.ok(&[&["resource", "update", "api"], words].concat());
        assert_eq!(scratch.ok(&["resource", "show", "api"]), "from a file\n", "{words:?}");
    }
    assert_eq!(scratch.ok(&["prompt", "show", "list"]), "- one\n- two");
    assert_eq!(scratch.ok(&["prompt", "show", "file"]), "from a file\n");
    assert_eq!(scratch.ok(&["prompt", "show", "literal"]), "@home");
    assert_eq!(scratch.ok(&["prompt", "show", "piped"]), "from a pipe");
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
fn front_matter_declares_a_template() {
    let scratch = Scratch::with_project();
    let exported = |to: &str| {
        scratch.ok(&["export", to]);
        std::fs::read_to_string(scratch.path().join(to).join(".claude/commands/pr.md")).expect("the prompt's file")
    };
    let file = "---\ndescription: Review a PR\nargument-hint: [pr]\nmodel: x\n---\nReview $ARGUMENTS\n";
    scratch.file("pr.md", file);
    assert_snapshot!(scratch.run(&["prompt", "create", "pr", "@pr.md"]), @r#"
    status: 0
    --- stdout
    Created prompt 'pr' in project 'p'
    --- stderr
    hint: the front matter makes this prompt a template with the arguments: arguments
    "#);
    assert_eq!(exported("created"), file);
    assert_eq!(scratch.ok(&["prompt", "show", "pr", "-a", "arguments=7"]), "Review 7\n");
    assert_eq!(scratch.ok(&["prompt", "show", "pr"]), "Review $ARGUMENTS\n");
    assert_eq!(scratch.ok(&["prompt", "show", "pr", "--raw"]), file);
    scratch.ok(&["prompt", "update", "pr", "-d", "Changed"]);
    scratch.file("pr.md", "---\narguments: [pr]\n---\nSee {{ pr }}");
    scratch.ok(&["prompt", "update", "pr", "--content", "@pr.md"]);
    let listed = &scratch.json(&["prompt", "list"])["prompts"][0];
    assert_eq!((&listed["description"], &listed["arguments"][0]["name"]), (&"Changed".into(), &"pr".into()));
    assert_eq!(scratch.ok(&["prompt", "show", "pr", "-a", "pr=8"]), "See 8");
    let described = "---\ndescription: \"Changed\"\narguments: [pr]\n---\nSee {{ pr }}";
    assert_eq!(exported("updated"), described);
    scratch.ok(&["prompt", "update", "pr", "--content", "@pr.md", "--template", "false"]);
    let plain = "---\narguments: [pr]\n---\nSee {{ pr }}";
    assert_eq!(scratch.ok(&["prompt", "show", "pr"]), plain);
    assert_eq!(exported("plain").matches("arguments: [pr]").count(), 1);
    scratch.ok(&["prompt", "update", "pr", "--content", "@pr.md"]);
    // New front matter replaces the old front matter, even if it declares no arguments.
    scratch.file("pr.md", "---\nmodel: y\n---\nSee");
    scratch.ok(&["prompt", "update", "pr", "--content", "@pr.md"]);
    assert_eq!(scratch.ok(&["prompt", "show", "pr"]), "See");
    assert_eq!(exported("replaced"), "---\ndescription: \"Changed\"\nmodel: y\n---\nSee");
    assert_snapshot!(scratch.run(&["prompt", "create", "bad", "---\n- no keys\n---\nx"]), @r#"
    status: 0
    --- stdout
    Created prompt 'bad' in project 'p'
    --- stderr
    hint: the content was stored unchanged: the front matter is malformed: it is not a mapping of keys to values
    "#);
}

#[test]
fn a_value_that_a_template_does_not_use_is_refused() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "look", "Look at {{ file }}", "--argument", "file"]);
    scratch.ok(&["prompt", "create", "free", "{% set a = 1 %}{{ x|default('') }}{{ a }}", "--template"]);
    scratch.ok(&["prompt", "create", "plain", "x"]);
    assert_snapshot!(scratch.run(&["prompt", "show", "look", "-a", "fiel=a.rs"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: Prompt 'look' takes no argument 'fiel'
    hint: did you mean 'file'?
    "#);
    assert_snapshot!(scratch.run(&["prompt", "show", "look", "-a", "file=a.rs", "-a", "depth=2"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: Prompt 'look' takes no argument 'depth'
    hint: it takes file
    "#);
    assert_snapshot!(scratch.run(&["prompt", "show", "plain", "-a", "file=a.rs"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: Prompt 'plain' takes no argument 'file'
    hint: declare the argument with `mcpkg prompt update plain --argument file`
    "#);
    assert_eq!(scratch.ok(&["prompt", "show", "free", "-a", "x=2"]), "21");
    assert_eq!(scratch.ok(&["prompt", "show", "look", "--raw", "-a", "x=2"]), "Look at {{ file }}");
}

#[test]
fn a_files_bytes_and_name_decide_the_type_of_a_resource() {
    let scratch = Scratch::with_project();
    let bytes: Vec<u8> = (0..=255).cycle().take(3_000_000).collect();
    for (name, content) in [("doc.md", b"# hi".to_vec()), ("pic.png", bytes.clone()), ("data.json", b"{}".to_vec())] {
        let path = scratch.file(name, content);
        scratch.ok(&["resource", "add", name, &format!("file:///{name}"), &format!("@{}", path.display())]);
    }
    assert_eq!(scratch.ok(&["--json", "resource", "list"]).matches("\"mime_type\": ").count(), 3);
    let listed = scratch.json(&["resource", "list"]);
    let types: Vec<_> =
        listed["resources"].as_array().expect("resources").iter().map(|r| r["mime_type"].clone()).collect();
    assert_eq!(types, ["application/json", "text/markdown", "image/png"]);
    assert_snapshot!(scratch.run(&["resource", "show", "pic.png", "-o", "out.png"]), @r#"
    status: 0
    --- stdout
    Wrote resource 'pic.png' to out.png (3000000 bytes)
    --- stderr
    "#);
    assert_eq!(std::fs::read(scratch.path().join("out.png")).expect("the file"), bytes);
    assert_snapshot!(scratch.run(&["resource", "update", "pic.png", "--mime-type", "text/plain"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: The content is not UTF-8 text, so it cannot have the MIME type 'text/plain'
    hint: use a binary type such as application/octet-stream, or pass new content
    "#);
}

#[test]
fn an_editor_changes_a_prompt() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "a", "one"]);
    let edit = |editor: &str| scratch.finish(scratch.command().env("EDITOR", editor).args(["prompt", "edit", "a"]));
    assert_snapshot!(edit("sed -i s/one/two/"), @r#"
    status: 0
    --- stdout
    Updated prompt 'a' in project 'p'
    --- stderr
    "#);
    assert_eq!(scratch.ok(&["prompt", "show", "a"]), "two");
    assert_snapshot!(edit("true"), @r#"
    status: 0
    --- stdout
    Prompt 'a' in project 'p' is unchanged
    --- stderr
    "#);
    assert_snapshot!(edit("false"), @r#"
    status: 1
    --- stdout
    --- stderr
    error: The editor `false` ended with exit status: 1; nothing was changed
    "#);
    assert_snapshot!(scratch.run(&["prompt", "edit", "a"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: No editor is set
    hint: set EDITOR, or use `mcpkg prompt update NAME --content @FILE`
    "#);
}

/// Texts whose words are not all separated by spaces: the name, the text, and parts of the text to search for.
const SPACELESS: [(&str, &str, &[&str]); 6] = [
    ("zh", "请把季度报告翻译成英文，并检查术语表。", &["报告", "季度报告", "术语表", "翻译成英文", "告"]),
    (
        "ja",
        "この機能はデータベースのバックアップを復元します。",
        &["復元", "バックアップ", "データベースのバックアップ", "機能は"],
    ),
    ("ko", "데이터베이스를 백업하고 복원하세요", &["베이스", "데이터", "복원", "원하세요"]),
    ("th", "กรุณาสำรองฐานข้อมูลทุกวันก่อนเที่ยงคืน", &["ฐานข้อมูล", "ข้อมูล", "เที่ยงคืน"]),
    ("mixed", "Der Server 第3章の設定をreadmeに書く", &["設定", "readme", "server 設定", "第3章", "readmeに"]),
    ("rare", "𠮷野家の注文を受ける", &["𠮷野", "注文"]),
];

#[test]
fn words_inside_a_text_without_spaces_are_found_with_their_surroundings() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "latin", "a report, a backup and nothing else"]);
    for (name, text, _) in SPACELESS {
        let text = format!("{}{text}{}", "前置き。".repeat(30), "、続き".repeat(30));
        scratch.ok(&["prompt", "create", name, &text]);
    }
    let found = |query: &str| -> Vec<(String, String)> {
        let found = scratch.json(&["search", query]);
        let hits = found["hits"].as_array().expect("hits").iter();
        hits.map(|hit| {
            (hit["name"].as_str().expect("a name").to_owned(), hit["snippet"].as_str().expect("a snippet").to_owned())
        })
        .collect()
    };
    for (name, _, queries) in SPACELESS {
        for query in queries {
            let hits = found(query);
            let named: Vec<&str> = hits.iter().map(|(name, _)| name.as_str()).collect();
            assert!(named.contains(&name), "{query}: {named:?}");
            let (_, snippet) = hits.iter().find(|(hit, _)| hit == name).expect("it is found");
            let shown = query.split(' ').next_back().expect("a word");
            assert!(
                snippet.contains(shown) && snippet.starts_with('…') && snippet.ends_with('…'),
                "{query}: {snippet}"
            );
        }
    }
    // The same characters in another order do not match. Neither does a word that only begins like one in the text.
    assert!(found("告报").is_empty() && found("季度会议").is_empty());
    assert_eq!(found("report").len(), 1);
    // Descriptions are searched too, and text that an update removed is no longer found.
    scratch.ok(&["prompt", "create", "told", "x", "-d", "議事録を要約する"]);
    assert_eq!(found("要約"), [("told".to_owned(), "x".to_owned())]);
    scratch.ok(&["prompt", "update", "told", "--description", "y"]);
    assert!(found("要約").is_empty());
    scratch.ok(&["check", "--deep"]);
}

#[test]
fn searches_are_ranked_and_stay_in_the_project() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "needle-in-name", "hay"]);
    scratch.ok(&["prompt", "create", "other", "a needle in the hay", "-d", "x"]);
    scratch.ok(&["resource", "create", "doc", "file:///doc", "needles everywhere"]);
    scratch.ok(&["project", "create", "q"]);
    scratch.ok(&["-p", "q", "prompt", "create", "far", "needle"]);
    assert_snapshot!(scratch.run(&["search", "needle"]), @r#"
    status: 0
    --- stdout
    prompt	needle-in-name	hay
    resource	doc	needles everywhere
    prompt	other	a needle in the hay
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["search", "--all", "need", "hay"]), @r#"
    status: 0
    --- stdout
    prompt	p/needle-in-name	hay
    prompt	p/other	a needle in the hay
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["search", "\"(* OR"]), @r#"
    status: 0
    --- stdout
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["search", "***"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: The query contains no words
    "#);
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
