//! Trust: who says what of an archive, whose word counts for this user, and what a policy makes of it.
//!
//! Somebody's word is an *attestation*: an in-toto statement ([`statement`]) that names a tool, its version and the SHA-256
//! of its archive, signed with an ed25519 key, either in a DSSE envelope ([`dsse`]) or by `ssh-keygen` ([`ssh`]). It is stored
//! as a claim. [`weigh`] decides which claims count, [`judge`] does so for what the database holds, and [`require`] is the
//! one function that every verb asks before it shows or runs anything of an archive.

pub mod bundle;
pub mod dsse;
pub mod identity;
pub mod judge;
pub mod pattern;
pub mod policy;
pub mod records;
pub mod require;
pub mod ssh;
pub mod statement;
pub mod subject;
pub mod verdict;
pub mod weigh;

pub use identity::Identity;
pub use judge::{judge, judge_by};
pub use policy::{Policy, Verb};
pub use records::rules;
pub use require::require;
pub use subject::Subject;
pub use verdict::{Counted, Form, Part, Status, Verdict};
pub use weigh::Rules;
