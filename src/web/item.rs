//! A prompt, a resource or the main file of a skill in an editor: its text, what is wrong with it, and how to save it.

use serde_json::{Value, json};

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_console::finding::Finding;
use mcpkg_console::place::Place;
use mcpkg_console::{Invocation, action, document, markdown};
use mcpkg_content::skills;
use mcpkg_core::op::{Context, Reply};

use super::address::{self, Fields};

/// The path of the page that edits items.
const PATH: &str = "/edit";

pub struct Item {
    pub place: Place,
    /// The noun of the item's commands: `prompt` or `resource`.
    noun: &'static str,
    /// The name that the item's commands take.
    name: String,
    /// The URI; empty for a prompt.
    uri: String,
    pub text: String,
    /// The language of the text: `markdown`, `yaml`, `json` or `text`.
    pub syntax: &'static str,
    /// Whether the prompt has front matter, which is stored apart from its text.
    pub has_front_matter: bool,
}

/// Returns the address of the page that edits the item of a place; `None` if the place shows no item with a text.
pub fn address(place: &Place) -> Option<String> {
    let (name, value) = match place {
        Place::Prompt(name) => ("prompt", name.clone()),
        Place::Skill(name) => ("resource", skills::uri_of(name, skills::MAIN)),
        Place::Resource(uri) if !markdown::is_image(uri) => ("resource", uri.clone()),
        _ => return None,
    };
    Some(address::with(PATH, &[(name, &value)]))
}

/// Returns the item whose editor has these fields in its address.
pub fn named(query: &Fields) -> Option<Place> {
    match (query.get("prompt"), query.get("resource")) {
        ("", "") => None,
        ("", uri) => Some(Place::Resource(uri.to_owned())),
        (name, _) => Some(Place::Prompt(name.to_owned())),
    }
}

impl Item {
    /// Opens a prompt or a resource.
    pub fn open(context: &Context, place: &Place) -> Result<Self> {
        let of = |data: &Value, field: &str| data[field].as_str().unwrap_or_default().to_owned();
        match place {
            Place::Prompt(name) => {
                let data = Invocation::new("prompt show").with(name).option("--raw", "true").read(context)?;
                Ok(Self {
                    place: place.clone(),
                    noun: "prompt",
                    name: name.clone(),
                    uri: String::new(),
                    text: of(&data, "text"),
                    syntax: "markdown",
                    has_front_matter: !of(&data, "front_matter").is_empty(),
                })
            }
            Place::Resource(uri) => {
                let data = Invocation::new("resource show").with(uri).read(context)?;
                let Some(text) = data["text"].as_str() else {
                    let why = format!("Resource '{uri}' is not text, so it cannot be edited here");
                    return Err(Error::new(Code::InvalidArgument, why)
                        .hint(format!("mcpkg resource update {} @FILE", of(&data, "name"))));
                };
                Ok(Self {
                    place: place.clone(),
                    noun: "resource",
                    name: of(&data, "name"),
                    uri: uri.clone(),
                    text: text.to_owned(),
                    syntax: syntax(uri, &of(&data, "mime_type")),
                    has_front_matter: false,
                })
            }
            _ => Err(Error::new(Code::NotFound, "Only prompts, resources and skills have a text to edit here")),
        }
    }

    pub fn address(&self) -> String {
        address(&self.place).unwrap_or_else(|| PATH.to_owned())
    }

    /// Returns the name to show: the prompt's name, or the URI.
    pub fn shown(&self) -> &str {
        if self.uri.is_empty() { &self.name } else { &self.uri }
    }

