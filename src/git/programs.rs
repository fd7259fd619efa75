//! The programs that a repository's own configuration names.
//!
//! A repository may arrive as a folder, with a `.git` that somebody else wrote. Git runs what its configuration names: filters while it
//! looks at files, `uploadpack` while it fetches, `gpg.program` while it signs. So that configuration is read first, without git
//! working in the repository. Reads then go on with the filters switched off; anything that would run such a program is refused until
//! this user trusted exactly these settings ([`trust`]). The user's own configuration is not asked: nobody else wrote it.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::failure::{ended, failed, subcommand};
use super::folder;
use crate::approved::{Approved, Kind};
use crate::error::{Code, Error, Result};
use crate::file;
use crate::hex;
use crate::process::{Environment, Limits, Program};

/// The largest configuration that is read.
const LARGEST: u64 = 4 << 20;

/// The largest index that is looked through.
const LARGEST_INDEX: u64 = 256 << 20;

/// How deep files include each other.
const DEPTH: usize = 10;

/// Words of which each name of a setting that matters has one: a file with none of them is not parsed.
const WORDS: &[&str] = &[
    "program",
    "command",
    "helper",
    "driver",
    "textconv",
    "clean",
    "smudge",
    "process",
    "pack",
    "vcs",
    "include",
    "gitproxy",
    "askpass",
    "hookspath",
    "external",
    "submodule",
];

/// Commands of git that run none of these programs once filters are switched off.
const QUIET: &[&str] = &[
    "clone",
    "hook",
    "commit-tree",
    "fetch",
    "ls-remote",
    "push",
    "tag",
    "cat-file",
    "check-ref-format",
    "config",
    "diff",
    "diff-tree",
    "for-each-ref",
    "hash-object",
    "init",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "mktag",
    "mktree",
    "rev-list",
    "rev-parse",
    "show",
    "show-ref",
    "status",
    "symbolic-ref",
    "update-ref",
    "var",
    "version",
];

/// Commands of git that ask another host.
const REMOTE: &[&str] = &["clone", "fetch", "ls-remote", "pull", "push", "submodule"];

/// What runs a program that a setting names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runs {
    /// Whatever writes or reads files of a work tree.
    Files,
    /// Whatever asks another host.
    Remotes,
    /// Whatever signs.
    Signing,
    /// Whatever lets hooks run.
    Hooks,
}

/// A setting that names a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    /// The key, as git writes it.
    pub key: String,
    /// The value.
    pub value: String,
}

impl Setting {
    /// Returns what runs it; `None` where it names no program that mcpkg's git would run.
    fn runs(&self) -> Option<Runs> {
        let (section, rest) = self.key.split_once('.')?;
        let (name, variable) = rest.rsplit_once('.').map_or((None, rest), |(name, variable)| (Some(name), variable));
        match (section, name, variable) {
            ("filter", Some(_), "clean" | "smudge" | "process")
            | ("merge", Some(_), "driver")
            | ("diff", Some(_), "command" | "textconv")
            | ("diff", None, "external")
            | ("core", None, "alternaterefscommand")
            | ("hook", Some(_), "command") => Some(Runs::Files),
            ("core", None, "sshcommand" | "gitproxy" | "askpass")
            | ("credential", _, "helper")
            | ("remote", Some(_), "uploadpack" | "receivepack" | "vcs") => Some(Runs::Remotes),
            ("submodule", Some(_), "update") if self.value.trim_start().starts_with('!') => Some(Runs::Remotes),
            ("gpg", _, "program" | "defaultkeycommand") => Some(Runs::Signing),
            ("core", None, "hookspath") | (HOOK, None, _) => Some(Runs::Hooks),
            _ => None,
        }
        .filter(|_| !self.value.trim().is_empty())
    }
}

/// The hooks of a merge and of the switch after it, in the order in which git runs them.
pub const MERGE: [&str; 5] = ["pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-merge", "post-checkout"];

/// The hook of a push.
const PUSH: &str = "pre-push";

/// The section of the keys that stand for hooks that lie in the repository.
const HOOK: &str = "hooks";

/// The settings of a repository that name programs, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// The folder that git keeps the repository in.
    place: PathBuf,
    /// The settings.
    pub settings: BTreeSet<Setting>,
}

