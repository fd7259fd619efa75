//! The table of rules. The reference page `docs/reference/audit.md` is generated from it.

mod characters;
mod commands;
mod prose;
mod rule;
mod settings;

pub use characters::*;
pub use commands::*;
pub use prose::*;
pub use rule::{Pattern, Reads, Rule, Severity};
pub use settings::*;

pub static RULES: [&Rule; 22] = [
    &BIDI,
    &TAGS,
    &VARIATIONS,
    &HIDDEN_RUN,
    &ESCAPES,
    &DECODE_AND_RUN,
    &FETCH_UNSAFE,
    &READ_AND_SEND,
    &PERMISSIONS_OFF,
    &ZERO_WIDTH,
    &CONTROL,
    &MIXED_SCRIPTS,
    &COMMENT,
    &WHITE_SPACE,
    &BLOB,
    &CREDENTIALS,
    &FETCH_AND_RUN,
    &OVERRIDE,
    &SECRECY,
    &PERMISSIONS_WIDE,
    &HOOK,
    &ALLOWED_BASH,
];
