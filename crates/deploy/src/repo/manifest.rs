//! Reads `agentpack.yaml` and checks its profiles, targets and modules.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use serde_saphyr::{Location, Spanned};

use super::bounds::{Bounds, Refusal};
use super::config::{DeclaredModule, DeclaredTarget, GitSource, ModuleSource, Profile, Scope};
use super::yaml::{self, Known, Pairs, Unknown};
use crate::module::Kind;
use crate::targets::Target;
use mcpkg_base::error::{Code, Error, Result, nearest};
use mcpkg_base::file;

pub const FILE: &str = "agentpack.yaml";

/// The only supported version of the file.
const VERSION: u64 = 1;

/// Targets of agentpack, the original tool of contract 000, that mcpkg does not support.
const ELSEWHERE: [&str; 3] = ["export_dir", "jetbrains", "zed"];

#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) profiles: BTreeMap<String, Profile>,
    pub(super) targets: BTreeMap<Target, DeclaredTarget>,
    pub(super) modules: BTreeMap<String, DeclaredModule>,
    /// Warnings about unknown keys, for the author of the file.
    pub(super) warnings: Vec<String>,
}

#[derive(Deserialize)]
struct RawHead {
    version: Option<Spanned<Value>>,
}

#[derive(Deserialize)]
struct Raw {
    version: Spanned<Value>,
    profiles: Option<Pairs<Option<Known<RawProfile>>>>,
    targets: Option<Pairs<Known<RawTarget>>>,
    modules: Option<Vec<Known<RawModule>>>,
}

#[derive(Default, Deserialize)]
struct RawProfile {
    include_tags: Option<Vec<String>>,
    include_modules: Option<Vec<String>>,
    exclude_modules: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct RawTarget {
    #[expect(dead_code, reason = "there is one mode; it is read to be checked")]
    mode: Option<Mode>,
    scope: Scope,
    options: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Files,
}

#[derive(Deserialize)]
struct RawModule {
    id: Spanned<String>,
    #[serde(rename = "type")]
    kind: Kind,
    enabled: Option<bool>,
    tags: Option<Vec<String>>,
    targets: Option<Vec<Spanned<String>>>,
    source: Spanned<Known<RawSource>>,
    #[expect(dead_code, reason = "users' own; it is read so that it is known")]
    metadata: Option<Pairs<IgnoredAny>>,
}

#[derive(Deserialize)]
struct RawSource {
    local_path: Option<Known<RawLocal>>,
    git: Option<Known<RawGit>>,
}

#[derive(Deserialize)]
struct RawLocal {
    path: String,
}

#[derive(Deserialize)]
struct RawGit {
    url: String,
    #[serde(rename = "ref")]
    reference: Option<String>,
    subdir: Option<String>,
    shallow: Option<bool>,
}

impl Manifest {
    /// Reads and checks `agentpack.yaml`. `folder` is the repo's folder as the user named it.
    pub(super) fn read(bounds: &Bounds, folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let bytes = match bounds.read(&bounds.own().join(FILE), file::TEXT) {
            Ok(bytes) => bytes,
            Err(Refusal::Missing) => return Err(missing(folder)),
            Err(refusal) => {
                let own = bounds.own().join(FILE);
                return Err(refusal.error(&own, |why| refuse(&path, None, &format!("it {why}"), json!({}))));
            }
        };
        let text = String::from_utf8(bytes).map_err(|_| refuse(&path, None, "it is not valid UTF-8", json!({})))?;
        Self::parse(&path, &text, bounds.has_allowed())
    }

