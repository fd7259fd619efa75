//! Live resources that clients subscribed to: watched on a thread that runs while somebody is, read anew when it rings.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::feed::Feed;
use crate::mcp::live::Found;
use crate::mcp::thread::spawn;
use crate::mcp::{Config, live, tools};
use crate::op::{Context, Ring, Validator, Watching};
use crate::store::Store;

/// How long nothing may ring before the resources are read: most changes are several.
const QUIET: Duration = Duration::from_millis(200);

/// How long a burst may last before they are read all the same.
const LONGEST: Duration = Duration::from_secs(1);

/// How long work that goes on is waited for, and the pause between two looks whether it still does.
const SETTLED: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);

/// How often what nothing rings for is looked at, at most.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// A look takes at most one part in so many of a processor's time.
const SHARE: u32 = 50;

/// Keeps the watch on while it is held.
pub(super) struct Watched(Arc<Bell>);

/// What the watching thread waits for.
#[derive(Default)]
pub(super) struct Bell {
    state: Mutex<Rung>,
    changed: Condvar,
}

#[derive(Default)]
struct Rung {
    /// When it rang for the first time and the last time since it was answered.
    since: Option<(Instant, Instant)>,
    /// How often it rang.
    count: u64,
    over: bool,
}

/// Why the resources are read anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    /// It rang.
    Rung,
    /// Nothing did; it is time to look at what nothing rings for.
    Due,
    /// Nobody is subscribed any more.
    Over,
}

impl Bell {
    /// Rings: something may have changed.
    pub(super) fn ring(&self) {
        let now = Instant::now();
        let mut state = self.state();
        state.since = Some((state.since.map_or(now, |(first, _)| first), now));
        state.count += 1;
        self.changed.notify_all();
    }

    fn count(&self) -> u64 {
        self.state().count
    }

    /// Waits until a burst of rings is over, or until `due`.
    fn wait(&self, due: Instant) -> Woken {
        let mut state = self.state();
        loop {
            let now = Instant::now();
            let (until, woken) = match state.since {
                _ if state.over => return Woken::Over,
                Some((first, last)) => ((last + QUIET).min(first + LONGEST), Woken::Rung),
                None => (due, Woken::Due),
            };
            let left = until.saturating_duration_since(now);
            if left.is_zero() {
                state.since = None;
                return woken;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn state(&self) -> MutexGuard<'_, Rung> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.state().over = true;
        self.0.changed.notify_all();
    }
}

/// The live resources of a server: whether they are watched, and for whom.
pub(super) struct LiveResources {
    store: Store,
    closed: CancellationToken,
    watched: Mutex<Weak<Watched>>,
}

impl LiveResources {
    pub(super) fn new(store: Store, closed: CancellationToken) -> Self {
        Self { store, closed, watched: Mutex::default() }
    }

    /// Rings where they are watched; returns whether they are.
    pub(super) fn ring(&self) -> bool {
        let watched = self.current();
        let watched = watched.upgrade();
        watched.inspect(|watched| watched.0.ring()).is_some()
    }

    /// Returns what the resource answers now, and what keeps it watched from before that answer on. It may take as long as
    /// git does.
    pub(super) fn subscribe(
        &self,
        feeds: &Arc<Mutex<Vec<Weak<Feed>>>>,
        config: &Config,
        found: &Found,
        uri: &str,
    ) -> (Option<Validator>, Arc<Watched>, Missed) {
        let watched = self.watched(feeds, config);
        let before = watched.0.count();
        let now = found.validator(uri, &self.context(config)).ok();
        let missed = Missed { bell: Arc::clone(&watched.0), before };
        (now, watched, missed)
    }

    /// Returns what resources are read in.
    pub(super) fn context(&self, config: &Config) -> Context {
        let cancelled = self.closed.child_token();
        let store = crate::mcp::limits::limited(&self.store, config, cancelled.clone()).reading();
        Context { cancelled, ..tools::context(store, config, None) }
    }

    /// Returns what keeps the watch on, and begins it where nobody was subscribed.
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
            tracing::warn!(%error, "workspaces are not watched");
        }
        watched
    }

    /// Reads what clients subscribed to whenever it rings, until nobody is subscribed or the server ends.
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
            let began = Instant::now();
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
            // Each look keeps all processors busy at worst.
            let processors =
                std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(1));
            due = Instant::now() + LOOK_AGAIN.max(began.elapsed() * SHARE * processors);
        }
    }

    /// Waits while somebody works on what is watched, for a while at most: of a change that spans several repositories clients
    /// are told once.
    fn wait_until_settled(&self, context: &Context, watching: &[Box<dyn Watching>]) {
        let until = Instant::now() + SETTLED;
        while Instant::now() < until
            && !self.closed.is_cancelled()
            && !watching.iter().all(|watching| watching.is_settled(context))
        {
            std::thread::sleep(PAUSE);
        }
    }

    /// Reads a feed's live resources anew: all of them, or those that may change without a ring.
    pub(super) fn look(&self, feed: &Feed, all: bool) {
        let context = self.context(&feed.config);
        let mut updated = Vec::new();
        for (uri, before) in feed.live() {
            let Some(found) = live::find(&feed.config, &uri) else { continue };
            if !all && !found.is_looked_at_again() {
                continue;
            }
            // What was given up says nothing.
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

/// What may have rung while a subscription was made: nobody was told of it.
pub(super) struct Missed {
    bell: Arc<Bell>,
    before: u64,
}

impl Missed {
    /// Rings again where it rang meanwhile.
    pub(super) fn ring(self) {
        if self.bell.count() != self.before {
            self.bell.ring();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_rings_is_answered_once_when_it_is_over() {
        let bell = Arc::<Bell>::default();
        let far = Instant::now() + Duration::from_secs(60);
        let began = Instant::now();
        let ringing = {
            let bell = Arc::clone(&bell);
            std::thread::spawn(move || {
                for _ in 0..5 {
                    bell.ring();
                    std::thread::sleep(Duration::from_millis(20));
                }
            })
        };
        ringing.join().unwrap();
        assert_eq!(bell.wait(far), Woken::Rung);
        assert!(began.elapsed() >= QUIET);
        assert_eq!(bell.wait(Instant::now() + Duration::from_millis(10)), Woken::Due, "answered once");
    }

    #[test]
    fn the_watch_is_over_when_nobody_holds_it() {
        let bell = Arc::<Bell>::default();
        let watched = Watched(Arc::clone(&bell));
        drop(watched);
        assert_eq!(bell.wait(Instant::now() + Duration::from_secs(60)), Woken::Over);
    }

    #[test]
    fn what_rang_while_a_subscription_was_made_rings_again() {
        let bell = Arc::<Bell>::default();
        let missed = Missed { bell: Arc::clone(&bell), before: bell.count() };
        missed.ring();
        assert_eq!(bell.count(), 0);
        let missed = Missed { bell: Arc::clone(&bell), before: bell.count() };
        bell.ring();
        missed.ring();
        assert_eq!(bell.count(), 2);
    }
}
