//! Limits on workflows and expressions.

/// Maximum size of a workflow's text, in bytes.
pub const MAX_BYTES: usize = 1 << 20;
/// Maximum nesting depth of values.
pub const MAX_DEPTH: usize = 64;
/// Maximum number of values in a text, after expanding aliases.
pub const MAX_NODES: usize = 100_000;
/// Maximum size of all keys and scalars after expanding aliases, in bytes.
pub const MAX_EXPANDED: usize = 4 << 20;
/// Maximum number of steps in a workflow.
pub const MAX_STEPS: usize = 1_000;
/// Maximum number of inputs of a workflow.
pub const MAX_INPUTS: usize = 200;
/// Maximum length of an expression, in bytes.
pub const MAX_EXPRESSION: usize = 4 << 10;
/// Maximum nesting depth of an expression.
pub const MAX_EXPRESSION_DEPTH: usize = 32;
/// Maximum size of a compiled regular expression, in bytes.
pub const MAX_PATTERN: usize = 1 << 20;
/// Maximum number of attempts of a repeated step.
pub const MAX_ATTEMPTS: u32 = 10_000;
/// Maximum time for which a step is repeated, in milliseconds: one day.
pub const MAX_REPEAT_MS: u64 = 24 * 3_600_000;
/// Maximum number of findings that are returned for one text.
pub const MAX_FINDINGS: usize = 500;
