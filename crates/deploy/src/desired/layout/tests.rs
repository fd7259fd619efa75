//! Tests, for every set of targets and every set of the user's files, how often each target loads each text after a
//! deploy.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::{desired, hidden};
use crate::desired::Desired;
use crate::desired::builder::Collisions;
use crate::module::{About, Kind, Layer, Module, ModuleFile};
use crate::plan::block;
use crate::targets::bases::Bases;
use crate::targets::{Layout, Target, TargetConfig};
use mcpkg_agents::agents::places::{AgentsMd, OwnInstructions, Rules};
use mcpkg_agents::forms::sections;
use mcpkg_base::platform;
use mcpkg_store::modules::Applies;

/// The files in which users keep instructions, each with the agent that an import records for it.
const FILES: [(&str, &str); 9] = [
    ("CLAUDE.md", "claude_code"),
    ("AGENTS.md", "codex"),
    ("GEMINI.md", "gemini"),
    (".github/copilot-instructions.md", "copilot"),
    (".cursor/rules/mine.mdc", "cursor"),
    (".cursorrules", "cursor"),
    (".claude/rules/mine.md", "claude_code"),
    (".claude/CLAUDE.md", "claude_code"),
    (".windsurf/rules/mine.md", "windsurf"),
];

/// Returns a module. With a `path`, the user has the text in that file. Without one, the text is only in the project.
fn module(name: &str, path: Option<(&str, &str)>) -> Module {
    let text = match path.map(|(path, _)| path) {
        Some(path) if path.ends_with(".mdc") => format!("---\nalwaysApply: true\n---\nTEXT-{name}.\n"),
        Some(path) if path.starts_with(".windsurf") => format!("---\ntrigger: always_on\n---\nTEXT-{name}.\n"),
        _ => format!("TEXT-{name}.\n"),
    };
    Module {
        id: format!("instructions:{name}"),
        kind: Kind::Instructions,
        targets: Vec::new(),
        files: vec![ModuleFile {
            path: "AGENTS.md".to_owned(),
            bytes: text.into_bytes().into(),
            executable: false,
            layer: Layer::Upstream,
            arguments: [].into(),
            own: None,
        }],
        about: About {
            applies: Applies::Always,
            description: None,
            agent: path.map(|(_, agent)| agent.to_owned()),
            path: path.map(|(path, _)| path.to_owned()),
        },
    }
}

/// A folder with some of [`FILES`], as it was imported.
struct Ground {
    root: PathBuf,
    modules: Vec<Module>,
    _scratch: tempfile::TempDir,
}

impl Ground {
    fn new(files: &[usize], link: Option<(&str, &str)>) -> Self {
        let scratch = tempfile::tempdir().expect("a folder");
        let root = scratch.path().canonicalize().expect("a path").join("root");
        fs::create_dir(&root).expect("a folder");
        write(&root.join("README.md"), b"A project.\n");
        let mut modules = Vec::new();
        for at in files {
            let (path, agent) = FILES[*at];
            if link.is_some_and(|(from, _)| from == path) {
                continue;
            }
            let module = module(&format!("t{at}"), Some((path, agent)));
            write(&root.join(path), &module.files[0].bytes);
            modules.push(module);
        }
        if let Some((from, to)) = link.filter(|(_, to)| root.join(to).exists()) {
            platform::symlink(to, &root.join(from)).expect("a link");
        }
        modules.push(module("new", None));
        Self { root, modules, _scratch: scratch }
    }

    fn desired(&self, targets: &[Target]) -> Desired {
        let bases = Bases { root: Some(self.root.clone()), home: self.root.join("../home"), moved: BTreeMap::new() };
        let config = |target: &Target| TargetConfig {
            target: *target,
            user: false,
            project: true,
            layout: Layout::Current,
            options: serde_json::Map::new(),
        };
        let configs: Vec<TargetConfig> = targets.iter().map(config).collect();
        desired(&self.modules, &configs, targets, targets, &bases, Collisions::Settled).expect("a layout")
    }

    /// Writes the files of a deploy.
    fn deploy(&self, desired: &Desired) {
        for output in desired.outputs.values() {
            let bytes = match output.is_block() {
                true => block::put_in(output, &fs::read(&output.path).unwrap_or_default()),
                false => output.bytes.to_vec(),
            };
            assert!(!output.path.is_symlink(), "{}", output.path.display());
            write(&output.path, &bytes);
        }
    }

