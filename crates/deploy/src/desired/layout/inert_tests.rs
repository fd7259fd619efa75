//! Tests, for every pair of source and destination agent, that text which is plain for the source stays plain for the
//! destination: it runs no shell code, fills in no placeholders and attaches no files.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Map, json};

use super::desired;
use crate::desired::builder::Collisions;
use crate::module::{About, Kind, Layer, Module, ModuleFile};
use crate::targets::bases::Bases;
use crate::targets::{Layout, Target, TargetConfig};
use mcpkg_agents::agents::places::Commands;
use mcpkg_agents::agents::{self, Agent};
use mcpkg_agents::commands::dialect::{self, Dialect};
use mcpkg_agents::commands::{self, inert, toml_file, words};
use mcpkg_agents::forms::{matter, toml_text};
use mcpkg_store::modules::Applies;

/// Returns a module with one file, as if it had been imported from `path` of the agent.
fn module(kind: Kind, agent: Option<&Agent>, path: &str, file: ModuleFile) -> Module {
    let about = About {
        applies: Applies::Always,
        description: None,
        agent: agent.map(|agent| agent.id.to_owned()),
        path: Some(path.to_owned()),
    };
    Module { id: format!("{}:x", kind.word()), kind, targets: Vec::new(), files: vec![file], about }
}

fn file(path: &str, bytes: &[u8]) -> ModuleFile {
    let (path, bytes) = (path.to_owned(), bytes.into());
    ModuleFile { path, bytes, executable: false, layer: Layer::Upstream, arguments: [].into(), own: None }
}

/// Returns the module that an import stores for an agent's command with this text. `None` if the agent cannot have such
/// a command.
fn command(agent: Option<&Agent>, text: &str) -> Option<Module> {
    let (folder, ending) = match agent.map(|agent| (agent.project.commands, agent)) {
        None => (".claude/commands", ".md"),
        Some((Commands::Files(folder) | Commands::FilesInWords { folder, .. } | Commands::Numbered(folder), _)) => {
            (folder, ".md")
        }
        Some((Commands::Toml(folder), _)) => (folder, ".toml"),
        Some((Commands::Skills, agent)) => (agent.project.prompt_files.unwrap_or(".codex/prompts"), ".md"),
    };
    let (attributes, content) = match ending {
        ".toml" => toml_file::read(&toml_text::write(&[], toml_text::PROMPT, text)).ok()?,
        _ => {
            let from_one = agent.is_some_and(|agent| agent.imports.counts_from_one);
            let read = commands::read(text, if from_one { Dialect::OpenCode } else { Dialect::Claude });
            (read.attributes, read.content)
        }
    };
    let id = agent.map(|agent| agent.id);
    let deployed = commands::as_deployed(&attributes, id);
    let bytes = commands::to_file("x", &deployed, &content).ok()?;
    let own = commands::source_of("x", &attributes, &content, id).ok().filter(|own| *own != bytes);
    let arguments = deployed.arguments.as_slice().into();
    let own = own.map(|own| own.into_bytes().into());
    let file = ModuleFile { arguments, own, ..file("x.md", bytes.as_bytes()) };
    Some(module(Kind::Command, agent, &format!("{folder}/x{ending}"), file))
}

/// Returns a skill or instructions with this text, as if imported from an agent.
fn text_of(kind: Kind, agent: Option<&Agent>, text: &str) -> Module {
    let (path, text) = match kind {
        Kind::Skill => {
            let folder =
                agent.map_or(".agents/skills", |agent| agent.project.also_skills.first().unwrap_or(&"x/skills"));
            (format!("{folder}/x/SKILL.md"), format!("---\nname: x\ndescription: x\n---\n{text}"))
        }
        _ => ("x.md".to_owned(), text.to_owned()),
    };
    let name = if kind == Kind::Skill { "SKILL.md" } else { "AGENTS.md" };
    module(kind, agent, &path, file(name, text.as_bytes()))
}

