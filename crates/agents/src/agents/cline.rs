//! Cline, of which mcpkg only imports the rules. It is not an agent to deploy to, so it is not in [`super::ALL`].

use super::imports::Form;
use crate::forms::rule::CLAUDE_CODE;

pub const ID: &str = "cline";

/// The folder of its rules, or an older file of rules at the root of a project.
pub const RULES: &str = ".clinerules";

/// The ending of a rule's file.
pub const ENDING: &str = ".md";

/// How a rule says when it applies.
pub const FORM: Form = Form::Rule(&CLAUDE_CODE);
