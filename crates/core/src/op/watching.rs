//! Watches live resources, which are made from files and the output of programs.

use std::sync::Arc;

use super::Context;

/// Told that live resources may answer something else; it may be called at any time, from any thread.
pub type Ring = Arc<dyn Fn() + Send + Sync>;

/// Begins to watch; what it returns watches until it is dropped.
pub type Watch = fn(&Context, Ring) -> Box<dyn Watching>;

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