    /// Checks the text of `agentpack.yaml`. With `outside`, modules may be outside the repo; their paths are checked
    /// later, when they are read.
    pub(super) fn parse(path: &Path, text: &str, outside: bool) -> Result<Self> {
        let raw: Known<Raw> = yaml::read(path, text).map_err(|error| {
            // A later version may use other types. In that case, report the version instead of the type error.
            match yaml::read::<RawHead>(path, text).map(|head| head.version) {
                Ok(Some(version)) => check_version(path, &version).err().unwrap_or(error),
                _ => error,
            }
        })?;
        check_version(path, &raw.value.version)?;
        let warnings: Vec<String> = unknown(&raw).map(|unknown| unknown.warning(path)).collect();
        match check(path, raw.value, outside) {
            Ok(manifest) => Ok(Self { warnings, ..manifest }),
            // A misspelt key may be the cause, so add the warnings as hints.
            Err(error) => Err(warnings.into_iter().fold(error, Error::hint)),
        }
    }
}

fn unknown(raw: &Known<Raw>) -> impl Iterator<Item = &Unknown> {
    let Raw { profiles, targets, modules, .. } = &raw.value;
    let profiles = profiles.iter().flat_map(|pairs| &pairs.0).flat_map(|(_, profile)| profile);
    let targets = targets.iter().flat_map(|pairs| &pairs.0).flat_map(|(_, target)| &target.unknown);
    let modules = modules.iter().flatten().flat_map(unknown_of_module);
    raw.unknown.iter().chain(profiles.flat_map(|profile| &profile.unknown)).chain(targets).chain(modules)
}

fn unknown_of_module(module: &Known<RawModule>) -> impl Iterator<Item = &Unknown> {
    let source = &module.value.source.value;
    let local = source.value.local_path.iter().flat_map(|local| &local.unknown);
    let git = source.value.git.iter().flat_map(|git| &git.unknown);
    module.unknown.iter().chain(&source.unknown).chain(local).chain(git)
}

fn check(path: &Path, raw: Raw, outside: bool) -> Result<Manifest> {
    let targets = targets(path, raw.targets.unwrap_or_default())?;
    let profiles = profiles(path, raw.profiles.unwrap_or_default())?;
    let mut modules = BTreeMap::new();
    for Known { value: raw, .. } in raw.modules.unwrap_or_default() {
        let place = raw.id.referenced;
        let module = module(path, raw, outside)?;
        let details = json!({"module_id": module.id});
        if let Some(twice) = modules.insert(module.id.clone(), module) {
            return Err(refuse(path, Some(place), &format!("the module id `{}` is used twice", twice.id), details));
        }
    }
    Ok(Manifest { profiles, targets, modules, warnings: Vec::new() })
}

/// Returns the error for a folder that does not contain `agentpack.yaml`.
pub(super) fn missing(folder: &Path) -> Error {
    let why = format!("`{}` is not a config repo: it has no {FILE}", folder.display());
    Error::new(Code::ConfigMissing, why)
        .with_details(json!({"path": folder.join(FILE).display().to_string()}))
        .hint("pass the folder that contains agentpack.yaml with --repo")
}

fn check_version(path: &Path, version: &Spanned<Value>) -> Result<()> {
    if version.value.as_u64() == Some(VERSION) {
        return Ok(());
    }
    let Value::Object(details) = json!({"version": version.value, "supported": [VERSION]}) else {
        return Err(Error::internal("`json!({...})` did not make an object"));
    };
    let why = format!("version {} is not supported; use version {VERSION}", version.value);
    Err(yaml::at(Code::ConfigVersion, path, Some(version.referenced), &why, details))
}

fn targets(path: &Path, raw: Pairs<Known<RawTarget>>) -> Result<BTreeMap<Target, DeclaredTarget>> {
    let mut targets = BTreeMap::new();
    for (name, Known { value: raw, .. }) in raw.0 {
        let target = target(path, &name)?;
        if raw.scope == Scope::User && target.facts().original_user.is_empty() {
            let details = json!({"target": target.name(), "allowed_scopes": ["project", "both"]});
            let why =
                format!("`{}` cannot be deployed to the home folder: set its scope to project or both", target.name());
            return Err(refuse(path, Some(name.referenced), &why, details));
        }
        targets.insert(target, DeclaredTarget { scope: raw.scope, options: raw.options.unwrap_or_default() });
    }
    Ok(targets)
}

fn target(path: &Path, name: &Spanned<String>) -> Result<Target> {
    let known = Target::contract_names();
    Target::of_contract().find(|target| target.name() == name.value).ok_or_else(|| {
        let elsewhere = ELSEWHERE.contains(&name.value.as_str());
        let why = match elsewhere {
            true => format!("mcpkg does not support the target `{}`; it supports {}", name.value, known.join(", ")),
            false => format!("no target is called `{}`; the targets are {}", name.value, known.join(", ")),
        };
        let details = json!({
            "target": name.value,
            "allowed": known,
            "reason_code": "target_not_compiled",
            "next_actions": ["inspect_help_json", "edit_manifest_targets", "retry_command"],
        });
        let error = yaml::at(Code::TargetUnsupported, path, Some(name.referenced), &why, object(details));
        match nearest(&name.value, known.iter().copied()) {
            Some(meant) if !elsewhere => error.hint(format!("did you mean `{meant}`?")),
            _ => error.hint("remove this target from agentpack.yaml to deploy the rest"),
        }
    })
}

fn profiles(path: &Path, raw: Pairs<Option<Known<RawProfile>>>) -> Result<BTreeMap<String, Profile>> {
    let set = |list: Option<Vec<String>>| list.unwrap_or_default().into_iter().collect();
    let profiles: BTreeMap<String, Profile> = raw
        .0
        .into_iter()
        .map(|(name, raw)| {
            let raw = raw.unwrap_or_default().value;
            let profile = Profile {
                include_tags: set(raw.include_tags),
                include_modules: set(raw.include_modules),
                exclude_modules: set(raw.exclude_modules),
            };
            (name.value, profile)
        })
        .collect();
    if profiles.contains_key("default") {
        return Ok(profiles);
    }
    Err(refuse(path, None, "it has no profile `default`", json!({"profile": "default"}))
        .hint("add `profiles: {default: {include_tags: [base]}}`"))
}

fn module(path: &Path, raw: RawModule, outside: bool) -> Result<DeclaredModule> {
    let (id, place) = (raw.id.value, raw.id.referenced);
    let named = json!({"module_id": id});
    let name = id.split_once(':').map_or(id.as_str(), |(_, name)| name);
    if matches!(name, "" | ".") || name.contains(['/', '\\', '\0']) || name.contains("..") {
        let why = format!(
            "the module id `{}` is invalid: its name must not be empty or contain `/`, `\\` or `..`",
            id.escape_debug()
        );
        return Err(refuse(path, Some(place), &why, named));
    }
    let targets: Result<Vec<Target>> = raw.targets.iter().flatten().map(|name| target(path, name)).collect();
    let place = Some(raw.source.referenced);
    let RawSource { local_path, git } = raw.source.value.value;
    let source = match (local_path, git) {
        (Some(Known { value: local, .. }), None) => match inside(&local.path) {
            Some(inside) => ModuleSource::Local(inside),
            None if outside => ModuleSource::Local(local.path.into()),
            None => {
                let why = format!("the path `{}` of module `{id}` is outside the repo", local.path);
                let hint = "to allow that folder, pass --allow-outside DIR";
                return Err(refuse(path, place, &why, named).hint(hint));
            }
        },
        (None, Some(git)) => ModuleSource::Git(git_source(path, place, &id, git.value)?),
        (local, _) => {
            let count = if local.is_some() { "two sources" } else { "no source" };
            let why = format!("module `{id}` has {count}: it needs either `local_path` or `git`");
            return Err(refuse(path, place, &why, named));
        }
    };
    Ok(DeclaredModule {
        id,
        kind: raw.kind,
        enabled: raw.enabled.unwrap_or(true),
        tags: raw.tags.unwrap_or_default(),
        targets: targets?,
        source,
    })
}

fn git_source(path: &Path, place: Option<Location>, id: &str, raw: RawGit) -> Result<GitSource> {
    let details = || json!({"module_id": id});
    let reference = raw.reference.unwrap_or_else(|| "main".to_owned());
    for (what, text) in [("url", &raw.url), ("ref", &reference)] {
        // Git would treat a text that begins with `-` as an option.
        if text.is_empty() || text.starts_with('-') || text.contains(['\0', '\n']) {
            let why = format!("the {what} `{}` of module `{id}` is invalid", text.escape_debug());
            return Err(refuse(path, place, &why, details()));
        }
    }
    let subdir = raw.subdir.unwrap_or_default();
    let inside = inside(&subdir).filter(|inside| !inside.is_absolute());
    let Some(inside) = inside else {
        let why = format!("the subdir `{subdir}` of module `{id}` is outside its repository");
        return Err(refuse(path, place, &why, details()));
    };
    let subdir = inside.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/");
    Ok(GitSource { url: raw.url, reference, subdir, shallow: raw.shallow.unwrap_or(true) })
}

/// Returns a relative path without `.` and `..`, or an absolute path unchanged. Returns `None` if a relative path leads
/// out of its starting folder.
fn inside(path: &str) -> Option<PathBuf> {
    let given = Path::new(path);
    if given.is_absolute() {
        return Some(given.to_path_buf());
    }
    let mut inside = PathBuf::new();
    for part in given.components() {
        match part {
            Component::Normal(name) => inside.push(name),
            Component::CurDir => {}
            Component::ParentDir if inside.pop() => {}
            _ => return None,
        }
    }
    Some(inside)
}

fn refuse(path: &Path, place: Option<Location>, why: &str, details: Value) -> Error {
    yaml::invalid(path, place, why, object(details))
}

fn object(details: Value) -> Map<String, Value> {
    match details {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
