//! Writing to the terminal: data on stdout, everything else on stderr, and a closed pipe is no failure.

use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anstream::{AutoStream, ColorChoice as Stream};
use anstyle::{AnsiColor, Style};
use clap::ColorChoice;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::globals::Globals;
use super::shown::on_terminal;
use crate::error::{Code, Error, Result};
use crate::op::{Ask, Body, Confirmation, Emit, LISTED_BY_VERBOSE, Line, Progress, Reply, cell};
use crate::present;

const RED: Style = AnsiColor::Red.on_default();
const GREEN: Style = AnsiColor::Green.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const CYAN: Style = AnsiColor::Cyan.on_default();
const BOLD: Style = Style::new().bold();

/// Columns of a line of progress beside what is done: the bar, and how far it is.
const BESIDE: usize = 48;

/// The time between two looks at whether the person gave up in place of an answer.
const LOOK: Duration = Duration::from_millis(50);

/// Columns of a terminal of which nothing says how many it has.
const USUAL_WIDTH: u16 = 80;

/// Where a command's answers go, and how they look.
#[derive(Clone, Copy)]
pub(super) struct Output {
    json: bool,
    quiet: bool,
    verbose: bool,
    color: ColorChoice,
}

impl Output {
    pub(super) fn new(globals: &Globals) -> Self {
        Self { json: globals.json, quiet: globals.quiet, verbose: globals.verbose > 0, color: globals.color }
    }

    /// Writes a reply's body, and its hints to stderr.
    pub(super) fn reply(&self, reply: Reply) -> Result<()> {
        self.body(reply.body)?;
        for warning in &reply.warnings {
            self.warning(warning);
        }
        for line in reply.details.iter().filter(|_| self.verbose) {
            self.note(&format!("{}\n", cell(line)));
        }
        for hint in &reply.hints {
            let shown = if self.verbose { hint.strip_suffix(LISTED_BY_VERBOSE).unwrap_or(hint) } else { hint };
            self.hint(shown);
        }
        Ok(())
    }

    fn body(&self, body: Body) -> Result<()> {
        let terminal = std::io::stdout().is_terminal();
        // A text may be a stranger's: it moves nobody's cursor. In a pipe it goes out as it is.
        let shown = |text: String| match on_terminal(&text) {
            Cow::Owned(shown) if terminal => shown,
            _ => text,
        };
        match body {
            Body::Sentence(text) => self.print(&format!("{}\n", shown(text)))?,
            Body::Text(text) => {
                // A prompt goes out byte for byte; on a terminal the shell's next line wants one of its own.
                let end = if terminal && !text.ends_with('\n') { "\n" } else { "" };
                write_raw(format!("{}{end}", shown(text)).as_bytes())?;
            }
            Body::Media(media) if terminal => {
                return Err(Error::new(
                    Code::InvalidArgument,
                    format!(
                        "{} bytes of {} would garble the terminal",
                        media.bytes.len(),
                        media.mime_type.as_deref().unwrap_or("binary content")
                    ),
                )
                .hint("write them to a file with `-o FILE`, or pipe them on"));
            }
            Body::Media(media) => write_raw(&media.bytes)?,
            Body::Table(table) if table.rows.is_empty() => {
                if terminal && !self.quiet {
                    self.note(&format!("{}\n", table.empty));
                }
            }
            Body::Table(table) if terminal => {
                let text = present::aligned(&table, Some(terminal_width()));
                let (heading, rows) = text.split_once('\n').unwrap_or((&text, ""));
                self.print(&format!("{BOLD}{heading}{BOLD:#}\n{rows}"))?;
            }
            Body::Table(table) => self.print(&present::separated(&table, false))?,
            Body::Diff(text) => self.print(&colored_diff(&shown(text)))?,
            Body::Several(bodies) => bodies.into_iter().try_for_each(|body| self.body(body))?,
            Body::Below(_, body) if !terminal => self.body(*body)?,
            Body::Below(folder, body) => {
                if !present::is_empty(&body) {
                    self.print(&format!("Below {}:\n", cell(&folder)))?;
                }
                self.body(present::relative(*body, &folder))?;
            }
        }
        Ok(())
    }

    /// Writes a failure to stderr: as JSON under `--json`, where standard output is not for it.
    pub(super) fn error(&self, error: &Error) {
        if is_closed_pipe(error) {
            return;
        }
        if self.json {
            return json_to_stderr(&present::error(error));
        }
        let mut text = format!("{RED}error:{RED:#} {}\n", on_terminal(error.message()));
        if self.verbose {
            let mut source = std::error::Error::source(error);
            while let Some(cause) = source {
                text.push_str(&format!("  caused by: {}\n", on_terminal(&cause.to_string())));
                source = cause.source();
            }
        }
        for hint in error.hints() {
            text.push_str(&format!("{CYAN}hint:{CYAN:#} {}\n", on_terminal(hint)));
        }
        if error.code() == Code::Internal {
            text.push_str(&format!(
                "{CYAN}hint:{CYAN:#} this is a bug in mcpkg; please report it, with what -v says\n"
            ));
        }
        self.note(&text);
    }

