//! A catalog: an imported API description, together with a person's settings for it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use http::HeaderName;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::import::{Command, call};
use super::patch::Patch;
use super::request::OWN;
use super::security::Scheme;
use super::servers::Server;
use crate::spec::{CommandEffect, CommandSpec};
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_base::http::{Reach, Url};
use mcpkg_base::secret::Reference;
use mcpkg_store::catalogs::{CatalogRow, CommandRow, Facts};

/// Default timeout of a call.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum timeout that can be configured.
pub const LONGEST_TIMEOUT: Duration = Duration::from_secs(600);

/// Default limit on the size of an answer, in bytes.
pub const ANSWER: u64 = 8 << 20;
/// Maximum size limit that can be configured, in bytes.
pub const LARGEST_ANSWER: u64 = 64 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalog {
    /// Id of the row; 0 before the catalog is stored.
    pub id: i64,
    pub name: String,
    /// The group of all commands of the catalog. If empty, the first segment of each path is the group.
    pub prefix: String,
    pub title: String,
    pub version: String,
    /// The OpenAPI version of the document.
    pub openapi: String,
    /// Path or URL of the document.
    pub source: String,
    /// SHA-256 of the document.
    pub sha256: [u8; 32],
    /// URL that the paths of the document are relative to, if known.
    pub base_url: Option<String>,
    pub servers: Vec<Server>,
    /// The authentication schemes by name.
    pub schemes: BTreeMap<String, Scheme>,
    /// Headers to send with each request, with references to their secret values.
    pub headers: BTreeMap<String, String>,
    /// References to the secrets of schemes, keyed by scheme or by `SCHEME@ORIGIN`.
    pub auth: BTreeMap<String, String>,
    /// Whether requests may go to private addresses.
    pub private: bool,
    pub timeout: Duration,
    /// Maximum size of an answer in bytes.
    pub max_answer: u64,
    /// Time of the import, in milliseconds since the epoch.
    pub imported_at: i64,
    /// Time when the document was last read, in milliseconds since the epoch.
    pub refreshed_at: i64,
}

impl Catalog {
    pub fn of(row: CatalogRow) -> Result<Self> {
        let CatalogRow { id, facts, imported_at, refreshed_at } = row;
        Ok(Self {
            id,
            servers: read(&facts.servers, &facts.name)?,
            schemes: read(&facts.schemes, &facts.name)?,
            headers: read(&facts.headers, &facts.name)?,
            auth: read(&facts.auth, &facts.name)?,
            timeout: Duration::from_millis(facts.timeout_ms.try_into().unwrap_or_default()).min(LONGEST_TIMEOUT),
            max_answer: u64::try_from(facts.max_answer).unwrap_or_default().min(LARGEST_ANSWER),
            name: facts.name,
            prefix: facts.prefix,
            title: facts.title,
            version: facts.version,
            openapi: facts.openapi,
            source: facts.source,
            sha256: facts.sha256,
            base_url: facts.base_url,
            private: facts.private,
            imported_at,
            refreshed_at,
        })
    }

    /// Returns the catalog as a database row.
    pub fn facts(&self) -> Facts {
        Facts {
            name: self.name.clone(),
            prefix: self.prefix.clone(),
            title: self.title.clone(),
            version: self.version.clone(),
            openapi: self.openapi.clone(),
            source: self.source.clone(),
            sha256: self.sha256,
            base_url: self.base_url.clone(),
            servers: written(&self.servers),
            schemes: written(&self.schemes),
            headers: written(&self.headers),
            auth: written(&self.auth),
            private: self.private,
            timeout_ms: self.timeout.as_millis().try_into().unwrap_or(i64::MAX),
            max_answer: self.max_answer.try_into().unwrap_or(i64::MAX),
        }
    }

    /// Returns the catalog as JSON for display.
    pub fn data(&self) -> Value {
        let scheme = |(name, scheme): (&String, &Scheme)| {
            let mut data = json!({ "name": name, "takes": scheme.words() });
            if let Some(reference) = self.auth.get(name) {
                data["secret"] = json!(reference);
            }
            data
        };
        let mut data = json!({
            "name": self.name,
            "prefix": self.prefix,
            "title": self.title,
            "version": self.version,
            "openapi": self.openapi,
            "source": self.source,
            "sha256": hex::encode(&self.sha256),
            "servers": self.servers,
            "schemes": self.schemes.iter().map(scheme).collect::<Vec<_>>(),
            "headers": self.headers,
            "private": self.private,
            "timeout_ms": self.timeout.as_millis(),
            "max_answer": self.max_answer,
            "imported_at": rfc3339(self.imported_at),
            "refreshed_at": rfc3339(self.refreshed_at),
        });
        if let Some(base_url) = &self.base_url {
            data["base_url"] = json!(base_url);
        }
        let elsewhere = |(name, reference): (&String, &String)| {
            let (scheme, origin) = name.split_once('@').filter(|_| self.elsewhere(name).is_some())?;
            Some(json!({ "origin": origin, "scheme": scheme, "secret": reference }))
        };
        let origins: Vec<Value> = self.auth.iter().filter_map(elsewhere).collect();
        if !origins.is_empty() {
            data["origins"] = json!(origins);
        }
        data
    }

