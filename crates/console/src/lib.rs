//! The screens of the console as data: rows, texts, forms, actions and keys.
//!
//! A screen is made from what operations return ([`load`]), and its actions run operations ([`Invocation`]). This
//! crate knows no terminal and no HTML; `src/tui` draws its screens.

pub mod action;
pub mod document;
pub mod editor;
pub mod form;
pub mod inbox;
pub mod keys;
pub mod palette;
pub mod place;
pub mod reply;
pub mod screen;

mod consent;
mod content;
mod data;
mod deploy;
mod diff;
mod draft;
mod feed;
mod lists;
mod load;
mod run;
mod time;
mod workflows;

pub use action::{Action, Does, Invocation};
pub use load::load;
pub use place::Place;
pub use screen::Screen;

use mcpkg_core::op::{Domain, Entry};

const GROUP: &str = "console";

/// What the console offers to the shell.
pub const DOMAIN: Domain = Domain { name: "console", operations: &[&[Entry::of::<inbox::Inbox>()]], ..Domain::EMPTY };
