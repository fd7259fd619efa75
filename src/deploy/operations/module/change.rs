//! `mcpkg module set`, `add` and `remove`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{data, described};
use crate::deploy::GROUP;
use crate::deploy::module::{Kind, Target};
use crate::deploy::project::catalog::{self, INSTRUCTIONS, Listed, SKILL, Source};
use crate::error::{Code, Error, Result};
use crate::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use crate::store::modules::{self, Row};
use crate::store::projects::Project;
use crate::store::resources::{self, Key, Resource};
use crate::store::{Db, revisions};

/// Change a module
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Set {
    /// Module, such as command:review
    id: String,
    /// Type, such as instructions
    #[arg(long = "type", value_name = "TYPE")]
    #[schemars(with = "Option<String>")]
    kind: Option<Kind>,
    /// Tags, with commas between; an empty one takes all away
    #[arg(long, value_delimiter = ',')]
    tags: Option<Vec<String>>,
    /// Targets, with commas between: claude_code, codex, cursor, vscode; an empty one means all
    #[arg(long, value_delimiter = ',')]
    targets: Option<Vec<String>>,
    /// Whether it is deployed
    #[arg(long, value_name = "BOOL")]
    enabled: Option<bool>,
}

impl Operation for Set {
    const TOOL: &'static str = "set_module";
    const CLI: &'static [&'static str] = &["module", "set"];
    const TITLE: &'static str = "Change a module";
    const ABOUT: &'static str = "Change a module's type, tags and targets, and whether it is deployed";
    const HELP: &'static str = "A prompt can be a command, a prompt file or instructions; instructions can be a prompt file. The id says the type, \
        so it changes with it. The prompts and resources themselves stay as they are.\n\n\
        Examples:\n  mcpkg module set skill:review --targets claude_code,codex\n  \
        mcpkg module set command:style --type instructions\n  mcpkg module set command:old --enabled false";
    const EFFECT: Effect = Effect::Write;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.id.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        if self.kind.is_none() && self.tags.is_none() && self.targets.is_none() && self.enabled.is_none() {
            return Err(Error::new(
                Code::InvalidArgument,
                "At least one of --type, --tags, --targets or --enabled must be provided",
            ));
        }
        let tags = self.tags.map(listed_words);
        let targets = self.targets.map(known_targets).transpose()?;
        let (before, after, project) = context.write("module.set", &self.id, |db, project, _| {
            let before = catalog::get(db, project, &self.id)?;
            let mut row = before.row.clone();
            if let Some(kind) = self.kind {
                set_kind(&before, &mut row, kind)?;
            }
            row.tags = tags.unwrap_or(row.tags);
            row.targets = targets.unwrap_or(row.targets);
            row.enabled = self.enabled.unwrap_or(row.enabled);
            let after = keep(db, project, &row)?;
            Ok((before, after, project.name.clone()))
        })?;
        let sentence = format!("Changed module '{}' in project '{project}' to {}", before.id, described(&after));
        Ok(Reply::sentence(sentence, data(&after)))
    }
}

/// Add a module
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Add {
    /// Name or URI of a resource, or the name of a prompt
    #[arg(value_name = "NAME|URI")]
    name: String,
    /// Type: instructions or prompt [default: instructions]
    #[arg(long = "type", value_name = "TYPE")]
    #[schemars(with = "Option<String>")]
    kind: Option<Kind>,
}

impl Operation for Add {
    const TOOL: &'static str = "add_module";
    const CLI: &'static [&'static str] = &["module", "add"];
    const TITLE: &'static str = "Add a module";
    const ABOUT: &'static str = "Deploy a text resource that is no module by itself, or what `module remove` took out";
    const HELP: &'static str = "Prompts, skills and resources below instructions:// are modules by themselves. Any other text resource, such as \
        file:///docs/style.md, becomes one by this: instructions, or a prompt file.\n\n\
        Examples:\n  mcpkg module add file:///docs/style.md\n  mcpkg module add checklist --type prompt";
    const EFFECT: Effect = Effect::Write;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (after, project) = context
            .write("module.add", &self.name, |db, project, _| Ok((self.add(db, project)?, project.name.clone())))?;
        let sentence = format!("Added module '{}' to project '{project}'", after.id);
        Ok(Reply::sentence(sentence, data(&after)))
    }
}

impl Add {
    fn add(&self, db: &Db<'_>, project: &Project) -> Result<Listed> {
        let (known, _) = catalog::list(db, project)?;
        if let Some(before) = known.into_iter().find(|module| self.means(module)) {
            if before.row.enabled {
                return Err(Error::new(
                    Code::AlreadyExists,
                    format!("'{}' is a module already: {}", self.name, before.id),
                )
                .hint(format!("`mcpkg module set {}` changes it", before.id)));
            }
            let mut row = Row { enabled: true, ..before.row.clone() };
            if let Some(kind) = self.kind {
                set_kind(&before, &mut row, kind)?;
            }
            return keep(db, project, &row);
        }
        let resource = self.resource(db, project)?;
        let kind = self.kind.unwrap_or(Kind::Instructions);
        if !matches!(kind, Kind::Instructions | Kind::Prompt) {
            return Err(unfit(&format!("Resource '{}'", resource.name), kind, "instructions or prompt"));
        }
        let item = format!("resource:{}", resource.uuid);
        let row = Row { item, kind: Some(kind.word().to_owned()), enabled: true, ..Row::default() };
        modules::put(db, project.id, &row)?;
        written(db, project, &row)
    }

    /// Whether a module is the one that is meant.
    fn means(&self, module: &Listed) -> bool {
        module.id == self.name
            || module.parts.iter().any(|part| match &part.source {
                Source::Prompt(prompt) => prompt.name == self.name,
                Source::Resource(resource) => resource.name == self.name || resource.attributes.uri == self.name,
            })
    }

