//! Parses a rule's front matter as its agent does, to find out when the rule applies.

use serde_json::Value;

use super::cursor_front::{Front, unquoted};
use super::rule::{RuleFormat, Switch, Words, split};
use crate::forms::matter::{self, Keys};
use mcpkg_store::modules::Applies;

/// The metadata of a rule or other file of instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    pub applies: Applies,
    pub description: Option<String>,
    /// Whether the agent loads the file at all.
    pub is_loaded: bool,
    /// Notes for people: the line in the file, if known, and the problem.
    pub notes: Vec<(Option<usize>, String)>,
}

impl Default for Scope {
    fn default() -> Self {
        Self { applies: Applies::Always, description: None, is_loaded: true, notes: Vec::new() }
    }
}

impl Scope {
    fn note(&mut self, line: impl Into<Option<usize>>, text: impl Into<String>) {
        self.notes.push((line.into(), text.into()));
    }

    /// Narrows a rule that applies always or for globs to a folder of the project; an empty path means the whole
    /// project.
    pub fn within(mut self, folder: &str) -> Self {
        if !folder.is_empty() {
            self.applies = match self.applies {
                Applies::Always => Applies::Globs(vec![format!("{folder}/**")]),
                Applies::Globs(globs) => Applies::Globs(globs.iter().map(|glob| inside(folder, glob)).collect()),
                other => other,
            };
        }
        self
    }
}

/// Converts a glob that is relative to a folder to a glob that is relative to the project. A pattern without a slash
/// matches at any depth.
fn inside(folder: &str, glob: &str) -> String {
    let glob = glob.trim_start_matches('/');
    if glob.contains('/') { format!("{folder}/{glob}") } else { format!("{folder}/**/{glob}") }
}

/// Reads the metadata of a rule. Invalid front matter counts as text and yields a note.
pub fn read(format: &RuleFormat, text: &str) -> Scope {
    match format.switch {
        Switch::Globs { else_always: true } => claude(text),
        Switch::Globs { else_always: false } => copilot(text),
        Switch::Always(_) => cursor(text),
        Switch::Word(key, words) => word(text, key, &words, format.globs),
    }
}

/// Reads the description of a file at a path where no agent loads it automatically.
pub fn unread(text: &str) -> Scope {
    Scope { applies: Applies::Manual, description: described(text), ..Scope::default() }
}

/// Reads a Claude Code rule: only `paths` counts, and a file with unreadable front matter always applies.
fn claude(text: &str) -> Scope {
    let mut scope = Scope::default();
    let Some((keys, yaml)) = front(text, &mut scope, "and always applies") else {
        return scope;
    };
    scope.description = text_of(&keys, yaml, "description");
    let patterns = patterns_of(&keys, yaml, "paths");
    if patterns.is_empty() {
        let others = ["globs", "applyTo", "alwaysApply", "trigger"].into_iter().find(|key| keys.map.contains_key(*key));
        if let Some(other) = others {
            let why =
                format!("has `{other}`, which Claude Code ignores, so the rule always applies; use `paths` instead");
            scope.note(line_of(yaml, other), why);
        }
        return scope;
    }
    let line = line_of(yaml, "paths");
    if patterns.iter().any(|pattern| pattern.starts_with('!')) {
        scope.note(line, "excludes a path with `!`, which Claude Code does not support");
    }
    if patterns.iter().any(|pattern| pattern.starts_with("./")) {
        scope.note(line, "has a pattern that begins with `./`, which matches nothing in Claude Code");
    }
    let included: Vec<String> = patterns.iter().filter(|pattern| !pattern.starts_with('!')).cloned().collect();
    if !included.iter().any(|pattern| pattern == "**") {
        scope.applies = Applies::Globs(if included.is_empty() { patterns } else { included });
    }
    scope
}

/// Reads a rule of Copilot and VS Code: `applyTo`. Without that key, Copilot always loads the file and VS Code never
/// does on its own. mcpkg then follows VS Code: the rule applies by its description, or manually if it has none.
fn copilot(text: &str) -> Scope {
    let mut scope = Scope { applies: Applies::Manual, ..Scope::default() };
    let front = front(text, &mut scope, "and applies only when you add it manually");
    let mut patterns = Vec::new();
    if let Some((keys, yaml)) = &front {
        scope.description = text_of(keys, yaml, "description");
        patterns = patterns_of(keys, yaml, "applyTo");
    }
    scope.applies = match (patterns.iter().any(|pattern| pattern == "**"), patterns.is_empty()) {
        (true, _) => Applies::Always,
        (false, false) => Applies::Globs(patterns),
        (false, true) => {
            let how = if scope.description.is_some() { Applies::Described } else { Applies::Manual };
            scope.note(
                None,
                "has no `applyTo`: Copilot CLI always loads the file, but VS Code loads it only on request; mcpkg follows VS Code",
            );
            how
        }
    };
    scope
}

