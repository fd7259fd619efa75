//! Actions: what a key does on a screen, such as running an operation or opening another screen.

use serde_json::Value;

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::quote;
use mcpkg_core::op::{Body, Call, Context, Domains, Effect, Entry, Reply};

use crate::place::Place;

/// The label of the key `E`, which opens a text in the user's own editor.
pub const EDIT_OUTSIDE: &str = "edit in $EDITOR";

/// The labels of the key `space` on a row that is in, and on one that is out.
pub const LEAVE_OUT: &str = "leave out";
pub const TAKE_IN: &str = "take in";

/// A key that a screen or a row offers, and what it does.
#[derive(Clone, Debug)]
pub struct Action {
    pub key: char,
    /// A verb, such as `approve`.
    pub label: &'static str,
    /// The object of the verb, such as `3 changes`; empty if the row or the screen already names it.
    pub what: String,
    pub does: Does,
}

#[derive(Clone, Debug)]
pub enum Does {
    Call(Box<Invocation>),
    Open(Place),
    /// Replaces the current screen, for example with the same deploy minus one file.
    Replace(Place),
    /// Loads more rows of the list.
    More,
    /// Asks for a note, which is sent with the next approval or denial.
    Note,
    /// Marks the diff with this hash as reviewed, or takes the mark back.
    Review(String),
}

impl Action {
    pub fn new(key: char, label: &'static str, does: Does) -> Self {
        Self { key, label, what: String::new(), does }
    }

    pub fn call(key: char, label: &'static str, invocation: Invocation) -> Self {
        Self::new(key, label, Does::Call(Box::new(invocation)))
    }

    pub fn open(key: char, label: &'static str, place: Place) -> Self {
        Self::new(key, label, Does::Open(place))
    }

    /// Returns the `space` action, which excludes a row that is in, or includes it again.
    pub fn switch(is_in: bool, place: Place) -> Self {
        Self::new(' ', if is_in { LEAVE_OUT } else { TAKE_IN }, Does::Replace(place))
    }

    pub fn note() -> Self {
        Self::new('n', "note", Does::Note)
    }

    /// Returns the text for the footer, such as `undo 3 changes`.
    pub fn words(&self) -> String {
        format!("{} {}", self.label, self.what).trim_end().to_owned()
    }

    /// Returns whether the action changes stored data or files. A read-only console does not offer such actions. An
    /// operation that this build does not have counts as a change.
    pub fn changes(&self, domains: Domains) -> bool {
        match &self.does {
            Does::Call(invocation) => invocation.entry(domains).is_none_or(|entry| !entry.effect.reads()),
            // A note is useful only with an approval or a denial, and a mark of a review is stored.
            Does::Note | Does::Review(_) => true,
            Does::Open(_) | Does::Replace(_) | Does::More => false,
        }
    }
}

/// A call of one operation, stored as its command line so that `c` can copy it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The words of the command, such as `consent approve`.
    pub words: String,
    options: Vec<String>,
    positional: Vec<String>,
    /// The question to ask before the call runs. For an operation that destroys something, it replaces the operation's own
    /// question.
    pub question: Option<String>,
    /// The question without a note.
    unnoted: Option<String>,
    /// The name that you must type to confirm, because the call destroys something.
    pub destroys: Option<String>,
}

impl Invocation {
    pub fn new(words: &str) -> Self {
        Self {
            words: words.to_owned(),
            options: Vec::new(),
            positional: Vec::new(),
            question: None,
            unnoted: None,
            destroys: None,
        }
    }

    /// Adds a positional argument.
    #[must_use]
    pub fn with(mut self, value: impl Into<String>) -> Self {
        self.positional.push(value.into());
        self
    }

    /// Adds an option once for each value.
    #[must_use]
    pub fn options(self, name: &str, values: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        values.into_iter().fold(self, |call, value| call.option(name, value.as_ref()))
    }

    /// Adds an option with its value.
    #[must_use]
    pub fn option(mut self, name: &str, value: &str) -> Self {
        // `--name=value` as one word: otherwise clap would parse a value that begins with `-` as an option.
        self.options.push(format!("{name}={value}"));
        self
    }

    #[must_use]
    pub fn flag(mut self, name: &str) -> Self {
        self.options.push(name.to_owned());
        self
    }

    /// Returns whether the call has this option.
    pub fn has(&self, option: &str) -> bool {
        self.options.iter().any(|given| given.split('=').next() == Some(option))
    }

    /// Makes [`Invocation::run`] ask this question first.
    #[must_use]
    pub fn asking(self, question: impl Into<String>) -> Self {
        let question = question.into();
        Self { unnoted: Some(question.clone()), question: Some(question), ..self }
    }