/// Returns the files that a target gets, by path.
fn deployed(module: &Module, target: Target) -> BTreeMap<String, String> {
    let root = Path::new("/nowhere/root");
    let bases = Bases { root: Some(root.to_owned()), home: "/nowhere/home".into(), moved: BTreeMap::new() };
    let config = TargetConfig {
        target,
        user: false,
        project: true,
        layout: Layout::Current,
        options: Map::from_iter([("prompt_files".to_owned(), json!(true))]),
    };
    let modules = std::slice::from_ref(module);
    let desired = desired(modules, &[config], &[target], &[target], &bases, Collisions::Settled).expect("a layout");
    let path = |path: &Path| path.strip_prefix(root).expect("below the root").display().to_string();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    desired.outputs.values().map(|output| (path(&output.path), text(&output.bytes))).collect()
}

/// Returns what a target would do with one of its files, apart from sending its text.
fn acts(target: Target, path: &str, file: &str) -> Vec<&'static str> {
    let facts = target.facts();
    let body = words::body(file);
    let names = matter::split(file).ok().flatten().map(|(yaml, _)| matter::names(yaml)).unwrap_or_default();
    let fills =
        |dialect, names: &[String]| dialect::pieces(dialect, body, names).iter().any(|piece| piece.place().is_some());
    let attaches = inert::without_files(body) != body;
    let all = match facts.project.commands {
        Commands::Files(folder) if path.starts_with(folder) => vec![
            ("runs", words::runs_something(body.as_bytes()) || body.contains("```!")),
            ("fills in", fills(Dialect::Claude, &names)),
            ("attaches", attaches),
            ("allows", file[..file.len() - body.len()].contains("allowed-tools")),
        ],
        Commands::Files(_) if path.ends_with("SKILL.md") => {
            vec![("runs", words::runs_something(body.as_bytes()) || body.contains("```!"))]
        }
        Commands::Numbered(folder) if path.starts_with(folder) => {
            vec![("runs", body.contains("!`")), ("fills in", fills(Dialect::OpenCode, &[])), ("attaches", attaches)]
        }
        Commands::Toml(folder) if path.starts_with(folder) => {
            let toml = toml_text::parse(file.as_bytes()).expect("TOML");
            let text = toml_text::text(&toml, toml_text::PROMPT).expect("a text").to_owned();
            let (runs, attaches) = (text.contains("!{"), text.contains("@{"));
            vec![("runs", runs), ("fills in", text.contains("{{args}}")), ("attaches", attaches)]
        }
        _ if path.ends_with(".prompt.md") => vec![("fills in", body.contains("${"))],
        _ if path.ends_with("AGENTS.md") || path.ends_with("GEMINI.md") || path.contains("/rules/") => {
            let text = file.replace("@AGENTS.md", "");
            vec![("attaches", facts.reading.import_hops > 0 && inert::without_files(&text) != text)]
        }
        _ => Vec::new(),
    };
    all.into_iter().filter(|(_, acts)| *acts).map(|(what, _)| what).collect()
}

/// Texts with syntax that some agents act on, each with the ids of those agents. The id `""` stands for no agent.
const MARKS: [(&str, &[&str]); 17] = [
    ("Look: !`touch x`", &["", "claude_code", "opencode"]),
    ("!`touch x`", &["", "claude_code", "opencode"]),
    ("(!`touch x`)", &["opencode"]),
    ("```!\ntouch x\n```", &["", "claude_code"]),
    ("!{touch x}", &["gemini"]),
    ("See @.env", &["", "claude_code", "opencode"]),
    ("@{.env}", &["gemini", "", "claude_code", "opencode"]),
    ("See (@~/.ssh/id_rsa)", &["", "claude_code", "opencode"]),
    ("For $ARGUMENTS", &["", "claude_code", "opencode", "codex"]),
    ("For $1", &["", "claude_code", "opencode", "codex"]),
    ("For $0.50", &["", "claude_code", "opencode", "codex"]),
    ("---\narguments: [a, b]\n---\nFor $a", &["", "claude_code"]),
    ("For $ARGUMENTS[0]", &["", "claude_code", "opencode", "codex"]),
    ("For {{args}}", &["gemini"]),
    ("Ha!$1 {$1} @$1", &["", "claude_code", "opencode", "codex"]),
    ("---\nallowed-tools: Bash(*)\nmodel: x\n---\nGo", &["", "claude_code"]),
    ("${input:x} ${file}", &["vscode", "copilot"]),
];

