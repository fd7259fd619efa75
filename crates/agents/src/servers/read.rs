//! Reads an agent's entry as a server.

use serde_json::{Map, Value};

use super::dialect::{Dialect, EntryForm};
use super::expansion::Expansion;
use super::script::without_cmd;
use mcpkg_base::platform::IS_WINDOWS;
use mcpkg_store::servers::{Definition, Named, Part, Text, Transport};

/// A server read from an agent's entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    pub definition: Definition,
    /// Whether the entry is enabled.
    pub enabled: bool,
}

/// The header for the bearer key. Codex has a separate field for the variable that holds the key.
pub(super) const AUTHORIZATION: &str = "Authorization";
pub(super) const BEARER: &str = "Bearer ";

impl Dialect {
    /// Reads an entry. `inputs` are the questions that the file defines.
    ///
    /// # Errors
    /// The reason, for people, why the entry is not a valid server.
    pub fn read(&self, entry: &Value, inputs: &[Value]) -> Result<Read, String> {
        let Value::Object(entry) = entry else { return Err("is not an object".to_owned()) };
        let mut reading = Reading { dialect: self, rest: entry.clone() };
        let mut definition = match self.form {
            EntryForm::Common => reading.common()?,
            EntryForm::Codex => reading.codex()?,
            EntryForm::OpenCode => reading.opencode()?,
        };
        let enabled = match self.switch {
            Some((key, on)) => match reading.rest.shift_remove(key) {
                Some(Value::Bool(value)) => value == on,
                Some(other) => return Err(format!("has the invalid value {other} for `{key}`")),
                None => true,
            },
            None => true,
        };
        definition.extra = reading.rest;
        if IS_WINDOWS && self.scripts_need_cmd {
            definition = without_cmd(definition);
        }
        definition.inputs = inputs.iter().filter(|input| refers_to(&definition, input)).cloned().collect();
        Ok(Read { definition, enabled })
    }
}

fn refers_to(definition: &Definition, input: &Value) -> bool {
    let mut parts = definition.texts().flat_map(Text::parts);
    parts.any(|part| matches!(part, Part::Input { input: id } if input["id"] == id.as_str()))
}

/// An entry that is being read. `rest` contains the fields that were not read yet.
struct Reading<'d> {
    dialect: &'d Dialect,
    rest: Map<String, Value>,
}

impl Reading<'_> {
    fn common(&mut self) -> Result<Definition, String> {
        let kind = self.word("type")?;
        if let Some(command) = self.text("command")? {
            if !matches!(kind.as_deref(), None | Some("stdio" | "local")) {
                return Err(format!("has a `command`, but the type '{}'", kind.unwrap_or_default()));
            }
            let (args, env, cwd) = (self.list("args")?, self.named("env")?, self.cwd()?);
            return Ok(Definition { args, env, cwd, ..Definition::stdio(command) });
        }
        let (url, usual) = self.url()?;
        let transport = match kind.as_deref() {
            None => usual,
            Some("http" | "streamable-http" | "streamableHttp" | "streamable_http") => Transport::Http,
            Some("sse") => Transport::Sse,
            Some(other) => return Err(format!("has the unknown type '{other}'")),
        };
        Ok(Definition { headers: self.named("headers")?, ..Definition::remote(transport, url) })
    }

    fn codex(&mut self) -> Result<Definition, String> {
        if let Some(command) = self.text("command")? {
            let (args, mut env, cwd) = (self.list("args")?, self.named("env")?, self.cwd()?);
            if self
                .rest
                .get("env_vars")
                .and_then(Value::as_array)
                .is_some_and(|names| names.iter().all(Value::is_string))
            {
                let names = self.list("env_vars")?;
                let names = names.iter().filter_map(Text::literal);
                env.extend(names.map(|name| (name.to_owned(), Text::new([Part::env(name)]))));
            }
            return Ok(Definition { args, env, cwd, ..Definition::stdio(command) });
        }
        let (url, transport) = self.url()?;
        let mut headers = self.named("http_headers")?;
        for (name, variable) in self.named("env_http_headers")? {
            headers.push((name, Text::new([Part::env(variable.literal().unwrap_or_default())])));
        }
        if let Some(variable) = self.word("bearer_token_env_var")? {
            headers.push((AUTHORIZATION.to_owned(), Text::new([Part::Text(BEARER.to_owned()), Part::env(variable)])));
        }
        Ok(Definition { headers, ..Definition::remote(transport, url) })
    }

    fn opencode(&mut self) -> Result<Definition, String> {
        match self.word("type")?.as_deref() {
            Some("local") => {
                let mut words = self.list("command")?.into_iter();
                let command = words.next().ok_or("has no `command`")?;
                let env = self.named("environment")?;
                Ok(Definition { args: words.collect(), env, ..Definition::stdio(command) })
            }
            Some("remote") => {
                let (url, transport) = self.url()?;
                Ok(Definition { headers: self.named("headers")?, ..Definition::remote(transport, url) })
            }
            _ => Err("needs the `type` local or remote".to_owned()),
        }
    }

    fn url(&mut self) -> Result<(Text, Transport), String> {
        for (field, transport) in self.dialect.urls {
            if let Some(url) = self.text(field)? {
                return Ok((url, *transport));
            }
        }
        Err("has neither a command nor a URL".to_owned())
    }

    fn cwd(&mut self) -> Result<Option<Text>, String> {
        if self.dialect.cwd { self.text("cwd") } else { Ok(None) }
    }

    fn expansion(&self) -> Expansion {
        self.dialect.expansion
    }

    /// Removes a field and returns its text. Does not look for references.
    fn word(&mut self, key: &str) -> Result<Option<String>, String> {
        match self.rest.shift_remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("has a `{key}` that is not a string")),
        }
    }

    fn text(&mut self, key: &str) -> Result<Option<Text>, String> {
        Ok(self.word(key)?.map(|text| self.expansion().read(&text)))
    }

    fn list(&mut self, key: &str) -> Result<Vec<Text>, String> {
        match self.rest.shift_remove(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(values)) => values.iter().map(|value| self.scalar(key, value)).collect(),
            Some(_) => Err(format!("has a `{key}` that is not a list")),
        }
    }

    fn named(&mut self, key: &str) -> Result<Named, String> {
        match self.rest.shift_remove(key) {
            None | Some(Value::Null) => Ok(Named::new()),
            Some(Value::Object(values)) => {
                values.iter().map(|(name, value)| Ok((name.clone(), self.scalar(key, value)?))).collect()
            }
            Some(_) => Err(format!("has a `{key}` that is not an object")),
        }
    }

    fn scalar(&self, key: &str, value: &Value) -> Result<Text, String> {
        match value {
            Value::String(text) => Ok(self.expansion().read(text)),
            Value::Number(_) | Value::Bool(_) => Ok(Text::plain(value.to_string())),
            _ => Err(format!("has a value in `{key}` that is not a string")),
        }
    }
}
