//! Translates hints for agents.
//!
//! Hints are written for people at a shell. For an agent, a command becomes a call of the tool that does the same:
//! `mcpkg deploy --apply --adopt` -> `deploy_apply(adopt: true)`. A flag becomes an argument of the tool that failed.
//! Commands that only a person can run are marked as such.

use serde_json::{Map, Value};

use mcpkg_base::error::Error;
use mcpkg_core::op::{Entry, Surface};

/// Shell commands that are not tools themselves, each with a tool that does the same.
const INSTEAD: [(&[&str], &str); 3] =
    [(&["spec", "list"], "smctl_spec_status"), (&["workflow", "run"], "execute"), (&["command", "run"], "execute")];

/// Translates the hints of one failed call for an agent.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    pub failed: Option<&'a Entry>,
    /// The tools that the agent can reach.
    pub surface: &'a Surface,
}

impl Reader<'_> {
    /// Translates the hints of an error.
    pub fn error(&self, error: Error) -> Error {
        let details = error.details().map(|details| self.details(details));
        let error = error.for_agent(|hint| self.hint(hint));
        match details {
            Some(details) => error.with_details(details),
            None => error,
        }
    }

    /// Translates a hint. Returns `None` if nothing in it is useful to an agent.
    pub fn hint(&self, hint: &str) -> Option<String> {
        if hint.starts_with("did you mean") && self.failed.is_some_and(deletes) {
            // The similar name belongs to a different item, which the user did not ask to delete. So the hint must not
            // name it.
            return Some(
                "nothing was deleted; list the existing items, and ask the user which item to delete".to_owned(),
            );
        }
        let hint = self.with_tools(hint);
        if !has_flag(&hint) {
            return Some(for_the_user(hint));
        }
        let clauses: Vec<&str> = clauses(&hint).into_iter().filter(|clause| !has_flag(clause)).collect();
        (!clauses.is_empty()).then(|| for_the_user(clauses.join("; ")))
    }

    /// Replaces the commands and flags in a text with tools and arguments.
    pub fn text(&self, text: &str) -> String {
        for_the_user(self.with_tools(text))
    }

    fn with_tools(&self, text: &str) -> String {
        let is_for_person = ["person", "the user", "terminal"].iter().any(|word| text.contains(word));
        let parts = text.split('`').enumerate().map(|(n, part)| match (n % 2, part.strip_prefix("mcpkg ")) {
            (1, Some(command)) => match self.tool(command).filter(|_| !is_for_person) {
                Some(tool) => format!("`{tool}`"),
                None => format!("`{part}`"),
            },
            (1, None) if !part.starts_with("--") => format!("`{part}`"),
            _ => self.flags(part),
        });
        parts.collect()
    }

    fn details(&self, details: &Value) -> Value {
        match details {
            Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), self.detail(key, value))).collect(),
            Value::Array(values) => values.iter().map(|value| self.details(value)).collect(),
            other => other.clone(),
        }
    }

    fn detail(&self, key: &str, value: &Value) -> Value {
        match (key, value) {
            ("hint", Value::String(hint)) => self.hint(hint).unwrap_or_default().into(),
            ("hints", Value::Array(hints)) => {
                hints.iter().filter_map(Value::as_str).filter_map(|hint| self.hint(hint)).map(Value::from).collect()
            }
            _ => self.details(value),
        }
    }

    /// Replaces flags that are arguments of the failed tool: `--force` -> `force=true`. Other flags stay.
    fn flags(&self, text: &str) -> String {
        let Some(properties) = self.failed.map(properties) else { return text.to_owned() };
        let mut said = String::new();
        for (n, word) in text.split(' ').enumerate() {
            if n > 0 {
                said.push(' ');
            }
            let name: String = word.chars().skip(2).take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
            let property = properties.get(&name.replace('-', "_")).filter(|_| word.starts_with("--"));
            match property {
                None => said.push_str(word),
                Some(property) => {
                    let is_switch = property["type"] == "boolean" || property.get("const").is_some();
                    said.push_str(&name.replace('-', "_"));
                    said.push_str(if is_switch { "=true" } else { "" });
                    said.push_str(&word[2 + name.len()..]);
                }
            }
        }
        said
    }

    /// Returns the tool call that does the same as a shell command, if the agent can reach such a tool.
    fn tool(&self, command: &str) -> Option<String> {
        let words = shlex::split(command)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if let Some((_, tool)) = INSTEAD.iter().find(|(cli, _)| words.starts_with(cli)) {
            return crate::DOMAINS
                .operations()
                .find(|entry| entry.tool == *tool && self.reaches(entry))
                .map(|_| (*tool).to_owned());
        }
        let cli = |entry: &&Entry| words.starts_with(entry.cli);
        let tools: Vec<&Entry> =
            crate::DOMAINS.operations().filter(|entry| entry.faces.tool() && self.reaches(entry)).filter(cli).collect();
        let longest = tools.iter().map(|entry| entry.cli.len()).max()?;
        // If the words also name a longer command that is not a tool, the shorter command does something else.
        if crate::DOMAINS.operations().filter(cli).any(|entry| entry.cli.len() > longest) {
            return None;
        }
        let rest = &words[longest..];
        let named = |flag: &&str| format!("{}_{}", words[..longest].join("_"), flag.trim_start_matches("--"));
        let with_flag =
            |entry: &&&Entry| rest.iter().filter(|word| word.starts_with("--")).any(|flag| named(flag) == entry.tool);
        let entry = tools.iter().find(with_flag).or(tools.first())?;
        Some(call(entry, rest))
    }

    fn reaches(&self, entry: &Entry) -> bool {
        entry.faces.tool() && self.surface.serves(entry.tool, entry.group, entry.effect)
    }
}

