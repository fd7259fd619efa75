//! Reads live resources: resources with contents that come from files or from the output of programs.
//!
//! No database transaction is open during such a read.

use std::sync::LazyLock;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rmcp::ErrorData;
use rmcp::model::{ErrorCode, Resource as Listed, ResourceContents};
use serde_json::json;

use super::era::Era;
use super::error::smctl_error;
use super::lookup::no_variable;
use super::{Config, Identity, group_of};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::sha256;
use mcpkg_core::op::{Context, Live, Named, Resource, Validator, Values};

/// The characters to escape in the value of a template variable: all but those that RFC 6570 calls unreserved.
const VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The URI prefixes of live resources, except those that an embedding program adds.
static SCHEMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let live = crate::DOMAINS.resources().filter(|resource| resource.live.is_some());
    let mut schemes: Vec<_> =
        live.filter_map(|resource| resource.uri.split_once("//")).map(|(scheme, _)| scheme).collect();
    schemes.dedup();
    schemes
});

/// The live resource for a URI.
pub(super) struct LiveResource {
    resource: &'static Resource,
    live: Live,
    values: Values,
}

/// Returns whether a server has only live resources.
pub(super) fn only(config: &Config) -> bool {
    config.identity == Identity::Smctl
}

/// Returns the live resource for a URI, if the server has it.
pub(super) fn find(config: &Config, uri: &str) -> Option<LiveResource> {
    if config.providers.is_empty() && !SCHEMES.iter().any(|scheme| uri.starts_with(scheme)) {
        return None;
    }
    served(config)
        .find_map(|(resource, live)| resource.values(uri).map(|values| LiveResource { resource, live, values }))
}

/// Returns the server's live resources, in order.
fn served(config: &Config) -> impl Iterator<Item = (&'static Resource, Live)> {
    let live = config.providers.resources().filter_map(|resource| resource.live.map(|live| (resource, live)));
    // A server that presents itself as another program, such as smctl, has only that program's resources.
    let of_contract = |live: &Live| group_of(config.identity).is_none_or(|only| only == live.group);
    live.filter(move |(_, live)| config.surface.serves_group(live.group) && of_contract(live))
}

impl LiveResource {
    /// Returns whether the resource has to be polled, because it may change without a notification.
    pub(super) fn is_looked_at_again(&self) -> bool {
        self.live.looked_at_again
    }

    /// Returns the text of the resource.
    ///
    /// # Errors
    /// `E_NOT_FOUND` if it does not exist; `E_TOO_LARGE` if it is too large for one answer.
    pub(super) fn read(&self, uri: &str, context: &Context) -> Result<String> {
        let text = (self.live.read)(context, &self.values)?.ok_or_else(|| not_found(uri))?;
        let (size, limit) = (text.len() as u64, context.max_answer);
        if size > limit {
            let why = format!("Resource '{uri}' is {size} bytes long, but the limit for one response is {limit} bytes");
            return Err(Error::new(Code::TooLarge, why)
                .hint("raise the limit with `mcpkg serve --max-answer BYTES`")
                .with_details(json!({ "uri": uri, "size": size, "limit": limit })));
        }
        Ok(text)
    }

    /// Returns the text as resources/read returns it.
    pub(super) fn contents(&self, uri: &str, text: String) -> ResourceContents {
        let contents = ResourceContents::text(text, uri);
        match self.resource.mime_type {
            Some(mime_type) => contents.with_mime_type(mime_type),
            None => contents,
        }
    }

    /// Returns a validator that changes exactly when the result of a read changes, even if the result is an error.
    /// Fails if the read was cancelled or timed out, because then nothing is known.
    pub(super) fn validator(&self, uri: &str, context: &Context) -> Result<Validator> {
        match self.read(uri, context) {
            Ok(text) => Validator::of(&sha256::hex(&text)),
            Err(error) if matches!(error.code(), Code::Cancelled | Code::Timeout) => Err(error),
            Err(error) => Validator::of(&(error.code().name(), error.message())),
        }
    }
}

/// Returns the live resources of the program that the server presents itself as. Resources without a variable come
/// first. Then, for each value of the variable, come the resources with that value.
pub(super) fn list(config: &Config, context: &Context) -> Result<Vec<Listed>> {
    let of_contract = served(config).filter(|(_, live)| group_of(config.identity) == Some(live.group));
    let (templates, fixed): (Vec<_>, Vec<_>) = of_contract.partition(|(resource, _)| resource.variable().is_some());
    let mut listed: Vec<Listed> = fixed
        .into_iter()
        .map(|(resource, _)| entry(resource, resource.uri.to_owned(), resource.name.to_owned()))
        .collect();
    let Some((_, first)) = templates.first() else { return Ok(listed) };
    for name in (first.names)(context)? {
        for (resource, _) in &templates {
            let variable = format!("{{{}}}", resource.variable().unwrap_or_default());
            let uri = resource.uri.replace(&variable, &utf8_percent_encode(&name, VALUE).to_string());
            listed.push(entry(resource, uri, format!("{name} {}", resource.name)));
        }
    }
    Ok(listed)
}

/// Returns a validator that changes exactly when the result of [`list`] changes.
pub(super) fn list_validator(listed: &[Listed]) -> Result<Validator> {
    Validator::of(&listed.iter().map(|resource| &resource.uri).collect::<Vec<_>>())
}

fn entry(resource: &Resource, uri: String, name: String) -> Listed {
    let mut listed = Listed::new(uri, name);
    listed.title = Some(resource.title.to_owned());
    listed.description = Some(resource.description.to_owned());
    listed.mime_type = resource.mime_type.map(str::to_owned);
    listed
}

/// Returns the function that lists the values of a template's variable, or `None` if no live resource has this
/// template.
///
/// # Errors
/// `E_INVALID_ARGUMENT` if the template has no such variable.
pub(super) fn complete(config: &Config, template: &str, variable: &str) -> Option<Result<Named>> {
    let (resource, live) = served(config).find(|(resource, _)| resource.uri == template)?;
    Some(match resource.variable() {
        Some(known) if known == variable => Ok(live.names),
        _ => Err(no_variable(template, variable)),
    })
}

pub(super) fn not_found(uri: &str) -> Error {
    Error::new(Code::NotFound, format!("Resource '{}' not found", uri.escape_debug()))
        .with_details(json!({ "uri": uri }))
}

/// Converts a failure of a live resource to a JSON-RPC error. The error has the number from contract 003 (smctl),
/// except in 2026-07-28, which reserves such numbers.
pub(super) fn failure(error: &Error, era: Era) -> ErrorData {
    let failed = smctl_error(error);
    match era {
        Era::Legacy => failed,
        Era::Modern => ErrorData { code: ErrorCode(error.code().rpc()), ..failed },
    }
}
