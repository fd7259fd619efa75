//! Places skills, each in a folder with the skill's name, in a form that all agents reading the folder can load. Also
//! collects notes on how each agent treats them.

use std::collections::BTreeMap;
use std::path::Path;

use super::files::of_kind;
use crate::desired::builder::Builder;
use crate::desired::output::{Form, part};
use crate::module::{Kind, Module, ModuleFile};
use crate::targets::Target;
use mcpkg_agents::agents::places::{CalledBy, Commands, Manual, SkillReading};
use mcpkg_agents::commands::inert::{self, Acts};
use mcpkg_agents::forms::skill::{self, Fault, MANUAL_YAML, Main, OPENAI_YAML};
use mcpkg_base::error::Result;

/// The file name that makes a folder a skill.
const MAIN: &str = "SKILL.md";

/// Adds skills to a target's folder below `base`, which is the deploy root or the home folder.
pub(super) fn add(builder: &mut Builder, modules: &[Module], target: Target, base: &Path, folder: &str) -> Result<()> {
    let root = base.join(folder);
    builder.root(target, &root, true);
    let mends = is_read_strictly(folder);
    for module in of_kind(modules, Kind::Skill, target) {
        for file in &module.files {
            let relative = format!("{}/{}", module.name(), file.path);
            let is_main = file.path == MAIN;
            let rewritten = if is_main { rewritten(module, file, target, mends) } else { None };
            match rewritten {
                Some((form, bytes)) => {
                    if matches!(form, Form::Inert(_)) {
                        builder.remark(module, target, INERT.to_owned());
                    }
                    let parts = vec![part(module, file)];
                    builder.add(&[target], &root, &relative, form, parts, bytes.into(), file.executable)?;
                }
                None => builder.copy(target, &root, &relative, module, file)?,
            }
        }
        let by_file = target.facts().reading.skills.manual == Some(Manual::OpenaiYaml);
        if by_file
            && own_policy(module).is_none()
            && let Some((file, Main { manual: true, .. })) = main(module)
        {
            let relative = format!("{}/{OPENAI_YAML}", module.name());
            let bytes = MANUAL_YAML.as_bytes().into();
            builder.add(&[target], &root, &relative, Form::SkillPolicy, vec![part(module, file)], bytes, false)?;
        }
    }
    Ok(())
}

const INERT: &str = "its !`...` are text for the agents that it was written for, so a space keeps them from being run";

/// Returns a target's version of a SKILL.md, or `None` if the module's file is copied unchanged. Fixes faults if
/// `mends` is set.
fn rewritten(module: &Module, file: &ModuleFile, target: Target, mends: bool) -> Option<(Form, Vec<u8>)> {
    let about = &module.about;
    let runs = matches!(target.facts().project.commands, Commands::Files(_));
    let acts = Acts::of_skill(about.agent.as_deref(), about.path.as_deref());
    if runs && let Some(inert) = std::str::from_utf8(&file.bytes).ok().and_then(|text| inert::file(text, acts)) {
        return Some((Form::Inert(acts), inert.into_bytes()));
    }
    let mended = if mends { skill::mended(&file.bytes) } else { None };
    mended.map(|mended| (Form::Skill, mended))
}

/// Whether one of the agents that read this folder rejects skills that others load. All of them then get a form that
/// the strict agent loads, so that the choice of targets does not change the file.
fn is_read_strictly(folder: &str) -> bool {
    Target::all().iter().map(|target| target.facts()).any(|facts| {
        [facts.project.skills, facts.user.skills].contains(&folder) && !facts.reading.skills.rejects.is_empty()
    })
}

fn main(module: &Module) -> Option<(&ModuleFile, Main)> {
    let file = module.files.iter().find(|file| file.path == MAIN)?;
    Some((file, Main::read(std::str::from_utf8(&file.bytes).ok()?)))
}

fn own_policy(module: &Module) -> Option<&ModuleFile> {
    module.files.iter().find(|file| file.path == OPENAI_YAML)
}

/// A skill and the targets that it is for.
struct Skill<'m> {
    module: &'m Module,
    file: &'m ModuleFile,
    main: Main,
    targets: Vec<Target>,
}

/// Returns notes for the user about targets that do not do what a skill declares.
pub(super) fn notes(modules: &[Module], targets: &[Target]) -> Vec<String> {
    let mut notes = Vec::new();
    let mut named: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for module in modules.iter().filter(|module| module.kind == Kind::Skill) {
        let targets = targets.iter().copied().filter(|target| module.is_for(*target)).collect();
        let Some((file, main)) = main(module) else { continue };
        let skill = Skill { module, file, main, targets };
        if !skill.titles(|reading| reading.called_by_dollar).is_empty() {
            named.entry(skill.name().to_owned()).or_default().push(&module.id);
        }
        let said = [skill.named(), skill.faulty(), skill.dotted(), skill.nested(), skill.manual(), skill.always()];
        let said = said.into_iter().flatten();
        notes.extend(said.map(|said| format!("module '{}' {said}", module.id)));
    }
    let titles = titles(targets, |reading| reading.called_by_dollar);
    for (name, ids) in named.into_iter().filter(|(_, ids)| ids.len() > 1) {
        notes.push(format!("`${name}` calls no skill in {titles}, because {} share that name", ids.join(" and ")));
    }
    notes
}

