//! Opens, creates and migrates the database file.
//!
//! A new database is built next to its destination and then renamed, so that a crash leaves either no database or a
//! complete one. Creating and migrating happen under a lock on `<file>.lock`. Without the lock, processes that open a
//! new file at the same moment fail (measured: two of six).

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::access::Access;
use super::connect;
use super::connect::POOLED_CACHE;
use super::errors::failed;
use super::files::{beside, create_private, make_private, remove_with_side_files, sync, unavailable, wal_size};
use super::identity::Identity;
use super::lock_file::lock;
use super::schema::{self, SCHEMA_VERSION};
use super::{scratch, upgrade};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;

/// The mark of mcpkg's databases in SQLite's header: "mcpk".
pub const APPLICATION_ID: u32 = 0x6d63_706b;

const MAGIC: &[u8; 16] = b"SQLite format 3\0";

pub(super) struct Opened {
    pub(super) path: PathBuf,
    pub(super) access: Access,
    pub(super) identity: Identity,
    pub(super) connection: Connection,
}

/// Opens, creates or migrates the database at `path`; see [`crate::Store::open`].
pub(super) fn open(path: &Path) -> Result<Opened> {
    let path = std::path::absolute(path).map_err(|error| Error::file("resolve", path, error))?;
    match fs::metadata(&path) {
        Ok(_) => {}
        Err(error) if path.is_symlink() => return Err(dangling(&path, error)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => create(&path)?,
        Err(error) => return Err(unavailable(&path, &error)),
    }
    // Resolve symlinks here, once: SQLite's side files are next to the real file.
    let path = mcpkg_base::platform::real(&path).map_err(|error| unavailable(&path, &error))?;
    check_header(&path)?;
    let (access, connection, version) = try_access(&path)?;
    schema::check(&connection, version, &path)?;
    if version < SCHEMA_VERSION {
        if access != Access::Writable {
            return Err(Error::new(
                Code::ReadOnly,
                format!(
                    "The database `{}` has the older schema {version}, and mcpkg cannot upgrade the database \
                        because the file is not writable",
                    path.display()
                ),
            )
            .hint("make the file and its folder writable"));
        }
        let _lock = lock(&path)?;
        migrate_in_place(&path)?;
    }
    if access == Access::Writable {
        scratch::sweep(&path);
        // A backup is not in WAL mode. For all other files this changes nothing.
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).map_err(failed)?;
    }
    opened(path, access, connection)
}

/// Opens the database at `path` without changing it; see [`crate::Store::open_as_it_is`].
pub(super) fn open_as_it_is(path: &Path) -> Result<Opened> {
    let path = mcpkg_base::platform::real(path).map_err(|error| unavailable(path, &error))?;
    check_header(&path)?;
    let (access, connection, version) = try_access(&path)?;
    if version != SCHEMA_VERSION {
        let older = format!("The database `{}` has the older schema {version}", path.display());
        return Err(Error::new(Code::Unavailable, older).hint("any other command upgrades the database"));
    }
    schema::check(&connection, version, &path)?;
    opened(path, access, connection)
}

/// Opens a file again that this process already has open, with the best kind of access that is possible now.
pub(super) fn again(path: &Path) -> Result<Opened> {
    let opened = open_as_it_is(path)?;
    if opened.access == Access::Writable {
        scratch::sweep(path);
        opened.connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).map_err(failed)?;
    }
    Ok(opened)
}

fn opened(path: PathBuf, access: Access, connection: Connection) -> Result<Opened> {
    let identity = Identity::of(&path, access)
        .ok_or_else(|| Error::new(Code::Unavailable, format!("The database `{}` was removed", path.display())))?;
    Ok(Opened { path, access, identity, connection })
}