    /// Returns whether a URL has the same origin as the catalog's base URL. The catalog's secrets are meant for that origin.
    pub fn is_own(&self, url: &Url) -> bool {
        self.base_url.as_deref().and_then(Url::parse).is_some_and(|base| base.has_origin_of(url))
    }

    /// Returns whether a person has allowed requests to this URL's origin, by a secret for `SCHEME@ORIGIN`.
    pub fn allows(&self, url: &Url) -> bool {
        self.auth.keys().any(|name| self.elsewhere(name).is_some_and(|(_, origin)| origin.has_origin_of(url)))
    }

    /// Returns the reference to the secret of a scheme for requests to a URL. Each origin has its own secrets.
    pub fn kept_for(&self, url: &Url, scheme: &str) -> Option<&String> {
        if self.is_own(url) {
            return self.auth.get(scheme);
        }
        let is_for = |name: &str| self.elsewhere(name).is_some_and(|(of, at)| of == scheme && at.has_origin_of(url));
        self.auth.iter().find(|(name, _)| is_for(name)).map(|(_, reference)| reference)
    }

    /// Splits `SCHEME@ORIGIN` into the scheme and the origin.
    fn elsewhere<'n>(&self, name: &'n str) -> Option<(&'n str, Url)> {
        let (scheme, origin) = name.split_once('@').filter(|_| !self.schemes.contains_key(name))?;
        Some((scheme, Url::parse(origin)?))
    }

    /// Returns where requests to the catalog's API may go: anywhere, or only to public addresses.
    pub fn reach(&self) -> Reach {
        if self.private { Reach::Anywhere } else { Reach::Public }
    }

    /// Sets secret references for schemes of the document. An empty reference removes the secret.
    pub fn set_auth(&mut self, given: Vec<(String, String)>) -> Result<()> {
        for (name, reference) in given {
            let (scheme, name) = match name.split_once('@').filter(|_| !self.schemes.contains_key(&name)) {
                Some((scheme, origin)) => (scheme.to_owned(), format!("{scheme}@{}", other_origin(origin)?)),
                None => (name.clone(), name),
            };
            match self.schemes.get(&scheme) {
                Some(Scheme::Unsupported { why }) => {
                    let message = format!("mcpkg cannot send a secret for the security scheme '{scheme}': {why}");
                    return Err(Error::new(Code::InvalidArgument, message));
                }
                None => {
                    let known: Vec<&str> = self.schemes.keys().map(String::as_str).collect();
                    let otherwise = match known[..] {
                        [] => "the document defines no security scheme; use --header to send a secret in a header"
                            .to_owned(),
                        _ => format!("it defines {}", known.join(", ")),
                    };
                    let error =
                        Error::new(Code::InvalidArgument, format!("The document has no security scheme '{scheme}'"));
                    return Err(error.suggest(&scheme, known, otherwise));
                }
                Some(_) => change(&mut self.auth, name, reference),
            }
        }
        Ok(())
    }

    /// Sets secret references for headers. An empty reference removes the header.
    pub fn set_headers(&mut self, given: Vec<(String, String)>) -> Result<()> {
        for (name, reference) in given {
            if HeaderName::from_bytes(name.as_bytes()).ok().is_none_or(|header| OWN.contains(&header.as_str())) {
                let message = format!(
                    "The header '{}' cannot be set: it is invalid, or mcpkg sets it itself",
                    name.escape_debug()
                );
                return Err(
                    Error::new(Code::InvalidArgument, message).hint("use a header such as X-Api-Key=env:API_KEY")
                );
            }
            change(&mut self.headers, name, reference);
        }
        Ok(())
    }

    /// Returns the command of a row as it is shown and run: with the catalog's settings and the person's corrections.
    pub fn command(&self, row: &CommandRow) -> Result<CommandSpec> {
        let mut spec: CommandSpec = read(&row.spec, &row.given)?;
        call(&mut spec, &row.given);
        self.complete(&mut spec);
        patch(row)?.apply(&mut spec);
        Ok(spec)
    }

    /// Returns whether mcpkg can run a command as the document defines it, before a person's corrections.
    pub fn runs(&self, spec: &CommandSpec) -> bool {
        spec.runnable && !matches!(self.served(spec), Some([own, base]) if self.is_beyond(&own, &base))
    }

    /// Returns whether a command's server has a different origin than the catalog's base URL, and no person has allowed
    /// that origin.
    fn is_beyond(&self, own: &Url, base: &Url) -> bool {
        !own.has_origin_of(base) && !self.allows(own)
    }

    /// Sets the base URL of a command to the catalog's, unless the command has a server of its own. If that server's origin
    /// differs from the origin of the catalog's base URL, the command cannot run until a person allows the server's origin.
    /// Otherwise the document could send the catalog's secrets elsewhere.
    fn complete(&self, spec: &mut CommandSpec) {
        match self.served(spec) {
            Some([own, base]) if self.is_beyond(&own, &base) => {
                spec.runnable = false;
                let mut why = format!("its host is {}, but the catalog's host is {}", own.host(), base.host());
                if let Some(scheme) = spec.auth.first() {
                    let at = origin(&own);
                    why += &format!(
                        "; the user can allow the command's host with `mcpkg catalog set {} --auth {scheme}@{at}=env:NAME`",
                        self.name
                    );
                }
                spec.why_not.get_or_insert(why);
            }
            Some(_) => {}
            None if self.base_url.is_none() => {}
            None => spec.base_url.clone_from(&self.base_url),
        }
    }

    /// Returns the URL of a command's own server and the base URL of the catalog, if both are known.
    fn served(&self, spec: &CommandSpec) -> Option<[Url; 2]> {
        Some([Url::parse(spec.base_url.as_deref()?)?, Url::parse(self.base_url.as_deref()?)?])
    }
}

