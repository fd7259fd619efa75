//! Asks the person at the terminal for consent or for a line of text.
//!
//! All questions of commands in a shell go through this module, so that they look alike and no text can fake an extra
//! line. Each further row of a wrapped line starts with a mark. A long line is cut and shown with its size.

use std::io::{IsTerminal, stderr, stdin};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::output::{Output, size};
use super::styled_text::{CYAN, Lines, StyledText};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Ask, Body, Confirmation, Line};

/// The interval at which a waiting question checks whether the person pressed Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

impl Output {
    /// Shows a preview of the change and asks for consent. With `yes`, shows and asks nothing. Fails if there is no
    /// terminal to ask at. Preview and question go to stderr, because stdout is for data and may be a file.
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
            return Err(refused(unconfirmed(question)).hint("confirm with --yes"));
        }
        let (columns, rows) = size(&stderr());
        let (lines, (asked, is_question_cut)) = (Lines::of(preview, columns), Lines::question(question));
        let (shown, height, is_cut) = lines.rows(columns, true);
        self.note(&shown);
        let ending = |choices: &str| asked.ending_with(&format!(" {choices} ")).rows(columns, false);
        let (_, asked_height, _) = ending("[y/N/v]");
        // The last row of the terminal is for the cursor.
        let is_long = is_cut || is_question_cut || height + asked_height >= usize::from(rows);
        // The choices are wrapped together with the question. Otherwise the terminal would break them at the end of
        // its row.
        let shown_question = ending(if is_long { "[y/N/v]" } else { "[y/N]" }).0.without_end();
        loop {
            if is_long {
                let (_, whole, _) = lines.rows(columns, false);
                let text = format!(" not all of these {whole} lines fit on the screen; press `v` to use a pager\n");
                self.note(&StyledText::styled(CYAN, "note:").then(text));
            }
            self.note(&shown_question);
            let answer = match typed(cancelled) {
                None => return Err(self.given_up()),
                Some(answer) => answer.map_err(|error| refused(format!("Cannot read the answer: {error}")))?,
            };
            match answer.trim().to_ascii_lowercase().as_str() {
                "y" | "yes" => return Ok(()),
                "v" if is_long => {
                    let question = Lines::of(Body::lines([question]), columns);
                    self.page(&lines.rows(columns, false).0.and(question.rows(columns, false).0));
                }
                _ => return Err(refused("Not confirmed; nothing was changed".to_owned())),
            }
        }
    }

    /// Returns the error for a question that ended with Ctrl-C.
    fn given_up(&self) -> Error {
        self.note(&StyledText::plain("\n"));
        Error::new(Code::Cancelled, "Cancelled; nothing was changed")
    }

    /// Returns the function that asks for consent before something is written.
    pub(super) fn asker(&self, yes: bool, cancelled: &CancellationToken) -> Arc<Ask> {
        let (output, cancelled) = (*self, cancelled.clone());
        Arc::new(move |preview, question| output.confirm(preview, question, yes, &cancelled))
    }

    /// Returns the function that asks the person for a line of text. The question goes to stderr.
    pub(super) fn line_reader(&self, cancelled: &CancellationToken) -> Arc<Line> {
        let (output, cancelled) = (*self, cancelled.clone());
        Arc::new(move |shown, question, _| {
            let refused = |why: String| Error::new(Code::TerminalRequired, why);
            if confirmation(false) == Confirmation::Nobody {
                return Err(refused(format!("Cannot ask without a terminal: {question}")));
            }
            let columns = size(&stderr()).0;
            output.note(&Lines::of(shown, columns).rows(columns, true).0);
            output.note(&Lines::question(question).0.rows(columns, false).0.without_end().then(" "));
            let answer = typed(&cancelled).ok_or_else(|| output.given_up())?;
            match answer.map_err(|error| refused(format!("Cannot read the answer: {error}")))?.as_str() {
                "" => Err(refused("The input ended before you gave an answer".to_owned())),
                line => Ok(line.trim_end_matches(['\r', '\n']).to_owned()),
            }
        })
    }
}

/// Returns the error message for a question that nobody answered. It splits the question at `? `, because a URL in the
/// question may contain a question mark.
fn unconfirmed(question: &str) -> String {
    let end = question.find("? ").unwrap_or(question.trim_end_matches('?').len());
    let (what, rest) = question.split_at(end);
    format!("{what} needs to be confirmed.{} Nothing was changed", rest.trim_start_matches('?'))
}

/// Returns the typed line with its line end, an empty line at the end of the input, or `None` after Ctrl-C.
fn typed(cancelled: &CancellationToken) -> Option<std::io::Result<String>> {
    let (sender, line) = mpsc::channel();
    // A signal does not interrupt a blocking read, so another thread reads. After Ctrl-C, nothing waits for that
    // thread.
    std::thread::spawn(move || {
        let mut line = String::new();
        let _ = sender.send(stdin().read_line(&mut line).map(|_| line));
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

/// Returns how the action can be confirmed, if at all: by `--yes`, or by a person at a terminal.
pub(super) fn confirmation(yes: bool) -> Confirmation {
    match (yes, stdin().is_terminal() && stderr().is_terminal()) {
        (true, _) => Confirmation::Given,
        (false, true) => Confirmation::Ask,
        (false, false) => Confirmation::Nobody,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_that_nobody_answers_says_what_needs_to_be_confirmed() {
        for (question, said) in [
            ("Delete it?", "Delete it needs to be confirmed. Nothing was changed"),
            ("Prune 2? They are gone.", "Prune 2 needs to be confirmed. They are gone. Nothing was changed"),
            ("Push to `https://a/?b`?", "Push to `https://a/?b` needs to be confirmed. Nothing was changed"),
        ] {
            assert_eq!(unconfirmed(question), said);
        }
    }
}
