//! What an operation runs in.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use uuid::Uuid;

use super::{Audience, Body, Caller, Domains, InstallScope, Reply, Surface};
use mcpkg_base::approved::Approved;
use mcpkg_base::clock::Clock;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::redact::redacted;
use mcpkg_store::projects::{self, Project, Selection};
use mcpkg_store::revisions::Author;
use mcpkg_store::tools::session::SessionInstalls;
use mcpkg_store::{Db, Store, events};

/// Told how much of a long work is done, and of how much.
pub type Progress = dyn Fn(&str, u64, u64) + Send + Sync;

/// Told what long work has to say besides how much of it is done.
pub type Say = dyn Fn(&str) + Send + Sync;

/// Takes a part of an answer that goes on; an error ends it.
pub type Emit = dyn Fn(Reply) -> Result<()> + Send + Sync;

/// Who confirms what a shell command is about to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// It was said already (`--yes`).
    Given,
    /// A person at a terminal is asked.
    Ask,
    /// Nobody: no terminal, or an agent, which says it in its arguments.
    Nobody,
}

/// Shows what would be done and asks whether to do it; `Ok` is a yes.
pub type Ask = dyn Fn(Body, &str) -> Result<()> + Send + Sync;

/// Shows something and asks a person for a line of text; fails where there is none.
pub type Line = dyn Fn(Body, &str) -> Result<String> + Send + Sync;

/// Takes the id of a request that the caller's client shall ask its user about, once the call has ended.
pub type Elicit = dyn Fn(Uuid) + Send + Sync;

/// What an operation runs in.
#[derive(Clone)]
pub struct Context {
    /// The tables of all domains.
    pub domains: Domains,
    pub store: Store,
    pub clock: Clock,
    pub caller: Caller,
    /// Which tools the caller may reach, by their names and as commands.
    pub surface: Arc<Surface>,
    /// What the call says about its project.
    pub selection: Selection,
    /// The toolset that narrows which installed tools are seen and called, instead of the active one.
    pub toolset: Option<String>,
    /// What is installed for the caller's session, where that has installs of its own.
    pub session: Option<Arc<SessionInstalls>>,
    /// Whom an install is for, where the server says it.
    pub install_scope: Option<InstallScope>,
    /// Whether a person consents to each call of a tool that may destroy what is there (`serve --confirm destructive`).
    pub asks_before_destructive: bool,
    /// The most bytes of content one answer carries.
    pub max_answer: u64,
    /// Whether the data of a reply is shown: to a client it is, in a shell with `--json`. What costs much to put together
    /// may be left out else.
    pub shows_data: bool,
    /// Where long work reports.
    pub progress: Arc<Progress>,
    /// What long work says for who wants to follow it: log messages of a client.
    pub say: Arc<Say>,
    /// Where an operation that goes on shows what it has so far.
    pub emit: Arc<Emit>,
    /// Asks a person; refuses where there is none.
    pub ask: Arc<Ask>,
    /// Asks a person for a line of text; refuses where there is none.
    pub line: Arc<Line>,
    /// Who confirms a shell command.
    pub confirmation: Confirmation,
    /// What this user approved on this machine, outside of any database.
    pub approved: Approved,
    /// Cancelled when the user gave up; long work looks at it, and waits end with it.
    pub cancelled: CancellationToken,
    /// Told of a request that needs consent, where the caller's client can ask its user, and is trusted with the answer.
    pub elicit: Option<Arc<Elicit>>,
    /// The request for consent that the caller's client asked its user about within this call, once it was decided.
    pub answered: Option<Uuid>,
    /// Called before another host is waited for: gives back what other calls of a server wait for.
    pub step_aside: Arc<dyn Fn() + Send + Sync>,
    /// Folders that config repos may read files from, besides their own (`serve --allow-outside`).
    pub allow_outside: Vec<PathBuf>,
    /// The database that `store` stands in for, where a look may not make it.
    pub stands_for: Option<PathBuf>,
}

/// The most bytes of content one answer carries unless told otherwise: 64 MiB.
pub const MAX_ANSWER: u64 = 64 << 20;

/// The rows in a page of a list that an agent asks for.
pub const PAGE: usize = 100;

impl Context {
    /// Returns the context of the shell.
    pub fn shell(domains: Domains, store: Store, selection: Selection) -> Self {
        Self::new(domains, Caller::Shell, store, selection)
    }

