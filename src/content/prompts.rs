//! Prompts: create, update, rename, delete, list, show.

mod show;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::argument::{self, Content};
use super::{GROUP, answer, command, cursor, names, template};
use crate::clock::rfc3339;
use crate::error::{Code, Error, Result};
use crate::op::{self, Body, Changes, Context, Effect, Faces, NoOutput, Operation, Reply, Table};
use crate::store::prompts::{self, Argument, Attributes, Prompt};
use crate::store::{blobs, projects};

pub use show::{Show, Shown};

/// An argument of a prompt template
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Declared {
    name: String,
    #[serde(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(default)]
    required: bool,
}

impl From<Declared> for Argument {
    fn from(declared: Declared) -> Self {
        Self { name: declared.name, description: declared.description, required: declared.required }
    }
}

impl From<Argument> for Declared {
    fn from(argument: Argument) -> Self {
        Self { name: argument.name, description: argument.description, required: argument.required }
    }
}

fn declared(text: &str) -> Result<Declared> {
    argument::declaration(text).map(Declared::from)
}

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
    /// Makes the content a Jinja template with these arguments
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
    const HELP: &'static str = "CONTENT is the text itself, `@FILE`, or `-` for standard input; `@@` begins with a literal `@`.\n\
        Front matter that declares `arguments`, or the `argument-hint` of $ARGUMENTS or $1, makes it a template, as in \
        `mcpkg import`; any other content goes out byte for byte.\n\n\
        Examples:\n  mcpkg prompt create code-review 'Review this code for bugs' -d 'Find bugs'\n  \
        mcpkg prompt create guide @guide.md\n  \
        mcpkg prompt create focus 'Look at {{ file }}' --argument 'file=The file to look at'";
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
        let mut content = self.content.read_prompt()?;
        let mut attributes = Attributes { template: self.template, ..Attributes::default() };
        let hints = match &self.arguments {
            None => declare(&mut attributes, &mut content),
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

/// Update a prompt
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Update {
    /// Prompt name
    name: String,
    /// New prompt content (optional)
    #[arg(short, long, value_parser = Content::from_shell, allow_hyphen_values = true)]
    content: Option<Content>,
    /// New prompt content, as `create` takes it
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
    /// Render the content as a Jinja template, or not
    #[arg(long, value_name = "BOOL")]
    #[serde(skip)]
    template: Option<bool>,
}

impl Operation for Update {
    const TOOL: &'static str = "update_prompt";
    const CLI: &'static [&'static str] = &["prompt", "update"];
    const TITLE: &'static str = "Update prompt";
    const ABOUT: &'static str = "Update an existing prompt's content or description";
    const HELP: &'static str = "CONTENT is the text itself, `@FILE`, or `-` for standard input; `@@` begins with a literal `@`.\n\
        An empty description removes it. Every change keeps a revision: see `mcpkg prompt history`.\n\n\
        Examples:\n  mcpkg prompt update code-review 'Review this code for races'\n  \
        mcpkg prompt update code-review @review.md\n  \
        mcpkg prompt update code-review -d 'Find bugs'";
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
            let (content, mut hints) = match content {
                Some(mut content) if self.arguments.is_none() && self.template != Some(false) => {
                    let hints = declare(&mut prompt.attributes, &mut content);
                    (content, hints)
                }
                Some(content) => {
                    command::drop_replaced(&mut prompt.attributes, &content);
                    // Who declares the arguments of a new text writes a template of Jinja's.
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
            check(&prompt.attributes, &content)?;
            command::refresh(&mut prompt.attributes, &content);
            let prompt = prompts::update(db, author, project, prompt, "update", &content)?;
            hints.extend(answer::unchanged(before, prompt.revision));
            Ok((prompt, project.name.clone(), hints))
        })?;
        let sentence = format!("Updated prompt '{}' in project '{project}'", prompt.name);
        Ok(Reply { hints, ..Reply::sentence(sentence, data(&project, &prompt)) })
    }
}

/// Rename a prompt
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Rename {
    /// Prompt name
    name: String,
    /// New name
    to: String,
}

