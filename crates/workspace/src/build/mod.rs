//! `mcpkg build`: runs the commands in a workspace's manifest for each repository, dependencies first.
//!
//! [`plan`] lists the commands in dependency [`order`]. If an agent asked for the build, [`consent`] makes sure that a
//! person agreed. [`schedule`] runs each [`command`], keeps its output in a [`log`] and shows progress through
//! [`live`]. [`report`] formats the result, and [`record`] stores it.

mod command;
mod consent;
mod list;
mod live;
mod log;
mod operation;
mod order;
mod plan;
mod record;
mod report;
mod schedule;
mod show;

use mcpkg_core::op::Entry;

pub use record::last;

/// The operations on builds, in documentation order.
pub const OPS: &[Entry] = &[Entry::of::<operation::Build>(), Entry::of::<list::List>(), Entry::of::<show::Show>()];
