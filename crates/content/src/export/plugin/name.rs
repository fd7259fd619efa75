//! Returns the words and names that people use for items.

use super::making::word;
use crate::item::{Entry, What};
use crate::uri::decode;

/// Returns the word for the kind of an item, such as "skill", and the name that people know it by.
pub fn named(entry: &Entry) -> (&'static str, String) {
    let name = entry.name.clone();
    let uri = match &entry.what {
        What::Prompt(_) => return (word::COMMAND, name),
        What::Server => return (word::SERVER, name),
        What::AgentFile { .. } => return (word::AGENT_FILE, name),
        What::Resource(attributes) => attributes.uri.split_once("://"),
    };
    match (skill_of(entry), uri) {
        (Some((skill, _)), _) => (word::SKILL, skill),
        (None, Some(("subagent", rest))) => (word::SUBAGENT, decode(rest).unwrap_or(name)),
        (None, Some(("instructions", _))) => (word::RULE, name),
        (None, _) => (word::DOCUMENT, name),
    }
}

/// Returns the skill that a resource belongs to, and its path within the skill.
pub(super) fn skill_of(entry: &Entry) -> Option<(String, String)> {
    let (skill, path) = entry.what.in_skill()?;
    Some((decode(skill)?, decode(path)?))
}
