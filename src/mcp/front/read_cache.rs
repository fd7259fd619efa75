//! Response cache and key check for reads over HTTP, where many clients ask at once.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use tokio::task::block_in_place;
use tokio_util::sync::CancellationToken;

use super::envelope::check_depth;
use super::hot::{Answered, Hot};
use super::readers::Readers;
use super::response_cache::{CacheKey, ResponseCache};
use crate::mcp::era::Era;
use crate::mcp::limits::limited;
use crate::mcp::{Config, tools};
use mcpkg_base::clock::{Clock, Millis};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::access::{self, Grant, Refused};
use mcpkg_store::{Reader, Store, Version, projects};

/// Limit on the names of projects that are remembered to exist.
const MAX_NAMES: usize = 1024;

/// Limit on the keys that are remembered.
const MAX_KEYS: usize = 4096;

/// Answers from the cache on one shared connection; what has to be read again runs on the threads of [`Readers`].
pub(crate) struct ReadCache {
    readers: Readers,
    /// The store that tools read.
    store: Store,
    state: Mutex<State>,
    /// Whether the holder of the state may be waiting for a database server.
    is_remote: bool,
}

struct State {
    reader: Reader,
    responses: ResponseCache,
    known: Known,
}

/// Which projects are known to exist, whether a key is required, and what keys allow, as of one data version.
#[derive(Default)]
struct Known {
    version: Option<Version>,
    /// When reading that version began.
    read_at: Option<Instant>,
    key_required: bool,
    projects: HashSet<String>,
    /// By the SHA-256 of what a request shows.
    grants: HashMap<[u8; 32], Grant>,
}

impl ReadCache {
    /// Opens the connections; `config` has the time limit for a read.
    pub(crate) fn new(store: &Store, config: &Config) -> Result<Self> {
        let store = limited(store, config, CancellationToken::new());
        let state = State { reader: store.reader()?, responses: ResponseCache::default(), known: Known::default() };
        let is_remote = state.reader.tells();
        Ok(Self { readers: Readers::new(&store)?, store, state: Mutex::new(state), is_remote })
    }

    /// Reads the database's data version again, for a request that does more than one thing.
    pub(crate) fn refresh(&self) -> Result<Version> {
        self.state().refresh()
    }

    /// Runs a statement, as reading the data version alone does not.
    pub(crate) fn read_now(&self) -> Result<()> {
        self.state().reader.statement(access::required).map(drop)
    }

    /// Returns the cache key of a request that was admitted, and the answer that is kept for it.
    ///
    /// An answer counts where nothing was committed since, as of the data version that [`ReadCache::admit`] read; one that was
    /// only presumed to be admitted has it looked up again then. It was read after the request began, so that no commit that anybody knew of before is missed; reading it again would cost a tenth
    /// of the request.
    pub(crate) fn look_up(
        &self,
        config: &Config,
        era: Era,
        method: &str,
        parameters: Option<&RawValue>,
        header: Option<&str>,
    ) -> Result<(CacheKey, Option<Arc<Vec<u8>>>)> {
        let mut key = CacheKey::default();
        let mut state = self.state();
        key.set(config, era, method, parameters.map_or("", RawValue::get), header);
        key.at(state.seen()?);
        let kept = state.responses.get(&key);
        Ok((key, kept))
    }

    /// Returns the result of a hot request, and keeps it for the same request later; `None` where rmcp has to answer it.
    /// Dropping the future ends the read.
    pub(crate) async fn answer(
        &self,
        key: &CacheKey,
        config: &Arc<Config>,
        method: &str,
        parameters: Option<&RawValue>,
        era: Era,
    ) -> Result<Option<Arc<Vec<u8>>>> {
        let config = Arc::clone(config);
        let seen = Arc::new(OnceLock::new());
        let store = self.store.telling(&seen);
        let (method, parameters) = (method.to_owned(), parameters.map(ToOwned::to_owned));
        let reading = self.readers.run(move |reader| {
            let read_at = Instant::now();
            if let Some(raw) = &parameters {
                check_depth(raw.get()).map_err(|why| Error::new(Code::InvalidArgument, why))?;
            }
            let Some(hot) = Hot::parse(&method, parameters.as_deref(), &config)? else {
                return Ok((Answered::Not, Arc::default(), None));
            };
            let mut result = Vec::new();
            let context = || tools::context(store, &config, None);
            let (answered, version) = reader.telling(|| hot.answer(reader, context, &config, era, &mut result));
            let version = version.or_else(|| seen.get().copied());
            Ok((answered?, Arc::new(result), version.map(|version| (version, read_at))))
        });
        let (answered, result, seen) = reading.await?;
        let mut state = self.state();
        if let Some((version, read_at)) = seen {
            state.saw(version, read_at)?;
        }
        if answered == Answered::Lasting {
            state.responses.insert(key, &result);
        }
        Ok((answered != Answered::Not).then_some(result))
    }

