//! What an operation is: one thing a user can do, defined once, reached from the shell and as an MCP tool.
//!
//! A struct whose fields are the arguments implements [`Operation`]; [`Entry::of`] erases its type, so that both
//! faces, the reference pages and the tests walk one table (`crate::operations`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::clock::Clock;
use crate::error::{Code, Error, Result};
use crate::store::projects::{self, Project, Selection};
use crate::store::revisions::Author;
use crate::store::{Db, Store, events};

/// Which faces an operation shows itself on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Faces {
    /// The shell and MCP tools.
    Both,
    /// The shell only: agents never import, export, back up, restore or manage projects.
    Shell,
    /// MCP tools only, where the shell has its own form.
    Tool,
}

impl Faces {
    /// Whether agents see it.
    pub const fn tool(self) -> bool {
        matches!(self, Faces::Both | Faces::Tool)
    }

    /// Whether the shell has it.
    pub const fn shell(self) -> bool {
        matches!(self, Faces::Both | Faces::Shell)
    }
}

/// What an operation does to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Read,
    /// Adds, and touches nothing that is there.
    Create,
    /// Changes or deletes what `restore` can bring back.
    Write,
    /// Loses something for good: asks on a terminal, needs `--yes` without one.
    Destroy,
}

impl Effect {
    /// Whether the database stays as it is.
    pub const fn reads(self) -> bool {
        matches!(self, Effect::Read)
    }
}

/// Which writer in `present` shows a reply and an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A sentence, as in contract 001.
    Sentence,
}

/// One thing a user can do. The fields of the struct are its arguments; their doc comments are the help.
pub trait Operation: clap::Args + DeserializeOwned + schemars::JsonSchema + Send + 'static {
    /// The MCP tool's name, also where no face shows it as a tool.
    const TOOL: &'static str;
    /// The shell command's words after `mcpkg`.
    const CLI: &'static [&'static str];
    /// A title for people.
    const TITLE: &'static str;
    /// What it does: the tool's description and the first line of `--help`. No final period.
    const ABOUT: &'static str;
    /// What else `--help` says, such as examples.
    const HELP: &'static str = "";
    /// Other words for the last one of `CLI`.
    const ALIASES: &'static [&'static str] = &[];
    /// What it does to the database.
    const EFFECT: Effect;
    /// How its reply looks.
    const SHAPE: Shape = Shape::Sentence;
    /// The toolset it belongs to.
    const TOOLSET: &'static str;
    /// Where it shows.
    const FACES: Faces;
    /// The struct that describes its data, where agents get data: makes outputSchema and structuredContent.
    type Output: schemars::JsonSchema;
    /// Whether agents get the data as structuredContent.
    const STRUCTURED: bool = false;

    /// The name of what it is done to, for the trail.
    fn subject(&self) -> String {
        String::new()
    }

    /// What a terminal asks before a [`Effect::Destroy`].
    fn question(&self) -> String {
        format!("{}?", Self::ABOUT)
    }

    /// Does it.
    ///
    /// # Errors
    /// A code of `error.rs` with a message that names the thing.
    fn run(self, context: &Context) -> Result<Reply>;
}

/// The output of an operation that agents get no data from.
#[derive(schemars::JsonSchema)]
pub struct NoOutput {}

/// What an operation answers.
#[derive(Debug)]
pub struct Reply {
    /// For people.
    pub body: Body,
    /// For programs: `--json`, structuredContent.
    pub data: Value,
    /// What to do next; the shell writes them to stderr.
    pub hints: Vec<String>,
}

/// The part of a reply for people.
#[derive(Debug)]
pub enum Body {
    /// One sentence, without a final period.
    Sentence(String),
    /// Rows under headings.
    Table(Table),
    /// Text as it is, such as a prompt's content.
    Text(String),
    /// Bytes as they are, such as an image.
    Media(Media),
    /// A unified diff.
    Diff(String),
}

/// Bytes with what MCP says of them.
#[derive(Debug)]
pub struct Media {
    /// The resource's URI.
    pub uri: String,
    /// The MIME type.
    pub mime_type: Option<String>,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Rows under headings.
#[derive(Debug)]
pub struct Table {
    /// The headings.
    pub columns: &'static [&'static str],
    /// The rows, each as long as the headings.
    pub rows: Vec<Vec<String>>,
    /// What a terminal reads in place of no rows.
    pub empty: String,
}

