//! Resolves what a user typed to a command: an id, another spelling of it, or an alias.

use std::sync::Arc;

use serde_json::json;

use super::commands::Reachable;
use super::contracts;
use super::index::Index;
use super::source::{Commands, Resolved};
use super::spec::{CommandSpec, ProviderContract};
use mcpkg_base::error::{Code, Error, Result};

/// Maximum number of similar ids to suggest for an unknown one.
const NEAR: usize = 3;

/// Maximum length of text to suggest similar ids for, in bytes.
const LONGEST: usize = 255;

/// Minimum similarity of a suggested id.
const LIKENESS: f64 = 0.75;

impl Commands for Reachable<'_> {
    fn resolve(&self, typed: &str) -> Result<Resolved> {
        resolve(self, typed)
    }

    fn provider(&self, id: &str) -> Result<Option<Arc<ProviderContract>>> {
        let Resolved::One(spec) = self.resolve(id)? else { return Ok(None) };
        Ok(contracts::provider(&spec).map(Arc::new))
    }

    fn has_group(&self, group: &str) -> Result<bool> {
        self.reaches_group(group)
    }

    fn has_secrets(&self, command: &CommandSpec) -> Result<bool> {
        self.keeps_secrets(command)
    }

    fn variable(&self, name: &str) -> Result<Option<String>> {
        self.allowed(name)
    }
}

/// Resolves any of these: `group:name`, `group name`, `group group:name`, an operationId or another alias, or `METHOD /path`.
fn resolve(commands: &Reachable<'_>, typed: &str) -> Result<Resolved> {
    let forms = forms(typed);
    for form in &forms {
        if let Some(spec) = commands.spec(form)? {
            return Ok(Resolved::One(spec));
        }
    }
    let indexes = commands.indexes(None)?;
    let mut ids: Vec<&str> = forms.iter().flat_map(|form| commands.named(&indexes, form)).collect();
    ids.sort_unstable();
    ids.dedup();
    match ids.as_slice() {
        [only] => Ok(commands.spec(only)?.map_or_else(|| Resolved::None(Vec::new()), Resolved::One)),
        [] => Ok(Resolved::None(nearest(commands, &indexes, &forms))),
        several => Ok(Resolved::Several(several.iter().map(|id| (*id).to_owned()).collect())),
    }
}

/// Resolves what a user typed to exactly one command.
///
/// # Errors
/// `E_NOT_FOUND` with similar ids, or `E_AMBIGUOUS` with all matching ids.
pub fn require(commands: &dyn Commands, typed: &str) -> Result<Arc<CommandSpec>> {
    match commands.resolve(typed)? {
        Resolved::One(spec) => Ok(spec),
        Resolved::Several(ids) => {
            let why = format!("'{}' stands for {} commands", typed.escape_debug(), ids.len());
            Err(Error::new(Code::Ambiguous, why)
                .hint(format!("say which one: {}", ids.join(", ")))
                .with_details(json!({ "id": typed, "ids": ids })))
        }
        Resolved::None(near) => {
            let error = Error::new(Code::NotFound, format!("There is no command '{}'", typed.escape_debug()));
            let hint = match near.as_slice() {
                [] => "find commands with `mcpkg command search WORDS`".to_owned(),
                near => format!("did you mean '{}'?", near.join("' or '")),
            };
            Err(error.hint(hint).with_details(json!({ "id": typed, "nearest": near, "next_step": "search_commands" })))
        }
    }
}

/// Returns the possible spellings: the text itself, and an id if the text is `group name` or `group group:name`.
fn forms(typed: &str) -> Vec<String> {
    let words: Vec<&str> = typed.split_whitespace().collect();
    let mut forms = vec![words.join(" ")];
    if let [group, rest @ ..] = words.as_slice()
        && let [name, ..] = rest
    {
        let is_whole = name.strip_prefix(group).is_some_and(|name| name.starts_with(':'));
        forms.push(if is_whole { rest.join(":") } else { words.join(":") });
    }
    forms
}

/// Returns the most similar ids, best first.
fn nearest(commands: &Reachable<'_>, indexes: &[Arc<Index>], forms: &[String]) -> Vec<String> {
    let typed: Vec<String> =
        forms.iter().filter(|form| form.len() <= LONGEST).map(|form| form.to_lowercase()).collect();
    let likeness = |id: &str| {
        let id = id.to_lowercase();
        let like = typed.iter().map(|typed| strsim::jaro_winkler(typed, &id));
        like.fold(0.0, f64::max)
    };
    // Users often omit the prefix of a catalog, so the id without its first group is compared as well.
    let likeness = |id: &str| {
        let rest = id.split_once(':').map(|(_, rest)| rest).filter(|rest| rest.contains(':'));
        rest.map_or(0.0, &likeness).max(likeness(id))
    };
    let all = commands.search(indexes, "", |_| true);
    let mut near: Vec<(f64, &str)> = all
        .iter()
        .map(|found| (std::iter::once(&found.brief.id).chain(&found.brief.aliases), found.brief.id.as_str()))
        .map(|(names, id)| (names.map(|name| likeness(name)).fold(0.0, f64::max), id))
        .filter(|(likeness, _)| *likeness >= LIKENESS)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.into_iter().take(NEAR).map(|(_, id)| id.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stub that knows no commands, only suggestions.
    struct Unsure(Vec<String>);

    impl Commands for Unsure {
        fn resolve(&self, typed: &str) -> Result<Resolved> {
            Ok(if typed == "list" { Resolved::Several(self.0.clone()) } else { Resolved::None(self.0.clone()) })
        }

        fn provider(&self, _: &str) -> Result<Option<Arc<ProviderContract>>> {
            Ok(None)
        }
    }

    #[test]
    fn an_ambiguous_name_lists_the_commands_and_an_unknown_one_similar_commands() {
        let commands = Unsure(vec!["apps:list".to_owned(), "addons:list".to_owned()]);
        let several = require(&commands, "list").unwrap_err();
        assert_eq!((several.code(), several.message()), (Code::Ambiguous, "'list' stands for 2 commands"));
        assert_eq!(several.hints(), ["say which one: apps:list, addons:list"]);
        assert_eq!(several.details().unwrap()["ids"], json!(["apps:list", "addons:list"]));
        let none = require(&commands, "lists").unwrap_err();
        assert_eq!(
            (none.code(), none.hints()),
            (Code::NotFound, &["did you mean 'apps:list' or 'addons:list'?".to_owned()][..])
        );
        assert!(require(&Unsure(Vec::new()), "x").unwrap_err().hints()[0].contains("command search"));
    }

    #[test]
    fn a_group_and_a_name_are_an_id() {
        assert_eq!(forms("apps:create"), ["apps:create"]);
        assert_eq!(forms(" apps  create "), ["apps create", "apps:create"]);
        assert_eq!(forms("apps apps:create"), ["apps apps:create", "apps:create"]);
        assert_eq!(forms("mcpkg prompt create"), ["mcpkg prompt create", "mcpkg:prompt:create"]);
        assert_eq!(forms("GET /apps"), ["GET /apps", "GET:/apps"]);
        assert_eq!(forms(""), [""]);
    }
}
