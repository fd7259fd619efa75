//! Git flow for workspaces: starts and finishes features, releases and hotfixes in several repositories at once.

pub mod branches;
mod changelog;
mod finish;
mod finish_repo;
mod init;
pub mod kind;
mod log;
mod look;
mod named;
mod operations;
mod push;
mod rows;
pub mod start;
mod undo;
mod version;

use mcpkg_core::op::Entry;

pub const OPS: &[Entry] = &[
    Entry::of::<init::Init>(),
    Entry::of::<operations::FeatureStart>(),
    Entry::of::<operations::FeatureFinish>(),
    Entry::of::<operations::FeatureList>(),
    Entry::of::<operations::ReleaseStart>(),
    Entry::of::<operations::ReleaseFinish>(),
    Entry::of::<operations::ReleaseList>(),
    Entry::of::<operations::HotfixStart>(),
    Entry::of::<operations::HotfixFinish>(),
    Entry::of::<operations::HotfixList>(),
    Entry::of::<log::Log>(),
    Entry::of::<undo::Undo>(),
    Entry::of::<push::Push>(),
];
