//! What this user approved on this machine, kept outside of every database.
//!
//! A database may come from somebody else, so that none of its rows acts by itself: what puts files back, or writes
//! where nothing was ever deployed to, counts only where a record here names its SHA-256. Records are files of mode 0600
//! in the user's state folder, each on the disk when it counts.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use serde_json::Value;

use crate::disk;
use crate::error::{Code, Error, Result};
use crate::file;

/// How a file is called that is going to be a record.
const BEGUN: &str = ".mcpkg-";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The journal of an apply that this machine began; the SHA-256 is of what never changes in its rows.
    Journal,
    /// A folder that this user deployed to; the SHA-256 is of its path.
    Root,
    /// A folder that this user synced a project with; the SHA-256 is of both.
    Sync,
    /// The files that a sync of this machine is writing; the SHA-256 is of the project, the folder and all that is written.
    SyncWrites,
    /// A request that this user consented to, until it is used; the SHA-256 is of what never changes in its row.
    Consent,
    /// Where a source of content is fetched from; the SHA-256 is of its kind and address.
    Source,
    /// A registry of tools that this user added; the SHA-256 is of its kind, its place and where its token is kept.
    Registry,
    /// A description of an API that this user imported; the SHA-256 is of where it came from, where it is served, and where its
    /// secrets are kept.
    Catalog,
    /// An MCP server that this user lets mcpkg run; the SHA-256 is of what is started or asked, of where its secrets are kept, and of
    /// what is believed of its tools.
    Plugin,
    /// What a tool is allowed beyond its sandbox; the SHA-256 is of both.
    ToolGrant,
    /// What the build of a tool left on this machine; the SHA-256 is of the archive, where it was built, and what it left.
    ToolBuild,
    /// A setting that lets tools do more; the SHA-256 is of its name and its value.
    ToolSetting,
    /// Where a secret of tools is read from; the SHA-256 is of the variable, the tools and the reference.
    ToolSecret,
    /// Whom this user trusts, a policy, or an archive of a tool that they said yes to; the SHA-256 is of what it says.
    Trust,
    /// Who published a tool that this user installed; the SHA-256 is of the tool's name. It stays when the tool goes.
    ToolPublisher,
    /// A change of a workspace's repositories that this machine began; the SHA-256 is of its steps.
    Flow,
    /// The programs that a git repository's own configuration names; the SHA-256 is of its folder and these settings.
    Repository,
    /// The commands of a workspace's repository that agents may run; the SHA-256 is of its folder, its origin and the commands.
    WorkspaceBuild,
    /// The text of a workflow that this user approved of a draft, or saved at a terminal; the SHA-256 is of its project and text.
    Workflow,
    /// That for a time an asker's plans of nothing but reads of one catalog need no consent of their own; the SHA-256 is of the
    /// asker, the project and the catalog with its address.
    Reads,
    /// A run that was begun on this machine, until it ends; the SHA-256 is of its id and its plan.
    Run,
    /// The root of Sigstore's that this user put instead of the embedded one; there is one record.
    SigstoreRoot,
}

impl Kind {
    const fn folder(self) -> &'static str {
        match self {
            Kind::Journal => "journals",
            Kind::Root => "roots",
            Kind::Sync => "syncs",
            Kind::SyncWrites => "sync-writes",
            Kind::Consent => "consents",
            Kind::Source => "sources",
            Kind::Registry => "registries",
            Kind::Catalog => "catalogs",
            Kind::Plugin => "plugins",
            Kind::ToolGrant => "tool-grants",
            Kind::ToolBuild => "tool-builds",
            Kind::ToolSetting => "tool-settings",
            Kind::ToolSecret => "tool-secrets",
            Kind::Trust => "trust",
            Kind::ToolPublisher => "tool-publishers",
            Kind::Flow => "flows",
            Kind::Repository => "repositories",
            Kind::WorkspaceBuild => "workspace-builds",
            Kind::Workflow => "workflows",
            Kind::Reads => "reads",
            Kind::Run => "runs",
            Kind::SigstoreRoot => "sigstore-root",
        }
    }
}

/// The records of a user.
#[derive(Clone, Debug)]
pub struct Approved {
    folder: Option<PathBuf>,
}

impl Approved {
    /// Returns the records of this user: `mcpkg/approved` in the user's state directory (XDG), or data directory where
    /// the system has no such thing.
    pub fn of_user() -> Self {
        let folder = etcetera::base_strategy::choose_native_strategy().ok().map(|strategy| {
            let state = strategy.state_dir().unwrap_or_else(|| strategy.data_dir());
            state.join("mcpkg").join("approved")
        });
        Self { folder }
    }

