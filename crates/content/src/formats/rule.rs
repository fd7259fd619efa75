//! How each agent's rules say when they apply: the table that import and deploy go by.

/// The front matter of an agent's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleFormat {
    /// The key that holds the globs.
    pub globs: &'static str,
    /// How they are written.
    pub list: GlobList,
    /// What says when a rule applies that has no globs.
    pub switch: Switch,
    /// Whether the agent reads a description.
    pub description: bool,
    /// The most characters of a file.
    pub max_characters: Option<usize>,
}

/// How front matter lists globs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlobList {
    /// A YAML list of quoted texts.
    Yaml,
    /// One quoted text with commas between.
    Quoted,
    /// The rest of the line, split at commas: the agent does not read YAML.
    Bare,
}

/// What says when a rule applies that has no globs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// Nothing: such a rule always applies, or cannot be expressed.
    Globs {
        /// Whether it applies always.
        else_always: bool,
    },
    /// Always if this key is true, otherwise by its description or by hand.
    Always(&'static str),
    /// This key, by a word: `always_on`, `glob`, `model_decision`, `manual`.
    Trigger(&'static str),
}

/// Claude Code's `.claude/rules/*.md`: always, or when the agent reads a file that `paths` names.
pub const CLAUDE_CODE: RuleFormat = RuleFormat {
    globs: "paths",
    list: GlobList::Yaml,
    switch: Switch::Globs { else_always: true },
    description: false,
    max_characters: None,
};

/// VS Code's and Copilot's `.github/instructions/*.instructions.md`. Without `applyTo` the command line loads them always,
/// and VS Code never by itself: by description and by hand cannot be said.
pub const COPILOT: RuleFormat = RuleFormat {
    globs: "applyTo",
    list: GlobList::Quoted,
    switch: Switch::Globs { else_always: false },
    description: true,
    max_characters: None,
};

/// Cursor's `.cursor/rules/*.mdc`, whose front matter is read line by line.
pub const CURSOR: RuleFormat = RuleFormat {
    globs: "globs",
    list: GlobList::Bare,
    switch: Switch::Always("alwaysApply"),
    description: true,
    max_characters: None,
};

/// Windsurf's `.windsurf/rules/*.md`.
pub const WINDSURF: RuleFormat = RuleFormat {
    globs: "globs",
    list: GlobList::Bare,
    switch: Switch::Trigger("trigger"),
    description: true,
    max_characters: Some(12_000),
};

/// Splits globs at the commas outside of braces.
pub(super) fn split(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let at_comma = |c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    text.split(at_comma).map(str::trim).filter(|glob| !glob.is_empty()).map(str::to_owned).collect()
}
