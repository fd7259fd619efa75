//! The resources of a domain, for resources/templates/list, resources/read, completion and subscriptions.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use super::{Context, PAGE};
use mcpkg_base::error::{Error, Result};
use mcpkg_store::Db;
use mcpkg_store::blobs::Blob;
use mcpkg_store::projects::Selection;

/// A resource, or all resources of one URI template.
pub struct Resource {
    /// The URI, or a template of RFC 6570 in which `{name}` stands for one part between slashes.
    pub uri: &'static str,
    /// The name in lists.
    pub name: &'static str,
    /// A title for people.
    pub title: &'static str,
    pub description: &'static str,
    /// The MIME type, if it is the same for all resources of the template.
    pub mime_type: Option<&'static str>,
    pub shown: ListedIn,
    /// How to read a resource that is not stored in rows. `read`, `validator` and `complete` are not used then.
    pub live: Option<Live>,
    /// Passes the contents to the given [`Contents`]. Returns whether the resource exists.
    pub read: fn(&ResourceRequest<'_>, &mut dyn Contents) -> Result<bool>,
    /// Returns a validator that changes exactly when the contents change; `None` if the resource does not exist.
    pub validator: fn(&ResourceRequest<'_>) -> Result<Option<Validator>>,
    /// Returns completions for a variable of the template; `None` if there is no such variable.
    pub complete: fn(&Completing<'_>) -> Result<Option<Vec<String>>>,
}

/// Reads a resource that is made from files and the output of programs instead of rows. Reading may run git, so it happens
/// outside any transaction.
#[derive(Clone, Copy)]
pub struct Live {
    /// The resource's group of tools. Only clients that are served this group can read the resource.
    pub group: &'static str,
    /// Returns the text; `None` if the resource does not exist.
    pub read: fn(&Context, &Values) -> Result<Option<String>>,
    /// Returns the current values of the template's variable, in order; empty if there is no variable.
    pub names: Named,
    /// Whether the text may change without a report from the watch. If so, a server has to read the text again to find out.
    pub looked_at_again: bool,
}

/// Returns the current values of a template's variable, in order.
pub type Named = fn(&Context) -> Result<Vec<String>>;

/// The MCP list that contains a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedIn {
    Template,
    /// In resources/list, after the stored resources. The URI has no variable.
    Listed,
    /// In neither list, because something else refers to the resource.
    Elsewhere,
}

pub struct ResourceRequest<'a> {
    pub db: &'a Db<'a>,
    /// How the request selects its project.
    pub selection: &'a Selection,
    /// The requested URI.
    pub uri: &'a str,
    pub values: Values,
    /// The maximum size of content in one answer, in bytes.
    pub max_answer: u64,
}

/// A template's variable whose value the user is typing.
pub struct Completing<'a> {
    pub db: &'a Db<'a>,
    /// How the request selects its project.
    pub selection: &'a Selection,
    pub variable: &'a str,
    /// The part of the value that was typed so far.
    pub typed: &'a str,
    /// Returns the values of other variables, if known.
    pub given: &'a dyn Fn(&str) -> Option<&'a str>,
    /// The maximum number of values to return.
    pub limit: usize,
}

/// The decoded values of a template's variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values(Vec<(&'static str, String)>);

impl Values {
    /// Returns the value of a variable, which must be one of the template's.
    pub fn get(&self, variable: &str) -> &str {
        self.0.iter().find(|(name, _)| *name == variable).map_or("", |(_, value)| value)
    }
}

/// Receives the contents of a resource. `shell` returns a command that prints the contents. The client gets this
/// command if the contents are too large for one answer.
pub trait Contents {
    fn text(&mut self, mime_type: Option<&str>, text: &str, shell: &dyn Fn() -> String) -> Result<()>;

    /// Receives stored bytes. If they are valid text, the client gets text.
    fn blob(
        &mut self,
        db: &Db<'_>,
        mime_type: Option<&str>,
        is_text: bool,
        blob: Blob<'_>,
        shell: &dyn Fn() -> String,
    ) -> Result<()>;
}

/// Shows whether an answer has changed, like an ETag: equal validators mean equal answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Validator(String);

impl Validator {
    /// Returns the validator for an answer that depends only on these values.
    ///
    /// # Errors
    /// `E_INTERNAL` if a value cannot be written as JSON.
    pub fn of(values: &impl Serialize) -> Result<Self> {
        let text = serde_json::to_string(values);
        text.map(Self).map_err(|error| Error::internal("a validator cannot be written as JSON").with_source(error))
    }
}

impl Resource {
    /// The default values of all fields: `..Resource::EMPTY` fills in the rest.
    pub const EMPTY: Self = Self {
        uri: "",
        name: "",
        title: "",
        description: "",
        mime_type: None,
        shown: ListedIn::Template,
        live: None,
        read: |_, _| Ok(false),
        validator: |_| Ok(None),
        complete: |_| Ok(None),
    };

    /// Returns the name of the first variable of the template.
    pub fn variable(&self) -> Option<&'static str> {
        self.uri.split('/').find_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }

    /// Returns the values of the template's variables if `uri` matches the template. The URI is split at its slashes before
    /// its parts are decoded, so that an encoded slash stays within its part.
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

/// Decodes a part of a URI; `None` if it is not UTF-8.
fn decode(part: &str) -> Option<Cow<'_, str>> {
    percent_encoding::percent_decode_str(part).decode_utf8().ok()
}

/// Adds a page of rows to an object, and returns the object as JSON text. The page has at most [`PAGE`] rows, and only
/// as many as fit into an answer of `limit` bytes. The key `more` says whether rows are left.
///
/// # Errors
/// `E_INTERNAL` if a row cannot be written as JSON.
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
    fn a_uri_is_split_before_its_parts_are_decoded() {
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
    fn rows_that_do_not_fit_are_left_out_and_reported() {
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
