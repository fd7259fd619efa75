//! Contract 001: projects, prompts and resources, and what goes with keeping them.
//!
//! Other domains may use [`command`] (a prompt as a slash command's file, or as a skill's), [`files`] (files that were
//! edited on disk), [`health`], [`names`], [`skills`] (what a skill has to be) and [`uri`].

pub mod answer;
pub mod argument;
pub mod command;
pub mod cursor;
pub mod export;
pub mod files;
pub mod history;
pub mod import;
pub mod media;
pub mod names;
pub mod projects;
pub mod prompts;
pub mod resources;
pub mod search;
pub mod skills;
pub mod template;
pub mod uri;

mod edit;
mod health;

use crate::op::Entry;

pub use health::health;

/// The group of this domain.
pub const GROUP: &str = "content";

/// The groups of this domain: what they do stays inside one project.
pub const GROUPS: [&str; 2] = [GROUP, skills::GROUP];

/// The operations of this domain, in documentation order. The contract's six tools stand first among the tools.
pub const OPS: &[Entry] = &[
    Entry::of::<projects::Create>(),
    Entry::of::<projects::List>(),
    Entry::of::<projects::Show>(),
    Entry::of::<projects::Select>(),
    Entry::of::<projects::Unbind>(),
    Entry::of::<projects::Current>(),
    Entry::of::<projects::Rename>(),
    Entry::of::<projects::Delete>(),
    Entry::of::<prompts::create::Create>(),
    Entry::of::<prompts::update::Update>(),
    Entry::of::<prompts::delete::Delete>(),
    Entry::of::<resources::Create>(),
    Entry::of::<resources::Update>(),
    Entry::of::<resources::Delete>(),
    Entry::of::<prompts::list::List>(),
    Entry::of::<prompts::show::Show>(),
    Entry::of::<edit::Edit>(),
    Entry::of::<prompts::rename::Rename>(),
    Entry::of::<history::PromptHistory>(),
    Entry::of::<history::PromptDiff>(),
    Entry::of::<history::PromptRestore>(),
    Entry::of::<resources::List>(),
    Entry::of::<resources::Show>(),
    Entry::of::<history::ResourceHistory>(),
    Entry::of::<history::ResourceDiff>(),
    Entry::of::<history::ResourceRestore>(),
    Entry::of::<search::Search>(),
    Entry::of::<import::Import>(),
    Entry::of::<export::Export>(),
];
