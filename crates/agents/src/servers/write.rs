//! Writes a server as an agent's entry, and reports what the agent cannot express.

use serde_json::{Map, Value};

use super::dialect::{Dialect, EntryForm};
use super::expansion::is_variable;
use super::loss::{Lost, Unsayable};
use super::read::{AUTHORIZATION, BEARER};
use super::script::through_cmd;
use mcpkg_base::platform::IS_WINDOWS;
use mcpkg_store::servers::{Definition, Part, Text, Transport};

/// An entry in an agent's format.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    pub fields: Vec<(String, Value)>,
    /// The parts of the server that the agent does not support.
    pub lost: Vec<Lost>,
}

impl Dialect {
    /// Writes a server as an entry. With `own`, the entry includes the fields that only this agent understands.
    ///
    /// # Errors
    /// The reason why the agent's format cannot express the server.
    pub fn write(&self, definition: &Definition, own: bool) -> Result<Written, Unsayable> {
        if !self.speaks.contains(&definition.transport) {
            return Err(Unsayable::Transport);
        }
        let wrapped = (IS_WINDOWS && self.scripts_need_cmd).then(|| through_cmd(definition)).flatten();
        let definition = wrapped.as_ref().unwrap_or(definition);
        let mut writing = Writing { dialect: self, fields: Vec::new(), lost: Vec::new() };
        match (self.form, definition.transport) {
            (EntryForm::OpenCode, Transport::Stdio) => writing.opencode(definition)?,
            (_, Transport::Stdio) => writing.program(definition)?,
            (_, _) => writing.address(definition)?,
        }
        let Writing { mut fields, mut lost, .. } = writing;
        if definition.cwd.is_some() && !(self.cwd && definition.transport == Transport::Stdio) {
            lost.push(Lost::Folder);
        }
        if own {
            fields.extend(definition.extra.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        lost.sort_unstable();
        lost.dedup();
        Ok(Written { fields, lost })
    }

    /// Writes a server as an entry and reads the entry back; `None` if the format cannot express the server.
    pub fn as_read(&self, definition: &Definition, own: bool) -> Option<Definition> {
        let entry = self.write(definition, own).ok()?.fields.into_iter().collect();
        self.read(&Value::Object(entry), &definition.inputs).ok().map(|read| read.definition)
    }
}

struct Writing<'d> {
    dialect: &'d Dialect,
    fields: Vec<(String, Value)>,
    lost: Vec<Lost>,
}

impl Writing<'_> {
    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.fields.push((key.to_owned(), value.into()));
    }

    fn text(&mut self, text: &Text) -> Result<Value, Unsayable> {
        let (written, lost) = self.dialect.expansion.write(text)?;
        if lost {
            self.lost.push(Lost::Defaults);
        }
        Ok(written.into())
    }

    fn list(&mut self, texts: &[Text]) -> Result<Value, Unsayable> {
        texts.iter().map(|text| self.text(text)).collect::<Result<Vec<_>, _>>().map(Value::from)
    }

    fn named(&mut self, named: &[(String, Text)]) -> Result<Value, Unsayable> {
        let pairs = named.iter().map(|(name, text)| Ok((name.clone(), self.text(text)?)));
        pairs.collect::<Result<Map<_, _>, _>>().map(Value::from)
    }

    fn program(&mut self, definition: &Definition) -> Result<(), Unsayable> {
        if let (Some(word), _) = self.dialect.types {
            self.put("type", word);
        }
        if let Some(command) = &definition.command {
            let command = self.text(command)?;
            self.put("command", command);
        }
        if !definition.args.is_empty() {
            let args = self.list(&definition.args)?;
            self.put("args", args);
        }
        if self.dialect.form == EntryForm::Codex {
            self.codex_variables(definition)?;
        } else if !definition.env.is_empty() {
            let is_name = |(_, text): &(String, Text)| text.literal().is_some_and(is_variable);
            if self.dialect.names_are_variables && definition.env.iter().any(is_name) {
                return Err(Unsayable::Literal);
            }
            let env = self.named(&definition.env)?;
            self.put("env", env);
        }
        if let Some(cwd) = definition.cwd.as_ref().filter(|_| self.dialect.cwd) {
            let cwd = self.text(cwd)?;
            self.put("cwd", cwd);
        }
        Ok(())
    }

    /// Writes the variables for Codex, which replaces no references but passes variables on under their own names.
    fn codex_variables(&mut self, definition: &Definition) -> Result<(), Unsayable> {
        let (mut texts, mut passed) = (Map::new(), Vec::new());
        for (name, text) in &definition.env {
            match text.parts() {
                [Part::Env { env, default }] if env == name => {
                    passed.push(env.as_str());
                    if default.is_some() {
                        self.lost.push(Lost::Defaults);
                    }
                }
                _ => drop(texts.insert(name.clone(), text.literal().ok_or(Unsayable::Variables)?.into())),
            }
        }
        if !texts.is_empty() {
            self.put("env", texts);
        }
        if !passed.is_empty() {
            self.put("env_vars", passed);
        }
        Ok(())
    }

    fn opencode(&mut self, definition: &Definition) -> Result<(), Unsayable> {
        self.put("type", "local");
        let words: Vec<Text> = definition.command.iter().chain(&definition.args).cloned().collect();
        let words = self.list(&words)?;
        self.put("command", words);
        if !definition.env.is_empty() {
            let env = self.named(&definition.env)?;
            self.put("environment", env);
        }
        Ok(())
    }

    fn address(&mut self, definition: &Definition) -> Result<(), Unsayable> {
        let transport = definition.transport;
        let (_, says_type) = self.dialect.types;
        let by_field = self.dialect.urls.iter().find(|(_, usual)| *usual == transport);
        let field = by_field.or(self.dialect.urls.first()).map(|(field, _)| *field).ok_or(Unsayable::Transport)?;
        if self.dialect.form == EntryForm::OpenCode {
            self.put("type", "remote");
        } else if says_type || by_field.is_none() {
            self.put("type", transport.word());
        }
        if let Some(url) = &definition.url {
            let url = self.text(url)?;
            self.put(field, url);
        }
        if self.dialect.form == EntryForm::Codex {
            return self.codex_headers(definition);
        }
        if !definition.headers.is_empty() {
            let headers = self.named(&definition.headers)?;
            self.put("headers", headers);
        }
        Ok(())
    }

    fn codex_headers(&mut self, definition: &Definition) -> Result<(), Unsayable> {
        let (mut texts, mut variables) = (Map::new(), Map::new());
        let mut bearer = None;
        for (name, text) in &definition.headers {
            let has_default = text.parts().iter().any(|part| matches!(part, Part::Env { default: Some(_), .. }));
            if has_default {
                self.lost.push(Lost::Defaults);
            }
            match text.parts() {
                [Part::Text(scheme), Part::Env { env, .. }]
                    if scheme == BEARER && name.eq_ignore_ascii_case(AUTHORIZATION) =>
                {
                    bearer = Some(env.as_str());
                }
                [Part::Env { env, .. }] => drop(variables.insert(name.clone(), env.as_str().into())),
                _ => drop(texts.insert(name.clone(), text.literal().ok_or(Unsayable::Variables)?.into())),
            }
        }
        if !texts.is_empty() {
            self.put("http_headers", texts);
        }
        if !variables.is_empty() {
            self.put("env_http_headers", variables);
        }
        if let Some(variable) = bearer {
            self.put("bearer_token_env_var", variable);
        }
        Ok(())
    }
}
