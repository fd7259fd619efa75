//! The findings of a health check: `doctor` collects them from every domain.

use serde_json::{Value, json};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// All is well.
    Ok,
    /// Worth knowing, but nothing is wrong.
    Note,
    Problem,
}

/// A finding, and what to do about it.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What was checked, such as `database`.
    pub area: &'static str,
    pub health: Health,
    pub what: String,
    pub action: Option<String>,
}

impl Finding {
    /// Returns a finding without an action.
    pub fn new(area: &'static str, health: Health, what: impl Into<String>) -> Self {
        Self { area, health, what: what.into(), action: None }
    }

    /// Adds the action that the user can take.
    #[must_use]
    pub fn action(mut self, action: impl Into<String>) -> Self {
        self.action = Some(action.into());
        self
    }

    /// Returns the finding as JSON.
    pub fn data(&self) -> Value {
        json!({ "area": self.area, "state": self.state(), "what": self.what, "action": self.action })
    }

    /// Returns the finding as a row of a table: area, what, state, what to do.
    pub fn row(&self) -> Vec<String> {
        let action = self.action.clone().unwrap_or_default();
        vec![self.area.to_owned(), self.what.clone(), self.state().to_owned(), action]
    }

    const fn state(&self) -> &'static str {
        match self.health {
            Health::Ok => "ok",
            Health::Note => "note",
            Health::Problem => "problem",
        }
    }
}
