//! Tests that importing deployed files yields the modules that they were made of: nothing new in the same project, and
//! each module once in a new project.

use std::collections::{BTreeMap, BTreeSet};

use mcpkg_agents::agents::places::Commands;
use mcpkg_deploy::targets::Target;
use proptest::prelude::*;
use serde_json::Value;

use crate::deploy::answers::word;
use crate::deploy::place::Place;
use crate::support::{Scratch, Tree, config, runs_all};

/// The options of `module set` that say when instructions apply.
const SAYS: &[&[&str]] = &[
    &[],
    &["--globs", "src/**"],
    &["--globs", "src/**", "--globs", "lib/a/**"],
    &["--globs", "**/*.py", "--globs", "web/**/*.{ts,tsx}"],
    &["--applies", "described"],
    &["--applies", "manual"],
];

/// Command files: their path and their content.
const COMMANDS: &[(&str, &str)] = &[
    ("plain.md", "Look at it.\n"),
    ("costs.md", "It costs \\$0.50.\n"),
    ("git/all.md", "---\ndescription: \"All: of it\"\nargument-hint: \"[pr]\"\n---\nReview $ARGUMENTS.\n"),
    ("named.md", "---\narguments: [topic, reader]\nmodel: opus\n---\nExplain $topic to $reader, on !`date`.\n"),
];

/// The front matter lines that list a subagent's tools.
const TOOLS: &[&str] = &["", "tools: Read, Grep\n", "tools: Bash, mcp__git__log\n"];

#[derive(Clone, Debug)]
struct Wanted {
    instructions: Vec<(usize, bool)>,
    commands: Vec<usize>,
    tools: Option<usize>,
    skill: bool,
    targets: Vec<Target>,
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let instructions = prop::collection::vec((0..SAYS.len(), any::<bool>()), 0..4);
    let commands = proptest::sample::subsequence((0..COMMANDS.len()).collect::<Vec<_>>(), 0..=COMMANDS.len());
    let targets = prop_oneof![
        1 => proptest::sample::select(Target::all().to_vec()).prop_map(|target| vec![target]),
        2 => proptest::sample::subsequence(Target::all().to_vec(), 1..=Target::all().len()),
        1 => Just(Target::all().to_vec()),
    ];
    (instructions, commands, prop::option::of(0..TOOLS.len()), any::<bool>(), targets).prop_map(
        |(instructions, commands, tools, skill, mut targets)| {
            // Without Claude Code's own file, mcpkg cannot recognise two agents' lossy forms as the same command.
            let claude = *Target::all().iter().find(|target| target.name() == "claude_code").expect("a target");
            if !commands.is_empty() && targets.len() > 1 && !targets.contains(&claude) {
                targets.insert(0, claude);
            }
            Wanted { instructions, commands, tools, skill, targets }
        },
    )
}

impl Wanted {
    fn place(&self) -> Place {
        let place = Place::on(Scratch::with_project_here());
        for (at, (says, described)) in self.instructions.iter().enumerate() {
            let (uri, text) = (format!("instructions://m{at}"), format!("Text {at}.\n"));
            let mut words = vec!["resource", "create", "x", &uri, &text];
            let name = format!("instructions---m{at}");
            words[2] = &name;
            if *described {
                words.extend(["-d", "About: it"]);
            }
            place.ok(&words);
            if !SAYS[*says].is_empty() {
                place.ok(&[&["module", "set", &format!("instructions:m{at}")], SAYS[*says]].concat());
            }
        }
        for (path, file) in self.commands.iter().map(|at| COMMANDS[*at]) {
            place.write(&format!("root/in/.claude/commands/{path}"), file);
        }
        if !self.commands.is_empty() {
            place.ok(&["import", "in"]);
            std::fs::remove_dir_all(place.root().join("in")).expect("a folder");
        }
        if let Some(tools) = self.tools {
            let text = format!("---\nname: checker\ndescription: \"Checks: it\"\n{}---\nYou check.\n", TOOLS[tools]);
            place.resource("subagent://checker", &text);
        }
        if self.skill {
            place.resource("skill://tidy/SKILL.md", "---\nname: tidy\ndescription: d\n---\nTidy.\n");
            place.resource("skill://tidy/run.sh", "#!/bin/sh\n");
        }
        let names: Vec<&str> = self.targets.iter().map(|target| target.name()).collect();
        place.ok(&[&["target", "enable"], &names[..]].concat());
        let off: Vec<&str> = Target::all_names().into_iter().filter(|name| !names.contains(name)).collect();
        if !off.is_empty() {
            place.ok(&[&["target", "disable"], &off[..]].concat());
        }
        place
    }

    /// Returns the modules that the plan writes, and whether each has a file other than a SKILL.md.
    fn given(&self, place: &Place) -> BTreeMap<String, bool> {
        let plan = place.data(&["plan"]);
        let mut given = BTreeMap::new();
        for change in plan["changes"].as_array().expect("changes") {
            let is_skill = word(&change["path"]).ends_with("/SKILL.md");
            for id in change["module_ids"].as_array().expect("ids") {
                *given.entry(word(id).to_owned()).or_default() |= !is_skill;
            }
        }
        given
    }
}

