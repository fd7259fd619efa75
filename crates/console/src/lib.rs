//! The console's screens as data: rows, texts, forms, actions and keys.
//!
//! [`load`] builds a screen from the data that operations return, and the screen's actions run operations
//! ([`Invocation`]). This crate does not draw anything: `src/tui` draws the screens in a terminal, `src/web` as HTML.

pub mod action;
pub mod ask;
pub mod chart;
pub mod diff;
pub mod document;
pub mod editor;
pub mod fields;
pub mod figure;
pub mod finding;
pub mod form;
pub mod graph;
pub mod health;
pub mod inbox;
pub mod keys;
pub mod markdown;
pub mod offers;
pub mod palette;
pub mod picker;
pub mod place;
pub mod reply;
pub mod reviewed;
pub mod screen;
pub mod screens;
pub mod survey;

mod answers;
mod consent;
mod content;
mod data;
mod deploy;
mod draft;
mod feed;
mod line;
mod lists;
mod load;
mod pages;
mod phases;
mod proposal;
mod rendered;
mod run;
mod seen;
mod sessions;
mod snapshots;
mod time;
mod timeline;
mod waiting;
mod words;
mod workflows;

pub use action::{Action, Does, Invocation};
pub use consent::decided;
pub use load::load;
pub use place::{Part, Place};
pub use run::under_way as run_under_way;
pub use screen::Screen;
pub use seen::RENDERED;
pub use words::{effect, sign};

use mcpkg_core::op::{Domain, Entry};

const GROUP: &str = "console";

/// The only operation of this crate, `mcpkg inbox`.
pub static DOMAIN: Domain = Domain { name: "console", operations: &[&[Entry::of::<inbox::Inbox>()]], ..Domain::EMPTY };
