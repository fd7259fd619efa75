//! Tests instructions that do not always apply: they are written in each target's own format, and never to a file that
//! the target always loads.

use std::collections::{BTreeMap, BTreeSet};

use insta::assert_snapshot;
use mcpkg_deploy::desired::builder::Collisions;
use mcpkg_deploy::desired::{Form, layout};
use mcpkg_deploy::module::{About, Kind, Layer, Module, ModuleFile};
use mcpkg_deploy::targets::bases::Bases;
use mcpkg_deploy::targets::{Layout, Target, TargetConfig};
use mcpkg_store::modules::{self, Applies, Row};
use mcpkg_store::resources::{self, Key};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::deploy::answers::word;
use crate::deploy::place::Place;
use crate::support::{config, folder};

const EVERYBODY: &str = "instructions:style";

impl Place {
    /// Returns a place with a project. It has instructions for Python files, with a description, and instructions that
    /// always apply.
    fn with_rule() -> Self {
        let place = Self::new();
        place.ok(&["project", "create", "p"]);
        place.instructions("style", "Be brief.\n");
        place.ok(&["resource", "create", "py", "instructions://py", "Type it.\n", "-d", "How we write Python"]);
        place
    }

    /// Sets when a module applies.
    fn applies(&self, id: &str, more: &[&str]) {
        self.ok(&[&["module", "set", id], more].concat());
    }

    /// Records, as an import does, which agent and path a resource came from.
    fn came_from(&self, uri: &str, agent: &str, path: &str, applies: &Applies) {
        let written = self.scratch.context().write("test", "", |db, project, _| {
            let resource = resources::find(db, project.id, Key::Uri(uri))?.expect("a resource");
            let row = Row {
                item: format!("resource:{}", resource.uuid),
                enabled: true,
                applies: applies.clone(),
                agent: Some(agent.to_owned()),
                path: Some(path.to_owned()),
                ..Row::default()
            };
            modules::put(db, project.id, &row)
        });
        written.expect("a row");
    }

    /// Returns the files below the root with their contents, except AGENTS.md.
    fn written(&self) -> String {
        let mut text = String::new();
        for (path, what) in self.tree() {
            let Some(path) = path.strip_prefix("root/").filter(|path| *path != "AGENTS.md") else { continue };
            text += &format!("{path}: {}\n", what.strip_prefix("644 ").unwrap_or(&what).escape_debug());
        }
        text
    }

    /// Returns what the plan leaves out, as `target reason`.
    fn left_out(&self, more: &[&str]) -> Vec<String> {
        let data = self.data(&[&["plan"], more].concat());
        let said = |item: &Value| format!("{} {}", word(&item["target"]), word(&item["reason_code"]));
        data["left_out"].as_array().map(|items| items.iter().map(said).collect()).unwrap_or_default()
    }
}

fn globs(globs: &[&str]) -> Applies {
    Applies::Globs(globs.iter().map(|glob| (*glob).to_owned()).collect())
}

#[test]
fn each_target_has_a_scoped_rule_in_its_own_form() {
    for (target, expected) in [
        (
            "claude_code",
            ".claude/rules/py.md: ---\\npaths:\\n  - \\\"**/*.py\\\"\\n  - \\\"src/**/*.{pyi,pyx}\\\"\\n---\\n\\nType it.\\n\n",
        ),
        (
            "cursor",
            ".cursor/rules/py.mdc: ---\\ndescription: How we write Python\\nglobs: **/*.py,src/**/*.{pyi,pyx}\\nalwaysApply: false\\n---\\n\\nType it.\\n\n",
        ),
        (
            "vscode",
            ".github/instructions/py.instructions.md: ---\\ndescription: \\\"How we write Python\\\"\\napplyTo: \\\"**/*.py,src/**/*.{pyi,pyx}\\\"\\n---\\n\\nType it.\\n\n",
        ),
        ("codex", ""),
    ] {
        let place = Place::with_rule();
        place.applies("instructions:py", &["--globs", "**/*.py", "--globs", "src/**/*.{pyi,pyx}"]);
        let before = place.tree();
        place.deploy(&["--target", target]);
        assert_eq!(place.written(), expected, "{target}");
        let always = place.read("root/AGENTS.md");
        assert!(always.contains("Be brief.") && !always.contains("Type it."), "{target}: {always}");
        assert_eq!(place.drift(&["--target", target]), [""; 0], "{target}");
        place.data(&["rollback", "--to", "pristine", "--yes"]);
        assert_eq!(place.tree(), before, "{target}");
    }
}

