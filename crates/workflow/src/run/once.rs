//! The text of a workflow to run. It is checked only once, however often the run is planned.

use std::cell::OnceCell;

use crate::check::{self, Checked};
use crate::commands::reachable;
use mcpkg_base::error::{Error, Result};
use mcpkg_core::op::Context;

#[derive(Debug, Default)]
pub struct Text {
    pub text: String,
    checked: OnceCell<Checked>,
}

impl Text {
    pub fn new(text: String) -> Self {
        Self { text, checked: OnceCell::new() }
    }

    pub fn checked(&self, context: &Context) -> Result<&Checked> {
        if self.checked.get().is_none() {
            // This `set` cannot fail: only this thread uses the `Text`.
            let _ = self.checked.set(check::checked(&self.text, &reachable(context))?);
        }
        self.checked.get().ok_or_else(|| Error::internal("the checked text is missing"))
    }
}
