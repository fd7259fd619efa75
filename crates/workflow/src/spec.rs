//! Defines what a command is: `CommandSpec` and `ProviderContract` of contract 004 (workflows), the same for all
//! sources.

use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::canonical;
use mcpkg_base::hex;
use mcpkg_core::op::Effect;

/// The type of an argument whose value is a reference to a secret.
pub const SECRET: &str = "secret";

/// A command: its arguments, its output and its effect (contract 004, section 4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandSpec {
    /// `group:name`, as `search_commands` returns it.
    pub id: String,
    /// The part of the id before its first colon: `mcpkg`, `tool`, the prefix of a catalog, or the name of a plugin.
    pub group: String,
    /// The rest of the id.
    pub name: String,
    /// The path of the URL, with its placeholders in braces. Only for HTTP commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The method of the request. Only for HTTP commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// What the command does, in one line.
    pub summary: String,
    /// A longer description of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The kind of source that the command comes from.
    pub source: SourceKind,
    /// The command's effect on existing data.
    pub effect: CommandEffect,
    /// What a second call with the same arguments does.
    pub idempotency: Idempotency,
    /// The named arguments. A step gives their values under `with`.
    pub flags: Vec<Flag>,
    /// The placeholders of the path, in the path's order. A step gives their values under `with`, keyed by name.
    pub positionals: Vec<Positional>,
    /// The request body, if the command sends one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// What the command returns.
    pub output_contract: OutputContract,
    /// The names of the security schemes that the command uses; never the secrets themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub auth: Vec<String>,
    /// The base URL, which comes before the path. Only for HTTP commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Arguments of other commands that this command's output can fill, as `COMMAND.ARGUMENT`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provider_for: Vec<String>,
    /// Other ids for the command, such as the operationId in an OpenAPI document.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Whether the source marks the command as deprecated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deprecated: bool,
    /// Whether a step can run the command.
    pub runnable: bool,
    /// The reason why no step can run the command, if none can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
    /// A warning that nobody has checked the command's current version. mcpkg shows the warning before you consent to the command.
    #[serde(skip)]
    pub caution: Option<&'static str>,
    /// The hash of the command, computed when it is first needed.
    #[serde(skip)]
    pub hashed: Hashed,
}

/// The cached hash of a spec. A clone starts without it, because the clone may be changed.
#[derive(Debug, Default)]
pub struct Hashed(OnceLock<String>);

impl Clone for Hashed {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// All caches are equal, so that comparing specs ignores them.
impl PartialEq for Hashed {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl CommandSpec {
    /// Returns a read-only command that takes no arguments and has an unknown output; `id` is `GROUP:NAME`.
    pub fn new(id: impl Into<String>, source: SourceKind) -> Self {
        let id = id.into();
        let (group, name) = id.split_once(':').unwrap_or((&id, ""));
        Self {
            group: group.to_owned(),
            name: name.to_owned(),
            path: None,
            method: None,
            summary: String::new(),
            description: None,
            source,
            effect: CommandEffect::Read,
            idempotency: Idempotency::Safe,
            flags: Vec::new(),
            positionals: Vec::new(),
            body: None,
            output_contract: OutputContract::default(),
            auth: Vec::new(),
            base_url: None,
            provider_for: Vec::new(),
            aliases: Vec::new(),
            deprecated: false,
            runnable: true,
            why_not: None,
            caution: None,
            hashed: Hashed::default(),
            id,
        }
    }

    /// Returns the required flags that have no default. If a flag of an optional body is given, the flags that this body requires
    /// count too.
    pub fn needed(&self, is_given: impl Fn(&str) -> bool) -> impl Iterator<Item = &Flag> {
        let goes_there = |flag: &Flag| flag.r#in == Some(Place::Body);
        let has_body = self.flags.iter().any(|flag| goes_there(flag) && is_given(&flag.name));
        let needs = self.body.as_ref().filter(|_| has_body).map_or(&[][..], |body| &body.needs);
        let is_needed = move |flag: &&Flag| flag.required || (goes_there(flag) && needs.contains(&flag.name));
        self.flags.iter().filter(is_needed).filter(|flag| flag.default.is_none())
    }

    /// Returns whether the command can provide values for arguments: it can be run, only reads, and returns a list.
    pub fn is_provider(&self) -> bool {
        self.output_contract.list.is_some() && self.effect == CommandEffect::Read && self.runnable
    }

    /// Returns the SHA-256 of the spec in hex, independent of key order. `provider_for` is excluded, because it depends on
    /// other commands.
    pub fn hash(&self) -> String {
        let hashed = self.hashed.0.get_or_init(|| {
            let own = Self { provider_for: Vec::new(), ..self.clone() };
            canonical::digest(&own).map(|digest| hex::encode(&digest)).unwrap_or_default()
        });
        hashed.clone()
    }
}

/// The kind of source that a command comes from.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// mcpkg's own operations that are available as tools.
    Operations,
    /// Imported OpenAPI documents.
    Catalogs,
    /// Installed tools.
    Tools,
    /// Tools of other MCP servers.
    Plugins,
}

/// The effect of a command on existing data. The variants are ordered from harmless to dangerous.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum CommandEffect {
    /// Changes nothing.
    Read,
    /// Adds or changes data.
    Write,
    /// Deletes data, or loses it permanently.
    Destroy,
}

impl CommandEffect {
    /// Returns a word for people that says what a command with this effect does.
    pub fn does(self) -> &'static str {
        Effect::from(self).does()
    }
}

