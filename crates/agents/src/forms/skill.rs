//! Reads skills as agents do. Finds and fixes faults that keep some agents from loading a `SKILL.md`.

use serde_json::{Map, Value};

use crate::commands::skill::{self, MAX_DESCRIPTION};
use crate::forms::matter;

/// The file in a skill's folder that tells Codex whether it may use the skill on its own.
pub const OPENAI_YAML: &str = "agents/openai.yaml";

/// The [`OPENAI_YAML`] that a deploy writes for a skill that is [`Main::manual`].
pub const MANUAL_YAML: &str = "# Kept by mcpkg: SKILL.md says `disable-model-invocation: true`.\n\
    policy:\n  allow_implicit_invocation: false\n";

/// The keys by which some agents load a skill only for matching files.
pub const SCOPES: [&str; 2] = ["paths", "globs"];

const MARK: char = '\u{feff}';

/// A fault that keeps some agents from loading a `SKILL.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The file begins with a byte order mark.
    Mark,
    /// The front matter is valid YAML only after quotes are added: `description: Review: it`.
    NotYaml,
    /// The description has more than 1,024 characters.
    LongDescription,
}

/// The metadata in a `SKILL.md`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Main {
    pub name: Option<String>,
    pub description: Option<String>,
    /// The value of `when_to_use`. Claude Code shows it after the description.
    pub when_to_use: Option<String>,
    /// The keys in [`SCOPES`] that limit the skill to certain files.
    pub scopes: Vec<&'static str>,
    /// Whether `disable-model-invocation` forbids agents to use the skill on their own.
    pub manual: bool,
    /// Whether `alwaysApply` makes Cursor treat the skill as a rule that always applies.
    pub always: bool,
    pub faults: Vec<Fault>,
}

impl Main {
    /// Reads a `SKILL.md` as leniently as the agents that load it.
    pub fn read(text: &str) -> Self {
        let mut main = Self::default();
        if text.starts_with(MARK) {
            main.faults.push(Fault::Mark);
        }
        let Some(keys) = keys(text) else { return main };
        if keys.odd.is_some() {
            main.faults.push(Fault::NotYaml);
        }
        if is_long(&keys.map) {
            main.faults.push(Fault::LongDescription);
        }
        let text = |key: &str| keys.map.get(key).and_then(Value::as_str).map(str::to_owned);
        main.name = text("name");
        main.description = text("description").filter(|text| !text.trim().is_empty());
        main.when_to_use = text("when_to_use");
        main.scopes = SCOPES.into_iter().filter(|key| is_said(&keys.map, key)).collect();
        main.manual = is_true(&keys.map, "disable-model-invocation");
        main.always = is_true(&keys.map, "alwaysApply");
        main
    }
}

fn keys(text: &str) -> Option<matter::Keys> {
    let (yaml, _) = matter::split(text).ok()??;
    match skill::written(yaml) {
        Some((name, description)) => {
            let map = [("name".to_owned(), name.into()), ("description".to_owned(), description.into())];
            Some(matter::Keys { map: map.into_iter().collect(), odd: None })
        }
        None => matter::keys(yaml).ok(),
    }
}

/// Returns whether a key has a non-empty value.
fn is_said(keys: &Map<String, Value>, key: &str) -> bool {
    match keys.get(key) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.trim().is_empty(),
        Some(Value::Array(list)) => !list.is_empty(),
        Some(_) => true,
    }
}

fn is_long(keys: &Map<String, Value>) -> bool {
    let description = keys.get("description").and_then(Value::as_str);
    description.is_some_and(|text| text.chars().count() > MAX_DESCRIPTION)
}

fn is_true(keys: &Map<String, Value>, key: &str) -> bool {
    // In front matter that is not valid YAML, `true` is read as text.
    keys.get(key).is_some_and(|value| value == &Value::Bool(true) || value == "true")
}

/// Returns a `SKILL.md` with its [`Fault`]s fixed: no byte order mark, quotes where YAML needs them, and a shortened description.
/// `None` if there is nothing to fix.
pub fn mended(file: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(file).ok()?;
    let unmarked = text.strip_prefix(MARK).unwrap_or(text);
    match with_sound_front(unmarked) {
        Some(mended) => Some(mended.into_bytes()),
        None if unmarked.len() < text.len() => Some(unmarked.as_bytes().to_vec()),
        None => None,
    }
}

