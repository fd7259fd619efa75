//! Serves the pages that edit a text: a workflow, a draft, or an item of the content.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use maud::html;

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::{diff, hex, sha256};
use mcpkg_console::diff::lines;
use mcpkg_console::document::{self, Document, Saved, validated};
use mcpkg_console::editor::{difference, title};
use mcpkg_console::finding::{self, Finding};
use mcpkg_console::picker::{self, Picker, Spot};
use mcpkg_console::place::{Place, Text};
use mcpkg_console::screen::Line;
use mcpkg_core::op::Context;

use super::address::{self, Fields};
use super::console::{Console, blocking, start};
use super::doors::{Posted, policy};
use super::editor::{Sheet, mended, suggestions};
use super::item::{self, Item};
use super::job::{Origin, Outcome, not_confirmed, outdated};
use super::page::{self, Page};
use super::session::Session;
use super::text::{label, shown as shown_text};

/// A text that a page edits.
pub enum Edited {
    Workflow(Box<Document>),
    Item(Box<Item>),
}

impl Edited {
    fn place(&self) -> Place {
        match self {
            Self::Workflow(document) => Place::Editor(document.origin.clone()),
            Self::Item(item) => item.place.clone(),
        }
    }

    fn title(&self) -> String {
        match self {
            Self::Workflow(document) => title(document, &document.name),
            Self::Item(item) => format!("Content > edit {}", item.shown()),
        }
    }

    fn address(&self) -> String {
        match self {
            Self::Workflow(_) => address::of(&self.place()).unwrap_or_default(),
            Self::Item(item) => item.address(),
        }
    }

    /// Returns the text that the editor was opened with.
    fn text(&self) -> &str {
        match self {
            Self::Workflow(document) => &document.text,
            Self::Item(item) => &item.text,
        }
    }

    /// Returns a hash of the texts and the revision that an editor was opened with. A later hash differs if somebody else
    /// has saved another text since.
    fn base(&self) -> String {
        match self {
            Self::Workflow(document) => {
                sha256::hex(format!("{}\n{}\n{}", document.revision, document.saved, document.text))
            }
            Self::Item(item) => sha256::hex(&item.text),
        }
    }

    /// Returns who saved the newest revision; empty if that is unknown, as for the text of a draft.
    fn saved_by(&self, context: &Context) -> String {
        match self {
            Self::Workflow(document) if matches!(document.origin, Text::Draft(_)) => String::new(),
            Self::Workflow(document) => document::by(context, "workflow", &document.name),
            Self::Item(item) => item.saved_by(context),
        }
    }

    /// Returns the difference from what is saved to `written`; empty if there is none.
    fn changes(&self, written: &str) -> Vec<Line> {
        match self {
            Self::Workflow(document) if document.saved == written => Vec::new(),
            Self::Workflow(document) => difference(document, written),
            Self::Item(item) => lines(&diff::unified(&item.text, written, item.shown(), "edited")),
        }
    }

    fn findings(&self, context: &Context, written: &str) -> Result<Vec<Finding>> {
        match self {
            Self::Workflow(document) if document.text == written => Ok(document.findings.clone()),
            Self::Workflow(_) => validated(context, written),
            Self::Item(item) => item.findings(context, written),
        }
    }

    /// Returns the sentence about the button that saves, such as `Save review`.
    fn saving(&self) -> String {
        match self {
            Self::Workflow(document) if matches!(document.origin, Text::Draft(_)) => {
                format!("Approve the draft of {}", document.name)
            }
            Self::Workflow(document) => format!("Save {}", document.name),
            Self::Item(item) => format!("Save {}", item.shown()),
        }
    }

    fn save(&self, context: &Context, written: &str) -> Result<Outcome> {
        match self {
            Self::Workflow(document) => match document.save(context, written) {
                Saved::Done(reply) => Ok(Outcome::done(document.saved(&reply))),
                Saved::Overtaken(_) => Err(outdated()),
                Saved::Failed { error, .. } => Err(error),
            },
            Self::Item(item) => {
                if Item::open(context, &item.place)?.text != item.text {
                    return Err(outdated());
                }
                let reply = item.save(context, written)?;
                Ok(Outcome::of(&reply))
            }
        }
    }

    fn sheet<'s>(
        &self,
        address: &'s str,
        (text, findings): (&'s str, &'s [Finding]),
        nonce: &'s str,
        saved_by: &'s str,
        is_read_only: bool,
    ) -> Sheet<'s> {
        let (label, about, syntax, save) = match self {
            Self::Workflow(document) if document.by.is_empty() => ("Text of the workflow", "", "yaml", "Save"),
            Self::Workflow(_) => ("Text of the workflow", "", "yaml", "Save and approve"),
            Self::Item(item) if item.has_front_matter => {
                ("Text", "The front matter of the prompt's file is not shown here, and stays.", item.syntax, "Save")
            }
            Self::Item(item) => ("Text", "", item.syntax, "Save"),
        };
        let (base, changes, suggests) = (self.base(), self.changes(text), matches!(self, Self::Workflow(_)));
        Sheet {
            address,
            label,
            about,
            syntax,
            suggests,
            save,
            base,
            saved_by,
            text,
            findings,
            changes,
            is_read_only,
            nonce,
        }
    }
}

