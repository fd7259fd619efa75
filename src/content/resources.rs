//! Resources: create, update, delete, list, show.

use std::path::PathBuf;

use base64::Engine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::argument::{Content, Origin};
use super::media::{self, Media};
use super::{GROUP, answer, cursor, names};
use crate::clock::rfc3339;
use crate::error::{Code, Error, Result};
use crate::op::{Body, Changes, Context, Effect, Faces, NoOutput, Operation, Reply, Table};
use crate::store::blobs::{self, Verify};
use crate::store::resources::{self, Attributes, Key, Resource};
use crate::store::revisions::Kind;

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
    /// Mark it as a program, for a skill's scripts
    #[arg(long)]
    #[serde(skip)]
    executable: bool,
}

impl Operation for Create {
    const TOOL: &'static str = "create_resource";
    const CLI: &'static [&'static str] = &["resource", "create"];
    const TITLE: &'static str = "Create resource";
    const ABOUT: &'static str = "Create a new resource in the selected project";
    const HELP: &'static str = "CONTENT is the text itself, `@FILE`, or `-` for standard input; `@@` begins with a literal `@`.\n\
        From the shell the bytes and the file's name decide whether it is text, and its MIME type.\n\n\
        Examples:\n  mcpkg resource create api file:///docs/api.md @docs/api.md\n  \
        mcpkg resource create logo file:///logo.png @logo.png";
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

/// Update a resource
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Update {
    /// Resource name
    name: String,
    /// New resource content (optional)
    #[arg(short, long, value_parser = Content::from_shell, allow_hyphen_values = true)]
    content: Option<Content>,
    /// New resource content, as `create` takes it
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
    /// Mark it as a program, or not
    #[arg(long, value_name = "BOOL")]
    #[serde(skip)]
    executable: Option<bool>,
}

impl Operation for Update {
    const TOOL: &'static str = "update_resource";
    const CLI: &'static [&'static str] = &["resource", "update"];
    const TITLE: &'static str = "Update resource";
    const ABOUT: &'static str = "Update an existing resource's content or metadata";
    const HELP: &'static str = "The name and the URI stay. An empty description removes it. Every change keeps a revision.\n\
        CONTENT is the text itself, `@FILE`, or `-` for standard input; `@@` begins with a literal `@`.\n\n\
        Examples:\n  mcpkg resource update api @docs/api.md\n  mcpkg resource update api -d 'The API'";
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
                    // A type nobody names anew stays, unless a file's name tells a better one.
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

/// Delete a resource
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Delete {
    /// Resource name
    name: String,
}

impl Operation for Delete {
    const TOOL: &'static str = "delete_resource";
    const CLI: &'static [&'static str] = &["resource", "delete"];
    const TITLE: &'static str = "Delete resource";
    const ABOUT: &'static str = "Delete a resource from the selected project";
    const HELP: &'static str = "Its history stays: `mcpkg resource restore NAME REVISION` brings it back.";
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::RESOURCES;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (resource, project) = context.write("resource.delete", &self.name, |db, project, author| {
            Ok((resources::delete(db, author, project, &self.name)?, project.name.clone()))
        })?;
        let sentence = format!("Deleted resource '{}' from project '{project}'", resource.name);
        let back = format!(
            "`mcpkg resource restore {} {}` brings it back",
            resource.name,
            resource.revision.saturating_sub(1)
        );
        Ok(Reply::sentence(sentence, data(&project, &resource)).hint(back))
    }
}

/// List resources
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {
    /// next_cursor of the page before
    #[arg(long)]
    cursor: Option<String>,
    /// Most resources a page holds
    #[arg(long)]
    limit: Option<u32>,
}

/// A page of resources
#[derive(Serialize, JsonSchema)]
pub struct Listed {
    resources: Vec<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Item {
    uri: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<String>,
    size: i64,
}

impl Operation for List {
    const TOOL: &'static str = "list_resources";
    const CLI: &'static [&'static str] = &["resource", "list"];
    const TITLE: &'static str = "List resources";
    const ABOUT: &'static str = "List the documents, images, skills and other resources stored in the selected project";
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
        let (slice, project, next_cursor) = context.read(|db, project| {
            let page = answer::page("resources", self.cursor.as_deref(), self.limit, context, project.id)?;
            let slice = resources::overview(db, project.id, &page)?;
            let last = slice.rows.last().filter(|_| slice.more);
            let next = last.map(|resource| cursor::encode("resources", project.id, &resource.name));
            Ok((slice, project.name.clone(), next))
        })?;
        let rows = slice
            .rows
            .iter()
            .map(|resource| {
                vec![
                    resource.name.clone(),
                    resource.attributes.uri.clone(),
                    resource.attributes.mime_type.clone().unwrap_or_default(),
                    resource.size.to_string(),
                    resource.revision.to_string(),
                    rfc3339(resource.updated_at),
                    resource.attributes.description.clone().unwrap_or_default(),
                ]
            })
            .collect();
        let resources = slice
            .rows
            .into_iter()
            .map(|Resource { name, attributes, size, .. }| Item {
                uri: attributes.uri,
                name,
                description: attributes.description,
                mime_type: attributes.mime_type,
                size,
            })
            .collect();
        let table = Table {
            columns: &["NAME", "URI", "MIME TYPE", "BYTES", "REVISION", "UPDATED", "DESCRIPTION"],
            rows,
            empty: format!("Project '{project}' has no resources"),
        };
        answer::reply(context, Body::Table(table), &Listed { resources, next_cursor })
    }
}