/// Refuses files that are not mcpkg's before SQLite opens them: SQLite would accept an empty file as a new database.
pub(super) fn check_header(path: &Path) -> Result<()> {
    let corrupt = |what: &str| {
        Error::new(Code::NotDatabase, format!("`{}` {what}", path.display())).hint(
            "the file was left untouched; move the file aside and restore a backup with `mcpkg restore FILE`, or \
                name another database with --db",
        )
    };
    let mut file = file::open(path).map_err(|error| match error.kind() {
        ErrorKind::IsADirectory | ErrorKind::Unsupported => {
            Error::new(Code::NotDatabase, format!("`{}` is not a database: {error}", path.display()))
                .hint("name the database file itself with --db")
        }
        _ => unavailable(path, &error),
    })?;
    let metadata = file.metadata().map_err(|error| unavailable(path, &error))?;
    if metadata.len() == 0 {
        return Err(corrupt("is empty (0 bytes), not a database"));
    }
    let mut header = [0; 100];
    if file.read_exact(&mut header).is_err() || &header[..16] != MAGIC {
        return Err(corrupt("is not an SQLite database"));
    }
    let application_id = u32::from_be_bytes([header[68], header[69], header[70], header[71]]);
    if application_id != APPLICATION_ID {
        return Err(Error::new(
            Code::ForeignDatabase,
            format!("`{}` is an SQLite database of another application", path.display()),
        )
        .hint("the file was left untouched; name another database with --db"));
    }
    let whole = whole_size(&header);
    let size = || file.metadata().map(|metadata| metadata.len()).map_err(|error| unavailable(path, &error));
    // While the database is in use, its last pages may be only in the WAL. Without a WAL, all pages must be in the file.
    if size()? < whole && wal_size(path) == 0 {
        let size = size()?;
        if size < whole {
            return Err(corrupt(&format!("is damaged: the file is cut off after {size} of {whole} bytes")));
        }
    }
    Ok(())
}

/// Returns the size of a database in bytes from its header: the page size times the number of pages.
fn whole_size(header: &[u8; 100]) -> u64 {
    let page = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 1 << 16,
        page => u64::from(page),
    };
    page * u64::from(u32::from_be_bytes([header[28], header[29], header[30], header[31]]))
}

/// Returns the schema version in the header, if this program knows it.
pub(super) fn check_version(connection: &Connection, path: &Path) -> Result<u32> {
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed)?;
    let path = path.display();
    match u32::try_from(version) {
        Ok(version) if version <= SCHEMA_VERSION => Ok(version),
        Ok(_) => {
            let what =
                format!("The database `{path}` has schema {version}; this mcpkg knows schemas up to {SCHEMA_VERSION}");
            let way = match schema::newer_version(connection) {
                Some(newer) => format!("install mcpkg {newer} or newer, which upgraded this database"),
                None => "use a newer version of mcpkg".to_owned(),
            };
            Err(Error::new(Code::NewerDatabase, what).hint(format!("{way}, or restore a backup made by this version")))
        }
        Err(_) => Err(Error::new(
            Code::NotDatabase,
            format!("The database `{path}` has the invalid schema version {version}"),
        )
        .hint(
            "its header is damaged, and the file was left untouched; restore a backup, or name another database \
            with --db",
        )),
    }
}

/// Returns the error for a link that leads nowhere or in circles, perhaps because its target is on a disk that is not
/// mounted.
fn dangling(link: &Path, error: std::io::Error) -> Error {
    let target = fs::read_link(link).unwrap_or_default();
    Error::new(
        Code::Unavailable,
        format!(
            "The database `{}` is a link to `{}`, which cannot be opened: {error}",
            link.display(),
            target.display()
        ),
    )
    .hint("mount the disk that the link leads to, or remove the link to start with an empty database")
    .with_source(error)
}

