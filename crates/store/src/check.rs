//! Checks the database: with SQLite's own check if it is a file, and with our hashes, checksums and rules.

use uuid::Uuid;

use super::blobs::{Verify, blob_columns};
use super::engine::index;
use super::engine::{Intent, Link, Progress, Row, Sql, params, sql};
use super::names::legible;
use super::prompts::row::{prompt_columns, prompt_listed, prompt_summed};
use super::resources::row::{resource_columns, resource_listed, resource_summed};
use super::revisions::{Kind, revision_columns};
use super::servers::server_columns;
use super::workflows::{workflow_columns, workflow_revision_columns};
use super::{Db, blobs, prompts, resources, revisions, servers, skills, workflows};
use mcpkg_base::error::{Code, Result};

/// The findings, one line each.
#[derive(Debug, Default)]
pub struct Findings {
    /// Faults in the file's structure.
    pub broken: Vec<String>,
    /// Content, rows and index entries that differ from what was stored.
    pub damaged: Vec<String>,
    /// How many further damaged rows there are that `damaged` does not list.
    pub more: usize,
    /// Contents that match their SHA-256.
    pub verified: u64,
}

impl Findings {
    /// Returns the listed faults. An intact database has none.
    pub fn faults(&self) -> impl Iterator<Item = &str> {
        self.broken.iter().chain(&self.damaged).map(String::as_str)
    }
}

/// The maximum number of faults that are listed one by one.
const NAMED: usize = 100;

/// Checks the whole database; see [`Store::inspect`](super::Store::inspect).
pub(super) fn inspect(connection: Link<'_>, progress: &Progress<'_>) -> Result<Findings> {
    let cancelled = progress.cancelled();
    connection.watch(move || cancelled.is_cancelled())?;
    let found = Db::in_transaction(connection, None, Intent::Read, |db| {
        let mut findings = Findings { broken: connection.faults()?, ..Findings::default() };
        type Look = fn(&Db<'_>, &mut Vec<String>) -> Result<()>;
        let looks: [Look; 7] = [rows, histories, items, names, skills_of_prompts, lists, index::compare];
        let mut looked = hashes(db, &mut findings, progress);
        for look in looks {
            looked = looked.and_then(|()| look(db, &mut findings.damaged));
        }
        match looked {
            // The damage makes it impossible to continue. Report what was found so far.
            Err(error) if error.code() == Code::NotDatabase => findings.broken.push(error.message().to_owned()),
            looked => looked?,
        }
        findings.more = findings.damaged.len().saturating_sub(NAMED);
        findings.damaged.truncate(NAMED);
        Ok(findings)
    });
    connection.release();
    // If the check was cancelled, statements fail for that reason; report the cancellation.
    progress.go_on()?;
    found
}

/// Returns the faults in the database's structure. An intact database has none.
///
/// # Errors
/// `E_DB_CORRUPT` if the damage is so large that the check itself fails.
pub fn faults(db: &Db<'_>) -> Result<Vec<String>> {
    db.link().faults()
}

/// How many blob rows, each of up to 1 MiB, a database server sends at once.
const BATCH: i64 = 32;

/// Verifies every blob against its SHA-256. SQLite's own check does not see a flipped bit inside a value.
fn hashes(db: &Db<'_>, findings: &mut Findings, progress: &Progress<'_>) -> Result<()> {
    let total: u64 = db.single(sql!("SELECT count(*) FROM blob"), params![], |row| row.get(0))?;
    let sql = sql!("SELECT ", blob_columns!(), " FROM blob b WHERE b.id > ?1 ORDER BY b.id LIMIT ?2");
    let mut last = Some(i64::MIN);
    while let Some(after) = last.take() {
        db.each(sql, params![after, BATCH], |row| {
            let blob = blobs::Blob::from_row(row, 0)?;
            last = Some(blob.id);
            match blobs::stream(db, blob, Verify::Sha256, |_| Ok(())) {
                Err(error) if error.code() == Code::Damaged => {
                    let users = blobs::users(db, blob.id)?;
                    findings.damaged.extend(users.into_iter().map(|user| format!("the content of {user} is damaged")));
                }
                checked => checked?,
            }
            findings.verified += 1;
            progress.tell(findings.verified, total)
        })?;
    }
    Ok(())
}

/// Checks the checksums of prompts, resources, servers, workflows and revisions, and the attributes of revisions.
fn rows(db: &Db<'_>, faults: &mut Vec<String>) -> Result<()> {
    look_at(db, sql!(prompt_columns!()), faults, |row| prompts::from_row(row).map(drop))?;
    look_at(db, sql!(resource_columns!()), faults, |row| resources::from_row(row).map(drop))?;
    look_at(db, sql!(server_columns!()), faults, |row| servers::from_row(row).map(drop))?;
    look_at(db, sql!(workflow_columns!()), faults, |row| workflows::from_row(row).map(drop))?;
    look_at(db, sql!(workflow_revision_columns!()), faults, |row| workflows::revision_from_row(row).map(drop))?;
    look_at(db, sql!(revision_columns!()), faults, |row| {
        let revision = revisions::from_row(row)?;
        let read = match Kind::named(row.get(1)?) {
            Some(Kind::Prompt) => prompts::attributes(&revision.attributes).map(drop),
            _ => resources::attributes(&revision.attributes).map(drop),
        };
        read.map_err(|_| {
            let what = format!("Revision {} of '{}' has malformed attributes", revision.number, revision.name);
            mcpkg_base::error::Error::new(Code::Damaged, what)
        })
    })
}

/// Calls `f` for each row of a query, and collects the damage that it reports.
fn look_at(db: &Db<'_>, sql: Sql, faults: &mut Vec<String>, mut f: impl FnMut(&Row<'_>) -> Result<()>) -> Result<()> {
    db.stream(sql, params![], |row| match f(row) {
        // A value of an unexpected type is damage of this row, not of the whole file.
        Err(error) if matches!(error.code(), Code::Damaged | Code::NotDatabase) => {
            faults.push(error.message().to_owned());
            Ok(())
        }
        looked => looked,
    })
}

