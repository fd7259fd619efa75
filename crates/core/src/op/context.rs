//! The context of an operation: its caller, its database, and the functions with which it reports and asks.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use tokio_util::sync::CancellationToken;

use uuid::Uuid;

use super::{Audience, Body, Caller, Choose, Domains, InstallScope, Reply, Surface};
use crate::note;
use mcpkg_base::approved::Approved;
use mcpkg_base::clock::{Clock, short_id};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::redact::redacted;
use mcpkg_store::projects::{self, Project, Selection};
use mcpkg_store::revisions::Author;
use mcpkg_store::tools::session::SessionInstalls;
use mcpkg_store::{Db, Store, events};

/// Reports the progress of long work: what is being done, how much is done, and the total.
pub type Progress = dyn Fn(&str, u64, u64) + Send + Sync;

/// Reports messages of long work, in addition to its progress.
pub type Say = dyn Fn(&str) + Send + Sync;

/// Shows a part of an answer that continues, as in `events --follow`. Returning an error ends the answer.
pub type Emit = dyn Fn(Reply) -> Result<()> + Send + Sync;

/// The way in which the changes of a shell command are confirmed before they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// The user confirmed in the command itself (`--yes`).
    Given,
    /// A person at a terminal is asked.
    Ask,
    /// Nobody can confirm here: there is no terminal, or the caller is an agent, which confirms in its arguments.
    Nobody,
}

/// Where a person sees what an operation returns, and answers its questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedIn {
    Terminal,
    Browser,
}

impl AskedIn {
    /// Returns the words for a sentence, such as `accepted at a terminal`.
    pub const fn words(self) -> &'static str {
        match self {
            AskedIn::Terminal => "at a terminal",
            AskedIn::Browser => "in a browser",
        }
    }
}

/// Shows a plan and asks whether to apply it. `Ok` means yes.
pub type Ask = dyn Fn(Body, &str) -> Result<()> + Send + Sync;

/// Shows something and asks a person for a line of text. Fails without a person at a terminal.
pub type Line = dyn Fn(Body, &str, Empty) -> Result<String> + Send + Sync;

/// What an empty answer to a question for a line of text means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Empty {
    /// It is an answer, such as the default that the question names.
    Answers,
    /// It ends the operation. A page asks again instead, because it has a button to cancel.
    Ends,
}

/// Takes the id of a run as soon as the run is stored.
pub type Began = dyn Fn(Uuid) + Send + Sync;

/// Takes the id of a request for consent. Once the call has ended, the caller's client asks its user about the request.
pub type Elicit = dyn Fn(Uuid) + Send + Sync;

/// The context of an operation.
#[derive(Clone)]
pub struct Context {
    pub domains: Domains,
    pub store: Store,
    pub clock: Clock,
    pub caller: Caller,
    /// The tools that the caller may reach, by name or as commands.
    pub surface: Arc<Surface>,
    /// How the call selects its project.
    pub selection: Selection,
    /// The toolset that limits which installed tools are visible and callable. It replaces the toolset that is active
    /// in the database.
    pub toolset: Option<String>,
    /// The id of the client's connection or of the shell command, for the audit trail (`events`). Empty if nothing will
    /// be written.
    pub connection: Arc<str>,
    /// The tools that the session installed for itself, if any.
    pub session: Option<Arc<SessionInstalls>>,
    /// Which clients can use a tool that this client installs, if the server restricts this.
    pub install_scope: Option<InstallScope>,
    /// Whether a person must consent to each call of a destructive tool (`serve --confirm destructive`).
    pub asks_before_destructive: bool,
    /// The maximum size of content in one answer, in bytes.
    pub max_answer: u64,
    /// Whether the reply's data is shown: always to clients, and in a shell with `--json`. Otherwise the operation may leave
    /// out data that is expensive to collect.
    pub shows_data: bool,
    /// Reports the progress of long work.
    pub progress: Arc<Progress>,
    /// Reports messages of long work. A client gets them as log messages.
    pub say: Arc<Say>,
    pub emit: Arc<Emit>,
    /// Takes the id of each run that the operation begins or continues.
    pub began: Arc<Began>,
    /// Asks a person for a decision. Fails if there is nobody to ask.
    pub ask: Arc<Ask>,
    /// Lets a person choose from a list. `None` without a terminal that can show one.
    pub choose: Option<Arc<Choose>>,
    /// Asks a person for a line of text. Fails if there is nobody to ask.
    pub line: Arc<Line>,
    pub confirmation: Confirmation,
    /// Where `ask` and `line` reach the person. The console has one caller for the terminal and the browser.
    pub asked_in: AskedIn,
    /// The approvals that this user gave on this machine. They are stored outside the database.
    pub approved: Approved,
    /// Cancelled when the user gives up. Long work checks this token, and every wait ends when it is cancelled.
    pub cancelled: CancellationToken,
    /// Takes the ids of consent requests that the client should ask its user about. `None` if the client cannot do that or is
    /// not trusted with it.
    pub elicit: Option<Arc<Elicit>>,
    /// The consent request that the client asked its user about during this call, once that request is decided.
    pub answered: Option<Uuid>,
    /// The notes of the consents that the call used. The caller gets them with the result.
    pub notes: Arc<Mutex<Vec<String>>>,
    /// Called before a long wait, such as for another host, to release locks that other calls of the same server may
    /// need.
    pub step_aside: Arc<dyn Fn() + Send + Sync>,
    /// Folders that config repos may read files from, in addition to their own (`serve --allow-outside`).
    pub allow_outside: Vec<PathBuf>,
    /// Whether the caller is a read-only console, which neither changes stored data nor writes files of the user.
    pub is_read_only: bool,
    /// If a command must not create a missing database, `store` is an empty substitute, and this is the path of the
    /// missing database.
    pub stands_for: Option<PathBuf>,
}