    /// Returns what `mcpkg audit` and, for the `SKILL.md` of a skill, `mcpkg skill validate` say about a text.
    pub fn findings(&self, context: &Context, written: &str) -> Result<Vec<Finding>> {
        let failed = |error| Error::new(Code::FileFailed, format!("Cannot store the text to check it: {error}"));
        let folder = tempfile::Builder::new().prefix("mcpkg-").tempdir().map_err(failed)?;
        // Some rules of the audit depend on the name.
        let skill = skills::name_of(&self.uri);
        let name = match (skill, self.syntax) {
            (Some(_), _) => skills::MAIN.to_owned(),
            (None, "markdown") => "text.md".to_owned(),
            (None, syntax) => format!("text.{syntax}"),
        };
        let file = folder.path().join(name);
        std::fs::write(&file, written).map_err(failed)?;
        let audited = Invocation::new("audit").with(file.to_string_lossy()).read(context)?;
        let mut found: Vec<Finding> = audited["findings"].as_array().into_iter().flatten().map(of_audit).collect();
        if let Some(skill) = skill {
            let problems = skills::check::main(skill, written).all_problems();
            found.extend(
                problems.into_iter().map(|problem| finding("skill", problem.line, 1, "error", problem.problem)),
            );
        }
        found.sort_by_key(|found| (!found.is_error, found.line, found.column));
        Ok(found)
    }

    /// Returns who saved the newest revision; empty if that is unknown.
    pub fn saved_by(&self, context: &Context) -> String {
        document::by(context, self.noun, &self.name)
    }

    /// Stores a new revision with this text.
    pub fn save(&self, context: &Context, written: &str) -> Result<Reply> {
        let words = format!("{} update", self.noun);
        let entry = action::entry(context.domains, &words)
            .ok_or_else(|| Error::new(Code::NotFound, format!("This build has no command `mcpkg {words}`")))?;
        // As JSON, because the shell would read a text that begins with @ from a file.
        entry.from_agent(json!({ "name": self.name, "content": written }))?.run(context)
    }
}

fn syntax(uri: &str, mime_type: &str) -> &'static str {
    let end = uri.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    match end.as_str() {
        _ if markdown::is_markdown(uri, mime_type) => "markdown",
        "json" => "json",
        "yaml" | "yml" => "yaml",
        _ if mime_type.starts_with("application/json") => "json",
        _ => "text",
    }
}

/// Returns a finding of `mcpkg audit`.
fn of_audit(found: &Value) -> Finding {
    let place = |name: &str| found[name].as_u64().and_then(|at| usize::try_from(at).ok()).unwrap_or(1);
    let text = |name: &str| found[name].as_str().unwrap_or_default();
    let message = format!("{}: {}", text("what"), text("text"));
    let severity = match text("severity") {
        "critical" => "critical",
        "note" => "note",
        _ => "warning",
    };
    Finding { hint: text("why").to_owned(), ..finding(text("rule"), place("line"), place("column"), severity, message) }
}

fn finding(code: &str, line: usize, column: usize, severity: &'static str, message: String) -> Finding {
    Finding {
        code: code.to_owned(),
        pointer: String::new(),
        severity,
        is_error: matches!(severity, "critical" | "error"),
        message,
        hint: String::new(),
        why: String::new(),
        line,
        column,
        end_line: line,
        end_column: column,
        fix: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_with_a_text_has_the_address_of_its_editor() {
        for (place, address) in [
            (Place::Prompt("a&b".to_owned()), "/edit?prompt=a%26b"),
            (Place::Skill("tidy".to_owned()), "/edit?resource=skill%3A%2F%2Ftidy%2FSKILL.md"),
            (Place::Resource("file:///a.md".to_owned()), "/edit?resource=file%3A%2F%2F%2Fa.md"),
        ] {
            assert_eq!(super::address(&place).as_deref(), Some(address));
            let query = Fields::parse(address.split_once('?').expect("a query").1.as_bytes());
            assert_eq!(named(&query).and_then(|place| super::address(&place)).as_deref(), Some(address));
        }
        assert_eq!(super::address(&Place::Resource("file:///a.png".to_owned())), None);
        assert_eq!(super::address(&Place::Inbox), None);
        assert_eq!(named(&Fields::default()), None);
    }

    #[test]
    fn the_language_follows_from_the_name_and_the_type() {
        let of = [
            ("file:///a.md", ""),
            ("rule://x", ""),
            ("file:///a.JSON", ""),
            ("x://a", "application/json"),
            ("x://b.yml", ""),
        ];
        let found = of.map(|(uri, mime_type)| syntax(uri, mime_type));
        assert_eq!(found, ["markdown", "markdown", "json", "json", "yaml"]);
        assert_eq!(syntax("file:///a.py", "text/x-python"), "text");
    }
}
