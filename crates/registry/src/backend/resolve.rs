//! Finds the version and the registry for a reference, and checks that the version's digest has not changed.

use semver::Version;
use serde_json::json;

use super::known::Known;
use super::registry::Registry;
use super::tool::{Listed, ToolInfo, VersionInfo};
use super::unknown::{no_version, none_but_yanked};
use crate::package::{Name, Reference, Wanted};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::tools::packages::{self, Release, Yank};
use mcpkg_store::tools::registries::LOCAL;

/// Options for choosing a version.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice<'c> {
    /// The only registry to ask; `None` asks all of them in order.
    pub registry: Option<&'c str>,
    /// Whether a pre-release may be chosen even if the reference does not name it.
    pub pre: bool,
    /// Whether a yanked version may be chosen.
    pub allow_yanked: bool,
    /// Whether the user's command supports `--allow-yanked`, so that hints can mention it.
    pub offers_yanked: bool,
}

/// The version that a reference stands for.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The registry that has the version.
    pub registry: String,
    /// The version. If it was ever seen yanked, it stays yanked until `mcpkg tool unyank` reverts that.
    pub version: VersionInfo,
    /// Warnings about registries that could not be asked.
    pub warnings: Vec<String>,
}

/// Returns the version for a reference, from the first registry by priority that has a matching version. Records the
/// version's digest, which must never change again.
///
/// A registry that cannot be asked (it is unreachable, not approved, or its token is missing) is skipped if it never
/// had the tool. If it did have the tool, resolving fails: a tool with the same name in another registry could be a
/// different one.
///
/// # Errors
/// `E_TOOL_NOT_FOUND`, `E_VERSION_NOT_FOUND`, `E_VERSION_YANKED`, `E_DIGEST_CHANGED`, `E_NOT_FOUND` if `choice` names
/// an unknown registry, and the errors of opening and asking a registry, such as `E_UNAPPROVED` or
/// `E_REGISTRY_UNREACHABLE`.
pub fn resolve(context: &Context, reference: &Reference, choice: Choice<'_>) -> Result<Resolved> {
    let name = &reference.name;
    let (mut missing, mut passed) = (None, Vec::new());
    for known in Known::meant(context, choice.registry)? {
        let found =
            known.open(context).and_then(|registry| choose(context, &known.name, &*registry, reference, choice));
        match found {
            Ok(version) => {
                let version = pin(context, &known.name, version)?;
                let warnings = passed.iter().map(|error: &Error| error.message().to_owned()).collect();
                return Ok(Resolved { registry: known.name, version, warnings });
            }
            Err(error) if error.code() == Code::ToolNotFound => {}
            Err(error) if matches!(error.code(), Code::VersionNotFound | Code::VersionYanked) => {
                missing.get_or_insert(error);
            }
            Err(error) if cannot_be_asked(&error) => {
                if !context.store.read(|db| packages::versions(db, &known.name, name.as_str()))?.is_empty() {
                    return Err(error);
                }
                passed.push(error);
            }
            Err(error) => return Err(error),
        }
    }
    // A registry that could not be asked may have a matching version, so the error mentions it.
    if let Some(error) = missing {
        return Err(passed.iter().fold(error, |error, passed| {
            error.hint(format!("another registry was not checked: {}", passed.message()))
        }));
    }
    if !passed.is_empty() {
        return Err(nowhere_else(name, passed, choice));
    }
    let whose = choice.registry.map_or("No registry".to_owned(), |registry| format!("Registry '{registry}'"));
    let has = if choice.registry.is_some() { "has no tool" } else { "has a tool" };
    Err(Error::new(Code::ToolNotFound, format!("{whose} {has} '{name}'"))
        .with_details(json!({ "tool": name }))
        .hint("`mcpkg tool search WORDS` finds tools; `mcpkg registry list` shows the registries that it searches"))
}

/// Returns whether an error means that this user cannot ask a registry at the moment.
fn cannot_be_asked(error: &Error) -> bool {
    matches!(error.code(), Code::RegistryUnreachable | Code::Unapproved | Code::SecretMissing)
}

/// Returns the error for a tool that no reachable registry has. The error also says why each of the other registries
/// could not be asked.
fn nowhere_else(name: &Name, passed: Vec<Error>, choice: Choice<'_>) -> Error {
    let mut passed = passed.into_iter();
    let Some(first) = passed.next() else { return Error::internal("all registries were searched") };
    if choice.registry.is_some() {
        return first;
    }
    let message = format!("None of the reachable registries has a tool '{name}'. {}", first.message());
    let error = Error::new(first.code(), message).with_details(json!({ "tool": name }));
    let error = first.hints().iter().fold(error, |error, hint| error.hint(hint.clone()));
    passed.fold(error, |error, passed| error.hint(format!("another registry was not checked: {}", passed.message())))
}

