//! `mcpkg resource show`: prints a resource's content, or writes it to a file.

use std::path::PathBuf;

use base64::Engine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data;
use super::of_domain::{self, DomainResource};
use crate::completions::RESOURCES;
use crate::{GROUP, answer};
use mcpkg_base::error::{Error, Result};
use mcpkg_base::platform;
use mcpkg_core::op::{Body, Context, Effect, Faces, Operation, Reply};
use mcpkg_store::Db;
use mcpkg_store::blobs::{self, Verify};
use mcpkg_store::projects::Project;
use mcpkg_store::resources::{self, Attributes, Key, Resource};
use mcpkg_store::revisions::Kind;

/// Show a resource
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Resource URI or name
    #[arg(value_name = "NAME|URI")]
    #[arg(add = RESOURCES)]
    uri: String,
    /// File to write the resource's bytes to
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
    /// Binary content, encoded as base64
    #[serde(skip_serializing_if = "Option::is_none")]
    blob: Option<String>,
}

impl Operation for Show {
    const TOOL: &'static str = "read_resource";
    const CLI: &'static [&'static str] = &["resource", "show"];
    const TITLE: &'static str = "Read resource";
    const ABOUT: &'static str = "Read a stored document, image, skill file or other resource by URI or name";
    const USER_WORDS: &'static str = "Show a note";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg resource show api", "mcpkg resource show file:///logo.png -o logo.png"];
    const ALIASES: &'static [&'static str] = &["get", "read"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const CONTENT: bool = true;
    type Output = Shown;

    fn is_hot(&self) -> bool {
        self.output.is_none()
    }

    fn writes_files(&self) -> bool {
        self.output.is_some()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        if let Some(output) = &self.output {
            return self.write_to(output, context);
        }
        let shown = context.read(|db, project| {
            let Some(resource) = find(db, project, &self.uri)? else {
                let shown = of_domain::read(db, context, &self.uri)?;
                return shown.map(Err).ok_or_else(|| Kind::Resource.missing(db, project, &self.uri));
            };
            let what = || format!("Resource '{}'", self.uri);
            let how = || format!("mcpkg resource show {} -o FILE", resource.name);
            answer::check_size(resource.size, context.max_answer, what, how)?;
            let bytes = blobs::show(db, resource.blob)?;
            Ok(Ok((resource, bytes)))
        })?;
        let (resource, bytes) = match shown {
            Ok(stored) => stored,
            Err(shown) => return reply(shown),
        };
        let Resource { name, attributes: Attributes { uri, mime_type, text, .. }, size, .. } = resource;
        reply(DomainResource { uri, name, mime_type, size, is_text: text, bytes })
    }
}

fn reply(found: DomainResource) -> Result<Reply> {
    let DomainResource { uri, name, mime_type, size, is_text, bytes } = found;
    let text = if is_text { Some(answer::text(bytes.clone())?) } else { None };
    let blob = text.is_none().then(|| base64::engine::general_purpose::STANDARD.encode(&bytes));
    let body = match &text {
        Some(text) => Body::Text(text.clone()),
        None => Body::Media(mcpkg_core::op::Media { uri: uri.clone(), mime_type: mime_type.clone(), bytes }),
    };
    let data = answer::serialize(&Shown { uri, name, mime_type, size, text, blob })?;
    Ok(Reply::new(body, data))
}

impl Show {
    /// Streams the bytes to a temporary file next to `output`, and renames it once the hash is verified.
    fn write_to(&self, output: &std::path::Path, context: &Context) -> Result<Reply> {
        use std::io::Write;
        let failed = |error| Error::file("write", output, error);
        let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut beside = tempfile::Builder::new()
            .prefix(".mcpkg-")
            .tempfile_in(folder.unwrap_or(std::path::Path::new(".")))
            .map_err(failed)?;
        let (resource, project) = context.read(|db, project| {
            let resource =
                find(db, project, &self.uri)?.ok_or_else(|| Kind::Resource.missing(db, project, &self.uri))?;
            blobs::stream_by_id(db, resource.blob, Verify::Sha256, |piece| beside.write_all(piece).map_err(failed))?;
            Ok((resource, project.name.clone()))
        })?;
        let mode = if resource.attributes.executable { 0o755 } else { 0o644 };
        platform::set_mode(beside.as_file(), mode).map_err(failed)?;
        beside.persist(output).map_err(|error| failed(error.error))?;
        let sentence = format!("Wrote resource '{}' to {} ({} bytes)", resource.name, output.display(), resource.size);
        Ok(Reply::sentence(sentence, data(&project, &resource)))
    }
}

fn find(db: &Db<'_>, project: &Project, name_or_uri: &str) -> Result<Option<Resource>> {
    let key = if name_or_uri.contains(':') { Key::Uri(name_or_uri) } else { Key::Name(name_or_uri) };
    resources::find(db, project.id, key)
}
