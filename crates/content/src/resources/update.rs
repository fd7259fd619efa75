//! `mcpkg resource update`: stores a new revision of a resource.

use schemars::JsonSchema;
use serde::Deserialize;

use super::data;
use crate::argument::{Content, Origin};
use crate::completions::RESOURCES;
use crate::{GROUP, answer, media};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::names;
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::blobs;
use mcpkg_store::resources;

/// Update a resource
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Update {
    /// Resource name
    #[arg(add = RESOURCES)]
    name: String,
    /// New resource content (optional)
    #[arg(short, long, value_parser = Content::from_shell, allow_hyphen_values = true)]
    content: Option<Content>,
    /// New resource content, in the same form as for `resource create`
    #[arg(value_name = "CONTENT", value_parser = Content::from_shell, conflicts_with = "content")]
    #[arg(allow_hyphen_values = true)]
    #[serde(skip)]
    text: Option<Content>,
    /// New MIME type (optional)
    #[arg(short, long)]
    #[serde(alias = "mimeType")]
    mime_type: Option<String>,
    /// New description (optional)
    #[arg(short, long, allow_hyphen_values = true)]
    description: Option<String>,
    /// Whether the resource is executable, such as a skill's script
    #[arg(long, value_name = "BOOL")]
    #[serde(skip)]
    executable: Option<bool>,
}

impl Operation for Update {
    const TOOL: &'static str = "update_resource";
    const CLI: &'static [&'static str] = &["resource", "update"];
    const TITLE: &'static str = "Update resource";
    const ABOUT: &'static str = "Update an existing resource's content or metadata";
    const USER_WORDS: &'static str = "Edit a note or document";
    const HELP: &'static str = "The resource's name and URI do not change. An empty description removes the current \
        description. Every change adds a revision.\n\
        CONTENT is the text itself, `@FILE` to read a file, or `-` for standard input. If the text itself begins with \
        `@`, write `@@` instead.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg resource update api @docs/api.md", "mcpkg resource update api -d 'The API'"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::RESOURCES;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let content = self.content.or(self.text);
        if content.is_none() && self.mime_type.is_none() && self.description.is_none() && self.executable.is_none() {
            return Err(Error::new(
                Code::InvalidArgument,
                "At least one of --content, --description or --mime-type must be provided",
            ));
        }
        let description = self.description.map(|text| names::description(Some(text))).transpose()?;
        let given = content.map(Content::read).transpose()?;
        let (resource, project, hint) = context.write("resource.update", &self.name, |db, project, author| {
            let mut resource = resources::get(db, project, &self.name)?;
            let before = resource.revision;
            if let Some(description) = description {
                resource.attributes.description = description;
            }
            if let Some(executable) = self.executable {
                resource.attributes.executable = executable;
            }
            let content = match given {
                Some(given) => {
                    // Without a new type, keep the old one. But if the content is a file, detect the type again.
                    let kept = match given.origin {
                        Origin::File(_) => None,
                        Origin::Agent | Origin::Shell => resource.attributes.mime_type.clone(),
                    };
                    let mime_type = self.mime_type.or(kept);
                    let decided = media::decide(given, mime_type.as_deref(), &resource.attributes.uri)?;
                    resource.attributes.mime_type = Some(decided.mime_type);
                    resource.attributes.text = decided.text;
                    Some(decided.content)
                }
                None => {
                    if let Some(mime_type) = self.mime_type {
                        let readable = resource.attributes.text || blobs::is_text(db, resource.blob)?;
                        resource.attributes.text = media::fits(&mime_type, readable)?;
                        resource.attributes.mime_type = Some(mime_type);
                    }
                    None
                }
            };
            let resource = resources::update(db, author, project, resource, "update", content.as_ref())?;
            let hint = answer::unchanged(before, resource.revision);
            Ok((resource, project.name.clone(), hint))
        })?;
        let sentence = format!("Updated resource '{}' in project '{project}'", resource.name);
        let hints = hint.into_iter().collect();
        Ok(Reply { hints, ..Reply::sentence(sentence, data(&project, &resource)) })
    }
}