    /// Logs a tool call that was answered from the cache.
    pub(crate) fn log_again(&self, config: &Config, method: &str, parameters: Option<&RawValue>) {
        if method == "tools/call" {
            tools::log_again(parameters, config, || tools::context(self.store.clone(), config, None));
        }
    }

    /// Returns what a request with this key for this project could reach at the last look. The outer `None` means that
    /// nothing is known, or that looking again costs so little that nothing should be presumed. The result counts only
    /// once [`ReadCache::admit`] confirms it.
    pub(crate) fn presume(
        &self,
        presented: Option<&str>,
        always: bool,
        project: Option<&str>,
        clock: &Clock,
    ) -> Option<Option<Grant>> {
        let state = self.state();
        state.known.version.filter(|_| state.reader.tells())?;
        if project.is_some_and(|name| !state.known.projects.contains(name)) {
            return None;
        }
        if !state.known.key_required && !always {
            return Some(None);
        }
        state.known.grant(&Sha256::digest(presented?).into(), clock.now()).cloned().map(Some)
    }

    /// Returns what a request with this key may reach, `None` where no key is asked for; it came at `came`.
    pub(crate) fn admit(
        &self,
        presented: Option<&str>,
        always: bool,
        clock: &Clock,
        came: Instant,
    ) -> Result<std::result::Result<Option<Grant>, Refused>> {
        let mut state = self.state();
        // A look that began after the request came serves it, as a read does that told what it saw: on a server it is a round
        // trip, and many may wait for one.
        if state.known.read_at.is_none_or(|read_at| read_at < came) {
            state.refresh()?;
        }
        if !state.known.key_required && !always {
            return Ok(Ok(None));
        }
        Ok(state.verify(presented.unwrap_or_default(), clock.now())?.map(Some))
    }

    /// Whether what was let in with this grant, or without one, would be let in still.
    pub(crate) fn holds(&self, grant: Option<&Grant>, always: bool, now: Millis) -> Result<bool> {
        let mut state = self.state();
        match grant {
            Some(grant) => state.reader.read(|db| access::holds(db, now, grant)),
            None => {
                state.refresh()?;
                Ok(!always && !state.known.key_required)
            }
        }
    }

    /// Whether a project is there, for a request that was let in.
    pub(crate) fn has_project(&self, name: &str) -> Result<bool> {
        let mut state = self.state();
        if state.known.projects.contains(name) {
            return Ok(true);
        }
        let there = match state.reader.read(|db| projects::get(db, name)) {
            Ok(_) => true,
            Err(error) if error.code() == Code::NotFound => false,
            Err(error) => return Err(error),
        };
        if there && state.known.projects.len() < MAX_NAMES {
            state.known.projects.insert(name.to_owned());
        }
        Ok(there)
    }

    /// Locks the state. Work that does not need it continues on other threads, however long the database takes to
    /// answer.
    fn state(&self) -> MutexGuard<'_, State> {
        let lock = || self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match self.state.try_lock() {
            Ok(state) => state,
            Err(_) if self.is_remote => block_in_place(lock),
            Err(_) => lock(),
        }
    }
}

impl Known {
    /// Returns what a key allows, where that is known and it has not expired.
    fn grant(&self, hash: &[u8; 32], now: Millis) -> Option<&Grant> {
        self.grants.get(hash).filter(|grant| grant.expires_at.is_none_or(|expires_at| now < expires_at))
    }
}

impl State {
    /// Returns the data version that was read last.
    fn seen(&mut self) -> Result<Version> {
        match self.known.version {
            Some(version) => Ok(version),
            None => self.refresh(),
        }
    }

    /// Reads the data version, and forgets what was known where anything was committed since.
    fn refresh(&mut self) -> Result<Version> {
        let read_at = Instant::now();
        let version = self.reader.version()?;
        self.saw(version, read_at)?;
        Ok(version)
    }

    /// Takes note of the version that was seen by a read that began at `read_at`, and forgets what was known where it is another one.
    /// Of two the one counts whose read began later: which of them is older cannot be told else.
    fn saw(&mut self, version: Version, read_at: Instant) -> Result<()> {
        if self.known.read_at.is_some_and(|known| known > read_at) {
            return Ok(());
        }
        if self.known.version != Some(version) {
            let key_required = self.reader.statement(access::required)?;
            self.known = Known { version: Some(version), key_required, ..Known::default() };
        }
        self.known.read_at = Some(read_at);
        Ok(())
    }

    /// Returns what a key allows, or why it is refused. What it allowed before holds until something is committed, or it
    /// expires.
    fn verify(&mut self, presented: &str, now: Millis) -> Result<std::result::Result<Grant, Refused>> {
        let hash: [u8; 32] = Sha256::digest(presented).into();
        if let Some(grant) = self.known.grant(&hash, now) {
            return Ok(Ok(grant.clone()));
        }
        let verified = self.reader.read(|db| access::verify(db, now, presented))?;
        if let Ok(grant) = &verified
            && self.known.grants.len() < MAX_KEYS
        {
            self.known.grants.insert(hash, grant.clone());
        }
        Ok(verified)
    }
}
