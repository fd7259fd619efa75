//! Tools that nobody speaks for, where the policy lets them through: clients are told so.

use crate::approved::Approved;
use crate::error::Result;
use crate::registry::trust::{self, Policy, Rules, Status, Subject};
use crate::store::Db;

/// Says of tools whether they are let through though they are not verified.
pub struct Unverified(Option<(Rules, Approved)>);

impl Unverified {
    /// Returns what says so while the policy is what it is.
    ///
    /// # Errors
    /// As [`trust::rules`].
    pub fn of(db: &Db<'_>) -> Result<Self> {
        // Only a policy that this user set lets anything through; without one nothing more is read.
        if !trust::names_a_policy(db)? {
            return Ok(Self(None));
        }
        let approved = Approved::of_user();
        let rules = trust::rules_by(db, &approved)?;
        Ok(Self((rules.policy == Policy::Allow).then_some((rules, approved))))
    }

    /// Whether a tool is one of these.
    ///
    /// # Errors
    /// As [`trust::judge`].
    pub fn has(&self, db: &Db<'_>, subject: &Subject) -> Result<bool> {
        match &self.0 {
            Some((rules, approved)) => Ok(trust::status(rules, db, approved, subject)? == Status::Unverified),
            None => Ok(false),
        }
    }
}
