//! `mcpkg skill validate`: checks skills, and reports prompts that agents cannot see as skills.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::check::{self, Problem};
use super::create::missing;
use super::{GROUP, MAIN, MAX_MAIN, SCHEME, rows};
use crate::completions::SKILLS;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::projects::Project;
use mcpkg_store::{Db, blobs, resources};

/// Validate skills
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Validate {
    /// Skill name [default: all skills]
    #[arg(add = SKILLS)]
    name: Option<String>,
}

impl Operation for Validate {
    const TOOL: &'static str = "validate_skills";
    const CLI: &'static [&'static str] = &["skill", "validate"];
    const TITLE: &'static str = "Validate skills";
    const ABOUT: &'static str = "Check one skill or all skills, and report every problem with its file and line";
    const HELP: &'static str = "If there is a problem, the exit status is 1. Agents ignore a skill whose SKILL.md \
        lacks a name or description.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg skill validate", "mcpkg skill validate pdf --json"];
    const ALIASES: &'static [&'static str] = &["check"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let (count, problems) = context.read(|db, project| {
            let names = match &self.name {
                Some(name) => BTreeSet::from([name.clone()]),
                None => names(db, project)?,
            };
            let mut problems = Vec::new();
            for name in &names {
                let found = validate(db, project, name)?.ok_or_else(|| missing(db, project, name))?;
                problems.extend(found.into_iter().map(|problem| (name.clone(), problem)));
            }
            let wanted = |skill: &str| self.name.as_deref().is_none_or(|name| name == skill);
            let hidden = rows::hidden(db, project.id)?.into_iter().filter(|hidden| wanted(&hidden.skill));
            problems.extend(hidden.map(hides));
            Ok((names.len(), problems))
        })?;
        if problems.is_empty() {
            let sentence = match (&self.name, count) {
                (Some(name), _) => format!("The skill '{name}' is valid"),
                (None, 0) => "Found no skills to check".to_owned(),
                (None, 1) => "The project's only skill is valid".to_owned(),
                (None, _) => format!("All {count} skills are valid"),
            };
            return Ok(Reply::sentence(sentence, json!({ "checked": count, "problems": [] })));
        }
        let told =
            |(name, Problem { file, line, problem }): &(String, Problem)| format!("{name}/{file}:{line}: {problem}");
        let lines: Vec<String> = problems.iter().map(told).collect();
        let details: Vec<_> = problems
            .iter()
            .map(|(name, Problem { file, line, problem })| {
                json!({ "skill": name, "file": file, "line": line, "problem": problem })
            })
            .collect();
        let message = format!("Found {}:\n  {}", plural::count(lines.len(), "problem"), lines.join("\n  "));
        Err(Error::new(Code::SkillInvalid, message).with_details(json!({ "checked": count, "problems": details })))
    }
}

/// Returns the problem of a prompt that agents cannot see as a skill, because another item has its name.
fn hides(rows::Hidden { prompt, skill, by }: rows::Hidden) -> (String, Problem) {
    let by = by.map_or_else(|| "a stored skill".to_owned(), |by| format!("prompt '{by}'"));
    let problem =
        format!("agents do not see prompt '{prompt}' as a skill, because {by} has the same name; rename one of them");
    (skill, Problem::of(MAIN, 1, problem))
}

/// Returns the first part of everything below `skill://`: `a` for `skill://a/SKILL.md`, and also for a bare `skill://a`.
fn names(db: &Db<'_>, project: &Project) -> Result<BTreeSet<String>> {
    let resources = resources::below(db, project.id, SCHEME)?;
    let name = |uri: &str| uri.strip_prefix(SCHEME).and_then(|rest| rest.split('/').next()).map(str::to_owned);
    Ok(resources.iter().filter_map(|resource| name(&resource.attributes.uri)).collect())
}

/// Returns the problems of the files below `skill://NAME/`; `None` if the project has neither such files nor a resource
/// `skill://NAME`.
fn validate(db: &Db<'_>, project: &Project, name: &str) -> Result<Option<Vec<Problem>>> {
    let files = rows::files(db, project.id, name)?;
    if files.is_empty() {
        // Even without files, there may be a resource with the invalid URI `skill://NAME`.
        let uri = format!("{SCHEME}{name}");
        let found = resources::find(db, project.id, resources::Key::Uri(&uri))?;
        return Ok(found.map(|_| check::files(name, [(uri.as_str(), 0)])));
    }
    let mut problems: Vec<Problem> = check::name(name).map(|why| Problem::of(MAIN, 1, why)).into_iter().collect();
    problems.extend(check::files(
        name,
        files.iter().map(|file| (file.resource.attributes.uri.as_str(), file.resource.size)),
    ));
    let main = format!("{SCHEME}{name}/{MAIN}");
    let is_main = |file: &&rows::File| file.resource.attributes.uri == main && file.resource.size <= MAX_MAIN;
    if let Some(file) = files.iter().find(is_main) {
        match String::from_utf8(blobs::get(db, file.resource.blob)?) {
            Ok(text) => problems.extend(check::mark(&text).into_iter().chain(check::main(name, &text).all_problems())),
            Err(_) => problems.push(Problem::of(MAIN, 1, "it is not UTF-8 text")),
        }
    }
    problems.dedup();
    Ok(Some(problems))
}
