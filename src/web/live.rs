//! Tells browsers about commits: an event stream with the database's position.
//!
//! A thread watches the database while at least one browser listens.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::watch::{Receiver, Sender};

use mcpkg_core::op::Context;
use mcpkg_store::watch::{Change, Watch};

use super::console::Console;
use super::page;
use super::session::Session;

/// How often to check for commits. A check costs microseconds.
const WATCH: Duration = Duration::from_millis(20);

/// How long to wait before the next try if the database cannot be watched.
const AWAY: Duration = Duration::from_secs(1);

/// How often to check whether a listening browser is still there and signed in.
const PULSE: Duration = Duration::from_secs(15);

/// The maximum number of event streams. A browser needs one for all of its tabs.
const MOST: usize = 32;

/// The newest position of the database, and whether a thread watches it.
#[derive(Default)]
pub struct Live {
    position: Sender<String>,
    is_watched: Mutex<bool>,
}

impl Live {
    /// Returns a receiver of positions. `None` if there are too many.
    fn subscribe(self: &Arc<Self>, context: &Context) -> Option<Receiver<String>> {
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
        // A browser may have come between the two checks.
        *is_watched = self.position.receiver_count() > 0;
        !*is_watched
    }
}

/// Returns the event stream. It ends when the browser goes, its session ends, or the console ends.
pub async fn events(State(console): State<Arc<Console>>, Extension(session): Extension<Session>) -> Response {
    let Some(changes) = console.live.subscribe(&console.context) else {
        return page::refused(StatusCode::SERVICE_UNAVAILABLE, "Too many browsers listen.");
    };
    Sse::new(stream::unfold((console, session, changes), next)).into_response()
}

type Listening = (Arc<Console>, Session, Receiver<String>);

async fn next((console, session, mut changes): Listening) -> Option<(Result<Event, Infallible>, Listening)> {
    let event = tokio::select! {
        () = console.context.cancelled.cancelled() => return None,
        changed = changes.changed() => {
            changed.ok()?;
            Event::default().data(changes.borrow_and_update().clone())
        }
        () = tokio::time::sleep(PULSE) => Event::default().comment(""),
    };
    console.sessions.is_open(&session).then_some((Ok(event), (console, session, changes)))
}

/// Returns the script of all pages.
pub async fn script() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("live.js"))
}
