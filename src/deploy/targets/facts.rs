//! The facts that a target's own file states.

use crate::deploy::module::Kind;

/// Everything that is different about a target.
pub struct Facts {
    /// The name that contract 000 gives it.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// Its own folder, relative to the home folder. A deploy root never lies in it.
    pub own_folder: &'static str,
    /// How users say that its own folder lies elsewhere.
    pub moved_by: Option<MovedBy>,
    /// Where it reads what is deployed below the deploy root.
    pub project: ProjectPlaces,
    /// Where it reads what is deployed for the user.
    pub user: UserPlaces,
    /// Whether it runs the lines of a command that begin with `!`.
    pub runs_shell_lines: bool,
    /// Where contract 000's original writes below the target's own folder (`scope: user`), in its order.
    pub original_user: &'static [OriginalPlace],
    /// Where contract 000's original writes below the deploy root (`scope: project`), in its order.
    pub original_project: &'static [OriginalPlace],
    /// The ends of the original's folders that the agent gave up since (November 2026).
    pub no_longer_read: &'static [&'static str],
}

/// What moves a target's own folder.
pub struct MovedBy {
    /// The environment variable that names the folder.
    pub variable: &'static str,
    /// The option of agentpack.yaml that names it, and goes before the variable.
    pub option: &'static str,
}

/// Where a target reads below the deploy root. Paths are relative to it.
pub struct ProjectPlaces {
    /// The folder of its instructions, which `doctor` looks at.
    pub instructions_folder: &'static str,
    /// Whether `status` lists files of others in that folder.
    pub lists_extras: bool,
    /// When it reads AGENTS.md.
    pub agents_md: AgentsMd,
    /// Where it reads a text that the other targets shall not see; without one such a text is in AGENTS.md.
    pub own_instructions: Option<OwnInstructions>,
    /// How a rule says that it is for some files only, as this target alone understands it.
    pub scoped_rules: Option<ScopedRules>,
    /// The folder of skills.
    pub skills: &'static str,
    /// How it reads commands.
    pub commands: Commands,
    /// The folder of prompt files, which are written only where the user asks for them.
    pub prompt_files: Option<&'static str>,
}

/// When a target reads AGENTS.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentsMd {
    /// Always.
    Always,
    /// Where this file does not hide it: it is not there, or it imports AGENTS.md.
    UnlessHiddenBy(&'static str),
}

/// Where a target reads a text that no other target shall see.
#[derive(Clone, Copy, Debug)]
pub enum OwnInstructions {
    /// A file for each text.
    Rules(Rules),
    /// A block in one file.
    Block {
        /// The folder.
        folder: &'static str,
        /// The file in it.
        file: &'static str,
    },
}

/// A folder of rules, each a file.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The folder.
    pub folder: &'static str,
    /// The extension of the files.
    pub extension: &'static str,
    /// Whether a file begins with the front matter of a Cursor rule that always applies.
    pub cursor_front_matter: bool,
}

/// The front matter by which a rule is for some files only.
#[derive(Clone, Copy, Debug)]
pub struct ScopedRules {
    /// The key that holds the globs.
    pub globs: &'static str,
    /// The key whose `false` says that the rule does not always apply.
    pub always: Option<&'static str>,
}

/// How a target reads commands.
#[derive(Clone, Copy, Debug)]
pub enum Commands {
    /// As files in a folder, with its own placeholders for arguments.
    Files(&'static str),
    /// As files in a folder; it fills in no arguments, so they are asked for in words.
    FilesInWords(&'static str),
    /// As skills: it has no commands.
    Skills,
}

/// Where a target reads what is deployed for the user. Paths are relative to the home folder.
pub struct UserPlaces {
    /// The file of instructions in the target's own folder, where it reads any.
    pub instructions: Option<&'static str>,
    /// The folder of skills.
    pub skills: &'static str,
    /// How it reads commands.
    pub commands: Commands,
}

/// A place that contract 000's original (version 0.9.1) writes to.
pub struct OriginalPlace {
    /// The option that turns it on or off.
    pub option: &'static str,
    /// Whether it is on where the option is not given.
    pub default: bool,
    /// The folder.
    pub folder: &'static str,
    /// What is written there.
    pub form: OriginalForm,
}

/// What contract 000's original writes to a place.
#[derive(Clone, Copy, Debug)]
pub enum OriginalForm {
    /// All instructions in one file.
    Instructions(&'static str),
    /// Each instructions module as a Cursor rule.
    CursorRules,
    /// The files of all modules of a kind.
    Files(Kind),
    /// Prompts as VS Code's prompt files.
    PromptFiles,
    /// Skills, each in a folder.
    Skills,
}
