//! `mcpkg build`: runs the commands that a workspace's manifest has for its repositories, each after those that it depends on.
//!
//! A [`plan`] is made of the manifest in the right [`order`]. Where an agent asks for it, a person's [`approval`] is looked for.
//! A [`schedule`] runs each [`command`], whose output is kept by a [`log`], while [`live`] tells how far it is. How it went is
//! [told](report) and [kept](record).

mod approval;
mod command;
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