impl Named {
    /// Reads the configuration that the repository of a folder brings, and that of its submodules.
    ///
    /// # Errors
    /// `E_GIT_FAILED` where it is malformed, `E_GIT_NOT_FOUND`, `E_FILE_FAILED`, `E_CANCELLED`.
    pub fn of(folder: &Path, limits: &Limits<'_>) -> Result<Self> {
        let Some((own, shared)) = kept_in(folder) else { return Ok(Self::default()) };
        let mut named = Self { place: shared.canonicalize().unwrap_or_else(|_| shared.clone()), ..Self::default() };
        named.read(&own, &shared, limits)?;
        // Those that mcpkg lets run.
        for name in MERGE.into_iter().chain([PUSH]) {
            let hook = shared.join("hooks").join(name);
            if hook.is_file() {
                named.settings.insert(Setting { key: format!("{HOOK}.{name}"), value: hook.display().to_string() });
            }
        }
        for submodule in submodules(&own, &shared, folder) {
            named.read(&submodule, &submodule, limits)?;
        }
        Ok(named)
    }

    fn read(&mut self, own: &Path, shared: &Path, limits: &Limits<'_>) -> Result<()> {
        for path in [shared.join("config"), own.join("config.worktree")] {
            self.take(&path, DEPTH, limits)?;
        }
        Ok(())
    }

    /// Takes the settings of a file, and of those that it includes, whatever the condition.
    fn take(&mut self, path: &Path, depth: usize, limits: &Limits<'_>) -> Result<()> {
        let bytes = match file::read(path, LARGEST) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Error::file("read", path, error)),
        };
        let lower = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        if !WORDS.iter().any(|word| lower.contains(word)) {
            return Ok(());
        }
        for setting in parsed(path, &bytes, limits)? {
            let is_include = setting.key == "include.path"
                || (setting.key.starts_with("includeif.") && setting.key.ends_with(".path"));
            if is_include && depth > 0 {
                // Git looks elsewhere for these, in a place that is not known here.
                let is_elsewhere = setting.value.starts_with('~') && !setting.value.starts_with("~/");
                if is_elsewhere || setting.value.starts_with("%(") {
                    let what = format!(
                        "The configuration `{}` cannot be read: it includes `{}`",
                        path.display(),
                        setting.value
                    );
                    return Err(Error::new(Code::GitFailed, what).hint("name the file by its path from the root"));
                }
                let included = match setting.value.strip_prefix("~/") {
                    Some(rest) => PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(rest),
                    None => path.parent().unwrap_or(path).join(&setting.value),
                };
                self.take(&included, depth - 1, limits)?;
            } else if setting.runs().is_some() {
                self.settings.insert(setting);
            }
        }
        Ok(())
    }

    /// Returns the SHA-256 of where the repository is and what it names, in hex.
    pub fn sha256(&self) -> String {
        let settings: Vec<[&str; 2]> = self.settings.iter().map(|setting| [&*setting.key, &*setting.value]).collect();
        hex::encode(&Sha256::digest(json!([self.place, settings]).to_string()))
    }

    /// Whether this user trusted exactly these settings.
    ///
    /// # Errors
    /// `E_IO_PERMISSION_DENIED`, `E_FILE_FAILED`.
    pub fn is_trusted(&self, approved: &Approved) -> Result<bool> {
        Ok(self.settings.is_empty() || approved.has(Kind::Repository, &self.sha256())?)
    }

    /// The settings for people, a line each.
    pub fn lines(&self) -> Vec<String> {
        self.settings.iter().map(|setting| format!("{} = {}", setting.key, setting.value)).collect()
    }

    /// The settings for programs.
    pub fn data(&self) -> Value {
        self.settings.iter().map(|setting| json!({ "key": setting.key, "value": setting.value })).collect()
    }
}

/// Notes that this user trusts what a repository names.
///
/// # Errors
/// As [`Approved::put`].
pub fn trust(named: &Named, approved: &Approved) -> Result<()> {
    approved.put(Kind::Repository, &named.sha256(), &json!({ "place": named.place, "settings": named.data() }))
}

/// Returns `program` so that it runs nothing which the repository of `folder` names and this user did not trust.
///
/// # Errors
/// As [`require`].
pub(super) fn held_back<A: AsRef<OsStr>>(
    program: Program,
    folder: &Path,
    args: &[A],
    runs_hooks: bool,
    limits: &Limits<'_>,
) -> Result<Program> {
    Ok(match require(folder, args, runs_hooks, limits)? {
        Some(named) => without_filters(program, &named),
        None => program,
    })
}

