//! Tests of what a newcomer reads first: `mcpkg`, `mcpkg help`, the help of each command, and topics.

use insta::assert_snapshot;

use super::terminal::NO_SCRIPT;
use crate::support::{Scratch, screen_at, skipped};

/// Runs a command, which must succeed without messages, and returns its output.
fn printed(scratch: &Scratch, arguments: &[&str]) -> String {
    let ran = scratch.finish(scratch.command().env("COLUMNS", "80").args(arguments));
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "mcpkg {}\n{ran}", arguments.join(" "));
    ran.stdout
}

/// Adds the path of each command that is not hidden to `all`, including commands that have subcommands.
fn paths(command: &clap::Command, path: &[String], all: &mut Vec<Vec<String>>) {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        let path = [path, &[below.get_name().to_owned()]].concat();
        paths(below, &path, all);
        all.push(path);
    }
}

fn every_path() -> Vec<Vec<String>> {
    let mut all = Vec::new();
    paths(&mcpkg::cli::command(), &[], &mut all);
    assert!(all.len() > 200, "{}", all.len());
    all
}

#[test]
fn mcpkg_alone_is_one_screen() {
    let scratch = Scratch::new();
    let shown = printed(&scratch, &[]);
    assert!(shown.lines().count() <= 40 && shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert_eq!(printed(&scratch, &["-h"]), shown);
    assert!(!scratch.db().exists(), "it makes no database");
    assert_snapshot!(shown, @r"
    One SQLite file for what you give your coding agents, served to every MCP client

    Usage: mcpkg COMMAND [OPTIONS]

    Begin with:
      mcpkg up                              set up this folder for all your agents
      mcpkg demo                            try mcpkg in a scratch folder
      mcpkg import . --create-project app   import a folder's rules and skills
      mcpkg client add claude-code          let an agent read your content over MCP
      mcpkg deploy                          show what a deploy would write to disk
      mcpkg console                         see what agents ask for, and decide

    Commands:
      Start                 up, demo, console, init, help, version, completions, man
      Content               project, prompt, resource, skill, mcp, agent-file,
                            search, audit, finding
      Agents                plan, diff, preview, deploy, status, rollback, explain,
                            doctor, module, target, snapshot, evolve, client
      Share                 import, export, sync, source
      Tools                 tool, registry, toolset
      Workspaces            workspace, worktree, flow, spec, build, builds, gate
      Workflows             ask, command, catalog, plugin, workflow, template,
                            draft, consent, approval, inbox
      Server and database   serve, access, passkey, limit, backup, restore, move,
                            check, compact, events, undo, prune

    mcpkg help              all commands and topics
    mcpkg help COMMAND      a command, such as `mcpkg help prompt create`
    mcpkg help words        what words such as project, skill and target mean
    ");
    // Each line begins with a valid command, and each heading of `mcpkg help` is shown.
    let mut tree = mcpkg::cli::command();
    for line in shown.lines().filter_map(|line| line.strip_prefix("  mcpkg ")) {
        let command = line.split("  ").next().expect("a command");
        let words = std::iter::once("mcpkg").chain(command.split_whitespace());
        assert!(tree.try_get_matches_from_mut(words).is_ok(), "{line}");
    }
}

#[test]
fn help_lists_every_command_under_a_heading() {
    let scratch = Scratch::new();
    let all = printed(&scratch, &["help"]);
    assert_eq!(printed(&scratch, &["--help"]), all);
    let headings = [
        "Start",
        "Content",
        "Agents: deploy, clients",
        "Share: import, export, sync, source",
        "Tools",
        "Workspaces",
        "Workflows",
        "Server and database",
    ];
    let mut from = 0;
    for heading in headings {
        let at = all[from..].find(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no heading {heading}: {all}"));
        from += at + 1;
    }
    for command in mcpkg::cli::command().get_subcommands() {
        let line = format!("\n  {:<14}", command.get_name());
        assert_eq!(all.matches(&line).count(), 1, "{}", command.get_name());
    }
    assert!(all.lines().all(|line| line.chars().count() <= 80), "{all}");
}

#[test]
fn the_short_help_of_every_command_fits_a_screen() {
    let mut tree = mcpkg::cli::command().term_width(80);
    tree.build();
    let mut too_long = Vec::new();
    for path in every_path() {
        let mut command = &mut tree;
        for word in &path {
            command = command.find_subcommand_mut(word).expect("a command");
        }
        let short = command.render_help().to_string();
        let long = command.render_long_help().to_string();
        let path = path.join(" ");
        if short.lines().count() > 40 {
            too_long.push(format!("mcpkg {path} -h has {} lines", short.lines().count()));
        }
        assert!(short.trim_end().ends_with("Global options: `mcpkg help options`"), "mcpkg {path} -h\n{short}");
        assert!(!short.contains("--no-pager"), "mcpkg {path} -h\n{short}");
        let (_, globals) = long.rsplit_once("\nGlobal options: ").unwrap_or_else(|| panic!("mcpkg {path}\n{long}"));
        assert!(globals.lines().count() <= 4, "mcpkg {path} --help\n{long}");
        for option in
            ["--db", "--project", "--workspace", "--json", "--quiet", "--verbose", "--color", "--yes", "--help"]
        {
            assert!(globals.contains(option), "mcpkg {path}: {option}\n{long}");
        }
    }
    assert!(too_long.is_empty(), "{too_long:#?}");
}

#[test]
fn no_description_is_cut_within_brackets_or_code() {
    fn look(command: &clap::Command) {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let count = |sign| about.matches(sign).count();
        assert!(count('(') == count(')') && count('`') % 2 == 0, "{}: {about}", command.get_name());
        command.get_subcommands().for_each(look);
    }
    look(&mcpkg::cli::command());
}

#[test]
fn help_is_the_same_however_it_is_asked_for() {
    let scratch = Scratch::new();
    for words in [&["prompt", "create"][..], &["flow", "feature", "start"], &["serve"], &["tool"]] {
        let whole = printed(&scratch, &[words, &["--help"]].concat());
        assert_eq!(printed(&scratch, &[&["help"], words].concat()), whole);

        if words.len() > 1 {
            assert_eq!(printed(&scratch, &[&words[..1], &["help"], &words[1..]].concat()), whole);
        }
    }
    // An alias of a command works too.
    assert_eq!(printed(&scratch, &["help", "prompt", "ls"]), printed(&scratch, &["prompt", "list", "--help"]));
}

#[test]
fn a_mistyped_command_is_suggested_at_every_level() {
    let scratch = Scratch::new();
    let mut root = mcpkg::cli::command();
    for path in every_path() {
        let (last, before) = path.split_last().expect("a word");
        // Swap the last two letters. If that does not change the word, or the word is short, double the last letter.
        let mut mistyped: Vec<char> = last.chars().collect();
        let end = mistyped.len();
        mistyped.swap(end - 1, end - 2);
        let mut mistyped: String = mistyped.into_iter().collect();
        if mistyped == *last || mistyped.len() < 4 {
            mistyped = format!("{last}{}", last.chars().last().expect("a letter"));
        }
        let line = std::iter::once("mcpkg").chain(before.iter().map(String::as_str)).chain([mistyped.as_str()]);
        let refused = root.try_get_matches_from_mut(line).expect_err("no such command").to_string();
        let tip = refused.lines().find(|line| line.contains("tip:")).unwrap_or_default();
        assert!(tip.contains(&format!("'{last}'")), "mcpkg {} {mistyped}\n{refused}", before.join(" "));
    }
    for (words, near) in [
        (&["help", "prmpt"][..], "hint: did you mean `mcpkg help prompt`?\n"),
        (&["help", "flow", "featre"], "hint: did you mean `mcpkg help flow feature`?\n"),
        (&["help", "worsd"], "hint: did you mean `mcpkg help words`?\n"),
        (&["help", "xyzzy"], "hint: `mcpkg help` lists all commands and topics\n"),
    ] {
        let refused = scratch.run(words);
        assert!(refused.status == 2 && refused.stdout.is_empty() && refused.stderr.ends_with(near), "{refused}");
    }
}

#[test]
fn every_topic_is_shown_in_eighty_columns() {
    let scratch = Scratch::new();
    let all = printed(&scratch, &["help"]);
    let (_, topics) = all.split_once("Topics: mcpkg help TOPIC\n").expect("topics");
    let names: Vec<&str> =
        topics.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next()).collect();
    for name in ["words", "options", "environment", "exit-codes", "agents", "templates", "workflows"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    for name in names {
        let page = printed(&scratch, &["help", name]);
        assert!(page.lines().count() > 5, "{name}: {page}");
        // Code is not wrapped, so that it can be copied.
        let prose = page.lines().filter(|line| !line.starts_with("    ") && !line.contains('`'));
        let wide: Vec<&str> = prose.filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty() && !page.contains("](") && !page.contains("\n#"), "{name}: {wide:#?}\n{page}");
    }
    assert_eq!(printed(&scratch, &["help", "exit", "codes"]), printed(&scratch, &["help", "exit-codes"]));
}

#[test]
fn each_word_of_the_glossary_has_two_lines_and_an_example() {
    let scratch = Scratch::new();
    let page = printed(&scratch, &["help", "words"]);
    let words = "project prompt resource skill instructions module target deploy snapshot proposal bind source registry \
                 tool toolset workspace catalog plugin workflow draft consent passkey";
    let mut entries = page.split("\n- ").skip(1);
    for word in words.split_whitespace() {
        let entry = entries.next().unwrap_or_else(|| panic!("no {word}"));
        let (about, example) =
            entry.split_once("\n  Example:").unwrap_or_else(|| panic!("no example of {word}: {entry}"));
        assert!(about.starts_with(&format!("{word}: ")), "{word}: {about}");
        assert!(about.lines().count() <= 2 && example.trim().lines().count() <= 2, "{word}: {entry}");
        // Each command between backticks is valid.
        for command in example.split('`').filter(|part| part.starts_with("mcpkg ")) {
            let words = shlex::split(command).expect("words");
            let words = words.into_iter().map(|word| if word.starts_with('@') { "text".to_owned() } else { word });
            let parsed = mcpkg::cli::command().try_get_matches_from(words);
            assert!(parsed.is_ok(), "{command}: {}", parsed.expect_err("a failure"));
        }
    }
    assert!(entries.next().is_none(), "{page}");
}

#[test]
fn the_exit_codes_of_the_page_are_those_of_the_table() {
    let page = include_str!("../../docs/reference/exit-codes.md");
    for code in mcpkg_base::error::Code::ALL {
        assert!(page.contains(&format!("| {} |", code.exit())), "{} exits with {}", code.name(), code.exit());
    }
}

#[test]
fn the_version_says_what_this_build_is_and_where_its_files_are() {
    let scratch = Scratch::new();
    let text = printed(&scratch, &["version"]);
    let first = text.lines().next().expect("a line");
    assert!(first.starts_with(&format!("mcpkg {}", env!("CARGO_PKG_VERSION"))), "{text}");
    let data = scratch.json(&["version"]);
    assert_eq!(data["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(data["schema"], mcpkg_store::SCHEMA_VERSION);
    assert!(data["commit"].is_null() || data["commit"].as_str().is_some_and(|commit| commit.len() == 40), "{data}");
    assert_eq!(data["features"].as_array().map(|all| all.contains(&"wasm".into())), Some(cfg!(feature = "wasm")));
    let keys: Vec<&String> = data["paths"].as_object().expect("paths").keys().collect();
    assert_eq!(keys, ["database", "approvals", "cache", "program"]);
    assert_eq!(
        data["paths"]["database"],
        scratch.db().display().to_string().replace(&*scratch.path().to_string_lossy(), "<SCRATCH>")
    );
    for path in ["database", "approvals", "cache", "program"] {
        assert!(text.contains(&format!("\n{path:<11}")), "{text}");
    }
    // `version` works even if the file is not a database.
    scratch.file("broken.db", "no database");
    assert_eq!(scratch.run(&["--db", "broken.db", "version"]).status, 0);
    let secret = scratch.ok(&["--db", "postgres://me:secret@host/db", "version"]);
    assert!(!secret.contains("secret"), "{secret}");
}

#[test]
fn a_terminal_that_is_wide_enough_shows_the_first_screen_whole() {
    let scratch = Scratch::new();
    let Some((rows, _, status)) = screen_at((80, 40), &scratch.command(), "mcpkg help words", "") else {
        return skipped(NO_SCRIPT);
    };
    assert_eq!(status, 0);
    assert!(rows[0].starts_with("One SQLite file"), "{rows:#?}");
}