/// Opens the file with the best kind of access that is possible, and returns its schema version.
fn try_access(path: &Path) -> Result<(Access, Connection, u32)> {
    let attempt = |access| {
        let connection = connect::connect(path, access, POOLED_CACHE, false)?;
        // In WAL mode, the first read needs the side files, so it shows whether they can be created.
        let version = check_version(&connection, path)?;
        Ok::<_, Error>((connection, version))
    };
    let mut failure = None;
    for access in [Access::Writable, Access::ReadOnly] {
        if access == Access::Writable && !writable(path) {
            continue;
        }
        match attempt(access) {
            Ok((connection, version)) => return Ok(logged(path, access, connection, version)),
            Err(error) if matches!(error.code(), Code::Unavailable | Code::ReadOnly | Code::DiskFull) => {
                failure.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
    let failure = failure.unwrap_or_else(|| Error::internal("no open mode was tried for the database"));
    if wal_size(path) > 0 {
        // Without its WAL, the file would show an old state, and commits would seem lost.
        return Err(failure);
    }
    let access = if failure.code() == Code::DiskFull { Access::Full } else { Access::Immutable };
    let (connection, version) = attempt(access)?;
    Ok(logged(path, access, connection, version))
}

fn logged(path: &Path, access: Access, connection: Connection, version: u32) -> (Access, Connection, u32) {
    if access != Access::Writable {
        // Not a warning: `serve` and `doctor` report this in their own words, and a write fails with an error.
        tracing::info!(path = %path.display(), ?access, "the database is read-only; writes work again once it is writable");
    }
    (access, connection, version)
}

/// Whether the file itself may be written.
pub(super) fn writable(path: &Path) -> bool {
    OpenOptions::new().append(true).open(path).is_ok()
}

/// Creates a new database next to `path`, and renames it to `path`.
fn create(path: &Path) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    create_folder(folder).map_err(|error| {
        Error::new(Code::Unavailable, format!("Cannot create the folder `{}`: {error}", folder.display()))
            .hint("name another location with --db")
            .with_source(error)
    })?;
    let _lock = lock(path)?;
    if fs::symlink_metadata(path).is_ok() {
        return Ok(());
    }
    if wal_size(path) > 0 {
        // SQLite would replay this WAL into the new file.
        let wal = beside(path, "-wal");
        return Err(Error::new(
            Code::Unavailable,
            format!(
                "The database `{}` is missing, but its latest changes are still in `{}`",
                path.display(),
                wal.display()
            ),
        )
        .hint("put the database back, or remove that second file to start with an empty database"));
    }
    let unfinished = beside(path, ".new");
    remove_with_side_files(&unfinished);
    create_private(&unfinished).map_err(|error| unavailable(&unfinished, &error))?;
    let made = (|| {
        let mut connection = connect::connect(&unfinished, Access::Writable, POOLED_CACHE, false)?;
        connection.execute_batch(&format!("PRAGMA application_id = {APPLICATION_ID};")).map_err(failed)?;
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).map_err(failed)?;
        schema::create(&mut connection, path)?;
        // Closing would do this too, but would not report a full disk.
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(failed)?;
        connection.close().map_err(|(_, error)| failed(error))?;
        sync(&unfinished)?;
        fs::rename(&unfinished, path).map_err(|error| unavailable(path, &error))?;
        sync(folder)
    })();
    if made.is_err() {
        remove_with_side_files(&unfinished);
    }
    made
}

/// Migrates an older database, after keeping a copy of it.
fn migrate_in_place(path: &Path) -> Result<()> {
    let mut connection = connect::connect(path, Access::Writable, POOLED_CACHE, false)?;
    let version = check_version(&connection, path)?;
    if version >= SCHEMA_VERSION {
        return Ok(()); // another process has migrated it
    }
    let kept = beside(path, &format!(".pre-v{SCHEMA_VERSION}"));
    if !kept.exists() {
        let unfinished = beside(path, ".pre");
        remove_with_side_files(&unfinished);
        connection.execute("VACUUM INTO ?1", [unfinished.to_string_lossy()]).map_err(failed)?;
        make_private(&unfinished)?;
        sync(&unfinished)?;
        fs::rename(&unfinished, &kept).map_err(|error| Error::file("write", &kept, error))?;
    }
    tracing::info!(from = version, to = SCHEMA_VERSION, kept = %kept.display(), "migrating the database");
    upgrade::to_newest(&mut connection, version, path)
}

fn create_folder(folder: &Path) -> std::io::Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    mcpkg_base::platform::folders(0o700).recursive(true).create(folder)
}
