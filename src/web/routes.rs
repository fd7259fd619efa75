//! The routes of the console, and the pages that sign a browser in and out.

use std::sync::Arc;

use axum::extract::{Extension, RawQuery, State};
use axum::http::header::{CONTENT_TYPE, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Router, middleware};

use mcpkg_base::error::Error;

use super::address::Fields;
use super::asset::{CODEMIRROR, EDITOR};
use super::console::Console;
use super::doors::{self, Posted};
use super::sign_in::BACK;
use super::{edit, events, image, issuer, jobs, page, passkey, places};

/// Returns the routes of the console. Every request passes [`doors::guard`] first.
pub fn routes(console: Arc<Console>) -> Router {
    let places = get(places::show).post(places::act).with_state(Arc::clone(&console));
    Router::new()
        .route("/login", get(sign_in).post(signed_in))
        .route(BACK, get(issuer::finish))
        .route("/logout", post(sign_out))
        .route("/passkey", get(passkey::show).post(register))
        .route("/passkey.js", get(passkey::script))
        .route("/style.css", get(style))
        .route("/live.js", get(events::script))
        .route("/events", get(events::events))
        .route("/codemirror.js", get(codemirror))
        .route("/editor.js", get(editor))
        .route("/edit", get(edit::show).post(edit::act))
        .route("/image", get(image::show))
        .route("/job", get(jobs::show).post(jobs::answer))
        .fallback_service(places)
        .layer(middleware::from_fn_with_state(Arc::clone(&console), doors::guard))
        .with_state(console)
}

async fn sign_in(RawQuery(query): RawQuery) -> Response {
    page::sign_in(Fields::parse(query.unwrap_or_default().as_bytes()).get("token"))
}

async fn signed_in(State(console): State<Arc<Console>>, Extension(Posted(posted)): Extension<Posted>) -> Response {
    if posted.has("ticket") {
        return passkey::signed_in(console, posted).await;
    }
    if posted.has("issuer") {
        return issuer::begin(console, posted.get("to").to_owned()).await;
    }
    let signing = Arc::clone(&console);
    let token = posted.get("token").to_owned();
    // For the console of a server, signing in reads and removes a file, so it may block.
    let signed_in = tokio::task::spawn_blocking(move || signing.sessions.sign_in(&token)).await;
    match signed_in.unwrap_or_else(|_| Err(Error::internal("The console crashed"))) {
        Ok(Some(cookie)) => ([(SET_COOKIE, cookie)], Redirect::to("/inbox")).into_response(),
        Ok(None) => page::refused(
            StatusCode::UNAUTHORIZED,
            "This link was used before, or has expired. Make another one where you made it.",
        ),
        Err(error) => page::refused(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

async fn register(State(console): State<Arc<Console>>, Extension(Posted(posted)): Extension<Posted>) -> Response {
    passkey::register(console, posted).await
}

async fn sign_out(State(console): State<Arc<Console>>, headers: HeaderMap) -> Redirect {
    console.sessions.sign_out(&headers);
    Redirect::to("/inbox")
}

async fn style() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/css; charset=utf-8")], include_str!("style.css"))
}

async fn codemirror(query: RawQuery, headers: HeaderMap) -> Response {
    CODEMIRROR.answer(query, &headers)
}

async fn editor(query: RawQuery, headers: HeaderMap) -> Response {
    EDITOR.answer(query, &headers)
}