    fn resource(&self, db: &Db<'_>, project: &Project) -> Result<Resource> {
        let key = if self.name.contains(':') { Key::Uri(&self.name) } else { Key::Name(&self.name) };
        let resource = resources::find(db, project.id, key)?
            .ok_or_else(|| revisions::Kind::Resource.missing(db, project, &self.name))?;
        let uri = &resource.attributes.uri;
        let refuse = |why: String| Err(Error::new(Code::InvalidArgument, why));
        if uri.starts_with(SKILL) || uri.starts_with(INSTRUCTIONS) {
            return refuse(format!("{} cannot be a module; `mcpkg module list` says why", uri.escape_debug()));
        }
        if !resource.attributes.text {
            return refuse(format!("Resource '{}' is no text, so it cannot be a module", resource.name));
        }
        Ok(resource)
    }
}

/// Remove a module
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Remove {
    /// Module, such as skill:review
    id: String,
}

impl Operation for Remove {
    const TOOL: &'static str = "remove_module";
    const CLI: &'static [&'static str] = &["module", "remove"];
    const TITLE: &'static str = "Remove a module";
    const ABOUT: &'static str = "Take a module out of deploys; its prompt or resources stay";
    const HELP: &'static str = "What was added by `mcpkg module add` is no module any more; any other one is only not enabled. The next deploy \
        deletes the files that the module gave.";
    const ALIASES: &'static [&'static str] = &["rm"];
    const EFFECT: Effect = Effect::Write;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.id.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (before, project) = context.write("module.remove", &self.id, |db, project, _| {
            let before = catalog::get(db, project, &self.id)?;
            if before.is_added() {
                modules::delete(db, project.id, &before.row.item)?;
            } else {
                modules::put(db, project.id, &Row { enabled: false, ..before.row.clone() })?;
            }
            Ok((before, project.name.clone()))
        })?;
        let (sentence, back) = if before.is_added() {
            let name = before.parts.first().map_or(String::new(), |part| part.source.name().to_owned());
            (format!("Removed module '{}' from project '{project}'", before.id), format!("module add {name}"))
        } else {
            let sentence = format!("Module '{}' of project '{project}' is not deployed any more", before.id);
            (sentence, format!("module set {} --enabled true", before.id))
        };
        Ok(Reply::sentence(sentence, json!({ "id": before.id })).hint(format!("`mcpkg {back}` brings it back")))
    }
}

/// Gives a module another type, where that makes sense.
fn set_kind(module: &Listed, row: &mut Row, kind: Kind) -> Result<()> {
    let what = format!("Module '{}'", module.id);
    let source = module.parts.first().map(|part| &part.source);
    let (default, allowed) = match source {
        Some(Source::Prompt(prompt)) if prompt.attributes.template && kind == Kind::Instructions => {
            return Err(unfit(&format!("{what}, a template,"), kind, "command or prompt"));
        }
        Some(Source::Prompt(_)) => (Some(Kind::Command), &[Kind::Command, Kind::Prompt, Kind::Instructions][..]),
        _ if module.kind == Kind::Skill => (Some(Kind::Skill), &[Kind::Skill][..]),
        _ if module.is_added() => (None, &[Kind::Instructions, Kind::Prompt][..]),
        _ => (Some(Kind::Instructions), &[Kind::Instructions, Kind::Prompt][..]),
    };
    if !allowed.contains(&kind) {
        let words: Vec<_> = allowed.iter().map(|kind| kind.word()).collect();
        return Err(unfit(&what, kind, &words.join(" or ")));
    }
    row.kind = Some(kind).filter(|kind| Some(*kind) != default).map(|kind| kind.word().to_owned());
    Ok(())
}

fn unfit(what: &str, kind: Kind, instead: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("{what} cannot be of type {}; it can be {instead}", kind.word()))
}

/// Writes a module's row; one that says nothing goes.
fn keep(db: &Db<'_>, project: &Project, row: &Row) -> Result<Listed> {
    if *row == (Row { item: row.item.clone(), enabled: true, ..Row::default() }) {
        modules::delete(db, project.id, &row.item)?;
    } else {
        modules::put(db, project.id, row)?;
    }
    written(db, project, row)
}

/// Returns the module as it is now. One whose id another module has is left out of the list.
fn written(db: &Db<'_>, project: &Project, row: &Row) -> Result<Listed> {
    let (listed, _) = catalog::list(db, project)?;
    listed.into_iter().find(|module| module.row.item == row.item).ok_or_else(|| {
        Error::new(Code::AlreadyExists, "Another module of this type has the name already; nothing was changed")
            .hint("`mcpkg module list` shows it")
    })
}

fn listed_words(words: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for word in words {
        let word = word.trim();
        if !word.is_empty() && !kept.iter().any(|known| known == word) {
            kept.push(word.to_owned());
        }
    }
    kept
}

fn known_targets(words: Vec<String>) -> Result<Vec<String>> {
    let words = listed_words(words);
    if words == ["all"] {
        return Ok(Vec::new());
    }
    let names = Target::ALL.map(Target::name);
    match words.iter().find(|word| Target::named(word).is_none()) {
        None => Ok(words),
        Some(unknown) => {
            let error = Error::new(
                Code::TargetUnsupported,
                format!("No target is called '{}'; there are {}", unknown.escape_debug(), names.join(", ")),
            );
            Err(match crate::error::nearest(unknown, names) {
                Some(near) => error.hint(format!("did you mean '{near}'?")),
                None => error,
            })
        }
    }
}
