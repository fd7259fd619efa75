//! A registry on another host, reached over the HTTP paths that Enact's registry uses. Enact is the program that
//! contract 002 describes.

mod answers;
mod client;
pub mod multipart;
#[cfg(test)]
mod tests;

use std::str::FromStr;

use http::{Method, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use semver::Version;
use serde_json::{Value, json};

use self::answers::Attestation;
use self::client::{Answer, Bounds, Client, Payload};
use self::multipart::Form;
use super::facts::one_line;
use super::query::{Query, SearchResult};
use super::registry::Registry;
use super::registry::{MAX_ATTESTATION, MAX_ATTESTATIONS};
use super::tool::{Publication, ToolInfo, VersionInfo};
use super::unknown::{no_tool, no_version};
use super::wire;
use crate::config;
use crate::package::Name;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::http::Url;
use mcpkg_base::secret::Reference;
use mcpkg_core::op::Context;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::tools::answers as kept;
use mcpkg_store::tools::packages::Yank;
use mcpkg_store::tools::registries::Place;

/// The maximum size in bytes of a response that is cached.
const KEPT: usize = 64 << 10;

/// The maximum number of results that Enact's registry returns at once.
const MOST: u32 = 100;

pub struct Http<'c> {
    context: &'c Context,
    client: Client<'c>,
}

impl<'c> Http<'c> {
    /// Returns the registry at a location.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` if its URL is not allowed, or its token is not a reference such as `env:NAME`.
    pub fn new(context: &'c Context, place: &Place) -> Result<Self> {
        let base = address(&place.location)?;
        let token = place.token.as_deref().map(Reference::from_str).transpose()?;
        Ok(Self { context, client: Client::new(context, &place.name, base, token) })
    }

    /// Fetches JSON; `None` if the registry responds with 404.
    fn ask(&self, path: &str, query: &[(&str, &str)]) -> Result<Option<Value>> {
        let answer = self.client.get(path, query, None, Bounds::METADATA)?;
        match answer.status {
            StatusCode::OK => self.json(&answer.body).map(Some),
            StatusCode::NOT_FOUND => Ok(None),
            _ => Err(self.refused(&answer)),
        }
    }

    fn json(&self, body: &[u8]) -> Result<Value> {
        serde_json::from_slice(body).map_err(|_| self.client.malformed("the response is not valid JSON"))
    }

    /// Posts JSON.
    fn tell(&self, path: &str, body: &Value) -> Result<Answer> {
        let payload = Payload { content_type: "application/json".to_owned(), bytes: body.to_string().into_bytes() };
        self.client.send(Method::POST, path, payload, Bounds::METADATA)
    }

    /// Converts an error response to an error.
    fn refused(&self, answer: &Answer) -> Error {
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let own = |key: &str| body["error"][key].as_str().map(one_line);
        let (code, message) = (own("code").unwrap_or_default(), own("message").unwrap_or_default());
        let registry = self.client.registry();
        let status = answer.status.as_u16();
        let ours = match (status, code.as_str()) {
            (_, "NAMESPACE_MISMATCH") => Code::NamespaceMismatch,
            (409, _) => Code::AlreadyExists,
            _ => Code::RegistryRefused,
        };
        let why = if message.is_empty() { answer.status.to_string() } else { message };
        let error = Error::new(ours, format!("Registry '{registry}' refused the request: {why}"))
            .with_details(json!({ "registry": registry, "status": status, "code": code }));
        match status {
            401 => error
                .hint(format!("`mcpkg registry show {registry}` shows whether mcpkg has a token for this registry, and where the token \
                    is stored")),
            _ => error,
        }
    }

    /// Returns the error for a version that was published without some of its attestations.
    fn without_attestations(&self, version: &VersionInfo, error: Error) -> Error {
        let what = format!("{}@{} is published, but without all of its signatures", version.name, version.version);
        let details = error.details().cloned().unwrap_or_default();
        let again = "run the same command again with a key that is allowed to post signatures; on an mcpkg server, `mcpkg access create \
            --attest` creates such a key";
        Error::new(error.code(), format!("{what}: {}", error.message())).with_details(details).hint(again)
    }

