//! Folders that projects are synced with. For each folder, stores the common state after the last sync, the files
//! that were on the disk then, and the files that are currently being written.

use std::collections::BTreeMap;

use super::Db;
use super::engine::{params, sql};
use mcpkg_base::clock::Millis;
use mcpkg_base::disk::Stat;
use mcpkg_base::error::Result;
use mcpkg_base::hex;
use mcpkg_base::inside::stays_inside;
use mcpkg_base::sha256;

/// A sync of a project with a folder.
#[derive(Clone, Debug)]
pub struct Sync {
    pub id: i64,
    /// The folder's path, with symlinks resolved.
    pub folder: String,
    /// The value of [`state`] when nothing was left to do; `None` if the next sync has to compare everything.
    pub project_state: Option<[u8; 32]>,
    /// When the files were last checked.
    pub looked_at: Millis,
}

/// The common state of an item after the last sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// The file's path relative to the folder; `mcp_server:NAME` for an MCP server.
    pub path: String,
    /// The item, such as `prompt:<uuid>`. For a link, `link:` and its text. For a duplicate, `form:`, its SHA-256, `:`
    /// and the path of the item's file.
    pub item: String,
    /// The name and attributes as JSON, and the key of the content; `None` if project and folder never had the same version.
    pub version: Option<(String, i64)>,
    /// Whether the folder's manifest lists the file.
    pub listed: bool,
    /// The proposal about the item that was open after the last sync.
    pub proposal: Option<i64>,
}

/// A file or folder as it was last seen on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The path relative to the folder; empty for the folder itself.
    pub path: String,
    pub is_folder: bool,
    /// The metadata by which a later change is detected.
    pub stat: Stat,
}

/// A write in progress: of a file, or of an MCP server in the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The path relative to the folder; `mcp_server:NAME` for an MCP server.
    pub path: String,
    /// The SHA-256 of the old file, or of the server's old JSON; `None` if it did not exist.
    pub before: Option<[u8; 32]>,
    /// The key of the new content; `None` to delete the file.
    pub blob: Option<i64>,
    /// Whether the new file is executable.
    pub executable: bool,
    /// The new entry in the manifest, as JSON; `None` for no entry.
    pub listed: Option<String>,
}

macro_rules! sync {
    () => {
        "SELECT id, folder, project_state, looked_at FROM sync"
    };
}

fn from_row(row: &super::engine::Row<'_>) -> Result<Sync> {
    Ok(Sync { id: row.get(0)?, folder: row.get(1)?, project_state: row.get(2)?, looked_at: row.get(3)? })
}

/// Returns the sync of a project with a folder, if there is one.
pub fn get(db: &Db<'_>, project: i64, folder: &str) -> Result<Option<Sync>> {
    db.one(sql!(sync!(), " WHERE project_id = ?1 AND folder = ?2"), params![project, folder], from_row)
}

/// Returns the project's sync that was last checked, if there is one.
pub fn last(db: &Db<'_>, project: i64) -> Result<Option<Sync>> {
    let sql = sql!(sync!(), " WHERE project_id = ?1 ORDER BY looked_at DESC, id DESC LIMIT 1");
    db.one(sql, params![project], from_row)
}

/// Adds the sync of a project with a folder, and returns its key.
pub fn insert(db: &Db<'_>, project: i64, folder: &str, now: Millis) -> Result<i64> {
    let sql = sql!("INSERT INTO sync (project_id, folder, looked_at) VALUES (?1, ?2, ?3) RETURNING id");
    db.insert(sql, params![project, folder, now])
}

/// Deletes a sync and everything stored for it.
pub fn delete(db: &Db<'_>, id: i64) -> Result<()> {
    db.run(sql!("DELETE FROM sync WHERE id = ?1"), params![id]).map(drop)
}

/// Texts of links, by path.
pub type Texts = BTreeMap<String, String>;

/// Duplicates of items' files, by path.
pub type Duplicates = BTreeMap<String, Duplicate>;

/// A file that means the same as an item's file, but is not an item of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The path of the item's file.
    pub of: String,
    /// The SHA-256 of this file's bytes.
    pub sha256: [u8; 32],
}

/// The record of a folder's last sync.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The common state of each item, by path.
    pub bases: Vec<Base>,
    /// The links that project and folder had in common.
    pub links: Texts,
    /// Copies of items' files in the folder, and files with the same meaning for other agents.
    pub duplicates: Duplicates,
    /// The proposed name and attributes as JSON, by path, for items whose [`Base`] has a proposal. The files contained
    /// these values when the proposals were made.
    pub proposed: Texts,
}

/// The prefix in the column `item` for a link. The link's text follows.
const LINK: &str = "link:";

