//! Writes the output of commands: data to stdout, everything else to stderr. A closed pipe is not a failure.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::{Arc, Mutex};

use anstream::{AutoStream, ColorChoice as Stream};
use anstyle::Style;
use clap::ColorChoice;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use super::globals::{Globals, color_of};
use super::styled_text::{BOLD, CYAN, RED, StyledText, YELLOW, folded};
use mcpkg_base::editor::Pager;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::marks;
use mcpkg_base::platform::{self, IS_WINDOWS, OpenStream};
use mcpkg_core::op::{Body, Emit, LISTED_BY_VERBOSE, Progress, Reply, cell, grouped};
use mcpkg_core::present;

/// The columns of a progress line that the bar and the counts need.
const BESIDE: usize = 48;

/// Columns and rows to assume if the size of the terminal is unknown.
const USUAL: (u16, u16) = (80, 24);

/// Writes a command's answers.
#[derive(Clone, Copy)]
pub(super) struct Output {
    json: bool,
    quiet: bool,
    verbose: bool,
    color: ColorChoice,
    no_pager: bool,
}

impl Output {
    pub(super) fn new(globals: &Globals) -> Self {
        Self {
            json: globals.json,
            quiet: globals.quiet,
            verbose: globals.verbose > 0,
            color: globals.color,
            no_pager: globals.no_pager,
        }
    }

    /// Returns an output for a command line that could not be parsed.
    pub(super) fn of_unparsed(arguments: &[std::ffi::OsString]) -> Self {
        let no_pager = arguments.iter().any(|word| word == "--no-pager");
        Self { json: false, quiet: false, verbose: false, color: color_of(arguments), no_pager }
    }

    pub(super) fn width(&self) -> u16 {
        size(&std::io::stdout()).0
    }

    /// Writes a reply's body to stdout, and its warnings, details and hints to stderr.
    pub(super) fn reply(&self, reply: Reply) -> Result<()> {
        let warnings = if self.verbose { reply.warnings } else { grouped(reply.warnings) };
        match std::io::stdout().is_terminal() {
            true => self.long(&self.on_terminal(reply.body)?)?,
            false => self.in_pipe(reply.body)?,
        }
        for warning in &warnings {
            self.warning(warning);
        }
        for line in reply.details.iter().filter(|_| self.verbose) {
            self.note(&StyledText::plain(format!("{}\n", cell(line))));
        }
        for hint in &reply.hints {
            let shown = if self.verbose { hint.strip_suffix(LISTED_BY_VERBOSE).unwrap_or(hint) } else { hint };
            self.hint(shown);
        }
        Ok(())
    }

    /// Writes a body to a pipe, with the data unchanged. For an empty table, a note goes to stderr.
    fn in_pipe(&self, body: Body) -> Result<()> {
        match body {
            Body::Sentence(text) => self.print(&format!("{text}\n")),
            // A prompt is written byte for byte.
            Body::Text(text) => write_raw(text.as_bytes()),
            Body::Media(media) => write_raw(&media.bytes),
            Body::Table(table) if table.rows.is_empty() => {
                self.nothing(&table.empty);
                Ok(())
            }
            Body::Table(table) => self.print(&present::separated(&table, false)),
            Body::Diff(text) => self.write(&StyledText::diff(&text)),
            Body::Several(bodies) => bodies.into_iter().try_for_each(|body| self.in_pipe(body)),
            Body::Below(_, body) => self.in_pipe(*body),
        }
    }

