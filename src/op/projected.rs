//! Tools that are data: rows of a domain's, such as installed tools, each shown as an MCP tool of its own.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Context, Effect, Reply, Shape, Validator};
use crate::error::Result;
use crate::store::Db;
use crate::store::projects::Selection;

/// A tool that is data.
#[derive(Clone)]
pub struct Projected {
    /// The name that it is called by: within 64 characters of `[A-Za-z0-9_-]`, and no operation's.
    pub name: String,
    /// A title for people.
    pub title: Option<String>,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Arc<Map<String, Value>>,
    /// The JSON Schema of its data, where it is known.
    pub output_schema: Option<Arc<Map<String, Value>>>,
    /// What it does to what is there.
    pub effect: Effect,
    /// Whether it reaches what lies outside of this machine.
    pub open_world: bool,
    /// The group that it belongs to.
    pub group: &'static str,
    /// How its reply looks.
    pub shape: Shape,
    /// Does it, with the arguments that the caller gave.
    pub run: Arc<Run>,
}

/// Runs a tool that is data; fails as an operation does.
pub type Run = dyn Fn(&Context, Value) -> Result<Reply> + Send + Sync;

/// The tools that are data of one domain, in the project that a selection says.
#[derive(Clone, Copy)]
pub struct Projections {
    /// Returns as many as the number says of those whose names come after the one given, by name.
    pub list: fn(&Db<'_>, &Selection, &str, usize) -> Result<Vec<Projected>>,
    /// Returns the one of this name.
    pub find: fn(&Db<'_>, &Selection, &str) -> Result<Option<Projected>>,
    /// Returns what differs whenever the list does.
    pub validator: fn(&Db<'_>, &Selection) -> Result<Validator>,
}