/// The prefix in the column `item` for a duplicate. The SHA-256, `:` and the path of the item's file follow.
const DUPLICATE: &str = "form:";

/// Returns the record of a folder's last sync. Rows with a path that leads out of the folder are ignored: no sync wrote them.
pub fn known(db: &Db<'_>, id: i64) -> Result<Known> {
    let sql = sql!(
        "SELECT sync_item.path, sync_item.item, sync_item.entry, sync_item.blob_id, listed, proposal_id, proposal.entry
           FROM sync_item LEFT JOIN proposal ON proposal.id = proposal_id
          WHERE sync_id = ?1 ORDER BY sync_item.path"
    );
    let mut known = Known::default();
    db.each(sql, params![id], |row| {
        let (path, item): (String, &str) = (row.get(0)?, row.get(1)?);
        if !stays_inside(&path) {
            return Ok(());
        }
        if let Some(text) = item.strip_prefix(LINK) {
            known.links.insert(path, text.to_owned());
        } else if let Some(text) = item.strip_prefix(DUPLICATE) {
            // A row that mcpkg did not write is ignored.
            let duplicate = text.split_once(':').and_then(|(sha256, of)| {
                Some(Duplicate { of: of.to_owned(), sha256: hex::decode(sha256)?.try_into().ok()? })
            });
            known.duplicates.extend(duplicate.map(|duplicate| (path, duplicate)));
        } else {
            let item = item.to_owned();
            let (entry, blob): (Option<String>, Option<i64>) = (row.get(2)?, row.get(3)?);
            let version = entry.zip(blob);
            let proposed: Option<String> = row.get(6)?;
            known.proposed.extend(proposed.map(|proposed| (path.clone(), proposed)));
            known.bases.push(Base { path, item, version, listed: row.get(4)?, proposal: row.get(5)? });
        }
        Ok(())
    })?;
    Ok(known)
}

/// Stores a link that project and folder have in common, with its text.
pub fn put_link(db: &Db<'_>, id: i64, path: &str, text: &str) -> Result<()> {
    let (path, item) = (path.to_owned(), format!("{LINK}{text}"));
    put_base(db, id, &Base { path, item, version: None, listed: false, proposal: None })
}

/// Stores the duplicates in the folder. They replace those in `known`.
pub fn put_duplicates(db: &Db<'_>, id: i64, known: &Duplicates, duplicates: &Duplicates) -> Result<()> {
    for path in known.keys().filter(|path| !duplicates.contains_key(*path)) {
        delete_base(db, id, path)?;
    }
    for (path, duplicate) in duplicates.iter().filter(|(path, duplicate)| known.get(*path) != Some(duplicate)) {
        let item = format!("{DUPLICATE}{}:{}", hex::encode(&duplicate.sha256), duplicate.of);
        put_base(db, id, &Base { path: path.clone(), item, version: None, listed: false, proposal: None })?;
    }
    Ok(())
}

/// Stores the common state of an item.
pub fn put_base(db: &Db<'_>, id: i64, base: &Base) -> Result<()> {
    let (entry, blob) = base.version.as_ref().map(|(entry, blob)| (entry.as_str(), *blob)).unzip();
    let sql = sql!(
        "INSERT INTO sync_item (sync_id, path, item, entry, blob_id, listed, proposal_id)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (sync_id, path) DO UPDATE SET item = excluded.item, entry = excluded.entry,
                                                   blob_id = excluded.blob_id, listed = excluded.listed,
                                                   proposal_id = excluded.proposal_id"
    );
    db.run(sql, params![id, base.path, base.item, entry, blob, base.listed, base.proposal]).map(drop)
}

/// Removes the stored state of an item, a link or a duplicate.
pub fn delete_base(db: &Db<'_>, id: i64, path: &str) -> Result<()> {
    db.run(sql!("DELETE FROM sync_item WHERE sync_id = ?1 AND path = ?2"), params![id, path]).map(drop)
}

/// Returns how many items of a sync have an open proposal.
pub fn waiting(db: &Db<'_>, id: i64) -> Result<i64> {
    let sql = sql!(
        "SELECT count(*) FROM sync_item JOIN proposal ON proposal.id = proposal_id
          WHERE sync_id = ?1 AND state = 'open'"
    );
    db.single(sql, params![id], |row| row.get(0))
}

/// Calls `each` with the stored state of each file and folder of a sync.
pub fn each_seen(db: &Db<'_>, id: i64, mut each: impl FnMut(&str, bool, Stat) -> Result<()>) -> Result<()> {
    let sql = sql!("SELECT path, is_folder, size, mtime, ctime, inode FROM sync_file WHERE sync_id = ?1");
    db.each(sql, params![id], |row| {
        let stat = Stat { size: row.get(2)?, mtime: row.get(3)?, ctime: row.get(4)?, inode: row.get(5)? };
        each(row.get(0)?, row.get(1)?, stat)
    })
}

