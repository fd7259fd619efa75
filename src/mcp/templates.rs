//! Resource templates: what the served project holds under URIs of mcpkg's own, so that an agent that knows resources
//! alone finds all of it.
//!
//! What is stored under a URI goes before a template: a database from before the scheme `mcpkg` was refused loses
//! nothing.

use rmcp::model::ResourceTemplate;
use serde::Serialize;
use serde_json::{Map, Value};

use super::Config;
use super::era::Era;
use super::resources::{self, Contents};
use crate::clock::Millis;
use crate::content::answer::too_large;
use crate::content::{skills, uri};
use crate::error::{Code, Error, Result};
use crate::op::PAGE;
use crate::store::projects::{self, Project, Selection};
use crate::store::resources::Key;
use crate::store::revisions::{self, Kind};
use crate::store::{Db, events, prompts, validators};

const SCHEME: &str = "mcpkg://";
const MARKDOWN: &str = "text/markdown";
const JSON: &str = "application/json";

/// The URIs, as templates of RFC 6570.
pub(super) const PROMPT: &str = "mcpkg://prompt/{name}";
pub(super) const RESOURCE: &str = "mcpkg://resource/{name}";
pub(super) const HISTORY: &str = "mcpkg://history/{kind}/{name}";
/// A template without a variable: resources/list names what the user stored and nothing else (contract 001).
pub(super) const EVENTS: &str = "mcpkg://events";

/// Returns what resources/templates/list answers.
pub(super) fn list() -> Vec<ResourceTemplate> {
    let template = |uri: &str, name: &str, title: &str, description: &str| {
        ResourceTemplate::new(uri, name).with_title(title).with_description(description)
    };
    vec![
        template(PROMPT, "prompt", "Prompt", "The text of a stored prompt by its name, as it was written: a template is not rendered")
            .with_mime_type(MARKDOWN),
        template(RESOURCE, "resource", "Resource", "A stored resource by its name"),
        template(HISTORY, "history", "History", "The newest revisions of a prompt or resource, also of a deleted one, without contents; kind is prompt or resource")
            .with_mime_type(JSON),
        template(EVENTS, "events", "Events", "The newest changes in the project, refused ones too: what, by whom, when; without contents")
            .with_mime_type(JSON),
    ]
}

/// What a URI of mcpkg's own means.
#[derive(Debug, PartialEq, Eq)]
enum Own {
    Prompt(String),
    Resource(String),
    History(Kind, String),
    Events,
}

impl Own {
    /// Reads a URI. Each part is decoded once, after the URI was cut at its slashes.
    fn parse(uri: &str) -> Option<Self> {
        let path = uri.strip_prefix(SCHEME)?;
        let parts: Vec<String> = path.split('/').map(uri::decode).collect::<Option<_>>()?;
        match parts.as_slice() {
            [events] if events == "events" => Some(Own::Events),
            [noun, name] if noun == "prompt" => Some(Own::Prompt(name.clone())),
            [noun, name] if noun == "resource" => Some(Own::Resource(name.clone())),
            [noun, kind, name] if noun == "history" => Some(Own::History(Kind::named(kind)?, name.clone())),
            _ => None,
        }
    }
}

/// Whether a URI may be one of a template's, or a prompt's that stands for a skill.
pub(super) fn may_be(uri: &str) -> bool {
    uri.starts_with(SCHEME) || skills::name_of(uri).is_some()
}

/// Appends the result of resources/read where a template has the URI and there is such a thing; returns whether it did.
pub(super) fn read(db: &Db<'_>, config: &Config, uri: &str, era: Era, out: &mut Vec<u8>) -> Result<bool> {
    let selection = &config.selection;
    let json = Contents { uri, mime_type: Some(JSON), text: true };
    match Own::parse(uri) {
        None => {
            let Some((text, _)) = super::skills::of_prompt(db, selection, uri)? else { return Ok(false) };
            let text = String::from_utf8(text).map_err(|error| {
                crate::store::blobs::damaged_value("a prompt's content is not UTF-8").with_source(error)
            })?;
            if text.len() as u64 > config.max_answer {
                let how = format!("mcpkg skill show {} -o DIR", skills::name_of(uri).unwrap_or_default());
                return Err(too_large(&format!("Resource '{uri}'"), text.len() as u64, config.max_answer, &how));
            }
            Contents { uri, mime_type: Some(MARKDOWN), text: true }.push_text(&text, era, out);
            Ok(true)
        }
        Some(Own::Prompt(name)) => {
            let found = prompts::with(db, selection, &name, |prompt| {
                let how = || format!("mcpkg prompt show {name} --raw");
                let contents = Contents { uri, mime_type: Some(MARKDOWN), text: true };
                contents.push(db, config, prompt.content, how, era, out)
            })?;
            Ok(found.is_some())
        }
        Some(Own::Resource(name)) => resources::stored(db, config, Key::Name(&name), uri, era, out),
        Some(Own::History(kind, name)) => {
            let Some(project) = projects::resolve(db, selection)? else { return Ok(false) };
            let rows = revisions::last(db, project.id, kind, &name, PAGE + 1)?;
            if rows.is_empty() {
                return Ok(false);
            }
            let head = [("kind", kind.word()), ("name", &name)].map(|(key, text)| (key.to_owned(), text.into()));
            json.push_text(&newest(Map::from_iter(head), "revisions", &rows, config.max_answer)?, era, out);
            Ok(true)
        }
        Some(Own::Events) => {
            let rows = events::last_of(db, selection, PAGE + 1)?;
            if rows.is_empty() && projects::resolve(db, selection)?.is_none() {
                return Ok(false);
            }
            json.push_text(&newest(Map::new(), "events", &rows, config.max_answer)?, era, out);
            Ok(true)
        }
    }
}

