//! How much of each is taken.

/// The most bytes of a text.
pub const MAX_BYTES: usize = 1 << 20;
/// The most values inside of each other.
pub const MAX_DEPTH: usize = 64;
/// The most values of a text, those of aliases counted each time.
pub const MAX_NODES: usize = 100_000;
/// The most bytes of keys and scalars, those of aliases counted each time.
pub const MAX_EXPANDED: usize = 4 << 20;
/// The most steps of a workflow.
pub const MAX_STEPS: usize = 1_000;
/// The most inputs of a workflow.
pub const MAX_INPUTS: usize = 200;
/// The most bytes of an expression.
pub const MAX_EXPRESSION: usize = 4 << 10;
/// The most parts of an expression inside of each other.
pub const MAX_EXPRESSION_DEPTH: usize = 32;
/// The most bytes of a regular expression once it is compiled.
pub const MAX_PATTERN: usize = 1 << 20;
/// The most attempts of a step that is repeated.
pub const MAX_ATTEMPTS: u32 = 10_000;
/// The longest time that a step may be repeated for, in milliseconds: a day.
pub const MAX_REPEAT_MS: u64 = 24 * 3_600_000;
/// The most findings that are returned for one text.
pub const MAX_FINDINGS: usize = 500;