/// Adds that the user runs the command, if the text still contains a command and does not say who runs it.
fn for_the_user(mut text: String) -> String {
    let names_command = text.split('`').skip(1).step_by(2).any(|code| code.starts_with("mcpkg "));
    if names_command && !text.contains("person") && !text.contains("the user") {
        text.push_str(" (for the user, in a shell)");
    }
    text
}

fn deletes(entry: &Entry) -> bool {
    matches!(entry.cli.last(), Some(&"delete" | &"uninstall" | &"remove"))
}

fn properties(entry: &Entry) -> Map<String, Value> {
    let mut schema = entry.input_schema();
    match schema.get_mut("properties").map(Value::take) {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    }
}

/// Returns a tool call with the arguments from a command line: `rollback(to: "pristine")`.
fn call(entry: &Entry, words: &[&str]) -> String {
    let properties = properties(entry);
    let command = entry.augment(clap::Command::new("mcpkg").no_binary_name(true).ignore_errors(true));
    let mut command = command.disable_help_flag(true);
    command.build();
    let words = of_command(&command, words);
    let Ok(matches) = command.try_get_matches_from_mut(words) else { return entry.tool.to_owned() };
    let given = |name: &String| matches.value_source(name) == Some(clap::parser::ValueSource::CommandLine);
    let ids: Vec<String> = command.get_arguments().map(|argument| argument.get_id().to_string()).collect();
    let arguments = ids.into_iter().filter(given).filter_map(|name| {
        let property = properties.get(&name)?;
        let raw = matches.get_raw(&name).into_iter().flatten();
        let values: Vec<String> = raw.map(|value| value.to_string_lossy().into_owned()).collect();
        let value = match property["type"].as_str() {
            Some("boolean") => Value::Bool(true),
            Some("array") => values.into(),
            Some("object") => return None,
            _ if property.get("const").is_some() => Value::Bool(true),
            _ => values.join(" ").into(),
        };
        Some(format!("{name}: {value}"))
    });
    let arguments: Vec<String> = arguments.collect();
    match arguments.as_slice() {
        [] => entry.tool.to_owned(),
        given => format!("{}({})", entry.tool, given.join(", ")),
    }
}

