//! The source of commands that come from imported catalogs. Looking a command up only reads the database.

use serde_json::{Map, Value};

use super::call::{self, Call};
use super::catalog::Catalog;
use crate::running::{Answered, Failed, Refusal, Running, gone};
use crate::source::{Brief, CommandSource};
use crate::spec::{CommandEffect, CommandSpec, Flag, Place, SourceKind};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_base::http::Url;
use mcpkg_base::secret::Secret;
use mcpkg_core::op::Context;
use mcpkg_store::blobs::stored_json;
use mcpkg_store::catalogs;

/// The commands of all catalogs.
#[derive(Clone, Copy, Debug)]
pub struct Catalogs;

impl CommandSource for Catalogs {
    fn kind(&self) -> SourceKind {
        SourceKind::Catalogs
    }

    fn validator(&self, context: &Context) -> Result<String> {
        context.store.read(catalogs::validator)
    }

    fn briefs(&self, context: &Context) -> Result<Vec<Brief>> {
        context.store.read(|db| {
            let mut briefs = Vec::new();
            catalogs::briefs(db, |row| {
                // One broken row must not hide the other commands, so list this command without its aliases.
                let aliases = stored_json(row.aliases, "the aliases of a command").unwrap_or_else(|error| {
                    tracing::warn!(command = row.id, %error, "the command cannot be found by its aliases");
                    Vec::new()
                });
                briefs.push(Brief {
                    id: row.id.to_owned(),
                    summary: row.summary.to_owned(),
                    words: row.words.to_owned(),
                    aliases,
                    effect: match row.effect {
                        "read" => CommandEffect::Read,
                        "write" => CommandEffect::Write,
                        _ => CommandEffect::Destroy,
                    },
                    deprecated: row.deprecated,
                    lists: row.lists,
                    executed: true,
                });
                Ok(())
            })?;
            Ok(briefs)
        })
    }

    fn spec(&self, context: &Context, id: &str) -> Result<Option<CommandSpec>> {
        Ok(find(context, id)?.map(|(_, spec)| spec))
    }

    fn run(&self, context: &Context, running: &Running<'_>) -> Result<Answered, Failed> {
        let (catalog, spec) = find(context, &running.spec.id)?.ok_or_else(|| gone(&running.spec.id))?;
        let mut arguments = running.with.clone();
        if let Some(body) = running.body {
            add_body(&spec, body, &mut arguments)?;
        }
        let call = Call { catalog: &catalog, spec: &spec, arguments: &arguments, key: running.key };
        match call::call(context, call) {
            Ok(answered) => Ok(Answered {
                output: answered.output,
                status: Some(answered.status),
                size: answered.bytes as u64,
                sha256: answered.sha256,
                next: answered.next,
            }),
            Err(error) => Err(failed(error)),
        }
    }
}

/// Adds a body to the arguments. The body is given as one value. It becomes the single body argument, or one argument for each
/// of its keys.
fn add_body(spec: &CommandSpec, body: &Value, arguments: &mut Map<String, Value>) -> Result<()> {
    let no_body = |why: &str| Error::new(Code::InvalidArgument, format!("Invalid body for '{}': {why}", spec.id));
    let mut flags = spec.flags.iter().filter(|flag| flag.r#in == Some(Place::Body));
    match (spec.body.as_ref().map(|taken| taken.whole), body) {
        (None, _) => return Err(no_body("the command takes no body")),
        (Some(true), body) => {
            let flag = flags.next().ok_or_else(|| no_body("the command takes no body"))?;
            arguments.insert(flag.name.clone(), body.clone());
        }
        (Some(false), Value::Object(fields)) => {
            let flags: Vec<_> = flags.collect();
            for (key, value) in fields {
                let of_key = |flag: &&&Flag| flag.key.as_deref().unwrap_or(&flag.name) == key;
                let flag = flags.iter().find(of_key);
                let flag = flag.ok_or_else(|| no_body(&format!("the body has no field '{}'", key.escape_debug())))?;
                arguments.insert(flag.name.clone(), value.clone());
            }
        }
        (Some(false), _) => return Err(no_body("the body must be an object")),
    }
    Ok(())
}

/// Converts an error to a failure. The failure contains the answer that the error describes, if any, and whether the command
/// may have taken effect anyway.
fn failed(error: Error) -> Failed {
    let details = error.details();
    let status = details.and_then(|details| details["status"].as_u64()).and_then(|status| u16::try_from(status).ok());
    let was_sent = details.is_some_and(|details| details["sent"] == true);
    let may_be_done = match error.code() {
        Code::Timeout | Code::Cancelled => true,
        Code::HttpFailed => was_sent || status.is_some_and(|status| (200..300).contains(&status)),
        _ => false,
    };
    let answer = details.and_then(refusal);
    Failed { error, status, answer, may_be_done }
}

/// Reads the part of an error's details that describes the answer.
fn refusal(details: &Value) -> Option<Refusal> {
    let sha256 = hex::decode(details["sha256"].as_str()?)?.try_into().ok()?;
    Some(Refusal { bytes: details["bytes"].as_u64()?, sha256, excerpt: details["excerpt"].as_str()?.to_owned() })
}

/// Returns a secret of the catalog for use as an argument. Waits up to 30 seconds while the database server is
/// unreachable. A program that prints the secret runs only once.
pub fn secret(context: &Context, id: &str, name: &str) -> Result<Secret> {
    let found = context.store.patiently(|| find(context, id))?;
    let (catalog, spec) = found.ok_or_else(|| gone(id))?;
    call::argument(context, &catalog, &spec, name)
}

/// Returns whether the secrets that a command needs are configured. One scheme is enough, because the schemes of a
/// document are alternatives. A header that a person has set can replace them.
pub fn has_secrets(context: &Context, id: &str) -> Result<bool> {
    let Some((catalog, spec)) = find(context, id)? else { return Ok(true) };
    let Some(base) = spec.base_url.as_deref().and_then(Url::parse) else {
        return Ok(!catalog.headers.is_empty()
            || spec.auth.is_empty()
            || spec.auth.iter().any(|name| catalog.auth.contains_key(name)));
    };
    let is_kept = |name: &String| catalog.kept_for(&base, name).is_some();
    let has_headers = !catalog.headers.is_empty() && catalog.is_own(&base);
    Ok(has_headers || spec.auth.is_empty() || spec.auth.iter().any(is_kept))
}

/// Returns the command with this id and its catalog.
pub fn find(context: &Context, id: &str) -> Result<Option<(Catalog, CommandSpec)>> {
    let Some((catalog, row)) = context.store.read(|db| catalogs::find(db, id))? else { return Ok(None) };
    let catalog = Catalog::of(catalog)?;
    let spec = catalog.command(&row)?;
    Ok(Some((catalog, spec)))
}
