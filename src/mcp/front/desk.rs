//! The hot reads of clients that come over HTTP: many at once, each request for itself.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;

use super::answers::{Answers, Question};
use super::envelope::check_depth;
use super::readers::Readers;
use crate::access::{self, Grant, Refused};
use crate::clock::{Clock, Millis};
use crate::error::{Code, Error, Result};
use crate::mcp::reads::Era;
use crate::mcp::{Config, limited};
use crate::store::{Reader, Store, projects};

/// Names of projects that are remembered to be there.
const MOST_NAMES: usize = 1024;

/// One connection for what costs microseconds; what takes longer runs elsewhere.
pub(crate) struct Desk {
    readers: Readers,
    state: Mutex<State>,
}

struct State {
    reader: Reader,
    answers: Answers,
    doors: Doors,
}

/// What is known of who may come in, as of one version of the database.
#[derive(Default)]
struct Doors {
    version: Option<i64>,
    key_required: bool,
    projects: HashSet<String>,
}

impl Desk {
    /// # Errors
    /// `E_DB_UNAVAILABLE` and how the disk failed.
    pub(crate) fn new(store: &Store) -> Result<Self> {
        let store = limited(store, Arc::default());
        let state = State { reader: store.reader()?, answers: Answers::default(), doors: Doors::default() };
        Ok(Self { readers: Readers::new(&store)?, state: Mutex::new(state) })
    }

    /// Looks at the database, for a request that does more than one thing; returns its version.
    ///
    /// # Errors
    /// How the disk failed.
    pub(crate) fn look(&self) -> Result<i64> {
        self.state().look()
    }

    /// Reads from the database, as a look at its version alone does not.
    ///
    /// # Errors
    /// How the disk failed.
    pub(crate) fn read_now(&self) -> Result<()> {
        self.state().reader.statement(access::required).map(drop)
    }

    /// Takes the question of a request that was let in, and returns it with the answer given before, where the look at
    /// the database by [`Desk::admit`] saw that nothing was committed since. That look came after the request began, so
    /// that no commit that anybody knew of before is missed; a second one would cost a tenth of the request.
    ///
    /// # Errors
    /// How the disk failed.
    pub(crate) fn ask(
        &self,
        config: &Config,
        era: Era,
        method: &str,
        parameters: Option<&RawValue>,
        header: Option<&str>,
    ) -> Result<(Question, Option<Arc<Vec<u8>>>)> {
        let mut asked = Question::default();
        let mut state = self.state();
        asked.ask(state.seen()?, config, era, method, parameters.map_or("", RawValue::get), header);
        let kept = state.answers.find(&asked);
        Ok((asked, kept))
    }

    /// Returns the result of a hot read, and keeps it for who asks the same again.
    ///
    /// # Errors
    /// As `reads::answer`.
    pub(crate) async fn answer(
        &self,
        asked: &Question,
        config: &Arc<Config>,
        method: &str,
        parameters: Option<&RawValue>,
        era: Era,
    ) -> Result<Arc<Vec<u8>>> {
        let config = Arc::clone(config);
        let (method, parameters) = (method.to_owned(), parameters.map(ToOwned::to_owned));
        let reading = self.readers.run(move |reader| {
            if let Some(raw) = &parameters {
                check_depth(raw.get()).map_err(|why| Error::new(Code::InvalidArgument, why))?;
            }
            super::read(reader, &config, &method, parameters.as_deref(), era)
        });
        let result = reading.await?;
        self.state().answers.keep(asked, &result);
        Ok(result)
    }

    /// Returns what a request with this key may reach, `None` where no key is asked for.
    ///
    /// # Errors
    /// How the disk failed.
    pub(crate) fn admit(
        &self,
        presented: Option<&str>,
        always: bool,
        clock: &Clock,
    ) -> Result<std::result::Result<Option<Grant>, Refused>> {
        let mut state = self.state();
        state.look()?;
        if !state.doors.key_required && !always {
            return Ok(Ok(None));
        }
        let presented = presented.unwrap_or_default();
        Ok(state.reader.read(|db| access::verify(db, clock.now(), presented))?.map(Some))
    }

    /// Whether what was let in with this grant, or without one, would be let in still.
    ///
    /// # Errors
    /// How the disk failed.
    pub(crate) fn holds(&self, grant: Option<&Grant>, always: bool, now: Millis) -> Result<bool> {
        let mut state = self.state();
        match grant {
            Some(grant) => state.reader.read(|db| access::holds(db, now, grant)),
            None => {
                state.look()?;
                Ok(!always && !state.doors.key_required)
            }
        }
    }

    /// Whether a project is there, for a request that was let in.
    ///
    /// # Errors
    /// How the disk failed.
    pub(crate) fn has_project(&self, name: &str) -> Result<bool> {
        let mut state = self.state();
        if state.doors.projects.contains(name) {
            return Ok(true);
        }
        let there = match state.reader.read(|db| projects::get(db, name)) {
            Ok(_) => true,
            Err(error) if error.code() == Code::NotFound => false,
            Err(error) => return Err(error),
        };
        if there && state.doors.projects.len() < MOST_NAMES {
            state.doors.projects.insert(name.to_owned());
        }
        Ok(there)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns the version of the database that the last look saw.
    fn seen(&mut self) -> Result<i64> {
        match self.doors.version {
            Some(version) => Ok(version),
            None => self.look(),
        }
    }

    /// Looks at the database, and forgets what was known where anything was committed since.
    fn look(&mut self) -> Result<i64> {
        let version = self.reader.version()?;
        if self.doors.version != Some(version) {
            let key_required = self.reader.statement(access::required)?;
            self.doors = Doors { version: Some(version), key_required, projects: HashSet::new() };
        }
        Ok(version)
    }
}
