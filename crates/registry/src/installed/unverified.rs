//! Marks unverified tools that the policy allows, so that clients know.

use crate::trust::{self, Policy, Rules, Status, Subject};
use mcpkg_base::approved::Approved;
use mcpkg_base::error::Result;
use mcpkg_store::Db;

/// Decides which tools are allowed although they are not verified.
pub struct Unverified(Option<(Rules, Approved)>);

impl Unverified {
    /// Reads the policy that decides it.
    pub fn of(db: &Db<'_>) -> Result<Self> {
        // Only a policy that this user set allows such tools; without one there is nothing more to read.
        if !trust::names_a_policy(db)? {
            return Ok(Self(None));
        }
        let approved = Approved::of_user();
        let rules = trust::rules_by(db, &approved)?;
        Ok(Self((rules.policy == Policy::Allow).then_some((rules, approved))))
    }

    /// Whether a tool is one of these.
    pub fn has(&self, db: &Db<'_>, subject: &Subject) -> Result<bool> {
        match &self.0 {
            Some((rules, approved)) => Ok(trust::status(rules, db, approved, subject)? == Status::Unverified),
            None => Ok(false),
        }
    }
}