/// The default for [`Context::max_answer`]: 64 MiB.
pub const MAX_ANSWER: u64 = 64 << 20;

/// The number of rows that an agent gets in one page of a list.
pub const PAGE: usize = 100;

impl Context {
    pub fn shell(domains: Domains, store: Store, selection: Selection) -> Self {
        Self::new(domains, Caller::Shell, store, selection)
    }

    /// Returns a context in which nobody can be asked.
    ///
    /// If the caller may only read, the context cannot write, no matter which effect an operation declares.
    pub fn new(domains: Domains, caller: Caller, store: Store, selection: Selection) -> Self {
        let store = if caller.rights().write { store } else { store.reading() };
        let connection = if caller.is_shell() { short_id().into() } else { Arc::default() };
        Self {
            domains,
            store,
            clock: Clock::system(),
            caller,
            surface: Arc::default(),
            selection,
            toolset: None,
            connection,
            session: None,
            install_scope: None,
            asks_before_destructive: false,
            max_answer: MAX_ANSWER,
            shows_data: true,
            progress: Arc::new(|_, _, _| {}),
            say: Arc::new(|_| {}),
            emit: Arc::new(|_| Ok(())),
            began: Arc::new(|_| {}),
            ask: Arc::new(|_, question| {
                let refused = question.replacen('?', " needs to be confirmed.", 1);
                Err(Error::new(Code::ConfirmRequired, format!("{refused} Nothing was changed")))
            }),
            choose: None,
            line: Arc::new(|_, question, _| {
                Err(Error::new(Code::TerminalRequired, format!("Nobody is available to answer: {question}")))
            }),
            confirmation: Confirmation::Nobody,
            asked_in: AskedIn::Terminal,
            approved: Approved::of_user(),
            cancelled: CancellationToken::new(),
            elicit: None,
            answered: None,
            notes: Arc::default(),
            step_aside: Arc::new(|| {}),
            allow_outside: Vec::new(),
            is_read_only: false,
            stands_for: None,
        }
    }

    /// Returns the context for an HTTP request to a domain's own path, such as the registry. A caller who may publish
    /// or attest can write here, even with a key or token that is read-only over MCP. All other callers can only read.
    pub fn of_served(domains: Domains, caller: Caller, store: Store, selection: Selection) -> Self {
        let may_write = !caller.publishing().is_empty() || caller.attests();
        let store = if may_write { store } else { store.reading() };
        Self { store: store.clone(), ..Self::new(domains, caller, store, selection) }
    }

    /// Returns the absolute path of the database that the caller means, even if an empty substitute is used.
    pub fn database(&self) -> &Path {
        self.stands_for.as_deref().unwrap_or_else(|| self.store.location().argument())
    }

