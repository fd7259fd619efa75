//! Whether the file is sound: what SQLite can tell, and what only our hashes, checksums and rules can.

use rusqlite::{Connection, Row};

use super::revisions::Kind;
use super::{Db, Store, blobs, index, prompts, resources, revisions, skills, sqlite, sums};
use crate::error::{Code, Result};

/// What was found, a line each.
#[derive(Debug, Default)]
pub struct Findings {
    /// What is wrong with the file's structure.
    pub broken: Vec<String>,
    /// Content, rows and words that are not what was stored.
    pub damaged: Vec<String>,
    /// Contents that match their SHA-256.
    pub verified: u64,
}

impl Findings {
    /// All faults; empty where the file is sound.
    pub fn faults(&self) -> impl Iterator<Item = &str> {
        self.broken.iter().chain(&self.damaged).map(String::as_str)
    }
}

/// The most faults that are named one by one.
const NAMED: usize = 100;

impl Store {
    /// Looks through the whole database: its structure, the SHA-256 of every content, the checksum of every row, what
    /// rows say of each other, and the words of the search index.
    ///
    /// # Errors
    /// `E_DB_CORRUPT` where the damage is so large that the check itself fails.
    pub fn inspect(&self, progress: &dyn Fn(u64, u64)) -> Result<Findings> {
        self.check_in_place()?;
        // Not one of the pool's: the words are looked at through a temporary table.
        let connection = sqlite::connect(self.path(), self.access(), super::READER_CACHE, false)?;
        inspect(&connection, progress)
    }
}

/// Looks through the whole database of a connection; see [`Store::inspect`].
pub(super) fn inspect(connection: &Connection, progress: &dyn Fn(u64, u64)) -> Result<Findings> {
    super::in_transaction(connection, None, "BEGIN DEFERRED", |db| {
        let mut findings = Findings { broken: structure(connection)?, ..Findings::default() };
        type Look = fn(&Db<'_>, &mut Vec<String>) -> Result<()>;
        let looks: [Look; 7] = [rows, histories, items, names, skills_of_prompts, lists, index::compare];
        let mut looked = hashes(db, &mut findings, progress);
        for look in looks {
            looked = looked.and_then(|()| look(db, &mut findings.damaged));
        }
        match looked {
            // What could be found before the structure made it impossible to go on.
            Err(error) if error.code() == Code::NotDatabase => findings.broken.push(error.message().to_owned()),
            looked => looked?,
        }
        let more = findings.damaged.len().saturating_sub(NAMED);
        if more > 0 {
            findings.damaged.truncate(NAMED);
            findings.damaged.push(format!("and {more} more"));
        }
        Ok(findings)
    })
}

/// Returns what SQLite finds wrong, a line each; empty where the file is sound.
pub(super) fn structure(connection: &Connection) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let mut statement = connection.prepare("PRAGMA integrity_check(20)")?;
    for line in statement.query_map([], |row| row.get::<_, String>(0))? {
        match line? {
            sound if sound == "ok" => {}
            fault => faults.push(fault),
        }
    }
    let mut statement = connection.prepare("PRAGMA foreign_key_check")?;
    for table in statement.query_map([], |row| row.get::<_, String>(0))?.take(NAMED) {
        faults.push(format!("a row of table {} refers to one that is gone", table?));
    }
    Ok(faults)
}

/// Returns the faults of the database's structure; empty where it is sound.
///
/// # Errors
/// Where the damage is so large that the check itself fails.
pub fn faults(db: &Db<'_>) -> Result<Vec<String>> {
    structure(db.connection)
}