impl Reply {
    /// Returns a reply of one sentence with data.
    pub fn sentence(text: impl Into<String>, data: Value) -> Self {
        Self { body: Body::Sentence(text.into()), data, hints: Vec::new() }
    }

    /// Returns a reply with another body.
    pub fn new(body: Body, data: Value) -> Self {
        Self { body, data, hints: Vec::new() }
    }

    /// Adds a line that says what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

/// Told how much of a long work is done, and of how much.
pub type Progress = dyn Fn(&str, u64, u64) + Send + Sync;

/// Takes a part of an answer that goes on; an error ends it.
pub type Emit = dyn Fn(Reply) -> Result<()> + Send + Sync;

/// What an operation runs in.
#[derive(Clone)]
pub struct Context {
    /// The database.
    pub store: Store,
    /// Time and ids.
    pub clock: Clock,
    /// Who calls: `shell`, or `mcp:` and the client's name.
    pub actor: String,
    /// What the call says about its project.
    pub selection: Selection,
    /// The most bytes of content one answer carries.
    pub max_answer: u64,
    /// Where long work reports.
    pub progress: Arc<Progress>,
    /// Where an operation that goes on shows what it has so far.
    pub emit: Arc<Emit>,
    /// Set when the user gave up; long work looks at it.
    pub cancelled: Arc<AtomicBool>,
    /// Whether the user confirmed with `--yes` or on the terminal.
    pub confirmed: bool,
}

/// The most bytes of content one answer carries unless told otherwise: 64 MiB.
pub const MAX_ANSWER: u64 = 64 << 20;

/// The rows in a page of a list that an agent asks for.
pub const PAGE: usize = 100;

impl Context {
    /// Returns the context of the shell.
    pub fn shell(store: Store, selection: Selection) -> Self {
        Self {
            store,
            clock: Clock::system(),
            actor: "shell".to_owned(),
            selection,
            max_answer: MAX_ANSWER,
            progress: Arc::new(|_, _, _| {}),
            emit: Arc::new(|_| Ok(())),
            cancelled: Arc::new(AtomicBool::new(false)),
            confirmed: false,
        }
    }

    /// Runs `f` in one read transaction with the project that applies.
    ///
    /// # Errors
    /// `E_NO_PROJECT`, `E_NOT_FOUND` for the project, and what `f` returns.
    pub fn read<T>(&self, f: impl FnOnce(&Db<'_>, &Project) -> Result<T>) -> Result<T> {
        self.store.read(|db| f(db, &projects::require(db, &self.selection)?))
    }

    /// Runs `f` in one write transaction with the project that applies, and appends the event `kind` of `subject`.
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
        self.store.write(|db| {
            let project = projects::require(db, &self.selection)?;
            let value = f(db, &project, author)?;
            self.event(db, author, Some(&project.name), kind, subject)?;
            Ok(value)
        })
    }

    /// Runs `f` in one write transaction, and appends the event `kind` of the project `name`.
    ///
    /// # Errors
    /// What `f` returns.
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
        Author { actor: &self.actor, now: self.clock.now() }
    }

    /// Appends the event of something done.
    ///
    /// # Errors
    /// How the disk failed.
    pub fn event(
        &self,
        db: &Db<'_>,
        author: Author<'_>,
        project: Option<&str>,
        kind: &str,
        subject: &str,
    ) -> Result<()> {
        let event = events::NewEvent { at: author.now, actor: author.actor, project, kind, subject, outcome: "ok" };
        events::append(db, event)
    }