fn sources() -> impl Iterator<Item = Option<&'static Agent>> {
    agents::ALL.iter().copied().filter(|agent| !agent.servers_only).map(Some).chain([None])
}

fn assert_inert(module: &Module, from: &str, text: &str) -> Result<(), TestCaseError> {
    for target in Target::all() {
        for (path, file) in deployed(module, *target) {
            // An agent's own commands are deployed to it unchanged, and may do whatever they did before.
            if module.about.is_of(*target) && module.kind == Kind::Command {
                continue;
            }
            let acts = acts(*target, &path, &file);
            prop_assert!(acts.is_empty(), "{from} -> {}: {text:?} {acts:?} in {path}:\n{file}", target.name());
        }
    }
    Ok(())
}

#[test]
fn plain_text_of_one_agent_stays_plain_text_in_every_other() {
    let mut walked = 0;
    for agent in sources() {
        let id = agent.map_or("", |agent| agent.id);
        for (text, acted_on_by) in MARKS {
            if acted_on_by.contains(&id) {
                continue;
            }
            let Some(module) = command(agent, text) else { continue };
            assert_inert(&module, id, text).unwrap();
            walked += 1;
        }
    }
    assert!(walked > 90, "{walked}");
}

#[test]
fn a_command_in_its_own_agents_folder_has_the_bytes_that_were_imported() {
    for agent in sources().flatten() {
        for (text, _) in MARKS {
            let Some(module) = command(Some(agent), text) else { continue };
            let Some(target) = Target::all().iter().find(|target| target.facts().id == agent.id) else { continue };
            let path = module.about.path.as_deref().unwrap_or_default();
            let of_toml = || toml_text::write(&[], toml_text::PROMPT, text);
            let expected = if path.ends_with(".toml") { of_toml() } else { text.to_owned() };
            if let Some(written) = deployed(&module, *target).get(path) {
                assert_eq!(*written, expected, "{}", agent.id);
            }
        }
    }
}

#[test]
fn skills_and_instructions_run_and_import_no_more_than_with_their_own_agent() {
    for agent in sources() {
        let id = agent.map_or("", |agent| agent.id);
        let runs = ["claude_code", "opencode"].contains(&id);
        for text in ["Look: !`touch x`", "```!\ntouch x\n```"].into_iter().filter(|_| !runs) {
            assert_inert(&text_of(Kind::Skill, agent, text), id, text).unwrap();
        }
        let imports = agent.is_none_or(|agent| agent.reading.import_hops > 0);
        for text in ["See @.env.", "(@~/.ssh/id_rsa)", "- @docs/a.md\n"].into_iter().filter(|_| !imports) {
            assert_inert(&text_of(Kind::Instructions, agent, text), id, text).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(crate::seed::config(64))]

    #[test]
    fn text_of_an_agent_that_only_sends_it_stays_inert_elsewhere(
        text in "(!|`|```|\\{|\\}|\\{\\{args\\}\\}|args|@|\\.env|\\$|\\$1|\\$ARGUMENTS|\\\\|0|a| |\n|date|---\n){1,12}"
    ) {
        for agent in ["cursor", "vscode", "windsurf", "kiro"].into_iter().filter_map(agents::with_id) {
            if let Some(module) = command(Some(agent), &text) {
                assert_inert(&module, agent.id, &text)?;
            }
        }
    }
}
