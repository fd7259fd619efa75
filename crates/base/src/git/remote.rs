//! Clones, fetches and pushes.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};

use super::command::Git;
use super::paths::text;
use super::trees::says;
use crate::error::Result;
use crate::process::{Limits, Tell};
use crate::redact::redact;

/// The time limit of git commands that contact another host.
pub const REMOTE: Duration = Duration::from_secs(600);

/// The name of the remote that a repository was cloned from.
pub const ORIGIN: &str = "origin";

/// The environment variable that passes the header with name and password to git.
const HEADER: &str = "MCPKG_GIT_HEADER";

/// Clones a repository into `place`, which must be missing or empty. `secret` is `NAME:PASSWORD` for the URL's host.
/// git gets the secret in the environment, because every user of the machine can see arguments.
pub fn clone(url: &str, secret: Option<&str>, place: &Path, limits: &Limits<'_>, tell: Tell) -> Result<()> {
    let parent = place.parent().unwrap_or(place);
    let mut git = without_questions(Git::new(parent, *limits).within(REMOTE))?;
    let mut set = None;
    if let (Some(secret), Some((scheme, rest))) = (secret, url.split_once("://")) {
        let host = rest.split('/').next().unwrap_or_default();
        // git must send the secret only to the URL's host, and not to a host that it redirects to.
        set = Some(format!("--config-env=http.{scheme}://{host}/.extraHeader={HEADER}"));
        git = git.variable(HEADER, format!("Authorization: Basic {}", BASE64_STANDARD.encode(secret)));
    }
    let args = ["clone", "--progress", "--no-recurse-submodules", "--origin", ORIGIN, "--", url];
    let args: Vec<&OsStr> = set.iter().map(String::as_str).chain(args).map(OsStr::new).collect();
    git.watch(&[&args[..], &[place.as_os_str()]].concat(), tell).map(drop)
}

/// Fetches from `origin`.
pub fn fetch(git: &Git<'_>, tell: Tell) -> Result<()> {
    let git = without_questions(git.clone().within(REMOTE))?;
    git.watch(&["fetch", "--progress", "--no-recurse-submodules", "--", ORIGIN], tell).map(drop)
}

/// A change that a push makes to a ref of `origin`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Update {
    /// Creates the ref, or moves it forward to an object without losing a commit.
    Set { name: String, id: String },
    /// Deletes the ref if it is still at `old`.
    Delete {
        name: String,
        /// The object that the ref must be at.
        old: String,
    },
}

/// The result of a push for one ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// The full name of the ref at `origin`.
    pub name: String,
    /// git's message, such as `[rejected] (fetch first)` or `0123456..789abcd`.
    pub said: String,
    /// Whether the update was refused.
    pub is_refused: bool,
    /// Whether the ref was already up to date.
    pub is_there: bool,
}

/// Pushes all `updates` to `origin` or none of them, and returns the result for each ref. Runs the repository's hooks.
///
/// # Errors
/// The same as [`Git::run`], for example if `origin` cannot be reached. A refused ref is not an error.
pub fn push(git: &Git<'_>, updates: &[Update]) -> Result<Vec<Pushed>> {
    let git = without_questions(git.clone().within(REMOTE).with_hooks())?;
    let mut args: Vec<String> = ["push", "--atomic", "--porcelain", "--no-follow-tags"].map(str::to_owned).to_vec();
    args.extend(push_settings(&git)?);
    for update in updates {
        if let Update::Delete { name, old } = update {
            args.push(format!("--force-with-lease={name}:{old}"));
        }
    }
    args.extend(["--".to_owned(), ORIGIN.to_owned()]);
    args.extend(updates.iter().map(|update| match update {
        Update::Set { name, id } => format!("{id}:{name}"),
        Update::Delete { name, .. } => format!(":{name}"),
    }));
    git.rows(&args, |printed| parse(&text(printed)))
}