    /// Returns the files that a target loads, with their texts.
    fn loaded(&self, target: Target) -> BTreeMap<PathBuf, String> {
        let (project, reading) = (&target.facts().project, &target.facts().reading);
        let over = project.agents_md_override.filter(|file| self.root.join(file).exists());
        let reads_agents_md = match project.agents_md {
            AgentsMd::Always => true,
            AgentsMd::UnlessHiddenBy(files) => {
                hidden::by(&self.root, Path::new("/nowhere"), files).expect("files").is_none()
            }
            AgentsMd::ImportedBy(_) | AgentsMd::Never => false,
        };
        let mut files: Vec<PathBuf> = project.always_loaded.iter().map(|file| self.root.join(file)).collect();
        files.extend(reads_agents_md.then(|| self.root.join(over.unwrap_or("AGENTS.md"))));
        let mut folders: Vec<Rules> = project.scoped_rules.into_iter().collect();
        if let Some(OwnInstructions::Rules(rules)) = project.own_instructions {
            folders.push(rules);
        }
        let all = Target::all().iter().filter_map(|other| other.facts().project.scoped_rules);
        folders.extend(all.filter(|rules| project.also_reads.contains(&rules.folder)));
        for rules in folders {
            for entry in fs::read_dir(self.root.join(rules.folder)).into_iter().flatten() {
                let path = entry.expect("an entry").path();
                let bytes = fs::read(&path).expect("a rule");
                if rules.format.applies(&bytes) == Some(Applies::Always)
                    && path.to_string_lossy().ends_with(rules.ending)
                {
                    files.push(path);
                }
            }
        }
        let mut loaded = BTreeMap::new();
        let mut texts = BTreeSet::new();
        let mut hops = vec![files];
        while let Some(files) = hops.pop() {
            let mut imported = Vec::new();
            for file in files {
                let Ok(real) = file.canonicalize() else { continue };
                let text = fs::read_to_string(&real).expect("a text");
                if loaded.contains_key(&real) || (reading.equal_once && !texts.insert(text.clone())) {
                    continue;
                }
                let name = real.file_name().expect("a name").to_string_lossy().into_owned();
                if reading.import_hops > 0 && !reading.no_imports_in.contains(&&*name) {
                    let lines = text.lines().filter_map(|line| line.strip_prefix('@'));
                    imported.extend(lines.map(|path| real.with_file_name("").join(path)));
                }
                loaded.insert(real, text);
            }
            if !imported.is_empty() {
                hops.push(imported);
            }
        }
        loaded
    }

    /// Checks that each target loads each text once, or that the plan says otherwise. Returns the remarks about texts that a
    /// target loads twice.
    fn check(&self, targets: &[Target]) -> Result<Vec<String>, TestCaseError> {
        let users: BTreeMap<PathBuf, Vec<u8>> = FILES
            .iter()
            .map(|(path, _)| self.root.join(path))
            .filter(|path| path.is_file() && !path.is_symlink())
            .map(|path| (path.clone(), fs::read(path).expect("a file")))
            .collect();
        let desired = self.desired(targets);
        self.deploy(&desired);
        let mut said = Vec::new();
        for target in targets {
            let loaded = self.loaded(*target);
            for module in &self.modules {
                let mark = format!("TEXT-{}.", module.name());
                let times: usize = loaded.values().map(|text| text.matches(&mark).count()).sum();
                let remark = desired.remarks.iter().find(|remark| {
                    remark.target == *target && remark.module_id == module.id && remark.said.contains("twice")
                });
                let is_left_out =
                    desired.left_out.iter().any(|left| left.target == *target && left.module_id == module.id);
                let expected = match (remark, is_left_out) {
                    (Some(_), _) => times > 1,
                    (None, true) => times == 0,
                    (None, false) => times == 1,
                };
                prop_assert!(
                    expected,
                    "{target:?} loads {mark} {times} times: {loaded:#?}\n{targets:?} {:?} {:?}",
                    desired.remarks,
                    desired.left_out
                );
                said.extend(remark.map(|remark| remark.said.clone()));
            }
        }
        for (path, before) in users {
            let after = fs::read(&path).expect("a file");
            let rest = sections::take_out(&after).unwrap_or_default();
            let stays = rest.trim_ascii() == before.trim_ascii() || path.ends_with("AGENTS.md");
            prop_assert!(stays, "{} lost the user's text", path.display());
        }
        // A second deploy writes the same.
        let again = self.desired(targets);
        let bytes = |desired: &Desired| -> BTreeMap<PathBuf, Vec<u8>> {
            desired.outputs.values().map(|output| (output.path.clone(), output.bytes.to_vec())).collect()
        };
        prop_assert_eq!(bytes(&again), bytes(&desired), "{:?}", targets);
        Ok(said)
    }
}

fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, bytes).expect("a file");
}

fn named(names: &[&str]) -> Vec<Target> {
    Target::all().iter().copied().filter(|target| names.contains(&target.name())).collect()
}

/// Returns all targets except those that read only MCP servers.
fn all() -> Vec<Target> {
    Target::all().iter().copied().filter(|target| !target.facts().servers_only).collect()
}

