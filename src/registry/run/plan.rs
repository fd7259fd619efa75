//! What a run would have: its arguments, variables, mounts and limits. A dry run shows it, a run is made of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::bwrap::{Mount, Sandbox, WORKSPACE};
use super::call::{Call, Content, Runner, Tool};
use super::grants::Granted;
use super::limits::{LONGEST, Limits, OUTPUT_BYTES, OUTPUT_FILES, PRINTED};
use super::{bubblewrap, env, grants, host};
use crate::error::{Code, Error, Result};
use crate::op::Context;
use crate::registry::trust::pattern;
use crate::store::tools::env as stored;

/// What a run would have.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What runs it.
    pub runner: Runner,
    /// The limits.
    pub limits: Limits,
    /// What the user set of its variables, the narrower pattern first.
    pub set: Vec<stored::Variable>,
    /// What it is allowed beyond the sandbox.
    pub granted: Granted,
}

impl Plan {
    /// Returns what a call would have on this machine.
    ///
    /// # Errors
    /// `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`; `E_IO_PERMISSION_DENIED`, `E_FILE_FAILED` for the user's records.
    pub fn of(context: &Context, call: &Call) -> Result<Self> {
        let approved = &context.approved;
        let (mut set, granted) =
            context.store.read(|db| Ok((stored::all(db)?, grants::of(db, approved, &call.tool)?)))?;
        set.retain(|variable| pattern::matches(&variable.pattern, &call.tool.name));
        // What stands for more is less specific, however many `*` it is written with.
        set.sort_by_key(|variable| std::cmp::Reverse(specific(&variable.pattern)));
        let mut readable = Vec::new();
        for variable in set {
            if grants::may_read(approved, &variable)? {
                readable.push(variable);
            }
        }
        Ok(Self { runner: Runner::of(&call.argv), limits: Limits::wished(call.limits), set: readable, granted })
    }

    /// Returns the sandbox of a run whose files are at `tree`, those that were made for it below `made`.
    ///
    /// # Errors
    /// `E_RUNNER_UNAVAILABLE`; `E_NOT_FOUND` for a folder that was allowed and is gone.
    pub fn sandbox(&self, call: &Call, tree: &Path, made: &Made) -> Result<Sandbox> {
        let mut mounts = host::mounts(Path::new("/"), self.granted.network);
        mounts.push(bubblewrap::starter_mount().map_err(|why| bubblewrap::unavailable(&why))?);
        mounts.push(Mount::read(tree, WORKSPACE));
        mounts.extend(made.users.iter().map(|(from, at)| Mount::read(from, at)));
        for folder in &self.granted.folders {
            if !Path::new(folder).is_dir() {
                let why = format!("{} is allowed to use `{folder}`, which is no folder any more", call.tool.name);
                return Err(Error::new(Code::NotFound, why)
                    .hint(format!("`mcpkg tool allow {} files {folder} --revoke` takes it back", call.tool.name)));
            }
            mounts.push(Mount::Write { from: folder.into(), at: folder.into() });
        }
        mounts.extend(made.given.iter().map(|(from, at)| Mount::read(from, at)));
        Ok(Sandbox { mounts, network: self.granted.network, limits: self.limits })
    }

    /// Returns it for programs.
    pub fn data(&self, call: &Call, tree: &Path) -> Value {
        let Tool { name, version, sha256, publisher } = &call.tool;
        let mounts = host::mounts(Path::new("/"), self.granted.network);
        let read = |from: &Path, at: &Path| json!({ "path": at, "from": from, "access": "read" });
        let mut listed: Vec<Value> = mounts
            .iter()
            .map(|mount| match mount {
                Mount::Read { from, at } => read(from, at),
                Mount::Write { from, at } => json!({ "path": at, "from": from, "access": "write" }),
                Mount::Link { to, at } => json!({ "path": at, "link": to }),
            })
            .collect();
        listed.push(read(tree, Path::new(WORKSPACE)));
        for given in &call.given {
            listed.push(match &given.content {
                Content::Path(from) => read(from, Path::new(&given.at)),
                Content::Bytes(_) => json!({ "path": given.at, "from": "an argument", "access": "read" }),
            });
        }
        let folders = self.granted.folders.iter();
        listed.extend(folders.map(|folder| json!({ "path": folder, "from": folder, "access": "write" })));
        let environment: BTreeMap<String, String> = env::sources(&call.variables, &self.set);
        json!({
            "tool": name,
            "version": version,
            "sha256": sha256.as_ref().map(|sha256| crate::hex::encode(sha256)),
            "publisher": publisher,
            "action": call.action,
            "runner": self.runner.word(),
            "verdict": call.verdict,
            "argv": call.argv,
            "environment": environment,
            "network": self.granted.network,
            "mounts": listed,
            "limits": {
                "time_seconds": self.limits.time.as_secs_f64(),
                "longest_seconds": LONGEST.as_secs(),
                "cpu_seconds": self.limits.cpu_seconds(),
                "memory": self.limits.memory,
                "processes": self.limits.processes,
                "files": self.limits.files,
                "file_size": self.limits.file_size,
                "tmp": self.limits.scratch,
                "printed": PRINTED,
                "output_files": OUTPUT_FILES,
                "output_bytes": OUTPUT_BYTES,
            },
        })
    }
}

/// Files that were made for one run, and where the sandbox has them.
#[derive(Debug)]
pub struct Made {
    _folder: tempfile::TempDir,
    users: Vec<(PathBuf, PathBuf)>,
    given: Vec<(PathBuf, PathBuf)>,
}

impl Made {
    /// Writes what a call is given into a folder that this user alone reads; it goes away with the value.
    ///
    /// # Errors
    /// `E_FILE_FAILED`, `E_DISK_FULL`; `E_NOT_FOUND` for a file of the user's that is not there.
    pub fn of(call: &Call) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("mcpkg-run-").tempdir();
        let folder = folder.map_err(|error| Error::file("make", &std::env::temp_dir(), error))?;
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).map_err(|error| Error::file("write", &path, error))?;
            Ok::<PathBuf, Error>(path)
        };
        let user = super::bwrap::USER;
        let users = vec![
            (write("passwd", format!("tool:x:{user}:{user}::/tmp:/bin/sh\n").as_bytes())?, "/etc/passwd".into()),
            (write("group", format!("tool:x:{user}:\n").as_bytes())?, "/etc/group".into()),
        ];
        let mut given = Vec::new();
        for (number, file) in call.given.iter().enumerate() {
            let from = match &file.content {
                Content::Bytes(bytes) => write(&format!("given-{number}"), bytes)?,
                Content::Path(path) => std::fs::canonicalize(path).map_err(|error| Error::file("read", path, error))?,
            };
            given.push((from, PathBuf::from(&file.at)));
        }
        Ok(Self { _folder: folder, users, given })
    }
}

/// How specific a pattern is: by what it says besides `*`, and one without any first.
fn specific(pattern: &str) -> (bool, usize) {
    (!pattern.contains('*'), pattern.chars().filter(|c| *c != '*').count())
}
