//! Files of a skill, and instructions, that were edited on disk: a resource takes the bytes as they are.

use std::path::Path;

use super::import::matter;
use super::import::place::{self, Place};
use super::media::{self, Media};
use super::uri;
use crate::clock::Clock;
use crate::error::Result;
use crate::store::projects::Project;
use crate::store::resources::{self, Attributes, Key, Resource};
use crate::store::revisions::Author;
use crate::store::source::Source;
use crate::store::{Db, blobs};

/// Gives a resource new bytes. Its MIME type stays where they fit it, and a description that was the front matter's
/// follows that.
///
/// # Errors
/// How the disk failed.
pub fn replace(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    mut resource: Resource,
    bytes: &[u8],
) -> Result<Resource> {
    let before = blobs::get(db, resource.blob)?;
    if before == bytes {
        return Ok(resource);
    }
    let attributes = &mut resource.attributes;
    if attributes.description.is_some() && attributes.description == description(&before) {
        attributes.description = description(bytes);
    }
    let kept = attributes.mime_type.as_deref();
    let Media { mime_type, text, content } = decide(bytes, kept, &attributes.uri)?;
    attributes.mime_type = Some(mime_type);
    attributes.text = text;
    resources::update(db, author, project, resource, "update", Some(&content))
}

/// Adds the file at `path` to a skill, as an import would.
///
/// # Errors
/// `E_ALREADY_EXISTS` where the project has a resource of this URI.
pub fn add_to_skill(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    clock: &Clock,
    skill: &str,
    path: &str,
    bytes: &[u8],
) -> Result<Resource> {
    let relative = format!(".claude/skills/{skill}/{path}");
    let uri = format!("skill://{}", uri::encode(&format!("{skill}/{path}")));
    let is_text = Path::new(path).extension().is_some_and(|ending| ending == "md" || ending == "mdc");
    let description = if is_text { description(bytes) } else { None };
    let mut names = place::names(Place::of(&relative).wanted_name(), &relative);
    let mut name = names.next().unwrap_or_default();
    while resources::find(db, project.id, Key::Name(&name))?.is_some() {
        name = names.next().unwrap_or_default();
    }
    let Media { mime_type, text, content } = decide(bytes, None, path)?;
    let attributes = Attributes { uri, description, mime_type: Some(mime_type), text, executable: false };
    resources::insert(db, author, project, clock.uuid(), &name, attributes, &content)
}

fn decide(bytes: &[u8], mime_type: Option<&str>, name: &str) -> Result<Media> {
    let content = Source::from(bytes.to_vec());
    let decide = |mime_type| media::from_file(content.clone(), mime_type, Path::new(name));
    decide(mime_type).or_else(|_| decide(None))
}

/// What front matter says that a file is for.
fn description(bytes: &[u8]) -> Option<String> {
    let (yaml, _) = matter::split(std::str::from_utf8(bytes).ok()?).ok()??;
    matter::parse(yaml).ok()?.description
}