/// Returns an object with the first of the rows: a page of them, as far as it fits into one answer, and whether there
/// are more.
fn newest(mut object: Map<String, Value>, key: &str, rows: &[impl Serialize], limit: u64) -> Result<String> {
    let mut left = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut taken = Vec::new();
    for row in rows.iter().take(PAGE) {
        let row = serde_json::to_value(row)
            .map_err(|error| Error::internal("a row cannot be written as JSON").with_source(error))?;
        match left.checked_sub(row.to_string().len() + 1) {
            Some(rest) => left = rest,
            None => break,
        }
        taken.push(row);
    }
    let more = taken.len() < rows.len();
    object.insert(key.to_owned(), taken.into());
    object.insert("more".to_owned(), more.into());
    Ok(Value::Object(object).to_string())
}

/// What tells whether a read of a URI answers something else than before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Validator {
    /// A stored resource.
    Resource(validators::Resource),
    /// A text that a template gives.
    Text([u8; 32]),
    /// The newest revision: its item, its number and when it was made.
    Revision(uuid::Uuid, i64, Millis),
    /// The newest event and when it was, if there is one.
    Event(Option<(i64, Millis)>),
}

/// Returns the project that applies. One that is named and gone serves nothing, as one that was never there.
///
/// # Errors
/// How the disk failed.
pub(super) fn served(db: &Db<'_>, selection: &Selection) -> Result<Option<Project>> {
    match projects::resolve(db, selection) {
        Err(error) if error.code() == Code::NotFound => Ok(None),
        project => project,
    }
}

