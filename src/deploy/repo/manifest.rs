//! `agentpack.yaml`: profiles, targets and modules, checked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use serde_saphyr::{Location, Spanned};

use super::yaml::{self, Pairs};
use crate::deploy::module::{Kind, Target};
use crate::error::{Code, Error, Result, nearest};

/// The file's name.
pub const FILE: &str = "agentpack.yaml";

/// The one version of the file that there is.
const VERSION: u64 = 1;

/// The targets that the original knows and mcpkg does not write for.
const ELSEWHERE: [&str; 3] = ["export_dir", "jetbrains", "zed"];

/// Whose places a target writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The agents' home folders.
    User,
    /// Below the deploy root.
    Project,
    /// Both.
    Both,
}

impl Scope {
    /// Whether the agents' home folders are written to.
    pub fn has_user(self) -> bool {
        self != Scope::Project
    }

    /// Whether the deploy root is written to.
    pub fn has_project(self) -> bool {
        self != Scope::User
    }
}

/// What the file says of a target.
#[derive(Clone, Debug)]
pub struct TargetConfig {
    /// Whose places it writes to.
    pub scope: Scope,
    /// Its options, as they stand in the file.
    pub options: Map<String, Value>,
}

impl TargetConfig {
    /// Returns the option `name` where it is a truth value or a word for one, else `default`.
    pub fn flag(&self, name: &str, default: bool) -> bool {
        match self.options.get(name) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::Number(number)) if number.as_u64() == Some(1) => true,
            Some(Value::Number(number)) if number.as_u64() == Some(0) => false,
            Some(Value::String(word)) => match word.trim().to_ascii_lowercase().as_str() {
                "true" | "yes" | "1" => true,
                "false" | "no" | "0" => false,
                _ => default,
            },
            _ => default,
        }
    }

    /// Returns the option `name` where it is a text that is not empty.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.options.get(name)?.as_str().filter(|text| !text.trim().is_empty())
    }
}

/// Which modules a profile selects.
#[derive(Debug, Default)]
pub(super) struct Profile {
    pub(super) include_tags: BTreeSet<String>,
    pub(super) include_modules: BTreeSet<String>,
    pub(super) exclude_modules: BTreeSet<String>,
}

/// Where a module's files come from.
#[derive(Debug)]
pub(super) enum Source {
    Local(PathBuf),
    Git(GitSource),
}

/// A folder in a git repository.
#[derive(Clone, Debug)]
pub(super) struct GitSource {
    pub(super) url: String,
    pub(super) reference: String,
    pub(super) subdir: String,
    pub(super) shallow: bool,
}

impl GitSource {
    /// Whether the reference is a commit, which does not move.
    pub(super) fn is_commit(&self) -> bool {
        self.reference.len() == 40 && self.reference.bytes().all(|digit| digit.is_ascii_hexdigit())
    }
}

/// A module as the file declares it.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) id: String,
    pub(super) kind: Kind,
    pub(super) enabled: bool,
    pub(super) tags: Vec<String>,
    pub(super) targets: Vec<Target>,
    pub(super) source: Source,
}

/// The file, checked.
#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) profiles: BTreeMap<String, Profile>,
    pub(super) targets: BTreeMap<Target, TargetConfig>,
    /// By id.
    pub(super) modules: BTreeMap<String, Declared>,
}