/// Show a resource
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Resource URI or name
    #[arg(value_name = "NAME|URI")]
    uri: String,
    /// Write the bytes to a file
    #[arg(short, long, value_name = "FILE")]
    #[serde(skip)]
    output: Option<PathBuf>,
}

/// A resource's content
#[derive(Serialize, JsonSchema)]
pub struct Shown {
    uri: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<String>,
    size: i64,
    /// Text content
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Base64 of binary content
    #[serde(skip_serializing_if = "Option::is_none")]
    blob: Option<String>,
}

impl Operation for Show {
    const TOOL: &'static str = "read_resource";
    const CLI: &'static [&'static str] = &["resource", "show"];
    const TITLE: &'static str = "Read resource";
    const ABOUT: &'static str = "Read a stored document, image, skill file or other resource by URI or name";
    const HELP: &'static str =
        "Examples:\n  mcpkg resource show api\n  mcpkg resource show file:///logo.png -o logo.png";
    const ALIASES: &'static [&'static str] = &["get", "read"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const CONTENT: bool = true;
    type Output = Shown;

    fn is_hot(&self) -> bool {
        self.output.is_none()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        if let Some(output) = &self.output {
            return self.write_to(output, context);
        }
        let (resource, bytes) = context.read(|db, project| {
            let resource = find(db, project, &self.uri)?;
            let what = || format!("Resource '{}'", self.uri);
            let how = || format!("mcpkg resource show {} -o FILE", resource.name);
            answer::check_size(resource.size, context.max_answer, what, how)?;
            let bytes = blobs::show(db, resource.blob)?;
            Ok((resource, bytes))
        })?;
        let Resource { name, attributes: Attributes { uri, mime_type, text, .. }, size, .. } = resource;
        let text = if text { Some(answer::text(bytes.clone())?) } else { None };
        let blob = text.is_none().then(|| base64::engine::general_purpose::STANDARD.encode(&bytes));
        let body = match &text {
            Some(text) => Body::Text(text.clone()),
            None => Body::Media(crate::op::Media { uri: uri.clone(), mime_type: mime_type.clone(), bytes }),
        };
        let data = answer::serialize(&Shown { uri, name, mime_type, size, text, blob })?;
        Ok(Reply::new(body, data))
    }
}

impl Show {
    /// Streams the bytes beside the file and renames them there once their hash was verified.
    fn write_to(&self, output: &std::path::Path, context: &Context) -> Result<Reply> {
        use std::io::Write;
        let failed = |error| Error::file("write", output, error);
        let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut beside = tempfile::Builder::new()
            .prefix(".mcpkg-")
            .tempfile_in(folder.unwrap_or(std::path::Path::new(".")))
            .map_err(failed)?;
        let (resource, project) = context.read(|db, project| {
            let resource = find(db, project, &self.uri)?;
            blobs::stream_by_id(db, resource.blob, Verify::Sha256, |piece| beside.write_all(piece).map_err(failed))?;
            Ok((resource, project.name.clone()))
        })?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = if resource.attributes.executable { 0o755 } else { 0o644 };
            beside.as_file().set_permissions(std::fs::Permissions::from_mode(mode)).map_err(failed)?;
        }
        beside.persist(output).map_err(|error| failed(error.error))?;
        let sentence = format!("Wrote resource '{}' to {} ({} bytes)", resource.name, output.display(), resource.size);
        Ok(Reply::sentence(sentence, data(&project, &resource)))
    }
}

fn find(db: &crate::store::Db<'_>, project: &crate::store::projects::Project, name_or_uri: &str) -> Result<Resource> {
    let key = if name_or_uri.contains(':') { Key::Uri(name_or_uri) } else { Key::Name(name_or_uri) };
    resources::find(db, project.id, key)?.ok_or_else(|| Kind::Resource.missing(db, project, name_or_uri))
}

pub(super) fn data(project: &str, resource: &Resource) -> Value {
    json!({
        "name": resource.name,
        "uri": resource.attributes.uri,
        "project": project,
        "id": resource.uuid.to_string(),
        "mime_type": resource.attributes.mime_type,
        "text": resource.attributes.text,
        "revision": resource.revision,
        "size": resource.size,
    })
}
