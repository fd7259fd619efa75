//! Caches answers to reads over HTTP in one cache for all clients, and checks the access of HTTP requests.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use serde_json::value::RawValue;
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
use mcpkg_base::sha256;
use mcpkg_core::access::token::Claims;
use mcpkg_core::access::{self, Grant, Refused, Rules};
use mcpkg_store::{Reader, Store, Version, projects};

/// The maximum number of existing projects whose names are remembered.
const MAX_NAMES: usize = 1024;

/// The maximum number of access keys that are remembered.
const MAX_KEYS: usize = 4096;

/// Answers reads from a cache, and checks access on one shared connection. Reads that miss the cache run on the threads
/// of [`Readers`].
pub(crate) struct ReadCache {
    readers: Readers,
    /// The store for tool calls.
    store: Store,
    state: Mutex<State>,
    /// Whether the database is on a server. If so, a thread may hold the lock during a round trip.
    is_remote: bool,
}

struct State {
    reader: Reader,
    responses: ResponseCache,
    known: Known,
}

/// What was read since the database's data version last changed: which projects exist, whether a key is required, and
/// what each key allows.
#[derive(Default)]
struct Known {
    version: Option<Version>,
    /// The time at which the read of that version began.
    read_at: Option<Instant>,
    key_required: bool,
    projects: HashSet<String>,
    /// Grants by the SHA-256 of the presented key.
    grants: HashMap<[u8; 32], Grant>,
    /// The access rules, once a request has sent a token.
    rules: Option<Arc<Rules>>,
}

/// The credential that a request sends to be admitted.
#[derive(Clone, Copy)]
pub(crate) enum Presented<'a> {
    /// An access key, or nothing.
    Key(Option<&'a str>),
    /// A token that was checked, for this project.
    Token { claims: &'a Claims, project: Option<&'a str> },
}

impl ReadCache {
    /// Opens the connections. `config` contains the time limit for a read.
    pub(crate) fn new(store: &Store, config: &Config) -> Result<Self> {
        let store = limited(store, config, CancellationToken::new());
        let state = State { reader: store.reader()?, responses: ResponseCache::default(), known: Known::default() };
        let is_remote = state.reader.tells();
        Ok(Self { readers: Readers::new(&store)?, store, state: Mutex::new(state), is_remote })
    }

    /// Reads the database's data version again, for a request that consists of several steps.
    pub(crate) fn refresh(&self) -> Result<Version> {
        self.state().refresh()
    }

    /// Runs a statement, to prove that the database can be read. Reading the data version may not prove that.
    pub(crate) fn read_now(&self) -> Result<()> {
        self.state().reader.statement(access::required).map(drop)
    }

    /// Returns the cache key of a request, and its cached answer if there is one.
    ///
    /// A cached answer is valid if nothing was committed after it was cached. That is checked against the data version
    /// that [`ReadCache::admit`] read. That version was read after the request began, so it includes every commit that
    /// the client may know of. Reading the version again would take a tenth of the request's time. If the request's
    /// access was only presumed, the caller looks the request up again after `admit`.
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

    /// Returns the result of a hot request, and the error code if a tool failed. Caches the result if it stays valid
    /// until the next commit. Returns `None` if rmcp has to answer. Dropping the future ends the read.
    pub(crate) async fn answer(
        &self,
        key: &CacheKey,
        config: &Arc<Config>,
        method: &str,
        parameters: Option<&RawValue>,
        era: Era,
    ) -> Result<Option<(Arc<Vec<u8>>, Result<(), Code>)>> {
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
        Ok(match answered {
            Answered::Not => None,
            Answered::Lasting => Some((result, Ok(()))),
            Answered::Once(code) => Some((result, Err(code))),
        })
    }

    /// Logs a tool call that was answered from the cache.
    pub(crate) fn log_again(&self, config: &Config, method: &str, parameters: Option<&RawValue>) {
        if method == "tools/call" {
            tools::log_again(parameters, config, || tools::context(self.store.clone(), config, None));
        }
    }

    /// Returns what a request with this credential could access in this project at the last check. The outer `None`
    /// means that nothing is known, or that a new check is so cheap that presuming is not worth it. The result is valid
    /// only after [`ReadCache::admit`] confirms it.
    pub(crate) fn presume(
        &self,
        presented: Presented<'_>,
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
        match presented {
            Presented::Key(key) => state.known.grant(&sha256::of(key?), clock.now()).cloned().map(Some),
            Presented::Token { claims, project } => state.known.rules.as_ref()?.grant(claims, project).ok().map(Some),
        }
    }

    /// Returns the grant of a request that arrived at `came`, or why the request is refused. If no key is required, the
    /// grant is `None`.
    pub(crate) fn admit(
        &self,
        presented: Presented<'_>,
        always: bool,
        clock: &Clock,
        came: Instant,
    ) -> Result<std::result::Result<Option<Grant>, Refused>> {
        let mut state = self.state();
        // A check that began after the request arrived also covers this request. On a database server, a check takes a
        // round trip, and many requests can share one.
        if state.known.read_at.is_none_or(|read_at| read_at < came) {
            state.refresh()?;
        }
        if !state.known.key_required && !always {
            return Ok(Ok(None));
        }
        match presented {
            Presented::Key(key) => Ok(state.verify(key.unwrap_or_default(), clock.now())?.map(Some)),
            Presented::Token { claims, project } => Ok(state.rules()?.grant(claims, project).map(Some)),
        }
    }

    /// Returns the access rules as they were when the database was last read.
    pub(crate) fn rules(&self) -> Result<Arc<Rules>> {
        self.state().rules()
    }

    /// Returns whether a request that was admitted with this grant, or without one, would still be admitted.
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

    /// Returns whether a project exists, for an admitted request.
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

    /// Locks the state. Work that does not need the lock continues on other threads, even while the database is slow.
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
    /// Returns the remembered grant of a key, unless it has expired.
    fn grant(&self, hash: &[u8; 32], now: Millis) -> Option<&Grant> {
        self.grants.get(hash).filter(|grant| grant.expires_at.is_none_or(|expires_at| now < expires_at))
    }
}

impl State {
    /// Returns the data version of the last read.
    fn seen(&mut self) -> Result<Version> {
        match self.known.version {
            Some(version) => Ok(version),
            None => self.refresh(),
        }
    }

    /// Reads the data version, and forgets everything known if it has changed.
    fn refresh(&mut self) -> Result<Version> {
        let read_at = Instant::now();
        let version = self.reader.version()?;
        self.saw(version, read_at)?;
        Ok(version)
    }

    /// Records the data version that a read saw, and forgets everything known if the version has changed. `read_at` is
    /// when the read began. If two reads saw different versions, the read that began later is right, because versions
    /// themselves have no order.
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

    /// Returns the access rules. They are remembered until the next commit.
    fn rules(&mut self) -> Result<Arc<Rules>> {
        if let Some(rules) = &self.known.rules {
            return Ok(Arc::clone(rules));
        }
        let rules = Arc::new(self.reader.read(Rules::load)?);
        self.known.rules = Some(Arc::clone(&rules));
        Ok(rules)
    }

    /// Returns what a key allows, or why it is refused. A remembered grant is valid until the next commit or its
    /// expiry.
    fn verify(&mut self, presented: &str, now: Millis) -> Result<std::result::Result<Grant, Refused>> {
        let hash: [u8; 32] = sha256::of(presented);
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