/// Reads a Cursor rule: `alwaysApply` wins, then `globs`, then `description`; otherwise the rule is manual.
fn cursor(text: &str) -> Scope {
    let mut scope = Scope { applies: Applies::Manual, ..Scope::default() };
    let Some(front) = Front::read(text) else {
        scope.note(
            None,
            "has no front matter, so Cursor does not load the file; its rule applies only when you add it manually",
        );
        scope.is_loaded = false;
        return scope;
    };
    scope.description = front.get("description").map(|(text, _)| unquoted(text).to_owned());
    let always = front.get("alwaysApply");
    if always.is_some_and(|(value, _)| value == "true") {
        scope.applies = Applies::Always;
        return scope;
    }
    if let Some((value, line)) = always.filter(|(value, _)| *value != "false") {
        scope.note(line, format!("has `alwaysApply: {value}`, which Cursor does not treat as true"));
    }
    let globs = front.get("globs");
    if let Some((value, line)) = globs {
        if value.starts_with('[') {
            scope.note(line, "has `globs` as a list in brackets, which matches nothing in Cursor; write `globs: a,b`");
        } else if value.contains(" #") {
            scope.note(line, "has a comment after `globs`, which Cursor reads as part of the pattern");
        }
        let patterns = split(unquoted(value));
        if !patterns.is_empty() {
            scope.applies = Applies::Globs(patterns);
            return scope;
        }
    } else if let Some(line) = front.line_of("globs").filter(|line| has_list_at_the_edge(text, *line)) {
        scope.note(line, "has an unindented list below `globs`, which Cursor does not read");
    }
    if front.get("description").is_some() {
        scope.applies = Applies::Described;
    }
    scope
}

/// Returns whether the line after `line` (counted from 1) is a list item without indentation.
fn has_list_at_the_edge(text: &str, line: usize) -> bool {
    text.lines().nth(line).is_some_and(|next| next.starts_with("- "))
}

/// Reads a rule of Windsurf, Antigravity or Kiro. The value of `key` states when the rule applies.
fn word(text: &str, key: &str, words: &Words, globs: &str) -> Scope {
    let (unsaid, follows) = if words.else_always {
        (Applies::Always, "and always applies")
    } else {
        (Applies::Manual, "and applies only when you add it manually")
    };
    let mut scope = Scope { applies: unsaid, ..Scope::default() };
    let Some((keys, yaml)) = front(text, &mut scope, follows) else {
        return scope;
    };
    scope.description = text_of(&keys, yaml, "description");
    let patterns = patterns_of(&keys, yaml, globs);
    match text_of(&keys, yaml, key).as_deref() {
        Some(said) if said == words.always => scope.applies = Applies::Always,
        Some(said) if said == words.globs && !patterns.is_empty() => scope.applies = Applies::Globs(patterns),
        Some(said) if said == words.described => scope.applies = Applies::Described,
        Some(_) => scope.applies = Applies::Manual,
        None => {}
    }
    scope
}

/// Returns the description in the front matter of a file that no agent loads.
fn described(text: &str) -> Option<String> {
    let (yaml, _) = matter::split(text).ok().flatten()?;
    text_of(&matter::keys(yaml).ok()?, yaml, "description")
}

/// Parses front matter as YAML, as leniently as agents do. If that fails, adds a note with the reason and with
/// `follows`, the consequence for the rule.
fn front<'t>(text: &'t str, scope: &mut Scope, follows: &str) -> Option<(Keys, &'t str)> {
    let failed = |scope: &mut Scope, error: &mcpkg_base::error::Error| {
        let line = error.details().and_then(|details| details["line"].as_u64()).and_then(|line| line.try_into().ok());
        // The YAML begins after the `---` line.
        scope.note(Some(line.map_or(1, |line: usize| line + 1)), format!("was imported unchanged {follows}: {error}"));
    };
    let yaml = match matter::split(text) {
        Ok(split) => split?.0,
        Err(error) => {
            failed(scope, &error);
            return None;
        }
    };
    match matter::keys(yaml) {
        Ok(keys) => Some((keys, yaml)),
        Err(error) => {
            // A list such as `- **/*.ts` is not valid YAML, but agents read it. `patterns_of` then reads it line by line.
            let is_list = yaml.lines().any(|line| line.trim_end() == "paths:");
            let listed = is_list && Front::read(text).is_some_and(|front| front.get("paths").is_some());
            if listed {
                return Some((Keys::default(), yaml));
            }
            failed(scope, &error);
            None
        }
    }
}

