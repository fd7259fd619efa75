//! Watches live resources, which are made from files and the output of programs.

use std::sync::Arc;

use super::Context;

/// Called at any time, from any thread, when live resources may have changed.
pub type Ring = Arc<dyn Fn() + Send + Sync>;

/// Starts a watch, which lasts until the returned value is dropped.
pub type Watch = fn(&Context, Ring) -> Box<dyn Watching>;

/// Watches the sources of a domain's live resources, until it is dropped.
pub trait Watching: Send {
    /// Updates the set of watched files, for example after a repository was added.
    fn follow(&mut self, context: &Context);

    /// Whether no program is changing the sources right now. Resources are read only while the sources are settled.
    fn is_settled(&self, context: &Context) -> bool;

    /// Whether the watch reports every change. If the system cannot watch everything, the resources are checked periodically
    /// as well.
    fn is_complete(&self) -> bool;
}
