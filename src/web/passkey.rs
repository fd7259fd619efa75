//! Serves the pages for passkeys: registers one, signs a person in with one, and asks for one before a change.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, SET_COOKIE};
use axum::response::{IntoResponse, Redirect, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use maud::{Markup, html};

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::sha256;
use mcpkg_core::op::Context;
use mcpkg_core::passkey::{About, Answer, Invitation};

use super::address::Fields;
use super::at::place;
use super::console::{Console, blocking};
use super::issuer;
use super::page::{self, Page};
use super::session::{Began, Session};
use super::sign_in::SignIn;
use super::text::shown;

/// The fields of a form that the script fills in with the authenticator's answer.
const FIELDS: [&str; 4] = ["credential", "client", "data", "signature"];

/// Returns the authenticator's answer in a posted form.
pub fn answer(posted: &Fields) -> Answer<'_> {
    let [credential, client, data, signature] = FIELDS.map(|name| posted.get(name));
    Answer { ticket: posted.get("ticket"), credential, client, data, signature }
}

/// The thing that the script requests from an authenticator.
enum Wanted<'a> {
    /// A new passkey with this name.
    New(&'a str),
    /// An answer of the passkey with this credential, or of any passkey for this address.
    Answer(Option<&'a [u8]>),
}

/// Returns the form fields for a question that a passkey of the session must answer. Returns no fields for a session that
/// needs no passkey.
pub fn asked(console: &Console, session: &Session, about: About<'_>) -> Markup {
    let Some(decider) = session.decider() else { return html! {} };
    let passkeys = console.passkeys.of(decider).unwrap_or_default();
    // If there are several, the browser lets the person choose.
    let credential = match passkeys.as_slice() {
        [] => return html! { p.warning { (shown(&missing(console, session).to_string())) } },
        [passkey] => Some(passkey.credential.as_slice()),
        _ => None,
    };
    fields(console, about, &Wanted::Answer(credential))
}

/// Checks that a passkey of the session answered a question. `command` is the command to record in the audit trail, and
/// `text` is everything that the person saw.
pub fn decide(console: &Console, session: &Session, command: &str, text: &str, posted: &Fields) -> Result<()> {
    let Some(decider) = session.decider() else { return Ok(()) };
    if console.passkeys.of(decider)?.is_empty() {
        return Err(missing(console, session));
    }
    // The use of a passkey is recorded even if the person may only read.
    let store = console.context.store.clone();
    let context = Context { store, ..session.context(&console.context) };
    console.passkeys.decide(&context, decider, command, text, answer(posted))
}

/// Returns the error for a session that has no passkey to answer with.
fn missing(console: &Console, session: &Session) -> Error {
    let url = console.sign_in.as_ref().map_or("URL", SignIn::url);
    let person = session.person().unwrap_or_default();
    Error::new(
        Code::ConsentRequired,
        format!(
            "To answer yes, you need a passkey that is registered for you. At a terminal of the server, run `mcpkg passkey \
             add NAME --url {url} --person '{person}'`, and open the link on your device. Nothing was changed"
        ),
    )
}

/// Returns the fields that the script fills in before it sends the form.
fn fields(console: &Console, about: About<'_>, wanted: &Wanted<'_>) -> Markup {
    let challenge = match console.passkeys.challenge(about) {
        Ok(challenge) => challenge,
        Err(error) => return html! { p.warning { (shown(&error.to_string())) } },
    };
    let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let (name, credential) = match *wanted {
        Wanted::New(name) => (Some(name), None),
        Wanted::Answer(credential) => (None, credential.map(encode)),
    };
    // An authenticator keeps only one passkey for each user id, so each new passkey gets a user id of its own.
    let user = name.map(|_| encode(&sha256::of(&challenge.ticket)));
    html! {
        input type="hidden" name="ticket" value=(challenge.ticket);
        @for name in FIELDS { input type="hidden" name=(name); }
        p role="alert" data-challenge=(encode(&challenge.bytes)) data-name=[name] data-user=[user]
            data-credential=[credential] {}
        noscript { p.warning { "This needs a passkey, which a browser can use only if scripts are on." } }
    }
}

/// Returns the page for a browser that is not signed in. After the person signed in, the browser goes to `to`.
pub async fn signed_out(console: Arc<Console>, to: String) -> Response {
    blocking(move || {
        let is_of_server = console.sessions.is_of_server();
        let has_passkeys = is_of_server && console.passkeys.has_any().unwrap_or(false);
        let to = place(&to);
        let form = html! {
            @if has_passkeys {
                script src="/passkey.js" defer {}
                form method="post" action="/login" {
                    input type="hidden" name="to" value=(to);
                    (fields(&console, About::SignIn, &Wanted::Answer(None)))
                    button.main { "Sign in with a passkey" }
                }
            }
            (issuer::offer(&console, &to))
            @if has_passkeys || console.sign_in.is_some() {
                // If a page of another server opened this page, the browser did not send the cookie.
                p { "If you are signed in, " a href=(to) { "open the page again" } "." }
            }
        };
        page::signed_out(is_of_server, &form)
    })
    .await
}

/// Signs a browser in with the passkey that answered the form of [`signed_out`].
pub async fn signed_in(console: Arc<Console>, posted: Fields) -> Response {
    blocking(move || {
        let passkey = console.passkeys.sign_in(&console.context, answer(&posted));
        match passkey.and_then(|passkey| console.sessions.begin(Began::Passkey(passkey.id))) {
            Ok(cookie) => ([(SET_COOKIE, cookie)], Redirect::to(&place(posted.get("to")))).into_response(),
            Err(error) => refused(&error),
        }
    })
    .await
}

/// Shows the page of a link that registers a passkey.
pub async fn show(State(console): State<Arc<Console>>, RawQuery(query): RawQuery) -> Response {
    blocking(move || {
        let query = Fields::parse(query.unwrap_or_default().as_bytes());
        let token = query.get("token");
        match console.passkeys.invitation(token) {
            Ok(Some(Invitation { name, .. })) => page_of(html! {
                p { "This registers a passkey of this device with the name " strong { (shown(&name)) } "." }
                p { "With it, a person signs in to the console of mcpkg on this server, and approves what agents ask for." }
                script src="/passkey.js" defer {}
                form method="post" action="/passkey" {
                    input type="hidden" name="token" value=(token);
                    (fields(&console, About::Register(token), &Wanted::New(&name)))
                    button.main { "Make a passkey" }
                }
            }),
            Ok(None) => refused(&Error::new(Code::NotFound, "This link was used before, or has expired")),
            Err(error) => refused(&error),
        }
    })
    .await
}

/// Registers the passkey that a browser made.
pub async fn register(console: Arc<Console>, posted: Fields) -> Response {
    blocking(move || match console.passkeys.register(&console.context, posted.get("token"), answer(&posted)) {
        Ok(passkey) => page_of(html! {
            p.good role="status" { "The passkey " strong { (shown(&passkey.name)) } " is registered." }
            p { a href="/inbox" { "Sign in" } }
        }),
        Err(error) => refused(&error),
    })
    .await
}

fn page_of(body: Markup) -> Response {
    Page { status: StatusCode::OK, title: "Passkey", session: None, place: None, at: None, reloads: false, body }
        .into_response()
}

fn refused(error: &Error) -> Response {
    let status = match error.code() {
        Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::UNAUTHORIZED,
    };
    page::refused(status, &error.to_string())
}

pub async fn script() -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("passkey.js"))
}
