//! `mcpkg prompt create`: stores a new prompt.

use schemars::JsonSchema;
use serde::Deserialize;

use super::data;
use super::declared::{Declared, check, declare, declared, take};
use crate::GROUP;
use crate::argument::Content;
use mcpkg_base::error::Result;
use mcpkg_core::names;
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::prompts::{self, Attributes};

/// Create a prompt
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Create {
    /// Prompt name (alphanumeric, hyphens, underscores, dots)
    name: String,
    /// Prompt text content
    #[arg(value_parser = Content::from_shell, allow_hyphen_values = true)]
    content: Content,
    /// Optional description
    #[arg(short, long, allow_hyphen_values = true)]
    description: Option<String>,
    /// Treat the content as a Jinja template with these arguments
    #[arg(long = "argument", value_name = "NAME[?][=DESCRIPTION]", value_parser = declared)]
    arguments: Option<Vec<Declared>>,
    /// Render the content as a Jinja template even without arguments
    #[arg(long)]
    #[serde(skip)]
    template: bool,
}

impl Operation for Create {
    const TOOL: &'static str = "create_prompt";
    const CLI: &'static [&'static str] = &["prompt", "create"];
    const TITLE: &'static str = "Create prompt";
    const ABOUT: &'static str = "Create a new prompt in the selected project";
    const USER_WORDS: &'static str = "Save a prompt, command or instruction";
    const HELP: &'static str = "CONTENT is the text itself, `@FILE` to read a file, or `-` for standard input. If the \
        text itself begins with `@`, write `@@` instead.\n\
        If the front matter declares `arguments`, or an `argument-hint` for $ARGUMENTS or $1, the prompt becomes a \
        template, as in `mcpkg import`. mcpkg stores a file's front matter with the text, and takes the prompt's \
        description from the front matter. mcpkg serves content without front matter unchanged, byte for byte, unless \
        the content is a template.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg prompt create code-review 'Review this code for bugs' -d 'Find bugs'",
        "mcpkg prompt create guide @guide.md",
        "mcpkg prompt create focus 'Look at {{ file }}' --argument 'file=The file to look at'",
    ];
    const ALIASES: &'static [&'static str] = &["add"];
    const EFFECT: Effect = Effect::Create;
    const CHANGES: Changes = Changes::PROMPTS;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        names::check("Prompt", &self.name)?;
        let from_file = matches!(self.content, Content::File(_));
        let mut content = self.content.read_prompt()?;
        let mut attributes = Attributes { template: self.template, ..Attributes::default() };
        let hints = match &self.arguments {
            None => declare(&mut attributes, &mut content, from_file)?,
            Some(_) => Vec::new(),
        };
        if let Some(description) = self.description {
            attributes.description = names::description(Some(description))?;
        }
        take(&mut attributes, self.arguments);
        check(&attributes, &content)?;
        let (prompt, project) = context.write("prompt.create", &self.name, |db, project, author| {
            let uuid = context.clock.uuid();
            let prompt = prompts::insert(db, author, project, uuid, &self.name, attributes, &content)?;
            Ok((prompt, project.name.clone()))
        })?;
        let sentence = format!("Created prompt '{}' in project '{project}'", prompt.name);
        Ok(Reply { hints, ..Reply::sentence(sentence, data(&project, &prompt)) })
    }
}
