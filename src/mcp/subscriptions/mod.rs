//! Notifies clients of changes: list_changed and resources/updated, in sessions and on `subscriptions/listen` streams.
//!
//! One thread watches the store. A [`Feed`] stands for the content that is served for one selection of project and
//! tools. A [`Subscriber`] tracks the parts of that content that one client subscribed to, and the changes that the
//! client was notified of. Both keep counts instead of messages. So a burst of changes becomes one message, and a slow
//! client costs no memory.

mod bell;
mod feed;
mod live;
mod subscriber;

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ResourceUpdatedNotificationParam, ServerNotification, SubscriptionFilter};
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::Config;
use super::tasks::{self, Followed};
use feed::Feed;
use live::LiveResources;
use mcpkg_base::error::{Error, Result};
use mcpkg_core::op::Validator;
use mcpkg_store::watch::{Change, Position};
use mcpkg_store::{Store, watch::Watch};

pub(super) use subscriber::{LONGEST_URI, MAX_URIS, News, Subscriber};

/// The interval at which the watch checks the store. A check costs microseconds.
const LOOK: Duration = Duration::from_millis(20);

/// The position of the store when a `subscriptions/listen` request arrived, if it could be read. rmcp acknowledges the
/// request before the subscription exists, so the stream has to report changes from this position on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Since(Option<Position>);

/// Watches the store and notifies subscribers.
pub(super) struct Hub {
    store: Store,
    feeds: Arc<Mutex<Vec<Weak<Feed>>>>,
    live: LiveResources,
    commits: watch::Sender<()>,
    closed: CancellationToken,
}

impl Hub {
    pub(super) fn new(store: Store) -> Self {
        let closed = CancellationToken::new();
        let live = LiveResources::new(store.clone(), closed.clone());
        Self { store, feeds: Arc::default(), live, commits: watch::Sender::new(()), closed }
    }

    /// Returns a receiver that is notified of each commit of this and of other processes, unless the database cannot be
    /// watched.
    pub(super) fn commits(&self) -> watch::Receiver<()> {
        self.commits.subscribe()
    }

    /// Watches for changes after `position` until [`Hub::close`]. Runs on its own thread.
    pub(super) fn watch(&self, position: Position) {
        let mut told = false;
        let mut tell = |error: Error| {
            // Every check fails in the same way, so the failure is logged only once.
            if !std::mem::replace(&mut told, true) {
                tracing::warn!(%error, "cannot watch the database");
            }
        };
        let mut watch = loop {
            // Wait a moment before connecting, so that the first answer is not delayed: opening a connection takes as
            // long as the rest of the start.
            std::thread::sleep(LOOK);
            if self.closed.is_cancelled() {
                return;
            }
            match self.store.watch(position.clone()) {
                Ok(watch) => break watch,
                Err(error) => tell(error),
            }
        };
        // Set while a change was seen but could not be passed on to the feeds.
        let mut behind = false;
        while !self.closed.is_cancelled() {
            match self.look(&mut watch, behind) {
                Ok(()) => behind = false,
                Err(error) => {
                    behind = true;
                    tell(error);
                }
            }
            while !watch.wait(LOOK) && !behind && !self.closed.is_cancelled() {}
        }
    }

    fn look(&self, watch: &mut Watch, behind: bool) -> Result<()> {
        let mut change = watch.look()?;
        if behind {
            change = Change::Restored;
        }
        if change == Change::None {
            return Ok(());
        }
        self.commits.send_replace(());
        let mut feeds = Vec::new();
        self.feeds().retain(|feed| feed.upgrade().map(|feed| feeds.push(feed)).is_some());
        if feeds.is_empty() {
            return Ok(());
        }
        if concerns_live(&change) && !self.live.ring() {
            // No client is subscribed to a live resource, but clients are still notified of changes to the list.
            feeds.iter().filter(|feed| feed.listed().is_some()).for_each(|feed| self.live.look(feed, true));
        }
        self.store.read(|db| feeds.iter().try_for_each(|feed| feed.take(db, &change)))
    }

