//! Marks unverified tools that the policy allows, so that clients can show the mark.

use crate::trust::{self, Policy, Rules, Status, Subject};
use mcpkg_base::approved::Approved;
use mcpkg_base::error::Result;
use mcpkg_store::Db;

/// Finds the installed tools that are unverified but allowed by the policy.
pub struct Unverified(Option<(Rules, Approved)>);

impl Unverified {
    /// Reads the policy.
    pub fn of(db: &Db<'_>) -> Result<Self> {
        // Only a policy that this user set can allow unverified tools. Without a policy, nothing more has to be read.
        if !trust::names_a_policy(db)? {
            return Ok(Self(None));
        }
        let approved = Approved::of_user();
        let rules = trust::rules_by(db, &approved)?;
        Ok(Self((rules.policy == Policy::Allow).then_some((rules, approved))))
    }

    /// Returns whether a tool is unverified but allowed.
    pub fn has(&self, db: &Db<'_>, subject: &Subject) -> Result<bool> {
        match &self.0 {
            Some((rules, approved)) => Ok(trust::status(rules, db, approved, subject)? == Status::Unverified),
            None => Ok(false),
        }
    }
}