impl Operation for Rename {
    const TOOL: &'static str = "rename_prompt";
    const CLI: &'static [&'static str] = &["prompt", "rename"];
    const TITLE: &'static str = "Rename prompt";
    const ABOUT: &'static str = "Rename a prompt; its history stays with it";
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::PROMPTS;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        names::check("Prompt", &self.to)?;
        let (prompt, project) = context.write("prompt.rename", &self.name, |db, project, author| {
            let mut prompt = prompts::get(db, project, &self.name)?;
            prompt.name.clone_from(&self.to);
            // Who renames a command means its file as well.
            prompt.attributes.file = None;
            let content = answer::text(blobs::get(db, prompt.blob)?)?;
            let prompt = prompts::update(db, author, project, prompt, "rename", &content)?;
            Ok((prompt, project.name.clone()))
        })?;
        let sentence = format!("Renamed prompt '{}' to '{}' in project '{project}'", self.name, self.to);
        Ok(Reply::sentence(sentence, data(&project, &prompt)))
    }
}

/// Delete a prompt
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Delete {
    /// Prompt name
    name: String,
}

impl Operation for Delete {
    const TOOL: &'static str = "delete_prompt";
    const CLI: &'static [&'static str] = &["prompt", "delete"];
    const TITLE: &'static str = "Delete prompt";
    const ABOUT: &'static str = "Delete a prompt from the selected project";
    const HELP: &'static str = "Its history stays: `mcpkg prompt restore NAME REVISION` brings it back.";
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::PROMPTS;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (prompt, project) = context.write("prompt.delete", &self.name, |db, project, author| {
            Ok((prompts::delete(db, author, project, &self.name)?, project.name.clone()))
        })?;
        let sentence = format!("Deleted prompt '{}' from project '{project}'", prompt.name);
        let back =
            format!("`mcpkg prompt restore {} {}` brings it back", prompt.name, prompt.revision.saturating_sub(1));
        Ok(Reply::sentence(sentence, data(&project, &prompt)).hint(back))
    }
}

/// List prompts
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {
    /// next_cursor of the page before
    #[arg(long)]
    cursor: Option<String>,
    /// Most prompts a page holds
    #[arg(long)]
    limit: Option<u32>,
}

/// A page of prompts
#[derive(Serialize, JsonSchema)]
pub struct Listed {
    prompts: Vec<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Item {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Vec<Declared>>,
}

impl Operation for List {
    const TOOL: &'static str = "list_prompts";
    const CLI: &'static [&'static str] = &["prompt", "list"];
    const TITLE: &'static str = "List prompts";
    const ABOUT: &'static str = "List the prompts, commands and instructions stored in the selected project";
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const STRUCTURED: bool = true;
    type Output = Listed;

    fn is_hot(&self) -> bool {
        answer::is_one_page(self.limit)
    }

    fn run(self, context: &Context) -> Result<Reply> {
        if context.is_shell() { self.for_people(context) } else { self.for_agent(context) }
    }
}

impl List {
    fn for_people(self, context: &Context) -> Result<Reply> {
        let (slice, project, next_cursor) = context.read(|db, project| {
            let page = answer::page("prompts", self.cursor.as_deref(), self.limit, context, project.id)?;
            let slice = prompts::overview(db, project.id, &page)?;
            let last = slice.rows.last().filter(|_| slice.more);
            let next = last.map(|prompt| cursor::encode("prompts", project.id, &prompt.name));
            Ok((slice, project.name.clone(), next))
        })?;
        let rows = slice
            .rows
            .iter()
            .map(|prompt| {
                vec![
                    prompt.name.clone(),
                    prompt.size.to_string(),
                    prompt.revision.to_string(),
                    rfc3339(prompt.updated_at),
                    prompt.attributes.description.clone().unwrap_or_default(),
                ]
            })
            .collect();
        let prompts = slice
            .rows
            .into_iter()
            .map(|Prompt { name, attributes, .. }| Item {
                name,
                description: attributes.description,
                arguments: (!attributes.arguments.is_empty())
                    .then(|| attributes.arguments.into_iter().map(Declared::from).collect()),
            })
            .collect();
        let table = Table {
            columns: &["NAME", "BYTES", "REVISION", "UPDATED", "DESCRIPTION"],
            rows,
            empty: format!("Project '{project}' has no prompts"),
        };
        let data = answer::serialize(&Listed { prompts, next_cursor })?;
        Ok(Reply::new(Body::Table(table), data))
    }

