//! Serves the event stream that tells browsers about commits, and the script that listens to it.
//!
//! The stream carries only the database's position. A page that shows another position loads its content again.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::watch::Receiver;

use super::console::Console;
use super::page;
use super::session::Session;

/// How often to check whether a listening browser is still there and signed in.
const PULSE: Duration = Duration::from_secs(15);

/// Returns the event stream. It ends when the browser disconnects, its session ends, or the console ends.
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
    let (asking, asked) = (Arc::clone(&console), session.clone());
    // The access rules may have changed, and reading them blocks.
    let checking = move || asking.sessions.is_open(&asked) && asking.admitted(asked).is_ok();
    let is_open = tokio::task::spawn_blocking(checking).await.unwrap_or(false);
    is_open.then_some((Ok(event), (console, session, changes)))
}

/// Returns the script of all pages.
pub async fn script() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("live.js"))
}
