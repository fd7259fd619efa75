//! Keeps a lock: a thread watches its connection, and takes the lock again when the connection is lost.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::super::errors::failed;
use super::claim::{BEAT, Claim, Stamp, forget_servers, may_be_served, place, refusal};
use super::{GUARD, MOVED, key, moved};
use crate::engine::postgres::connect::Connector;
use crate::engine::postgres::connection::Connection;
use crate::engine::postgres::pooler;
use crate::engine::postgres::rows::{run, single};
use crate::engine::postgres::sql::postgres_sql;
use crate::engine::{Mode, Subject, params, sqlite};
use mcpkg_base::clock;
use mcpkg_base::error::{Code, Error, Result};

/// How often the connection of a lock is checked.
const LOOK: Duration = Duration::from_millis(200);

/// The longest pause between two attempts to take a lock again. It is shorter than [`RETURN`], within which a server
/// has to take its lock again.
const LONGEST_PAUSE: Duration = Duration::from_millis(1500);

/// How often the claim of a server is renewed. Renewals are rare, because there may be many servers, and each renewal
/// makes all of them read the database again.
const SERVER_BEAT: Duration = Duration::from_secs(3600);

/// How long the connection of a lock may take to answer.
const ANSWER: Duration = Duration::from_secs(5);

/// The time limit for releasing a lock.
const BACK: Duration = Duration::from_secs(1);

/// How long a server that lost its connection may take to come back. After that it counts as gone.
const RETURN: Duration = Duration::from_secs(3);

/// A lock with a connection of its own. Dropping it releases the lock.
pub(crate) struct SessionLock {
    kept: Arc<SharedState>,
    /// A file lock on this machine. It is held until this is dropped or the process ends, even if the connection is
    /// lost.
    _local: sqlite::FileLock,
}

/// The part that the thread shares with the lock's owner.
struct SharedState {
    connector: Connector,
    subject: Subject,
    mode: Mode,
    claim: Option<Claim>,
    state: Mutex<State>,
    over: Condvar,
}

#[derive(Default)]
struct State {
    connection: Option<Connection>,
    /// When the server last answered on the connection.
    beaten: Option<Instant>,
    /// When the row of the lock was last renewed.
    renewed: Option<Instant>,
    /// Whether the lock was released.
    is_over: bool,
    /// Whether the lock was lost for a time. Another process could have held it then.
    was_gone: bool,
    /// How many stamps were written.
    stamps: u64,
}

impl SessionLock {
    /// Returns the stamp to write with the next change under this lock; `None` for kinds of locks that have no claim.
    pub(in crate::engine) fn stamp(&self) -> Option<Stamp> {
        let state = self.kept.state();
        self.kept.claim.as_ref().map(|claim| claim.stamp(state.stamps))
    }

    pub(in crate::engine) fn stamped(&self) {
        self.kept.state().stamps += 1;
    }

    /// Records that the database was moved to another place. Servers that were disconnected during the move can then no
    /// longer write to the old database.
    ///
    /// # Errors
    /// `E_DB_IN_USE` if the lock was lost for a time, so that others may have written.
    pub(in crate::engine) fn note_move(&self) -> Result<()> {
        let state = self.kept.state();
        let stands = state.connection.as_ref().filter(|connection| !state.was_gone && connection.stands());
        let Some(connection) = stands else {
            return Err(Error::new(
                Code::InUse,
                "The connection that locked out other servers was lost during the move",
            )
            .hint("the copy may lack recent changes: delete the copy, and move the database again"));
        };
        let upsert = postgres_sql!(
            "INSERT INTO setting (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        );
        match run(connection, upsert, params![MOVED, clock::unique().simple().to_string()]) {
            // No server can write to a database that is read-only.
            Err(error) if error.code() == Code::ReadOnly => Ok(()),
            noted => noted.map(drop),
        }
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        let mut state = self.kept.state();
        state.is_over = true;
        if let Some(connection) = state.connection.take() {
            self.kept.give_back(&connection);
        }
        drop(state);
        self.kept.over.notify_all();
        if self.kept.is_alone() {
            self.kept.connector.set_alone(false);
        }
    }
}

impl fmt::Debug for SessionLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionLock")
    }
}