fn named(data: &Value, key: &str) -> Vec<String> {
    let items = data[key].as_array().expect("a list").iter();
    items.map(|item| item["uri"].as_str().unwrap_or_else(|| word(&item["name"])).to_owned()).collect()
}

/// Deploys, imports the deployed files, and deploys again from what was imported.
fn comes_back(wanted: &Wanted) -> Result<(), TestCaseError> {
    let place = wanted.place();
    let given = wanted.given(&place);
    if given.is_empty() {
        return Ok(());
    }
    let planned = place.planned(&[]);
    place.deploy(&[]);
    let import = |words: &[&str]| {
        let ran = place.scratch.finish(place.command().args(["--json"]).args(words));
        assert_eq!(ran.status, 0, "{wanted:?}: {ran}");
        serde_json::from_str::<Value>(&ran.stdout).expect("JSON")
    };

    // The import creates nothing in the same project, with one exception: a command that no target has as a command
    // file is imported as a skill.
    let again = import(&["import", ".", "--dry-run"]);
    let as_skill =
        |id: &str| id.strip_prefix("command:").map(|name| format!("skill://{}/SKILL.md", name.replace('.', "-")));
    let skills: BTreeSet<String> =
        given.iter().filter(|(_, has_file)| !**has_file).filter_map(|(id, _)| as_skill(id)).collect();
    let created: BTreeSet<String> = named(&again, "created").into_iter().collect();
    prop_assert_eq!(&created, &skills, "{:?}\n{:#}", planned, again);
    for key in ["updated", "conflicts"] {
        prop_assert_eq!(named(&again, key), [""; 0], "{}: {:#}", key, again);
    }

    // A new project gets each of the modules once, with the same rule for when it applies, and nothing else.
    place.ok(&["project", "create", "q"]);
    import(&["-p", "q", "import", "."]);
    let modules = |project: &str| {
        let listed = import(&["-p", project, "module", "list"]);
        let modules = listed["modules"].as_array().expect("modules").clone();
        let told = |module: &Value| {
            let id = word(&module["id"]);
            let stem = [".instructions.md", ".mdc", ".md"].iter().find_map(|ending| id.strip_suffix(ending));
            let mut applies = module["applies"].clone();
            if let Some(globs) = applies.get_mut("globs").and_then(Value::as_array_mut) {
                globs.sort_by_key(ToString::to_string);
            }
            (stem.unwrap_or(id).to_owned(), applies.to_string())
        };
        modules.iter().map(told).collect::<Vec<(String, String)>>()
    };
    let mut expected: Vec<(String, String)> =
        modules("p").into_iter().filter(|(id, _)| given.contains_key(id)).collect();
    for (id, applies) in &mut expected {
        if let (Some(name), false) = (id.strip_prefix("command:"), given[id.as_str()]) {
            (*id, *applies) = (format!("skill:{}", name.replace('.', "-")), "null".to_owned());
        }
    }
    let mut found = modules("q");
    expected.sort();
    found.sort();
    prop_assert_eq!(found, expected, "{:?}: {:?}", wanted, planned);

    // An export of the new project equals the tree that was imported, including each agent's own form.
    let out = place.scratch.path().join("out");
    import(&["-p", "q", "export", &out.to_string_lossy()]);
    std::fs::remove_file(out.join("mcpkg.export.json")).expect("the manifest");
    let mut root = Tree::of(&place.root());
    root.0.retain(|path, _| !path.starts_with(".git"));
    prop_assert_eq!(root.differences(&Tree::of(&out)), [""; 0], "{:?}", wanted);

    // A deploy of the new project writes the same files as the first deploy.
    let first = place.tree();
    place.data(&["rollback", "--to", "pristine", "--yes"]);
    let names: Vec<&str> = wanted.targets.iter().map(|target| target.name()).collect();
    place.ok(&[&["-p", "q", "target", "enable"], &names[..]].concat());
    let off: Vec<&str> = Target::all_names().into_iter().filter(|name| !names.contains(name)).collect();
    if !off.is_empty() {
        place.ok(&[&["-p", "q", "target", "disable"], &off[..]].concat());
    }
    let has_files = wanted.targets.iter().any(|target| !matches!(target.facts().project.commands, Commands::Skills));
    place.deploy(&["-p", "q"]);
    let paths = |tree: &BTreeMap<String, String>| tree.keys().cloned().collect::<Vec<_>>();
    if has_files {
        prop_assert_eq!(paths(&place.tree()), paths(&first), "{:?}", wanted);
    }
    Ok(())
}

#[test]
fn instructions_for_two_agents_are_imported_once() {
    for (at, first) in Target::all().iter().enumerate() {
        // Test all pairs, or only each agent with the next one.
        let seconds = if runs_all() { usize::MAX } else { 1 };
        for second in Target::all()[at + 1..].iter().take(seconds) {
            let (instructions, targets) = (vec![(0, false), (0, true)], vec![*first, *second]);
            let wanted = Wanted { instructions, commands: Vec::new(), tools: None, skill: false, targets };
            comes_back(&wanted).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn deployed_files_are_imported_as_the_modules_they_came_from(wanted in wanted()) {
        comes_back(&wanted)?;
    }
}
