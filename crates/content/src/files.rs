//! Stores the bytes of a file as a resource: changes an existing resource, or adds the file to a skill.

use std::path::Path;

use super::item::name;
use super::media::{self, Media};
use super::uri;
use mcpkg_agents::forms::matter;
use mcpkg_base::clock::Clock;
use mcpkg_base::error::Result;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::projects::Project;
use mcpkg_store::resources::{self, Attributes, Key, Resource};
use mcpkg_store::revisions::Author;
use mcpkg_store::{Db, blobs};

/// The maximum size, in bytes, of a file whose front matter is read for a description.
const MAX_DESCRIBED: u64 = 16 << 20;

#[derive(Clone, Debug)]
pub struct File {
    pub content: NewContent,
    pub executable: bool,
}

/// Gives a resource new bytes, and leaves its executable bit unchanged.
pub fn replace(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    resource: Resource,
    bytes: &[u8],
) -> Result<Resource> {
    let file = File { content: NewContent::from(bytes.to_vec()), executable: resource.attributes.executable };
    Ok(change(db, author, project, resource, &file)?.0)
}

/// Gives a resource the content and the executable bit of a file, and returns whether anything changed. The MIME type stays
/// if it fits the new bytes. If the description came from the old front matter, it is replaced with the one in the new front
/// matter.
pub fn change(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    mut resource: Resource,
    file: &File,
) -> Result<(Resource, bool)> {
    let same = blobs::find(db, &file.content)? == Some(resource.blob);
    if same && resource.attributes.executable == file.executable {
        return Ok((resource, false));
    }
    let attributes = &mut resource.attributes;
    attributes.executable = file.executable;
    if attributes.description.is_some() && attributes.text && resource.size <= MAX_DESCRIBED as i64 {
        let before = blobs::content(db, resource.blob)?;
        if attributes.description == description(&before)? {
            attributes.description = description(&file.content)?;
        }
    }
    let Media { mime_type, text, content } = decide(&file.content, attributes.mime_type.as_deref(), &attributes.uri)?;
    attributes.mime_type = Some(mime_type);
    attributes.text = text;
    let resource = resources::update(db, author, project, resource, "update", Some(&content))?;
    Ok((resource, true))
}

/// Adds a file to the skill `skill`, in the same way as an import. `path` is the path within the skill.
///
/// # Errors
/// `E_ALREADY_EXISTS` if the project already has a resource with this URI.
pub fn add_to_skill(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    clock: &Clock,
    skill: &str,
    path: &str,
    file: &File,
) -> Result<Resource> {
    let relative = format!(".claude/skills/{skill}/{path}");
    let uri = format!("skill://{}", uri::encode(&format!("{skill}/{path}")));
    let is_text = Path::new(path).extension().is_some_and(|ending| ending == "md" || ending == "mdc");
    let description = if is_text { description(&file.content)? } else { None };
    let mut names = name::names(name::letters(&format!("{skill}/{path}")), &[], &relative);
    let mut name = names.next().unwrap_or_default();
    while resources::find(db, project.id, Key::Name(&name))?.is_some() {
        name = names.next().unwrap_or_default();
    }
    let Media { mime_type, text, content } = decide(&file.content, None, path)?;
    let (mime_type, executable) = (Some(mime_type), file.executable);
    let attributes = Attributes { uri, description, mime_type, text, executable };
    resources::insert(db, author, project, clock.uuid(), &name, attributes, &content)
}

fn decide(content: &NewContent, mime_type: Option<&str>, name: &str) -> Result<Media> {
    let decide = |mime_type| media::from_file(content.clone(), mime_type, Path::new(name));
    decide(mime_type).or_else(|_| decide(None))
}

/// Returns the description in a file's front matter.
fn description(content: &NewContent) -> Result<Option<String>> {
    if !content.is_text() || content.size() > MAX_DESCRIBED {
        return Ok(None);
    }
    let text = super::answer::text(content.bytes()?.into_owned())?;
    let matter = matter::split(&text).ok().flatten().and_then(|(yaml, _)| matter::parse(yaml).ok());
    Ok(matter.and_then(|matter| matter.description))
}
