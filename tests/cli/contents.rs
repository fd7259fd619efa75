//! Tests of where the content of prompts and resources comes from, and of templates.

use insta::assert_snapshot;

use crate::support::Scratch;

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
