//! Serves the page of a running operation: its question, its progress, and its result.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_console::{Action, Does, Place, offers, reply, run_under_way};
use mcpkg_core::op::Empty;
use mcpkg_core::passkey::About;

use super::address::{self, Fields};
use super::console::{Console, blocking, start};
use super::doors::Posted;
use super::draw;
use super::form;
use super::job::{Job, Origin, Outcome, Question, outdated};
use super::page::{self, Page, secret};
use super::passkey;
use super::places::outcome;
use super::session::Session;
use super::text::{label, lines, shown};

/// How long a page waits for an operation before it shows its progress.
const MOMENT: Duration = Duration::from_secs(2);

/// Returns an operation. People who signed in with the issuer see their own ones only, and others do not see theirs.
fn job(console: &Console, session: &Session, query: Option<String>) -> Option<Arc<Job>> {
    let job = console.jobs.get(Fields::parse(query.unwrap_or_default().as_bytes()).number("id")?)?;
    let person = job.origin.grant.as_ref().map(|grant| grant.holder.name());
    (person == session.person()).then_some(job)
}

fn gone(session: &Session) -> Response {
    page::unshown(session, &Error::new(Code::NotFound, "The console does not know this operation any more"), "/inbox")
}

pub async fn show(
    State(console): State<Arc<Console>>,
    Extension(session): Extension<Session>,
    RawQuery(query): RawQuery,
) -> Response {
    blocking(move || match job(&console, &session, query) {
        Some(job) => {
            let session = session.at(&console.context);
            job.wait(MOMENT);
            shown_job(&console, &session, &job, StatusCode::OK, "")
        }
        None => gone(&session),
    })
    .await
}

/// Answers the question of an operation, or stops the operation.
pub async fn answer(
    State(console): State<Arc<Console>>,
    Extension(session): Extension<Session>,
    RawQuery(query): RawQuery,
    Extension(Posted(posted)): Extension<Posted>,
) -> Response {
    blocking(move || {
        let session = session.at(&console.context);
        let Some(job) = job(&console, &session, query) else { return gone(&session) };
        if posted.has("offer") {
            let offered = offered(&console, &session, &job, posted.get("offer"));
            return offered.unwrap_or_else(|error| page::failed(&session, &error, &job.origin.address));
        }
        let typed = posted.get("typed").to_owned();
        let answer = match posted.get("answer") {
            "stop" => {
                job.stop();
                return back_to(&job);
            }
            "yes" if job.origin.name.as_ref().is_some_and(|name| *name != typed) => {
                let why = "That is not the name. Nothing was changed.";
                return shown_job(&console, &session, &job, StatusCode::CONFLICT, why);
            }
            "yes" if job.needs_line(posted.number("question")) && typed.trim().is_empty() => {
                let why = "An answer is needed here. To stop instead, press Cancel.";
                return shown_job(&console, &session, &job, StatusCode::CONFLICT, why);
            }
            "yes" => match decided(&console, &session, &job, &posted) {
                Ok(()) => Some(typed),
                Err(error) => return shown_job(&console, &session, &job, StatusCode::CONFLICT, &error.to_string()),
            },
            _ => None,
        };
        match posted.number("question").is_some_and(|number| job.answer(number, answer)) {
            true => back_to(&job),
            false => {
                let why = "This question is no longer open.";
                shown_job(&console, &session, &job, StatusCode::CONFLICT, why)
            }
        }
    })
    .await
}

/// Checks the passkey in a session that needs one for each yes. A question that is not open yet is refused, since it may
/// open before the answer is given.
fn decided(console: &Console, session: &Session, job: &Job, posted: &Fields) -> Result<()> {
    if !session.needs_passkey() {
        return Ok(());
    }
    // The operation has the rights that it began with.
    if job.origin.grant != session.grant {
        return Err(Error::new(Code::PlanChanged, "Your access rules have changed. Nothing was changed; start again."));
    }
    let number = posted.number("question");
    let whole =
        job.state().question.as_ref().filter(|asked| number == Some(asked.number)).map(|asked| job.whole(asked));
    let whole = whole.ok_or_else(|| Error::new(Code::PlanChanged, "This question is no longer open."))?;
    passkey::decide(console, session, &job.origin.title, &whole, posted)
}

fn back_to(job: &Job) -> Response {
    Redirect::to(&format!("/job?id={}", job.id)).into_response()
}

