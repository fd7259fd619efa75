//! Draws the frame of every page, and the pages that are not screens: signing in, refusals and errors.

use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};

use mcpkg_base::error::{Code, Error};
use mcpkg_console::place::{Place, ROOTS};
use mcpkg_console::reply;

use super::address;
use super::session::Session;
use super::text::{label, lines, shown};

/// A page and its HTTP status.
pub struct Page<'a> {
    pub status: StatusCode,
    pub title: &'a str,
    /// The session; `None` before signing in. The page then has no navigation.
    pub session: Option<&'a Session>,
    /// The place that the page shows, if it shows one.
    pub place: Option<&'a Place>,
    /// The last commit that the page shows, as a position of the database ([`mcpkg_store::Store::position`]). Empty for
    /// a running operation. `None` if the page is not read again when the database changes.
    pub at: Option<String>,
    /// Whether the browser reads the page again every second, because the page shows a running operation.
    pub reloads: bool,
    pub body: Markup,
}

impl<'a> Page<'a> {
    /// Returns an empty page of a place.
    pub fn of(session: &'a Session, status: StatusCode, place: &'a Place) -> Self {
        let body = html! {};
        Self { status, title: "", session: Some(session), place: Some(place), at: None, reloads: false, body }
    }
}

impl IntoResponse for Page<'_> {
    fn into_response(self) -> Response {
        let title = shown(self.title);
        let heading = Heading::of(&title, self.place);
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    @if self.reloads { noscript { meta http-equiv="refresh" content="1"; } }
                    title { (title) " - mcpkg" }
                    link rel="stylesheet" href="/style.css";
                    link rel="icon" href="data:,";
                    @if self.session.is_some() { script src="/live.js" defer {} }
                    @if self.session.is_some_and(Session::needs_passkey) { script src="/passkey.js" defer {} }
                }
                body data-at=[self.at] data-job[self.reloads] {
                    a.skip href="#content" { "Skip to content" }
                    @if let Some(session) = self.session { (navigation(session, heading.root.as_ref())) }
                    main #content tabindex="-1" {
                        @if let Some((name, root)) = &heading.above {
                            p.crumb { a href=[address::of(root)] { (name) } }
                        }
                        // A question is about a command, whose line is long.
                        @if heading.title.starts_with("mcpkg ") {
                            h1.command { (heading.title) }
                        } @else {
                            h1 { (heading.shown()) }
                        }
                        @if !heading.rest.is_empty() { p.sub { (heading.rest) } }
                        (self.body)
                    }
                    @if self.session.is_some() { p #live role="status" {} }
                }
            }
        };
        (self.status, Html(page.into_string())).into_response()
    }
}

/// The words that titles begin with before the name of an item.
const WORDS: [&str; 13] = [
    "event",
    "edit",
    "new",
    "prompt",
    "skill",
    "resource",
    "draft",
    "change of",
    "audit of",
    "sync with",
    "earlier deploys",
    "deploy",
    "what each session loads",
];

/// The parts of a title such as `Inbox > Run shop:apps:list` or `Deploy: 3 create`.
struct Heading<'t> {
    /// The screen that the navigation marks as the current one.
    root: Option<Place>,
    /// The link to the screen above: its name and its place.
    above: Option<(&'static str, Place)>,
    title: &'t str,
    rest: &'t str,
}

impl<'t> Heading<'t> {
    /// Returns the title, beginning with a capital letter unless it begins with the name of an item.
    fn shown(&self) -> String {
        let is_word =
            |word: &&str| self.title.strip_prefix(*word).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
        let is_named = match self.above {
            Some((_, Place::Workflows)) => !["run of", "draft"].iter().any(is_word),
            // The noun of a list, such as `tool`.
            Some((_, Place::All)) => false,
            _ => !WORDS.iter().any(is_word),
        };
        if is_named { self.title.to_owned() } else { label(self.title) }
    }

    fn of(title: &'t str, place: Option<&Place>) -> Self {
        let whole = |root| Self { root, above: None, title, rest: "" };
        if place == Some(&Place::Palette) {
            return whole(Some(Place::Palette));
        }
        for (_, name, root) in ROOTS {
            let Some(rest) = title.strip_prefix(name) else { continue };
            if let Some(title) = rest.strip_prefix(" > ") {
                // The state of a run.
                let (title, rest) = title.split_once("    ").unwrap_or((title, ""));
                return Self { root: Some(root.clone()), above: Some((name, root)), title, rest };
            }
            if let Some(rest) = rest.strip_prefix(": ") {
                return Self { root: Some(root), above: None, title: name, rest };
            }
            if place == Some(&root) {
                return whole(Some(root));
            }
        }
        whole(None)
    }
}

fn navigation(session: &Session, root: Option<&Place>) -> Markup {
    let palette = ("Palette", Place::Palette);
    let screens = ROOTS.into_iter().map(|(_, name, place)| (name, place)).chain([palette]);
    html! {
        header {
            div.brand { "mcpkg" @if !session.project.is_empty() { span { " / " (shown(&session.project)) } } }
            nav aria-label="Screens" {
                ul {
                    @for (name, place) in screens {
                        @let current = (root == Some(&place)).then_some("page");
                        li { a href=[address::of(&place)] aria-current=[current] { (name) } }
                    }
                }
            }
            form method="post" action="/logout" {
                (secret(session))
                @if let Some(person) = session.person() { span.person { (shown(person)) } " " }
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
    Page { status, title: "Refused", session: None, place: None, at: None, reloads: false, body }.into_response()
}

/// Returns the page for a browser that is not signed in. On a server, `sign_in` is the form for passkeys, if there are any.
pub fn signed_out(is_of_server: bool, sign_in: &Markup) -> Response {
    let body = html! {
        p { "This browser is not signed in, or the console was started again." }
        @if is_of_server {
            (sign_in)
            p { "Run " code { "mcpkg console --link" } " in a terminal of the server, and open the link that it prints." }
        } @else {
            p { "Run " code { "mcpkg console --web" } " in a terminal, or press Enter where it runs, and open the link that it prints." }
        }
    };
    let status = StatusCode::UNAUTHORIZED;
    Page { status, title: "Not signed in", session: None, place: None, at: None, reloads: false, body }.into_response()
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
    Page { status: StatusCode::OK, title: "Console", session: None, place: None, at: None, reloads: false, body }
        .into_response()
}

/// Returns the page for something that could not be done, with a link to `back`.
pub fn failed(session: &Session, error: &Error, back: &str) -> Response {
    of_error(session, error, "Not done", back)
}

/// Returns the page for a page that cannot be shown, with a link to `back`.
pub fn unshown(session: &Session, error: &Error, back: &str) -> Response {
    let title = if error.code() == Code::NotFound { "Not found" } else { "This page cannot be shown" };
    of_error(session, error, title, back)
}

fn of_error(session: &Session, error: &Error, title: &str, back: &str) -> Response {
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
    Page { status, title, session: Some(session), place: None, at: None, reloads: false, body }.into_response()
}
