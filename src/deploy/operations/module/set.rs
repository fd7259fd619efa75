//! `mcpkg module set`: a module's type, tags and targets, and whether it is deployed.

use schemars::JsonSchema;
use serde::Deserialize;

use super::edit::{keep, set_kind};
use super::summary::{data, described};
use crate::deploy::GROUP;
use crate::deploy::module::Kind;
use crate::deploy::project::catalog;
use crate::deploy::targets::Target;
use crate::error::{Code, Error, Result};
use crate::op::{Context, Effect, Faces, NoOutput, Operation, Reply};

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
    let names = Target::all_names();
    match words.iter().find(|word| Target::named(word).is_none()) {
        None => Ok(words),
        Some(unknown) => {
            let error = Error::new(
                Code::TargetUnsupported,
                format!("No target is called '{}'; there are {}", unknown.escape_debug(), names.join(", ")),
            );
            Err(error.suggest(unknown, names.iter().copied(), ""))
        }
    }
}
