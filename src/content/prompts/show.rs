//! `mcpkg prompt show`: a prompt's text, rendered where it is a template.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::command::fill::{CommandText, fill};
use crate::content::{GROUP, answer, argument, command, template};
use crate::error::{Code, Error, Result};
use crate::op::{Body, Context, Effect, Faces, Operation, Reply};
use crate::store::blobs;
use crate::store::prompts::{self, Attributes};

/// Show a prompt
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Prompt name
    name: String,
    /// Values for the template's arguments
    #[arg(long = "argument", short = 'a', value_name = "NAME=VALUE", value_parser = argument::key_value)]
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    #[serde(default, deserialize_with = "values")]
    arguments: Vec<(String, String)>,
    /// Return the template itself, not rendered
    #[arg(long)]
    raw: Option<Option<bool>>,
}

fn values<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, String)>, D::Error> {
    Ok(Option::<BTreeMap<String, String>>::deserialize(deserializer)?.unwrap_or_default().into_iter().collect())
}

/// A prompt's text
#[derive(Serialize, JsonSchema)]
pub struct Shown {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    text: String,
}

impl Operation for Show {
    const TOOL: &'static str = "get_prompt";
    const CLI: &'static [&'static str] = &["prompt", "show"];
    const TITLE: &'static str = "Get prompt";
    const ABOUT: &'static str = "Get the text of a stored prompt, command or instruction by name";
    const HELP: &'static str = "Examples:\n  mcpkg prompt show code-review\n  mcpkg prompt show focus -a file=main.rs\n  mcpkg prompt show focus --raw";
    const ALIASES: &'static [&'static str] = &["get"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const CONTENT: bool = true;
    type Output = Shown;

    fn run(self, context: &Context) -> Result<Reply> {
        let raw = matches!(self.raw, Some(None | Some(true)));
        let given: BTreeMap<String, String> = self.arguments.into_iter().collect();
        let (prompt, content) = context.read(|db, project| {
            let prompt = prompts::get(db, project, &self.name)?;
            answer::check_size(
                prompt.size,
                context.max_answer,
                || format!("Prompt '{}'", prompt.name),
                || format!("mcpkg prompt show {}", prompt.name),
            )?;
            if prompt.attributes.template && prompt.attributes.dialect.is_none() && !raw {
                template::check_size(prompt.size.unsigned_abs())?;
            }
            let content = answer::text(blobs::get(db, prompt.blob)?)?;
            Ok((prompt, content))
        })?;
        let Attributes { description, template, dialect, arguments, front_matter, .. } = prompt.attributes;
        if context.actor == "shell" && !raw {
            let mut known = match (template, dialect) {
                (false, _) => Vec::new(),
                (true, None) => template::variables(&content)?,
                (true, Some(_)) => vec![command::LINE.to_owned()],
            };
            known.extend(arguments.iter().map(|argument| argument.name.clone()));
            known.sort_unstable();
            known.dedup();
            refuse_unknown(&prompt.name, &known, &given)?;
        }
        let text = if template && !raw {
            let front_matter = front_matter.as_deref();
            let source =
                CommandText { name: &prompt.name, dialect, front_matter, text: &content, declared: &arguments };
            fill(&source, &given, context.max_answer)?
        } else {
            content
        };
        let data = answer::serialize(&Shown { name: prompt.name, description, text: text.clone() })?;
        Ok(Reply::new(Body::Text(text), data))
    }
}

/// Refuses a value that the prompt has no use for: who types it meant another name. Agents' extra values do no harm.
fn refuse_unknown(prompt: &str, known: &[String], given: &BTreeMap<String, String>) -> Result<()> {
    let Some(unknown) = given.keys().find(|name| !known.contains(name)) else {
        return Ok(());
    };
    let error = Error::new(Code::InvalidArgument, format!("Prompt '{prompt}' takes no argument '{unknown}'"));
    let otherwise =
        if known.is_empty() { "it takes none".to_owned() } else { format!("it takes {}", known.join(", ")) };
    Err(error.suggest(unknown, known.iter().map(String::as_str), otherwise))
}