    /// Gives a call that [decides](Invocation::decides) a note, and repeats the note in the question. It replaces an earlier
    /// note; an empty note only removes it.
    #[must_use]
    pub fn noting(mut self, note: &str) -> Self {
        if !self.decides() {
            return self;
        }
        self.options.retain(|option| !option.starts_with("--note="));
        self.question.clone_from(&self.unnoted);
        if note.is_empty() {
            return self;
        }
        let question = self.question.as_ref().map(|question| format!("{question} Your note: {}", quote::text(note)));
        Self { question, ..self.option("--note", note) }
    }

    /// Returns what the call decides on, such as `consent 0198...`; `None` if it [decides](Invocation::decides) nothing.
    pub fn decides_on(&self) -> Option<String> {
        let noun = self.words.split(' ').next().filter(|_| self.decides())?;
        Some(format!("{noun} {}", self.first()?))
    }

    /// Returns the first positional argument: the thing that the call is about.
    pub fn first(&self) -> Option<&str> {
        self.positional.first().map(String::as_str)
    }

    /// Makes the console ask the user to type `name` first. [`Invocation::run`] itself does not check the name.
    #[must_use]
    pub fn destroying(self, name: impl Into<String>) -> Self {
        Self { destroys: Some(name.into()), ..self }
    }

    /// Returns whether the call decides on a request or proposal. Only such calls take a note.
    pub fn decides(&self) -> bool {
        let (noun, verb) = self.words.split_once(' ').unwrap_or_default();
        matches!(noun, "consent" | "draft" | "evolve") && matches!(verb, "approve" | "deny" | "accept" | "reject")
    }

    /// Returns the operation, or `None` if this build does not have it.
    pub fn entry(&self, domains: Domains) -> Option<&'static Entry> {
        entry(domains, &self.words)
    }

    fn call(&self, context: &Context) -> Result<(&'static Entry, Call)> {
        let entry = self.entry(context.domains).ok_or_else(|| missing(&self.words))?;
        let command = entry.augment(clap::Command::new("mcpkg").no_binary_name(true));
        let parsed = command.try_get_matches_from(self.words_after()).and_then(|matches| entry.from_shell(&matches));
        Ok((entry, parsed.map_err(|error| Error::new(Code::InvalidArgument, first_lines(&error)))?))
    }

    /// Runs the operation with `--dry-run`, so that it changes nothing. The audit trail (`events`) does not record it.
    pub fn preview(&self, context: &Context) -> Result<Reply> {
        self.clone().flag("--dry-run").call(context)?.1.preview(context)
    }

    /// Runs the operation, after asking the question [`Invocation::question`] through the context. Without such a
    /// question, asks the operation's own question if the operation destroys something.
    pub fn run(&self, context: &Context) -> Result<Reply> {
        let (entry, call) = self.call(context)?;
        match &self.question {
            Some(question) => (context.ask)(Body::Several(Vec::new()), question)?,
            None if entry.effect == Effect::Destroy => {
                call.look(context)?;
                (context.ask)(Body::Several(Vec::new()), call.question())?;
            }
            None => {}
        }
        call.run(context)
    }

    /// Runs a read-only operation, and returns its data.
    pub fn read(&self, context: &Context) -> Result<Value> {
        Ok(self.run(context)?.into_value())
    }

    /// Returns the shell command.
    pub fn command(&self) -> String {
        let words = self.words_after();
        let words: Vec<_> = words.iter().map(|word| shlex::try_quote(word).unwrap_or_else(|_| word.into())).collect();
        format!("mcpkg {} {}", self.words, words.join(" ")).trim_end().to_owned()
    }

    /// Returns the options and arguments that follow the words of the command.
    fn words_after(&self) -> Vec<String> {
        let dashes = self.positional.iter().any(|value| value.starts_with('-')).then(|| "--".to_owned());
        self.options.iter().cloned().chain(dashes).chain(self.positional.iter().cloned()).collect()
    }
}

/// Returns the operation whose command has these words.
pub fn entry(domains: Domains, words: &str) -> Option<&'static Entry> {
    domains.operations().find(|entry| entry.faces.shell() && words.split(' ').eq(entry.cli.iter().copied()))
}

/// Runs a read-only operation with JSON arguments. Use it for arguments that the shell reads from a file, such as the
/// text of a workflow.
pub fn read(context: &Context, words: &str, arguments: Value) -> Result<Value> {
    let entry = entry(context.domains, words).ok_or_else(|| missing(words))?;
    Ok(entry.from_agent(arguments)?.run(context)?.into_value())
}

fn first_lines(error: &clap::Error) -> String {
    // A missing argument is named on a line of its own.
    let text = error.to_string();
    let lines = text.lines().take_while(|line| !line.is_empty()).map(str::trim);
    lines.collect::<Vec<_>>().join(" ").trim_start_matches("error: ").to_owned()
}

fn missing(words: &str) -> Error {
    Error::new(Code::NotFound, format!("This build has no command `mcpkg {words}`"))
}