    /// Stores the validator of the answer to resources/list for live resources. Clients are notified when it changes.
    pub(super) fn listed(&self, config: &Arc<Config>, now: Validator) {
        let found = self.feeds().iter().filter_map(Weak::upgrade).find(|feed| feed.config.serves_as(config));
        if let Some(feed) = found {
            feed.set_listed(now);
        }
    }

    /// Subscribes to a URI. Returns false if a limit is reached. The resource may not exist yet. This takes as long as
    /// reading the resource.
    pub(super) fn subscribe_one(&self, subscriber: &Subscriber, config: &Config, uri: &str) -> bool {
        let Some(found) = crate::mcp::live::find(config, uri) else { return subscriber.subscribe(&self.store, uri) };
        if subscriber.is_subscribed(uri) {
            return true;
        }
        let (now, watched, missed) = self.live.subscribe(&self.feeds, config, &found, uri);
        let subscribed = subscriber.subscribe_live(uri, now, watched);
        missed.ring();
        subscribed
    }

    /// Ends the watch, the notifications of sessions, and every `subscriptions/listen` stream.
    pub(super) fn close(&self) {
        self.closed.cancel();
    }

    /// Returns the current position of the store. This may take as long as a read.
    pub(super) fn since(&self) -> Since {
        Since(self.store.position().ok())
    }

    /// Creates a subscriber that receives, from now on, all changes for requests under `config`.
    pub(super) fn subscribe(&self, config: &Arc<Config>) -> Subscriber {
        let mut feeds = self.feeds();
        let found = feeds.iter().filter_map(Weak::upgrade).find(|feed| feed.config.serves_as(config));
        let feed = found.unwrap_or_else(|| {
            let feed = Arc::new(Feed::new(&self.store, config));
            feeds.push(Arc::downgrade(&feed));
            feed
        });
        drop(feeds);
        Subscriber::new(&self.store, feed, config)
    }

    /// Like [`Hub::subscribe`], and also subscribes to these URIs.
    pub(super) fn subscribe_to<'a>(&self, config: &Arc<Config>, uris: impl Iterator<Item = &'a String>) -> Subscriber {
        let subscriber = self.subscribe(config);
        for uri in uris {
            self.subscribe_one(&subscriber, config, uri);
        }
        subscriber
    }

    /// Notifies a session's peer until the session ends.
    pub(super) fn notify(&self, peer: Peer<RoleServer>, subscriber: Arc<Subscriber>, ended: CancellationToken) {
        let closed = self.closed.clone();
        tokio::spawn(async move {
            let mut changed = subscriber.changed();
            loop {
                for notification in notifications(subscriber.news()) {
                    if peer.send_notification(notification).await.is_err() {
                        return;
                    }
                }
                tokio::select! {
                    () = closed.cancelled() => return,
                    () = ended.cancelled() => return,
                    rung = changed.changed() => if rung.is_err() { return },
                }
            }
        });
    }

    /// Serves one `subscriptions/listen` stream until it is cancelled or the server ends. If anything was committed
    /// after `since` but before the subscription, the stream reports that everything may have changed.
    pub(super) async fn listen(
        self: &Arc<Self>,
        context: SubscriptionContext,
        config: &Arc<Config>,
        since: Since,
        mut tasks: Followed,
    ) {
        let (hub, reach) = (Arc::clone(self), Arc::clone(config));
        let uris = context.accepted().resource_subscriptions.clone();
        // Subscribe on a blocking thread, because subscribing queries the database and git, which may take a while.
        let subscribing = tokio::task::spawn_blocking(move || {
            let subscriber = hub.subscribe_to(&reach, uris.iter().flatten());
            let missed = hub.since() != since;
            (subscriber, missed.then(|| News::of_all(uris.unwrap_or_default())))
        });
        let Ok((subscriber, mut missed)) = subscribing.await else { return };
        let mut changed = subscriber.changed();
        loop {
            let news = subscriber.news();
            for notification in notifications(missed.take().unwrap_or(news).within(context.accepted())) {
                if context.sink().send(notification).await.is_err() {
                    return;
                }
            }
            tokio::select! {
                () = context.cancelled() => return,
                () = self.closed.cancelled() => return,
                rung = changed.changed() => if rung.is_err() { return },
                // rmcp's stream does not accept notifications/tasks.
                task = tasks.next() => {
                    let request = context.request_context();
                    if request.peer.send_notification(tasks::notification(&task, &request.id)).await.is_err() {
                        return;
                    }
                }
            }
        }
    }

    fn feeds(&self) -> std::sync::MutexGuard<'_, Vec<Weak<Feed>>> {
        self.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether a change may affect the sources of live resources.
