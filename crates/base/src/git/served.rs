//! Makes bare repositories from lists of files, and answers clients that read them over HTTP.
//!
//! The protocol is git's own: `git upload-pack` answers each request.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use super::command::Git;
use crate::error::{Code, Error, Result};
use crate::process::Limits;

/// The branch that clients get.
const BRANCH: &str = "refs/heads/main";

/// How long clients may still fetch a replaced commit. A client first asks which commit is the newest, and then fetches it.
const REPLACED: &str = "--expire=10.minutes.ago";

/// A file of a repository.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    pub path: &'a str,
    pub bytes: &'a [u8],
    pub executable: bool,
}

/// Creates an empty bare repository in an existing folder.
pub fn create(folder: &Path, limits: &Limits<'_>) -> Result<()> {
    let args = ["init", "--bare", "--quiet", "--object-format=sha1", "--initial-branch=main", "--template="];
    Git::new(folder, *limits).run(&args).map(drop)
}

/// Makes the files the only content of the branch that clients get: one commit without a parent. Author and time are
/// fixed, so the same files always give the same commit id.
pub fn publish<'a>(folder: &Path, items: impl IntoIterator<Item = Item<'a>>, limits: &Limits<'_>) -> Result<()> {
    let mut stream =
        format!("commit {BRANCH}\ncommitter mcpkg <mcpkg@localhost> 946684800 +0000\ndata 19\nPublished by mcpkg.\n")
            .into_bytes();
    for Item { path, bytes, executable } in items {
        let mode = if executable { "100755" } else { "100644" };
        let path = path.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        stream.extend(format!("M {mode} inline \"{path}\"\ndata {}\n", bytes.len()).as_bytes());
        stream.extend(bytes);
        stream.push(b'\n');
    }
    stream.extend(b"done\n");
    // Skip all syncs, because the repository can be made again after a power loss. Keep each object in its own file, so
    // that `git prune` can remove single objects.
    let args = ["-c", "core.fsync=none", "-c", "fastimport.unpackLimit=1000000", "fast-import"];
    let git = at(folder, limits);
    git.feed(&[&args[..], &["--quiet", "--force", "--done"]].concat(), &stream)?;
    git.run(&["prune", REPLACED]).map(drop)
}

/// Returns the refs that the repository offers, as the body of `info/refs?service=git-upload-pack`. `protocol` is the client's
/// header `Git-Protocol`.
pub fn offer(folder: &Path, protocol: Option<&str>, limits: &Limits<'_>) -> Result<Vec<u8>> {
    let offered = speaking(at(folder, limits), protocol).run(&[
        "upload-pack",
        "--stateless-rpc",
        "--http-backend-info-refs",
        "--strict",
        ".",
    ])?;
    // Version 2 of the protocol has no line that names the service.
    let header: &[u8] =
        if offered.starts_with(b"000eversion 2\n") { b"" } else { b"001e# service=git-upload-pack\n0000" };
    Ok([header, &offered].concat())
}

/// Answers a client's `git-upload-pack` request. Returns a temporary file with the answer, and its size. Fails if the
/// answer has more than `most` bytes.
pub fn upload(
    folder: &Path,
    protocol: Option<&str>,
    request: Vec<u8>,
    most: u64,
    limits: &Limits<'_>,
) -> Result<(File, u64)> {
    let failed = |error| Error::file("write", folder, error);
    let args = ["upload-pack", "--stateless-rpc", "--strict", "."];
    speaking(at(folder, limits), protocol).stream(&args, request, |answer| {
        let mut file = tempfile::tempfile().map_err(failed)?;
        let size = std::io::copy(&mut answer.take(most + 1), &mut file).map_err(failed)?;
        if size > most {
            return Err(Error::new(Code::GitFailed, format!("The repository is larger than {most} bytes")));
        }
        file.rewind().map_err(failed)?;
        Ok((file, size))
    })
}

/// Returns git with the repository named explicitly, because the user's configuration may keep git from looking for
/// bare repositories.
fn at<'a>(folder: &'a Path, limits: &Limits<'a>) -> Git<'a> {
    Git::new(folder, *limits).variable("GIT_DIR", folder)
}

fn speaking<'a>(git: Git<'a>, protocol: Option<&str>) -> Git<'a> {
    let is_version = |protocol: &&str| matches!(*protocol, "version=0" | "version=1" | "version=2");
    match protocol.filter(is_version) {
        Some(protocol) => git.variable("GIT_PROTOCOL", protocol),
        None => git.variable("GIT_PROTOCOL", "version=0"),
    }
}
