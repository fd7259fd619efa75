//! Stores what this user has approved or started on this machine, outside any database.
//!
//! A database may come from somebody else, so mcpkg does not act on its rows alone. An action such as restoring files
//! or running a plugin also requires a record here with the matching SHA-256. [`Kind`] lists the kinds of records.
//! Records are files of mode 0600 in the user's state folder. [`Approved::put`] syncs a record to disk,
//! [`Approved::put_unsynced`] does not.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use serde_json::Value;

use crate::disk;
use crate::error::{Code, Error, Result};
use crate::file;

/// The name prefix of a record's file while it is being written.
const BEGUN: &str = ".mcpkg-";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The journal of an apply that this machine started; the SHA-256 covers the parts of its rows that never change.
    Journal,
    /// A folder that you deployed to; the SHA-256 covers its path.
    Root,
    /// A folder that you synced a project with; the SHA-256 covers the project and the folder.
    Sync,
    /// The files that a sync on this machine is writing; the SHA-256 covers the project, the folder and everything
    /// written.
    SyncWrites,
    /// A request that you approved, until it is used; the SHA-256 covers the parts of its row that never change.
    Consent,
    /// The URL that a content source is fetched from; the SHA-256 covers its kind and URL.
    Source,
    /// A tool registry that you added; the SHA-256 covers its kind, its location and where its token is stored.
    Registry,
    /// An API description that you imported; the SHA-256 covers where it came from, the URL of the API, and where its
    /// secrets are stored.
    Catalog,
    /// An MCP server that mcpkg may run; the SHA-256 covers the command or URL, where its secrets are stored, and the
    /// trusted claims about its tools.
    Plugin,
    /// Permissions of a tool beyond its sandbox; the SHA-256 covers the tool and the permissions.
    ToolGrant,
    /// The output of building a tool on this machine; the SHA-256 covers the archive, where it was built, and the
    /// output.
    ToolBuild,
    /// A setting that gives tools more rights; the SHA-256 covers its name and value.
    ToolSetting,
    /// Where a secret for tools is read from; the SHA-256 covers the variable, the tools and the reference.
    ToolSecret,
    /// A trusted signer, a policy, or an approved archive of a tool; the SHA-256 covers its content.
    Trust,
    /// The publisher of a tool that you installed; the SHA-256 covers the tool's name. The record stays after the tool
    /// is removed.
    ToolPublisher,
    /// A change to a workspace's repositories that this machine started; the SHA-256 covers its steps.
    Flow,
    /// The programs in a git repository's own configuration; the SHA-256 covers its folder and these settings.
    Repository,
    /// The commands of a workspace's repository that agents may run; the SHA-256 covers its folder, its origin and the
    /// commands.
    WorkspaceBuild,
    /// The text of a workflow whose draft you approved, or that you saved at a terminal; the SHA-256 covers its project
    /// and text.
    Workflow,
    /// A time-limited permission for plans that only read from one catalog, so that each plan needs no approval of its
    /// own. The SHA-256 covers the requester, the project, and the catalog with its URL.
    Reads,
    /// An agent that mcpkg may run on your requests; the SHA-256 covers its command, the server that it gets, and the
    /// project.
    Agent,
    /// A run that was started on this machine, until it ends; the SHA-256 covers its id and plan.
    Run,
    /// A critical audit finding that you accepted; the SHA-256 covers the rule and the lines.
    Finding,
    /// A diff that you marked as reviewed in the console; the SHA-256 covers the diff. The console shows the mark, and
    /// nothing else depends on it.
    Reviewed,
    /// A link to the console of a server, made at a terminal, until a browser signs in with it. The SHA-256 covers the
    /// link's token.
    ConsoleLink,
    /// A passkey with which a person signs in to the console of a server and approves requests there. The SHA-256 covers
    /// the credential's id.
    Passkey,
    /// The counter of a passkey, and when it was last used; the SHA-256 is that of the passkey. This record allows nothing.
    PasskeyUse,
    /// The address of `mcpkg console --web` on this machine, while it runs; the SHA-256 covers the address. This record
    /// allows nothing.
    Console,
    /// A link that registers a passkey, made at a terminal, until somebody uses it. The SHA-256 covers the link's token.
    PasskeyLink,
    /// The Sigstore root that you use instead of the embedded one. There is only one such record.
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
            Kind::Agent => "agents",
            Kind::Run => "runs",
            Kind::Finding => "findings",
            Kind::Reviewed => "reviewed",
            Kind::ConsoleLink => "console-links",
            Kind::Passkey => "passkeys",
            Kind::PasskeyUse => "passkey-uses",
            Kind::Console => "consoles",
            Kind::PasskeyLink => "passkey-links",
            Kind::SigstoreRoot => "sigstore-root",
        }
    }
}

/// The name prefix of the folder that a process locks while its record counts.
const HELD: &str = ".held-";

/// A record that counts until this value is dropped.
#[derive(Debug)]
pub struct Held {
    approved: Approved,
    kind: Kind,
    sha256: String,
    lock: PathBuf,
    _held: disk::FolderLock,
}

impl Drop for Held {
    fn drop(&mut self) {
        // Ignore failures: without the lock, the record does not count any more.
        let _ = self.approved.withdraw(self.kind, &self.sha256);
        let _ = fs::remove_dir(&self.lock);
    }
}

#[derive(Clone, Debug)]
pub struct Approved {
    folder: Option<PathBuf>,
}