/// Returns what the repository of `folder` names and this user did not trust, where git runs nothing of it with these arguments.
///
/// # Errors
/// `E_UNAPPROVED` where git would run one of them; as [`Named::of`].
pub(super) fn require<A: AsRef<OsStr>>(
    folder: &Path,
    args: &[A],
    runs_hooks: bool,
    limits: &Limits<'_>,
) -> Result<Option<Named>> {
    let named = Named::of(folder, limits)?;
    if named.is_trusted(&Approved::of_user())? {
        return Ok(None);
    }
    let command = subcommand(args);
    let has = |wanted: &[&str]| args.iter().any(|arg| wanted.iter().any(|wanted| arg.as_ref() == *wanted));
    let would_run = |setting: &&Setting| match setting.runs() {
        Some(Runs::Files) => !is_quiet(&command, has(&["list", "get-url", "prune"])),
        Some(Runs::Remotes) => REMOTE.contains(&command.as_str()),
        Some(Runs::Signing) => command == "commit" || has(&["-S", "--sign", "--gpg-sign"]),
        Some(Runs::Hooks) => match command.as_str() {
            "push" => runs_hooks && (setting.key == format!("{HOOK}.{PUSH}") || !setting.key.starts_with(HOOK)),
            "hook" => runs_hooks,
            _ => false,
        },
        None => false,
    };
    let Some(first) = named.settings.iter().find(would_run) else { return Ok(Some(named)) };
    let Setting { key, value } = first;
    let shown = folder.display().to_string();
    let trust = format!("mcpkg workspace trust {}", crate::shell::quote(&shown));
    // Many commands show the message of one repository and nothing else of its failure.
    let what = format!(
        "`{shown}` names a program that git {command} would run: {key} = {value}; `{trust}` shows it to the user at a terminal and asks"
    );
    Err(Error::new(Code::Unapproved, what)
        .with_details(json!({ "repository": shown, "settings": named.data(), "command": trust })))
}

/// Whether a command of git runs no filter and no driver once filters are switched off; `lists` is whether it only lists.
fn is_quiet(command: &str, lists: bool) -> bool {
    QUIET.contains(&command) || (matches!(command, "worktree" | "remote") && lists)
}

