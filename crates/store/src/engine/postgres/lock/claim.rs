//! The claim of a lock's holder: a row that says which process holds the lock, where that process runs, and when it was last
//! seen.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::is_held;
use crate::Db;
use crate::engine::postgres::connection::Connection;
use crate::engine::postgres::rows::{first, run, single};
use crate::engine::postgres::sql::postgres_sql;
use crate::engine::{Holding, Subject, params, sql, sqlite};
use mcpkg_base::clock;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;

/// How long a holder on another machine counts as alive after it was last seen, in milliseconds.
const ABSENT: i64 = 45_000;

/// How often a holder renews its claim to show that it is alive.
pub(super) const BEAT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Claim {
    held: String,
    beat: String,
    /// A text that is unique to this holder, followed by the id of the machine's lock files.
    who: String,
}

/// The fencing number of a lock. Its holder writes it with each change, and increases it each time. If a commit gets no
/// answer, the number in the database shows whether the commit succeeded.
#[derive(Clone, Debug)]
pub(crate) struct Stamp {
    key: String,
    before: String,
    after: String,
}

impl Stamp {
    /// Writes the stamp.
    ///
    /// # Errors
    /// `E_RUN_STATE` if another process holds the lock by now.
    pub(crate) fn put(&self, db: &Db<'_>) -> Result<()> {
        let sql = sql!("UPDATE setting SET value = ?3 WHERE key = ?1 AND value = ?2");
        match db.run(sql, params![self.key, self.before, self.after])? {
            0 => Err(Error::new(Code::RunState, "Another process took over while the database was unreachable")
                .hint("this process stopped without sending anything more")),
            _ => Ok(()),
        }
    }

    pub(crate) fn is_there(&self, db: &Db<'_>) -> Result<bool> {
        let sql = sql!("SELECT 1 FROM setting WHERE key = ?1 AND value = ?2");
        Ok(db.one(sql, params![self.key, self.after], |_| Ok(()))?.is_some())
    }
}

impl Claim {
    pub(super) fn new(subject: Subject, place: &str) -> Self {
        // Many servers share this lock, so each one has its own row.
        let one = if subject == Subject::Serving { clock::unique().simple().to_string() } else { String::new() };
        let name = format!("{}{one}", subject.suffix());
        Self {
            held: format!("held{name}"),
            beat: format!("beat{name}"),
            who: format!("{} {place}", clock::unique().simple()),
        }
    }

    pub(super) fn stamp(&self, count: u64) -> Stamp {
        let value = |count| format!("{} {count}", self.who);
        Stamp { key: self.held.clone(), before: value(count), after: value(count + 1) }
    }

    /// Writes the claim, replacing that of an earlier holder.
    pub(super) fn make(&self, connection: &Connection, count: u64) -> Result<()> {
        let upsert = postgres_sql!(
            "INSERT INTO setting (key, value) VALUES (?1, ?2), (?3, (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text)
             ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        );
        run(connection, upsert, params![self.held, self.stamp(count).before, self.beat]).map(drop)
    }

    /// Notes that the holder is alive. Returns false if another process holds the lock by now.
    pub(super) fn renew(&self, connection: &Connection) -> Result<bool> {
        let sql = postgres_sql!(
            "UPDATE setting SET value = (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text
              WHERE key = ?1 AND EXISTS (SELECT 1 FROM setting WHERE key = ?2 AND starts_with(value, ?3))"
        );
        Ok(run(connection, sql, params![self.beat, self.held, self.who])? == 1)
    }

    pub(super) fn withdraw(&self, connection: &Connection) -> Result<()> {
        let sql = postgres_sql!(
            "DELETE FROM setting WHERE key IN (?1, ?2)
                AND EXISTS (SELECT 1 FROM setting WHERE key = ?2 AND starts_with(value, ?3))"
        );
        run(connection, sql, params![self.beat, self.held, self.who]).map(drop)
    }
}

/// Returns whether somebody holds a lock, as far as that is known. `base` is the path next to which this machine keeps
/// its lock files for the database.
pub(in crate::engine::postgres) fn holding(connection: &Connection, base: &Path, subject: Subject) -> Result<Holding> {
    if is_held(connection, subject)? || sqlite::is_held(base, subject) {
        return Ok(Holding::Held);
    }
    Ok(match absent(connection, base, subject)? {
        Some(_) => Holding::Unknown,
        None => Holding::Free,
    })
}

/// Returns why a lock that no session holds must not be taken: a process on another machine may still be using it.
pub(super) fn refusal(connection: &Connection, base: &Path, subject: Subject) -> Result<Option<Error>> {
    let absent = absent(connection, base, subject)?.filter(|time| *time < ABSENT);
    Ok(absent.map(|time| {
        let left = (ABSENT - time) / 1000 + 1;
        Error::new(
            Code::RunBusy,
            "A process on another machine may still be working: it lost its connection to the database before it finished",
        )
        .hint(format!("try again in {left} s: by then, either that process has reconnected or you can take over"))
    }))
}

/// Returns how many milliseconds ago the holder of a lock was last seen; `None` unless the holder runs on another
/// machine.
fn absent(connection: &Connection, base: &Path, subject: Subject) -> Result<Option<i64>> {
    let sql = postgres_sql!(
        "SELECT held.value, (extract(epoch FROM clock_timestamp()) * 1000)::bigint - coalesce(beat.value, '0')::bigint
           FROM setting AS held LEFT JOIN setting AS beat ON beat.key = ?2 WHERE held.key = ?1"
    );
    let name = subject.suffix();
    let found = first(connection, sql, params![format!("held{name}"), format!("beat{name}")], |row| {
        Ok((row.get::<String>(0)?, row.get::<i64>(1)?))
    })?;
    let Some((value, time)) = found else { return Ok(None) };
    let is_here = value.split(' ').nth(1) == Some(&place(base)?);
    Ok((!is_here).then_some(time))
}

/// Whether a server on another machine may still use the database, although no server holds the lock now.
pub(super) fn may_be_served(connection: &Connection, base: &Path) -> Result<bool> {
    let sql = postgres_sql!(
        "SELECT EXISTS (SELECT 1 FROM setting WHERE key >= 'held.serving' AND key < 'held.servinh'
                           AND split_part(value, ' ', 2) <> ?1)"
    );
    single(connection, sql, params![place(base)?], |row| row.get(0))
}

/// Deletes the claims of all servers. Call this only while no server is connected.
pub(super) fn forget_servers(connection: &Connection) -> Result<()> {
    connection.run_text(
        "DELETE FROM setting WHERE key >= 'held.serving' AND key < 'held.servinh'
             OR key >= 'beat.serving' AND key < 'beat.servinh'",
    )
}

/// Returns the id of this machine's lock files: a random text in a file next to them.
pub(in crate::engine::postgres) fn place(base: &Path) -> Result<String> {
    let path = PathBuf::from(format!("{}.place", base.display()));
    let failed = |error| Error::file("make", &path, error);
    let read = || file::read_text(&path, 64).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    if let Some(place) = read() {
        return Ok(place);
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut made = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    writeln!(made, "{}", clock::unique().simple()).map_err(failed)?;
    match made.persist_noclobber(&path) {
        Ok(_) => {}
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error.error)),
    }
    read().ok_or_else(|| failed(std::io::ErrorKind::NotFound.into()))
}