/// Verifies every blob against its SHA-256. SQLite's own check does not see a flipped bit inside a value.
fn hashes(db: &Db<'_>, findings: &mut Findings, progress: &dyn Fn(u64, u64)) -> Result<()> {
    let total: i64 = db.connection.query_row("SELECT count(*) FROM blob", [], |row| row.get(0))?;
    let total = u64::try_from(total).unwrap_or(0);
    let mut statement = db.connection.prepare(concat!("SELECT ", blobs::columns!(), " FROM blob b ORDER BY b.id"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let blob = blobs::Blob::from_row(row, 0)?;
        match blobs::stream(db, blob, |_| Ok(())) {
            Err(error) if error.code() == Code::Damaged => {
                let users = users(db, blob.id)?;
                findings.damaged.extend(users.into_iter().map(|user| format!("the content of {user} is damaged")));
            }
            checked => checked?,
        }
        findings.verified += 1;
        progress(findings.verified, total);
    }
    Ok(())
}

/// Returns what names a blob; "nothing" where no row does.
fn users(db: &Db<'_>, blob: i64) -> Result<Vec<String>> {
    let mut users: Vec<String> = db.each_of(
        "SELECT DISTINCT kind || ' ''' || revision.name || ''' revision ' || number || ' in project ''' || project.name || ''''
           FROM revision JOIN project ON project.id = project_id WHERE blob_id = ?1
         UNION SELECT 'prompt ''' || name || '''' FROM prompt p WHERE blob_id = ?1
            AND NOT EXISTS (SELECT 1 FROM revision WHERE item = p.uuid AND blob_id = ?1)
         UNION SELECT 'resource ''' || name || '''' FROM resource r WHERE blob_id = ?1
            AND NOT EXISTS (SELECT 1 FROM revision WHERE item = r.uuid AND blob_id = ?1)
         UNION SELECT 'the deployed file ' || path FROM deployed WHERE applied_blob = ?1
         UNION SELECT 'the file that stood before the first deploy at ' || path FROM deployed WHERE pristine_blob = ?1
         UNION SELECT 'snapshot ' || lower(hex(uuid)) || ' before the change of ' || path
                 FROM snapshot_file JOIN snapshot ON snapshot.id = snapshot_id WHERE before_blob = ?1
         UNION SELECT 'snapshot ' || lower(hex(uuid)) || ' after the change of ' || path
                 FROM snapshot_file JOIN snapshot ON snapshot.id = snapshot_id WHERE after_blob = ?1
         UNION SELECT 'proposal ' || id FROM proposal WHERE base_blob = ?1 OR blob_id = ?1
         ORDER BY 1",
        [blob],
        |row| Ok(row.get(0)?),
    )?;
    if users.is_empty() {
        users.push(format!("blob {blob}, which nothing uses,"));
    }
    Ok(users)
}

/// The checksums of prompts, resources and revisions, and the attributes of these.
fn rows(db: &Db<'_>, faults: &mut Vec<String>) -> Result<()> {
    look_at(db, prompts::QUERY, faults, |row| prompts::from_row(row).map(drop))?;
    look_at(db, resources::QUERY, faults, |row| resources::from_row(row).map(drop))?;
    look_at(db, revisions::QUERY, faults, |row| {
        let revision = revisions::from_row(row)?;
        let read = match Kind::named(&row.get::<_, String>(1)?) {
            Some(Kind::Prompt) => prompts::attributes(&revision.attributes).map(drop),
            _ => resources::attributes(&revision.attributes).map(drop),
        };
        read.map_err(|_| {
            let what = format!("Revision {} of '{}' has malformed attributes", revision.number, revision.name);
            crate::error::Error::new(Code::Damaged, what)
        })
    })
}

/// Runs `f` on each row of a query, and keeps what it says is damaged.
fn look_at(db: &Db<'_>, sql: &str, faults: &mut Vec<String>, mut f: impl FnMut(&Row<'_>) -> Result<()>) -> Result<()> {
    let mut statement = db.connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        match f(row) {
            // A value of a type that mcpkg does not write is damage of this row, not of the file.
            Err(error) if matches!(error.code(), Code::Damaged | Code::NotDatabase) => {
                faults.push(error.message().to_owned());
            }
            looked => looked?,
        }
    }
    Ok(())
}

/// An item's revisions are numbered from 1 on without a gap, and its last one says whether it lives.
fn histories(db: &Db<'_>, faults: &mut Vec<String>) -> Result<()> {
    let sql = "SELECT item, name, min(number), max(number), count(*) FROM revision GROUP BY item";
    look_at(db, sql, faults, |row| {
        let (first, last, count): (i64, i64, i64) = (row.get(2)?, row.get(3)?, row.get(4)?);
        if first == 1 && last == count {
            return Ok(());
        }
        Err(damaged(format!("revisions of '{}' are missing: there are {count} of {last}", sums::legible(row, 1))))
    })
}

/// What lives is what its last revision says, and what was not deleted lives.
fn items(db: &Db<'_>, faults: &mut Vec<String>) -> Result<()> {
    for kind in [Kind::Prompt, Kind::Resource] {
        let table = kind.word();
        let sql = format!(
            "SELECT i.name FROM {table} i LEFT JOIN revision v ON v.item = i.uuid AND v.number = i.revision
              WHERE v.item IS NULL OR v.kind <> '{table}' OR v.action = 'delete' OR v.project_id <> i.project_id
                 OR v.name <> i.name OR v.blob_id <> i.blob_id
                 OR EXISTS (SELECT 1 FROM revision later WHERE later.item = i.uuid AND later.number > i.revision)"
        );
        look_at(db, &sql, faults, |row| {
            Err(damaged(format!("{table} '{}' is not what its last revision says", sums::legible(row, 0))))
        })?;
        let sql = format!(
            "SELECT v.name FROM revision v
              WHERE v.kind = '{table}' AND v.action <> 'delete'
                AND NOT EXISTS (SELECT 1 FROM revision later WHERE later.item = v.item AND later.number > v.number)
                AND NOT EXISTS (SELECT 1 FROM {table} i WHERE i.uuid = v.item)"
        );
        look_at(db, &sql, faults, |row| {
            Err(damaged(format!("{table} '{}' is gone although nobody deleted it", sums::legible(row, 0))))
        })?;
    }
    Ok(())
}

/// Names are those that mcpkg takes, and ids are UUIDs.
fn names(db: &Db<'_>, faults: &mut Vec<String>) -> Result<()> {
    let sql = "SELECT 'project', name, uuid FROM project UNION ALL SELECT 'prompt', name, uuid FROM prompt
               UNION ALL SELECT 'resource', name, uuid FROM resource UNION ALL SELECT kind, name, item FROM revision";
    look_at(db, sql, faults, |row| {
        row.get::<_, [u8; 16]>(2)?;
        if is_name(&row.get::<_, String>(1)?) {
            return Ok(());
        }
        let what: String = row.get(0)?;
        Err(damaged(format!("the {what} '{}' has a name that mcpkg does not take", sums::legible(row, 1))))
    })
}

/// Each prompt is found as the skill that its name makes it.
fn skills_of_prompts(db: &Db<'_>, faults: &mut Vec<String>) -> Result<()> {
    look_at(db, "SELECT name, skill FROM prompt", faults, |row| {
        if skills::name(&row.get::<_, String>(0)?) == row.get::<_, String>(1)? {
            return Ok(());
        }
        Err(damaged(format!("the prompt '{}' is kept under another skill's name", sums::legible(row, 0))))
    })
}

/// Whether mcpkg takes a name: `[A-Za-z0-9._-]{1,255}`, and neither `.` nor `..`.
fn is_name(name: &str) -> bool {
    matches!(name.len(), 1..=255) && !matches!(name, "." | "..") && name.bytes().all(is_name_byte)
}

/// Whether a byte may stand in a name.
pub fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

/// Columns that hold a list hold one, and an image is a content with its mode, a link, or nothing.
fn lists(db: &Db<'_>, faults: &mut Vec<String>) -> Result<()> {
    for (table, columns) in [
        ("module", &["tags", "targets"][..]),
        ("snapshot", &["targets"]),
        ("snapshot_file", &["targets", "module_ids"]),
        ("deployed", &["targets", "module_ids"]),
    ] {
        for column in columns {
            let sql = format!(
                "SELECT 1 FROM {table} WHERE NOT json_valid({column}) OR json_type({column}) <> 'array'
                    OR EXISTS (SELECT 1 FROM json_each({column}) WHERE type <> 'text')"
            );
            look_at(db, &sql, faults, |_| Err(damaged(format!("a row of table {table} has malformed {column}"))))?;
        }
    }
    for (table, image) in
        [("snapshot_file", "before"), ("snapshot_file", "after"), ("deployed", "applied"), ("deployed", "pristine")]
    {
        let sql = format!(
            "SELECT path FROM {table} WHERE ({image}_blob IS NULL) <> ({image}_mode IS NULL)
                OR ({image}_blob IS NOT NULL AND {image}_link IS NOT NULL) OR {image}_mode NOT BETWEEN 0 AND 4095"
        );
        look_at(db, &sql, faults, |row| {
            Err(damaged(format!("{}: its image '{image}' in table {table} is malformed", sums::legible(row, 0))))
        })?;
    }
    Ok(())
}

fn damaged(what: String) -> crate::error::Error {
    crate::error::Error::new(Code::Damaged, what)
}