impl From<CommandEffect> for Effect {
    fn from(effect: CommandEffect) -> Self {
        match effect {
            CommandEffect::Read => Self::Read,
            CommandEffect::Write => Self::Write,
            CommandEffect::Destroy => Self::Destroy,
        }
    }
}

/// The effect of a second call with the same arguments. It decides whether a call may be sent again after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Idempotency {
    /// No call changes anything.
    Safe,
    /// A second call changes nothing more.
    Idempotent,
    /// A second call changes nothing more if both calls carry the same idempotency key.
    Key,
    /// Unknown: a second call might repeat every change.
    None,
}

/// An argument with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Flag {
    /// The flag's name under `with`. If flags of the same name go to different places, each gets a suffix: `_query`, `_header` or
    /// `_body`.
    pub name: String,
    /// A JSON Schema type, `secret`, or `any` if the source gives no type or several types.
    pub r#type: String,
    /// The flag's name in the request, if different.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// How the request encodes the argument, if not in the default way for its place. Only for HTTP commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style: Option<Style>,
    /// The media type of the argument's part, if the body is multipart and the API document specifies a media type. Only for HTTP commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<String>,
    /// Where the request carries the argument. Only for HTTP commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#in: Option<Place>,
    /// Whether the argument is required.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// Whether null is a valid value. Null can be sent only as JSON, not in other parts of a request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nullable: bool,
    /// The allowed values, if the set is fixed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub r#enum: Vec<Value>,
    /// The alternative forms of the value, if there are several: the value must match one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub any_of: Vec<Form>,
    /// The default value, from the schema's `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The schema's `format`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// JSON pointers to the passwords in the value. In a pointer, `*` matches any key or element, and `**` matches any number of keys
    /// or elements.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passwords: Vec<String>,
    /// The type of the elements of an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<String>,
    /// What the argument means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The command whose output provides values for the argument.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The tags of the values that the argument accepts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepts: Vec<String>,
    /// The preferred tag among `accepts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefer: Option<String>,
}

impl Flag {
    /// Returns a flag with default settings.
    pub fn new(name: impl Into<String>, r#type: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            r#type: r#type.into(),
            key: None,
            style: None,
            media: None,
            r#in: None,
            required: false,
            nullable: false,
            r#enum: Vec::new(),
            any_of: Vec::new(),
            default: None,
            format: None,
            passwords: Vec::new(),
            items: None,
            description: None,
            provider: None,
            accepts: Vec::new(),
            prefer: None,
        }
    }
}

/// One of several forms of a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Form {
    /// A JSON Schema type.
    pub r#type: String,
    /// The allowed values of this type, if the set is fixed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub r#enum: Vec<Value>,
}

/// Where a request carries an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// In the query string of the URL.
    Query,
    /// In a header of the same name.
    Header,
    /// Under a key of the body.
    Body,
}

/// How a request encodes an argument that is a list or an object.
///
/// By default, a list becomes one pair for each element in the query and in a form, and text with commas in a header. An object
/// becomes one pair for each key in the query, and JSON in a form. A JSON body contains the value itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// Elements separated by commas.
    Comma,
    /// Elements separated by spaces.
    Space,
    /// Elements separated by `|`.
    Pipe,
    /// A pair `name[key]=value` for each key of an object.
    Deep,
    /// The value as JSON text.
    Json,
    /// A pair for each element of a list, and for each key of an object.
    Pairs,
}

/// A placeholder of the path, which always has to be given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Positional {
    /// The placeholder's name under `with`.
    pub name: String,
    /// A JSON Schema type.
    pub r#type: String,
    /// JSON pointers to the passwords in the value, as in a flag. An empty pointer means that the whole value is a password.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passwords: Vec<String>,
    /// What the argument means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The command whose output provides values for the argument.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The tags of the values that the argument accepts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepts: Vec<String>,
    /// The preferred tag among `accepts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefer: Option<String>,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Body {
    /// The media type of the body.
    pub content_type: String,
    /// Whether a single argument is the whole body: text, bytes as base64, or a JSON value. Otherwise each body argument is a key
    /// of the body.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// Whether the request body is required.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// If the body is optional: the arguments that are required as soon as any body argument is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
}

/// What a command returns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutputContract {
    /// The fields of the output, or of each element if the output is a list. The name of a nested field is its path, such as
    /// `owner.id`.
    pub fields: Vec<OutputField>,
    /// The path of the list in the output, if there is one: `.` for the output itself, otherwise a path such as `data.items`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// The number of fields that are not shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_fields: Option<usize>,
    /// How the command splits its output into pages, if a person has declared this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pagination: Option<Map<String, Value>>,
    /// The JSON Schema of the output, if `detail` is `full`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Map<String, Value>>,
}

/// A field of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutputField {
    /// The field's name, or the path of a nested field.
    pub name: String,
    /// The JSON Schema type, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    /// Tags for the meaning of the field's values, such as `app_id`, `app_name` or `display`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// A list command, described as a provider of values for arguments (contract 004, section 3.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderContract {
    /// The command's id.
    pub id: String,
    /// The arguments that the command requires: its placeholders and its required flags, in order.
    pub args: Map<String, Value>,
    /// The fields of each element that the command returns.
    pub returns: Vec<OutputField>,
    /// How the command splits its output into pages, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pagination: Option<Map<String, Value>>,
}
