//! Answers questions about tools: searches, the details of a tool, and the details of a version.

use http::StatusCode;
use semver::Version;
use serde_json::{Value, json};

use super::attestations::{Claim, auditors};
use super::failure::Failure;
use super::parameters::Parameters;
use super::route::PREFIX;
use crate::backend::facts::Facts;
use crate::backend::local::{Local, leading, manifest};
use crate::backend::query::Query;
use crate::backend::registry::Registry;
use crate::backend::{unknown, wire};
use crate::package::Name;
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::Result;
use mcpkg_base::http::Url;
use mcpkg_core::op::{Answer, Context, Head};
use mcpkg_store::tools::packages::{self, PackageRow, Yank};
use mcpkg_store::tools::registries::LOCAL;

/// The default and the largest number of search results per request.
const HITS: u32 = 20;
const MOST_HITS: u32 = 100;

/// The largest offset of a search; to find more, the client needs a more specific query.
const MOST_PASSED: u32 = 1_000;

/// Answers a search.
pub fn search(context: &Context, head: &Head) -> Result<Answer, Failure> {
    let parameters = Parameters::of(&head.query)?;
    let limit = parameters.number("limit", HITS, u32::MAX)?.clamp(1, MOST_HITS);
    let offset = parameters.number("offset", 0, MOST_PASSED)?;
    let tags = parameters.text("tags").split(',').map(str::trim).filter(|tag| !tag.is_empty());
    let text = parameters.text("q").to_owned();
    let query =
        Query { text, tags: tags.map(str::to_owned).collect(), limit: limit + offset, offline: true, refresh: false };
    let found = Local::new(context).search(&query)?;
    let hits = found.hits.iter().skip(offset as usize);
    let tools = context.store.read(|db| {
        let tool = |hit: &crate::backend::Hit| {
            let row = packages::get(db, LOCAL, &hit.name, &hit.version)?;
            let auditors = row.as_ref().map_or(Ok(0), |row| auditors(db, row))?;
            Ok(json!({
                "name": hit.name,
                "description": hit.description,
                "tags": hit.tags,
                "version": hit.version,
                "author": author(&hit.name),
                "downloads": packages::downloads(db, LOCAL, &hit.name)?,
                "visibility": row.map_or("public", |row| row.release.visibility.word()),
                "trust_status": { "auditor_count": auditors },
            }))
        };
        hits.map(tool).collect::<Result<Vec<Value>>>()
    })?;
    let answer =
        json!({ "tools": tools, "total": found.total, "limit": limit, "offset": offset, "search_type": "text" });
    Ok(Answer::json(StatusCode::OK, &answer))
}

/// Returns the details of a tool.
pub fn tool(context: &Context, name: &Name) -> Result<Answer, Failure> {
    let answer = context.store.read(|db| {
        let rows = Local::new(context).rows(db, name)?;
        let Some((latest, row)) = leading(&rows) else { return Err(unknown::no_tool(LOCAL, name)) };
        let manifest = manifest(db, row)?;
        let Facts { description, tags, license } = Facts::of(&manifest);
        let published = |(_, row): &(Version, PackageRow)| row.release.published_at;
        let versions = rows.iter().map(|(version, row)| {
            json!({
                "version": version.to_string(),
                "published_at": rfc3339(row.release.published_at),
                "downloads": row.downloads,
                "bundle_hash": hash(row),
                "yanked": row.release.yank.is_some(),
            })
        });
        Ok(json!({
            "name": name,
            "description": description,
            "tags": tags,
            "license": license,
            "author": author(name.as_str()),
            "repository": link(&manifest, "repository"),
            "homepage": link(&manifest, "homepage"),
            "visibility": row.release.visibility.word(),
            "created_at": rows.iter().map(published).min().map(rfc3339),
            "updated_at": rows.iter().map(published).max().map(rfc3339),
            "latest_version": latest.to_string(),
            "versions": versions.collect::<Vec<Value>>(),
            "versions_total": rows.len(),
            "total_downloads": rows.iter().map(|(_, row)| row.downloads).sum::<u64>(),
        }))
    })?;
    Ok(Answer::json(StatusCode::OK, &answer))
}

/// Returns the details of a version.
pub fn version(context: &Context, name: &Name, version: &Version) -> Result<Answer, Failure> {
    let answer = context.store.read(|db| {
        let row = Local::new(context).row(db, name, version)?;
        let manifest = manifest(db, &row)?;
        let Facts { description, license, .. } = Facts::of(&manifest);
        let claims = Claim::all(db, &row)?;
        let mut answer = json!({
            "name": name,
            "version": version.to_string(),
            "description": description,
            "license": license,
            "visibility": row.release.visibility.word(),
            "manifest": manifest,
            "rawManifest": packages::raw_manifest(db, row.id)?,
            "bundle": { "hash": hash(&row), "size": row.release.size, "download_url": download_url(name, version) },
            "attestations": claims.iter().map(Claim::summary).collect::<Vec<Value>>(),
        });
        add_yank(&mut answer, row.release.yank.as_ref());
        answer["published_by"] = json!({ "username": row.release.publisher, "avatar_url": null });
        answer["published_at"] = json!(rfc3339(row.release.published_at));
        answer["downloads"] = json!(row.downloads);
        Ok(answer)
    })?;
    Ok(Answer::json(StatusCode::OK, &answer))
}

/// Adds the fields about a version's yank to a response.
fn add_yank(answer: &mut Value, yank: Option<&Yank>) {
    answer["yanked"] = json!(yank.is_some());
    answer["yank_reason"] = json!(yank.and_then(|yank| yank.reason.as_ref()));
    answer["yank_replacement"] = json!(yank.and_then(|yank| yank.replacement.as_ref()));
    answer["yanked_at"] = json!(yank.map(|yank| rfc3339(yank.at)));
}

/// Returns the digest of an archive in the format of the API: `sha256:...`.
pub fn hash(row: &PackageRow) -> String {
    wire::hash(&row.release.sha256)
}

/// Returns the path to download an archive from the same server.
pub fn download_url(name: &Name, version: &Version) -> String {
    format!("{PREFIX}/tools/{name}/versions/{version}/download")
}

/// Returns the author of a tool, which is its namespace: `alice/pdf` -> `alice`.
fn author(name: &str) -> Value {
    let first = name.split('/').next().unwrap_or_default();
    json!({ "username": first.trim_start_matches('@'), "avatar_url": null })
}

/// Returns an `http` or `https` URL from the manifest; other values are dropped, since a stranger wrote the
/// manifest.
fn link(manifest: &Value, key: &str) -> Option<String> {
    let text = manifest.get(key)?.as_str()?;
    Url::parse(text).map(|url| url.as_str().to_owned())
}
