//! Watches the database for the pages of browsers, on a thread that runs while at least one browser listens.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch::{Receiver, Sender};

use mcpkg_core::op::Context;
use mcpkg_store::watch::{Change, Watch};

/// How often to check for commits. A check costs microseconds.
const WATCH: Duration = Duration::from_millis(20);

/// How long to wait before the next try if the database cannot be watched.
const AWAY: Duration = Duration::from_secs(1);

/// The maximum number of event streams. A browser needs one for all of its tabs.
const MOST: usize = 32;

/// The newest position of the database, and whether a thread watches it.
#[derive(Default)]
pub struct Live {
    position: Sender<String>,
    is_watched: Mutex<bool>,
}

impl Live {
    /// Returns a receiver of the database's positions. Returns `None` if there are already [`MOST`] receivers.
    pub fn subscribe(self: &Arc<Self>, context: &Context) -> Option<Receiver<String>> {
        let mut is_watched = self.is_watched.lock().unwrap_or_else(PoisonError::into_inner);
        if self.position.receiver_count() >= MOST {
            return None;
        }
        let mut receiver = self.position.subscribe();
        if !receiver.borrow().is_empty() {
            receiver.mark_changed();
        }
        if !std::mem::replace(&mut is_watched, true) {
            let (live, context) = (Arc::clone(self), context.clone());
            let watching = std::thread::Builder::new().name("watch".to_owned()).spawn(move || live.watch(&context));
            *is_watched = watching.is_ok();
        }
        Some(receiver)
    }

    /// Watches the database until nobody listens.
    fn watch(&self, context: &Context) {
        loop {
            let store = &context.store;
            let watched = store.position().and_then(|position| {
                self.tell(position.to_string());
                store.watch(position)
            });
            if watched.is_ok_and(|watch| self.follow(watch)) || self.has_ended() {
                return;
            }
            std::thread::sleep(AWAY);
        }
    }

    /// Follows a watch until its connection fails. Returns whether nobody listens any more.
    fn follow(&self, mut watch: Watch) -> bool {
        loop {
            if self.has_ended() {
                return true;
            }
            if !watch.wait(WATCH) {
                continue;
            }
            match watch.look() {
                Ok(Change::None) => {}
                Ok(_) => self.tell(watch.position().to_string()),
                Err(_) => return false,
            }
        }
    }

    fn tell(&self, position: String) {
        self.position.send_if_modified(|known| {
            let is_new = *known != position;
            *known = position;
            is_new
        });
    }

    fn has_ended(&self) -> bool {
        if self.position.receiver_count() > 0 {
            return false;
        }
        let mut is_watched = self.is_watched.lock().unwrap_or_else(PoisonError::into_inner);
        // A browser may have subscribed before the lock was taken, so count again.
        *is_watched = self.position.receiver_count() > 0;
        !*is_watched
    }
}