fn shown_job(console: &Console, session: &Session, job: &Job, status: StatusCode, why: &str) -> Response {
    let run = job.state().run.clone();
    let under_way = run.as_ref().and_then(|run| run_under_way(&session.context(&console.context), run));
    let state = job.state();
    let (reloads, body) = match (&state.outcome, &state.question) {
        (Some(Ok(outcome)), _) => (false, done(&state.lines, outcome, job)),
        (Some(Err(error)), _) => (false, failed(console, session, error, job)),
        (None, Some(asked)) => (false, question(console, session, asked, job)),
        (None, None) => {
            let body = html! {
                p role="status" { "Running. " (shown(under_way.as_ref().unwrap_or(&state.progress))) }
                (lines(&state.lines))
                form method="post" action={ "/job?id=" (job.id) } {
                    (secret(session))
                    button name="answer" value="stop" { "Stop" }
                }
            };
            (true, body)
        }
    };
    let place = run.map(Place::Run).or_else(|| match &state.outcome {
        Some(Err(error)) => offers(job, error).into_iter().find_map(|offer| match offer.does {
            Does::Open(place) => Some(place),
            _ => None,
        }),
        _ => None,
    });
    let body = html! {
        (body)
        @if let Some(run) = place.as_ref().and_then(address::of) { p { a.action href=(run) { "Open the run" } } }
        @for draft in state.drafts.iter().filter_map(address::of) { p { a.action href=(draft) { "Open the draft" } } }
    };
    let at = reloads.then(String::new);
    let body = html! { @if !why.is_empty() { p.warning role="alert" { (why) } } (body) };
    Page { status, title: &job.origin.title, session: Some(session), place: None, at, reloads, body }.into_response()
}

fn question(console: &Console, session: &Session, question: &Question, job: &Job) -> Markup {
    let name = job.origin.name.as_deref().filter(|_| question.line.is_none());
    let (yes, no) = if question.line.is_some() { ("Continue", "Cancel") } else { ("Yes", "No") };
    html! {
        (lines(&question.lines))
        form.question method="post" action={ "/job?id=" (job.id) } {
            (secret(session))
            input type="hidden" name="question" value=(question.number);
            @if let Some(name) = name {
                p { strong { (shown(&question.text)) } }
                label for="typed" { "Type " code { (shown(name)) } " to confirm" }
                input #typed type="text" name="typed" autocomplete="off" spellcheck="false";
            } @else if let Some(empty) = question.line {
                label for="typed" { (shown(&question.text)) }
                input #typed type="text" name="typed" autocomplete="off" required[empty == Empty::Ends];
            } @else {
                p { strong { (shown(&question.text)) } }
            }
            (passkey::asked(console, session, About::Question(&job.whole(question))))
            button.main name="answer" value="yes" { (yes) } " "
            button name="answer" value="no" formnovalidate { (no) }
        }
    }
}

fn done(reported: &[mcpkg_console::screen::Line], outcome: &Outcome, job: &Job) -> Markup {
    html! {
        p class=(if outcome.is_done { "good" } else { "warning" }) role="status" { (shown(&outcome.sentence)) }
        (lines(reported))
        @if outcome.lines.len() > 1 { (lines(&outcome.lines)) }
        (ways_back(job))
    }
}

fn failed(console: &Console, session: &Session, error: &Error, job: &Job) -> Markup {
    // The user answered no, which is not a failure.
    let is_no = error.code() == Code::ConfirmRequired;
    html! {
        div role="alert" {
            @if is_no { p { (shown(&error.to_string())) } } @else { (lines(&reply::error(error))) }
        }
        @let calls: Vec<Action> = offers(job, error).into_iter().filter(|offer| matches!(offer.does, Does::Call(_))).collect();
        @if !calls.is_empty() && !console.only_reads(session) {
            form method="post" action={ "/job?id=" (job.id) } {
                (secret(session))
                @for offer in calls {
                    button name="offer" value=(draw::key(&offer)) { (label(&offer.words())) } " "
                }
            }
        }
        @if let Some(form) = &job.origin.form {
            (form::form(session, &job.origin.address, form, console.only_reads(session)))
        }
        (ways_back(job))
    }
}

/// Returns what the page of a failed operation offers instead: calls as buttons, and a run as a link.
fn offers(job: &Job, error: &Error) -> Vec<Action> {
    job.origin.call.as_ref().map(|call| offers::instead_of(call, error)).unwrap_or_default()
}

/// Starts the call that the page of a failed operation offers under this key.
fn offered(console: &Console, session: &Session, job: &Job, key: &str) -> Result<Response> {
    console.check_writes(session)?;
    let offers = match &job.state().outcome {
        Some(Err(error)) => offers(job, error),
        _ => Vec::new(),
    };
    let call = offers.into_iter().find(|offer| draw::key(offer) == key).and_then(|offer| match offer.does {
        Does::Call(call) => Some(*call),
        _ => None,
    });
    let call = call.ok_or_else(outdated)?;
    let origin = Origin {
        title: call.command(),
        address: job.origin.address.clone(),
        form: None,
        name: call.destroys.clone(),
        grant: session.grant.clone(),
        call: Some(call.clone()),
    };
    start(console, session, origin, move |_, context| outcome(&call, context))
}

fn ways_back(job: &Job) -> Markup {
    html! {
        p {
            a href=(job.origin.address) { "Back" }
            @if !job.origin.address.starts_with("/inbox") { " " a href="/inbox" { "Inbox" } }
        }
    }
}
