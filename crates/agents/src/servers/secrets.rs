//! Replaces possible secrets with references before a server is stored.
//!
//! The values of variables and headers are not stored, because mcpkg cannot tell which of them are secret. The user can
//! name the variables and headers to store. Elsewhere, only text that looks like a secret is replaced: passwords and
//! keys in URLs, tokens, and the values of arguments such as `--token`. Keys that only one agent understands are
//! removed if their value may be secret.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use super::expansion::{is_variable, without_defaults};
use mcpkg_base::redact::{holds_token, names_user};
use mcpkg_store::servers::{Definition, Part, Text};

/// Words in the names of options, URL parameters and keys whose values are secret.
const SECRET_WORDS: &[&str] =
    &["apikey", "auth", "bearer", "credential", "key", "passwd", "password", "secret", "signature", "token"];

/// The schemes that precede the secret in a header.
const SCHEMES: &[&str] = &["Bearer ", "bearer ", "Basic ", "Token ", "token ", "ApiKey "];

/// Replaces secrets of servers with variables, and remembers which variable replaces which secret.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    /// The variables and headers whose values may be stored.
    keep: Vec<String>,
    /// The variables that replace a secret, each with a hash of the secret.
    taken: BTreeMap<String, u64>,
}

/// The secrets that were removed from a server.
#[derive(Debug, Default)]
pub struct TakenOut {
    /// Notes for the user, one per line.
    pub notes: Vec<String>,
    /// The removed secrets, to check that they occur nowhere else.
    pub texts: Vec<String>,
}

impl Secrets {
    /// Creates a value that leaves these variables and headers unchanged.
    pub fn keeping(keep: &[String]) -> Self {
        Self { keep: keep.to_vec(), taken: BTreeMap::new() }
    }

    /// Replaces everything in a server that may be secret with references. Removes the keys that only one agent
    /// understands if their value may be secret.
    pub fn take_out(&mut self, server: &str, definition: &mut Definition) -> TakenOut {
        let mut taking = Taking { secrets: self, server, out: TakenOut::default() };
        taking.named("env", &mut definition.env);
        taking.named("header", &mut definition.headers);
        if let Some(url) = &mut definition.url {
            taking.url(url);
        }
        taking.args(&mut definition.args);
        for (what, text) in [("command", &mut definition.command), ("cwd", &mut definition.cwd)] {
            for text in text.iter_mut().filter(|text| literals(text).any(holds_token)) {
                taking.replace(what, text, what);
            }
        }
        definition.extra.retain(|key, value| {
            let safe = !is_secret(key, value);
            if !safe {
                taking.note(format!("its key `{key}` was not stored, because it may contain a secret"));
            }
            safe
        });
        for input in &mut definition.inputs {
            taking.input(input);
        }
        taking.out
    }
}

struct Taking<'s, 'n> {
    secrets: &'s mut Secrets,
    server: &'n str,
    out: TakenOut,
}

impl Taking<'_, '_> {
    fn note(&mut self, what: String) {
        self.out.notes.push(format!("server '{}': {what}", self.server));
    }

    fn named(&mut self, what: &str, named: &mut [(String, Text)]) {
        for (name, text) in named {
            if self.secrets.keep.iter().any(|kept| kept == name) || text.literal() == Some("") {
                continue;
            }
            if text.refers() && literals(text).all(|plain| SCHEMES.contains(&plain)) {
                let without = without_defaults(text);
                if without != *text {
                    let defaults = text.parts().iter().filter_map(|part| match part {
                        Part::Env { default: Some(default), .. } => Some(default.clone()),
                        _ => None,
                    });
                    self.out.texts.extend(defaults);
                    *text = without;
                    self.note(format!(
                        "the default in {what} {name} was not stored; to store the default, use `--keep-env {name}`"
                    ));
                }
                continue;
            }
            let scheme = text.literal().and_then(|plain| SCHEMES.iter().find(|scheme| plain.starts_with(**scheme)));
            let wanted = match scheme.filter(|_| what == "header") {
                Some(_) => format!("{}_TOKEN", self.server),
                None if what == "env" => name.clone(),
                None => format!("{}_{name}", self.server),
            };
            let scheme = scheme.copied().filter(|_| what == "header").unwrap_or_default();
            self.replace_after(scheme, &format!("{what} {name}"), text, &wanted);
        }
    }