fn files_of(paths: &[&str]) -> Vec<usize> {
    (0..FILES.len()).filter(|at| paths.contains(&FILES[*at].0)).collect()
}

/// Returns the files below the root after a deploy of some files for some targets.
fn written(paths: &[&str], targets: &[&str]) -> Vec<String> {
    let ground = Ground::new(&files_of(paths), None);
    let said = ground.check(&named(targets)).expect("each text once");
    assert_eq!(said, [""; 0]);
    let outputs = ground.desired(&named(targets)).outputs;
    let below = |path: &Path| path.strip_prefix(&ground.root).expect("below").display().to_string();
    let mut files: Vec<String> = outputs.values().map(|output| below(&output.path)).collect();
    files.sort();
    files
}

const DEFAULT: [&str; 4] = ["claude_code", "codex", "cursor", "vscode"];

#[test]
fn a_folder_without_the_users_files_gets_the_usual_files() {
    assert_eq!(written(&[], &DEFAULT), ["AGENTS.md"]);
    assert_eq!(written(&[], &["codex", "gemini", "copilot", "opencode"]), ["AGENTS.md", "GEMINI.md"]);
    assert_eq!(written(&[], &["cursor"]), [".cursor/rules/new.mdc"]);
    assert_eq!(written(&["AGENTS.md"], &DEFAULT), ["AGENTS.md"]);
}

#[test]
fn a_text_of_the_user_is_written_where_only_the_other_agents_read_it() {
    let all = [".claude/CLAUDE.md", ".cursor/rules/t0.mdc", "AGENTS.md", "AGENTS.override.md"];
    assert_eq!(written(&["CLAUDE.md"], &DEFAULT), all);
    assert_eq!(written(&["CLAUDE.md"], &["claude_code", "codex", "cursor"]), [".claude/rules/new.md", "AGENTS.md"]);
    let (over, rule) = ("AGENTS.override.md", ".cursor/rules/t0.mdc");
    let copilot = ["claude_code", "codex", "cursor", "gemini", "copilot"];
    assert_eq!(written(&["CLAUDE.md"], &copilot), [".claude/CLAUDE.md", rule, "AGENTS.md", over, "GEMINI.md"]);
}

#[test]
fn each_agent_loads_each_text_once_from_every_set_of_three_files() {
    let sets = [
        &DEFAULT[..],
        &["claude_code", "codex", "cursor", "gemini", "copilot"],
        &["claude_code", "codex", "cursor", "vscode", "gemini", "copilot"],
        &["claude_code", "gemini", "copilot"],
        &["codex", "copilot"],
        &["claude_code", "codex", "opencode"],
    ];
    for bits in (0..1_usize << 7).filter(|bits| bits.count_ones() <= 3) {
        let files: Vec<usize> = (0..7).filter(|at| bits >> at & 1 == 1).collect();
        for targets in sets {
            let said = Ground::new(&files, None).check(&named(targets)).expect("as the plan says");
            let paths: Vec<&str> = files.iter().map(|at| FILES[*at].0).collect();
            // mcpkg writes no imports of rules, which Gemini would need here. OpenCode reads only AGENTS.md.
            let is_rule = paths.contains(&".claude/rules/mine.md") && targets.contains(&"gemini");
            let is_avoidable = !is_rule && !targets.contains(&"opencode");
            assert!(said.is_empty() || !is_avoidable, "{targets:?} {paths:?}: {said:?}");
        }
    }
}

#[test]
fn a_text_that_a_target_loads_twice_gets_a_remark_with_a_command_that_prevents_this() {
    let ground = Ground::new(&files_of(&[".cursor/rules/mine.mdc"]), None);
    let said = ground.check(&named(&["cursor", "codex", "opencode"])).expect("as the plan says");
    assert_eq!(
        said,
        [
            "Cursor loads it twice, from `.cursor/rules` and `AGENTS.md`, because OpenCode needs it there; `mcpkg target \
          disable opencode` ends this"
        ]
    );
    assert_eq!(written(&[".cursor/rules/mine.mdc"], &["cursor", "codex"]).len(), 3);
}

proptest! {
    #![proptest_config(crate::seed::config(300))]

    #[test]
    fn no_agent_loads_a_text_twice_unless_the_plan_says_so(
        files in proptest::sample::subsequence((0..FILES.len()).collect::<Vec<_>>(), 0..=FILES.len()),
        targets in proptest::sample::subsequence(all(), 1..=all().len()),
        link in proptest::option::of(proptest::sample::select(vec![
            ("AGENTS.md", "CLAUDE.md"),
            ("CLAUDE.md", "AGENTS.md"),
            ("GEMINI.md", "AGENTS.md"),
            ("GEMINI.md", ".cursorrules"),
            ("AGENTS.md", "README.md"),
        ])),
    ) {
        Ground::new(&files, link).check(&targets)?;
    }
}
