//! Draws the frame of every page, and the pages that are not screens: signing in, refusals and errors.

use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};

use mcpkg_base::error::{Code, Error};
use mcpkg_console::place::{Place, ROOTS};
use mcpkg_console::reply;

use super::address;
use super::session::Session;
use super::text::{lines, shown};

/// A page and its HTTP status.
pub struct Page<'a> {
    pub status: StatusCode,
    pub title: &'a str,
    /// The session; without one, before signing in, the page has no navigation.
    pub session: Option<&'a Session>,
    /// The place that the page shows, if it shows one.
    pub place: Option<&'a Place>,
    /// Whether the browser reloads the page after a second.
    pub reloads: bool,
    pub body: Markup,
}

impl IntoResponse for Page<'_> {
    fn into_response(self) -> Response {
        let title = shown(self.title);
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    @if self.reloads { meta http-equiv="refresh" content="1"; }
                    title { (title) " - mcpkg" }
                    link rel="stylesheet" href="/style.css";
                    link rel="icon" href="data:,";
                }
                body {
                    a.skip href="#content" { "Skip to content" }
                    @if let Some(session) = self.session { (navigation(session, self.place)) }
                    main #content tabindex="-1" {
                        h1 { (title) }
                        (self.body)
                    }
                }
            }
        };
        (self.status, Html(page.into_string())).into_response()
    }
}

fn navigation(session: &Session, place: Option<&Place>) -> Markup {
    let palette = ("Palette", Place::Palette);
    let screens = ROOTS.into_iter().map(|(_, name, place)| (name, place)).chain([palette]);
    html! {
        header {
            nav aria-label="Screens" {
                ul {
                    @for (name, root) in screens {
                        @let current = (place == Some(&root)).then_some("page");
                        li { a href=[address::of(&root)] aria-current=[current] { (name) } }
                    }
                }
            }
            form method="post" action="/logout" {
                (secret(session))
                button { "Sign out" }
            }
        }
    }
}

/// Returns the hidden field that every form needs: the session's secret.
pub fn secret(session: &Session) -> Markup {
    html! { input type="hidden" name="secret" value=(session.secret); }
}

/// Returns the page for a refused request. It has no navigation, because the sender may not be signed in.
pub fn refused(status: StatusCode, text: &str) -> Response {
    let body = html! { p { (text) } p { "Nothing was changed." } };
    Page { status, title: "Refused", session: None, place: None, reloads: false, body }.into_response()
}

pub fn signed_out() -> Response {
    let body = html! {
        p { "This browser is not signed in, or the console was started again." }
        p { "Run " code { "mcpkg console --web" } " in a terminal, or press Enter where it runs, and open the link that it prints." }
    };
    let status = StatusCode::UNAUTHORIZED;
    Page { status, title: "Not signed in", session: None, place: None, reloads: false, body }.into_response()
}

/// Returns the page that a sign-in link opens. The user has to press a button on it, because otherwise a program that
/// previews links would use up the link.
pub fn sign_in(token: &str) -> Response {
    let body = html! {
        p { "This signs this browser in to the console of mcpkg: you can see, change and approve everything that you can in a terminal." }
        form method="post" action="/login" {
            input type="hidden" name="token" value=(token);
            button.main { "Open the console" }
        }
    };
    Page { status: StatusCode::OK, title: "Console", session: None, place: None, reloads: false, body }.into_response()
}

/// Returns the page for an error, with a link to `back`.
pub fn failed(session: &Session, error: &Error, back: &str) -> Response {
    let status = match error.code() {
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::InvalidArgument => StatusCode::BAD_REQUEST,
        Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::CONFLICT,
    };
    let body = html! {
        (lines(&reply::error(error)))
        p { a href=(back) { "Back" } }
    };
    Page { status, title: "Not done", session: Some(session), place: None, reloads: false, body }.into_response()
}