/// Returns the configured settings for signing and submodules as arguments of `git push`. mcpkg looks only at the
/// arguments to decide which programs a push runs.
fn push_settings(git: &Git<'_>) -> Result<Vec<String>> {
    let get = |key: &str| -> Result<Option<String>> {
        let said = git.ask(&["config", "--type=bool-or-str", "--get", key])?;
        Ok(said.map(|said| text(said.trim_ascii()).to_ascii_lowercase()))
    };
    let signed = get("push.gpgSign")?.filter(|said| said != "false");
    let into_submodules = match get("push.recurseSubmodules")? {
        Some(said) => Some(said).filter(|said| ["on-demand", "only"].contains(&said.as_str())),
        None => says(git, "submodule.recurse")?.then(|| "on-demand".to_owned()),
    };
    let signed = signed.map(|said| format!("--signed={said}"));
    Ok(signed.into_iter().chain(into_submodules.map(|said| format!("--recurse-submodules={said}"))).collect())
}

/// Returns the URLs that a push to `origin` goes to, according to the current configuration.
///
/// # Errors
/// The same as [`Git::run`], if there is no `origin`.
pub fn pushed_to(git: &Git<'_>) -> Result<Vec<String>> {
    Ok(git.text(&["remote", "get-url", "--push", "--all", ORIGIN])?.lines().map(str::to_owned).collect())
}

/// Parses lines such as `!<tab>refs/heads/a:refs/heads/a<tab>[rejected] (fetch first)`.
fn parse(printed: &str) -> Vec<Pushed> {
    let mut pushed = Vec::new();
    for line in printed.lines() {
        let mut fields = line.split('\t');
        if let (Some(flag), Some(names), Some(said)) = (fields.next(), fields.next(), fields.next()) {
            let name = names.rsplit_once(':').map_or(names, |(_, name)| name);
            pushed.push(Pushed {
                name: name.to_owned(),
                said: redact(said),
                is_refused: flag == "!",
                is_there: flag == "=",
            });
        }
    }
    pushed
}

/// Makes OpenSSH fail instead of asking for a password. Other ssh programs have no such option.
fn without_questions<'a>(git: Git<'a>) -> Result<Git<'a>> {
    let command = match std::env::var("GIT_SSH_COMMAND") {
        Ok(command) => Some(command),
        // `GIT_SSH` can only hold the path of a program, so the option cannot be added.
        Err(_) if std::env::var_os("GIT_SSH").is_some() => None,
        Err(_) => {
            let set = git.ask(&["config", "--get", "core.sshCommand"])?;
            Some(set.map_or_else(|| "ssh".to_owned(), |set| text(set.trim_ascii())))
        }
    };
    Ok(match command.filter(|command| is_openssh(command)) {
        Some(command) => git.variable("GIT_SSH_COMMAND", format!("{command} -oBatchMode=yes")),
        None => git,
    })
}

fn is_openssh(command: &str) -> bool {
    let program = command.split_whitespace().next().unwrap_or_default();
    Path::new(program).file_name().is_some_and(|name| name == "ssh")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_for_each_ref_is_parsed() {
        let printed = "To /tmp/bare.git\n \trefs/heads/main:refs/heads/main\t0123456..789abcd\n\
            !\trefs/heads/a:refs/heads/a\t[rejected] (fetch first)\n-\t:refs/heads/gone\t[deleted]\nDone\n";
        let pushed = parse(printed);
        let rows: Vec<_> = pushed.iter().map(|row| (row.name.as_str(), row.is_refused)).collect();
        assert_eq!(rows, [("refs/heads/main", false), ("refs/heads/a", true), ("refs/heads/gone", false)]);
        assert_eq!(pushed[1].said, "[rejected] (fetch first)");
    }

    #[test]
    fn openssh_is_recognized() {
        assert!(is_openssh("ssh") && is_openssh("/usr/bin/ssh -i key"));
        assert!(!is_openssh("plink -batch") && !is_openssh("") && !is_openssh("sshpass -p x ssh"));
    }
}