    fn url(&mut self, text: &mut Text) {
        let Some(url) = text.literal().map(str::to_owned) else {
            let secret = |plain: &str| holds_token(plain) || plain.contains('@');
            if literals(text).any(secret) {
                self.replace("the address", text, "URL");
            }
            return;
        };
        let Some((scheme, rest)) = url.split_once("://") else { return };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let mut parts = Text::plain(format!("{scheme}://"));
        match authority.rsplit_once('@') {
            Some((user, _)) if is_users_name(scheme, user) => parts.push(Part::Text(authority.to_owned())),
            Some((user, host)) => {
                parts.push(self.variable("the address", user, "USERINFO"));
                parts.push(Part::Text(format!("@{host}")));
            }
            None => parts.push(Part::Text(authority.to_owned())),
        }
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        for (at, segment) in path.split('/').enumerate() {
            if at > 0 {
                parts.push(Part::Text("/".to_owned()));
            }
            parts.push(self.unless_token("the address", segment, "PATH"));
        }
        for (at, pair) in query.into_iter().flat_map(|query| query.split('&')).enumerate() {
            parts.push(Part::Text(if at == 0 { "?" } else { "&" }.to_owned()));
            match pair.split_once('=') {
                Some((key, value)) if !value.is_empty() && (has_secret_word(key) || holds_token(value)) => {
                    parts.push(Part::Text(format!("{key}=")));
                    parts.push(self.variable("the address", value, key));
                }
                _ => parts.push(self.unless_token("the address", pair, "QUERY")),
            }
        }
        *text = parts;
    }

    fn args(&mut self, args: &mut [Text]) {
        let mut before = String::new();
        for text in args {
            let Some(arg) = text.literal().map(str::to_owned) else {
                if literals(text).any(holds_token) {
                    self.replace("an argument", text, "ARGUMENT");
                }
                before.clear();
                continue;
            };
            let option = before.trim_start_matches('-').to_owned();
            let after_option = before.starts_with('-') && !arg.starts_with('-') && !before.contains('=');
            let pair = arg.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
            match pair {
                _ if after_option && matches!(option.as_str(), "header" | "H") => {
                    let wanted = format!("{}_TOKEN", self.server);
                    self.replace_after(before_value(&arg), "an argument", text, &wanted);
                }
                _ if after_option && has_secret_word(&option) && !arg.is_empty() => {
                    self.replace("an argument", text, &option);
                }
                Some((name, value))
                    if !value.is_empty()
                        && (has_secret_word(name.trim_start_matches('-'))
                            || holds_token(&value)
                            || (after_option && matches!(option.as_str(), "e" | "env"))) =>
                {
                    let wanted = name.trim_start_matches('-').to_owned();
                    self.replace_after(&format!("{name}="), "an argument", text, &wanted);
                }
                _ if arg.contains("://") => self.url(text),
                _ if holds_token(&arg) => self.replace("an argument", text, "ARGUMENT"),
                _ => {}
            }
            before = arg;
        }
    }

    fn input(&mut self, input: &mut Value) {
        let Some(fields) = input.as_object_mut() else { return };
        let password = fields.get("password") == Some(&Value::Bool(true));
        let secret =
            |value: &Value| value.as_str().is_some_and(|text| !text.is_empty() && (password || holds_token(text)));
        if fields.get("default").is_some_and(secret) {
            fields.shift_remove("default");
            self.note("the default of an input was not stored, because it may be a secret".to_owned());
        }
    }

    /// Replaces a whole text with a variable.
    fn replace(&mut self, what: &str, text: &mut Text, wanted: &str) {
        self.replace_after("", what, text, wanted);
    }

    /// Replaces a text with a variable, except for its beginning `before`.
    fn replace_after(&mut self, before: &str, what: &str, text: &mut Text, wanted: &str) {
        let plain: String = literals(text).collect();
        let secret = plain.strip_prefix(before).unwrap_or(&plain).to_owned();
        let part = self.variable(what, &secret, wanted);
        *text = Text::new([Part::Text(before.to_owned()), part]);
    }

    fn unless_token(&mut self, what: &str, plain: &str, wanted: &str) -> Part {
        if holds_token(plain) { self.variable(what, plain, wanted) } else { Part::Text(plain.to_owned()) }
    }

    /// Returns the variable that replaces a secret. An environment variable keeps its own name unless that name already
    /// stands for another secret. All other names start with the server's name.
    fn variable(&mut self, what: &str, secret: &str, wanted: &str) -> Part {
        let mut hasher = DefaultHasher::new();
        secret.hash(&mut hasher);
        let hash = hasher.finish();
        let (short, long) = (variable_name(wanted), variable_name(&format!("{}_{wanted}", self.server)));
        let first = if is_variable(wanted) && what.starts_with("env ") { wanted.to_owned() } else { long.clone() };
        let first = if wanted.starts_with(self.server) { short } else { first };
        let numbered = (2..).map(|n| format!("{long}_{n}"));
        let mut names = [first, long.clone()].into_iter().chain(numbered);
        let free = |name: &String| self.secrets.taken.get(name).is_none_or(|taken| *taken == hash);
        let name = names.find(free).unwrap_or_default();
        self.secrets.taken.insert(name.clone(), hash);
        self.out.texts.push(secret.to_owned());
        self.note(format!("the value of {what} was not stored; set the variable {name} to that value"));
        Part::env(name)
    }
}