    /// Makes the text and the data straight from the rows of prompts/list.
    fn for_agent(self, context: &Context) -> Result<Reply> {
        /// [`Item`], borrowed from its row.
        #[derive(Serialize)]
        struct Line<'r> {
            name: &'r str,
            #[serde(skip_serializing_if = "Option::is_none")]
            description: Option<&'r str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            arguments: Option<&'r RawValue>,
        }
        let mut text = String::from("NAME\tDESCRIPTION\n");
        let mut json = Vec::from(*b"{\"prompts\":[");
        let (next, empty) = context.store.read(|db| {
            let selection = &context.selection;
            let project = match self.cursor {
                Some(_) => projects::require(db, selection)?.id,
                None => 0,
            };
            let page = answer::page("prompts", self.cursor.as_deref(), self.limit, context, project)?;
            let (mut rows, mut last) = (0, None);
            let more = prompts::each(db, selection, &page, |line| {
                text.extend([
                    op::cell(line.name).as_ref(),
                    "\t",
                    op::cell(line.description.unwrap_or_default()).as_ref(),
                    "\n",
                ]);
                if rows > 0 {
                    json.push(b',');
                }
                rows += 1;
                let arguments = line.arguments.map(serde_json::from_str).transpose().ok().flatten();
                let item = Line { name: line.name, description: line.description, arguments };
                serde_json::to_writer(&mut json, &item).map_err(answer::unwritable)?;
                if rows == page.limit {
                    last = Some(cursor::encode("prompts", line.project, line.name));
                }
                Ok(())
            })?;
            let empty = match rows {
                0 => Some(format!("Project '{}' has no prompts", projects::require(db, selection)?.name)),
                _ => None,
            };
            Ok((last.filter(|_| more), empty))
        })?;
        json.push(b']');
        if let Some(next) = next {
            json.extend_from_slice(b",\"next_cursor\":");
            serde_json::to_writer(&mut json, &next).map_err(answer::unwritable)?;
        }
        json.push(b'}');
        let json = String::from_utf8(json).map_err(|error| Error::internal("JSON is not UTF-8").with_source(error))?;
        Ok(Reply { json: Some(json), ..Reply::new(Body::Text(empty.unwrap_or(text)), Value::Null) })
    }
}

/// Takes the arguments that a caller declares.
fn take(attributes: &mut Attributes, arguments: Option<Vec<Declared>>) {
    if let Some(arguments) = arguments {
        attributes.arguments = arguments.into_iter().map(Argument::from).collect();
        attributes.template |= !attributes.arguments.is_empty();
    }
}

/// Takes what front matter says that declares arguments, or takes the place of one that is kept, and leaves the text
/// behind it; any other content stays byte for byte. Returns what people should know of it.
pub(super) fn declare(attributes: &mut Attributes, content: &mut String) -> Vec<String> {
    match command::declared(content, attributes.front_matter.is_some()) {
        Ok(Some((declared, text))) => {
            let names: Vec<_> = declared.arguments.iter().map(|argument| argument.name.as_str()).collect();
            let hint = format!("its front matter makes it a template, with the arguments: {}", names.join(", "));
            let hints = if declared.template { vec![hint] } else { Vec::new() };
            let description = declared.description.or(attributes.description.take());
            *attributes = Attributes { description, file: attributes.file.take(), ..declared };
            *content = text;
            hints
        }
        other => {
            command::drop_replaced(attributes, content);
            command::recount(attributes, content);
            other.err().map(|error| format!("it was taken as it stands: {error}")).into_iter().collect()
        }
    }
}

pub(super) fn check(attributes: &Attributes, content: &str) -> Result<()> {
    template::check_arguments(&attributes.arguments)?;
    for argument in &attributes.arguments {
        if let Some(description) = &argument.description {
            names::check_text("The argument's description", description)?;
        }
    }
    if attributes.template && attributes.dialect.is_none() { template::check(content) } else { Ok(()) }
}

pub(super) fn data(project: &str, prompt: &Prompt) -> Value {
    json!({
        "name": prompt.name,
        "project": project,
        "id": prompt.uuid.to_string(),
        "revision": prompt.revision,
        "size": prompt.size,
    })
}
