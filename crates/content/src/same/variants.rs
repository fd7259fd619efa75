//! The variants of an item: the files that a deploy writes for other agents.

use mcpkg_agents::agents;
use mcpkg_agents::agents::imports::Form;
use mcpkg_agents::commands::inert::{self, Acts};
use mcpkg_agents::commands::skill::{self, split_front};
use mcpkg_agents::commands::words::{self, Spelling};
use mcpkg_agents::commands::{self, convert_to};
use mcpkg_agents::forms::subagent::Subagent;
use mcpkg_agents::forms::toml_text::{self, INSTRUCTIONS as INSTRUCTIONS_KEY};
use mcpkg_agents::forms::{Scope, file_letters, sections, stem};
use mcpkg_store::modules::Applies;
use mcpkg_store::prompts::{Argument, Attributes};

/// Returns the command files that a deploy writes from a prompt.
pub fn commands_of(name: &str, attributes: &Attributes, content: &[u8]) -> Vec<String> {
    let mut files = Vec::new();
    for (own, arguments) in commands_for_claude(name, attributes, content) {
        files.push(words::spell(&own, arguments, Spelling::Words).into_owned());
        files.extend(convert_to::opencode(&own, arguments).ok());
        files.extend(convert_to::gemini(&own, arguments).ok());
        files.push(own);
    }
    files
}

/// Returns the skill that a deploy writes from a prompt for agents without commands: its name, and each form that its
/// SKILL.md may have.
pub fn skills_of(name: &str, attributes: &Attributes, content: &[u8]) -> (String, Vec<Vec<u8>>) {
    let path = commands::path(name, attributes);
    let skill = skill::name(path.strip_suffix(".md").unwrap_or(&path));
    let forms = commands_for_claude(name, attributes, content).into_iter();
    let forms = forms.map(|(own, arguments)| skill::of_command(&skill, own.as_bytes(), arguments)).collect();
    (skill, forms)
}

/// Returns the files that a deploy may write from a prompt for Claude Code, each with its arguments. There are up to
/// four: the prompt with placeholders or as plain text, and each of these also rewritten so that Claude Code neither
/// runs commands nor attaches files from it.
fn commands_for_claude<'a>(name: &str, attributes: &'a Attributes, content: &[u8]) -> Vec<(String, &'a [Argument])> {
    let Ok(content) = std::str::from_utf8(content) else { return Vec::new() };
    let with_arguments = commands::to_file(name, attributes, content).ok();
    let plain = Attributes { template: false, dialect: None, arguments: Vec::new(), ..attributes.clone() };
    let as_text = attributes.dialect.and_then(|_| commands::to_file(name, &plain, content).ok());
    let files = [with_arguments.map(|file| (file, &*attributes.arguments)), as_text.map(|file| (file, &[][..]))];
    let mut all = Vec::new();
    for (file, arguments) in files.into_iter().flatten() {
        all.extend(inert::file(&file, Acts::NOTHING).map(|file| (file, arguments)));
        all.push((file, arguments));
    }
    all
}

/// The parts of a file with a managed block.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    /// The text outside the block; `None` if all text is in the block.
    pub users: Option<Vec<u8>>,
    /// The names and texts of the instructions in the block.
    pub instructions: Vec<(String, Vec<u8>)>,
    /// The files that the block imports, relative to the file's folder.
    pub imports: Vec<&'static str>,
}

/// Splits a file with a managed block of instructions into its parts. Returns `None` if the file has no block, or if
/// the block is malformed.
pub fn block(text: &[u8]) -> Option<Block> {
    let split = sections::find(text)?;
    let mut imports = Vec::new();
    let instructions = match split.module {
        Some(id) => vec![(id.strip_prefix(INSTRUCTIONS)?.to_owned(), sections::unescape(split.inner))],
        None => {
            let (found, outside) = sections::parse(split.inner).ok()?;
            if !sections::is_only_between(&outside) {
                return None;
            }
            imports = sections::imports(&outside);
            let named = |(id, text): (String, Vec<u8>)| Some((id.strip_prefix(INSTRUCTIONS)?.to_owned(), text));
            found.into_iter().map(named).collect::<Option<Vec<_>>>()?
        }
    };
    Some(Block { users: sections::take_out(text), instructions, imports })
}

/// The prefix of the ids of instructions.
const INSTRUCTIONS: &str = "instructions:";

/// A rule as a deploy writes it: its front matter contains nothing but the scope and the description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The file name without its extension.
    pub stem: String,
    pub text: Vec<u8>,
}

