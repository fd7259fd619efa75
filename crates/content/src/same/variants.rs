//! Recognizes files that a deploy wrote: files with a managed block of instructions, and rules or subagents in another agent's
//! format.

use crate::import::paths::agents::Form;
use mcpkg_agents::agents;
use mcpkg_agents::commands::skill::split_front;
use mcpkg_agents::forms::subagent::Subagent;
use mcpkg_agents::forms::toml_text::{self, INSTRUCTIONS as INSTRUCTIONS_KEY};
use mcpkg_agents::forms::{Scope, file_letters, sections, stem};
use mcpkg_store::modules::Applies;

/// A file with a managed block, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub struct Gathered {
    /// The text outside the block; `None` if there is none.
    pub users: Option<Vec<u8>>,
    /// The names and texts of the instructions in the block.
    pub instructions: Vec<(String, Vec<u8>)>,
}

/// Takes a file with a managed block of instructions apart; `None` if it has none, or if the block is malformed.
pub fn gathered(text: &[u8]) -> Option<Gathered> {
    let split = sections::find(text)?;
    let instructions = match split.module {
        Some(id) => vec![(id.strip_prefix(INSTRUCTIONS)?.to_owned(), sections::unescape(split.inner))],
        None => {
            let (found, outside) = sections::parse(split.inner).ok()?;
            if !sections::is_only_between(&outside) {
                return None;
            }
            let named = |(id, text): (String, Vec<u8>)| Some((id.strip_prefix(INSTRUCTIONS)?.to_owned(), text));
            found.into_iter().map(named).collect::<Option<Vec<_>>>()?
        }
    };
    Some(Gathered { users: sections::take_out(text), instructions })
}

/// The prefix of the ids of instructions.
const INSTRUCTIONS: &str = "instructions:";

/// A rule whose front matter says only when it applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainRule {
    /// The file name without its ending.
    pub stem: String,
    pub text: Vec<u8>,
}

/// Parses a rule if its file is exactly what a deploy writes.
pub fn plain_rule(form: Form, label: &str, file: &[u8], scope: &Scope) -> Option<PlainRule> {
    let Form::Rule(format) = form else { return None };
    let head = format.write(&scope.applies, scope.description.as_deref()).ok()?;
    let text = split_front(file).1;
    let between = if head.is_empty() { "" } else { "\n" };
    let written = [head.as_bytes(), between.as_bytes(), &sections::with_newline(text)].concat();
    (written == file).then(|| PlainRule { stem: stem(label).to_owned(), text: sections::with_newline(text) })
}

/// Returns whether instructions with the name `item` have the same name and text as a rule.
pub fn says(item: &str, content: &[u8], rule: &PlainRule) -> bool {
    let own = stem(item);
    (own == rule.stem || file_letters(own) == rule.stem) && sections::with_newline(split_front(content).1) == rule.text
}

/// Returns whether two scopes cover the same files. The order of globs does not matter, and neither does a leading `./`.
pub fn apply_alike(one: &Applies, other: &Applies) -> bool {
    covers(one, other) && covers(other, one)
}

/// Returns whether `one` contains each glob of `other`.
pub fn covers(one: &Applies, other: &Applies) -> bool {
    let (Applies::Globs(one), Applies::Globs(other)) = (one, other) else { return one == other };
    let one: Vec<String> = one.iter().map(|glob| bare(glob)).collect();
    other.iter().all(|glob| one.contains(&bare(glob)))
}

/// Normalizes a glob to the form in which every agent writes it: `./a/**/*` -> `a/**`.
fn bare(glob: &str) -> String {
    let glob = glob.strip_prefix("./").unwrap_or(glob);
    glob.strip_suffix("/**/*").map_or_else(|| glob.to_owned(), |folder| format!("{folder}/**"))
}

/// Returns whether `file` is exactly what a deploy writes for this agent from the subagent `own`.
pub fn is_form_of(name: &str, described: Option<&str>, own: &[u8], agent: &str, file: &[u8]) -> bool {
    let Some(places) = agents::with_id(agent).and_then(|agent| agent.subagents) else { return false };
    let is_toml = toml_text::parse(own).is_ok_and(|document| toml_text::text(&document, INSTRUCTIONS_KEY).is_some());
    let subagent = Subagent::of(name, described, is_toml, own);
    let Ok(body) = std::str::from_utf8(split_front(own).1) else { return false };
    subagent.file(&places.form, body).is_ok_and(|written| written == file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_taken_apart() {
        let two = sections::block(&sections::sections(&[("instructions:a", b"A\n"), ("instructions:b", b"B\n")]), None);
        let file = [b"Mine.\n\n".as_slice(), &two].concat();
        let found = gathered(&file).unwrap();
        assert_eq!(found.users.as_deref(), Some(b"Mine.\n".as_slice()));
        assert_eq!(found.instructions, [("a".to_owned(), b"A\n".to_vec()), ("b".to_owned(), b"B\n".to_vec())]);
        let one = gathered(&sections::block(b"One\n", Some("instructions:x"))).unwrap();
        assert_eq!((one.users, one.instructions), (None, vec![("x".to_owned(), b"One\n".to_vec())]));
        let import = gathered(&sections::block(b"@AGENTS.md\n", None)).unwrap();
        assert_eq!(import, Gathered { users: None, instructions: Vec::new() });
        for none in [b"Text".as_slice(), &sections::block(b"Text\n", None), &sections::block(b"x", Some("skill:a"))] {
            assert_eq!(gathered(none), None);
        }
    }
}