/// The attempts to take a lock again since its connection last answered.
#[derive(Default)]
struct Retries {
    count: u32,
    /// The kind of failure that was reported last. Kinds are compared, because messages differ from attempt to
    /// attempt.
    reported: Option<Code>,
    /// When the lock was taken again.
    taken: Option<Instant>,
    /// When a loss was last reported.
    warned: Option<Instant>,
    /// Whether the current loss was reported.
    is_known: bool,
}

impl Retries {
    /// Returns how long to wait before the next attempt. The pause doubles with each attempt, up to [`LONGEST_PAUSE`].
    fn pause(&mut self) -> Duration {
        let pause = LOOK.saturating_mul(1 << self.count.min(8));
        self.count += 1;
        pause.min(LONGEST_PAUSE)
    }

    /// Whether to report the current loss: only once, and not shortly after the report of another loss.
    fn is_worth_a_warning(&mut self) -> bool {
        if self.is_known || self.warned.is_some_and(|at| at.elapsed() < BEAT) {
            return false;
        }
        (self.is_known, self.warned) = (true, Some(Instant::now()));
        true
    }

    /// Whether a failure is of a different kind than the last reported failure.
    fn is_new(&mut self, error: &Error) -> bool {
        self.reported.replace(error.code()) != Some(error.code())
    }
}

/// Takes a lock; `None` if somebody else holds it. `base` is the path next to which this machine keeps its lock files for the
/// database.
pub(in crate::engine::postgres) fn take(
    connector: &Connector,
    base: &Path,
    subject: Subject,
    mode: Mode,
) -> Result<Option<SessionLock>> {
    let Some(_local) = sqlite::take(base, subject, mode)? else { return Ok(None) };
    let connection = Connection::open(connector)?;
    connection.bind();
    let is_alone = subject == Subject::Serving && mode == Mode::Exclusive;
    if is_alone && !is_left_alone(&connection, base)? {
        return Ok(None);
    }
    if !lock(&connection, subject, mode)? {
        return Ok(None);
    }
    let claim = (!is_alone).then(|| place(base).map(|place| Claim::new(subject, &place))).transpose()?;
    if let Some(claim) = &claim {
        if let Some(refusal) = refusal(&connection, base, subject)? {
            return Err(refusal);
        }
        match claim.make(&connection, 0) {
            // A server on a standby writes nothing, so it needs no claim.
            Err(error) if error.code() == Code::ReadOnly => {}
            made => made?,
        }
    }
    if is_alone {
        // This waits until all writing transactions have ended.
        connection.run_text(&format!("SELECT pg_advisory_lock({GUARD})"))?;
        forget_servers(&connection)
            .or_else(|error| if error.code() == Code::ReadOnly { Ok(()) } else { Err(error) })?;
        connector.set_alone(true);
    } else if subject == Subject::Serving {
        pooler::refuse(connector, &connection)?;
        connector.announce(moved(&connection)?);
    }
    connection.hurry(ANSWER);
    let now = Some(Instant::now());
    let state = State { connection: Some(connection), beaten: now, renewed: now, ..State::default() };
    let kept = SharedState {
        connector: connector.clone(),
        subject,
        mode,
        claim,
        state: Mutex::new(state),
        over: Condvar::new(),
    };
    let kept = Arc::new(kept);
    let looked_after = Arc::clone(&kept);
    let keeper = thread::Builder::new().name("lock".to_owned()).spawn(move || looked_after.look_after());
    keeper.map_err(|error| Error::internal("cannot start a thread for a lock").with_source(error))?;
    Ok(Some(SessionLock { kept, _local }))
}

/// Whether no server uses the database. A server that has just lost its connection gets up to [`RETURN`] to come
/// back; after that it counts as gone.
fn is_left_alone(connection: &Connection, base: &Path) -> Result<bool> {
    let until = Instant::now() + RETURN;
    while may_be_served(connection, base)? && Instant::now() < until {
        let sql = postgres_sql!("SELECT pg_try_advisory_xact_lock(?1)");
        if !single(connection, sql, params![key(Subject::Serving)], |row| row.get(0))? {
            return Ok(false);
        }
        thread::sleep(LOOK / 2);
    }
    Ok(true)
}

