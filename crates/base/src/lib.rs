//! Provides the basics for all other crates: errors and their codes, the clock, redaction, files and folders,
//! processes, git and HTTP. All crates start programs and make HTTP requests through this one. Only `store` also
//! contacts other hosts by itself: PostgreSQL servers.

pub mod approved;
pub mod cache;
pub mod clock;
pub mod diff;
pub mod disk;
pub mod editor;
pub mod error;
pub mod file;
pub mod file_url;
pub mod git;
pub mod hex;
pub mod http;
pub mod inside;
pub mod json;
pub mod machine;
pub mod marks;
pub mod merge;
pub mod platform;
pub mod plural;
pub mod process;
pub mod quote;
pub mod rate;
pub mod redact;
pub mod rolling;
pub mod secret;
#[cfg(test)]
#[path = "../../../tests/support/seed.rs"]
#[allow(clippy::print_stderr, reason = "a test prints the seed that it began with")]
mod seed;
pub mod sha256;
pub mod shell;
pub mod yaml;