/// Checks that the revisions of each item have no gap, and begin with 1 unless old ones were deleted.
fn histories(db: &Db<'_>, faults: &mut Vec<String>) -> Result<()> {
    let compacted = revisions::forgot_revisions(db)?;
    let sql = sql!(
        "SELECT item, max(name), min(number), max(number), count(*) FROM revision GROUP BY item
         UNION ALL SELECT item, max(name), min(number), max(number), count(*) FROM workflow_revision GROUP BY item"
    );
    look_at(db, sql, faults, |row| {
        let (first, last, count): (i64, i64, i64) = (row.get(2)?, row.get(3)?, row.get(4)?);
        if (first == 1 || compacted) && last - first + 1 == count {
            return Ok(());
        }
        Err(damaged(format!("revisions of '{}' are missing: only {count} of {last} exist", legible(row, 1))))
    })
}

/// Checks each item against its last revision: they must match, and an item may be missing only if that revision
/// deleted it.
fn items(db: &Db<'_>, faults: &mut Vec<String>) -> Result<()> {
    macro_rules! differs_from_its_revision {
        () => {
            " i LEFT JOIN revision v ON v.item = i.uuid AND v.number = i.revision
               WHERE v.item IS NULL OR v.action = 'delete' OR v.project_id <> i.project_id
                  OR v.name <> i.name OR v.blob_id <> i.blob_id
                  OR EXISTS (SELECT 1 FROM revision later WHERE later.item = i.uuid AND later.number > i.revision)"
        };
    }
    macro_rules! last_of_what_lives {
        () => {
            "SELECT v.name FROM revision v
              WHERE v.action <> 'delete'
                AND NOT EXISTS (SELECT 1 FROM revision later WHERE later.item = v.item AND later.number > v.number)"
        };
    }
    let prompt = (
        Kind::Prompt.word(),
        sql!("SELECT i.name FROM prompt", differs_from_its_revision!(), " OR v.kind <> 'prompt'"),
        sql!(
            last_of_what_lives!(),
            " AND v.kind = 'prompt' AND NOT EXISTS (SELECT 1 FROM prompt i WHERE i.uuid = v.item)"
        ),
    );
    let resource = (
        Kind::Resource.word(),
        sql!("SELECT i.name FROM resource", differs_from_its_revision!(), " OR v.kind <> 'resource'"),
        sql!(
            last_of_what_lives!(),
            " AND v.kind = 'resource' AND NOT EXISTS (SELECT 1 FROM resource i WHERE i.uuid = v.item)"
        ),
    );
    let workflow = (
        "workflow",
        sql!(
            "SELECT w.name FROM workflow w LEFT JOIN workflow_revision v ON v.item = w.uuid AND v.number = w.revision
              WHERE v.item IS NULL OR v.action = 'delete' OR v.project_id <> w.project_id OR v.name <> w.name
                 OR v.blob_id <> w.blob_id
                 OR EXISTS (SELECT 1 FROM workflow_revision later WHERE later.item = w.uuid AND later.number > w.revision)"
        ),
        sql!(
            "SELECT v.name FROM workflow_revision v
              WHERE v.action <> 'delete' AND NOT EXISTS (SELECT 1 FROM workflow w WHERE w.uuid = v.item)
                AND NOT EXISTS (SELECT 1 FROM workflow_revision later
                                 WHERE later.item = v.item AND later.number > v.number)"
        ),
    );
    for (kind, differs, gone) in [prompt, resource, workflow] {
        look_at(db, differs, faults, |row| {
            Err(damaged(format!("{kind} '{}' does not match its latest revision", legible(row, 0))))
        })?;
        look_at(db, gone, faults, |row| {
            Err(damaged(format!("{kind} '{}' is missing, although it was never deleted", legible(row, 0))))
        })?;
    }
    Ok(())
}