impl Skill<'_> {
    fn titles(&self, are: impl Fn(&SkillReading) -> bool) -> String {
        titles(&self.targets, are)
    }

    /// Returns the name for agents that do not use the folder's name.
    fn name(&self) -> &str {
        self.main.name.as_deref().unwrap_or(self.module.name())
    }

    fn named(&self) -> Option<String> {
        let (folder, name) = (self.module.name(), self.name());
        let by = |called_by| self.titles(|reading| reading.called_by == Some(called_by));
        let said = [(by(CalledBy::Folder), folder), (by(CalledBy::Name), name)];
        let said: Vec<String> =
            said.iter().filter(|(by, _)| !by.is_empty()).map(|(by, name)| format!("`{name}` by {by}")).collect();
        (folder != name && !said.is_empty())
            .then(|| format!("is called {}: `name` in its SKILL.md differs from its folder's name", said.join(" and ")))
    }

    fn faulty(&self) -> Option<String> {
        let faults = &self.main.faults;
        let by = self.titles(|reading| reading.rejects.iter().any(|fault| faults.contains(fault)));
        if by.is_empty() {
            return None;
        }
        if skill::mended(&self.file.bytes).is_none() {
            return Some(format!("is not loaded by {by}, and mcpkg cannot fix its front matter"));
        }
        let how: Vec<&str> = faults
            .iter()
            .map(|fault| match fault {
                Fault::Mark => "without a byte order mark",
                Fault::NotYaml => "with quotes in the front matter",
                Fault::LongDescription => "with the first 1,024 characters of the description",
            })
            .collect();
        let own = self.module.about.path.as_deref().filter(|path| {
            let folder = path.strip_suffix(&format!("/{}/{MAIN}", self.module.name()));
            folder.is_some_and(is_read_strictly)
        });
        let own = own.map_or_else(String::new, |path| format!("; your own `{path}` is not changed"));
        Some(format!("is written {}, because {by} would otherwise not load the skill{own}", how.join(", ")))
    }

    fn dotted(&self) -> Option<String> {
        let by = self.titles(|reading| reading.called_by_dollar);
        let name = self.name();
        (name.contains('.') && !by.is_empty())
            .then(|| format!("cannot be called as `${name}` in {by}, because the name has a dot"))
    }

    fn nested(&self) -> Option<String> {
        let by = self.titles(|reading| reading.finds_nested == Some(false));
        let paths = self.module.files.iter().map(|file| file.path.as_str());
        let nested: Vec<&str> = paths.filter_map(|path| path.strip_suffix("/SKILL.md")).collect();
        (!nested.is_empty() && !by.is_empty())
            .then(|| format!("contains nested skills that are not found by {by}: {}", nested.join(", ")))
    }

    fn manual(&self) -> Option<String> {
        if !self.main.manual {
            return None;
        }
        let unasked = "on its own, despite `disable-model-invocation`";
        let heedless = self.titles(|reading| reading.manual == Some(Manual::Nothing));
        let by_file = self.titles(|reading| reading.manual == Some(Manual::OpenaiYaml));
        let policy = own_policy(self.module).map(|file| skill::is_allowed_unasked(&file.bytes));
        let of_file = match (by_file.is_empty(), policy) {
            (true, _) | (false, Some(false)) => None,
            (false, None) => Some(format!("gets {OPENAI_YAML}, so that {by_file} cannot use the skill on its own")),
            (false, Some(true)) => {
                Some(format!("has its own {OPENAI_YAML}, which lets {by_file} use the skill {unasked}"))
            }
        };
        let of_others = (!heedless.is_empty()).then(|| format!("can be used by {heedless} {unasked}"));
        let said: Vec<String> = of_file.into_iter().chain(of_others).collect();
        (!said.is_empty()).then(|| said.join(", and "))
    }

    fn always(&self) -> Option<String> {
        let by = self.titles(|reading| reading.always_applies);
        (self.main.always && !by.is_empty())
            .then(|| format!("is always loaded by {by}, because the skill has `alwaysApply: true`"))
    }
}

fn titles(targets: &[Target], are: impl Fn(&SkillReading) -> bool) -> String {
    let chosen = targets.iter().map(|target| target.facts()).filter(|facts| are(&facts.reading.skills));
    chosen.map(|facts| facts.title).collect::<Vec<_>>().join(", ")
}