fn text_of(keys: &Keys, yaml: &str, key: &str) -> Option<String> {
    let text = match keys.map.get(key)? {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        _ => yaml.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?.trim().to_owned(),
    };
    Some(text).filter(|text| !text.is_empty())
}

/// Returns the patterns of a key, which is a list or one text with commas.
fn patterns_of(keys: &Keys, yaml: &str, key: &str) -> Vec<String> {
    match keys.map.get(key) {
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).flat_map(split).collect(),
        Some(Value::String(text)) => split(text),
        // The list was not valid YAML; see [`front`].
        None if keys.map.is_empty() => {
            let file = format!("---\n{yaml}---\n");
            Front::read(&file).and_then(|front| front.get(key).map(|(text, _)| split(text))).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// Returns the line of a key in the file, where line 1 is the `---`.
fn line_of(yaml: &str, key: &str) -> Option<usize> {
    yaml.lines().position(|line| line.split(':').next() == Some(key)).map(|at| at + 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::rule::{CLAUDE_CODE, COPILOT, CURSOR, KIRO, WINDSURF};

    fn globs(patterns: &[&str]) -> Applies {
        Applies::Globs(patterns.iter().map(|pattern| (*pattern).to_owned()).collect())
    }

    fn applies(format: &RuleFormat, front: &str) -> Applies {
        read(format, &format!("---\n{front}\n---\nText\n")).applies
    }

    fn is_noted(format: &RuleFormat, text: &str, says: &str) {
        let scope = read(format, text);
        assert!(scope.notes.iter().any(|(_, note)| note.contains(says)), "{text:?}: {:?}", scope.notes);
    }

    #[test]
    fn each_agent_reads_its_own_key() {
        for value in ["*.py", "**/*.py", "src/**/*.{ts,tsx}"] {
            assert_eq!(applies(&CLAUDE_CODE, &format!("paths: {value}")), globs(&[value]));
            assert_eq!(applies(&COPILOT, &format!("applyTo: {value}")), globs(&[value]));
            assert_eq!(applies(&COPILOT, &format!("applyTo: '{value}'")), globs(&[value]));
            assert_eq!(applies(&CURSOR, &format!("globs: {value}\nalwaysApply: false")), globs(&[value]));
            assert_eq!(applies(&WINDSURF, &format!("trigger: glob\nglobs: {value}")), globs(&[value]));
        }
        let two = globs(&["*.{a,b}", "c"]);
        assert_eq!(applies(&CLAUDE_CODE, "paths: \"*.{a,b}, c\""), two);
        assert_eq!(applies(&CLAUDE_CODE, "paths: [\"*.{a,b}\", \"c\"]"), two);
        assert_eq!(applies(&CLAUDE_CODE, "paths:\n  - '*.{a,b}'\n  - c"), two);
        assert_eq!(applies(&CLAUDE_CODE, "paths:\n  - *.{a,b}\n  - c"), two);
        assert_eq!(applies(&COPILOT, "applyTo: '*.{a,b},c'"), two);
        assert_eq!(applies(&CURSOR, "globs: *.{a,b}, c"), two);
        assert_eq!(applies(&CURSOR, "globs:\n  - *.{a,b}\n  - c"), two);
        assert_eq!(applies(&WINDSURF, "trigger: always_on"), Applies::Always);
        assert_eq!(applies(&WINDSURF, "trigger: model_decision\ndescription: x"), Applies::Described);
        assert_eq!(applies(&WINDSURF, "trigger: manual"), Applies::Manual);
        assert_eq!(applies(&KIRO, "inclusion: fileMatch\nfileMatchPattern: \"**/*.ts\""), globs(&["**/*.ts"]));
        assert_eq!(applies(&KIRO, "inclusion: fileMatch\nfileMatchPattern: [\"a\", \"b\"]"), globs(&["a", "b"]));
        assert_eq!(applies(&KIRO, "inclusion: auto\nname: x\ndescription: y"), Applies::Described);
        assert_eq!(applies(&KIRO, "inclusion: manual"), Applies::Manual);
        assert_eq!(applies(&KIRO, "title: x"), Applies::Always);
    }

    #[test]
    fn another_agents_key_is_ignored() {
        for key in ["globs: **/*.py", "applyTo: '**/*.py'", "alwaysApply: false"] {
            let text = format!("---\n{key}\n---\n");
            assert_eq!(read(&CLAUDE_CODE, &text).applies, Applies::Always, "{key}");
            is_noted(&CLAUDE_CODE, &text, "Claude Code ignores");
        }
        assert_eq!(applies(&CURSOR, "paths: *.py"), Applies::Manual);
        assert_eq!(applies(&COPILOT, "globs: '*.py'"), Applies::Manual);
    }

    #[test]
    fn odd_cursor_rules_are_read_like_cursor_with_a_note() {
        let list = "---\nglobs: [\"*.py\", \"src/**\"]\n---\n";
        assert_eq!(read(&CURSOR, list).applies, globs(&["[\"*.py\"", "\"src/**\"]"]));
        is_noted(&CURSOR, list, "brackets");
        let edge = "---\nglobs:\n- *.py\n---\n";
        assert_eq!(read(&CURSOR, edge).applies, Applies::Manual);
        is_noted(&CURSOR, edge, "unindented list");
        let comment = "---\nglobs: *.py # note\n---\n";
        assert_eq!(read(&CURSOR, comment).applies, globs(&["*.py # note"]));
        is_noted(&CURSOR, comment, "comment");
        for value in ["\"true\"", "True"] {
            let text = format!("---\nalwaysApply: {value}\n---\n");
            assert_eq!(read(&CURSOR, &text).applies, Applies::Manual, "{value}");
            is_noted(&CURSOR, &text, "not treat as true");
        }
        assert_eq!(read(&CURSOR, "No front matter").applies, Applies::Manual);
        is_noted(&CURSOR, "No front matter", "does not load the file");
        assert_eq!(applies(&CURSOR, "alwaysApply: true\nglobs: *.py"), Applies::Always);
        assert_eq!(applies(&CURSOR, "description: About x\nglobs:\nalwaysApply: false"), Applies::Described);
    }

    #[test]
    fn a_file_that_no_agent_loads_applies_manually() {
        let scope = unread("---\ndescription: x\nglobs: *.py\n---\n");
        assert_eq!((scope.applies, scope.description.as_deref()), (Applies::Manual, Some("x")));
    }

    #[test]
    fn instructions_without_apply_to_follow_vs_code() {
        assert_eq!(applies(&COPILOT, "description: About x"), Applies::Described);
        assert_eq!(applies(&COPILOT, "applyTo:"), Applies::Manual);
        is_noted(&COPILOT, "Text", "no `applyTo`");
        assert_eq!(applies(&COPILOT, "applyTo: '**'"), Applies::Always);
    }

    #[test]
    fn patterns_that_claude_code_does_not_match_are_noted() {
        let text = "---\npaths: ['src/**', '!src/x/**']\n---\n";
        assert_eq!(read(&CLAUDE_CODE, text).applies, globs(&["src/**"]));
        is_noted(&CLAUDE_CODE, text, "`!`");
        let text = "---\npaths: ./src/**\n---\n";
        assert_eq!(read(&CLAUDE_CODE, text).applies, globs(&["./src/**"]));
        is_noted(&CLAUDE_CODE, text, "matches nothing");
        assert_eq!(applies(&CLAUDE_CODE, "paths: '**'"), Applies::Always);
        assert_eq!(applies(&CLAUDE_CODE, "paths:"), Applies::Always);
    }

    #[test]
    fn odd_front_matter_has_the_scope_that_its_agent_gives_it() {
        let broken = "---\nx: [\npaths: {{{\n- y\n---\nText";
        let scope = read(&CLAUDE_CODE, broken);
        assert_eq!(scope.applies, Applies::Always);
        assert!(matches!(scope.notes.as_slice(), [(Some(_), note)] if note.contains("malformed")), "{:?}", scope.notes);
        assert_eq!(read(&CLAUDE_CODE, "\n---\npaths: '*.py'\n---\n").applies, Applies::Always);
        assert_eq!(read(&CURSOR, "\n---\nglobs: *.py\n---\n").applies, globs(&["*.py"]));
        for (format, key) in [(&CLAUDE_CODE, "paths"), (&CURSOR, "globs"), (&COPILOT, "applyTo")] {
            let text = format!("\u{feff}---\r\n{key}: src/**\r\n---\r\nText\r\n");
            assert_eq!(read(format, &text).applies, globs(&["src/**"]), "{key}");
        }
    }

    #[test]
    fn a_folders_instructions_apply_to_the_folder() {
        let within = |applies: Applies| Scope { applies, ..Scope::default() }.within("web/app").applies;
        assert_eq!(within(Applies::Always), globs(&["web/app/**"]));
        assert_eq!(
            within(globs(&["*.ts", "src/**", "/a/b"])),
            globs(&["web/app/**/*.ts", "web/app/src/**", "web/app/a/b"])
        );
        assert_eq!(within(Applies::Described), Applies::Described);
        assert_eq!(Scope::default().within("").applies, Applies::Always);
    }
}