/// Removes flags that the command does not have, such as `--project p`, because clap stops reading at an unknown flag.
fn of_command<'w>(command: &clap::Command, words: &[&'w str]) -> Vec<&'w str> {
    let is_known = |flag: &str| command.get_arguments().any(|argument| argument.get_long() == Some(flag));
    let mut kept = Vec::new();
    let mut words = words.iter().copied().peekable();
    while let Some(word) = words.next() {
        match word.strip_prefix("--") {
            Some(flag) if !is_known(flag) => {
                let _value = words.next_if(|next| !next.starts_with('-'));
            }
            _ => kept.push(word),
        }
    }
    kept
}

/// Splits a hint into clauses that make sense on their own.
fn clauses(hint: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut start, mut is_code) = (0, false);
    for (at, c) in hint.char_indices() {
        let rest = &hint[at..];
        if c == '`' {
            is_code = !is_code;
        } else if let Some(separator) =
            ["; ", ", or "].into_iter().find(|separator| !is_code && rest.starts_with(separator))
        {
            found.push(&hint[start..at]);
            start = at + separator.len();
        }
    }
    found.push(&hint[start..]);
    found
}

/// Returns whether a clause contains a shell flag that is not part of a whole command in backticks.
fn has_flag(clause: &str) -> bool {
    let is_flag = |word: &str| {
        let name = word.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '-');
        name.strip_prefix("--").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
    };
    let prose = |(n, part): (usize, &str)| (n % 2 == 0 || part.starts_with("--")) && part.split(' ').any(is_flag);
    clause.split('`').enumerate().any(prose)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(tool: &str, hint: &str) -> Option<String> {
        let failed = crate::DOMAINS.operations().find(|entry| entry.tool == tool);
        Reader { failed, surface: &Surface::default() }.hint(hint)
    }

    #[test]
    fn a_command_becomes_the_tool_that_does_the_same() {
        for (hint, expected) in [
            ("`mcpkg tool list` lists the installed tools", "`enact__list` lists the installed tools"),
            ("`mcpkg prompt show a --raw` shows it", "`get_prompt(name: \"a\", raw: true)` shows it"),
            ("`mcpkg rollback --project p --to pristine` takes it back", "`rollback(to: \"pristine\")` takes it back"),
            ("`mcpkg deploy --apply --adopt` does it", "`deploy_apply(adopt: true)` does it"),
            ("`mcpkg spec list` shows those there are", "`smctl_spec_status` shows those there are"),
            ("`mcpkg tool search WORDS` finds tools", "`enact__search(query: \"WORDS\")` finds tools"),
            (
                "`mcpkg target enable codex` switches it on",
                "`mcpkg target enable codex` switches it on (for the user, in a shell)",
            ),
            ("a person decides with `mcpkg draft list`", "a person decides with `mcpkg draft list`"),
        ] {
            assert_eq!(said("plan", hint).as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_flag_becomes_an_argument_or_its_clause_is_left_out() {
        assert_eq!(said("deploy_apply", "--yes confirms it").as_deref(), Some("yes=true confirms it"));
        let hint = "commit the changes, or remove it with --force, which first keeps a copy of them";
        let expected = "commit the changes, or remove it with force=true, which first keeps a copy of them";
        assert_eq!(said("smctl_worktree_remove", hint).as_deref(), Some(expected));
        assert_eq!(
            said("list_prompts", "make the file writable, or name another database with --db").as_deref(),
            Some("make the file writable")
        );
        assert_eq!(said("list_prompts", "name one with --root DIR"), None);
        let hint = "name one with --root DIR, or bind a folder with `mcpkg project select NAME --here`";
        let expected = "bind a folder with `mcpkg project select NAME --here` (for the user, in a shell)";
        assert_eq!(said("plan", hint).as_deref(), Some(expected));
    }

    #[test]
    fn a_failed_deletion_never_suggests_another_item() {
        for tool in ["enact__uninstall", "delete_prompt", "delete_skill", "smctl_worktree_remove"] {
            let hint = said(tool, "did you mean 'alice/b'?").unwrap();
            assert!(!hint.contains("alice/b"), "{hint}");
        }
        assert!(said("enact__run", "did you mean 'alice/b'?").unwrap().contains("alice/b"));
    }
}
