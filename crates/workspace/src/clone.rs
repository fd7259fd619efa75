//! Clones repositories: checks their URLs, derives their names, and prepares their branches for the workspace.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::carry::MARK;
use super::names;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::{Git, refs, remote};
use mcpkg_base::process::Limits;
use mcpkg_base::redact::redact;
use mcpkg_base::{disk, file_url};

const CLONE: Duration = Duration::from_secs(600);

/// The supported URL schemes; any other text with `://` is refused.
const SCHEMES: [&str; 5] = ["https", "http", "ssh", "git", "file"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The address with its credentials; for a folder without a URL, its absolute path.
    pub address: String,
    /// The folder, if the address is on this machine.
    pub local: Option<PathBuf>,
}

impl Origin {
    /// Parses a URL, an ssh address such as `host:path`, or a path relative to `start`.
    pub fn read(text: &str, start: &Path) -> Result<Self> {
        let refused = |why: &str| {
            Err(Error::new(Code::InvalidArgument, format!("cannot clone `{}`: {why}", redact(text)))
                .hint("use an https, ssh, git or file URL, an address such as host:path, or a folder"))
        };
        if text.is_empty() || text.starts_with('-') || text.contains(char::is_control) {
            return refused("it is empty, starts with `-`, or contains control characters");
        }
        if let Some((scheme, rest)) = text.split_once("://") {
            refuse_unencoded(scheme, rest)?;
            if !SCHEMES.contains(&scheme) {
                return refused("git would run a helper program for this address");
            }
            if rest.starts_with('-') {
                return refused("its host starts with `-`");
            }
            let local = (scheme == "file").then(|| file_url::path(text).unwrap_or_else(|| PathBuf::from(rest)));
            return Ok(Self { address: text.to_owned(), local });
        }
        if text.contains("::") {
            return refused("git would run a helper program for this address");
        }
        let folder = start.join(text);
        let is_remote = text.split('/').next().is_some_and(|first| first.contains(':'));
        if is_remote && !folder.exists() {
            return Ok(Self { address: text.to_owned(), local: None });
        }
        match mcpkg_base::platform::real(&folder) {
            Ok(folder) => Ok(Self { address: disk::posix(&folder), local: Some(folder) }),
            Err(error) => refused(&error.to_string()),
        }
    }

    /// Returns the address without passwords and tokens. Manifests and messages contain this form.
    pub fn shown(&self) -> String {
        match self.address.split_once("://") {
            Some((scheme, rest)) => {
                let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
                let host = match host.rsplit_once('@') {
                    // In an ssh URL, a user without a password is just a login. In other URLs it is often a token.
                    Some((user, _)) if scheme == "ssh" && !user.contains(':') => host,
                    Some((_, bare)) => bare,
                    None => host,
                };
                format!("{scheme}://{host}/{path}")
            }
            None => self.address.clone(),
        }
    }

    /// Splits the credentials off an `http` or `https` address. Returns the rest, and the credentials as
    /// `NAME:PASSWORD`. Other users of this machine can see git's arguments, so the password must not be among them.
    fn parts(&self) -> (String, Option<String>) {
        let parts = self.address.split_once("://").and_then(|(scheme, rest)| {
            let host = rest.split('/').next().unwrap_or_default();
            let (user, _) = host.rsplit_once('@').filter(|_| matches!(scheme, "http" | "https"))?;
            let user = percent_encoding::percent_decode_str(user).decode_utf8_lossy();
            Some(if user.contains(':') { user.into_owned() } else { format!("{user}:") })
        });
        match parts {
            Some(secret) => (self.shown(), Some(secret)),
            None => (self.address.clone(), None),
        }
    }