/// Returns the validator of a URI: it changes exactly when what resources/read answers does; `None` where that finds
/// nothing.
///
/// # Errors
/// How the disk failed.
pub(super) fn validator(db: &Db<'_>, selection: &Selection, uri: &str) -> Result<Option<Validator>> {
    if let Some(validator) = validators::resource(db, selection, Key::Uri(uri))? {
        return Ok(Some(Validator::Resource(validator)));
    }
    let Some(project) = served(db, selection)? else { return Ok(None) };
    let Some(own) = Own::parse(uri) else {
        return Ok(super::skills::of_prompt(db, selection, uri)?.map(|(_, sha256)| Validator::Text(sha256)));
    };
    Ok(match own {
        Own::Prompt(name) => validators::prompt(db, selection, &name)?.map(Validator::Text),
        Own::Resource(name) => validators::resource(db, selection, Key::Name(&name))?.map(Validator::Resource),
        Own::History(kind, name) => {
            let rows = revisions::last(db, project.id, kind, &name, 1)?;
            rows.first().map(|newest| Validator::Revision(newest.item, newest.number, newest.at))
        }
        Own::Events => {
            let rows = events::last_of(db, selection, 1)?;
            Some(Validator::Event(rows.first().map(|newest| (newest.seq, newest.at))))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_read_part_by_part() {
        let prompt = |name: &str| Some(Own::Prompt(name.to_owned()));
        assert_eq!(Own::parse("mcpkg://prompt/a.b-c_1"), prompt("a.b-c_1"));
        assert_eq!(Own::parse("mcpkg://prompt/%61%2Db"), prompt("a-b"));
        assert_eq!(Own::parse("mcpkg://prompt/a%2Fb"), prompt("a/b"));
        assert_eq!(Own::parse("mcpkg://prompt/%2561"), prompt("%61"), "decoded once");
        assert_eq!(Own::parse("mcpkg://%70rompt/a"), prompt("a"));
        assert_eq!(Own::parse("mcpkg://history/resource/x"), Some(Own::History(Kind::Resource, "x".to_owned())));
        assert_eq!(Own::parse("mcpkg://events"), Some(Own::Events));
        for unknown in [
            "mcpkg://",
            "mcpkg://prompt",
            "mcpkg://prompt/a/b",
            "mcpkg://prompt/%ff",
            "mcpkg://history/skill/x",
            "mcpkg:prompt/a",
            "mcpkg://events/",
        ] {
            assert_eq!(Own::parse(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_said() {
        let rows = ["a".repeat(20), "b".repeat(20), "c".repeat(20)];
        let object = |limit| serde_json::from_str::<Value>(&newest(Map::new(), "rows", &rows, limit).unwrap()).unwrap();
        assert_eq!(object(50), serde_json::json!({ "rows": [rows[0], rows[1]], "more": true }));
        assert_eq!(object(5), serde_json::json!({ "rows": [], "more": true }));
        assert_eq!(object(500)["more"], false);
        let many = vec![0; PAGE + 1];
        let all: Value = serde_json::from_str(&newest(Map::new(), "rows", &many, 1 << 20).unwrap()).unwrap();
        assert_eq!((all["rows"].as_array().map(Vec::len), &all["more"]), (Some(PAGE), &Value::Bool(true)));
    }

    #[test]
    fn a_stamp_changes_exactly_when_the_answer_does() {
        let folder = tempfile::tempdir().unwrap();
        let store = crate::store::Store::open(&folder.path().join("a.db")).unwrap();
        let config = Config {
            max_answer: crate::op::MAX_ANSWER,
            max_line: crate::mcp::MAX_LINE,
            front: true,
            ..Config::default()
        };
        let context = crate::op::Context {
            ..crate::op::Context::new(config.caller(Some("test")), store.clone(), Selection::default())
        };
        let uris = [
            "file:///doc",
            "mcpkg://resource/doc",
            "mcpkg://prompt/plain",
            "mcpkg://history/prompt/plain",
            "mcpkg://history/resource/doc",
            "mcpkg://events",
            "mcpkg://nothing",
            "skill://plain/SKILL.md",
        ];
        let look = || -> Vec<_> {
            let answer = |db: &Db<'_>, uri| {
                let mut out = Vec::new();
                let read = super::super::resources::read(db, &config, uri, Era::Legacy, &mut out);
                (validator(db, &config.selection, uri).unwrap(), read.is_ok().then_some(out))
            };
            uris.iter().map(|uri| store.read(|db| Ok(answer(db, uri))).unwrap()).collect()
        };
        let run = |tool: &str, arguments: Value| {
            let entry = crate::operations().find(|entry| entry.tool == tool).unwrap();
            entry.from_agent(arguments).unwrap().run(&context).unwrap_or_else(|error| panic!("{tool}: {error}"));
        };
        let json = |text: &str| serde_json::from_str(text).unwrap();
        let mut before = look();
        assert!(before.iter().all(|(validator, _)| validator.is_none()));
        for (tool, arguments) in [
            ("create_project", r#"{"name":"p"}"#),
            ("create_prompt", r#"{"name":"plain","content":"one"}"#),
            ("create_resource", r#"{"name":"doc","uri":"file:///doc","content":"one"}"#),
            ("update_prompt", r#"{"name":"plain","description":"d"}"#),
            ("update_prompt", r#"{"name":"plain","content":"two"}"#),
            ("create_skill", r#"{"name":"plain","content":"x","description":"d"}"#),
            ("delete_skill", r#"{"name":"plain"}"#),
            ("update_resource", r#"{"name":"doc","description":"d"}"#),
            ("update_resource", r#"{"name":"doc","content":"two"}"#),
            ("update_resource", r#"{"name":"doc","mime_type":"text/markdown"}"#),
            ("delete_prompt", r#"{"name":"plain"}"#),
            ("create_prompt", r#"{"name":"plain","content":"two"}"#),
            ("rename_prompt", r#"{"name":"plain","to":"fancy"}"#),
            ("delete_resource", r#"{"name":"doc"}"#),
            ("create_project", r#"{"name":"q"}"#),
            ("select_project", r#"{"name":"q"}"#),
        ] {
            run(tool, json(arguments));
            let after = look();
            for ((uri, before), after) in uris.iter().zip(&before).zip(&after) {
                assert_eq!(after.0.is_some(), after.1.is_some(), "{tool} {arguments} {uri}");
                assert_eq!(before.0 == after.0, before.1 == after.1, "{tool} {arguments} {uri}");
            }
            before = after;
        }
    }

    #[test]
    fn every_template_has_its_words() {
        for template in list() {
            assert!(may_be(&template.uri_template));
            assert!(template.title.is_some() && template.description.is_some(), "{}", template.name);
        }
    }
}