fn lock(connection: &Connection, subject: Subject, mode: Mode) -> Result<bool> {
    let sql = match mode {
        Mode::Shared => postgres_sql!("SELECT pg_try_advisory_lock_shared(?1)"),
        Mode::Exclusive => postgres_sql!("SELECT pg_try_advisory_lock(?1)"),
    };
    single(connection, sql, params![key(subject)], |row| row.get(0))
}

impl SharedState {
    fn is_alone(&self) -> bool {
        (self.subject, self.mode) == (Subject::Serving, Mode::Exclusive)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look_after(&self) {
        let mut retries = Retries::default();
        loop {
            let mut state = self.state();
            let pause = if state.connection.is_some() { LOOK } else { retries.pause() };
            if !state.is_over {
                state = self.over.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
            }
            if state.is_over {
                return;
            }
            if self.stands(&mut state) {
                if state.beaten != retries.taken {
                    retries = Retries::default();
                }
                continue;
            }
            let lost = state.connection.take();
            if lost.is_some() {
                state.was_gone = true;
            }
            drop((state, lost));
            if retries.is_worth_a_warning() {
                tracing::warn!(lock = self.subject.suffix(), "a lock lost its connection; acquiring it again");
            }
            match self.take_again() {
                Ok(Some(connection)) => {
                    let mut state = self.state();
                    if state.is_over {
                        self.give_back(&connection);
                        return;
                    }
                    let now = Some(Instant::now());
                    (state.beaten, state.renewed) = (now, now);
                    state.connection = Some(connection);
                    if std::mem::take(&mut retries.is_known) {
                        tracing::info!(lock = self.subject.suffix(), "acquired the lock again");
                    }
                    retries.taken = now;
                }
                // Another process is checking whether the lock is held, or has locked out all servers.
                Ok(None) => {}
                Err(error) if retries.is_new(&error) => {
                    tracing::debug!(%error, lock = self.subject.suffix(), "cannot acquire the lock yet");
                }
                Err(_) => {}
            }
        }
    }

    /// Whether the connection is alive. Asks the server from time to time.
    fn stands(&self, state: &mut State) -> bool {
        let Some(connection) = &state.connection else { return false };
        if !connection.stands() {
            return false;
        }
        if state.beaten.is_some_and(|at| at.elapsed() < BEAT) {
            return true;
        }
        state.beaten = Some(Instant::now());
        let every = if self.subject == Subject::Serving { SERVER_BEAT } else { BEAT };
        let asked = match &self.claim {
            Some(claim) if state.renewed.is_none_or(|at| at.elapsed() >= every) => {
                state.renewed = state.beaten;
                match claim.renew(connection) {
                    // A server on a standby writes nothing, so it needs no claim.
                    Err(error) if error.code() == Code::ReadOnly => Ok(()),
                    renewed => renewed.map(drop),
                }
            }
            _ => connection.run_once("SELECT 1").map_err(failed),
        };
        asked.is_ok() && connection.stands()
    }

    /// Takes the lock on another connection; `None` if somebody else has it.
    fn take_again(&self) -> Result<Option<Connection>> {
        let connection = Connection::open(&self.connector)?;
        connection.bind();
        if !lock(&connection, self.subject, self.mode)? {
            return Ok(None);
        }
        if self.is_alone() {
            connection.run_text(&format!("SELECT pg_advisory_lock({GUARD})"))?;
        }
        let is_ours = match &self.claim {
            // The claim may have been deleted while the server was not connected.
            Some(claim) if self.subject == Subject::Serving => claim.make(&connection, 0).map_or_else(
                |error| if error.code() == Code::ReadOnly { Ok(true) } else { Err(error) },
                |()| Ok(true),
            )?,
            Some(claim) => claim.renew(&connection)?,
            None => true,
        };
        connection.hurry(ANSWER);
        Ok(is_ours.then_some(connection))
    }

    fn give_back(&self, connection: &Connection) {
        connection.hurry(BACK);
        let withdrawn = self.claim.as_ref().map_or(Ok(()), |claim| claim.withdraw(connection));
        // Unlock explicitly. PostgreSQL frees the locks of a closed connection only after a while, but the next
        // process should find this lock free immediately.
        let freed = connection.run_once("SELECT pg_advisory_unlock_all()").map_err(failed);
        if let Err(error) = withdrawn.and(freed) {
            tracing::debug!(%error, "a lock ends with its connection");
        }
    }
}
