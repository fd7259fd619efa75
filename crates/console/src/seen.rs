//! Shows what each agent has of a prompt, skill or resource: the deployed files, and the state of each file.

use serde_json::Value;

use mcpkg_core::op::Context;

use crate::action::Invocation;
use crate::data::{count, number, rows, text, texts};
use crate::deploy::{self, Change};
use crate::reply;
use crate::screen::{Line, Tone};

pub const AS_AGENTS_SEE_IT: &str = "as agents see it";

/// The views of an item. The first one is the text as it is stored.
pub const VIEWS: &[&str] = &["raw", "rendered", AS_AGENTS_SEE_IT];

/// The index of the view that renders Markdown.
pub const RENDERED: usize = 1;

/// Returns lines that say in which files agents have a prompt, and that they can also read it over MCP.
pub fn prompt(context: &Context, name: &str) -> Vec<Line> {
    let mut lines = module(context, &format!("command:{name}"));
    lines.push(Line::blank());
    let served =
        Line::of(Tone::Name, "over MCP").then(Tone::Plain, &format!("  prompt {name}, always the newest revision;"));
    lines.extend([served, Line::plain("  a client that has read it keeps what it read until it asks again")]);
    lines
}

/// Returns lines that say in which files agents have a module or a resource. `id` is the id of the module or the URI of
/// the resource.
pub fn module(context: &Context, id: &str) -> Vec<Line> {
    let id = match id.contains("://") {
        true => of_resource(context, id),
        false => Some(id.to_owned()),
    };
    let Some(id) = id else {
        return vec![Line::plain("No deploy writes this resource. Agents read it over MCP.")];
    };
    let data = match Invocation::new("module show").with(&id).read(context) {
        Ok(data) => data,
        Err(error) => return reply::error(&error),
    };
    // The changes cannot be read if, for example, there is no folder to deploy to.
    let (changes, unread) = match deploy::changes(context) {
        Ok(changes) => (Some(changes), None),
        Err(error) => (None, Some(error)),
    };
    let bytes = rows(&data, "files").iter().map(|file| number(file, "size")).sum();
    let size = count(bytes, "byte");
    let cost = match text(&data, "type") {
        "instructions" => format!("{size}, loaded as its globs and its agent say, by default in every session"),
        "skill" => format!("{size}; every session lists its name and description, and loads the rest when it is used"),
        _ => format!("{size}, loaded when it is called"),
    };
    let mut lines = vec![Line::of(Tone::Strong, &id).then(Tone::Plain, &format!("  {cost}")), Line::blank()];
    let deployed = rows(&data, "deployed");
    for file in deployed {
        let (state, tone) = state(changes.as_deref(), text(file, "path"));
        lines.push(Line::of(Tone::Name, &texts(file, "targets").join(", ")).then(Tone::Plain, "  ").then(tone, state));
        lines.push(Line::of(Tone::Dim, "  ").then(Tone::Plain, text(file, "path")));
    }
    let is_known = |change: &&Change| deployed.iter().any(|file: &Value| text(file, "path") == change.path);
    for change in
        changes.iter().flatten().filter(|change| change.modules.contains(&id)).filter(|change| !is_known(change))
    {
        lines.push(Line::of(Tone::Name, &change.agents.join(", ")).then(Tone::Warning, "  not deployed yet"));
        lines.push(Line::of(Tone::Dim, "  ").then(Tone::Plain, &change.path));
    }
    if let Some(error) = unread.filter(|_| !deployed.is_empty()) {
        lines.push(Line::blank());
        lines.push(Line::plain("Whether the files are current is unknown, because mcpkg cannot plan a deploy:"));
        lines.extend(reply::error(&error));
    }
    if deployed.is_empty() && lines.len() == 2 {
        lines.push(Line::plain("Not deployed, so no agent has it as a file."));
    }
    lines
}

/// Returns the state of a deployed file. `changes` is what a deploy would change, if that is known.
fn state(changes: Option<&[Change]>, path: &str) -> (&'static str, Tone) {
    let Some(changes) = changes else { return ("unknown", Tone::Warning) };
    match changes.iter().find(|change| change.path == path) {
        None => ("up to date", Tone::Good),
        Some(change) if change.is_foreign => ("OUT: you or another program wrote this file", Tone::Warning),
        Some(change) if change.is_changed_on_disk => ("OUT: changed on disk since it was deployed", Tone::Warning),
        Some(change) => match change.op.as_str() {
            "delete" => ("has it until the next deploy, which deletes it", Tone::Warning),
            "create" => ("the file is gone; the next deploy writes it again", Tone::Warning),
            _ => ("has an older text than the project", Tone::Warning),
        },
    }
}

/// Returns the id of the module that a resource belongs to.
fn of_resource(context: &Context, uri: &str) -> Option<String> {
    let data = Invocation::new("module list").read(context).ok()?;
    let name = uri.split_once("://").map_or(uri, |(_, name)| name);
    let is_of = |found: &&Value| text(found, "id").split_once(':').is_some_and(|(_, own)| own == name);
    rows(&data, "modules").iter().find(is_of).map(|found| text(found, "id").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_plan_it_is_unknown_whether_a_file_is_current() {
        assert_eq!(state(None, "a"), ("unknown", Tone::Warning));
        assert_eq!(state(Some(&[]), "a"), ("up to date", Tone::Good));
    }
}
