//! Trust: attestations of archives, the identities that this user trusts, and the policy for unverified tools.
//!
//! An *attestation* is a signed in-toto statement ([`statement`]) that names a tool, its version and the SHA-256 of its
//! archive. It is signed with an ed25519 key, either in a DSSE envelope ([`dsse`]) or by `ssh-keygen` ([`ssh`]), or
//! without a long-lived key in a Sigstore bundle ([`sigstore`]). mcpkg stores it as a claim. [`weigh`] decides which
//! claims count, and [`judge`] applies these rules to the claims in the database. Before mcpkg shows the documentation
//! of an archive, installs the archive, builds it or runs it, it calls [`require`].

pub mod bundle;
pub mod dsse;
pub mod identity;
pub mod judge;
pub mod keys;
pub mod pattern;
pub mod policy;
pub mod records;
pub mod require;
pub mod sigstore;
pub mod ssh;
pub mod statement;
pub mod subject;
pub mod target;
#[cfg(test)]
mod tests;
mod unique_keys;
pub mod verdict;
pub mod weigh;

mod operations;

use mcpkg_core::op::Entry;

pub use identity::Identity;
pub use judge::{judge, judge_by, status};
pub use policy::{Policy, Verb};
pub use records::{names_a_policy, rules, rules_by};
pub use require::require;
pub use subject::Subject;
pub use verdict::{Counted, Form, Part, Status, Verdict};
pub use weigh::Rules;

/// The operations, in documentation order.
pub const OPS: &[Entry] = &[
    Entry::of::<operations::key::New>(),
    Entry::of::<operations::key::List>(),
    Entry::of::<operations::key::Show>(),
    Entry::of::<operations::key::Remove>(),
    Entry::of::<operations::sign::Sign>(),
    Entry::of::<operations::audit::Audit>(),
    Entry::of::<operations::verify::Verify>(),
    Entry::of::<operations::add::Add>(),
    Entry::of::<operations::list::List>(),
    Entry::of::<operations::remove::Remove>(),
    Entry::of::<operations::check::Check>(),
    Entry::of::<operations::policy::SetPolicy>(),
    Entry::of::<operations::root::ShowRoot>(),
];