    /// Returns the records below `folder`.
    pub fn below(folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()) }
    }

    /// The folder of the records, where the user has a home.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Keeps a record with what is to be known of it; it is on the disk when this returns. `sha256` is in hex.
    ///
    /// # Errors
    /// `E_UNAPPROVED` where the user has no home, `E_IO_PERMISSION_DENIED`, `E_DISK_FULL`, `E_FILE_FAILED`.
    pub fn put(&self, kind: Kind, sha256: &str, note: &Value) -> Result<()> {
        let folder = self.made(kind)?;
        // Whoever writes a record holds its folder: what else is begun there was left by somebody who was killed.
        let held = disk::hold_folder(&folder);
        if held.is_held() {
            remove_begun(&folder);
        }
        let path = folder.join(sha256);
        let temporary = folder.join(format!("{BEGUN}{}", uuid::Uuid::now_v7().simple()));
        disk::write_beside(&path, &temporary, note.to_string().as_bytes(), 0o600)?;
        disk::put_in_place(&path, &temporary, false)?;
        disk::sync_folder(&folder);
        Ok(())
    }

    /// Keeps a record as [`Approved::put`] does, but does not wait until it is on the disk: after a loss of power it may not be
    /// there, and what it is about needs approval again.
    pub fn put_unsynced(&self, kind: Kind, sha256: &str, note: &Value) -> Result<()> {
        disk::write_unsynced(&self.made(kind)?.join(sha256), note.to_string().as_bytes(), 0o600)
    }

    /// Returns the folder of a kind of records, and makes it where it is not there.
    fn made(&self, kind: Kind) -> Result<PathBuf> {
        let Some(folder) = &self.folder else {
            return Err(Error::new(Code::Unapproved, "Cannot find your state directory: HOME is not set")
                .hint("set HOME or XDG_STATE_HOME"));
        };
        let folder = folder.join(kind.folder());
        disk::make_private(&folder)?;
        Ok(folder)
    }

    /// Whether there is a record, also one that is damaged.
    pub fn has(&self, kind: Kind, sha256: &str) -> Result<bool> {
        match &self.folder {
            Some(folder) => Ok(disk::metadata(&folder.join(kind.folder()).join(sha256))?.is_some()),
            None => Ok(false),
        }
    }

    /// Returns the note of a record, where there is one.
    pub fn get(&self, kind: Kind, sha256: &str) -> Result<Option<Value>> {
        match &self.folder {
            Some(folder) => read(&folder.join(kind.folder()).join(sha256)),
            None => Ok(None),
        }
    }

    /// Takes a record away; one that is gone is not a failure.
    pub fn withdraw(&self, kind: Kind, sha256: &str) -> Result<()> {
        match &self.folder {
            Some(folder) => disk::remove(&folder.join(kind.folder()).join(sha256)),
            None => Ok(()),
        }
    }

    /// Returns all records of a kind with their notes, in no order.
    pub fn all(&self, kind: Kind) -> Result<Vec<(String, Value)>> {
        let Some(folder) = self.folder.as_ref().map(|folder| folder.join(kind.folder())) else { return Ok(Vec::new()) };
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| disk::failed("read", &folder, error))?,
        };
        let mut notes = Vec::new();
        for entry in entries {
            let path = entry.map_err(|error| disk::failed("read", &folder, error))?.path();
            // Others are files that were not finished.
            if let Some(sha256) = path.file_name().and_then(|name| name.to_str()).filter(|name| name.len() == 64) {
                notes.extend(read(&path)?.map(|note| (sha256.to_owned(), note)));
            }
        }
        Ok(notes)
    }
}

/// Removes the files that were begun in a folder of records. What cannot be removed is not a record either.
fn remove_begun(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(BEGUN) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Reads a record; one that is damaged approves nothing.
fn read(path: &Path) -> Result<Option<Value>> {
    match file::read_own(path, file::TEXT) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(disk::failed("read", path, error)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_counts_until_it_is_withdrawn() {
        let scratch = tempfile::tempdir().expect("a folder");
        let approved = Approved::below(scratch.path().join("a"));
        let sha256 = crate::hex::encode(&disk::sha256(b"x"));
        assert_eq!(approved.get(Kind::Root, &sha256).expect("read"), None);
        assert!(approved.all(Kind::Root).expect("read").is_empty());
        approved.put(Kind::Root, &sha256, &json!({ "path": "/r" })).expect("kept");
        assert_eq!(approved.get(Kind::Root, &sha256).expect("read"), Some(json!({ "path": "/r" })));
        assert_eq!(approved.get(Kind::Journal, &sha256).expect("read"), None);
        assert_eq!(approved.all(Kind::Root).expect("read").len(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let file = scratch.path().join("a/roots").join(&sha256);
            assert_eq!(fs::metadata(file).expect("a file").permissions().mode() & 0o777, 0o600);
            assert_eq!(fs::metadata(scratch.path().join("a")).expect("a folder").permissions().mode() & 0o777, 0o700);
        }
        // What a killed process began is not a record, and goes with the next one.
        let begun = scratch.path().join("a/roots/.mcpkg-begun");
        fs::write(&begun, "{").expect("written");
        assert_eq!(approved.all(Kind::Root).expect("read").len(), 1);
        approved.put(Kind::Root, &sha256, &json!({ "path": "/r" })).expect("kept");
        assert_eq!(begun.exists(), cfg!(not(unix)));
        approved.withdraw(Kind::Root, &sha256).expect("gone");
        approved.withdraw(Kind::Root, &sha256).expect("still gone");
        assert_eq!(approved.get(Kind::Root, &sha256).expect("read"), None);
    }
}