    /// Returns the context of a caller, in which nobody can be asked.
    ///
    /// Whatever an operation says of its effect, it writes nothing for a caller who may only read.
    pub fn new(domains: Domains, caller: Caller, store: Store, selection: Selection) -> Self {
        let store = if caller.rights().write { store } else { store.reading() };
        Self {
            domains,
            store,
            clock: Clock::system(),
            caller,
            surface: Arc::default(),
            selection,
            toolset: None,
            session: None,
            install_scope: None,
            asks_before_destructive: false,
            max_answer: MAX_ANSWER,
            shows_data: true,
            progress: Arc::new(|_, _, _| {}),
            say: Arc::new(|_| {}),
            emit: Arc::new(|_| Ok(())),
            ask: Arc::new(|_, question| {
                let refused = question.replacen('?', " needs to be confirmed.", 1);
                Err(Error::new(Code::ConfirmRequired, format!("{refused} Nothing was changed")))
            }),
            line: Arc::new(|_, question| {
                Err(Error::new(Code::TerminalRequired, format!("Nobody is available to answer: {question}")))
            }),
            confirmation: Confirmation::Nobody,
            approved: Approved::of_user(),
            cancelled: CancellationToken::new(),
            elicit: None,
            answered: None,
            step_aside: Arc::new(|| {}),
            allow_outside: Vec::new(),
            stands_for: None,
        }
    }

    /// Returns the context of a caller at what a domain serves over HTTP. A key that was made to publish or to attest writes
    /// there, also where it only reads over MCP; nobody else does.
    pub fn of_served(domains: Domains, caller: Caller, store: Store, selection: Selection) -> Self {
        let may_write = !caller.publishing().is_empty() || caller.attests();
        let store = if may_write { store } else { store.reading() };
        Self { store: store.clone(), ..Self::new(domains, caller, store, selection) }
    }

    /// The path of the database that the call is about, absolute.
    pub fn database(&self) -> &Path {
        self.stands_for.as_deref().unwrap_or_else(|| self.store.location().argument())
    }

    /// Returns whom tools that are data are listed and found for.
    pub fn audience(&self) -> Audience<'_> {
        let (key, session) = (self.caller.key(), self.session.as_ref());
        let identity = self.caller.identity();
        Audience { identity, selection: &self.selection, key, session, toolset: self.toolset.as_deref() }
    }

    /// Runs `f` in one read transaction with the project that applies.
    ///
    /// # Errors
    /// `E_NO_PROJECT`, `E_NOT_FOUND` for the project, and what `f` returns.
    pub fn read<T>(&self, f: impl FnOnce(&Db<'_>, &Project) -> Result<T>) -> Result<T> {
        self.store.read(|db| f(db, &projects::require(db, &self.selection)?))
    }

    /// Runs `f` in one write transaction with the project that applies, and appends the event `kind` of `subject` where
    /// `f` changed any row.
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
            // What was so already did not happen.
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

    /// Who changes something, and when.
    pub fn author(&self) -> Author<'_> {
        Author { actor: self.caller.actor(), now: self.clock.now() }
    }

    /// Appends the event of something done.
    pub fn event(
        &self,
        db: &Db<'_>,
        author: Author<'_>,
        project: Option<&str>,
        kind: &str,
        subject: &str,
    ) -> Result<()> {
        let subject = redacted(subject);
        let event =
            events::NewEvent { at: author.now, actor: author.actor, project, kind, subject: &subject, outcome: "ok" };
        events::append(db, event)
    }

    /// Returns the same context on a handle that cannot write.
    pub(super) fn reading(&self) -> Self {
        Self { store: self.store.reading(), ..self.clone() }
    }

    /// Whether a person at a shell calls, or a program of theirs, and no agent.
    pub fn is_shell(&self) -> bool {
        self.caller.is_shell()
    }

    /// Whether the user gave up; long work looks at it.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }

    /// Refuses to go on with what has changed nothing yet, where the user gave up.
    pub fn unless_cancelled(&self) -> Result<()> {
        match self.is_cancelled() {
            true => Err(Error::new(Code::Cancelled, "Cancelled; nothing was changed")),
            false => Ok(()),
        }
    }

    /// Appends the event of a refused change. Where the disk cannot take it, or the caller may only read and so changes
    /// no row at all, a line in the log stands for it.
    pub(super) fn refused(&self, kind: &str, subject: &str, error: &Error) {
        // Callers put addresses with passwords where a name belongs, too.
        let subject = &*redacted(subject);
        if !self.store.may_write() {
            tracing::info!(kind, subject, refused = error.code().name(), "refused: the caller has read-only access");
            return;
        }
        if error.code() == Code::Busy {
            // Who waited the whole busy time does not wait for it again.
            tracing::info!(kind, subject, "the trail was not written either");
            return;
        }
        let author = self.author();
        let appended = self.store.write_in(&self.selection, |db, project| {
            let project = project.ok();
            events::append(
                db,
                events::NewEvent {
                    at: author.now,
                    actor: author.actor,
                    project: project.as_ref().map(|project| project.name.as_str()),
                    kind,
                    subject,
                    outcome: error.code().name(),
                },
            )
        });
        match appended {
            // What refused the change refuses its trail too; the caller hears of it already.
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
