//! Creates annotated tags as objects, without the refs that name them.

use super::command::Git;
use super::paths::{parts, text};
use super::programs;
use super::trees::says;
use crate::error::{Error, Result};

/// Matches the configuration keys that signing depends on.
const SIGNING: &str = "^(user|committer|gpg|tag)\\.";

/// Creates an annotated tag object for the commit `target`; returns its id. The tag is signed if the repository's
/// configuration says so.
pub fn object(git: &Git<'_>, name: &str, target: &str, message: &str) -> Result<String> {
    if says(git, "tag.gpgSign")? || says(git, "tag.forceSignAnnotated")? {
        return signed(git, name, target, message);
    }
    let tagger = git.text(&["var", "GIT_COMMITTER_IDENT"])?;
    let message = message.trim_end_matches('\n');
    let tag = format!("object {target}\ntype commit\ntag {name}\ntagger {tagger}\n\n{message}\n");
    Ok(text(git.feed(&["mktag"], tag.as_bytes())?.trim_ascii()))
}

/// Creates a signed tag object. It uses a temporary repository that stores its objects in the real one, because git
/// cannot sign a tag without also creating its ref.
fn signed(git: &Git<'_>, name: &str, target: &str, message: &str) -> Result<String> {
    // The temporary repository signs with the settings of the real repository, so the user must trust these settings.
    programs::require(git.folder(), &["tag", "--sign"], false, git.limits())?;
    let scratch =
        tempfile::tempdir().map_err(|error| Error::file("create a folder in", &std::env::temp_dir(), error))?;
    let format = format!("--object-format={}", git.text(&["rev-parse", "--show-object-format"])?);
    git.run(&["init", "--quiet", "--bare", &format, "--template=", "--", &scratch.path().display().to_string()])?;
    let objects = git.text(&["rev-parse", "--path-format=absolute", "--git-path", "objects"])?;
    let mut args = Vec::new();
    for setting in parts(&git.run(&["config", "-z", "--get-regexp", SIGNING])?) {
        // Each setting is a key, a line break and a value. A key without a value counts as true.
        args.push("-c".to_owned());
        args.push(text(setting).replacen('\n', "=", 1));
    }
    args.extend(["tag", "--sign", "--file=-", "--cleanup=verbatim", "--", name, target].map(str::to_owned));
    let scratch = Git::of(scratch.path(), git.limits().cancelled)
        .within(git.limits().time)
        .variable("GIT_DIR", scratch.path())
        .variable("GIT_OBJECT_DIRECTORY", objects);
    scratch.feed(&args, format!("{}\n", message.trim_end_matches('\n')).as_bytes())?;
    scratch.text(&["rev-parse", "--verify", "--end-of-options", &format!("refs/tags/{name}")])
}