/// Parses a rule. Returns `None` if the file is not exactly what a deploy writes.
pub fn rule(form: Form, label: &str, file: &[u8], scope: &Scope) -> Option<Rule> {
    let Form::Rule(format) = form else { return None };
    let head = format.write(&scope.applies, scope.description.as_deref()).ok()?;
    let text = split_front(file).1;
    let between = if head.is_empty() { "" } else { "\n" };
    let written = [head.as_bytes(), between.as_bytes(), &sections::with_newline(text)].concat();
    (written == file).then(|| Rule { stem: stem(label).to_owned(), text: sections::with_newline(text) })
}

/// Returns whether the instructions `item` have the same name and text as a rule.
pub fn is_same_rule(item: &str, content: &[u8], rule: &Rule) -> bool {
    let own = stem(item);
    let text = split_front(content).1;
    (own == rule.stem || file_letters(own) == rule.stem)
        && (sections::with_newline(text) == rule.text || is_inert(text, &rule.text))
}

/// Returns whether two texts of instructions differ only in how they write `@path`. For agents that would load the file
/// at this path, a deploy puts `@path` between backticks, or writes `@ path` if backticks are not possible.
pub fn is_inert(one: &[u8], other: &[u8]) -> bool {
    let written = |text: &[u8]| {
        let text = String::from_utf8(sections::with_newline(text)).ok()?;
        Some(inert::without_files(&text).into_owned())
    };
    memchr::memchr(b'@', one).is_some() && written(one).is_some_and(|one| written(other) == Some(one))
}

/// Returns whether `file` is exactly what a deploy writes for this agent from the subagent `own`.
pub fn is_of_subagent(name: &str, described: Option<&str>, own: &[u8], agent: &str, file: &[u8]) -> bool {
    let Some(places) = agents::with_id(agent).and_then(|agent| agent.subagents) else { return false };
    let is_toml = toml_text::parse(own).is_ok_and(|document| toml_text::text(&document, INSTRUCTIONS_KEY).is_some());
    let subagent = Subagent::of(name, described, is_toml, own);
    let Ok(body) = std::str::from_utf8(split_front(own).1) else { return false };
    subagent.file(&places.form, body).is_ok_and(|written| written == file)
}

/// Returns whether two scopes cover the same files. The order of the globs and a leading `./` do not matter.
pub fn apply_alike(one: &Applies, other: &Applies) -> bool {
    covers(one, other) && covers(other, one)
}

/// Returns whether `one` contains each glob of `other`. A deploy drops globs that exclude files, so they do not count.
/// Scopes without globs must be equal.
pub fn covers(one: &Applies, other: &Applies) -> bool {
    let (Applies::Globs(one), Applies::Globs(other)) = (one, other) else { return one == other };
    let one: Vec<String> = one.iter().map(|glob| bare(glob)).collect();
    other.iter().filter(|glob| !glob.starts_with('!')).all(|glob| one.contains(&bare(glob)))
}

/// Normalizes a glob, because agents write the same glob differently: `./a/**/*` -> `a/**`.
fn bare(glob: &str) -> String {
    let glob = glob.strip_prefix("./").unwrap_or(glob);
    glob.strip_suffix("/**/*").map_or_else(|| glob.to_owned(), |folder| format!("{folder}/**"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_split_into_its_parts() {
        let two = sections::block(&sections::sections(&[("instructions:a", b"A\n"), ("instructions:b", b"B\n")]), None);
        let file = [b"Mine.\n\n".as_slice(), &two].concat();
        let found = block(&file).unwrap();
        assert_eq!(found.users.as_deref(), Some(b"Mine.\n".as_slice()));
        assert_eq!(found.instructions, [("a".to_owned(), b"A\n".to_vec()), ("b".to_owned(), b"B\n".to_vec())]);
        let one = block(&sections::block(b"One\n", Some("instructions:x"))).unwrap();
        assert_eq!((one.users, one.instructions), (None, vec![("x".to_owned(), b"One\n".to_vec())]));
        let import = block(&sections::block(b"@AGENTS.md\n", None)).unwrap();
        assert_eq!(import, Block { users: None, imports: vec!["AGENTS.md"], instructions: Vec::new() });
        for none in [b"Text".as_slice(), &sections::block(b"Text\n", None), &sections::block(b"x", Some("skill:a"))] {
            assert_eq!(block(none), None);
        }
    }
}