/// Returns the page of an editor with `text`. `position` is the last commit that the page shows.
fn drawn(
    console: &Console,
    session: &Session,
    edited: &Edited,
    (text, findings): (&str, &[Finding]),
    position: Option<String>,
    status: StatusCode,
) -> Result<Response> {
    let nonce = hex::encode(&console.context.clock.secret()?);
    let (address, title, place) = (edited.address(), edited.title(), edited.place());
    let saved_by = document::who(&edited.saved_by(&session.context(&console.context)));
    let sheet = edited.sheet(&address, (text, findings), &nonce, &saved_by, console.only_reads(session));
    let ask = match edited {
        Edited::Workflow(document) if !console.only_reads(session) => match &document.origin {
            Text::Empty => Some(Place::Ask(None)),
            origin => Some(Place::Ask(Some(origin.clone()))),
        },
        _ => None,
    };
    let body = html! {
        @if status == StatusCode::CONFLICT {
            p.warning role="alert" {
                (shown_text(&saved_by)) " saved another text in the meantime. Nothing was overwritten, and your text is still here. "
                "Saving it now saves it over theirs."
            }
        }
        (sheet.draw(session))
        @if let Some(ask) = ask.as_ref().and_then(address::of) {
            p { a.action href=(ask) { (label("ask your agent")) } }
        }
    };
    let mut response = Page { title: &title, at: position, body, ..Page::of(session, status, &place) }.into_response();
    // CodeMirror puts its styles into elements with this nonce.
    if let Ok(policy) = HeaderValue::try_from(policy(&nonce)) {
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
    Ok(response)
}

/// Shows an editor.
pub fn shown(console: &Console, session: &Session, edited: &Edited, position: Option<String>) -> Result<Response> {
    let findings = edited.findings(&session.context(&console.context), edited.text())?;
    drawn(console, session, edited, (edited.text(), &findings), position, StatusCode::OK)
}

/// Checks, mends or saves the posted text.
pub fn answered(console: &Arc<Console>, session: &Session, edited: Edited, posted: &Fields) -> Result<Response> {
    console.check_writes(session)?;
    let context = session.context(&console.context);
    let mut text = posted.get("text").replace("\r\n", "\n");
    if posted.get("key") == "suggest" {
        return suggested(&context, &edited, &text, posted);
    }
    let is_old = posted.get("base") != edited.base();
    if posted.get("key") != "save" || is_old {
        let mut findings = edited.findings(&context, &text)?;
        if let Some(mended) = mended(&findings, &text, posted.get("fix")) {
            findings = edited.findings(&context, &mended)?;
            text = mended;
        }
        let status = if is_old { StatusCode::CONFLICT } else { StatusCode::OK };
        return drawn(console, session, &edited, (&text, &findings), None, status);
    }
    let origin = Origin {
        title: edited.saving(),
        address: edited.address(),
        form: None,
        call: None,
        name: None,
        grant: session.grant.clone(),
    };
    start(console, session, origin, move |job, context| {
        let mut shown = finding::before_saving(&edited.findings(context, &text)?);
        match edited.changes(&text) {
            none if none.is_empty() => shown.push(Line::plain("Nothing changed.")),
            changes => shown.extend(changes),
        }
        job.ask(shown, "Save this text?").ok_or_else(not_confirmed)?;
        edited.save(context, &text)
    })
}

/// Returns what fits at a place of a workflow.
fn suggested(context: &Context, edited: &Edited, text: &str, posted: &Fields) -> Result<Response> {
    let place = posted.number("line").zip(posted.number("column"));
    let (Edited::Workflow(_), Some((line, column))) = (edited, place) else {
        return Err(Error::new(Code::InvalidArgument, "There are no suggestions here"));
    };
    let picker = match picker::suggested(context, text, &Spot::Cursor(line, column), "") {
        // Nothing can be suggested at a place that is neither an input nor an argument, such as an unknown key.
        Err(error) if error.code() == Code::InvalidArgument => Picker::default(),
        found => found?,
    };
    Ok(Html(suggestions(&picker).into_string()).into_response())
}

/// Opens the item that an address names.
fn opened(context: &Context, query: Option<String>) -> Result<Edited> {
    let place = item::named(&Fields::parse(query.unwrap_or_default().as_bytes()));
    let place = place.ok_or_else(|| Error::new(Code::NotFound, "The console has no page at this address"))?;
    Item::open(context, &place).map(|item| Edited::Item(Box::new(item)))
}

/// Shows the editor of an item.
pub async fn show(
    State(console): State<Arc<Console>>,
    Extension(session): Extension<Session>,
    RawQuery(query): RawQuery,
) -> Response {
    blocking(move || {
        let session = session.at(&console.context);
        let position = console.context.store.position().ok().map(|position| position.to_string());
        let edited = opened(&session.context(&console.context), query);
        edited
            .and_then(|edited| shown(&console, &session, &edited, position))
            .unwrap_or_else(|error| page::unshown(&session, &error, "/content"))
    })
    .await
}

/// Checks or saves the text of an item.
pub async fn act(
    State(console): State<Arc<Console>>,
    Extension(session): Extension<Session>,
    RawQuery(query): RawQuery,
    Extension(Posted(posted)): Extension<Posted>,
) -> Response {
    blocking(move || {
        let session = session.at(&console.context);
        let edited = opened(&session.context(&console.context), query);
        edited
            .and_then(|edited| answered(&console, &session, edited, &posted))
            .unwrap_or_else(|error| page::failed(&session, &error, "/content"))
    })
    .await
}