    /// Returns the response to a search, the time at which the registry sent it, and whether it is outdated. Uses the
    /// cached response if the query is offline, if the registry cannot be reached, or if the response is still valid
    /// and the query does not ask for a refresh.
    fn searched(&self, query: &Query) -> Result<(Value, Millis, bool)> {
        let (tags, limit) = (query.tags.join(","), query.limit.min(MOST).to_string());
        let mut arguments = vec![("q", query.text.as_str()), ("limit", limit.as_str())];
        if !tags.is_empty() {
            arguments.push(("tags", &tags));
        }
        let (registry, request) = (self.client.registry(), format!("search {}", json!(arguments)));
        let now = self.context.clock.now();
        let (stored, holds) =
            self.context.store.read(|db| Ok((kept::get(db, registry, &request)?, config::answers_hold(db)?)))?;
        let stored = stored.and_then(|stored| Some((self.json(stored.body.as_bytes()).ok()?, stored)));
        if let Some((value, stored)) = &stored
            && (query.offline || !query.refresh && (0..holds).contains(&now.saturating_sub(stored.fetched_at)))
        {
            let is_old = now.saturating_sub(stored.fetched_at) >= holds;
            return Ok((value.clone(), stored.fetched_at, is_old));
        }
        if query.offline {
            let why =
                format!("Cannot search registry '{registry}' offline: mcpkg has no cached response for this search");
            return Err(Error::new(Code::RegistryUnreachable, why));
        }
        let etag = stored.as_ref().and_then(|(_, stored)| stored.etag.as_deref());
        let answer = match self.client.get("tools/search", &arguments, etag, Bounds::METADATA) {
            Ok(answer) => answer,
            Err(error) => match stored {
                Some((value, stored)) if error.code() == Code::RegistryUnreachable => {
                    return Ok((value, stored.fetched_at, true));
                }
                _ => return Err(error),
            },
        };
        match (answer.status, stored) {
            (StatusCode::OK, _) => {
                let value = self.json(&answer.body)?;
                self.keep(&request, answer, now);
                Ok((value, now, false))
            }
            (StatusCode::NOT_MODIFIED, Some((value, _))) => {
                self.touch(&request, now);
                Ok((value, now, false))
            }
            _ => Err(self.refused(&answer)),
        }
    }

    /// Caches a response. A failure is only logged: the next search just asks again.
    fn keep(&self, request: &str, answer: Answer, now: Millis) {
        let Ok(body) = String::from_utf8(answer.body) else { return };
        if body.len() > KEPT || body.contains('\0') || !self.context.store.may_write() {
            return;
        }
        let kept = kept::Answer { etag: answer.etag, body, fetched_at: now };
        if let Err(error) = self.context.store.write(|db| kept::put(db, self.client.registry(), request, &kept)) {
            tracing::info!(%error, "could not cache a registry's response");
        }
    }

    fn touch(&self, request: &str, now: Millis) {
        if self.context.store.may_write()
            && let Err(error) = self.context.store.write(|db| kept::touch(db, self.client.registry(), request, now))
        {
            tracing::info!(%error, "could not record that a registry's cached response is still valid");
        }
    }
}

/// Parses the URL of a registry.
///
/// # Errors
/// `E_INVALID_ARGUMENT` if it is not a URL, contains a user name or password, or is plain HTTP to another machine.
pub fn address(text: &str) -> Result<Url> {
    let wrong = |why: &str| {
        Error::new(
            Code::InvalidArgument,
            format!("'{}' is not a registry URL: {why}", mcpkg_base::redact::redact(text)),
        )
        .hint("use a URL such as https://registry.example.com; pass a token with --token")
    };
    let url = Url::parse(text)
        .ok_or_else(|| wrong("it must start with https:// and must not contain a user name or password"))?;
    if !url.is_private() {
        return Err(wrong("http:// is allowed only for this machine"));
    }
    Ok(url)
}

fn tool(name: &Name) -> String {
    format!("tools/{name}")
}

fn release(name: &Name, version: &Version) -> String {
    format!("tools/{name}/versions/{version}")
}