fn concerns_live(change: &Change) -> bool {
    let Change::Events(events) = change else { return true };
    let groups: Vec<_> =
        crate::DOMAINS.resources().filter_map(|resource| resource.live.map(|live| live.group)).collect();
    events.iter().filter(|event| event.outcome == "ok").any(|event| {
        // A newer version of mcpkg may have recorded an operation that this version does not know.
        let operation = crate::DOMAINS.operations().find(|entry| entry.is_kind(&event.kind));
        operation.is_none_or(|entry| groups.contains(&entry.group))
    })
}

/// Returns the accepted part of a filter, with at most as many URIs as one client may subscribe to.
pub(super) fn accepted(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut accepted = requested.clone();
    if let Some(uris) = &mut accepted.resource_subscriptions {
        uris.retain(|uri| uri.len() <= LONGEST_URI);
        uris.truncate(MAX_URIS);
    }
    accepted
}

impl News {
    /// Returns the news that anything may have changed, including these resources.
    fn of_all(uris: Vec<String>) -> Self {
        Self { prompts: true, resources: true, tools: true, updated: uris }
    }

    /// Removes the news about lists that `filter` does not ask for.
    pub(super) fn within(self, filter: &SubscriptionFilter) -> Self {
        Self {
            prompts: self.prompts && filter.prompts_list_changed == Some(true),
            resources: self.resources && filter.resources_list_changed == Some(true),
            tools: self.tools && filter.tools_list_changed == Some(true),
            updated: self.updated,
        }
    }

    /// Returns the notifications for the news: the method, and the URI if it concerns one resource.
    pub(super) fn messages(self) -> impl Iterator<Item = (&'static str, Option<String>)> {
        let lists = [
            (self.tools, "notifications/tools/list_changed"),
            (self.prompts, "notifications/prompts/list_changed"),
            (self.resources, "notifications/resources/list_changed"),
        ];
        let changed = lists.into_iter().filter(|(changed, _)| *changed).map(|(_, method)| (method, None));
        changed.chain(self.updated.into_iter().map(|uri| ("notifications/resources/updated", Some(uri))))
    }
}

fn notifications(news: News) -> Vec<ServerNotification> {
    let mut told = Vec::new();
    if news.tools {
        told.push(ServerNotification::ToolListChangedNotification(Default::default()));
    }
    if news.prompts {
        told.push(ServerNotification::PromptListChangedNotification(Default::default()));
    }
    if news.resources {
        told.push(ServerNotification::ResourceListChangedNotification(Default::default()));
    }
    told.extend(news.updated.into_iter().map(|uri| {
        let parameters = ResourceUpdatedNotificationParam::new(uri);
        ServerNotification::ResourceUpdatedNotification(rmcp::model::Notification::new(parameters))
    }));
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpkg_core::op::Context;
    use mcpkg_store::projects::Selection;

    #[tokio::test]
    async fn a_wait_for_commits_ends_with_the_next_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("a.db")).expect("a database");
        let hub = Arc::new(Hub::new(store.clone()));
        let (watching, position) = (Arc::clone(&hub), store.position().expect("a position"));
        let watching = std::thread::spawn(move || watching.watch(position));
        let mut commits = hub.commits();
        let context = Context::shell(crate::DOMAINS, store, Selection::default());
        let create = crate::DOMAINS.operations().find(|entry| entry.tool == "create_project").expect("an operation");
        let call = create.from_agent(serde_json::json!({ "name": "p" })).expect("a call");
        call.run(&context).expect("a project");
        let told = tokio::time::timeout(Duration::from_secs(60), commits.changed()).await;
        told.expect("in time").expect("a commit");
        hub.close();
        watching.join().expect("the watch ends");
    }
}