impl Approved {
    /// Returns the records of this user in `mcpkg/approved`, below the state directory (XDG), or below the data
    /// directory on systems without a state directory.
    pub fn of_user() -> Self {
        let folder = etcetera::base_strategy::choose_native_strategy().ok().map(|strategy| {
            let state = strategy.state_dir().unwrap_or_else(|| strategy.data_dir());
            state.join("mcpkg").join("approved")
        });
        Self { folder }
    }

    pub fn below(folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()) }
    }

    /// Returns the folder of the records, if the user has a home folder.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Writes a record with a note about it, and syncs it to disk. `sha256` is in hex.
    ///
    /// # Errors
    /// `E_UNAPPROVED` if the user has no home folder; a code of [`disk::failed`] if the record cannot be written.
    pub fn put(&self, kind: Kind, sha256: &str, note: &Value) -> Result<()> {
        let folder = self.made(kind)?;
        // Writers hold this lock. While it is held here, every unfinished file is left over from a killed process.
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

    /// Like [`Approved::put`], but does not wait for the disk. After a power loss the record may be missing, and its
    /// subject needs approval again.
    pub fn put_unsynced(&self, kind: Kind, sha256: &str, note: &Value) -> Result<()> {
        disk::write_unsynced(&self.made(kind)?.join(sha256), note.to_string().as_bytes(), 0o600)
    }

    /// Writes a record that counts only while this process runs, or until the returned value is dropped.
    pub fn hold(&self, kind: Kind, sha256: &str, note: &Value) -> Result<Held> {
        let lock = self.made(kind)?.join(format!("{HELD}{sha256}"));
        disk::make_private(&lock)?;
        let held = disk::hold_folder(&lock);
        self.put_unsynced(kind, sha256, note)?;
        Ok(Held { approved: self.clone(), kind, sha256: sha256.to_owned(), lock, _held: held })
    }

    /// Returns the notes of the records whose processes run, in no particular order. Returns none if the system or disk
    /// cannot lock folders.
    pub fn held(&self, kind: Kind) -> Result<Vec<Value>> {
        let Some(folder) = self.folder.as_ref().map(|folder| folder.join(kind.folder())) else { return Ok(Vec::new()) };
        let mut records = self.all(kind)?;
        records.retain(|(sha256, _)| disk::is_folder_locked(&folder.join(format!("{HELD}{sha256}"))));
        Ok(records.into_iter().map(|(_, note)| note).collect())
    }

    /// Returns the folder for a kind of record; creates it if needed.
    fn made(&self, kind: Kind) -> Result<PathBuf> {
        let Some(folder) = &self.folder else {
            return Err(Error::new(Code::Unapproved, "Cannot find your state directory: HOME is not set")
                .hint("set HOME or XDG_STATE_HOME"));
        };
        let folder = folder.join(kind.folder());
        disk::make_private(&folder)?;
        Ok(folder)
    }

    /// Whether a record exists, even a damaged one.
    pub fn has(&self, kind: Kind, sha256: &str) -> Result<bool> {
        match &self.folder {
            Some(folder) => Ok(disk::metadata(&folder.join(kind.folder()).join(sha256))?.is_some()),
            None => Ok(false),
        }
    }

    /// Returns the note of a record, if the record exists and is not damaged.
    pub fn get(&self, kind: Kind, sha256: &str) -> Result<Option<Value>> {
        match &self.folder {
            Some(folder) => read(&folder.join(kind.folder()).join(sha256)),
            None => Ok(None),
        }
    }

    /// Deletes a record. A missing record is not an error.
    pub fn withdraw(&self, kind: Kind, sha256: &str) -> Result<()> {
        match &self.folder {
            Some(folder) => disk::remove(&folder.join(kind.folder()).join(sha256)),
            None => Ok(()),
        }
    }

    /// Returns all undamaged records of a kind with their notes, in no particular order.
    pub fn all(&self, kind: Kind) -> Result<Vec<(String, Value)>> {
        let Some(folder) = self.folder.as_ref().map(|folder| folder.join(kind.folder())) else { return Ok(Vec::new()) };
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| disk::failed("read", &folder, error))?,
        };
        let mut notes = Vec::new();
        for entry in entries {
            let path = entry.map_err(|error| disk::failed("read", &folder, error))?.path();
            // Other names belong to unfinished files.
            if let Some(sha256) = path.file_name().and_then(|name| name.to_str()).filter(|name| name.len() == 64) {
                notes.extend(read(&path)?.map(|note| (sha256.to_owned(), note)));
            }
        }
        Ok(notes)
    }
}

/// Removes unfinished files from a folder of records. Ignores failures, because these files never count as records.
fn remove_begun(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(BEGUN) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Reads a record. A damaged record counts as missing.
fn read(path: &Path) -> Result<Option<Value>> {
    match file::read_directly(path, file::TEXT) {
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
        let sha256 = crate::sha256::hex(b"x");
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
        // A record that is held counts until its process ends.
        let held = approved.hold(Kind::Console, &sha256, &json!({ "address": "a" })).expect("held");
        let is_held = |approved: &Approved| !approved.held(Kind::Console).expect("read").is_empty();
        assert_eq!(is_held(&approved), cfg!(unix));
        let lock = held.lock.clone();
        drop(held);
        assert!(!is_held(&approved) && approved.all(Kind::Console).expect("read").is_empty());
        approved.put(Kind::Console, &sha256, &json!({})).expect("left by a killed process");
        assert!(!is_held(&approved));
        // Another process that looks at the same moment is not the holder.
        disk::make_private(&lock).expect("a folder");
        let looking = fs::File::open(&lock).expect("a folder");
        if looking.try_lock_shared().is_ok() {
            assert!(!is_held(&approved));
        }
        // A file that a killed process left unfinished is not a record. On Unix, the next write removes such a file.
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
