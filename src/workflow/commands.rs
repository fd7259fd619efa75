//! The commands that a caller may reach.

use std::sync::Arc;

use super::source::{Commands, Resolved};
use super::spec::ProviderContract;
use crate::error::Result;
use crate::op::Context;

/// The commands that a caller may reach.
pub struct Reachable<'c> {
    _context: &'c Context,
}

/// Returns the commands that a caller may reach.
pub fn reachable(context: &Context) -> Reachable<'_> {
    Reachable { _context: context }
}

impl Commands for Reachable<'_> {
    fn resolve(&self, _typed: &str) -> Result<Resolved> {
        Ok(Resolved::None(Vec::new()))
    }

    fn provider(&self, _id: &str) -> Result<Option<Arc<ProviderContract>>> {
        Ok(None)
    }
}
