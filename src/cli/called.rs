//! Adapts the command line to the name that the program was called by. As `smctl`, it accepts the short words of that
//! program and uses its exit statuses (contract 003). As `enact` and `enact-mcp`, it accepts the command lines of enact
//! (contract 002).

use std::ffi::OsString;
use std::path::Path;

use super::globals;
use mcpkg_base::error::{Code, Error};
use mcpkg_core::op::{Identity, Reply};

/// The short commands of smctl, and the commands they stand for.
const SHORT: [(&str, &[&str]); 4] = [
    ("feat", &["flow", "feature", "start", "--worktree"]),
    ("done", &["flow", "feature", "finish"]),
    ("ss", &["spec", "new"]),
    ("sb", &["build"]),
];

/// The commands of enact, each with the mcpkg command that replaces it. The first match counts.
const ENACT: [(&[&str], &[&str]); 10] = [
    (&["mcp", "toolsets"], &["toolset", "list"]),
    (&["mcp", "use"], &["toolset", "use"]),
    (&["mcp", "toolset"], &["toolset"]),
    (&["mcp"], &["serve"]),
    (&["search"], &["tool", "search"]),
    (&["learn"], &["tool", "learn"]),
    (&["install"], &["tool", "install"]),
    (&["uninstall"], &["tool", "uninstall"]),
    (&["list"], &["tool", "list"]),
    (&["run"], &["tool", "run"]),
];

/// enact's flag for installing for all users. mcpkg has no such flag, because it installs for all users by default.
const GLOBAL: &str = "--global";

/// smctl's exit status when git fails.
const GIT: u8 = 3;

/// smctl's exit status after a dry run.
const DRY_RUN: u8 = 10;

/// The name that the program was called by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Called {
    /// `mcpkg`, or any unknown name.
    Mcpkg,
    /// `smctl`, through a link.
    Smctl,
    /// `enact`, through a link.
    Enact,
    /// `enact-mcp`, through a link; it starts a server.
    EnactMcp,
}

impl Called {
    /// Returns the name in the first argument.
    pub(super) fn by(arguments: &[OsString]) -> Self {
        let name = arguments.first().and_then(|program| Path::new(program).file_stem()?.to_str());
        match name {
            Some("smctl") => Called::Smctl,
            Some("enact") => Called::Enact,
            Some("enact-mcp") => Called::EnactMcp,
            _ => Called::Mcpkg,
        }
    }

    /// Replaces words of smctl and enact in the arguments with the mcpkg commands they stand for.
    pub(super) fn spelled_out(self, mut arguments: Vec<OsString>) -> Vec<OsString> {
        let place = globals::first_word(&arguments);
        match (self, place) {
            (Called::Mcpkg, _) | (Called::Smctl | Called::Enact, None) => {}
            (Called::EnactMcp, _) => arguments.insert(1, "serve".into()),
            (Called::Smctl, Some(place)) => {
                if let Some((_, words)) = SHORT.iter().find(|(short, _)| arguments[place] == **short) {
                    arguments.splice(place..=place, words.iter().map(OsString::from));
                }
            }
            (Called::Enact, Some(place)) => {
                let fits = |words: &[&str]| {
                    words
                        .iter()
                        .enumerate()
                        .all(|(at, word)| arguments.get(place + at).is_some_and(|given| given == word))
                };
                if let Some((words, ours)) = ENACT.iter().find(|(words, _)| fits(words)) {
                    arguments.splice(place..place + words.len(), ours.iter().map(OsString::from));
                    arguments.retain(|word| word != GLOBAL);
                }
            }
        }
        arguments
    }

    /// Returns the default identity of a server started under this name.
    pub(super) fn identity(self) -> Identity {
        match self {
            Called::Mcpkg => Identity::Mcpkg,
            Called::Smctl => Identity::Smctl,
            Called::Enact | Called::EnactMcp => Identity::Enact,
        }
    }

    /// Returns the exit status of a failure. If any cause was a cancellation, the status says "cancelled", since
    /// cancelling can make other work fail.
    pub(super) fn failed(self, error: &Error) -> u8 {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
        while let Some(error) = cause {
            if error.downcast_ref().is_some_and(|error: &Error| error.code() == Code::Cancelled) {
                return Code::Cancelled.exit();
            }
            cause = error.source();
        }
        self.status(error.code())
    }

    /// Returns the exit status for an error code.
    fn status(self, code: Code) -> u8 {
        match (self, code.exit()) {
            (Called::Smctl, 1) if code.smctl() == Code::GitFailed.smctl() => GIT,
            (_, status) => status,
        }
    }

    /// Returns the exit status of a reply: 1 if it reports a failure, 3 if it reports a difference (as with `--check`),
    /// 10 after a dry run of smctl, and otherwise 0.
    pub(super) fn done(self, reply: &Reply) -> u8 {
        let is_dry_run = reply.data.get("dry_run").and_then(serde_json::Value::as_bool) == Some(true);
        match (reply.failed, reply.differs) {
            (true, _) => 1,
            (false, true) => 3,
            (false, false) if self == Called::Smctl && is_dry_run => DRY_RUN,
            (false, false) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_name_decides_what_short_words_and_statuses_mean() {
        let spelled = |line: &str| Called::by(&words(line)).spelled_out(words(line));
        assert_eq!(
            spelled("/usr/bin/smctl feat x --repos lib"),
            words("/usr/bin/smctl flow feature start --worktree x --repos lib")
        );
        assert_eq!(spelled("smctl -w /a --json done x"), words("smctl -w /a --json flow feature finish x"));
        assert_eq!(spelled("smctl spec new ss"), words("smctl spec new ss"));
        assert_eq!(spelled("mcpkg done x"), words("mcpkg done x"));
        assert_eq!(spelled("enact-mcp --http --port 3000"), words("enact-mcp serve --http --port 3000"));
        assert_eq!(spelled("enact install --global alice/x"), words("enact tool install alice/x"));
        assert_eq!(spelled("enact mcp toolsets"), words("enact toolset list"));
        assert_eq!(spelled("enact mcp use --all"), words("enact toolset use --all"));
        assert_eq!(spelled("enact mcp toolset add web alice/x"), words("enact toolset add web alice/x"));
        assert_eq!(spelled("enact registry list"), words("enact registry list"));
        assert_eq!(Called::by(&words("/usr/bin/enact-mcp")).identity(), Identity::Enact);
        let git = Error::new(Code::FlowConflict, "conflict");
        assert_eq!((Called::Mcpkg.failed(&git), Called::Smctl.failed(&git)), (1, 3));
        let missing = Error::new(Code::WorkspaceNotFound, "none");
        assert_eq!((Called::Mcpkg.failed(&missing), Called::Smctl.failed(&missing)), (4, 4));
        let remote = Error::new(Code::RemoteFailed, "none");
        assert_eq!(Called::Smctl.failed(&remote), 7);
        let dry = Reply::sentence("would", json!({ "dry_run": true }));
        assert_eq!((Called::Mcpkg.done(&dry), Called::Smctl.done(&dry)), (0, 10));
        let given_up = Error::new(Code::GitFailed, "ended").with_source(Error::new(Code::Cancelled, "given up"));
        assert_eq!(Called::Smctl.failed(&given_up), 130);
    }
}