/// Checks that names are valid, and that ids are UUIDs.
fn names(db: &Db<'_>, faults: &mut Vec<String>) -> Result<()> {
    let sql = sql!(
        "SELECT 'project', name, uuid FROM project UNION ALL SELECT 'prompt', name, uuid FROM prompt
         UNION ALL SELECT 'resource', name, uuid FROM resource UNION ALL SELECT kind, name, item FROM revision
         UNION ALL SELECT 'workflow', name, uuid FROM workflow
         UNION ALL SELECT 'workflow', name, item FROM workflow_revision"
    );
    look_at(db, sql, faults, |row| {
        row.get::<Uuid>(2)?;
        if is_name(row.get(1)?) {
            return Ok(());
        }
        let what: &str = row.get(0)?;
        Err(damaged(format!("the {what} '{}' has an invalid name", legible(row, 1))))
    })
}

/// Checks that each prompt has the skill name that follows from its name.
fn skills_of_prompts(db: &Db<'_>, faults: &mut Vec<String>) -> Result<()> {
    look_at(db, sql!("SELECT name, skill FROM prompt"), faults, |row| {
        if skills::name(row.get(0)?) == row.get::<&str>(1)? {
            return Ok(());
        }
        Err(damaged(format!("the prompt '{}' is stored under the wrong skill name", legible(row, 0))))
    })
}

/// Whether a name is valid: `[A-Za-z0-9._-]{1,255}`, and neither `.` nor `..`.
fn is_name(name: &str) -> bool {
    matches!(name.len(), 1..=255) && !matches!(name, "." | "..") && name.bytes().all(is_name_byte)
}

/// Whether a byte may occur in a name.
pub fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

/// Checks that columns with lists contain lists. Checks that each recorded state of a deployed file is either a content with
/// its mode, a link, or empty.
fn lists(db: &Db<'_>, faults: &mut Vec<String>) -> Result<()> {
    for (table, columns, sql) in [
        ("module", &["tags", "targets"][..], sql!("SELECT tags, targets FROM module")),
        ("snapshot", &["targets"], sql!("SELECT targets FROM snapshot")),
        ("snapshot_file", &["targets", "module_ids"], sql!("SELECT targets, module_ids FROM snapshot_file")),
        ("deployed", &["targets", "module_ids"], sql!("SELECT targets, module_ids FROM deployed")),
    ] {
        look_at(db, sql, faults, |row| {
            for (index, column) in columns.iter().enumerate() {
                if serde_json::from_str::<Vec<String>>(row.get(index)?).is_err() {
                    return Err(damaged(format!("a row of table {table} has malformed {column}")));
                }
            }
            Ok(())
        })?;
    }
    for (table, image, sql) in [
        ("snapshot_file", "before", sql!("SELECT path, before_blob, before_mode, before_link FROM snapshot_file")),
        ("snapshot_file", "after", sql!("SELECT path, after_blob, after_mode, after_link FROM snapshot_file")),
        ("deployed", "applied", sql!("SELECT path, applied_blob, applied_mode, applied_link FROM deployed")),
        ("deployed", "pristine", sql!("SELECT path, pristine_blob, pristine_mode, pristine_link FROM deployed")),
    ] {
        look_at(db, sql, faults, |row| {
            let (blob, mode, link): (Option<i64>, Option<i64>, Option<&str>) = (row.get(1)?, row.get(2)?, row.get(3)?);
            let is_image = match (blob, mode, link) {
                (Some(_), Some(mode), None) => (0..=0o7777).contains(&mode),
                (None, None, _) => true,
                _ => false,
            };
            if is_image {
                return Ok(());
            }
            let path = legible(row, 0);
            Err(damaged(format!("{path}: its image '{image}' in table {table} is malformed")))
        })?;
    }
    Ok(())
}

fn damaged(what: String) -> mcpkg_base::error::Error {
    mcpkg_base::error::Error::new(Code::Damaged, what)
}