    /// Returns the default name for the repository: the last part of its address.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` if that part is not a valid name.
    pub fn name(&self) -> Result<String> {
        let trimmed = self.address.trim_end_matches('/');
        let trimmed = trimmed.strip_suffix("/.git").unwrap_or(trimmed);
        let last = trimmed.rsplit(['/', ':']).next().unwrap_or_default();
        let name = last.strip_suffix(".git").unwrap_or(last);
        if names::is_name(name) {
            return Ok(name.to_owned());
        }
        Err(Error::new(Code::InvalidArgument, format!("`{}` does not end with a repository name", self.shown()))
            .hint("choose a folder for the clone: URL=PATH"))
    }
}

/// Refuses a URL with unencoded characters in its user name or password: redaction could not tell where the password
/// ends.
fn refuse_unencoded(scheme: &str, rest: &str) -> Result<()> {
    let url = format!("{scheme}://{rest}");
    let host = rest.split('/').next().unwrap_or_default();
    let holds_slash = redact(&url).matches('/').count() < url.matches('/').count();
    if holds_slash || host.contains(|c: char| c.is_whitespace() || matches!(c, '\'' | '"')) {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("`{}://***` is not a valid URL: its user name or password is not percent-encoded", redact(scheme)),
        )
        .hint(
            "in the user name and password, write `/` as %2F, `@` as %40, a space as %20, `'` as %27 and `\"` as %22",
        ));
    }
    Ok(())
}

/// Clones a repository into the new folder `into`, writes `mark` into it, and makes sure that the main and the develop
/// branch exist.
///
/// The argument `main` names the main branch. Without it, mcpkg chooses the branch `main`, or else the branch that the
/// remote has checked out. The develop branch tracks the remote's develop branch; if the remote has none, it starts at
/// the main branch. Returns the name of the main branch.
pub fn make(
    name: &str,
    origin: &Origin,
    into: &Path,
    mark: &str,
    develop: &str,
    main: Option<&str>,
    cancelled: &CancellationToken,
) -> Result<String> {
    let parent = into.parent().unwrap_or(into);
    std::fs::create_dir_all(parent).map_err(|error| disk::failed("make", parent, error))?;
    let limits = Limits::new(CLONE, cancelled);
    let (address, secret) = origin.parts();
    let cloned = remote::clone(&address, secret.as_deref(), into, &limits, Box::new(|_| {}));
    cloned.map_err(|error| failed(name, origin, secret.is_some(), error))?;
    std::fs::write(into.join(".git").join(MARK), mark).map_err(|error| disk::failed("write", into, error))?;
    let git = Git::of(into, cancelled);
    // Do not save the password in the clone's configuration.
    let shown = origin.shown();
    if shown != address {
        git.change(&["remote", "set-url", "origin", &shown])?;
    }
    prepare(name, &git, develop, main)
}

/// Makes sure that a repository has the main and the develop branch, and returns the name of the main branch.
///
/// # Errors
/// `E_BRANCH_NOT_FOUND` if it has no commit or no main branch.
pub fn prepare(name: &str, git: &Git<'_>, develop: &str, main: Option<&str>) -> Result<String> {
    let known = refs::list(git, &["refs/heads/", "refs/remotes/origin/"])?;
    let has = |full: String| known.iter().any(|known| known.name == full);
    let is = super::carry::head(git)?;
    let checked_out = match &is {
        Some(super::step::Head::Branch(branch)) => Some(branch.as_str()),
        _ => None,
    };
    let exists = |branch: &str| has(format!("refs/heads/{branch}")) || has(format!("refs/remotes/origin/{branch}"));
    let usual = main.or_else(|| exists("main").then_some("main"));
    let Some(main) = usual.or_else(|| checked_out.filter(|branch| *branch != develop)).or(checked_out) else {
        return Err(Error::new(Code::BranchNotFound, format!("{name}: the repository has no main branch"))
            .with_details(serde_json::json!({ "repo": name }))
            .hint("push a first commit to the repository"));
    };
    if !exists(main) {
        return Err(Error::new(
            Code::BranchNotFound,
            format!("{name}: the repository has no branch `{main}`, or no commits"),
        )
        .with_details(serde_json::json!({ "repo": name, "branch": main }))
        .hint("push a first commit to the repository, or set `default_branch` to its main branch"));
    }
    for branch in [main, develop] {
        if has(format!("refs/heads/{branch}")) {
            continue;
        }
        let remote = format!("refs/remotes/origin/{branch}");
        let from = if has(remote.clone()) { remote } else { format!("refs/heads/{main}") };
        let track = if from.starts_with("refs/remotes/") { "--track" } else { "--no-track" };
        git.change(&["branch", "--quiet", track, branch, &from])?;
    }
    Ok(main.to_owned())
}

