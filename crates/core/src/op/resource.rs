//! The resources of a domain: what resources/templates/list, resources/read, completion and subscriptions walk.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use super::{Context, PAGE};
use mcpkg_base::error::{Error, Result};
use mcpkg_store::Db;
use mcpkg_store::blobs::Blob;
use mcpkg_store::projects::Selection;

/// A resource, or all those that one URI template names.
pub struct Resource {
    /// The URI, as a template of RFC 6570: `{name}` stands for one part between slashes.
    pub uri: &'static str,
    /// Its name among the templates.
    pub name: &'static str,
    /// A title for people.
    pub title: &'static str,
    pub description: &'static str,
    /// The MIME type, where all have the same.
    pub mime_type: Option<&'static str>,
    /// Where clients find it.
    pub shown: Shown,
    /// How it is read where it is not made of rows; `read`, `validator` and `complete` are not asked then.
    pub live: Option<Live>,
    /// Hands over what it holds; returns whether there is such a thing.
    pub read: fn(&Asked<'_>, &mut dyn Contents) -> Result<bool>,
    /// Returns what differs exactly when a read does; `None` where a read finds nothing.
    pub validator: fn(&Asked<'_>) -> Result<Option<Validator>>,
    /// Returns what can complete a variable of the template; `None` where it has no such variable.
    pub complete: fn(&Completing<'_>) -> Result<Option<Vec<String>>>,
}

/// How a resource is read that is made of files and of what programs say of them, and not of rows. Reading one may run git,
/// so no transaction is open meanwhile.
#[derive(Clone, Copy)]
pub struct Live {
    /// The group of tools that it belongs to: who is not served these is not served it.
    pub group: &'static str,
    /// Returns its text; `None` where there is no such thing.
    pub read: fn(&Context, &Values) -> Result<Option<String>>,
    /// Returns the values that the variable of its template has now, in order; empty where it has no variable.
    pub names: Named,
    /// Whether its text may become another one without a ring.
    pub looked_at_again: bool,
}

/// Returns the values that the variable of a template has now, in order.
pub type Named = fn(&Context) -> Result<Vec<String>>;

/// Where clients find a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    Template,
    /// In resources/list, after what is stored; its URI has no variable.
    Listed,
    /// In neither: something else names it.
    Elsewhere,
}

/// A resource that is asked for.
pub struct Asked<'a> {
    pub db: &'a Db<'a>,
    /// What is known about the project.
    pub selection: &'a Selection,
    /// The URI as it was asked for.
    pub uri: &'a str,
    /// The values of the template's variables.
    pub values: Values,
    /// The most bytes of content that one answer carries.
    pub max_answer: u64,
}

/// A variable that is typed in.
pub struct Completing<'a> {
    pub db: &'a Db<'a>,
    /// What is known about the project.
    pub selection: &'a Selection,
    /// The name of the variable.
    pub variable: &'a str,
    /// What was typed of its value.
    pub typed: &'a str,
    /// The values of other variables that are known already.
    pub given: &'a dyn Fn(&str) -> Option<&'a str>,
    /// The most values to return.
    pub limit: usize,
}

/// The values of a template's variables, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values(Vec<(&'static str, String)>);

impl Values {
    /// Returns the value of a variable of the template, which always has one.
    pub fn get(&self, variable: &str) -> &str {
        self.0.iter().find(|(name, _)| *name == variable).map_or("", |(_, value)| value)
    }
}

/// Where a resource hands its contents over. `shell` is a command that writes contents which are too large for one
/// answer.
pub trait Contents {
    fn text(&mut self, mime_type: Option<&str>, text: &str, shell: &dyn Fn() -> String) -> Result<()>;

    /// Takes stored bytes, as text where they are one.
    fn blob(
        &mut self,
        db: &Db<'_>,
        mime_type: Option<&str>,
        is_text: bool,
        blob: Blob<'_>,
        shell: &dyn Fn() -> String,
    ) -> Result<()>;
}

/// What tells whether an answer differs from an earlier one: equal validators, equal answers (as an ETag does).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Validator(String);