/// Stores the state of the files and folders on the disk, replacing the previous one. `state` is the current result
/// of [`state`] if nothing is left to do. `looked_at` is when the first file was checked.
pub fn store_state(db: &Db<'_>, id: i64, seen: &[Seen], state: Option<[u8; 32]>, looked_at: Millis) -> Result<()> {
    db.run(sql!("DELETE FROM sync_file WHERE sync_id = ?1"), params![id])?;
    let sql = sql!(
        "INSERT INTO sync_file (sync_id, path, is_folder, size, mtime, ctime, inode) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
    );
    for Seen { path, is_folder, stat } in seen {
        db.run(sql, params![id, path, is_folder, stat.size, stat.mtime, stat.ctime, stat.inode])?;
    }
    let sql = sql!("UPDATE sync SET project_state = ?2, looked_at = ?3 WHERE id = ?1");
    db.run(sql, params![id, state.as_ref().map(<[u8; 32]>::as_slice), looked_at]).map(drop)
}

/// Returns the writes in progress, ordered by path.
pub fn writes(db: &Db<'_>, id: i64) -> Result<Vec<Write>> {
    let sql = sql!(
        "SELECT path, before_sha256, blob_id, executable, listed FROM sync_write WHERE sync_id = ?1 ORDER BY path"
    );
    db.all(sql, params![id], |row| {
        Ok(Write {
            path: row.get(0)?,
            before: row.get(1)?,
            blob: row.get(2)?,
            executable: row.get(3)?,
            listed: row.get(4)?,
        })
    })
}

/// Records a write that is about to begin.
pub fn begin_write(db: &Db<'_>, id: i64, write: &Write) -> Result<()> {
    let before = write.before.as_ref().map(<[u8; 32]>::as_slice);
    let sql = sql!(
        "INSERT INTO sync_write (sync_id, path, before_sha256, blob_id, executable, listed)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
    );
    db.run(sql, params![id, write.path, before, write.blob, write.executable, write.listed]).map(drop)
}

/// Records that no write is in progress any more.
pub fn end_writes(db: &Db<'_>, id: i64) -> Result<()> {
    db.run(sql!("DELETE FROM sync_write WHERE sync_id = ?1"), params![id]).map(drop)
}

/// Returns a SHA-256 of everything in a project that a sync depends on: the revisions of all prompts, resources,
/// agents' files and MCP servers, some settings of its modules, its links, and the decisions about proposals. No
/// content is read.
pub fn state(db: &Db<'_>, project: i64) -> Result<[u8; 32]> {
    let mut hash = sha256::Hasher::new();
    let mut field = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    for sql in [
        sql!("SELECT uuid, revision FROM prompt WHERE project_id = ?1 ORDER BY name"),
        sql!("SELECT uuid, revision FROM resource WHERE project_id = ?1 ORDER BY name"),
        sql!("SELECT uuid, revision FROM mcp_server WHERE project_id = ?1 ORDER BY name"),
    ] {
        field(b"items");
        db.each(sql, params![project], |row| {
            field(row.get(0)?);
            field(&row.get::<i64>(1)?.to_le_bytes());
            Ok(())
        })?;
    }
    field(b"agents' files");
    db.each(
        sql!("SELECT path, revision FROM agent_file WHERE project_id = ?1 ORDER BY path"),
        params![project],
        |row| {
            field(row.get::<&str>(0)?.as_bytes());
            field(&row.get::<i64>(1)?.to_le_bytes());
            Ok(())
        },
    )?;
    field(b"modules");
    let sql = sql!("SELECT item, applies, agent, path FROM module WHERE project_id = ?1 ORDER BY item");
    db.each(sql, params![project], |row| {
        for column in 0..4 {
            let text: Option<&str> = row.get(column)?;
            field(text.unwrap_or("\0").as_bytes());
        }
        Ok(())
    })?;
    field(b"links");
    db.each(sql!("SELECT path, target FROM link WHERE project_id = ?1 ORDER BY path"), params![project], |row| {
        field(row.get::<&str>(0)?.as_bytes());
        field(row.get::<&str>(1)?.as_bytes());
        Ok(())
    })?;
    field(b"proposals");
    let sql = sql!("SELECT id, state FROM proposal WHERE project_id = ?1 AND origin = 'sync' ORDER BY id");
    db.each(sql, params![project], |row| {
        field(&row.get::<i64>(0)?.to_le_bytes());
        field(row.get::<&str>(1)?.as_bytes());
        Ok(())
    })?;
    Ok(hash.finish())
}
