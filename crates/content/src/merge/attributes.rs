//! Merges the attributes of an item.

use crate::item::{Entry, Origin, What};
use mcpkg_store::prompts;
use mcpkg_store::resources;

/// Merges values, and collects the names of those parts that both sides changed in different ways.
#[derive(Default)]
struct Parts(Vec<&'static str>);

impl Parts {
    /// Returns the changed value. If both sides changed it in different ways, records a conflict and returns ours.
    fn of<T: PartialEq + Clone>(&mut self, part: &'static str, base: &T, theirs: &T, ours: &T) -> T {
        if ours == base {
            return theirs.clone();
        }
        if theirs != base && theirs != ours && !self.0.contains(&part) {
            self.0.push(part);
        }
        ours.clone()
    }
}

/// Returns the entry with the changes of both sides, and the names of the conflicting parts.
pub fn merge(base: &Entry, theirs: &Entry, ours: &Entry) -> (Entry, Vec<&'static str>) {
    let mut parts = Parts::default();
    let name = parts.of("name", &base.name, &theirs.name, &ours.name);
    let what = what(&mut parts, &base.what, &theirs.what, &ours.what);
    let applies = parts.of("applies", &base.origin.applies, &theirs.origin.applies, &ours.origin.applies);
    // The original path does not affect the content, so different paths are not a conflict.
    let lay = |entry: &Entry| (entry.origin.agent.clone(), entry.origin.path.clone());
    let (agent, path) = Parts::default().of("path", &lay(base), &lay(theirs), &lay(ours));
    (Entry { name, what, origin: Origin { applies, agent, path } }, parts.0)
}

fn what(parts: &mut Parts, base: &What, theirs: &What, ours: &What) -> What {
    match (base, theirs, ours) {
        (What::Prompt(base), What::Prompt(theirs), What::Prompt(ours)) => {
            What::Prompt(prompt(parts, base, theirs, ours))
        }
        (What::Resource(base), What::Resource(theirs), What::Resource(ours)) => {
            What::Resource(resource(parts, base, theirs, ours))
        }
        _ => parts.of("kind", base, theirs, ours),
    }
}

/// Merges a prompt's attributes. Front matter and everything parsed from it are one part, so that they always fit together.
fn prompt(
    parts: &mut Parts,
    base: &prompts::Attributes,
    theirs: &prompts::Attributes,
    ours: &prompts::Attributes,
) -> prompts::Attributes {
    let without_file = |attributes: &prompts::Attributes| prompts::Attributes { file: None, ..attributes.clone() };
    let front = parts.of("front matter", &without_file(base), &without_file(theirs), &without_file(ours));
    prompts::Attributes { file: parts.of("file", &base.file, &theirs.file, &ours.file), ..front }
}

fn resource(
    parts: &mut Parts,
    base: &resources::Attributes,
    theirs: &resources::Attributes,
    ours: &resources::Attributes,
) -> resources::Attributes {
    // The MIME type decides whether content is text, so merge the two as one part.
    let media = |attributes: &resources::Attributes| (attributes.mime_type.clone(), attributes.text);
    let (mime_type, text) = parts.of("MIME type", &media(base), &media(theirs), &media(ours));
    resources::Attributes {
        uri: parts.of("URI", &base.uri, &theirs.uri, &ours.uri),
        description: parts.of("description", &base.description, &theirs.description, &ours.description),
        mime_type,
        text,
        executable: parts.of("mode", &base.executable, &theirs.executable, &ours.executable),
    }
}

/// Returns the names of the parts in which two versions differ.
pub fn differences(theirs: &Entry, ours: &Entry) -> Vec<&'static str> {
    let mut parts = Vec::new();
    let mut differ = |part, differs: bool| {
        if differs {
            parts.push(part);
        }
    };
    differ("name", theirs.name != ours.name);
    match (&theirs.what, &ours.what) {
        (What::Prompt(theirs), What::Prompt(ours)) => differ("front matter", theirs != ours),
        (What::Resource(theirs), What::Resource(ours)) => {
            differ("URI", theirs.uri != ours.uri);
            differ("description", theirs.description != ours.description);
            differ("MIME type", (&theirs.mime_type, theirs.text) != (&ours.mime_type, ours.text));
            differ("mode", theirs.executable != ours.executable);
        }
        (What::AgentFile { executable: theirs, .. }, What::AgentFile { executable: ours, .. }) => {
            differ("mode", theirs != ours);
        }
        (What::Server, What::Server) => {}
        _ => differ("kind", true),
    }
    differ("applies", theirs.origin.applies != ours.origin.applies);
    parts
}