#[derive(Deserialize)]
struct RawHead {
    version: Option<Spanned<Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    version: Spanned<Value>,
    profiles: Option<Pairs<Option<RawProfile>>>,
    targets: Option<Pairs<RawTarget>>,
    modules: Option<Vec<RawModule>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProfile {
    include_tags: Option<Vec<String>>,
    include_modules: Option<Vec<String>>,
    exclude_modules: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
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
#[serde(deny_unknown_fields)]
struct RawModule {
    id: Spanned<String>,
    #[serde(rename = "type")]
    kind: Kind,
    enabled: Option<bool>,
    tags: Option<Vec<String>>,
    targets: Option<Vec<Spanned<String>>>,
    source: Spanned<RawSource>,
    #[expect(dead_code, reason = "users' own; it is read so that it is known")]
    metadata: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSource {
    local_path: Option<RawLocal>,
    git: Option<RawGit>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLocal {
    path: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawGit {
    url: String,
    #[serde(rename = "ref")]
    reference: Option<String>,
    subdir: Option<String>,
    shallow: Option<bool>,
}

impl Manifest {
    /// Reads and checks the file in `folder`.
    ///
    /// # Errors
    /// `E_CONFIG_MISSING`, `E_CONFIG_INVALID`, `E_CONFIG_UNSUPPORTED_VERSION`, `E_TARGET_UNSUPPORTED`.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let text = match std::fs::read(&path) {
            Ok(bytes) => String::from_utf8(bytes).map_err(|_| refuse(&path, None, "it is no UTF-8", json!({})))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::new(
                    Code::ConfigMissing,
                    format!("`{}` has no {FILE}: it is no config repo", folder.display()),
                )
                .with_details(json!({"path": path.display().to_string()}))
                .hint("name the folder that holds agentpack.yaml with --repo"));
            }
            Err(error) => return Err(Error::file("read", &path, error)),
        };
        Self::parse(&path, &text)
    }

    /// Checks the text of the file `path`.
    ///
    /// # Errors
    /// `E_CONFIG_INVALID`, `E_CONFIG_UNSUPPORTED_VERSION`, `E_TARGET_UNSUPPORTED`.
    pub(super) fn parse(path: &Path, text: &str) -> Result<Self> {
        let raw: Raw = yaml::read(path, text).map_err(|error| {
            // A later version may have keys that this one has not: its version is what is wrong with it.
            match yaml::read::<RawHead>(path, text).map(|head| head.version) {
                Ok(Some(version)) => check_version(path, &version).err().unwrap_or(error),
                _ => error,
            }
        })?;
        check_version(path, &raw.version)?;
        let targets = targets(path, raw.targets.unwrap_or_default())?;
        let profiles = profiles(path, raw.profiles.unwrap_or_default())?;
        let mut modules = BTreeMap::new();
        for raw in raw.modules.unwrap_or_default() {
            let place = raw.id.referenced;
            let module = module(path, raw)?;
            let details = json!({"module_id": module.id});
            if let Some(twice) = modules.insert(module.id.clone(), module) {
                return Err(refuse(path, Some(place), &format!("the module id `{}` is used twice", twice.id), details));
            }
        }
        Ok(Self { profiles, targets, modules })
    }
}

fn check_version(path: &Path, version: &Spanned<Value>) -> Result<()> {
    if version.value.as_u64() == Some(VERSION) {
        return Ok(());
    }
    let Value::Object(details) = json!({"version": version.value, "supported": [VERSION]}) else {
        return Err(Error::internal("an object is none"));
    };
    let why = format!("version {} is not supported; supported is {VERSION}", version.value);
    Err(yaml::at(Code::ConfigVersion, path, Some(version.referenced), &why, details))
}

fn targets(path: &Path, raw: Pairs<RawTarget>) -> Result<BTreeMap<Target, TargetConfig>> {
    let mut targets = BTreeMap::new();
    for (name, raw) in raw.0 {
        let target = target(path, &name)?;
        if raw.scope == Scope::User && matches!(target, Target::Cursor | Target::Vscode) {
            let details = json!({"target": target.name(), "allowed_scopes": ["project", "both"]});
            let why = format!("`{}` has no place in the home folder: its scope is project or both", target.name());
            return Err(refuse(path, Some(name.referenced), &why, details));
        }
        targets.insert(target, TargetConfig { scope: raw.scope, options: raw.options.unwrap_or_default() });
    }
    Ok(targets)
}

fn target(path: &Path, name: &Spanned<String>) -> Result<Target> {
    let known = Target::ALL.map(Target::name);
    Target::named(&name.value).ok_or_else(|| {
        let elsewhere = ELSEWHERE.contains(&name.value.as_str());
        let why = match elsewhere {
            true => format!("mcpkg does not write for `{}`; it does for {}", name.value, known.join(", ")),
            false => format!("no target is called `{}`; there are {}", name.value, known.join(", ")),
        };
        let details = json!({
            "target": name.value,
            "allowed": known,
            "reason_code": "target_not_compiled",
            "next_actions": ["inspect_help_json", "edit_manifest_targets", "retry_command"],
        });
        let error = yaml::at(Code::TargetUnsupported, path, Some(name.referenced), &why, object(details));
        match nearest(&name.value, known) {
            Some(meant) if !elsewhere => error.hint(format!("did you mean `{meant}`?")),
            _ => error.hint("take it out of agentpack.yaml to deploy the rest"),
        }
    })
}

fn profiles(path: &Path, raw: Pairs<Option<RawProfile>>) -> Result<BTreeMap<String, Profile>> {
    let set = |list: Option<Vec<String>>| list.unwrap_or_default().into_iter().collect();
    let profiles: BTreeMap<String, Profile> = raw
        .0
        .into_iter()
        .map(|(name, raw)| {
            let raw = raw.unwrap_or_default();
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

fn module(path: &Path, raw: RawModule) -> Result<Declared> {
    let (id, place) = (raw.id.value, raw.id.referenced);
    let named = json!({"module_id": id});
    let name = id.split_once(':').map_or(id.as_str(), |(_, name)| name);
    if matches!(name, "" | ".") || name.contains(['/', '\\', '\0']) || name.contains("..") {
        let why = format!(
            "the module id `{}` would not stay in its folder: its name may not be empty, nor hold `/`, `\\` or `..`",
            id.escape_debug()
        );
        return Err(refuse(path, Some(place), &why, named));
    }
    let targets: Result<Vec<Target>> = raw.targets.iter().flatten().map(|name| target(path, name)).collect();
    let place = Some(raw.source.referenced);
    let source = match (raw.source.value.local_path, raw.source.value.git) {
        (Some(local), None) => {
            let Some(inside) = inside(&local.path) else {
                let why = format!("the path `{}` of module `{id}` leads out of the repo", local.path);
                return Err(refuse(path, place, &why, named));
            };
            Source::Local(inside)
        }
        (None, Some(git)) => Source::Git(git_source(path, place, &id, git)?),
        (local, _) => {
            let count = if local.is_some() { "two sources" } else { "no source" };
            let why = format!("module `{id}` has {count}: it needs one of `local_path` and `git`");
            return Err(refuse(path, place, &why, named));
        }
    };
    Ok(Declared {
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
        // git would read it as an option.
        if text.is_empty() || text.starts_with('-') || text.contains(['\0', '\n']) {
            let why = format!("the {what} `{}` of module `{id}` is none", text.escape_debug());
            return Err(refuse(path, place, &why, details()));
        }
    }
    let subdir = raw.subdir.unwrap_or_default();
    let inside = inside(&subdir).filter(|inside| !inside.is_absolute());
    let Some(inside) = inside else {
        let why = format!("the subdir `{subdir}` of module `{id}` leads out of its repository");
        return Err(refuse(path, place, &why, details()));
    };
    let subdir = inside.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/");
    Ok(GitSource { url: raw.url, reference, subdir, shallow: raw.shallow.unwrap_or(true) })
}

/// Returns a path without `.` and `..`; `None` where it is relative and leads out of where it begins.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Manifest> {
        Manifest::parse(Path::new("agentpack.yaml"), text)
    }

    fn refused(text: &str) -> (Code, String, Value) {
        let error = parse(text).unwrap_err();
        let hints = error.hints().join("; ");
        (error.code(), format!("{} | {hints}", error.message()), error.details().cloned().unwrap_or_default())
    }

    const HEAD: &str = "version: 1\nprofiles:\n  default:\n    include_tags: [base]\n";

    #[test]
    fn reads_what_the_original_reads() {
        let manifest = parse(&format!(
            "{HEAD}targets:\n  codex:\n    mode: files\n    scope: both\n    options: {{write_repo_skills: 'no', x: 1, \
             y: maybe, codex_home: /c}}\n  cursor: {{scope: project}}\nmodules:\n  - id: instructions:a\n    type: \
             instructions\n    tags: [base]\n    targets: [codex]\n    source: {{local_path: {{path: ./modules/x/../a}}}}\n    \
             metadata: {{owner: [me]}}\n  - id: skill:b\n    type: skill\n    enabled: false\n    source:\n      git: \
             {{url: https://h/o/r.git, subdir: a/b/}}\n"
        ))
        .unwrap();
        let codex = &manifest.targets[&Target::Codex];
        assert_eq!((codex.scope, codex.text("codex_home")), (Scope::Both, Some("/c")));
        assert_eq!(
            [
                codex.flag("write_repo_skills", true),
                codex.flag("x", false),
                codex.flag("y", true),
                codex.flag("z", false)
            ],
            [false, true, true, false]
        );
        let a = &manifest.modules["instructions:a"];
        assert!(a.enabled && matches!(&a.source, Source::Local(path) if path == Path::new("modules/a")));
        assert_eq!(a.targets, [Target::Codex]);
        let b = &manifest.modules["skill:b"];
        let Source::Git(git) = &b.source else { panic!("git") };
        assert_eq!((git.reference.as_str(), git.subdir.as_str(), git.shallow, b.enabled), ("main", "a/b", true, false));
    }

    #[test]
    fn d36_unknown_keys_are_refused_with_position_and_suggestion() {
        let (code, message, details) = refused("version: 1\nprofils:\n  default: {}\n");
        assert_eq!(code, Code::ConfigInvalid);
        assert_eq!(
            message,
            "`agentpack.yaml:2:1`: unknown key `profils`; known are version, profiles, targets, modules | did you mean `profiles`?"
        );
        assert_eq!(
            (&details["line"], &details["column"], &details["did_you_mean"]),
            (&json!(2), &json!(1), &json!("profiles"))
        );
        let (_, message, details) = refused(&format!("{HEAD}modules:\n  - id: a\n    type: skill\n    tag: [x]\n"));
        assert!(message.contains("`tag`") && message.contains("did you mean `tags`"), "{message}");
        assert_eq!(details["line"], 8);
        let (_, message, _) = refused(&format!("{HEAD}modules:\n  - id: a\n    type: skil\n"));
        assert!(message.contains("unknown value `skil`") && message.contains("did you mean `skill`"), "{message}");
    }

    #[test]
    fn d10_ids_stay_in_their_folder() {
        for id in
            ["skill:../../../evil", "'skill:'", "''", "skill:a/b", "skill:a\\b", "'..'", "skill:.", "\"skill:a\\0\""]
        {
            let source = "source: {local_path: {path: a}}";
            let (code, message, details) =
                refused(&format!("{HEAD}modules:\n  - id: {id}\n    type: skill\n    {source}\n"));
            assert_eq!(code, Code::ConfigInvalid, "{id}");
            assert!(message.contains("would not stay in its folder") && details["module_id"].is_string(), "{message}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        let module = |rest: &str| format!("{HEAD}modules:\n  - id: a\n    type: skill\n    {rest}\n");
        let twice = "source: {local_path: {path: a}}\n  - id: a\n    type: skill\n    source: {local_path: {path: a}}";
        for (text, code, says) in [
            ("version: 2\nnews: 1\n".to_owned(), Code::ConfigVersion, "version 2 is not supported"),
            ("profiles: {}\n".to_owned(), Code::ConfigInvalid, "version"),
            ("version: 1\n".to_owned(), Code::ConfigInvalid, "no profile `default`"),
            ("version: [\n".to_owned(), Code::ConfigInvalid, "agentpack.yaml:"),
            (format!("{HEAD}targets: {{cursor: {{scope: user}}}}"), Code::ConfigInvalid, "project or both"),
            (
                format!("{HEAD}targets: {{zed: {{scope: project}}}}"),
                Code::TargetUnsupported,
                "does not write for `zed`",
            ),
            (format!("{HEAD}targets: {{codx: {{scope: user}}}}"), Code::TargetUnsupported, "did you mean `codex`"),
            (format!("{HEAD}targets: {{codex: {{mode: link, scope: user}}}}"), Code::ConfigInvalid, "`link`"),
            (format!("{HEAD}targets: {{codex: {{}}}}"), Code::ConfigInvalid, "scope"),
            (module("targets: [vim]\n    source: {local_path: {path: a}}"), Code::TargetUnsupported, "`vim`"),
            (module("source: {}"), Code::ConfigInvalid, "has no source"),
            (module("source: {local_path: {path: a}, git: {url: b}}"), Code::ConfigInvalid, "has two sources"),
            (module("source: {local_path: {path: a/../../b}}"), Code::ConfigInvalid, "leads out of the repo"),
            (module("source: {git: {url: --upload-pack=x}}"), Code::ConfigInvalid, "the url"),
            (module("source: {git: {url: u, ref: -x}}"), Code::ConfigInvalid, "the ref"),
            (module("source: {git: {url: u, subdir: /etc}}"), Code::ConfigInvalid, "leads out of its repository"),
            (module(twice), Code::ConfigInvalid, "used twice"),
        ] {
            let (found, message, _) = refused(&text);
            assert_eq!(found, code, "{text}: {message}");
            assert!(message.contains(says), "{message}");
        }
    }
}
