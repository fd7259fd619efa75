//! list_changed: from the store's watch to whoever asked, legacy peers and listen streams alike.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::ServerNotification;
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::watch;

use crate::store::Store;
use crate::store::watch::Change;

/// How often the watch looks: a look costs microseconds.
const LOOK: Duration = Duration::from_millis(50);

/// What changed, as far as lists go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lists {
    prompts: bool,
    resources: bool,
}

impl Lists {
    const ALL: Self = Self { prompts: true, resources: true };

    /// Which lists look different after these operations.
    fn changed_by(kinds: &[String]) -> Self {
        let mut lists = Self::default();
        for kind in kinds {
            match kind.split_once('.').map_or("", |(noun, _)| noun) {
                "prompt" => lists.prompts = true,
                "resource" => lists.resources = true,
                // A project selected, renamed or deleted, an import, a restore: anything may differ.
                _ => return Self::ALL,
            }
        }
        lists
    }
}

/// How often each list changed so far; listeners compare with what they saw last, so that a burst is one message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Versions {
    prompts: u64,
    resources: u64,
}

/// Tells changes to whoever asked.
pub(super) struct Hub {
    versions: watch::Sender<Versions>,
    /// The peer of a legacy session, which hears of changes without asking.
    legacy: Mutex<bool>,
    closed: AtomicBool,
}

impl Hub {
    pub(super) fn new() -> Self {
        Self {
            versions: watch::Sender::new(Versions::default()),
            legacy: Mutex::new(false),
            closed: AtomicBool::new(false),
        }
    }

    /// Looks for changes until [`Hub::close`]; runs on a thread of its own.
    pub(super) fn watch(&self, store: &Store) {
        let mut watch = match store.watch() {
            Ok(watch) => watch,
            Err(error) => {
                tracing::warn!(%error, "changes by others will not be noticed");
                return;
            }
        };
        let mut told = false;
        while !self.closed.load(Ordering::Relaxed) {
            let changed = match watch.look() {
                Ok(Change::None) => Lists::default(),
                Ok(Change::Restored) => Lists::ALL,
                Ok(Change::Events(kinds)) => Lists::changed_by(&kinds),
                Err(error) => {
                    // The same failure comes with every look; it is told once.
                    if !std::mem::replace(&mut told, true) {
                        tracing::warn!(%error, "the database could not be watched");
                    }
                    Lists::default()
                }
            };
            if changed != Lists::default() {
                self.versions.send_modify(|versions| {
                    versions.prompts += u64::from(changed.prompts);
                    versions.resources += u64::from(changed.resources);
                });
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Ends the watch and every listen stream.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.versions.send_modify(|_| {});
    }

    /// Tells a legacy peer of changes from now on, once however often it is called.
    pub(super) fn tell_legacy(&self, peer: Peer<RoleServer>) {
        match self.legacy.lock() {
            Ok(mut told) if !*told => *told = true,
            _ => return,
        }
        let mut versions = self.versions.subscribe();
        tokio::spawn(async move {
            let mut seen = *versions.borrow_and_update();
            while versions.changed().await.is_ok() {
                let now = *versions.borrow_and_update();
                if now.prompts != seen.prompts && peer.notify_prompt_list_changed().await.is_err() {
                    return;
                }
                if now.resources != seen.resources && peer.notify_resource_list_changed().await.is_err() {
                    return;
                }
                seen = now;
            }
        });
    }

    /// Serves one listen stream until it is cancelled or the server ends.
    pub(super) async fn listen(&self, context: SubscriptionContext) {
        let mut versions = self.versions.subscribe();
        let mut seen = *versions.borrow_and_update();
        // Closed before this was subscribed, nothing would ever wake it.
        if self.closed.load(Ordering::Relaxed) {
            return;
        }
        let (prompts, resources) = {
            let accepted = context.accepted();
            (accepted.prompts_list_changed == Some(true), accepted.resources_list_changed == Some(true))
        };
        loop {
            tokio::select! {
                () = context.cancelled() => return,
                changed = versions.changed() => {
                    if changed.is_err() || self.closed.load(Ordering::Relaxed) {
                        return;
                    }
                }
            }
            let now = *versions.borrow_and_update();
            if prompts && now.prompts != seen.prompts {
                let told = ServerNotification::PromptListChangedNotification(Default::default());
                if context.sink().send(told).await.is_err() {
                    return;
                }
            }
            if resources && now.resources != seen.resources {
                let told = ServerNotification::ResourceListChangedNotification(Default::default());
                if context.sink().send(told).await.is_err() {
                    return;
                }
            }
            seen = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_tell_which_lists_changed() {
        let of = |kinds: &[&str]| Lists::changed_by(&kinds.iter().map(|kind| (*kind).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["prompt.create"]), Lists { prompts: true, resources: false });
        assert_eq!(of(&["resource.delete"]), Lists { prompts: false, resources: true });
        assert_eq!(of(&["project.select"]), Lists::ALL);
        assert_eq!(of(&[]), Lists::default());
    }
}
