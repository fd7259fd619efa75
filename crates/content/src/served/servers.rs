//! Serves a project's MCP servers in the format of the MCP Registry API: `GET /v0.1/servers`, in pages.
//!
//! No value of a variable or header is shown, only their names. A server is left out if it is disabled, if its address
//! or arguments contain a secret, or if the registry's format cannot express how to start it.

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::route::Route;
use super::scope::project;
use crate::uri::decode;
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::redact::redact;
use mcpkg_core::op::{Answer, Context};
use mcpkg_store::servers::{self, Definition, Named, Server, Text, Transport};

const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/2025-10-17/server.schema.json";
const OFFICIAL: &str = "io.modelcontextprotocol.registry/official";

/// The default and the maximum number of servers on a page.
const PAGE: usize = 30;
const MOST: usize = 100;

/// The maximum length of a description in the format, in characters.
const DESCRIPTION: usize = 100;

pub(super) fn list(context: &Context, route: &Route, query: &str) -> Result<Answer> {
    let value = |key: &str| {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(name, _)| *name == key).find_map(|(_, value)| decode(&value.replace('+', " ")))
    };
    let limit = match value("limit").map(|limit| limit.parse::<usize>()) {
        None => PAGE,
        Some(Ok(limit)) if (1..=MOST).contains(&limit) => limit,
        Some(_) => return Err(Error::new(Code::InvalidArgument, format!("`limit` must be from 1 to {MOST}"))),
    };
    let (after, search) = (value("cursor").unwrap_or_default(), value("search").unwrap_or_default().to_lowercase());
    let all = all(context, route)?;
    let name = |server: &Value| server["server"]["name"].as_str().unwrap_or_default().to_owned();
    let mut found: Vec<Value> = all
        .into_iter()
        .filter(|server| name(server) > after && name(server).to_lowercase().contains(&search))
        .take(limit + 1)
        .collect();
    let has_more = found.len() > limit;
    found.truncate(limit);
    let mut metadata = json!({ "count": found.len() });
    if let Some(last) = found.last().filter(|_| has_more) {
        metadata["nextCursor"] = name(last).into();
    }
    Ok(Answer::json(StatusCode::OK, &json!({ "servers": found, "metadata": metadata })))
}

/// Answers a request for one server. Without a version, the answer is a list that contains only this server. Otherwise
/// it is the server itself, if the server has the version or if the version is `latest`.
pub(super) fn one(context: &Context, route: &Route, name: &str, version: Option<&str>) -> Result<Answer> {
    let is_it = |server: &Value| {
        let of = &server["server"];
        of["name"] == name && version.is_none_or(|version| version == "latest" || of["version"] == version)
    };
    let found = all(context, route)?.into_iter().find(is_it);
    let server = found.ok_or_else(|| Error::new(Code::NotFound, format!("No server named '{name}'")))?;
    let answer = match version {
        Some(_) => server,
        None => json!({ "servers": [server], "metadata": { "count": 1 } }),
    };
    Ok(Answer::json(StatusCode::OK, &answer))
}

/// Returns the servers, by name.
fn all(context: &Context, route: &Route) -> Result<Vec<Value>> {
    let mut all = context.store.read(|db| {
        let project = project(db, context, route)?;
        let enabled = servers::all(db, project.id)?.into_iter().filter(|server| server.enabled);
        Ok(enabled.filter_map(|server| entry(&project.name, &server)).collect::<Vec<_>>())
    })?;
    all.sort_by(|a, b| a["server"]["name"].as_str().cmp(&b["server"]["name"].as_str()));
    Ok(all)
}

fn entry(project: &str, server: &Server) -> Option<Value> {
    let definition = &server.definition;
    // Before the slash, the format does not allow `_`.
    let mut described = json!({
        "$schema": SCHEMA,
        "name": format!("mcpkg.{}/{}", project.replace('_', "-"), server.name),
        "description": description(&server.name, definition),
        "version": format!("1.0.{}", server.revision),
    });
    match definition.transport {
        Transport::Stdio => described["packages"] = json!([package(definition)?]),
        Transport::Http | Transport::Sse => {
            let mut remote = json!({ "type": "streamable-http", "url": shown(definition.url.as_ref()?)? });
            if definition.transport == Transport::Sse {
                remote["type"] = "sse".into();
            }
            if !definition.headers.is_empty() {
                remote["headers"] = inputs(&definition.headers);
            }
            described["remotes"] = json!([remote]);
        }
    }
    let (published, updated) = (rfc3339(server.created_at), rfc3339(server.updated_at));
    let meta = json!({
        OFFICIAL: { "status": "active", "publishedAt": published, "updatedAt": updated, "isLatest": true },
    });
    Some(json!({ "server": described, "_meta": meta }))
}

fn description(name: &str, definition: &Definition) -> String {
    let text = definition.description.as_deref().map_or_else(|| name.to_owned(), redact);
    match text.char_indices().nth(DESCRIPTION) {
        None => text,
        Some(_) => text.chars().take(DESCRIPTION - 3).chain("...".chars()).collect(),
    }
}

