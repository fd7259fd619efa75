//! Serves the pages of places: shows a screen, and runs its buttons and forms.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_console::place::Place;
use mcpkg_console::screen::{Body as Shown, Line, Row};
use mcpkg_console::{Action, Does, Invocation, Part, Screen, health, load, reviewed};
use mcpkg_core::op::Context;

use super::address::Fields;
use super::at::At;
use super::console::{Console, blocking, start};
use super::doors::Posted;
use super::draw::{self, Drawing};
use super::edit::{self, Edited};
use super::form;
use super::job::{Origin, Outcome, not_confirmed, outdated};
use super::page::{self, Page};
use super::session::Session;

/// Shows the place at an address.
pub async fn show(State(console): State<Arc<Console>>, Extension(session): Extension<Session>, uri: Uri) -> Response {
    blocking(move || {
        let session = session.at(&console.context);
        let context = session.context(&console.context);
        let Some(mut at) = At::read(uri.path(), uri.query().unwrap_or_default()) else { return nothing(&session) };
        // Read the position before the screen. If something is committed in between, the browser sees a newer position
        // and loads the page again.
        let position = console.context.store.position().ok().map(|position| position.to_string());
        // The health page counts rows, which would take too long after each commit.
        let position = position.filter(|_| at.place != Place::Health);
        match screen(&context, &mut at) {
            Ok(Screen { body: Shown::Editor(document), .. }) => {
                let shown = edit::shown(&console, &session, &Edited::Workflow(document), position);
                shown.unwrap_or_else(|error| page::unshown(&session, &error, "/inbox"))
            }
            Ok(mut screen) => {
                if let Some(requests) = console.requests.as_ref().filter(|_| at.place == Place::Health) {
                    health::add(&mut screen, requests());
                }
                let (domains, is_read_only) = (console.context.domains, console.only_reads(&session));
                let drawing = Drawing { session: &session, at: &at, domains, is_read_only };
                let (title, body) = (screen.title.as_str(), drawing.screen(&screen));
                Page { title, at: position, body, ..Page::of(&session, StatusCode::OK, &at.place) }.into_response()
            }
            Err(error) => page::unshown(&session, &error, "/inbox"),
        }
    })
    .await
}

/// Loads the screen of a page. If the list is filtered and not all of its rows are loaded, searches the database for
/// the words of the filter, provided that the place can be searched.
fn screen(context: &Context, at: &mut At) -> Result<Screen> {
    let screen = load(&at.place, context, &at.part)?;
    let has_more = matches!(&screen.body, Shown::List(list) if list.rows.iter().any(Row::is_more));
    if !has_more || at.words.is_empty() || !at.place.has_search() {
        return Ok(screen);
    }
    at.part.words.clone_from(&at.words);
    load(&at.place, context, &at.part)
}

fn nothing(session: &Session) -> Response {
    page::unshown(session, &Error::new(Code::NotFound, "The console has no page at this address"), "/inbox")
}

/// Runs the posted button or form of a place.
pub async fn act(
    State(console): State<Arc<Console>>,
    Extension(session): Extension<Session>,
    Extension(Posted(posted)): Extension<Posted>,
    uri: Uri,
) -> Response {
    blocking(move || {
        let session = session.at(&console.context);
        let Some(mut at) = At::read(uri.path(), uri.query().unwrap_or_default()) else { return nothing(&session) };
        match acted(&console, &session, &mut at, &posted) {
            Ok(response) => response,
            Err(error) => page::failed(&session, &error, &at.address()),
        }
    })
    .await
}

fn acted(console: &Arc<Console>, session: &Session, at: &mut At, posted: &Fields) -> Result<Response> {
    let screen = screen(&session.context(&console.context), at)?;
    match &screen.body {
        Shown::Form(form) => run_form(console, session, at, form.clone(), posted),
        Shown::Editor(document) => edit::answered(console, session, Edited::Workflow(document.clone()), posted),
        _ => press(console, session, at, &screen, posted),
    }
}

