//! Locks on a database: they end with the process that holds them, however it ends.

use uuid::Uuid;

use super::Store;
use super::engine::{Held, Mode, Subject};
use crate::error::{Code, Error, Result};

/// The presence of a server at a database; `restore` sees it. Dropping it, or the end of the process, takes it away.
pub struct Serving {
    _held: Held,
}

/// The right to apply a deploy: one process of this machine at a time has it. Dropping it, or the end of the process, gives it
/// back.
pub struct Applying {
    _held: Held,
}

/// The presence of a server that runs tasks. Dropping it, or the end of the process, takes it away: what it did not end
/// by then nobody will.
pub struct TaskRunner {
    id: Uuid,
    _held: Held,
}

impl TaskRunner {
    /// The runner's id, which its tasks name.
    pub fn id(&self) -> Uuid {
        self.id
    }
}

/// The right to work on a run: one holder at a time has it. Dropping it, or the end of the process, gives it back.
#[derive(Debug)]
pub struct RunHolder {
    _held: Held,
}

impl Store {
    /// Announces a server at this database; [`Store::keep_servers_away`] sees it while the returned guard lives.
    ///
    /// # Errors
    /// `E_DB_BUSY` while a restore runs, `E_DB_UNAVAILABLE` where the lock cannot be had.
    pub fn announce(&self) -> Result<Serving> {
        let held = self.engine.lock(Subject::Serving, Mode::Shared)?;
        let _held = held.ok_or_else(|| {
            Error::new(Code::Busy, format!("The database `{}` is being restored", self.location()))
                .hint("start the server again when the restore is done")
        })?;
        Ok(Serving { _held })
    }

    /// Keeps servers away while the returned guard lives; `None` where at least one is connected.
    ///
    /// # Errors
    /// `E_DB_UNAVAILABLE` where the lock cannot be had.
    pub fn keep_servers_away(&self) -> Result<Option<Serving>> {
        Ok(self.engine.lock(Subject::Serving, Mode::Exclusive)?.map(|_held| Serving { _held }))
    }

    /// Takes the right to apply deploys of this database on this machine; `None` where another process, or another thread of
    /// this one, has it.
    ///
    /// # Errors
    /// `E_DB_UNAVAILABLE` where the lock file cannot be made.
    pub fn begin_apply(&self) -> Result<Option<Applying>> {
        Ok(self.engine.lock(Subject::Applying, Mode::Exclusive)?.map(|_held| Applying { _held }))
    }

    /// Says that this process runs tasks from now on.
    ///
    /// # Errors
    /// `E_DB_UNAVAILABLE` where the lock cannot be had.
    pub fn begin_tasks(&self) -> Result<TaskRunner> {
        let id = crate::clock::unique();
        let held = self.engine.lock(Subject::Tasks(id), Mode::Exclusive)?;
        let _held = held.ok_or_else(|| Error::internal("the lock of a new runner of tasks is held"))?;
        Ok(TaskRunner { id, _held })
    }

    /// Whether the process that began to run tasks as `id` still lives; what one that was killed left is removed.
    pub fn runs_tasks(&self, id: Uuid) -> bool {
        let lives = self.engine.is_held(Subject::Tasks(id));
        if !lives {
            drop(self.engine.lock(Subject::Tasks(id), Mode::Exclusive));
        }
        lives
    }

    /// Takes the right to work on a run; `None` where another process, or another thread of this one, has it.
    ///
    /// # Errors
    /// `E_DB_UNAVAILABLE`, `E_READ_ONLY`, `E_DISK_FULL` where the lock cannot be had.
    pub fn hold_run(&self, run: Uuid) -> Result<Option<RunHolder>> {
        Ok(self.engine.lock(Subject::Run(run), Mode::Exclusive)?.map(|_held| RunHolder { _held }))
    }

    /// Whether somebody works on a run.
    pub fn is_held(&self, run: Uuid) -> bool {
        self.engine.is_held(Subject::Run(run))
    }
}
