//! `mcpkg prompt show`: prints a prompt's text, and renders it first if it is a template.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::completions::PROMPTS;
use crate::{GROUP, answer, argument};
use mcpkg_agents::commands::fill::{CommandText, fill};
use mcpkg_agents::{commands, template};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::shell;
use mcpkg_core::op::{Body, Context, Effect, Faces, Operation, Reply};
use mcpkg_store::prompts::{self, Argument, Dialect};
use mcpkg_store::revisions::Kind;
use mcpkg_store::{blobs, projects};

/// Show a prompt
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Prompt name
    #[arg(add = PROMPTS)]
    name: String,
    /// Values for the template's arguments
    #[arg(long = "argument", short = 'a', value_name = "NAME=VALUE", value_parser = argument::key_value)]
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    #[serde(default, deserialize_with = "values")]
    arguments: Vec<(String, String)>,
    /// Return the template itself, without rendering it
    #[arg(long)]
    raw: Option<Option<bool>>,
}

fn values<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, String)>, D::Error> {
    Ok(Option::<BTreeMap<String, String>>::deserialize(deserializer)?.unwrap_or_default().into_iter().collect())
}

/// The parts of a stored prompt that `show` needs.
struct Stored {
    description: Option<String>,
    template: bool,
    dialect: Option<Dialect>,
    arguments: Vec<Argument>,
    front_matter: Option<String>,
    content: String,
}

/// A prompt's text
#[derive(Serialize, JsonSchema)]
pub struct Shown {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    text: String,
    /// Front matter of the file that the prompt was imported from
    #[serde(skip_serializing_if = "Option::is_none")]
    front_matter: Option<String>,
}

impl Operation for Show {
    const TOOL: &'static str = "get_prompt";
    const CLI: &'static [&'static str] = &["prompt", "show"];
    const TITLE: &'static str = "Get prompt";
    const ABOUT: &'static str = "Get the text of a stored prompt, command or instruction by name";
    const USER_WORDS: &'static str = "Show or use a saved prompt";
    const HELP: &'static str = "Without -a, placeholders of agents' commands, such as $ARGUMENTS, stay as they are. --raw \
        prints the stored text without rendering it. If the prompt was imported from a file with front matter, \
        that output begins with the front matter.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg prompt show code-review", "mcpkg prompt show focus -a file=main.rs", "mcpkg prompt show focus --raw"];
    const ALIASES: &'static [&'static str] = &["get"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const CONTENT: bool = true;
    type Output = Shown;

    fn is_hot(&self) -> bool {
        true
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let raw = matches!(self.raw, Some(None | Some(true)));
        let given: BTreeMap<String, String> = self.arguments.into_iter().collect();
        let Stored { description, template, dialect, arguments, front_matter, content } = context.store.read(|db| {
            // For speed, one SQL statement finds the project, the prompt and its content.
            let found = prompts::with(db, &context.selection, &self.name, |prompt| {
                let size = prompt.content.size;
                if size > context.max_answer {
                    let how = format!("mcpkg prompt show {}", self.name);
                    return Err(answer::too_large(&format!("Prompt '{}'", self.name), size, context.max_answer, &how));
                }
                if prompt.template && prompt.dialect.is_none() && !raw {
                    template::check_size(size)?;
                }
                Ok(Stored {
                    description: prompt.description.map(str::to_owned),
                    template: prompt.template,
                    dialect: prompt.dialect,
                    arguments: answer::arguments(prompt.arguments)?,
                    front_matter: prompt.front_matter.map(str::to_owned),
                    content: answer::text(blobs::read(db, prompt.content)?)?,
                })
            })?;
            match found {
                Some(found) => Ok(found),
                None => {
                    let project = projects::require(db, &context.selection)?;
                    Err(Kind::Prompt.missing(db, &project, &self.name))
                }
            }
        })?;
        if context.is_shell() && !raw {
            let mut known = match (template, dialect) {
                (false, _) => Vec::new(),
                (true, None) => template::variables(&content)?,
                (true, Some(_)) => vec![commands::LINE.to_owned()],
            };
            known.extend(arguments.iter().map(|argument| argument.name.clone()));
            known.sort_unstable();
            known.dedup();
            refuse_unknown(&self.name, &known, &given)?;
        }
        // A person who gives no arguments wants to see a command's placeholders, so the text is not rendered. An agent
        // gets the same as from prompts/get.
        let as_stored = raw || (context.is_shell() && dialect.is_some() && given.is_empty());
        let text = if template && !as_stored {
            let front_matter = front_matter.as_deref();
            let source = CommandText { name: &self.name, dialect, front_matter, text: &content, declared: &arguments };
            fill(&source, &given, context.max_answer)?
        } else {
            content
        };
        let shown = match &front_matter {
            // Only a person gets the front matter, and only with `--raw`. By contract 001, an agent gets a template
            // without it.
            Some(front) if raw && context.is_shell() => format!("{front}{text}"),
            _ => text.clone(),
        };
        let data = answer::serialize(&Shown { name: self.name, description, text, front_matter })?;
        Ok(Reply::new(Body::Text(shown), data))
    }
}

/// Refuses a value for an argument that the prompt does not have: the user probably meant another name. Called for
/// people only, because extra values from agents do no harm.
fn refuse_unknown(prompt: &str, known: &[String], given: &BTreeMap<String, String>) -> Result<()> {
    let Some(unknown) = given.keys().find(|name| !known.contains(name)) else {
        return Ok(());
    };
    let error = Error::new(Code::InvalidArgument, format!("Prompt '{prompt}' takes no argument '{unknown}'"));
    let otherwise = if known.is_empty() {
        format!("declare the argument with `mcpkg prompt update {prompt} --argument {}`", shell::quote(unknown))
    } else {
        format!("it takes {}", known.join(", "))
    };
    Err(error.suggest(unknown, known.iter().map(String::as_str), otherwise))
}