impl Validator {
    /// Returns the validator of an answer that these values decide.
    ///
    /// # Errors
    /// `E_INTERNAL` where a value cannot be written as JSON.
    pub fn of(values: &impl Serialize) -> Result<Self> {
        let text = serde_json::to_string(values);
        text.map(Self).map_err(|error| Error::internal("a validator cannot be written as JSON").with_source(error))
    }
}

impl Resource {
    /// A resource without words, which holds nothing.
    pub const EMPTY: Self = Self {
        uri: "",
        name: "",
        title: "",
        description: "",
        mime_type: None,
        shown: Shown::Template,
        live: None,
        read: |_, _| Ok(false),
        validator: |_| Ok(None),
        complete: |_| Ok(None),
    };

    /// Returns the name of the first variable of the template.
    pub fn variable(&self) -> Option<&'static str> {
        self.uri.split('/').find_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }

    /// Returns the values of the template's variables where `uri` is one of its URIs. The URI is cut at its slashes
    /// first, and each part is decoded once.
    pub fn values(&self, uri: &str) -> Option<Values> {
        let (scheme, template) = self.uri.split_once("://")?;
        let path = uri.strip_prefix(scheme)?.strip_prefix("://")?;
        let mut values = Vec::new();
        let (mut wanted, mut given) = (template.split('/'), path.split('/'));
        loop {
            let (wanted, given) = match (wanted.next(), given.next()) {
                (Some(wanted), Some(given)) => (wanted, decode(given)?),
                (None, None) => return Some(Values(values)),
                _ => return None,
            };
            match wanted.strip_prefix('{').and_then(|wanted| wanted.strip_suffix('}')) {
                Some(variable) => values.push((variable, given.into_owned())),
                None if wanted == given => {}
                None => return None,
            }
        }
    }
}

/// Decodes a part of a URI; `None` where it is not UTF-8.
fn decode(part: &str) -> Option<Cow<'_, str>> {
    percent_encoding::percent_decode_str(part).decode_utf8().ok()
}

/// Returns an object with the first of the rows: a page of them, as far as it fits into an answer of `limit` bytes, and
/// whether there are more.
///
/// # Errors
/// `E_INTERNAL` where a row cannot be written as JSON.
pub fn newest(mut object: Map<String, Value>, key: &str, rows: &[impl Serialize], limit: u64) -> Result<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPT: Resource = Resource { uri: "mcpkg://prompt/{name}", ..Resource::EMPTY };
    const HISTORY: Resource = Resource { uri: "mcpkg://history/{kind}/{name}", ..Resource::EMPTY };
    const EVENTS: Resource = Resource { uri: "mcpkg://events", ..Resource::EMPTY };
    const SKILL: Resource = Resource { uri: "skill://{name}/SKILL.md", ..Resource::EMPTY };

    #[test]
    fn uris_are_read_part_by_part() {
        let name = |uri: &str| PROMPT.values(uri).map(|values| values.get("name").to_owned());
        assert_eq!(name("mcpkg://prompt/a.b-c_1").as_deref(), Some("a.b-c_1"));
        assert_eq!(name("mcpkg://prompt/%61%2Db").as_deref(), Some("a-b"));
        assert_eq!(name("mcpkg://prompt/a%2Fb").as_deref(), Some("a/b"));
        assert_eq!(name("mcpkg://prompt/%2561").as_deref(), Some("%61"), "decoded once");
        assert_eq!(name("mcpkg://%70rompt/a").as_deref(), Some("a"));
        for other in ["mcpkg://", "mcpkg://prompt", "mcpkg://prompt/a/b", "mcpkg://prompt/%ff", "mcpkg:prompt/a"] {
            assert_eq!(name(other), None, "{other}");
        }
        let history = HISTORY.values("mcpkg://history/resource/x").unwrap();
        assert_eq!((history.get("kind"), history.get("name")), ("resource", "x"));
        assert!(EVENTS.values("mcpkg://events").is_some());
        assert!(EVENTS.values("mcpkg://events/").is_none());
        assert_eq!(SKILL.values("skill://a-b/SKILL.md").unwrap().get("name"), "a-b");
        assert!(SKILL.values("skill://a-b/other.md").is_none());
        assert_eq!((SKILL.variable(), EVENTS.variable()), (Some("name"), None));
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
}
