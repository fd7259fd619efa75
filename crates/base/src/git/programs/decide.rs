//! Decides which programs git may run. git runs a program from a repository's configuration only after you trust it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use serde_json::json;

use super::named::Named;
use super::setting::{HOOK, HOOK_OF_SUBMODULE, PUSH, Runs, Setting};
use crate::approved::Approved;
use crate::error::{Code, Error, Result};
use crate::git::failure::words;
use crate::process::{Limits, Program};

/// git commands that run no filter or driver from the repository's configuration once filters are switched off.
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

/// git commands that contact another host.
const REMOTE: &[&str] = &["clone", "fetch", "ls-remote", "pull", "push", "submodule"];

/// The commands in [`QUIET`] during which git may run a hook that is set in the configuration.
const CHANGES: &[&str] = &["diff", "fetch", "hook", "push", "symbolic-ref", "tag", "update-ref"];

/// Arguments that make a command sign or verify signatures. Callers pass such an argument if the configuration requires
/// it.
const SIGNING: &[&str] = &["-S", "--sign", "--signed=true", "--signed=if-asked", "--verify-signatures"];

/// Arguments that make a push also push submodules, each with its own configuration.
const INTO_SUBMODULES: &[&str] = &["--recurse-submodules=on-demand", "--recurse-submodules=only"];

/// Keeps `program`, a git command, from running untrusted programs named by the repository of `folder`. Fails like
/// [`require`].
pub(in crate::git) fn held_back<A: AsRef<OsStr>>(
    program: Program,
    folder: &Path,
    args: &[A],
    runs_hooks: bool,
    limits: &Limits<'_>,
) -> Result<Program> {
    Ok(match require(folder, args, runs_hooks, limits)? {
        Some(named) => without_programs(program, &named),
        None => program,
    })
}

/// Returns the untrusted programs that the repository of `folder` names, or `None` if the user trusts them all.
///
/// # Errors
/// `E_UNAPPROVED` if git would run one of the untrusted programs with these arguments; the errors of [`Named::of`].
pub(in crate::git) fn require<A: AsRef<OsStr>>(
    folder: &Path,
    args: &[A],
    runs_hooks: bool,
    limits: &Limits<'_>,
) -> Result<Option<Named>> {
    let named = Named::of(folder, limits)?;
    if named.is_trusted(&Approved::of_user())? {
        return Ok(None);
    }
    let mut words = words(args);
    let command = words.next().unwrap_or_default();
    let is_quiet = is_quiet(&command, &words.next().unwrap_or_default());
    let has = |wanted: &[&str]| args.iter().any(|arg| wanted.iter().any(|wanted| arg.as_ref() == *wanted));
    let enters_submodules = command == "push" && has(INTO_SUBMODULES);
    let would_run = |setting: &&Setting| match setting.runs() {
        Some(Runs::Files) => !is_quiet,
        Some(Runs::Remotes) => REMOTE.contains(&command.as_str()),
        Some(Runs::Signing) => command == "commit" || has(SIGNING) || enters_submodules,
        Some(Runs::Hooks) => match (command.as_str(), setting.key.split_once('.')) {
            ("push", Some((HOOK, name))) => runs_hooks && PUSH.contains(&name),
            ("push", Some((HOOK_OF_SUBMODULE, _))) => enters_submodules,
            ("push" | "hook", _) => runs_hooks,
            _ => false,
        },
        Some(Runs::Changes) => !is_quiet || CHANGES.contains(&command.as_str()),
        None => false,
    };
    let Some(first) = named.settings.iter().find(would_run) else { return Ok(Some(named)) };
    let Setting { key, value } = first;
    let shown = folder.display().to_string();
    let trust = format!("mcpkg workspace trust {}", crate::shell::quote(&shown));
    let does = match key.as_str() {
        "core.worktree" => format!("keeps its files in another folder, where git {command} would write"),
        _ => format!("names a program that git {command} would run"),
    };
    // Put everything into the message: many commands show only the message of a repository's error.
    let what = format!(
        "`{shown}` {does}: {key} = {value}; the user can review and allow this setting at a terminal with `{trust}`"
    );
    Err(Error::new(Code::Unapproved, what)
        .with_details(json!({ "repository": shown, "settings": named.data(), "command": trust })))
}

/// Whether a git command runs no filter or driver once filters are switched off. `second` is the word after the
/// command.
fn is_quiet(command: &str, second: &str) -> bool {
    QUIET.contains(&command) || matches!((command, second), ("worktree", "list" | "prune") | ("remote", "get-url"))
}

/// Disables a repository's programs for a command that does not need them. The settings are passed in the environment,
/// because their names may contain `=`, which `-c` cannot express.
fn without_programs(program: Program, named: &Named) -> Program {
    let names = |runs: Runs| named.settings.iter().any(|setting| setting.runs() == Some(runs));
    let mut program = program;
    let mut configuration: Vec<(String, &str)> = Vec::new();
    for driver in drivers(named) {
        let off = [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")];
        configuration.extend(off.map(|(variable, value)| (format!("filter.{driver}.{variable}"), value)));
    }
    if names(Runs::Files) {
        configuration.extend([("diff.external".to_owned(), ""), ("diff.ignoreSubmodules".to_owned(), "dirty")]);
    }
    if names(Runs::Signing) {
        configuration.push(("log.showSignature".to_owned(), "false"));
    }
    // To fetch a missing object, git could run a program that the repository names. Old releases of git only know
    // `GIT_ALLOW_PROTOCOL`.
    if names(Runs::Remotes) {
        program = program.variable("GIT_NO_LAZY_FETCH", "1").variable("GIT_ALLOW_PROTOCOL", "none");
    }
    if let Some(top) =
        named.top.as_ref().filter(|_| named.settings.iter().any(|setting| setting.key == "core.worktree"))
    {
        program = program.variable("GIT_WORK_TREE", top);
    }
    if configuration.is_empty() {
        return program;
    }
    let before = std::env::var("GIT_CONFIG_COUNT").ok().and_then(|count| count.parse::<usize>().ok()).unwrap_or(0);
    let count = before + configuration.len();
    for (index, (key, value)) in (before..).zip(configuration) {
        program = program
            .variable(format!("GIT_CONFIG_KEY_{index}"), key)
            .variable(format!("GIT_CONFIG_VALUE_{index}"), value);
    }
    program.variable("GIT_CONFIG_COUNT", count.to_string())
}

/// Returns the names of the filters that run programs named by the repository.
fn drivers<'a>(named: &'a Named) -> BTreeSet<&'a str> {
    let driver = |setting: &'a Setting| match setting.key.split_once('.') {
        Some(("filter", rest)) => rest.rsplit_once('.').map(|(driver, _)| driver),
        Some(("lfs", _)) => Some("lfs"),
        _ => None,
    };
    named.settings.iter().filter_map(driver).collect()
}