    /// Whether the user gave up; long work looks at it.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Appends the event of a refused change. A disk that cannot take it gets a line in the log instead.
    fn refused(&self, kind: &str, subject: &str, error: &Error) {
        if error.code() == Code::Busy {
            // Who waited the whole busy time does not wait for it again.
            tracing::info!(kind, subject, "the trail was not written either");
            return;
        }
        let author = self.author();
        let appended = self.store.write(|db| {
            let project = projects::resolve(db, &self.selection).ok().flatten();
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

/// An operation without its type.
#[derive(Clone, Copy)]
pub struct Entry {
    /// See [`Operation::TOOL`].
    pub tool: &'static str,
    /// See [`Operation::CLI`].
    pub cli: &'static [&'static str],
    /// See [`Operation::TITLE`].
    pub title: &'static str,
    /// See [`Operation::ABOUT`].
    pub about: &'static str,
    /// See [`Operation::HELP`].
    pub help: &'static str,
    /// See [`Operation::ALIASES`].
    pub aliases: &'static [&'static str],
    /// See [`Operation::EFFECT`].
    pub effect: Effect,
    /// See [`Operation::SHAPE`].
    pub shape: Shape,
    /// See [`Operation::TOOLSET`].
    pub toolset: &'static str,
    /// See [`Operation::FACES`].
    pub faces: Faces,
    /// See [`Operation::STRUCTURED`].
    pub structured: bool,
    arguments: fn(clap::Command) -> clap::Command,
    input: fn() -> schemars::Schema,
    output: fn() -> schemars::Schema,
    from_shell: fn(&clap::ArgMatches) -> Result<Call, clap::Error>,
    from_agent: fn(Value) -> Result<Call, serde_json::Error>,
}

/// An operation with its arguments.
pub struct Call {
    entry: Entry,
    subject: String,
    question: String,
    run: Box<Run>,
}

type Run = dyn FnOnce(&Context) -> Result<Reply> + Send;

impl Entry {
    /// Returns the operation `O` without its type.
    pub const fn of<O: Operation>() -> Self {
        Self {
            tool: O::TOOL,
            cli: O::CLI,
            title: O::TITLE,
            about: O::ABOUT,
            help: O::HELP,
            aliases: O::ALIASES,
            effect: O::EFFECT,
            shape: O::SHAPE,
            toolset: O::TOOLSET,
            faces: O::FACES,
            structured: O::STRUCTURED,
            arguments: O::augment_args,
            input: crate::schema::generate::<O>,
            output: crate::schema::generate::<O::Output>,
            from_shell: |matches| O::from_arg_matches(matches).map(|operation| Call::new(Self::of::<O>(), operation)),
            from_agent: |arguments| {
                serde_json::from_value(arguments).map(|operation: O| Call::new(Self::of::<O>(), operation))
            },
        }
    }

    /// The name in the trail and the log, such as `prompt.create`.
    pub fn kind(&self) -> String {
        self.cli.join(".")
    }

    /// Adds the arguments to a shell command.
    pub fn augment(&self, command: clap::Command) -> clap::Command {
        (self.arguments)(command)
    }

    /// The JSON Schema of the arguments, in the contracts' form.
    pub fn input_schema(&self) -> Map<String, Value> {
        crate::schema::contract_form((self.input)())
    }

    /// The JSON Schema of the data, where agents get it.
    pub fn output_schema(&self) -> Option<Map<String, Value>> {
        self.structured.then(|| crate::schema::contract_form((self.output)()))
    }

    /// Takes the arguments of a shell command.
    ///
    /// # Errors
    /// A usage error.
    pub fn from_shell(&self, matches: &clap::ArgMatches) -> Result<Call, clap::Error> {
        (self.from_shell)(matches)
    }

    /// Takes the arguments of a tool call.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` with what is wrong and what the tool takes.
    pub fn from_agent(&self, arguments: Value) -> Result<Call> {
        (self.from_agent)(arguments).map_err(|error| {
            let schema = self.input_schema();
            let takes: Vec<_> =
                schema["properties"].as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect();
            Error::new(Code::InvalidArgument, format!("Invalid arguments for {}: {error}", self.tool))
                .hint(format!("it takes {}", takes.join(", ")))
        })
    }

    /// Appends the event of a call whose arguments could not be taken.
    pub fn refused(&self, context: &Context, error: &Error) {
        if !self.effect.reads() {
            context.refused(&self.kind(), "", error);
        }
    }
}

impl Call {
    fn new<O: Operation>(entry: Entry, operation: O) -> Self {
        Self {
            entry,
            subject: operation.subject(),
            question: operation.question(),
            run: Box::new(|context| operation.run(context)),
        }
    }

    /// What a terminal asks before a [`Effect::Destroy`].
    pub fn question(&self) -> &str {
        &self.question
    }

    /// Runs the operation; a refused change is appended to the trail.
    ///
    /// # Errors
    /// What the operation answers.
    pub fn run(self, context: &Context) -> Result<Reply> {
        let (entry, subject) = (self.entry, self.subject);
        let result = (self.run)(context);
        if let Err(error) = &result
            && !entry.effect.reads()
        {
            context.refused(&entry.kind(), &subject, error);
        }
        result
    }
}