fn literals(text: &Text) -> impl Iterator<Item = &str> {
    text.parts().iter().filter_map(|part| match part {
        Part::Text(plain) => Some(plain.as_str()),
        _ => None,
    })
}

/// Returns the part of a header before the secret: the header's name, and the scheme.
fn before_value(header: &str) -> &str {
    let Some((name, value)) = header.split_once(':') else { return "" };
    let blanks = value.len() - value.trim_start().len();
    let scheme =
        SCHEMES.iter().find(|scheme| value.trim_start().starts_with(**scheme)).map_or(0, |scheme| scheme.len());
    &header[..name.len() + 1 + blanks + scheme]
}

/// Returns whether the part of a URL before the host is just a user name, not a secret.
fn is_users_name(scheme: &str, user: &str) -> bool {
    names_user(scheme) && !user.contains(':') && !holds_token(user)
}

/// Returns whether the name of an option, a header or a key says that its value is a secret.
pub fn has_secret_word(name: &str) -> bool {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// Returns whether a value that only one agent understands may contain a secret.
fn is_secret(key: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => {
            holds_token(text) || (has_secret_word(key) && !text.is_empty() && !is_plain_address(text))
        }
        Value::Array(values) => values.iter().any(|value| is_secret(key, value)),
        Value::Object(values) => {
            let is_env = matches!(key, "env" | "environment" | "headers" | "http_headers") && !values.is_empty();
            is_env || values.iter().any(|(key, value)| is_secret(key, value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether a text is a web address that holds nothing but a host and a path: `https://mcp.example.com/mcp`.
fn is_plain_address(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or(text.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(['@', '?', '#', '&', ' ', '$']))
}

/// Whether a setting may contain a secret, or names a person's folder, so that it should not leave this computer.
pub fn is_personal(key: &str, value: &Value) -> bool {
    is_secret(key, value) || names_home(key, value)
}

fn names_home(key: &str, value: &Value) -> bool {
    let is_home = |text: &str| ["/home/", "/Users/", "/root/", "\\Users\\"].iter().any(|folder| text.contains(folder));
    is_home(key)
        || match value {
            Value::String(text) => is_home(text),
            Value::Array(values) => values.iter().any(|value| names_home("", value)),
            Value::Object(values) => values.iter().any(|(key, value)| names_home(key, value)),
            _ => false,
        }
}

fn variable_name(text: &str) -> String {
    let name: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
    if is_variable(&name) { name } else { format!("_{name}") }
}

/// Returns whether a server contains text that may be secret. Defaults of variables do not count.
pub fn holds_secret(server: &str, definition: &Definition) -> bool {
    let mut safe = definition.clone();
    for (_, text) in safe.env.iter_mut().chain(&mut safe.headers) {
        *text = without_defaults(text);
    }
    let extra = safe.extra.len();
    let out = Secrets::default().take_out(server, &mut safe);
    !out.texts.is_empty() || safe.extra.len() != extra
}

/// Returns the path of keys to the first text that may be secret in a file of MCP servers. `refers` returns whether a
/// text is only a reference. A deploy that changes the file would store a copy of the secret.
pub fn secret_in(value: &Value, refers: &dyn Fn(&str) -> bool) -> Option<String> {
    match value {
        Value::Object(fields) => fields.iter().find_map(|(key, value)| {
            let is_named = matches!(key.as_str(), "env" | "environment" | "headers" | "http_headers" | "requestInit");
            let found = match value.as_object().filter(|_| is_named) {
                Some(named) => named.iter().find_map(|(name, value)| {
                    let text = value.as_str().unwrap_or_default();
                    (!text.is_empty() && !refers(text)).then(|| name.clone())
                }),
                None if has_secret_word(key) && value.as_str().is_some_and(holds_token) => {
                    return Some(key.clone());
                }
                None => secret_in(value, refers),
            };
            found.map(|rest| format!("{key}.{rest}"))
        }),
        Value::Array(values) => values.iter().find_map(|value| secret_in(value, refers)),
        Value::String(text) if holds_token(text) || has_userinfo(text) => Some("a text".to_owned()),
        _ => None,
    }
}

fn has_userinfo(text: &str) -> bool {
    let host = |part: &str| part.find(['/', ' ']).map_or(part.len(), |end| end);
    text.split("://").skip(1).any(|part| part[..host(part)].contains('@') && part[..host(part)].contains(':'))
}
