//! Resources that are made of files and of what programs say of them, and not of rows: reading one may run git, so no
//! transaction is open meanwhile.

use std::sync::Arc;

use super::{Context, Values};
use crate::error::Result;

/// How a resource is read that is not made of rows.
#[derive(Clone, Copy)]
pub struct Live {
    /// The group of tools that it belongs to: who is not served these is not served it.
    pub group: &'static str,
    /// Returns its text; `None` where there is no such thing.
    pub read: fn(&Context, &Values) -> Result<Option<String>>,
    /// Returns the values that the variable of its template has now, in order; empty where it has no variable.
    pub names: fn(&Context) -> Result<Vec<String>>,
    /// Whether its text may become another one without a ring.
    pub looked_at_again: bool,
}

/// Told that live resources may answer something else; it may be called at any time, from any thread.
pub type Ring = Arc<dyn Fn() + Send + Sync>;

/// Watches what the live resources of a domain are made of, until it is dropped.
pub trait Watching: Send {
    /// Takes in what there is to be watched now, such as a repository that was added.
    fn follow(&mut self, context: &Context);

    /// Whether nothing works on it at the moment: what is half done is looked at when it is done.
    fn is_settled(&self, context: &Context) -> bool;

    /// Whether it rings for every change. Where the system cannot watch all of it, the resources are looked at from time to
    /// time instead.
    fn is_complete(&self) -> bool;
}