/// Returns a text; `None` if it is empty, or contains a reference or a secret.
fn shown(text: &Text) -> Option<String> {
    let text = text.literal()?;
    (!text.is_empty() && redact(text) == text).then(|| text.to_owned())
}

/// Describes variables or headers by their names only, without values.
fn inputs(named: &Named) -> Value {
    named.iter().map(|(name, _)| json!({ "name": name, "isRequired": true, "isSecret": true })).collect()
}

/// Describes a server that a package runner starts: `npx -y @scope/name@1.0.0 ARGUMENT...`.
fn package(definition: &Definition) -> Option<Value> {
    let command = definition.command.as_ref()?.literal()?;
    let runner = command.rsplit(['/', '\\']).next()?;
    let args: Vec<Option<String>> = definition.args.iter().map(shown).collect();
    let (kind, hint, at) = match runner {
        "npx" => ("npm", "npx", first(&args, &["-y", "--yes"])?),
        "bunx" => ("npm", "bunx", first(&args, &["--bun"])?),
        "uvx" => ("pypi", "uvx", first(&args, &[])?),
        "docker" if args.first()?.as_deref() == Some("run") => {
            ("oci", "docker", 1 + first(&args[1..], &["-i", "--rm", "-it", "--interactive"])?)
        }
        _ => return None,
    };
    let named = args[at].as_deref()?;
    let (identifier, version) = match kind {
        "npm" => split(named, "@"),
        "pypi" => match split(named, "==") {
            (_, None) => split(named, "@"),
            both => both,
        },
        // The tag or digest is part of an image's name.
        _ => (named, None),
    };
    let mut package = Map::from_iter([
        ("registryType".to_owned(), kind.into()),
        ("identifier".to_owned(), identifier.into()),
        ("runtimeHint".to_owned(), hint.into()),
        ("transport".to_owned(), json!({ "type": "stdio" })),
    ]);
    if let Some(version) = version.filter(|version| *version != "latest") {
        package.insert("version".to_owned(), version.into());
    }
    let argument = |argument: &Option<String>| match argument {
        Some(text) => json!({ "type": "positional", "value": text }),
        None => json!({ "type": "positional", "valueHint": "value", "isRequired": true, "isSecret": true }),
    };
    let rest: Vec<Value> = args[at + 1..].iter().map(argument).collect();
    if !rest.is_empty() {
        package.insert("packageArguments".to_owned(), rest.into());
    }
    if !definition.env.is_empty() {
        package.insert("environmentVariables".to_owned(), inputs(&definition.env));
    }
    Some(package.into())
}

/// Returns the index of the first argument after these flags. `None` if that argument is another flag, or is not shown.
fn first(args: &[Option<String>], flags: &[&str]) -> Option<usize> {
    let at = args.iter().position(|arg| arg.as_deref().is_none_or(|arg| !flags.contains(&arg)))?;
    args[at].as_ref().is_some_and(|arg| !arg.starts_with('-')).then_some(at)
}

/// Splits a package's name from its version. An `@` at the beginning belongs to the name's scope.
fn split<'t>(named: &'t str, by: &str) -> (&'t str, Option<&'t str>) {
    match named.rsplit_once(by) {
        Some((name, version)) if !name.is_empty() && !version.is_empty() => (name, Some(version)),
        _ => (named, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stdio(words: &[&str]) -> Option<Value> {
        let mut definition = Definition::stdio(Text::plain(words[0]));
        definition.args = words[1..].iter().map(|word| Text::plain(*word)).collect();
        definition.env = vec![("TOKEN".to_owned(), Text::plain("hunter2-hunter2"))];
        package(&definition)
    }

    #[test]
    fn a_server_of_a_package_runner_is_a_package_without_its_secrets() {
        let npm = stdio(&["npx", "-y", "@scope/files@1.2.3", "/data"]).unwrap();
        assert_eq!((&npm["registryType"], &npm["identifier"]), (&json!("npm"), &json!("@scope/files")));
        assert_eq!((&npm["version"], &npm["packageArguments"][0]["value"]), (&json!("1.2.3"), &json!("/data")));
        assert_eq!(npm["environmentVariables"][0]["name"], "TOKEN");
        assert!(!npm.to_string().contains("hunter2"), "{npm}");
        let whole = stdio(&["npx", "@scope/files@latest"]).unwrap();
        assert_eq!((&whole["identifier"], whole.get("version")), (&json!("@scope/files"), None));
        let pypi = stdio(&["/usr/bin/uvx", "fetch==2.0"]).unwrap();
        assert_eq!((&pypi["registryType"], &pypi["version"]), (&json!("pypi"), &json!("2.0")));
        let image = stdio(&["docker", "run", "-i", "--rm", "ghcr.io/a/b:1"]).unwrap();
        assert_eq!((&image["registryType"], &image["identifier"]), (&json!("oci"), &json!("ghcr.io/a/b:1")));
        for other in [&["node", "x.js"][..], &["npx", "-p", "a", "b"], &["docker", "run", "-v", "/:/x", "y"], &["npx"]]
        {
            assert_eq!(stdio(other), None, "{other:?}");
        }
    }
}