/// Runs the action of a button.
fn press(console: &Arc<Console>, session: &Session, at: &At, screen: &Screen, posted: &Fields) -> Result<Response> {
    let (row, actions, seen) = match posted.has("row") {
        true => {
            let Shown::List(list) = &screen.body else { return Err(outdated()) };
            let row = list.rows.iter().find(|row| row.id == posted.get("row")).ok_or_else(outdated)?;
            (Some(row), &row.actions, draw::seen_row(row))
        }
        false => (None, &screen.actions, draw::seen_screen(screen)),
    };
    let mut posts = actions.iter().filter(|action| draw::is_posted(action));
    let action = posts.find(|action| draw::key(action) == posted.get("key")).ok_or_else(outdated)?;
    if posted.get("seen") != seen {
        return Err(outdated());
    }
    if action.changes(console.context.domains) {
        console.check_writes(session)?;
    }
    match &action.does {
        Does::Review(digest) => {
            reviewed::toggle(&console.context, digest)?;
            Ok(Redirect::to(&at.address()).into_response())
        }
        Does::Call(call) => call_of(console, session, at, row, action, call.clone().noting(posted.get("note"))),
        _ => Err(outdated()),
    }
}

/// Starts the operation of a button. The button of a row asks for confirmation first and quotes the page that the row
/// links to, unless [`draw::asks`] says that no question is needed. In a session that needs a passkey for each yes, the
/// button of a whole page asks too, and quotes that page.
fn call_of(
    console: &Arc<Console>,
    session: &Session,
    at: &At,
    row: Option<&Row>,
    action: &Action,
    call: Invocation,
) -> Result<Response> {
    if draw::needs_terminal(&call) {
        let error = Error::new(Code::TerminalRequired, "This opens an editor, which needs a terminal");
        return Err(error.hint(format!("in a terminal, run `{}`", call.command())));
    }
    let quoted = match row {
        _ if draw::asks(&call, console.context.domains) => None,
        Some(row) => Some(match &row.look {
            Some(look) => Quoted::Place(look.clone()),
            None => Quoted::Row(draw::words(row)),
        }),
        None => session.needs_passkey().then(|| Quoted::Place(at.place.clone())),
    };
    let question = format!("{}: run `{}`?", action.words(), call.command());
    let origin = origin(session, at, &call, None);
    start(console, session, origin, move |job, context| {
        if let Some(quoted) = quoted {
            let lines = quoted.lines(context)?;
            job.ask(lines.clone(), &question).ok_or_else(not_confirmed)?;
            if quoted.lines(context)? != lines {
                return Err(outdated());
            }
        }
        outcome(&call, context)
    })
}

/// The content that a confirmation quotes.
enum Quoted {
    Place(Place),
    Row(String),
}

impl Quoted {
    fn lines(&self, context: &Context) -> Result<Vec<Line>> {
        Ok(match self {
            Self::Place(place) => draw::lines_of(&load(place, context, &Part::default())?),
            Self::Row(words) => vec![Line::quoted(words)],
        })
    }
}

fn run_form(
    console: &Arc<Console>,
    session: &Session,
    at: &At,
    form: mcpkg_console::form::Form,
    posted: &Fields,
) -> Result<Response> {
    let form = form::filled(form, posted)?;
    let call = form.invocation();
    let reads = call.entry(console.context.domains).is_some_and(|entry| entry.effect.reads());
    if !reads {
        console.check_writes(session)?;
    }
    if draw::needs_terminal(&call) {
        let error = Error::new(Code::TerminalRequired, "This opens an editor, which needs a terminal");
        return Err(error.hint(format!("in a terminal, run `{}`", call.command())));
    }
    let origin = origin(session, at, &call, Some(form));
    let question = format!("Run `{}`?", call.command());
    // Some reads write a file of the server's user, such as `workflow export`.
    let call = if reads && !session.needs_passkey() { call } else { call.asking(question) };
    start(console, session, origin, move |_, context| outcome(&call, context))
}

fn origin(session: &Session, at: &At, call: &Invocation, form: Option<mcpkg_console::form::Form>) -> Origin {
    let (grant, command) = (session.grant.clone(), call.command());
    let (call, name) = (Some(call.clone()), call.destroys.clone());
    Origin { title: command, address: at.address(), form, call, name, grant }
}

/// Runs a call, and returns what its page shows.
pub fn outcome(call: &Invocation, context: &Context) -> Result<Outcome> {
    let reply = call.run(context)?;
    let decided = mcpkg_console::decided(call, &reply.data);
    let outcome = Outcome::of(&reply);
    Ok(Outcome { sentence: decided.unwrap_or(outcome.sentence), ..outcome })
}
