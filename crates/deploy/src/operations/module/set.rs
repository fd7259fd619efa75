//! `mcpkg module set`: sets a module's type, tags and targets, when it applies, and whether it is deployed.

use schemars::JsonSchema;
use serde::Deserialize;

use super::edit::{keep, set_kind};
use super::summary::{data, described};
use crate::GROUP;
use crate::completions::MODULES;
use crate::completions::TARGETS;
use crate::module::Kind;
use crate::operations::target;
use crate::project::catalog;
use crate::project::stored_module::StoredModule;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::modules::Applies;

/// When instructions without globs apply.
#[derive(Clone, Copy, Debug, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
enum When {
    /// In every session.
    Always,
    /// When the agent decides that the description fits the task.
    Described,
    /// When the user names the instructions.
    Manual,
}

/// Change a module
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Set {
    /// Module, such as command:review
    #[arg(add = MODULES)]
    id: String,
    /// New type of the module, such as instructions
    #[arg(long = "type", value_name = "TYPE")]
    #[schemars(with = "Option<String>")]
    kind: Option<Kind>,
    /// Tags, separated by commas; an empty value removes all tags
    #[arg(long, value_delimiter = ',')]
    tags: Option<Vec<String>>,
    /// Targets, separated by commas, such as claude_code,gemini; an empty value means all targets
    #[arg(long, value_delimiter = ',')]
    #[arg(add = TARGETS)]
    targets: Option<Vec<String>>,
    /// When the instructions apply: always, described (the agent decides by the description) or manual (the user asks for them by name)
    #[arg(long, value_name = "WHEN", conflicts_with = "globs")]
    #[schemars(with = "Option<String>")]
    applies: Option<When>,
    /// Apply the instructions to files that match this pattern, such as **/*.py; can be repeated
    #[arg(long, value_name = "GLOB")]
    #[serde(default)]
    globs: Vec<String>,
    /// Whether the module is deployed
    #[arg(long, value_name = "BOOL")]
    enabled: Option<bool>,
}

impl Operation for Set {
    const TOOL: &'static str = "set_module";
    const CLI: &'static [&'static str] = &["module", "set"];
    const TITLE: &'static str = "Change a module";
    const ABOUT: &'static str = "Change a module's type, tags and targets, and whether the module is deployed";
    const HELP: &'static str = "You can turn a prompt into a command, a prompt file or instructions, and instructions into a prompt \
        file. A module's id contains the module's type, so a new type means a new id. The prompts and resources themselves stay \
        unchanged.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg module set skill:review --targets claude_code,codex",
        "mcpkg module set command:style --type instructions",
        "mcpkg module set command:old --enabled false",
        "mcpkg module set instructions:python --globs '**/*.py'",
    ];
    const EFFECT: Effect = Effect::Write;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.id.clone()
    }

    fn run(mut self, context: &Context) -> Result<Reply> {
        let applies = self.applies()?;
        let says_what = self.kind.is_some() || self.tags.is_some() || self.targets.is_some();
        if !says_what && applies.is_none() && self.enabled.is_none() {
            return Err(Error::new(
                Code::InvalidArgument,
                "At least one of --type, --tags, --targets, --applies, --globs or --enabled must be provided",
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
            row.applies = applies.unwrap_or(row.applies);
            let after = keep(db, project, &row)?;
            if after.kind != Kind::Instructions && after.row.applies != Applies::Always {
                return Err(only_instructions(&after));
            }
            Ok((before, after, project.name.clone()))
        })?;
        let sentence = format!("Changed module '{}' in project '{project}' to {}", before.id, described(&after));
        Ok(Reply::sentence(sentence, data(&after)))
    }
}

impl Set {
    /// Returns when the instructions apply. Returns `None` if the arguments do not change that.
    fn applies(&mut self) -> Result<Option<Applies>> {
        let globs = std::mem::take(&mut self.globs);
        Ok(match (self.applies, globs.is_empty()) {
            (None, true) => None,
            (None, false) => Some(Applies::Globs(checked(globs)?)),
            (Some(_), false) => {
                return Err(Error::new(Code::InvalidArgument, "--applies and --globs cannot be used together"));
            }
            (Some(When::Always), true) => Some(Applies::Always),
            (Some(When::Described), true) => Some(Applies::Described),
            (Some(When::Manual), true) => Some(Applies::Manual),
        })
    }
}

fn checked(globs: Vec<String>) -> Result<Vec<String>> {
    for glob in &globs {
        let why = match glob.trim() {
            "" => "is empty",
            _ if glob.contains(char::is_control) => "holds a control character",
            _ => continue,
        };
        return Err(Error::new(Code::InvalidArgument, format!("The glob '{}' {why}", glob.escape_debug())));
    }
    Ok(globs)
}

fn only_instructions(module: &StoredModule) -> Error {
    Error::new(
        Code::InvalidArgument,
        format!(
            "Module '{}' is not instructions, so it has no scope: the module applies only when it is called",
            module.id
        ),
    )
    .hint("to turn a prompt into instructions, pass `--type instructions`")
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
    words.iter().try_for_each(|word| target::named(word).map(drop))?;
    Ok(words)
}
