//! Lists the front matter formats in which agents' rules state when they apply. Import and deploy both use this table.

/// The format of the front matter in an agent's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleFormat {
    /// The key that contains the globs.
    pub globs: &'static str,
    /// The syntax of the globs.
    pub list: GlobList,
    /// How a rule without globs states when it applies.
    pub switch: Switch,
    /// Whether the agent reads a description.
    pub description: bool,
    /// The maximum length of a rule file in characters.
    pub max_characters: Option<usize>,
}

/// The syntax for globs in front matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlobList {
    /// A YAML list of quoted texts.
    Yaml,
    /// One quoted text with commas between the globs.
    Quoted,
    /// The rest of the line, without quotes and with commas between the globs.
    Bare,
}

/// How a rule without globs states when it applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// There is no key for that. A rule without globs always applies if `else_always`; otherwise mcpkg writes the glob
    /// `**` for a rule that always applies. mcpkg refuses to write a rule that applies by its description or manually.
    Globs {
        /// Whether rules without globs always apply.
        else_always: bool,
    },
    /// With this key: if it is true, the rule always applies. Otherwise the rule applies by its description or manually.
    Always(&'static str),
    /// With this key, which has one of these words as its value.
    Word(&'static str, Words),
}

/// The values of a key that states when a rule applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    pub always: &'static str,
    pub globs: &'static str,
    pub described: &'static str,
    pub manual: &'static str,
    /// Whether a rule without the key always applies; otherwise it applies manually.
    pub else_always: bool,
    /// A further key that a rule needs to apply by its description. mcpkg does not write this key.
    pub described_needs: Option<&'static str>,
}

/// Claude Code's `.claude/rules/*.md`, which apply always, or when the agent reads a file that matches `paths`.
pub const CLAUDE_CODE: RuleFormat = RuleFormat {
    globs: "paths",
    list: GlobList::Yaml,
    switch: Switch::Globs { else_always: true },
    description: false,
    max_characters: None,
};

/// `.github/instructions/*.instructions.md` of VS Code and Copilot. Without `applyTo`, the Copilot CLI always loads them and
/// VS Code never does on its own. So neither "by description" nor "manual" can be expressed.
pub const COPILOT: RuleFormat = RuleFormat {
    globs: "applyTo",
    list: GlobList::Quoted,
    switch: Switch::Globs { else_always: false },
    description: true,
    max_characters: None,
};

/// Cursor's `.cursor/rules/*.mdc`, whose front matter Cursor reads line by line.
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
    switch: Switch::Word(
        "trigger",
        Words {
            always: "always_on",
            globs: "glob",
            described: "model_decision",
            manual: "manual",
            else_always: false,
            described_needs: None,
        },
    ),
    description: true,
    max_characters: Some(12_000),
};

/// Kiro's `.kiro/steering/*.md`. A file without front matter always applies.
pub const KIRO: RuleFormat = RuleFormat {
    globs: "fileMatchPattern",
    list: GlobList::Yaml,
    switch: Switch::Word(
        "inclusion",
        Words {
            always: "always",
            globs: "fileMatch",
            described: "auto",
            manual: "manual",
            else_always: true,
            described_needs: Some("name"),
        },
    ),
    description: true,
    max_characters: None,
};

/// Splits globs at commas, except within braces.
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