/// Turns a failed clone into an error that does not contain the password.
fn failed(name: &str, origin: &Origin, had_secret: bool, error: Error) -> Error {
    if error.code() != Code::GitFailed {
        return error;
    }
    let tail = error.details().and_then(|details| details["stderr"].as_str().map(str::to_owned)).unwrap_or_default();
    let mut said = error.message().trim_start_matches("git clone: ").to_owned();
    if had_secret && said.contains("could not read Username") {
        "the user name or password in the address is wrong".clone_into(&mut said);
    }
    Error::new(Code::RemoteFailed, format!("{name}: cannot clone `{}`: {said}", origin.shown()))
        .with_details(serde_json::json!({ "repo": name, "remote": origin.shown(), "stderr_tail": tail }))
        .hint("mcpkg cannot answer prompts from git or ssh; try `git clone` by hand")
        .with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Origin> {
        Origin::read(text, Path::new("/nowhere"))
    }

    #[test]
    fn a_password_is_not_among_the_arguments_of_git() {
        for (text, secret) in [
            ("https://u:p%2Fw@example.org/b.git", Some("u:p/w")),
            ("https://token@example.org/b", Some("token:")),
            ("https://example.org/b", None),
            ("ssh://git@example.org/b.git", None),
        ] {
            let (address, found) = read(text).unwrap().parts();
            assert_eq!(found.as_deref(), secret, "{text}");
            assert!(secret.is_none() || !address.contains('@'), "{address}");
        }
    }

    #[test]
    fn a_password_that_is_not_encoded_is_refused_and_not_shown() {
        for text in ["https://u:secret/word@h/b", "https://u:secret word@h/b", "https://u:secret'word@h/b"] {
            let refused = read(text).unwrap_err();
            assert!(!format!("{refused:?}{}", refused.message()).contains("secret"), "{text}: {refused:?}");
        }
        for fine in
            ["file:///a b/c", "https://example.org/@scope/b", "https://example.org:8443/b", "ssh://[::1]:22/a@b"]
        {
            assert!(read(fine).is_ok(), "{fine}");
        }
    }

    #[test]
    fn the_shown_address_contains_no_password_or_token() {
        for (text, shown) in [
            ("https://u:pw@example.org/a/b.git", "https://example.org/a/b.git"),
            ("https://token@example.org/b", "https://example.org/b"),
            ("ssh://git@example.org/b.git", "ssh://git@example.org/b.git"),
            ("ssh://git:pw@example.org/b.git", "ssh://example.org/b.git"),
            ("git@example.org:b.git", "git@example.org:b.git"),
        ] {
            let origin = read(text).unwrap();
            assert_eq!((origin.shown().as_str(), origin.name().unwrap().as_str()), (shown, "b"), "{text}");
        }
    }

    #[test]
    fn addresses_that_run_programs_or_look_like_options_are_refused() {
        for text in
            ["", "-u", "ext::sh -c id", "ssh://-oProxyCommand=x/y", "https:\n//x", "foo://x/y", "no/such/folder"]
        {
            assert_eq!(read(text).unwrap_err().code(), Code::InvalidArgument, "{text}");
        }
        let here = Origin::read(".", Path::new("/")).unwrap();
        assert_eq!(here.local.as_deref(), Some(Path::new("/")));
        assert!(here.name().is_err());
    }
}