    /// Says where a server listens: to stderr, or as JSON to stdout.
    pub(super) fn listening(&self, scheme: &str, address: std::net::SocketAddr, places: &[&str]) -> Result<()> {
        if self.json {
            let urls: Vec<String> = places.iter().map(|place| format!("{scheme}://{address}{place}")).collect();
            return self.print(&format!("{}\n", serde_json::json!({ "address": address.to_string(), "urls": urls })));
        }
        let urls: Vec<String> = places.iter().map(|place| format!("{scheme}://{address}{place}")).collect();
        self.note(&format!("listening on {}\n", urls.join(" and ")));
        Ok(())
    }

    /// Writes a warning to stderr.
    pub(super) fn warning(&self, warning: &str) {
        self.note(&format!("{YELLOW}warning:{YELLOW:#} {}\n", on_terminal(warning)));
    }

    fn hint(&self, hint: &str) {
        if !self.quiet {
            self.note(&format!("{CYAN}hint:{CYAN:#} {}\n", on_terminal(hint)));
        }
    }

    /// Shows what would be done and asks on a terminal; without one only `--yes` confirms.
    pub(super) fn confirm(
        &self,
        preview: Body,
        question: &str,
        yes: bool,
        cancelled: &CancellationToken,
    ) -> Result<()> {
        if yes {
            return Ok(());
        }
        let refused = |message: String| Error::new(Code::ConfirmRequired, message);
        if confirmation(yes) == Confirmation::Nobody {
            return Err(refused(format!(
                "{} Nothing was changed",
                question.replacen('?', " needs to be confirmed.", 1)
            ))
            .hint("confirm with --yes"));
        }
        match self.json {
            false => self.body(preview)?,
            // Standard output is for the data; the question still needs its preview.
            true => {
                if let present::Content::Text(text) = present::content(preview) {
                    self.note(&on_terminal(&text));
                }
            }
        }
        self.note(&format!("{} [y/N] ", on_terminal(question)));
        let answer = match typed(cancelled) {
            None => return Err(self.given_up()),
            Some(answer) => answer.map_err(|error| refused(format!("No answer could be read: {error}")))?,
        };
        match answer.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Ok(()),
            _ => Err(refused("Not confirmed; nothing was changed".to_owned())),
        }
    }

    /// Returns the failure of a question that the person gave up at.
    fn given_up(&self) -> Error {
        self.note("\n");
        Error::new(Code::Cancelled, "Given up; nothing was changed")
    }

    /// Returns what shows long work as a bar, on a terminal only.
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
                // The next part of the work.
                bar.reset();
            }
            // How far it is comes first: each call draws, and what was done would stand beside how far it was before.
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

    /// Returns what asks before something is written.
    pub(super) fn asker(&self, yes: bool, cancelled: &CancellationToken) -> Arc<Ask> {
        let (output, cancelled) = (*self, cancelled.clone());
        Arc::new(move |preview, question| output.confirm(preview, question, yes, &cancelled))
    }

    /// Returns what asks the person at the terminal for a line of text; what it shows goes to stderr.
    pub(super) fn line_reader(&self, cancelled: &CancellationToken) -> Arc<Line> {
        let (output, cancelled) = (*self, cancelled.clone());
        Arc::new(move |shown, question| {
            let refused = |why: String| Error::new(Code::TerminalRequired, why);
            if confirmation(false) == Confirmation::Nobody {
                return Err(refused(format!("There is nobody to answer: {question}")));
            }
            if let present::Content::Text(text) = present::content(shown) {
                output.note(&on_terminal(&text));
            }
            output.note(&format!("{} ", on_terminal(question)));
            let answer = typed(&cancelled).ok_or_else(|| output.given_up())?;
            match answer.map_err(|error| refused(format!("No answer could be read: {error}")))?.as_str() {
                "" => Err(refused("The input ended before an answer".to_owned())),
                line => Ok(line.trim_end_matches(['\r', '\n']).to_owned()),
            }
        })
    }

    /// Returns what writes the parts of an answer that goes on.
    pub(super) fn emitter(&self) -> Arc<Emit> {
        let output = *self;
        Arc::new(move |reply| {
            if !output.json {
                return output.reply(reply);
            }
            // A stream of JSON is a line each.
            let mut text = Vec::new();
            for value in reply.data.as_object().into_iter().flat_map(|data| data.values()) {
                for item in value.as_array().into_iter().flatten() {
                    text.extend_from_slice(item.to_string().as_bytes());
                    text.push(b'\n');
                }
            }
            write_raw(&text)
        })
    }

    /// Writes styled text to stdout.
    pub(super) fn print(&self, text: &str) -> Result<()> {
        write_stdout(self.color, text.as_bytes())
    }

    /// Writes styled text to stderr; there is nowhere to tell that this failed.
    fn note(&self, text: &str) {
        let _ = AutoStream::new(std::io::stderr().lock(), stream(self.color)).write_all(text.as_bytes());
    }
}

