//! Watches the live resources that clients subscribed to.
//!
//! A thread runs while there are subscribers. It reads the resources again when the [`Bell`] rings, because they may
//! have changed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::bell::{Bell, Missed, Watched, Woken};
use super::feed::Feed;
use crate::mcp::live::LiveResource;
use crate::mcp::transport::spawn;
use crate::mcp::{Config, live, tools};
use mcpkg_base::process::spent;
use mcpkg_core::op::{Context, Ring, Validator, Watching};
use mcpkg_store::Store;

/// The maximum time to wait for work on the watched files to end, and the pause between two checks.
const SETTLED: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);

/// The minimum time between two polls of resources whose changes do not ring the bell.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Polling may use at most 1/SHARE of one processor's time.
const SHARE: u32 = 50;

/// The live resources of a server, and the watch for their subscribers.
pub(super) struct LiveResources {
    store: Store,
    closed: CancellationToken,
    watched: Mutex<Weak<Watched>>,
}

impl LiveResources {
    pub(super) fn new(store: Store, closed: CancellationToken) -> Self {
        Self { store, closed, watched: Mutex::default() }
    }

    /// Rings the bell if resources are being watched. Returns whether any are.
    pub(super) fn ring(&self) -> bool {
        let watched = self.current();
        let watched = watched.upgrade();
        watched.inspect(|watched| watched.0.ring()).is_some()
    }

    /// Returns the current validator of a resource, and a handle that keeps the resource watched. The watch starts
    /// before the validator is read, so no change is missed. This may run git, which takes a while.
    pub(super) fn subscribe(
        &self,
        feeds: &Arc<Mutex<Vec<Weak<Feed>>>>,
        config: &Config,
        found: &LiveResource,
        uri: &str,
    ) -> (Option<Validator>, Arc<Watched>, Missed) {
        let watched = self.watched(feeds, config);
        let missed = Missed::after(&watched.0);
        let now = found.validator(uri, &self.context(config)).ok();
        (now, watched, missed)
    }

    /// Returns the context for reading resources.
    pub(super) fn context(&self, config: &Config) -> Context {
        let cancelled = self.closed.child_token();
        let store = crate::mcp::limits::limited(&self.store, config, cancelled.clone()).reading();
        Context { cancelled, ..tools::context(store, config, None) }
    }

    /// Returns a handle that keeps the watch running. Starts the watch if it is not running.
    fn watched(&self, feeds: &Arc<Mutex<Vec<Weak<Feed>>>>, config: &Config) -> Arc<Watched> {
        let mut current = self.current();
        if let Some(watched) = current.upgrade() {
            return watched;
        }
        let bell = Arc::<Bell>::default();
        let watched = Arc::new(Watched(Arc::clone(&bell)));
        *current = Arc::downgrade(&watched);
        let ring: Ring = Arc::new({
            let bell = Arc::clone(&bell);
            move || bell.ring()
        });
        let context = self.context(config);
        let domains = crate::DOMAINS.iter().filter_map(|domain| domain.watch);
        let watching: Vec<Box<dyn Watching>> = domains.map(|watch| watch(&context, Arc::clone(&ring))).collect();
        let feeds = Arc::clone(feeds);
        let (store, closed) = (self.store.clone(), self.closed.clone());
        let started = spawn("live resources", move || {
            let live = Self::new(store, closed);
            live.watch(&bell, &feeds, &context, watching);
        });
        if let Err(error) = started {
            tracing::warn!(%error, "cannot watch workspaces");
        }
        watched
    }

    /// Reads the subscribed resources whenever the bell rings, and polls those whose changes do not ring it. Ends when
    /// nobody is subscribed or the server ends.
    fn watch(
        &self,
        bell: &Bell,
        feeds: &Mutex<Vec<Weak<Feed>>>,
        context: &Context,
        mut watching: Vec<Box<dyn Watching>>,
    ) {
        let mut due = Instant::now() + LOOK_AGAIN;
        loop {
            let woken = bell.wait(due);
            if woken == Woken::Over || self.closed.is_cancelled() {
                return;
            }
            if woken == Woken::Rung {
                self.wait_until_settled(context, &watching);
            }
            let (began, before) = (Instant::now(), spent());
            if woken == Woken::Rung {
                watching.iter_mut().for_each(|watching| watching.follow(context));
            }
            let all = woken == Woken::Rung || !watching.iter().all(|watching| watching.is_complete());
            let now: Vec<Arc<Feed>> = {
                let feeds = feeds.lock().unwrap_or_else(PoisonError::into_inner);
                feeds.iter().filter_map(Weak::upgrade).collect()
            };
            for feed in now {
                self.look(&feed, all);
            }
            due = Instant::now() + LOOK_AGAIN.max(cost(began.elapsed(), before) * SHARE);
        }
    }

    /// Waits, for a limited time, while a program is still working on the watched files. This way, clients are notified
    /// only once of a change that spans several repositories.
    fn wait_until_settled(&self, context: &Context, watching: &[Box<dyn Watching>]) {
        let until = Instant::now() + SETTLED;
        while Instant::now() < until
            && !self.closed.is_cancelled()
            && !watching.iter().all(|watching| watching.is_settled(context))
        {
            std::thread::sleep(PAUSE);
        }
    }

    /// Reads a feed's live resources again: all of them, or those that may change without a ring.
    pub(super) fn look(&self, feed: &Feed, all: bool) {
        let context = self.context(&feed.config);
        let mut updated = Vec::new();
        for (uri, before) in feed.live() {
            let Some(found) = live::find(&feed.config, &uri) else { continue };
            if !all && !found.is_looked_at_again() {
                continue;
            }
            // After a cancelled read, it is unknown whether the resource changed.
            let Ok(now) = found.validator(&uri, &context) else { continue };
            if before.as_ref() != Some(&now) {
                updated.push((uri, Some(now)));
            }
        }
        let listed = feed.listed().filter(|_| all).and_then(|before| {
            let now = live::list(&feed.config, &context).and_then(|listed| live::list_validator(&listed)).ok()?;
            (now != before).then_some(now)
        });
        feed.update_live(updated, listed);
    }

    fn current(&self) -> MutexGuard<'_, Weak<Watched>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns how much processor time a check used, estimated from the programs that it ran. `elapsed` is how long the
/// check took, and `before` is the processor time of the programs that had ended before the check. If that time is
/// unknown, the check counts as having used all processors.
fn cost(elapsed: Duration, before: Option<Duration>) -> Duration {
    let processors = std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(1));
    let worst = elapsed * processors;
    let programs = spent().zip(before).map(|(now, before)| now.saturating_sub(before));
    programs.map_or(worst, |programs| programs.min(worst))
}