impl Registry for Http<'_> {
    fn search(&self, query: &Query) -> Result<SearchResult> {
        let (answer, checked_at, stale) = self.searched(query)?;
        let read = answers::search(&answer, query.limit);
        let (hits, total) = read.ok_or_else(|| self.client.malformed("it is not a list of search results"))?;
        Ok(SearchResult { hits, total, checked_at, stale })
    }

    fn info(&self, name: &Name) -> Result<ToolInfo> {
        let Some(answer) = self.ask(&tool(name), &[])? else { return Err(no_tool(self.client.registry(), name)) };
        answers::info(&answer, name).ok_or_else(|| self.client.malformed(format!("it does not describe '{name}'")))
    }

    fn version(&self, name: &Name, version: &Version) -> Result<VersionInfo> {
        let Some(answer) = self.ask(&release(name, version), &[])? else {
            let versions: Vec<Version> = self.info(name)?.versions.into_iter().map(|listed| listed.version).collect();
            return Err(no_version(self.client.registry(), name, &version.to_string(), &versions));
        };
        let read = answers::version(&answer, name, version);
        read.ok_or_else(|| self.client.malformed(format!("it does not describe {name}@{version}")))
    }

    fn archive(&self, version: &VersionInfo) -> Result<NewContent> {
        let path = format!("{}/download", release(&version.name, &version.version));
        // The caller has already accepted this yanked version, so tell the registry.
        let query: &[_] = if version.yank.is_some() { &[("acknowledge_yanked", "true")] } else { &[] };
        let answer = self.client.download(&path, query)?;
        if answer.status == StatusCode::OK {
            return Ok(answer.body);
        }
        let answer = Answer { status: answer.status, etag: answer.etag, body: answer.body.bytes()?.into_owned() };
        match answer.status {
            StatusCode::GONE => {
                let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
                let details = body.get("error").and_then(|error| error.get("details")).unwrap_or(&body);
                let (reason, replacement) =
                    (wire::text(details, "yank_reason"), wire::text(details, "replacement_version"));
                let what = format!("{}@{} was yanked by its publisher", version.name, version.version);
                Err(Error::new(Code::VersionYanked, what)
                    .with_details(json!({ "tool": version.name, "reason": reason, "replacement": replacement })))
            }
            _ => Err(self.refused(&answer)),
        }
    }

    fn attestations(&self, version: &VersionInfo) -> Result<Vec<String>> {
        let release = release(&version.name, &version.version);
        let most = MAX_ATTESTATIONS.to_string();
        let Some(answer) = self.ask(&format!("{release}/attestations"), &[("limit", &most)])? else {
            return Ok(Vec::new());
        };
        let list =
            answers::attestations(&answer).ok_or_else(|| self.client.malformed("it has no list of attestations"))?;
        let mut bundles = Vec::new();
        for attestation in list.into_iter().take(MAX_ATTESTATIONS) {
            match attestation {
                Attestation::Bundle(bundle) => bundles.push(bundle),
                Attestation::Of(auditor) => {
                    let auditor = utf8_percent_encode(&auditor, NON_ALPHANUMERIC);
                    let bundle = self.ask(&format!("{release}/trust/attestations/{auditor}"), &[])?;
                    bundles.extend(bundle.map(|bundle| bundle.to_string()));
                }
            }
        }
        bundles.retain(|bundle| bundle.len() as u64 <= MAX_ATTESTATION);
        Ok(bundles)
    }

    fn publish(&self, publication: &Publication<'_>) -> Result<bool> {
        let Publication { name, version, archive, sha256, manifest, raw_manifest, visibility, attestations } =
            publication;
        let form = Form::default()
            .file("manifest", "manifest.json", "application/json", manifest.to_string().as_bytes())
            .text("raw_manifest", raw_manifest)
            .text("visibility", visibility.word())
            .file("bundle", "bundle.tar.gz", "application/gzip", &archive.bytes()?);
        let path = format!("{}/versions", tool(name));
        let answer = self.client.send(
            Method::POST,
            &path,
            form.payload(),
            Bounds { size: Bounds::METADATA.size, ..Bounds::ARCHIVE },
        )?;
        let is_new = match answer.status {
            // 200 means that the version already existed with the same files.
            StatusCode::CREATED | StatusCode::OK => {
                let said = self.json(&answer.body)?;
                let stored = said["bundle_hash"].as_str().and_then(wire::sha256);
                if stored.as_ref() != Some(*sha256) {
                    return Err(self.client.malformed("the registry stored a different archive than mcpkg sent"));
                }
                answer.status == StatusCode::CREATED
            }
            StatusCode::CONFLICT => {
                if self.version(name, version)?.sha256 != **sha256 {
                    return Err(self.refused(&answer));
                }
                false
            }
            _ => return Err(self.refused(&answer)),
        };
        if attestations.is_empty() {
            return Ok(is_new);
        }
        let published = self.version(name, version)?;
        for bundle in *attestations {
            self.attest(&published, bundle).map_err(|error| self.without_attestations(&published, error))?;
        }
        Ok(is_new)
    }

    fn yank(&self, name: &Name, version: &Version, yank: Option<&Yank>) -> Result<()> {
        let release = release(name, version);
        let answer = match yank {
            Some(yank) => {
                let body = json!({ "reason": yank.reason, "replacement_version": yank.replacement });
                self.tell(&format!("{release}/yank"), &body)?
            }
            None => self.tell(&format!("{release}/unyank"), &json!({}))?,
        };
        match answer.status {
            StatusCode::OK => Ok(()),
            StatusCode::NOT_FOUND => Err(self.version(name, version).err().unwrap_or_else(|| self.refused(&answer))),
            _ => Err(self.refused(&answer)),
        }
    }

    fn attest(&self, version: &VersionInfo, bundle: &str) -> Result<()> {
        let path = format!("{}/attestations", release(&version.name, &version.version));
        let bundle: Value = serde_json::from_str(bundle).map_err(|_| {
            Error::new(Code::InvalidArgument, "The attestation is not valid JSON; registries accept only JSON")
        })?;
        let answer = self.tell(&path, &json!({ "bundle": bundle }))?;
        match answer.status {
            StatusCode::OK | StatusCode::CREATED | StatusCode::CONFLICT => Ok(()),
            _ => Err(self.refused(&answer)),
        }
    }
}