    /// Returns the caller for whom tools that come from data are listed.
    pub fn audience(&self) -> Audience<'_> {
        let (key, session) = (self.caller.key(), self.session.as_ref());
        let identity = self.caller.identity();
        Audience { identity, selection: &self.selection, key, session, toolset: self.toolset.as_deref() }
    }

    /// Runs `f` in one read transaction with the selected project.
    ///
    /// # Errors
    /// `E_NO_PROJECT`, `E_NOT_FOUND` for the project, and what `f` returns.
    pub fn read<T>(&self, f: impl FnOnce(&Db<'_>, &Project) -> Result<T>) -> Result<T> {
        self.store.read(|db| f(db, &projects::require(db, &self.selection)?))
    }

    /// Runs `f` in one write transaction with the selected project. Appends the event `kind` of `subject` if `f` changed any
    /// row.
    ///
    /// # Errors
    /// `E_NO_PROJECT`, `E_NOT_FOUND` for the project, and what `f` returns.
    pub fn write<T>(
        &self,
        kind: &str,
        subject: &str,
        f: impl FnOnce(&Db<'_>, &Project, Author<'_>) -> Result<T>,
    ) -> Result<T> {
        let author = self.author();
        self.store.write_in(&self.selection, |db, project| {
            let project = project?;
            let before = db.changed_rows();
            let value = f(db, &project, author)?;
            // If no row changed, there is nothing to record.
            if db.changed_rows() != before {
                self.event(db, author, Some(&project.name), kind, subject)?;
            }
            Ok(value)
        })
    }

    /// Runs `f` in one write transaction, and appends the event `kind` of the project `name`.
    pub fn write_project<T>(&self, kind: &str, name: &str, f: impl FnOnce(&Db<'_>) -> Result<T>) -> Result<T> {
        let author = self.author();
        self.store.write(|db| {
            let value = f(db)?;
            self.event(db, author, Some(name), kind, name)?;
            Ok(value)
        })
    }

    /// Returns the author of a change: the caller and the current time.
    pub fn author(&self) -> Author<'_> {
        Author { actor: self.caller.actor(), now: self.clock.now() }
    }

    /// Appends an event to the audit trail.
    pub fn event(
        &self,
        db: &Db<'_>,
        author: Author<'_>,
        project: Option<&str>,
        kind: &str,
        subject: &str,
    ) -> Result<()> {
        let subject = redacted(subject);
        events::append(db, self.new_event(author, project, kind, &subject, "ok"))
    }

    pub fn new_event<'a>(
        &'a self,
        Author { actor, now: at }: Author<'a>,
        project: Option<&'a str>,
        kind: &'a str,
        subject: &'a str,
        outcome: &'a str,
    ) -> events::NewEvent<'a> {
        let session = Some(&*self.connection).filter(|id| !id.is_empty());
        events::NewEvent { at, actor, project, kind, subject, outcome, session }
    }

    /// Keeps the note of a consent that the call used.
    pub(crate) fn note(&self, note: &str) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        // The note may already be there, because a transaction may run twice.
        if !notes.iter().any(|known| known == note) {
            notes.push(note.to_owned());
        }
    }

    /// Takes the notes of the consents that the call used.
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the same context with a database handle that cannot write.
    pub(super) fn reading(&self) -> Self {
        Self { store: self.store.reading(), ..self.clone() }
    }

    pub fn is_shell(&self) -> bool {
        self.caller.is_shell()
    }

    /// Whether the user has given up. Long work checks this regularly.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }

    /// Fails if the user has given up. For work that has not changed anything yet.
    pub fn unless_cancelled(&self) -> Result<()> {
        match self.is_cancelled() {
            true => Err(Error::new(Code::Cancelled, "Cancelled; nothing was changed")),
            false => Ok(()),
        }
    }

    /// Appends the event of a refused change. If the event cannot be stored, for example because the disk is full or
    /// the caller may only read, writes a line to the log instead.
    pub(super) fn refused(&self, kind: &str, subject: &str, error: &Error) {
        // Redact the subject: the caller may have put an address with a password where a name belongs.
        let subject = &*redacted(subject);
        if !self.store.may_write() {
            tracing::info!(kind, subject, refused = error.code().name(), "refused: the caller has read-only access");
            return;
        }
        if error.code() == Code::Busy {
            // The call has already waited as long as it may for a lock, so do not wait for the event as well.
            tracing::info!(kind, subject, "the trail was not written either");
            return;
        }
        let author = self.author();
        let appended = self.store.write_in(&self.selection, |db, project| {
            let project = project.ok();
            let project = project.as_ref().map(|project| project.name.as_str());
            events::append(db, self.new_event(author, project, kind, subject, error.code().name()))
        });
        match appended {
            // One problem prevented both the change and its event. The caller gets the error about the change anyway.
            Err(trail) if trail.code() == error.code() => {
                tracing::info!(kind, subject, refused = error.code().name(), "the trail could not be written either");
            }
            Err(trail) => {
                tracing::warn!(kind, subject, refused = error.code().name(), error = %trail, "the trail could not be written")
            }
            Ok(()) => {}
        }
    }
}

/// Returns the sentence with which a consent's note is passed on.
pub fn approved(note: &str) -> String {
    format!("approved: {}", note::quoted(note))
}

/// Adds the notes of the used consents to a call's result: as warnings, or in the details of the error.
pub fn noted(outcome: Result<Reply>, notes: &[String]) -> Result<Reply> {
    match outcome {
        Ok(reply) => Ok(reply.warn(notes.iter().map(|note| approved(note)))),
        Err(error) if !notes.is_empty() => {
            let mut details = error.details().cloned().unwrap_or_else(|| json!({}));
            if let Some(details) = details.as_object_mut() {
                details.insert("note".to_owned(), notes.join("\n").into());
            }
            Err(error.with_details(details))
        }
        failed => failed,
    }
}