/// Returns the line that the person types, with its end, and an empty one where the input ended; nothing where they give up in place of an answer.
fn typed(cancelled: &CancellationToken) -> Option<std::io::Result<String>> {
    let (sender, line) = mpsc::channel();
    // No signal ends a read that waits: where the person gives up, the process ends without it.
    std::thread::spawn(move || {
        let mut line = String::new();
        let _ = sender.send(std::io::stdin().read_line(&mut line).map(|_| line));
    });
    loop {
        match line.recv_timeout(LOOK) {
            Ok(line) => return Some(line),
            Err(RecvTimeoutError::Timeout) if cancelled.is_cancelled() => return None,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Some(Ok(String::new())),
        }
    }
}

/// Who can say yes: a person at a terminal, unless it was said.
pub(super) fn confirmation(yes: bool) -> Confirmation {
    match (yes, std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        (true, _) => Confirmation::Given,
        (false, true) => Confirmation::Ask,
        (false, false) => Confirmation::Nobody,
    }
}

/// Writes a failure to stdout as JSON.
pub(super) fn json_error(error: &Error) {
    if !is_closed_pipe(error) {
        json(&present::error(error));
    }
}

/// Writes an object to stdout; to stderr where that fails.
pub(super) fn json(object: &Value) {
    if write_raw(format!("{object:#}\n").as_bytes()).is_err() {
        json_to_stderr(object);
    }
}

/// Writes an object to stderr.
pub(super) fn json_to_stderr(object: &Value) {
    let _ = writeln!(std::io::stderr().lock(), "{object:#}");
}

/// Writes what clap rendered: help to stdout, usage errors to stderr.
pub(super) fn clap_text(error: &clap::Error, color: ColorChoice, to_stderr: bool) {
    let text = error.render().ansi().to_string();
    let _ = if to_stderr {
        AutoStream::new(std::io::stderr().lock(), stream(color)).write_all(text.as_bytes())
    } else {
        AutoStream::new(std::io::stdout().lock(), stream(color)).write_all(text.as_bytes())
    };
}

fn write_stdout(color: ColorChoice, text: &[u8]) -> Result<()> {
    let mut stdout = AutoStream::new(std::io::stdout().lock(), stream(color));
    stdout.write_all(text).and_then(|()| stdout.flush()).map_err(stdout_failed)
}

fn write_raw(bytes: &[u8]) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(stdout_failed)
}

fn stdout_failed(error: std::io::Error) -> Error {
    Error::new(Code::FileFailed, format!("Cannot write to standard output: {error}")).with_source(error)
}

/// `mcpkg prompt list | head -1` is no failure.
pub(super) fn is_closed_pipe(error: &Error) -> bool {
    std::error::Error::source(error)
        .and_then(|source| source.downcast_ref::<std::io::Error>())
        .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// `auto` follows the terminal and NO_COLOR.
fn stream(color: ColorChoice) -> Stream {
    match color {
        ColorChoice::Auto => Stream::Auto,
        ColorChoice::Always => Stream::AlwaysAnsi,
        ColorChoice::Never => Stream::Never,
    }
}

/// Returns as much of what is done as stands before a bar in one line of the terminal.
fn beginning(what: &str) -> String {
    let columns = console::Term::stderr().size_checked().map_or(80, |(_, columns)| usize::from(columns));
    console::truncate_str(&cell(what), columns.saturating_sub(BESIDE).max(8), "…").into_owned()
}

/// Returns how many columns the terminal has: one that does not know its size says nothing, or 0, and not always of its rows too.
fn terminal_width() -> u16 {
    #[cfg(unix)]
    let columns = rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| size.ws_col);
    #[cfg(not(unix))]
    let columns = console::Term::stdout().size_checked().map(|(_, columns)| columns);
    let is_known = |columns: &u16| *columns > 0;
    let told = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(is_known);
    columns.filter(is_known).or_else(told).unwrap_or(USUAL_WIDTH)
}

fn colored_diff(text: &str) -> String {
    text.split_inclusive('\n')
        .map(|line| {
            let style = match line.as_bytes().first() {
                _ if line.starts_with("+++ ") || line.starts_with("--- ") => BOLD,
                Some(b'+') => GREEN,
                Some(b'-') => RED,
                Some(b'@') => CYAN,
                _ => return line.to_owned(),
            };
            format!("{style}{}{style:#}\n", line.trim_end_matches('\n'))
        })
        .collect()
}