/// Returns the text with front matter that is valid YAML and whose description is short enough. `None` if that is
/// true already, or if the text cannot be fixed.
fn with_sound_front(text: &str) -> Option<String> {
    let (yaml, body) = matter::split(text).ok()??;
    let keys = matter::keys(yaml).ok()?;
    if keys.odd.is_none() && !is_long(&keys.map) {
        return None;
    }
    let quoted = matter::requoted(yaml).unwrap_or_else(|| yaml.to_owned());
    let first = text.split_inclusive('\n').next()?.len();
    let last = &text[first + yaml.len()..text.len() - body.len()];
    let mut front = [&text[..first], &quoted, last].concat();
    if let Some(long) = keys.map.get("description").and_then(Value::as_str).filter(|_| is_long(&keys.map)) {
        let cut: String = long.chars().take(MAX_DESCRIPTION).collect();
        front = matter::replace(&front, "description", &matter::line("description", &cut));
    }
    let mended = front + body;
    let is_sound = self::keys(&mended).is_some_and(|keys| keys.odd.is_none() && !is_long(&keys.map));
    is_sound.then_some(mended)
}

/// Returns whether an `agents/openai.yaml` lets Codex use the skill on its own.
pub fn is_allowed_unasked(policy: &[u8]) -> bool {
    let keys = std::str::from_utf8(policy).ok().and_then(|yaml| matter::keys(yaml).ok());
    let allows = keys.and_then(|keys| keys.map.get("policy")?.get("allow_implicit_invocation")?.as_bool());
    allows.unwrap_or(true)
}

/// Returns whether two files at the same path in a skill are equal once a deploy has fixed their faults.
pub fn is_same(path: &str, one: &[u8], other: &[u8]) -> bool {
    let as_written = |file: &[u8]| mended(file).unwrap_or_else(|| file.to_vec());
    one == other || (path == "SKILL.md" && as_written(one) == as_written(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(text: &str) -> Option<String> {
        super::mended(text.as_bytes()).map(|bytes| String::from_utf8(bytes).expect("text"))
    }

    #[test]
    fn faults_are_fixed_and_nothing_else_changes() {
        let odd = "\u{feff}---\r\nname: pdf # n\r\ndescription: Review: \"it\"\r\ndisable-model-invocation: true\r\n---\r\n\r\nBody: x\r\n";
        let sound = "---\r\nname: pdf # n\r\ndescription: \"Review: \\\"it\\\"\"\r\ndisable-model-invocation: true\r\n---\r\n\r\nBody: x\r\n";
        assert_eq!(mended(odd).as_deref(), Some(sound));
        assert_eq!(Main::read(odd).faults, [Fault::Mark, Fault::NotYaml]);
        assert!(Main::read(odd).manual && Main::read(sound).manual);
        let long = format!("---\ndescription: >\n  {}\n  more\nname: a\n---\nText\n", "é ".repeat(600));
        let cut = mended(&long).expect("mended");
        assert_eq!(Main::read(&long).faults, [Fault::LongDescription]);
        assert!(cut.lines().nth(1).is_some_and(|line| line.starts_with("description: \"é é")), "{cut}");
        for mended_text in [sound.to_owned(), cut] {
            assert_eq!((mended(&mended_text), Main::read(&mended_text).faults), (None, Vec::new()));
        }
        for sound in ["", "Text", "---\nname: a\n---\n", "---\n{{{\n---\n", "---\nno end"] {
            assert_eq!(mended(sound), None, "{sound}");
        }
    }

    #[test]
    fn codex_may_use_a_skill_unless_the_policy_forbids_it() {
        assert!(!is_allowed_unasked(MANUAL_YAML.as_bytes()));
        for other in ["", "policy: x", "policy:\n  allow_implicit_invocation: true\n", "{{"] {
            assert!(is_allowed_unasked(other.as_bytes()), "{other}");
        }
    }
}
