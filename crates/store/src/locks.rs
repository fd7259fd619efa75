//! Locks on a database. A lock ends with the process that holds it, even if the process is killed.

use std::thread;
use std::time::Instant;

use uuid::Uuid;

use super::engine::{HeldLock, Holding, Mode, Subject};
use super::patience::{AGAIN, PATIENCE, patiently};
use super::{Db, Store};
use mcpkg_base::error::{Code, Error, Result};

/// A lock that announces a server of a database, or keeps servers away. It ends when this is dropped, or with the
/// process.
pub struct Serving {
    held: HeldLock,
}

impl Serving {
    /// Records in the old database that it was moved while this guard kept servers away. A server that was disconnected
    /// during the move can then no longer write to the old database.
    ///
    /// # Errors
    /// `E_DB_IN_USE` if the connection with the lock was lost.
    pub fn note_move(&self) -> Result<()> {
        self.held.note_move()
    }
}

/// The right to apply a deploy. Only one process on this machine can have it. The right ends when this is dropped, or
/// with the process.
pub struct Applying {
    _held: HeldLock,
}

/// Announces a server that runs tasks. The announcement ends when this is dropped, or with the process. Tasks that
/// are unfinished at that moment will never finish.
pub struct TaskRunner {
    id: Uuid,
    _held: HeldLock,
}

impl TaskRunner {
    /// Returns the runner's id, which its tasks refer to.
    pub fn id(&self) -> Uuid {
        self.id
    }
}

/// The right to carry out a run. Only one holder can have it. The right ends when this is dropped, or with the process.
#[derive(Debug)]
pub struct RunHolder {
    held: HeldLock,
}

impl RunHolder {
    /// Like [`Store::write`], but fails if this is no longer the holder. Waits up to 30 seconds while the database
    /// server is unreachable. If a commit got no answer, this finds out whether it succeeded, so that nothing is
    /// written twice.
    ///
    /// # Errors
    /// Errors of `f`; `E_RUN_STATE` if another process has taken over the run.
    pub fn write<T>(&self, store: &Store, mut f: impl FnMut(&Db<'_>) -> Result<T>) -> Result<T> {
        let until = Instant::now() + PATIENCE;
        let mut is_reported = false;
        loop {
            let stamp = self.held.stamp();
            let mut value = None;
            let written = store.write(|db| {
                stamp.iter().try_for_each(|stamp| stamp.put(db))?;
                value = Some(f(db)?);
                Ok(())
            });
            let failed = match (written, &stamp) {
                (Ok(()), _) => None,
                (Err(error), Some(stamp)) if error.code() == Code::OutcomeUnknown => {
                    // Use a writing transaction, because it waits until the commit with the unknown outcome has
                    // ended.
                    let look = || store.write(|db| stamp.is_there(db));
                    let is_there = match patiently(until, look) {
                        Ok(is_there) => is_there,
                        Err(_) => return Err(error),
                    };
                    if is_there { None } else { Some(error) }
                }
                (Err(error), Some(_)) if error.code() == Code::Unavailable => Some(error),
                (Err(error), _) => return Err(error),
            };
            match failed {
                None => {
                    self.held.stamped();
                    return value.ok_or_else(|| Error::internal("the write returned no value"));
                }
                Some(error) if Instant::now() >= until => return Err(error),
                Some(error) if !is_reported => {
                    is_reported = true;
                    tracing::info!(%error, "the database is unreachable; the progress of a run will be stored later");
                }
                Some(_) => {}
            }
            thread::sleep(AGAIN);
        }
    }
}

impl Store {
    /// Like [`Store::write`], but on a database server repeats `f` for up to 30 seconds while the server is unreachable
    /// or busy. `f` may be called several times. If an earlier call was committed after all, the later ones must change
    /// nothing.
    pub fn write_patiently<T>(&self, mut f: impl FnMut(&Db<'_>) -> Result<T>) -> Result<T> {
        self.patiently(|| self.write(&mut f))
    }

    /// Repeats `work` for up to 30 seconds while the database server is unreachable or busy. `work` must only read, or
    /// fail before it changes anything. With a database file, `work` runs once.
    ///
    /// # Errors
    /// Errors of `work`.
    pub fn patiently<T>(&self, mut work: impl FnMut() -> Result<T>) -> Result<T> {
        match self.location().file() {
            Some(_) => work(),
            None => patiently(Instant::now() + PATIENCE, work),
        }
    }

    /// Like [`Store::read`], but waits up to 30 seconds while the database server is unreachable or busy.
    pub fn read_patiently<T>(&self, mut f: impl FnMut(&Db<'_>) -> Result<T>) -> Result<T> {
        self.patiently(|| self.read(&mut f))
    }

    /// Announces a server of this database. While the returned guard lives, [`Store::keep_servers_away`] sees the server.
    ///
    /// # Errors
    /// `E_DB_BUSY` while the database is being restored or moved; `E_DB_UNAVAILABLE` if the lock cannot be taken.
    pub fn announce(&self) -> Result<Serving> {
        let held = self.engine.lock(Subject::Serving, Mode::Shared)?;
        let held = held.ok_or_else(|| {
            Error::new(Code::Busy, format!("The database `{}` is being restored or moved", self.location()))
                .hint("start the server again afterwards")
        })?;
        Ok(Serving { held })
    }

    /// Keeps servers away while the returned guard lives. Returns `None` if a server is connected. On PostgreSQL, no
    /// other process can write until the guard is dropped.
    pub fn keep_servers_away(&self) -> Result<Option<Serving>> {
        Ok(self.engine.lock(Subject::Serving, Mode::Exclusive)?.map(|held| Serving { held }))
    }

    /// Takes the right to apply deploys of this database on this machine. Returns `None` if another process or thread has it.
    pub fn begin_apply(&self) -> Result<Option<Applying>> {
        Ok(self.engine.lock(Subject::Applying, Mode::Exclusive)?.map(|_held| Applying { _held }))
    }

    /// Announces that this process runs tasks from now on.
    pub fn begin_tasks(&self) -> Result<TaskRunner> {
        let id = mcpkg_base::clock::unique();
        let held = self.engine.lock(Subject::Tasks(id), Mode::Exclusive)?;
        let _held = held.ok_or_else(|| Error::internal("the lock of a new task runner is already held"))?;
        Ok(TaskRunner { id, _held })
    }

    /// Returns whether the process that runs tasks as `id` is still alive, as far as that is known. If the process was
    /// killed, removes its lock.
    pub fn runs_tasks(&self, id: Uuid) -> Holding {
        let lives = self.engine.holding(Subject::Tasks(id));
        if lives == Holding::Free {
            drop(self.engine.lock(Subject::Tasks(id), Mode::Exclusive));
        }
        lives
    }

    /// Takes the right to carry out a run. Returns `None` if another process or thread has it.
    ///
    /// # Errors
    /// `E_RUN_BUSY` if a process on another machine may still have it.
    pub fn hold_run(&self, run: Uuid) -> Result<Option<RunHolder>> {
        Ok(self.engine.lock(Subject::Run(run), Mode::Exclusive)?.map(|held| RunHolder { held }))
    }

    /// Returns whether a process is carrying out a run, as far as that is known.
    pub fn holding(&self, run: Uuid) -> Holding {
        self.engine.holding(Subject::Run(run))
    }
}
