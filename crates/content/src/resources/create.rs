//! `mcpkg resource create`: stores a new resource.

use schemars::JsonSchema;
use serde::Deserialize;

use super::data;
use crate::GROUP;
use crate::argument::Content;
use crate::media::{self, Media};
use mcpkg_base::error::Result;
use mcpkg_core::names;
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::resources::{self, Attributes};

/// Create a resource
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Create {
    /// Resource name (alphanumeric, hyphens, underscores, dots)
    name: String,
    /// Resource URI
    uri: String,
    /// Resource content (text or base64 for binary)
    #[arg(value_parser = Content::from_shell, allow_hyphen_values = true)]
    content: Content,
    /// MIME type (optional, defaults to text/plain)
    #[arg(short, long)]
    #[serde(alias = "mimeType")]
    mime_type: Option<String>,
    /// Optional description
    #[arg(short, long, allow_hyphen_values = true)]
    description: Option<String>,
    /// Mark the resource as executable, such as a skill's script
    #[arg(long)]
    #[serde(skip)]
    executable: bool,
}

impl Operation for Create {
    const TOOL: &'static str = "create_resource";
    const CLI: &'static [&'static str] = &["resource", "create"];
    const TITLE: &'static str = "Create resource";
    const ABOUT: &'static str = "Create a new resource in the selected project";
    const SEARCH_HINT: &'static str = "remember note memo reminder file picture keep";
    const USER_WORDS: &'static str = "Save or remember this note, document or image";
    const HELP: &'static str = "CONTENT is the text itself, `@FILE` to read a file, or `-` for standard input. If the \
        text itself begins with `@`, write `@@` instead.\n\
        On the command line, mcpkg uses the content's bytes and the file's name to decide whether the content is text, \
        and to choose the MIME type.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg resource create api file:///docs/api.md @docs/api.md",
        "mcpkg resource create logo file:///logo.png @logo.png",
    ];
    const ALIASES: &'static [&'static str] = &["add"];
    const EFFECT: Effect = Effect::Create;
    const CHANGES: Changes = Changes::RESOURCES;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        names::check("Resource", &self.name)?;
        names::check_uri(&self.uri)?;
        let Media { mime_type, text, content } =
            media::decide(self.content.read()?, self.mime_type.as_deref(), &self.uri)?;
        let attributes = Attributes {
            uri: self.uri,
            description: names::description(self.description)?,
            mime_type: Some(mime_type),
            text,
            executable: self.executable,
        };
        let (resource, project) = context.write("resource.create", &self.name, |db, project, author| {
            let uuid = context.clock.uuid();
            let resource = resources::insert(db, author, project, uuid, &self.name, attributes, &content)?;
            Ok((resource, project.name.clone()))
        })?;
        let sentence = format!("Created resource '{}' in project '{project}'", resource.name);
        Ok(Reply::sentence(sentence, data(&project, &resource)))
    }
}
