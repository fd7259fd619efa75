//! Tests of errors: the exit status, the text, and the JSON with --json.

use insta::assert_snapshot;

use crate::support::Scratch;

#[test]
fn errors_name_the_thing_and_say_what_to_do() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "code-review", "x"]);
    assert_snapshot!(scratch.run(&["prompt", "create", "code-review", "x"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Prompt 'code-review' already exists in project 'p'
    "#);
    assert_snapshot!(scratch.run(&["prompt", "create", "two words", "x"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: Prompt name 'two words' contains invalid characters. Allowed: a-z, A-Z, 0-9, -, _, .
    "#);
    assert_snapshot!(scratch.run(&["prompt", "show", "code-reveiw"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Prompt 'code-reveiw' does not exist in project 'p'
    hint: did you mean 'code-review'?
    "#);
    assert_snapshot!(scratch.run(&["prompt", "create", "a", "@nowhere.md"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Cannot read `nowhere.md`: No such file or directory (os error 2)
    hint: use `@PATH` to read a file, `-` to read standard input, and `@@` for a text that begins with `@`
    "#);
    assert_snapshot!(scratch.run(&["prompt", "create", "a", "{% if %}", "--template"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: The prompt template does not parse: syntax error: unexpected end of block (line 1)
    "#);
    assert_snapshot!(scratch.run(&["prompt", "update", "code-review"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: At least one of --content or --description must be provided
    "#);
    assert_snapshot!(scratch.run(&["-p", "pp", "prompt", "list"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Project 'pp' does not exist
    hint: did you mean 'p'?
    "#);
    assert_snapshot!(scratch.run(&["resource", "create", "a", "no-scheme", "x"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: Resource URI 'no-scheme' has no scheme
    hint: a URI looks like file:///docs/api.md or skill://review/SKILL.md
    "#);
    assert_snapshot!(scratch.run(&["serve", "--groups", "contents"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: There is no group 'contents'
    hint: did you mean 'content'?
    "#);
}

#[test]
fn usage_errors_exit_2_and_suggest() {
    let scratch = Scratch::new();
    assert_snapshot!(scratch.run(&["promt", "list"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: unrecognized subcommand 'promt'

      tip: some similar subcommands exist: 'prompt', 'project', 'import', 'export'

    Usage: mcpkg [OPTIONS] <COMMAND>

    For more information, try '--help'.
    "#);
    assert_snapshot!(scratch.run(&["prompt", "list", "--jsn"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: unexpected argument '--jsn' found

      tip: a similar argument exists: '--json'

    Usage: mcpkg prompt list --json

    For more information, try '--help'.
    "#);
    for command in [["command", "run"], ["workflow", "run"], ["tool", "run"]] {
        let refused = scratch.run(&[command[0], command[1], "first", "region=eu"]).to_string();
        let option = if command[0] == "command" { "--arg" } else { "--input" };
        assert!(refused.contains(&format!("tip: write '{option} region=eu'")), "{refused}");
    }
    // Lines that leave out the noun of a command, or begin with the wrong one.
    for (line, tip) in [
        (&["install", "x"][..], "tip: commands begin with a noun: 'mcpkg source install', 'mcpkg tool install'\n"),
        (&["list"], "tip: commands begin with a noun: 'mcpkg project list', 'mcpkg prompt list', "),
        (&["ls"], " more\n"),
        (&["prompt", "publish"], "tip: commands begin with a noun: 'mcpkg tool publish'\n"),
    ] {
        let refused = scratch.run(line).to_string();
        assert!(refused.contains(tip) && !refused.contains("similar"), "{refused}");
    }
    // After the noun `gate`, the tip suggests only commands that begin with `gate`.
    let refused = scratch.run(&["gate", "list"]).to_string();
    assert!(
        refused.contains("tip: commands begin with a noun: 'mcpkg gate models list', 'mcpkg gate routes list'\n"),
        "{refused}"
    );
    // The noun has a command for this, but with another name.
    for (line, tip) in [
        (["catalog", "add"], "tip: did you mean 'mcpkg catalog import'?\n"),
        (["workflow", "new"], "tip: did you mean 'mcpkg workflow import'?\n"),
        (["project", "remove"], "tip: did you mean 'mcpkg project delete'?\n"),
        (["tool", "show"], "tip: did you mean 'mcpkg tool info'?\n"),
        (["spec", "create"], "tip: did you mean 'mcpkg spec new'?\n"),
    ] {
        let refused = scratch.run(&line).to_string();
        assert!(refused.contains(tip) && !refused.contains("similar"), "{refused}");
    }
    for line in [&["tool", "create", "x"][..], &["workflow", "new", "x"], &["workflow", "check", "w.yaml"]] {
        let refused = scratch.run(line).to_string();
        assert!(refused.contains("unrecognized subcommand") && !refused.contains("begin with a noun"), "{refused}");
    }
    let refused = scratch.run(&["--json", "command", "run", "first", "region=eu"]).to_string();
    assert!(refused.contains(r#""write '--arg region=eu'""#), "{refused}");
    let refused = scratch.run(&["prompt", "list", "region=eu"]).to_string();
    assert!(refused.contains("unexpected argument 'region=eu'") && !refused.contains("tip:"), "{refused}");
    assert_snapshot!(scratch.run(&["--json", "prompt", "create"]), @r#"
    status: 2
    --- stdout
    {
      "error": {
        "code": "E_INVALID_ARGUMENT",
        "message": "the following required arguments were not provided: <NAME> <CONTENT>"
      }
    }
    --- stderr
    "#);
    // The usage line does not show `--db`, which the test sets through MCPKG_DB.
    assert_snapshot!(scratch.run(&["prompt", "create"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: the following required arguments were not provided:
      <NAME>
      <CONTENT>

    Usage: mcpkg prompt create <NAME> <CONTENT>

    For more information, try '--help'.
    "#);
    // `mcpkg` alone is how users begin, but a command that lacks its second word is an error.
    assert_eq!(scratch.run(&[]).status, 0);
    assert_eq!(scratch.run(&["prompt"]).status, 2);
    assert!(!scratch.db().exists(), "a usage error makes no database");
}

#[test]
fn errors_are_json_under_json() {
    let scratch = Scratch::new();
    scratch.ok(&["init"]);
    assert_snapshot!(scratch.run(&["--json", "prompt", "list"]), @r#"
    status: 1
    --- stdout
    {
      "error": {
        "code": "E_NO_PROJECT",
        "message": "No project is selected; select a project with `mcpkg project select NAME`",
        "hints": [
          "`mcpkg project create NAME` creates a project; the first project is selected automatically"
        ]
      }
    }
    --- stderr
    "#);
    scratch.ok(&["project", "create", "p"]);
    assert_snapshot!(scratch.run(&["prompt", "delete", "x", "--json"]), @r#"
    status: 1
    --- stdout
    {
      "error": {
        "code": "E_NOT_FOUND",
        "message": "Prompt 'x' does not exist in project 'p'",
        "details": {
          "name": "x"
        }
      }
    }
    --- stderr
    "#);
}

#[test]
fn colour_follows_the_flag_and_the_environment() {
    let scratch = Scratch::new();
    let stderr = |arguments: &[&str]| scratch.run(arguments).stderr;
    assert!(!stderr(&["prompt", "list"]).contains('\u{1b}'));
    assert!(stderr(&["--color", "always", "prompt", "list"]).contains('\u{1b}'));
    assert!(stderr(&["--color=always", "promt"]).contains('\u{1b}'));
    assert!(!stderr(&["--color", "never", "prompt", "list"]).contains('\u{1b}'));
}

#[test]
fn quiet_prints_only_what_was_asked_for() {
    let scratch = Scratch::new();
    let ran = scratch.run(&["-q", "project", "create", "p"]);
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (0, "Created project 'p'\n", ""));
    assert_eq!(scratch.run(&["-q", "prompt", "delete", "x"]).status, 1);
}

#[test]
fn an_invalid_number_is_reported_in_plain_words() {
    let scratch = Scratch::with_project();
    for arguments in
        [&["evolve", "accept", "x"][..], &["serve", "--http", "--port", "80a"], &["events", "--limit", "few"]]
    {
        let ran = scratch.run(arguments);
        let named = format!("invalid value '{}' for '", arguments[arguments.len() - 1]);
        assert!(ran.status == 2 && ran.stderr.starts_with("error: ") && ran.stderr.contains(&named), "{ran}");
        assert!(ran.stderr.contains("tip: write a whole number"), "{ran}");
        assert!(!ran.stderr.contains("digit"), "{ran}");
        let told = scratch.run(&[&["--json"], arguments].concat());
        assert!(format!("{told}").contains("write a whole number"), "{told}");
    }
    // For a number out of range, the error shows the range.
    let ran = scratch.run(&["serve", "--http", "--port", "70000"]);
    assert!(ran.stderr.contains("70000 is not in "), "{ran}");
}

#[test]
fn a_name_without_a_file_says_why_no_workflow_was_looked_for() {
    let scratch = Scratch::new();
    scratch.ok(&["init"]);
    let ran = scratch.run(&["workflow", "plan", "nosuch"]);
    assert_eq!(ran.status, 1, "{ran}");
    assert!(ran.stderr.contains("Cannot read `nosuch`") && ran.stderr.contains("mcpkg project select NAME"), "{ran}");
}