/// Chooses the version in one registry that matches a reference.
fn choose(
    context: &Context,
    registry: &str,
    backend: &dyn Registry,
    reference: &Reference,
    choice: Choice<'_>,
) -> Result<VersionInfo> {
    let name = &reference.name;
    let version = match &reference.version {
        Wanted::Exact(version) => version.clone(),
        wanted => {
            let info = backend.info(name)?;
            let seen = yanked(context, registry, name)?;
            match chosen(&info, &seen, wanted, choice) {
                Some(version) => version.clone(),
                None => return Err(none_left(registry, &info, &seen, wanted, choice)),
            }
        }
    };
    let mut found = backend.version(name, &version)?;
    if found.yank.is_none() && registry != LOCAL {
        let seen = context.store.read(|db| packages::get(db, registry, name.as_str(), &version.to_string()))?;
        found.yank = seen.and_then(|row| row.release.yank);
    }
    match &found.yank {
        Some(yank) if !choice.allow_yanked => Err(was_yanked(name, &version, yank, choice.offers_yanked)),
        _ => Ok(found),
    }
}

fn chosen<'i>(info: &'i ToolInfo, seen: &[String], wanted: &Wanted, choice: Choice<'_>) -> Option<&'i Version> {
    let sound = info.versions.iter().filter(|version| !is_yanked(version, seen)).map(|version| &version.version);
    let all = info.versions.iter().map(|version| &version.version);
    wanted.choose(sound, choice.pre).or_else(|| wanted.choose(all, choice.pre).filter(|_| choice.allow_yanked))
}

fn is_yanked(version: &Listed, seen: &[String]) -> bool {
    version.yank.is_some() || seen.contains(&version.version.to_string())
}

/// Returns the versions of a tool that were yanked when last seen. Returns none for this database, because its own list
/// of versions already shows every yank.
fn yanked(context: &Context, registry: &str, name: &Name) -> Result<Vec<String>> {
    if registry == LOCAL {
        return Ok(Vec::new());
    }
    let rows = context.store.read(|db| packages::versions(db, registry, name.as_str()))?;
    let yanked = rows.into_iter().filter(|row| row.release.yank.is_some());
    Ok(yanked.map(|row| row.release.version).collect())
}

fn none_left(registry: &str, info: &ToolInfo, seen: &[String], wanted: &Wanted, choice: Choice<'_>) -> Error {
    let versions: Vec<Version> = info.versions.iter().map(|version| version.version.clone()).collect();
    let yanked = info.versions.iter().filter(|version| is_yanked(version, seen)).count();
    if yanked == versions.len() && wanted.choose(&versions, true).is_some() {
        let error = none_but_yanked(registry, &info.name, &versions);
        return error.hint(takes_yanked(&format!("{}@VERSION", info.name), choice.offers_yanked));
    }
    let error = no_version(registry, &info.name, &wanted.to_string(), &versions);
    let error = match info.versions.iter().any(|version| !version.version.pre.is_empty()) {
        true => error.hint("to accept a pre-release, specify its version, or pass --pre"),
        false => error,
    };
    match yanked > 0 && choice.offers_yanked {
        true => error.hint("to accept a yanked version, pass --allow-yanked"),
        false => error,
    }
}

/// Returns the hint about accepting a yanked version; `offers` says whether the command supports `--allow-yanked`.
fn takes_yanked(reference: &str, offers: bool) -> String {
    match offers {
        true => "to accept a yanked version, pass --allow-yanked".to_owned(),
        false => format!("`mcpkg tool install {reference} --allow-yanked` accepts a yanked version"),
    }
}

/// Returns the error for a yanked version; `offers` says whether the command supports `--allow-yanked`.
pub fn was_yanked(name: &Name, version: &Version, yank: &Yank, offers: bool) -> Error {
    let why = yank.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let error = Error::new(Code::VersionYanked, format!("{name}@{version} was yanked by its publisher{why}"))
        .with_details(json!({ "tool": name, "reason": yank.reason, "replacement": yank.replacement }));
    match &yank.replacement {
        Some(replacement) => error.hint(format!("use {name}@{replacement} instead")),
        None => error.hint(takes_yanked(&format!("{name}@{version}"), offers)),
    }
}

/// Compares a version's digest with the digest from the first time that this database saw the version. A writable
/// database also records new versions, and marks the version as yanked if it was ever seen yanked. Versions from this
/// database itself are returned unchanged.
fn pin(context: &Context, registry: &str, version: VersionInfo) -> Result<VersionInfo> {
    if registry == LOCAL {
        return Ok(version);
    }
    let release = release(registry, &version);
    let yank = match context.store.may_write() {
        true => context.store.write(|db| packages::see(db, &release, context.clock.now()))?.release.yank,
        false => {
            let seen = context.store.read(|db| packages::get(db, registry, &release.name, &release.version))?;
            seen.as_ref().map_or(Ok(()), |seen| packages::check_digest(seen, &release))?;
            version.yank.clone()
        }
    };
    Ok(VersionInfo { yank: yank.or(version.yank), ..version })
}

pub fn release(registry: &str, info: &VersionInfo) -> Release {
    let VersionInfo { name, version, sha256, size, publisher, visibility, published_at, yank } = info.clone();
    Release {
        registry: registry.to_owned(),
        name: name.to_string(),
        version: version.to_string(),
        sha256,
        size,
        publisher,
        visibility,
        published_at,
        yank,
    }
}
