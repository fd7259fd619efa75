//! Describes Cline. mcpkg only imports Cline's rules and does not deploy to it, so Cline is not in [`super::ALL`].

use super::imports::Form;
use crate::forms::rule::CLAUDE_CODE;

pub const ID: &str = "cline";

/// Cline's folder of rules. In older projects, this is a single file of rules.
pub const RULES: &str = ".clinerules";

/// The ending of a rule's file.
pub const ENDING: &str = ".md";

/// The front matter of Cline's rules, which states when a rule applies.
pub const FORM: Form = Form::Rule(&CLAUDE_CODE);