    /// Returns a body as text for a terminal. For an empty table, a note goes to stderr.
    fn on_terminal(&self, body: Body) -> Result<StyledText> {
        Ok(match body {
            Body::Sentence(text) => StyledText::plain(format!("{text}\n")),
            // Ends the text with a line break, so that the shell's prompt starts on its own line.
            Body::Text(text) => StyledText::plain(format!("{text}{}", if text.ends_with('\n') { "" } else { "\n" })),
            Body::Media(media) => {
                return Err(Error::new(
                    Code::InvalidArgument,
                    format!(
                        "Refused to write {} bytes of {} to the terminal",
                        media.bytes.len(),
                        media.mime_type.as_deref().unwrap_or("binary content")
                    ),
                )
                .hint("write the bytes to a file with `-o FILE`, or to a pipe"));
            }
            Body::Table(table) if table.rows.is_empty() => {
                self.nothing(&table.empty);
                StyledText::default()
            }
            Body::Table(table) => {
                let text = present::aligned(&table, Some(self.width()));
                let (heading, rows) = text.split_once('\n').unwrap_or((&text, ""));
                StyledText::styled(BOLD, heading).then("\n").then(rows)
            }
            Body::Diff(text) => StyledText::diff(&text),
            Body::Several(bodies) => {
                let mut all = StyledText::default();
                for body in bodies {
                    all = all.and(self.on_terminal(body)?);
                }
                all
            }
            Body::Below(folder, body) => {
                let heading = match present::is_empty(&body) {
                    true => StyledText::default(),
                    false => StyledText::plain(format!("Below {}:\n", cell(&folder))),
                };
                heading.and(self.on_terminal(present::relative(*body, &folder))?)
            }
        })
    }

    /// Writes to stderr that a table is empty. Stdout stays empty, for scripts.
    fn nothing(&self, note: &str) {
        if !self.quiet && !note.is_empty() {
            self.note(&StyledText::plain(format!("{note}\n")));
        }
    }

    /// Writes a failure to stderr: as JSON with `--json`, else as text. Writes nothing if the failure is a closed pipe.
    pub(super) fn error(&self, error: &Error) {
        if is_closed_pipe(error) {
            return;
        }
        if self.json {
            return json_to_stderr(&present::error(error));
        }
        let mut text = labelled(RED, "error:", error.message());
        if self.verbose {
            let mut source = std::error::Error::source(error);
            while let Some(cause) = source {
                text = text.then(format!("  caused by: {cause}\n"));
                source = cause.source();
            }
        }
        for hint in error.hints() {
            text = text.and(hint_line(hint));
        }
        if error.code() == Code::Internal {
            text = text.and(hint_line("this is a bug in mcpkg; please report it with the output of -v"));
        }
        self.note(&text);
    }

    /// Prints the address of a server: to stderr, or to stdout as JSON.
    pub(super) fn listening(&self, scheme: &str, address: std::net::SocketAddr, places: &[&str]) -> Result<()> {
        if self.json {
            let urls: Vec<String> = places.iter().map(|place| format!("{scheme}://{address}{place}")).collect();
            return self.print(&format!("{}\n", serde_json::json!({ "address": address.to_string(), "urls": urls })));
        }
        let urls: Vec<String> = places.iter().map(|place| format!("{scheme}://{address}{place}")).collect();
        self.note(&StyledText::plain(format!("listening on {}\n", urls.join(" and "))));
        Ok(())
    }

    pub(super) fn warning(&self, warning: &str) {
        self.note(&labelled(YELLOW, "warning:", warning));
    }

    fn hint(&self, hint: &str) {
        if !self.quiet {
            self.note(&hint_line(hint));
        }
    }

