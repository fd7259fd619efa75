//! The findings of a health check: `doctor` collects them from every domain.

use serde_json::{Value, json};

/// How well something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// As it should be.
    Ok,
    /// Something to know, though nothing is wrong.
    Note,
    Problem,
}

/// What was found, and what to do about it.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What was looked at, such as `database`.
    pub area: &'static str,
    /// How well it is.
    pub health: Health,
    pub what: String,
    pub action: Option<String>,
}

impl Finding {
    /// Returns what was found, with nothing to do.
    pub fn new(area: &'static str, health: Health, what: impl Into<String>) -> Self {
        Self { area, health, what: what.into(), action: None }
    }

    /// Says what to do.
    #[must_use]
    pub fn action(mut self, action: impl Into<String>) -> Self {
        self.action = Some(action.into());
        self
    }

    /// The finding for programs.
    pub fn data(&self) -> Value {
        json!({ "area": self.area, "state": self.state(), "what": self.what, "action": self.action })
    }

    /// The finding as a row: area, what, state, what to do.
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
