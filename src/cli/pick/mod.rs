//! Lets a person choose from a list at the terminal, before something is written.
//!
//! The list is drawn below the present content of the terminal, and redrawn in place. [`list`] has its state and builds
//! its lines, and [`canvas`] draws them.

mod canvas;
mod list;

use std::io::stderr;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::ask;
use super::output::{Output, size};
use super::styled_text::Lines;
use canvas::Canvas;
use list::{Done, List};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Choose, Confirmation, Pick};

impl Output {
    /// Returns the function that lets a person choose from a list. `None` without a terminal that can redraw lines.
    pub(super) fn chooser(&self, yes: bool, cancelled: &CancellationToken) -> Option<Arc<Choose>> {
        if ask::confirmation(yes) != Confirmation::Ask || is_plain() {
            return None;
        }
        let (output, cancelled) = (*self, cancelled.clone());
        Some(Arc::new(move |pick| output.pick(pick, &cancelled)))
    }

    fn pick(&self, pick: Pick, cancelled: &CancellationToken) -> Result<Vec<Vec<bool>>> {
        let Pick { shown, heading, question, groups } = pick;
        let columns = size(&stderr()).0;
        let above = Lines::of(shown, columns);
        let mut list = List::new(heading, question, groups);
        self.note(&above.rows(columns, true).0);
        let done = Canvas::open().and_then(|mut canvas| canvas.run(self, &mut list, &above, cancelled));
        match done? {
            Done::Chosen => {
                let summary = list.summary();
                self.note(&Lines::of(Body::Sentence(summary), columns).rows(columns, false).0);
                Ok(list.ticks())
            }
            Done::Left => Err(Error::new(Code::ConfirmRequired, "Not confirmed; nothing was changed")),
            Done::Cancelled => Err(Error::new(Code::Cancelled, "Cancelled; nothing was changed")),
        }
    }
}

/// Returns whether the terminal cannot redraw lines, or the user asked for plain lines.
pub(super) fn is_plain() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
        || std::env::var_os("MCPKG_PLAIN").is_some_and(|value| value == "1")
}