#[test]
fn only_cursor_gets_rules_that_apply_by_description_or_by_hand() {
    let place = Place::with_rule();
    place.applies("instructions:py", &["--applies", "described"]);
    place.deploy(&[]);
    assert_eq!(
        place.written(),
        ".cursor/rules/py.mdc: ---\\ndescription: How we write Python\\nalwaysApply: false\\n---\\n\\nType it.\\n\n"
    );
    let others = ["claude_code", "codex", "vscode"];
    assert_eq!(place.left_out(&[]), others.map(|target| format!("{target} by_description")));
    place.applies("instructions:py", &["--applies", "manual"]);
    place.deploy(&[]);
    assert_eq!(place.written(), ".cursor/rules/py.mdc: ---\\nalwaysApply: false\\n---\\n\\nType it.\\n\n");
    assert_eq!(place.left_out(&[]), others.map(|target| format!("{target} by_hand")));
    // Cursor picks a `described` rule by its description, so a rule without a description is left out.
    place.applies(EVERYBODY, &["--applies", "described"]);
    place.deploy(&[]);
    assert!(place.left_out(&[]).contains(&"cursor no_description".to_owned()));
    assert!(!place.exists("root/AGENTS.md"), "what applied always does so no more");
}

#[test]
fn a_file_that_several_agents_read_is_written_once_and_only_the_plan_says_so() {
    let place = Place::with_rule();
    place.applies("instructions:py", &["--globs", "**/*.py"]);
    let envelope = place.envelope(&["plan"]);
    assert_snapshot!(serde_json::to_string_pretty(&envelope["warnings"]).expect("JSON"), @r#"
    [
      "module 'instructions:py' is not written for Codex: only whole folders, such as src/**, can be expressed there",
      "VS Code also reads `.claude/rules`, so the same text is not written to `.github/instructions` again"
    ]
    "#);
    let left_out = json!([{ "module_id": "instructions:py", "target": "codex", "reason_code": "not_a_folder" }]);
    assert_eq!(envelope["data"]["left_out"], left_out);
    let changes = envelope["data"]["changes"].as_array().expect("changes");
    let rule = changes.iter().find(|change| word(&change["path"]).ends_with("py.md")).expect("a rule");
    assert_eq!(rule["targets"], json!(["claude_code", "vscode"]));
    for other in [&["status"][..], &["diff"], &["preview"], &["doctor"], &["deploy", "--apply", "--yes"]] {
        assert_eq!(place.envelope(other)["warnings"], json!([]), "{other:?}");
    }
    assert!(!place.exists("root/.github"));
    assert_eq!(place.left_out(&["--target", "vscode"]), [""; 0]);
    // Selecting fewer targets does not move the shared file.
    assert_eq!(place.planned(&["--target", "vscode"]), [""; 0]);
    assert_eq!(place.planned(&["--target", "claude_code"]), [""; 0]);
}

#[test]
fn only_targets_that_were_deployed_to_share_files() {
    let place = Place::with_rule();
    place.applies("instructions:py", &["--globs", "**/*.py"]);
    let (own, shared) = ("root/.github/instructions/py.instructions.md", "root/.claude/rules/py.md");
    place.deploy(&["--target", "vscode"]);
    assert!(place.exists(own) && !place.exists(shared));
    assert_eq!(place.planned(&["--target", "vscode"]), [""; 0]);
    let planned = place.planned(&[]);
    assert!(planned.contains(&format!("delete {own}")) && planned.contains(&format!("create {shared}")), "{planned:?}");
    place.deploy(&[]);
    assert!(place.exists(shared) && !place.exists(own));
    place.data(&["rollback", "--to", "pristine", "--yes"]);
    place.deploy(&["--target", "vscode"]);
    assert!(place.exists(own) && !place.exists(shared), "nothing stands there for Claude Code any more");
}

#[test]
fn a_rule_for_a_folder_is_written_to_the_folders_agents_md_for_codex() {
    let place = Place::with_rule();
    place.applies("instructions:py", &["--globs", "src/py/**", "--globs", "./tests/**/*"]);
    place.write("root/src/py/AGENTS.md", "Mine.\n");
    let before = place.tree();
    place.deploy(&["--adopt"]);
    assert!(place.read("root/src/py/AGENTS.md").starts_with("Mine.\n"));
    assert!(place.read("root/tests/AGENTS.md").contains("Type it.\n"));
    // Claude Code and Cursor read these files. VS Code does not read them by default.
    assert!(!place.exists("root/.claude/rules") && !place.exists("root/.cursor/rules"));
    assert!(place.exists("root/.github/instructions/py.instructions.md"));
    assert_eq!(place.left_out(&[]), [""; 0]);
    place.data(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(place.tree(), before);
    // If CLAUDE.md hides a folder's AGENTS.md, Claude Code gets a rule instead.
    place.write("root/tests/CLAUDE.md", "Other.\n");
    place.deploy(&["--adopt"]);
    assert!(place.read("root/.claude/rules/py.md").contains("\"src/py/**\""));
    // If CLAUDE.md contains the same text, Claude Code needs no rule.
    place.data(&["rollback", "--to", "pristine", "--yes"]);
    for folder in ["tests", "src/py"] {
        place.write(&format!("root/{folder}/CLAUDE.md"), "Type it.\n\n");
    }
    place.deploy(&["--adopt"]);
    assert!(!place.exists("root/.claude/rules") && place.read("root/tests/AGENTS.md").contains("Type it.\n"));
    // None of these globs is a folder that a deploy may write to, so Codex does not get the rule.
    for glob in ["src/*/**", "../up/**", "/etc/**", "**", "src", ".git/**", "tests/CLAUDE.md/**"] {
        place.applies("instructions:py", &["--globs", glob]);
        assert_eq!(place.left_out(&["--target", "codex"]), ["codex not_a_folder"], "{glob}");
    }
}

#[test]
fn a_rule_goes_back_to_its_own_agent_unchanged() {
    let cases = [
        ("cursor", ".cursor/rules/web/ts.mdc", "---\r\nglobs: *.ts\r\nalwaysApply: false\r\nmine: 1\r\n---\r\nTS\r\n"),
        ("claude_code", ".claude/rules/web/ts.md", "---\nmodel: x # kept\npaths: *.ts\n---\n\n\nTS"),
        ("copilot", ".github/instructions/ts.instructions.md", "---\nname: T\napplyTo: '*.ts'\n---\nTS"),
    ];
    for (agent, path, text) in cases {
        let place = Place::new();
        place.ok(&["project", "create", "p"]);
        place.instructions("ts", text);
        place.came_from("instructions://ts", agent, path, &globs(&["*.ts"]));
        let target = if agent == "copilot" { "vscode" } else { agent };
        place.deploy(&["--target", target]);
        assert_eq!(place.read(&format!("root/{path}")), text, "{agent}");
        // The files for other agents contain no keys of the rule's own agent.
        for other in ["claude_code", "cursor", "vscode"].into_iter().filter(|other| *other != target) {
            place.data(&["rollback", "--to", "pristine", "--yes"]);
            place.deploy(&["--target", other]);
            let written = place.written();
            assert!(written.contains("*.ts") && written.contains("\\n\\nTS"), "{agent} to {other}: {written}");
            assert!(
                !written.contains("mine") && !written.contains("model") && !written.contains("name: T"),
                "{written}"
            );
        }
    }
    // VS Code gets a manual rule only if the rule came from VS Code.
    let place = Place::new();
    place.ok(&["project", "create", "p"]);
    place.instructions("ts", "Text\n");
    place.came_from("instructions://ts", "vscode", ".github/instructions/ts.instructions.md", &Applies::Manual);
    place.deploy(&["--target", "vscode"]);
    assert_eq!(place.read("root/.github/instructions/ts.instructions.md"), "Text\n");
    // Settings that the user made after the import override the file's front matter.
    let place = Place::new();
    place.ok(&["project", "create", "p"]);
    place.instructions("ts", "---\npaths: *.ts\n---\nTS\n");
    place.came_from("instructions://ts", "claude_code", ".claude/rules/ts.md", &globs(&["*.ts"]));
    place.applies("instructions:ts", &["--globs", "*.tsx"]);
    place.deploy(&["--target", "claude_code"]);
    assert_eq!(place.read("root/.claude/rules/ts.md"), "---\npaths:\n  - \"*.tsx\"\n---\n\nTS\n");
}

#[test]
fn a_rule_that_always_applied_for_its_own_agent_always_applies_for_cursor() {
    let place = Place::new();
    place.ok(&["project", "create", "p"]);
    place.instructions("ts", "---\nglobs: *.ts\n---\nTS\n");
    // Claude Code ignores `globs`, so the rule always applied there.
    place.came_from("instructions://ts", "claude_code", ".claude/rules/ts.md", &Applies::Always);
    place.ok(&["module", "set", "instructions:ts", "--targets", "cursor"]);
    place.deploy(&[]);
    assert_eq!(place.written(), ".cursor/rules/ts.mdc: ---\\nalwaysApply: true\\n---\\n\\nTS\\n\n");
}

#[test]
fn a_changed_rule_is_reported_and_proposed() {
    let place = Place::with_rule();
    place.ok(&["resource", "update", "py", "--content", "---\nextra: kept\n---\nType it.\n"]);
    place.applies("instructions:py", &["--globs", "**/*.py"]);
    place.deploy(&[]);
    let rule = "root/.claude/rules/py.md";
    place.write(rule, place.read(rule).replace("Type it.", "Type all of it."));
    assert_eq!(place.drift(&[]), [format!("modified user_modified {rule}")]);
    let data = place.data(&["evolve", "propose", "--yes"]);
    place.ok(&["evolve", "accept", &data["proposals"][0]["id"].to_string(), "--yes"]);
    assert_eq!(place.ok(&["resource", "show", "py"]), "---\nextra: kept\n---\nType all of it.\n");
    assert_eq!(place.planned(&["--target", "claude_code"]), [""; 0]);
    place.deploy(&[]);
    // Changes to mcpkg's own front matter are not proposed. A warning names the command that changes it.
    place.write(rule, place.read(rule).replace("*.py", "*.rb").replace("all of it", "less"));
    let envelope = place.envelope(&["evolve", "propose", "--yes"]);
    assert!(envelope["warnings"].to_string().contains("mcpkg module set instructions:py"), "{envelope:#}");
    place.ok(&["evolve", "accept", &envelope["data"]["proposals"][0]["id"].to_string(), "--yes"]);
    assert!(place.ok(&["resource", "show", "py"]).ends_with("Type less.\n"));
}

#[test]
fn in_the_users_own_folders_only_claude_code_gets_rules() {
    let place = Place::with_rule();
    place.applies("instructions:py", &["--globs", "**/*.py"]);
    place.deploy(&["--scope", "user"]);
    assert!(place.read("home/.claude/rules/py.md").contains("paths:"));
    for file in ["home/.claude/CLAUDE.md", "home/.codex/AGENTS.md"] {
        assert!(!place.read(file).contains("Type it."), "{file}");
    }
    let others = ["codex", "cursor", "vscode"].map(|target| format!("{target} not_for_the_user"));
    assert_eq!(place.left_out(&["--scope", "user"]), others);
}

#[test]
fn module_commands_show_and_change_when_instructions_apply() {
    let place = Place::with_rule();
    assert_snapshot!(place.ok(&["module", "set", "instructions:py", "--globs", "**/*.py", "--globs", "*.{a,b}"]), @"Changed module 'instructions:py' in project 'p' to instructions:py: instructions, targets all, applies to **/*.py *.{a,b}");
    place.applies(EVERYBODY, &["--applies", "manual"]);
    place.prompt("review", "Review.\n");
    assert_snapshot!(place.ok(&["module", "list"]), @"
    command:review	command	all		yes	1	
    instructions:py	instructions	all		yes	1	**/*.py *.{a,b}
    instructions:style	instructions	all		yes	1	manual
    ");
    let listed = place.scratch.finish(place.command().args(["--json", "module", "list"])).stdout;
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(listed["modules"][1]["applies"], json!({ "globs": ["**/*.py", "*.{a,b}"] }));
    assert_eq!((&listed["modules"][2]["applies"], &listed["modules"][0]["applies"]), (&json!("manual"), &Value::Null));
    assert!(
        place
            .ok(&["module", "show", EVERYBODY])
            .starts_with("instructions:style: instructions, targets all, applies manual")
    );
    place.applies(EVERYBODY, &["--applies", "always"]);
    assert!(place.ok(&["module", "list"]).contains("instructions:style\tinstructions\tall\t\tyes\t1\talways"));
    for refused in [
        &["command:review", "--globs", "x"][..],
        &["instructions:py", "--globs", ""],
        &["instructions:py", "--globs", "a\nb"],
        &["instructions:py", "--applies", "always", "--globs", "x"],
        &["instructions:py", "--applies", "never"],
    ] {
        let ran = place.run(&[&["module", "set"], refused].concat());
        assert_eq!(ran.status, 2, "{refused:?}: {ran}");
    }
}

fn applies() -> impl Strategy<Value = Applies> {
    let glob = prop_oneof![
        4 => proptest::sample::select(vec!["src/**", "a/b/**/*", "./src/**", "**/*.py", "*.{a,b}", "**", "src"]),
        1 => proptest::sample::select(vec!["!x", "a,b", "", "../x/**", "/x/**", "x---y", "#", "- x", "'x"]),
    ];
    prop_oneof![
        Just(Applies::Always),
        Just(Applies::Described),
        Just(Applies::Manual),
        prop::collection::vec(glob.prop_map(str::to_owned), 1..3).prop_map(Applies::Globs),
    ]
}

/// Returns the globs that a rule is written with. Exclusions are dropped, and reported, unless there is nothing else.
fn written(globs: &[String]) -> Vec<String> {
    let is_excluding = |glob: &&String| glob.starts_with('!');
    let drops = !globs.iter().all(|glob| is_excluding(&glob));
    let kept = globs.iter().filter(|glob| !(drops && is_excluding(glob)));
    kept.map(|glob| glob.strip_prefix("./").unwrap_or(glob).to_owned()).collect()
}

fn module(name: usize) -> impl Strategy<Value = Module> {
    let fronts = vec![
        "",
        "---\npaths: \"**/*.py\"\n---\n",
        "---\nglobs: **/*.py\nalwaysApply: false\n---\n",
        "---\nalwaysApply: true\n---\n",
        "---\napplyTo: \"**\"\n---\n",
        "---\ndescription: d\n---\n",
        "---\npaths: [\n---\n",
    ];
    let targets = prop::collection::vec(proptest::sample::select(Target::all().to_vec()), 0..3);
    let agent = proptest::option::of(proptest::sample::select(vec!["cursor", "claude_code", "copilot", "windsurf"]));
    let description = proptest::option::of(proptest::sample::select(vec!["d", "a --- b", " "]));
    (applies(), agent, proptest::sample::select(fronts), targets, description).prop_map(
        move |(applies, agent, front, targets, description)| Module {
            id: format!("instructions:m{name}"),
            kind: Kind::Instructions,
            targets,
            files: vec![ModuleFile {
                path: "AGENTS.md".to_owned(),
                bytes: format!("{front}Text {name}.\n").into_bytes().into(),
                executable: false,
                layer: Layer::Upstream,
                arguments: std::sync::Arc::default(),
                own: None,
            }],
            about: About {
                // A module without an agent and with `Always` counts as not set, and its front matter would decide. So a
                // module that always applies gets an agent.
                agent: agent.or((applies == Applies::Always).then_some("x")).map(str::to_owned),
                description: description.map(str::to_owned),
                path: None,
                applies,
            },
        },
    )
}

proptest! {
    #![proptest_config(config(400))]

    /// For each of its targets, a module is either written or reported as left out. A module that does not always apply
    /// is written as a rule with the same condition, or, if it has globs, to the file of a folder that the globs name.
    #[test]
    fn when_instructions_apply_is_never_widened(
        modules in (module(0), module(1), module(2)),
        chosen in proptest::sample::subsequence(Target::all().to_vec(), 1..=Target::all().len()),
    ) {
        let modules = [modules.0, modules.1, modules.2];
        let folder = folder();
        let root = folder.path().canonicalize().expect("a folder");
        let bases = Bases { root: Some(root.clone()), home: root.join("home"), moved: BTreeMap::new() };
        let config = |target: &Target| TargetConfig {
            target: *target, user: false, project: true, layout: Layout::Current, options: serde_json::Map::new(),
        };
        let configs: Vec<TargetConfig> = Target::all().iter().map(config).collect();
        let desired = layout::desired(&modules, &configs, &chosen, &chosen, &bases, Collisions::Refused).expect("a layout");
        let mut given: BTreeSet<(&str, Target)> = BTreeSet::new();
        for output in desired.outputs.values() {
            let path = output.path.strip_prefix(&root).expect("below the root").to_string_lossy().into_owned();
            for part in &output.parts {
                let module = modules.iter().find(|module| module.id == part.module_id).expect("a module");
                for target in output.targets.iter().filter(|target| chosen.contains(target)) {
                    given.insert((&module.id, *target));
                    if module.about.applies == Applies::Always {
                        continue;
                    }
                    if matches!(output.form, Form::Block | Form::Import) {
                        let Applies::Globs(globs) = &module.about.applies else { panic!("{path}: {module:?}") };
                        let folder = path.rsplit_once('/').expect("a folder's file").0;
                        prop_assert!(globs.iter().any(|glob| glob.trim_start_matches("./").starts_with(folder)));
                        continue;
                    }
                    let mut all = Target::all().iter().filter_map(|target| target.facts().project.scoped_rules);
                    let rules = all.find(|rules| path.starts_with(&format!("{}/", rules.folder))).expect("a rule");
                    let facts = &target.facts().project;
                    let own = facts.scoped_rules.is_some_and(|own| own.folder == rules.folder);
                    prop_assert!(own || facts.also_reads.contains(&rules.folder), "{path} for {target:?}");
                    let expected = match &module.about.applies {
                        Applies::Globs(globs) => {
                            let kept = written(globs);
                            let mut remarks = desired.remarks.iter().filter(|remark| remark.module_id == module.id);
                            let is_reported = remarks.any(|remark| remark.said.contains("exclusion is dropped"));
                            prop_assert!(kept.len() == globs.len() || is_reported, "{module:?}");
                            Applies::Globs(kept)
                        }
                        other => other.clone(),
                    };
                    let said = rules.format.applies(&output.bytes);
                    prop_assert_eq!(said, Some(expected), "{}: {}", path, String::from_utf8_lossy(&output.bytes));
                }
            }
        }
        let left_out: BTreeSet<(&str, Target)> =
            desired.left_out.iter().map(|left_out| (left_out.module_id.as_str(), left_out.target)).collect();
        for module in &modules {
            for target in chosen.iter().filter(|target| module.is_for(**target)) {
                let key = (module.id.as_str(), *target);
                prop_assert!(given.contains(&key) != left_out.contains(&key), "{key:?}: {module:?}");
            }
        }
    }
}
