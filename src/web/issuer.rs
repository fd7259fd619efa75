//! Signs a person in with the issuer whose tokens the server accepts: sends the browser to the issuer's page, and takes it
//! back with a code.
//!
//! Both answers are pages instead of redirects. After a form, browsers apply the policy for forms to redirects too, and the
//! issuer is another site. After a request from another site, they do not send a strict cookie with redirects.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{RawQuery, State};
use axum::http::header::{HeaderValue, REFRESH, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use tokio::time::timeout;

use mcpkg_base::error::Result;
use mcpkg_base::http::Url;
use mcpkg_core::access::token::code::{self, Attempt, Brought, Failed};
use mcpkg_core::op::Context;

use super::address::Fields;
use super::at::place;
use super::attempts::Begun;
use super::console::{Console, blocking};
use super::page::Page;
use super::person::Person;
use super::session::{Began, Cookie, Session};
use super::sign_in::SignIn;
use super::text::shown;

/// How long a sign-in waits for others.
const PATIENCE: Duration = Duration::from_secs(10);

/// The person whose request a response answers, for the audit log.
#[derive(Clone)]
pub struct By(pub String);

/// Returns the button that begins a sign-in with the issuer, if the server has one. Afterwards, the browser goes to `to`.
pub fn offer(console: &Console, to: &str) -> Markup {
    html! {
        @if let Some(sign_in) = console.sign_in.as_ref().filter(|sign_in| !sign_in.url().is_empty()) {
            form method="post" action="/login" {
                input type="hidden" name="to" value=(to);
                button.main name="issuer" value="yes" { "Sign in with " (shown(&sign_in.host())) }
            }
        }
    }
}

/// Begins a sign-in: sends the browser to the page of the issuer.
pub async fn begin(console: Arc<Console>, to: String) -> Response {
    blocking(move || {
        let Some(sign_in) = &console.sign_in else { return none() };
        match begun(&console, sign_in, &place(&to)) {
            Ok(Ok((address, cookie))) => {
                let host = sign_in.host();
                let body = html! { p { a href=(address.as_str()) { "Continue to " (shown(&host)) } } };
                leading("Sign in", address.as_str(), &[console.sessions.set_cookie(Cookie::SignIn, &cookie)], body)
            }
            Ok(Err(failed)) => refused(&console, &failed.to_string(), failed.hint()),
            Err(error) => refused(&console, &error.to_string(), ""),
        }
    })
    .await
}

fn begun(console: &Console, sign_in: &SignIn, to: &str) -> Result<std::result::Result<(Url, String), Failed>> {
    let attempt = Attempt::new(&console.context.clock)?;
    match code::address(&sign_in.issuer, &sign_in.client, &attempt, &sign_in.scopes, &sign_in.back()) {
        Ok(address) => Ok(Ok((address, sign_in.attempts.keep(attempt, to.to_owned())?))),
        Err(failed) => Ok(Err(failed)),
    }
}

/// Takes a browser back from the issuer, and signs it in.
pub async fn finish(State(console): State<Arc<Console>>, headers: HeaderMap, RawQuery(query): RawQuery) -> Response {
    let Some(sign_in) = &console.sign_in else { return none() };
    let brought = Fields::parse(query.unwrap_or_default().as_bytes());
    let begun = sign_in.attempts.take(brought.get("state"), console.sessions.cookies(Cookie::SignIn, &headers));
    let Some(begun) = begun else {
        let hint = format!(
            "Sign in again, in one browser and within ten minutes, at {}. If a link from somebody else brought you here, nothing \
             was accepted.",
            sign_in.url()
        );
        return refused(&console, "This is not the answer to a sign-in of this browser, or it was used before", &hint);
    };
    let finishing = Arc::clone(&console);
    let Ok(Ok(_permit)) = timeout(PATIENCE, sign_in.exchanges.acquire()).await else {
        return refused(&console, "Too many people are signing in", "Sign in again in a moment.");
    };
    blocking(move || match finished(&finishing, &begun, &brought) {
        Ok(response) => response,
        Err(error) => refused(&finishing, &error.to_string(), ""),
    })
    .await
}

fn finished(console: &Console, begun: &Begun, brought: &Fields) -> Result<Response> {
    let Some(sign_in) = &console.sign_in else { return Ok(none()) };
    let context = &console.context;
    let named = brought.has("iss").then(|| brought.get("iss"));
    let redeemed = code::redeem(
        &sign_in.issuer,
        &sign_in.client,
        &begun.attempt,
        &sign_in.back(),
        Brought { code: brought.get("code"), issuer: named, error: brought.get("error") },
        || context.clock.now(),
        &context.cancelled,
    );
    let claims = match redeemed {
        Ok(claims) => claims,
        Err(failed) => {
            tracing::warn!(why = %failed, "nobody was signed in to the console");
            return Ok(refused(console, &failed.to_string(), failed.hint()));
        }
    };
    let person = Person::new(claims, context.clock.now());
    let name = person.name().to_owned();
    let grant = match person.allowed(context)? {
        Ok(grant) => grant,
        Err(why) => return Ok(no_access(console, &name, &why)),
    };
    // The context of a person who only reads cannot write this event.
    let acting = Context { caller: person.context(context, &grant).caller, ..context.clone() };
    context.store.write(|db| acting.event(db, acting.author(), None, "access.sign-in", &name))?;
    let cookies =
        [console.sessions.begin(Began::Issuer(Arc::new(person)))?, console.sessions.set_cookie(Cookie::SignIn, "")];
    let body = html! {
        p.good role="status" { "You are signed in as " strong { (shown(&name)) } "." }
        p { a href=(begun.to) { "Open the console" } }
    };
    let mut response = leading("Signed in", &begun.to, &cookies, body);
    response.extensions_mut().insert(By(name));
    Ok(response)
}

/// Returns a page that leads to another address at once, and has a link to it.
fn leading(title: &str, to: &str, cookies: &[String], body: Markup) -> Response {
    let mut response = page(StatusCode::OK, title, body);
    if let Ok(value) = HeaderValue::from_str(&format!("0; url={to}")) {
        response.headers_mut().insert(REFRESH, value);
    }
    for cookie in cookies.iter().filter_map(|cookie| HeaderValue::from_str(cookie).ok()) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// Returns the page for a person who has no access, or no longer.
pub fn no_access(console: &Console, name: &str, why: &str) -> Response {
    let body = html! {
        p role="alert" { (shown(why)) }
        p { "You signed in as " strong { (shown(name)) } "." }
        p {
            "Ask an administrator for a rule, such as " code { "mcpkg access rule add --claim groups=platform" }
            ". Rules that name a scope do not count here. If you were added to a group just now, sign in again."
        }
        (offer(console, "/inbox"))
    };
    page(StatusCode::FORBIDDEN, "No access", body)
}

/// Ends the session of a person who has no access any more. Returns the page that says why.
pub fn ended(console: &Console, session: &Session, why: &str) -> Response {
    console.sessions.end(session);
    no_access(console, session.person().unwrap_or_default(), why)
}

fn refused(console: &Console, why: &str, hint: &str) -> Response {
    let body = html! {
        p role="alert" { (shown(why)) }
        @if !hint.is_empty() { p { (shown(hint)) } }
        p { "Nothing was changed." }
        (offer(console, "/inbox"))
    };
    page(StatusCode::UNAUTHORIZED, "Not signed in", body)
}

fn none() -> Response {
    page(StatusCode::NOT_FOUND, "Not signed in", html! { p { "People cannot sign in with an issuer on this server." } })
}

fn page(status: StatusCode, title: &str, body: Markup) -> Response {
    Page { status, title, session: None, place: None, at: None, reloads: false, body }.into_response()
}