    /// Returns the function that shows progress as a bar. It does nothing without a terminal, or with `--quiet` or
    /// `--json`.
    pub(super) fn progress(&self) -> Arc<Progress> {
        if self.quiet || self.json || !std::io::stderr().is_terminal() {
            return Arc::new(|_, _, _| {});
        }
        let bar: Mutex<Option<ProgressBar>> = Mutex::new(None);
        Arc::new(move |what, done, total| {
            let Ok(mut bar) = bar.lock() else { return };
            let bar = bar.get_or_insert_with(|| {
                let style = ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len}");
                let bar = ProgressBar::new(total).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
                bar.with_message(beginning(what)).with_position(done)
            });
            if bar.is_finished() {
                // The next phase of the work has begun.
                bar.reset();
            }
            // Set the position before the text: each call redraws the bar, and would show the new text with the old position.
            bar.update(|state| {
                state.set_len(total);
                state.set_pos(done);
            });
            bar.set_message(beginning(what));
            if done >= total {
                bar.finish_and_clear();
            }
        })
    }

    /// Returns the function that writes the parts of a streamed answer.
    pub(super) fn emitter(&self) -> Arc<Emit> {
        let output = *self;
        Arc::new(move |reply| {
            if !output.json {
                return Self { no_pager: true, ..output }.reply(reply);
            }
            // Streamed JSON has one value per line.
            let mut text = Vec::new();
            for value in reply.data.as_object().into_iter().flat_map(|data| data.values()) {
                for item in value.as_array().into_iter().flatten() {
                    text.extend_from_slice(item.to_string().as_bytes());
                    text.push(b'\n');
                }
            }
            output.json(&String::from_utf8_lossy(&text))
        })
    }

    pub(super) fn print(&self, text: &str) -> Result<()> {
        self.write(&StyledText::plain(text))
    }

    /// Writes mcpkg's own styled text to stdout. Long text goes through the user's pager.
    pub(super) fn styled(&self, text: &str) -> Result<()> {
        match self.pager(text) {
            Some(pager) => self.paged(&pager, text, || self.raw(text)),
            None => self.raw(text),
        }
    }

    pub(super) fn json(&self, text: &str) -> Result<()> {
        let text = json_shown(text, std::io::stdout().is_terminal());
        match self.pager(&text) {
            Some(pager) => self.paged(&pager, &text, || write_raw(text.as_bytes())),
            None => write_raw(text.as_bytes()),
        }
    }

    /// Writes a command's answer to a terminal. Long text goes through the user's pager.
    fn long(&self, text: &StyledText) -> Result<()> {
        let written = text.written(true);
        match self.pager(&written) {
            Some(pager) => self.paged(&pager, &written, || self.write(text)),
            None => self.write(text),
        }
    }

    /// Shows a text in the user's pager, on the user's request. Without a pager, writes the text to the terminal.
    pub(super) fn page(&self, text: &StyledText) {
        match Pager::of_user().map(|pager| pager.show(&text.plainly())) {
            Some(Ok(())) => {}
            Some(Err(error)) => {
                self.warning(error.message());
                self.note(text);
            }
            None => self.note(text),
        }
    }

    /// Returns the user's pager if the text does not fit on the terminal. Returns `None` with `--no-pager`, in a pipe,
    /// and on a dumb terminal.
    fn pager(&self, text: &str) -> Option<Pager> {
        if self.no_pager
            || !std::io::stdout().is_terminal()
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb")
        {
            return None;
        }
        let (columns, rows) = size(&std::io::stdout());
        (rows_of(text, columns) >= usize::from(rows)).then(Pager::of_user).flatten()
    }

    /// Shows a text in a pager. If the pager cannot be started, writes the text directly, and warns only if the user
    /// chose that pager.
    fn paged(&self, pager: &Pager, text: &str, write: impl FnOnce() -> Result<()>) -> Result<()> {
        let plain = matches!(AutoStream::choice(&std::io::stdout()), Stream::Never) || self.color == ColorChoice::Never;
        let plain = plain && self.color != ColorChoice::Always;
        let shown = if plain { anstream::adapter::strip_str(text).to_string() } else { text.to_owned() };
        match pager.show(&shown) {
            Ok(()) => Ok(()),
            Err(error) => {
                if pager.is_named {
                    self.warning(error.message());
                }
                write()
            }
        }
    }

    fn raw(&self, text: &str) -> Result<()> {
        let mut stdout = AutoStream::new(std::io::stdout().lock(), stream(self.color));
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(stdout_failed)
    }

    /// Writes styled text to stdout. Data in a pipe is unchanged, unless `--color always` is given.
    fn write(&self, text: &StyledText) -> Result<()> {
        let for_terminal = std::io::stdout().is_terminal() || matches!(self.color, ColorChoice::Always);
        self.raw(&text.written(for_terminal))
    }

    /// Returns styled text for a terminal at stderr, with its styles if the terminal shows them.
    pub(super) fn colored(&self, text: &StyledText) -> String {
        let choice = match stream(self.color) {
            Stream::Auto => AutoStream::choice(&std::io::stderr()),
            choice => choice,
        };
        if choice == Stream::Never { text.plainly() } else { text.written(true) }
    }

    /// Writes styled text to stderr. A failed write is ignored, since there is nowhere to report it.
    pub(super) fn note(&self, text: &StyledText) {
        let mut stderr = AutoStream::new(std::io::stderr().lock(), stream(self.color));
        let _ = stderr.write_all(text.written(true).as_bytes());
    }
}

fn hint_line(hint: &str) -> StyledText {
    labelled(CYAN, "hint:", hint)
}