/// Switches the filters of a repository off for one command. The configuration comes by the environment, since a name may have a
/// `=` in it; a submodule does not get it, and is not looked into.
fn without_filters(program: Program, named: &Named) -> Program {
    let drivers: BTreeSet<&str> = named
        .settings
        .iter()
        .filter_map(|setting| setting.key.strip_prefix("filter.")?.rsplit_once('.').map(|(driver, _)| driver))
        .collect();
    let of = |driver: &&str| {
        [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")]
            .map(|(variable, value)| (format!("filter.{driver}.{variable}"), value))
    };
    let names = |runs: Runs| named.settings.iter().any(|setting| setting.runs() == Some(runs));
    let files = [("diff.external", ""), ("diff.ignoreSubmodules", "dirty")];
    let files = files.into_iter().filter(|_| names(Runs::Files));
    let signing = [("log.showSignature", "false")].into_iter().filter(|_| names(Runs::Signing));
    let more = files.chain(signing).map(|(key, value)| (key.to_owned(), value));
    // What is not there is not fetched by a program that the repository names.
    let mut program = match names(Runs::Remotes) {
        true => program.variable("GIT_NO_LAZY_FETCH", "1"),
        false => program,
    };
    let before = std::env::var("GIT_CONFIG_COUNT").ok().and_then(|count| count.parse::<usize>().ok()).unwrap_or(0);
    let mut count = before;
    for (key, value) in drivers.iter().flat_map(of).chain(more) {
        program = program
            .variable(format!("GIT_CONFIG_KEY_{count}"), key)
            .variable(format!("GIT_CONFIG_VALUE_{count}"), value);
        count += 1;
    }
    if count > before { program.variable("GIT_CONFIG_COUNT", count.to_string()) } else { program }
}

/// Returns the folders that git would keep the repository of a folder in: of the work tree, and what all of them share.
fn kept_in(folder: &Path) -> Option<(PathBuf, PathBuf)> {
    let folder = folder.canonicalize().ok()?;
    folder.ancestors().find_map(|top| {
        if let Some(own) = folder::own_folder(top) {
            return Some((own, folder::folder(top)?));
        }
        // One without a work tree.
        if !top.join("HEAD").exists() {
            return None;
        }
        // Git takes the rest from elsewhere where this file says so, the configuration too.
        let shared = match file::read_text(&top.join("commondir"), file::TEXT) {
            Ok(common) => top.join(common.trim()),
            Err(_) => top.to_owned(),
        };
        let is_bare = ["objects", "refs"].iter().all(|name| shared.join(name).exists());
        is_bare.then(|| (top.to_owned(), shared))
    })
}

/// Returns the folders that git keeps the submodules of a work tree in.
fn submodules(own: &Path, shared: &Path, folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for modules in [own.join("modules"), shared.join("modules")] {
        below(&modules, DEPTH, &mut found);
    }
    // One may have its repository in the work tree: its path stands in the index with a mode of its own.
    if has_submodules(&own.join("index")) {
        let top = folder.ancestors().find(|top| folder::own_folder(top).is_some()).unwrap_or(folder);
        embedded(top, DEPTH / 2, &mut found);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether an index may have the mode of a submodule. One that did not change is not read again.
fn has_submodules(index: &Path) -> bool {
    type Stamp = (u64, Option<std::time::SystemTime>);
    static SEEN: Mutex<Option<HashMap<PathBuf, (Stamp, bool)>>> = Mutex::new(None);
    let Ok(metadata) = std::fs::metadata(index) else { return false };
    let stamp = (metadata.len(), metadata.modified().ok());
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    let seen = seen.get_or_insert_default();
    if let Some((known, has)) = seen.get(index)
        && *known == stamp
    {
        return *has;
    }
    let bytes = file::read(index, LARGEST_INDEX).ok();
    // One that cannot be read may have any.
    let has = bytes.is_none_or(|bytes| memchr::memmem::find(&bytes, &[0, 0, 0xe0, 0]).is_some());
    if seen.len() > 1_000 {
        seen.clear();
    }
    seen.insert(index.to_owned(), (stamp, has));
    has
}

fn below(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.join("HEAD").exists() {
            found.push(path.clone());
        }
        if depth > 0 && path.is_dir() && !path.ends_with("objects") && !path.ends_with("refs") {
            below(&path, depth - 1, found);
        }
    }
}

fn embedded(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) && entry.file_name() != ".git" {
            found.extend(folder::own_folder(&path));
            if depth > 0 {
                embedded(&path, depth - 1, found);
            }
        }
    }
}

/// Returns the settings of a file, as git itself reads it: outside of any repository, where it runs nothing.
fn parsed(path: &Path, bytes: &[u8], limits: &Limits<'_>) -> Result<Vec<Setting>> {
    static KNOWN: Mutex<Option<HashMap<[u8; 32], Vec<Setting>>>> = Mutex::new(None);
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    let known =
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(|known| known.get(&digest).cloned());
    if let Some(known) = known {
        return Ok(known);
    }
    let args = ["config", "--file", "-", "--no-includes", "--list", "-z"];
    let root = if cfg!(windows) { "C:\\" } else { "/" };
    let nowhere = Path::new(root);
    let program = Program::new("git")
        .folder(nowhere)
        .environment(Environment::Allowed)
        .variable("GIT_CONFIG_NOSYSTEM", "1")
        .variable("GIT_CONFIG_GLOBAL", "/dev/null")
        .variable("GIT_DIR", "/dev/null")
        .variable("LC_ALL", "C")
        .capture(crate::process::Capture { head: 16 << 20, tail: 4 << 10 })
        .args(args);
    let output = program.run(bytes, limits).map_err(|failure| ended(nowhere, &args, limits, failure))?;
    if !output.status.success() {
        let error = failed(nowhere, &args, &output.status, &output.stderr);
        let what = format!("The configuration `{}` cannot be read: {}", path.display(), error.message());
        return Err(Error::new(Code::GitFailed, what).with_details(error.details().cloned().unwrap_or_default()));
    }
    let printed = output.stdout.whole().unwrap_or_default();
    let settings: Vec<Setting> = super::paths::parts(&printed)
        .map(|part| {
            let text = String::from_utf8_lossy(part);
            // One without a value is a yes.
            let (key, value) = text.split_once('\n').unwrap_or((&text, "true"));
            Setting { key: key.to_owned(), value: value.to_owned() }
        })
        .collect();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if known.len() > 1_000 {
        known.clear();
    }
    known.insert(digest, settings.clone());
    Ok(settings)
}
