//! `mcpkg prompt update`: stores a new revision of a prompt.

use schemars::JsonSchema;
use serde::Deserialize;

use super::data;
use super::declared::{Declared, check, declare, declared, take};
use crate::argument::Content;
use crate::completions::PROMPTS;
use crate::{GROUP, answer};
use mcpkg_agents::commands;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::names;
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::blobs;
use mcpkg_store::prompts;

/// Update a prompt
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Update {
    /// Prompt name
    #[arg(add = PROMPTS)]
    name: String,
    /// New prompt content (optional)
    #[arg(short, long, value_parser = Content::from_shell, allow_hyphen_values = true)]
    content: Option<Content>,
    /// New prompt content, in the same form as for `prompt create`
    #[arg(value_name = "CONTENT", value_parser = Content::from_shell, conflicts_with = "content")]
    #[arg(allow_hyphen_values = true)]
    #[serde(skip)]
    text: Option<Content>,
    /// New description (optional)
    #[arg(short, long, allow_hyphen_values = true)]
    description: Option<String>,
    /// New template arguments (optional)
    #[arg(long = "argument", value_name = "NAME[?][=DESCRIPTION]", value_parser = declared)]
    arguments: Option<Vec<Declared>>,
    /// Whether to render the content as a Jinja template
    #[arg(long, value_name = "BOOL")]
    #[serde(skip)]
    template: Option<bool>,
}

impl Operation for Update {
    const TOOL: &'static str = "update_prompt";
    const CLI: &'static [&'static str] = &["prompt", "update"];
    const TITLE: &'static str = "Update prompt";
    const ABOUT: &'static str = "Update an existing prompt's content or description";
    const USER_WORDS: &'static str = "Edit a saved prompt";
    const HELP: &'static str = "CONTENT is the text itself, `@FILE` to read a file, or `-` for standard input. If the \
        text itself begins with `@`, write `@@` instead.\n\
        An empty description removes the current description. Every change adds a revision: see `mcpkg prompt \
        history`.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg prompt update code-review 'Review this code for races'",
        "mcpkg prompt update code-review @review.md",
        "mcpkg prompt update code-review -d 'Find bugs'",
    ];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::PROMPTS;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let content = self.content.or(self.text);
        if content.is_none() && self.description.is_none() && self.arguments.is_none() && self.template.is_none() {
            return Err(Error::new(
                Code::InvalidArgument,
                "At least one of --content or --description must be provided",
            ));
        }
        let content = content.map(Content::read_prompt).transpose()?;
        let description = self.description.map(|text| names::description(Some(text))).transpose()?;
        let (prompt, project, hints) = context.write("prompt.update", &self.name, |db, project, author| {
            let mut prompt = prompts::get(db, project, &self.name)?;
            let before = prompt.revision;
            let is_described_only = content.is_none() && self.arguments.is_none() && self.template.is_none();
            let (content, mut hints) = match content {
                Some(mut content) if self.arguments.is_none() && self.template != Some(false) => {
                    let hints = declare(&mut prompt.attributes, &mut content, false)?;
                    (content, hints)
                }
                Some(content) => {
                    commands::drop_replaced(&mut prompt.attributes, &content);
                    // With arguments from parameters, the text is a Jinja template. With `template: false`, it is plain
                    // text. In both cases it is not a command in an agent's syntax.
                    prompt.attributes.dialect = None;
                    (content, Vec::new())
                }
                None => (answer::text(blobs::get(db, prompt.blob)?)?, Vec::new()),
            };
            if let Some(description) = description {
                prompt.attributes.description = description;
            }
            take(&mut prompt.attributes, self.arguments);
            if let Some(template) = self.template {
                prompt.attributes.template = template;
            }
            // Do not check the text if only the description changes. Otherwise a template that exceeds today's limits could
            // not get a description.
            if !is_described_only {
                check(&prompt.attributes, &content)?;
            }
            commands::refresh(&mut prompt.attributes, &content);
            let prompt = prompts::update(db, author, project, prompt, "update", &content)?;
            hints.extend(answer::unchanged(before, prompt.revision));
            Ok((prompt, project.name.clone(), hints))
        })?;
        let sentence = format!("Updated prompt '{}' in project '{project}'", prompt.name);
        Ok(Reply { hints, ..Reply::sentence(sentence, data(&project, &prompt)) })
    }
}
