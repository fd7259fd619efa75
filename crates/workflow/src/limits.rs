//! Limits on workflows and expressions.

/// Bytes of a workflow's text.
pub const MAX_BYTES: usize = 1 << 20;
/// Nesting depth of values.
pub const MAX_DEPTH: usize = 64;
/// Values in a text, after expanding aliases.
pub const MAX_NODES: usize = 100_000;
/// Bytes of keys and scalars, after expanding aliases.
pub const MAX_EXPANDED: usize = 4 << 20;
/// Steps of a workflow.
pub const MAX_STEPS: usize = 1_000;
/// Inputs of a workflow.
pub const MAX_INPUTS: usize = 200;
/// Bytes of an expression.
pub const MAX_EXPRESSION: usize = 4 << 10;
/// Nesting depth of an expression.
pub const MAX_EXPRESSION_DEPTH: usize = 32;
/// Bytes of a compiled regular expression.
pub const MAX_PATTERN: usize = 1 << 20;
/// Attempts of a repeated step.
pub const MAX_ATTEMPTS: u32 = 10_000;
/// Duration for which a step may be repeated, in milliseconds: one day.
pub const MAX_REPEAT_MS: u64 = 24 * 3_600_000;
/// Findings that are returned for one text.
pub const MAX_FINDINGS: usize = 500;
