//! Tests of which options can be given more than once, and what that means.

use crate::support::Scratch;

#[test]
fn several_targets_are_named_with_commas_or_one_by_one() {
    let scratch = Scratch::with_project();
    scratch.file("src/CLAUDE.md", "Rules\n");
    scratch.ok(&["import", "src"]);
    let root = scratch.path().join("work");
    std::fs::create_dir(&root).expect("a folder");
    let root = root.to_str().expect("a path");
    let targets = |arguments: &[&str]| {
        let data = scratch.json(&[&["plan", "--root", root], arguments].concat());
        let changes = data["data"]["changes"].as_array().expect("changes").clone();
        let of = |change: &serde_json::Value| change["targets"].as_array().expect("targets").clone();
        let all: std::collections::BTreeSet<String> =
            changes.iter().flat_map(of).map(|target| target.as_str().expect("a name").to_owned()).collect();
        all.into_iter().collect::<Vec<_>>()
    };
    let two = ["codex", "gemini"];
    assert_eq!(targets(&["--target", "codex,gemini"]), two);
    assert_eq!(targets(&["--target", "codex", "--target", "gemini"]), two);
    assert_eq!(targets(&["--target", "gemini,codex", "--target", "gemini"]), two);
    assert_eq!(targets(&["--target", "codex"]), ["codex"]);
    assert_eq!(targets(&["--target", "all"]), targets(&[]));
    let refused = scratch.run(&["plan", "--root", root, "--target", "codex,gemni"]);
    assert!(refused.stderr.contains("No target is called 'gemni'"), "{refused}");
    // Both targets are written, and both are rolled back.
    let both = ["--root", root, "--target", "codex,gemini"];
    scratch.ok(&[&["deploy", "--apply", "--yes"][..], &both].concat());
    assert!(std::path::Path::new(root).join("AGENTS.md").exists());
    scratch.ok(&[&["rollback", "--to", "pristine", "--yes"][..], &both].concat());
    assert!(!std::path::Path::new(root).join("AGENTS.md").exists());
}

#[test]
fn an_option_of_one_value_is_not_given_twice_and_a_list_takes_all() {
    // Build the whole tree once: a subcommand that is built alone does not have the root's help options.
    let mut tree = mcpkg::cli::command();
    tree.build();
    let mut commands = vec![(tree, Vec::<String>::new())];
    let (mut once, mut lists) = (0, 0);
    while let Some((command, path)) = commands.pop() {
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            commands.push((below.clone(), [&path[..], &[below.get_name().to_owned()]].concat()));
        }
        for option in command.get_arguments().filter(|option| option.get_long().is_some() && !option.is_global_set()) {
            match option.get_action() {
                clap::ArgAction::Append => lists += 1,
                clap::ArgAction::Set => {
                    let name = format!("--{}", option.get_long().expect("a name"));
                    let value = option
                        .get_possible_values()
                        .first()
                        .map_or("1".to_owned(), |value| value.get_name().to_owned());
                    let words = match option.is_require_equals_set() {
                        true => vec![format!("{name}={value}")],
                        false => vec![name.clone(), value],
                    };
                    let twice = ["x"].into_iter().chain([&words, &words].into_iter().flatten().map(String::as_str));
                    let refused = command.clone().try_get_matches_from(twice).expect_err("twice");
                    let is_refused = matches!(
                        refused.kind(),
                        clap::error::ErrorKind::ArgumentConflict | clap::error::ErrorKind::ValueValidation
                    );
                    assert!(is_refused, "mcpkg {} {name} twice: {refused}", path.join(" "));
                    once += 1;
                }
                _ => {}
            }
        }
    }
    assert!(once > 100 && lists > 20, "{once} {lists}");
    // Flags may be repeated. So may `--project`, of which the last one counts.
    let scratch = Scratch::with_project();
    scratch.ok(&["--project", "nobody", "--project", "p", "prompt", "list", "--quiet", "--quiet"]);
    assert_eq!(scratch.run(&["prompt", "list", "--limit", "1", "--limit", "2"]).status, 2);
}