pub fn patch(row: &CommandRow) -> Result<Patch> {
    row.patch.as_deref().map_or_else(|| Ok(Patch::default()), |patch| read(patch, &row.given))
}

/// Makes the row of a command. The columns for search are filled in from the corrected command.
pub fn row(command: &Command, patch: &Patch) -> CommandRow {
    let given = command.spec.id.clone();
    let mut spec = Cow::Borrowed(&command.spec);
    if !patch.is_empty() {
        patch.apply(spec.to_mut());
    }
    let flags = spec.flags.iter().map(|flag| flag.name.as_str());
    let words: Vec<&str> = spec.positionals.iter().map(|one| one.name.as_str()).chain(flags).collect();
    let mut aliases = spec.aliases.clone();
    aliases.push(format!("{} {}", command.method, command.path));
    if given != spec.id {
        aliases.push(given.clone());
    }
    CommandRow {
        method: command.method.clone(),
        path: command.path.clone(),
        given,
        id: spec.id.clone(),
        spec: written(&command.spec),
        patch: (!patch.is_empty()).then(|| written(patch)),
        summary: spec.summary.clone(),
        words: words.join(" "),
        aliases: written(&aliases),
        effect: effect_word(spec.effect).to_owned(),
        deprecated: spec.deprecated,
        lists: spec.output_contract.list.is_some() && spec.effect == CommandEffect::Read && spec.runnable,
    }
}

/// Returns the command of a row as the document defines it, without corrections.
pub fn unpatched(row: &CommandRow) -> Result<Command> {
    let mut spec: CommandSpec = read(&row.spec, &row.given)?;
    call(&mut spec, &row.given);
    Ok(Command { method: row.method.clone(), path: row.path.clone(), spec })
}

pub const fn effect_word(effect: CommandEffect) -> &'static str {
    match effect {
        CommandEffect::Read => "read",
        CommandEffect::Write => "write",
        CommandEffect::Destroy => "destroy",
    }
}

/// Parses `NAME=REF` arguments, where `REF` says where a secret is kept. If `may_go` is set, an empty `REF` removes the
/// secret.
///
/// Errors never repeat the value, because someone may have passed a secret instead of a reference.
pub fn references(arguments: &[String], flag: &str, may_go: bool) -> Result<Vec<(String, String)>> {
    let one = |argument: &String| {
        let split = argument.split_once('=').map(|(name, reference)| (name.trim(), reference));
        let Some((name, reference)) = split.filter(|(name, _)| !name.is_empty()) else {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("{flag} needs a name and a reference to its secret"),
            )
            .hint(format!("for example {flag} NAME=env:API_TOKEN")));
        };
        if reference.is_empty() && may_go {
            return Ok((name.to_owned(), String::new()));
        }
        let reference = Reference::from_str(reference)?;
        Ok((name.to_owned(), reference.to_string()))
    };
    arguments.iter().map(one).collect()
}

/// Normalizes the origin of a `SCHEME@ORIGIN` setting for storage.
fn other_origin(text: &str) -> Result<String> {
    let url = Url::parse(text).filter(Url::is_private);
    url.map(|url| origin(&url)).ok_or_else(|| {
        Error::new(Code::InvalidArgument, format!("`{}` is not a valid origin", text.escape_debug()))
            .hint("for example --auth SCHEME@https://upload.example.com=env:UPLOAD_TOKEN")
    })
}

/// Returns the origin of a URL: scheme, host and port.
fn origin(url: &Url) -> String {
    let text = url.as_str();
    let begins = text.find("://").map_or(0, |at| at + 3);
    let ends = text[begins..].find(['/', '?', '#']).map_or(text.len(), |at| begins + at);
    text[..ends].to_owned()
}

fn change(references: &mut BTreeMap<String, String>, name: String, reference: String) {
    match reference.is_empty() {
        true => drop(references.remove(&name)),
        false => drop(references.insert(name, reference)),
    }
}

fn read<T: DeserializeOwned>(text: &str, of: &str) -> Result<T> {
    serde_json::from_str(text)
        .map_err(|error| Error::new(Code::Damaged, format!("Cannot read the stored data of '{of}'")).with_source(error))
}

fn written(value: &impl Serialize) -> String {
    // Serialization cannot fail: these are our own types, and their map keys are strings.
    serde_json::to_string(value).unwrap_or_default()
}