/// Returns a labelled line for stderr. On a terminal it is wrapped between words and indented below the start of its
/// text.
fn labelled(style: Style, label: &str, text: &str) -> StyledText {
    let stderr = std::io::stderr();
    let text = match stderr.is_terminal() {
        true => {
            let indent = " ".repeat(label.len() + 1);
            let columns = usize::from(size(&stderr).0).saturating_sub(indent.len()).max(20);
            let lines = text.lines().flat_map(|line| folded(&marks::line(line), columns));
            lines.collect::<Vec<_>>().join(&format!("\n{indent}"))
        }
        false => text.to_owned(),
    };
    StyledText::styled(style, label).then(format!(" {text}\n"))
}

/// Returns how many rows a text takes on a terminal with this many columns.
fn rows_of(text: &str, columns: u16) -> usize {
    let width =
        |line: &str| unicode_width::UnicodeWidthStr::width(anstream::adapter::strip_str(line).to_string().as_str());
    text.lines().map(|line| width(line).div_ceil(usize::from(columns).max(1)).max(1)).sum()
}

fn json_shown(text: &str, for_terminal: bool) -> std::borrow::Cow<'_, str> {
    if for_terminal { marks::json(text) } else { text.into() }
}

pub(super) fn json_error(error: &Error) {
    if !is_closed_pipe(error) {
        json(&present::error(error));
    }
}

/// Writes a JSON object to stdout, or to stderr if that fails.
pub(super) fn json(object: &Value) {
    let text = format!("{object:#}\n");
    if write_raw(json_shown(&text, std::io::stdout().is_terminal()).as_bytes()).is_err() {
        json_to_stderr(object);
    }
}

pub(super) fn json_to_stderr(object: &Value) {
    let _ = writeln!(std::io::stderr().lock(), "{}", marks::json(&format!("{object:#}")));
}

/// Writes clap's message about a wrong command line to stderr.
pub(super) fn clap_error(error: &clap::Error, color: ColorChoice) {
    let text = error.render().ansi().to_string();
    let _ = AutoStream::new(std::io::stderr().lock(), stream(color)).write_all(text.as_bytes());
}

fn write_raw(bytes: &[u8]) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(stdout_failed)
}

fn stdout_failed(error: std::io::Error) -> Error {
    Error::new(Code::FileFailed, format!("Cannot write to standard output: {error}")).with_source(error)
}

/// Returns whether the reader of our output closed the pipe. `mcpkg prompt list | head -1` is not a failure.
pub(super) fn is_closed_pipe(error: &Error) -> bool {
    std::error::Error::source(error)
        .and_then(|source| source.downcast_ref::<std::io::Error>())
        .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// Converts the color choice. `auto` depends on the terminal and NO_COLOR.
fn stream(color: ColorChoice) -> Stream {
    match color {
        ColorChoice::Auto => Stream::Auto,
        ColorChoice::Always => Stream::AlwaysAnsi,
        ColorChoice::Never => Stream::Never,
    }
}

/// Returns as much of a text as fits on one line before the progress bar.
fn beginning(what: &str) -> String {
    let columns = console::Term::stderr().size_checked().map_or(80, |(_, columns)| usize::from(columns));
    console::truncate_str(&marks::line(what), columns.saturating_sub(BESIDE).max(8), "…").into_owned()
}

/// Returns the columns and rows of a terminal. A terminal that does not know its size reports an error or 0, sometimes
/// for only one of the two.
pub(super) fn size(terminal: &impl OpenStream) -> (u16, u16) {
    let known = match IS_WINDOWS {
        true => console::Term::stderr().size_checked().map(|(rows, columns)| (columns, rows)),
        false => platform::terminal_size(terminal),
    };
    or_usual(known.map(|(columns, _)| columns), known.map(|(_, rows)| rows))
}

fn or_usual(columns: Option<u16>, rows: Option<u16>) -> (u16, u16) {
    let is_known = |size: &u16| *size > 0;
    let told = |name: &str| std::env::var(name).ok().and_then(|size| size.parse().ok()).filter(is_known);
    let columns = columns.filter(is_known).or_else(|| told("COLUMNS")).unwrap_or(USUAL.0);
    (columns, rows.filter(is_known).or_else(|| told("LINES")).unwrap_or(USUAL.1))
}
