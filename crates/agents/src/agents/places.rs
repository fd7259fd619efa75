//! The types for the places where an agent reads, and for how it reads them.

use crate::forms::RuleFormat;
use crate::forms::skill::Fault;
use crate::forms::subagent::SubagentForm;

/// How a target reads the files that it loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// How many files deep it follows imports such as `@docs/style.md`.
    pub import_hops: usize,
    /// Whether it leaves out HTML comments.
    pub drops_comments: bool,
    /// Whether it loads files with the same text once.
    pub equal_once: bool,
    /// Whether a user's skill hides the project's skill of the same name.
    pub user_skills_win: bool,
    /// Whether a command that both the user and the project have keeps its name in neither.
    pub renames_commands: bool,
    /// The commands that it lists next to the skills in each session, by their names and descriptions.
    pub lists_commands: Option<ListedCommands>,
    /// How it reads skills.
    pub skills: SkillReading,
}

/// Commands that a target lists next to the skills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedCommands {
    /// The folder, below the deploy root and below the home folder.
    pub folder: &'static str,
    /// Whether it looks into folders below.
    pub nested: bool,
    /// Whether it lists those of the user too.
    pub of_user: bool,
}

/// How a target reads skills. An unknown fact is `None`, or a value that leads to no remark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkillReading {
    /// What it calls a skill by.
    pub called_by: Option<CalledBy>,
    /// Whether `$NAME` in a prompt calls a skill; not where two have the name, or where it has a dot.
    pub called_by_dollar: bool,
    /// Whether it finds skills in the folder of another one.
    pub finds_nested: Option<bool>,
    /// What keeps it from loading a skill.
    pub rejects: &'static [Fault],
    /// What keeps it from using a skill unasked.
    pub manual: Option<Manual>,
    /// Whether it always loads a skill that says `alwaysApply: true`.
    pub always_applies: bool,
    /// Whether it loads no skill without a description.
    pub needs_description: bool,
    /// The most characters of a description in the list of skills that it loads in each session; `None` where it cuts none.
    pub cuts_description: Option<usize>,
    /// Whether that list has `when_to_use` after the description.
    pub lists_when_to_use: bool,
    /// The keys of a SKILL.md that keep it out of that list until the agent works on a matching file.
    pub scoped_by: &'static [&'static str],
}

/// What a target calls a skill by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalledBy {
    /// The name of its folder.
    Folder,
    /// `name` in its SKILL.md.
    Name,
}

/// What keeps a target from using a skill on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manual {
    /// `disable-model-invocation: true` in its SKILL.md.
    Key,
    /// The policy in `agents/openai.yaml` next to it.
    OpenaiYaml,
    Nothing,
}

impl SkillReading {
    /// Of an agent of which none of it is known.
    pub const UNKNOWN: Self = Self {
        called_by: None,
        called_by_dollar: false,
        finds_nested: None,
        rejects: &[],
        manual: None,
        always_applies: false,
        needs_description: false,
        cuts_description: None,
        lists_when_to_use: false,
        scoped_by: &[],
    };
}

impl Reading {
    /// Of an agent that loads files as they are.
    pub const PLAIN: Self = Self {
        import_hops: 0,
        drops_comments: false,
        equal_once: false,
        user_skills_win: false,
        renames_commands: false,
        lists_commands: None,
        skills: SkillReading::UNKNOWN,
    };
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
    /// The most bytes of the AGENTS.md from the root to where it is started, together; it cuts the last one.
    pub agents_md_limit: Option<u64>,
    /// The file that it reads instead of AGENTS.md if a folder has both.
    pub agents_md_override: Option<&'static str>,
    /// What else it loads in each session.
    pub always_loaded: &'static [&'static str],
    /// Where it reads a text that other targets must not see; without such a place the text goes into AGENTS.md.
    pub own_instructions: Option<OwnInstructions>,
    /// Where it reads instructions that do not always apply, each in a file of its own.
    pub scoped_rules: Option<Rules>,
    /// The folders of other targets' rules that it reads too.
    pub also_reads: &'static [&'static str],
    /// The files that it reads in a folder for the files below; the first one is written for it.
    pub folder_files: &'static [FolderFile],
    /// The folder of skills.
    pub skills: &'static str,
    /// The other folders of skills that it reads.
    pub also_skills: &'static [&'static str],
    /// How it reads commands.
    pub commands: Commands,
    /// The folder of prompt files, which are written only where the user asks for them.
    pub prompt_files: Option<&'static str>,
}

impl ProjectPlaces {
    /// Of an agent that reads none of it.
    pub const NONE: Self = Self {
        instructions_folder: "",
        lists_extras: false,
        agents_md: AgentsMd::Never,
        agents_md_limit: None,
        agents_md_override: None,
        always_loaded: &[],
        own_instructions: None,
        scoped_rules: None,
        also_reads: &[],
        folder_files: &[],
        skills: "",
        also_skills: &[],
        commands: Commands::Skills,
        prompt_files: None,
    };
}

/// When a target reads AGENTS.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentsMd {
    Always,
    /// Reads AGENTS.md unless one of these files hides it, in the same folder or one above. A file that is empty or
    /// imports AGENTS.md does not hide it.
    UnlessHiddenBy(&'static [&'static str]),
    /// Only where this file, which it reads, imports it.
    ImportedBy(&'static str),
    /// Never.
    Never,
}

/// Where a target reads a text that no other target sees.
#[derive(Clone, Copy, Debug)]
pub enum OwnInstructions {
    /// A file for each text.
    Rules(Rules),
    /// A block in one file.
    Block {
        folder: &'static str,
        /// The file in it.
        file: &'static str,
    },
}

/// A folder of rules, each a file.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub folder: &'static str,
    /// How the files' names end.
    pub ending: &'static str,
    /// How their front matter says when they apply.
    pub format: &'static RuleFormat,
}

/// A file that an agent reads in a folder for the files below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FolderFile {
    pub name: &'static str,
    /// The files that hide it if they are in the same folder and do not import it.
    pub hidden_by: &'static [&'static str],
}

/// How a target reads commands.
#[derive(Clone, Copy, Debug)]
pub enum Commands {
    /// As files in a folder, with its own placeholders for arguments.
    Files(&'static str),
    /// As files in a folder; it fills in no arguments, so they are asked for in words.
    FilesInWords {
        folder: &'static str,
        /// Whether it looks into folders below.
        nested: bool,
        /// The most characters of a file.
        max_characters: Option<usize>,
    },
    /// As Markdown in a folder, with OpenCode's placeholders, which are numbers.
    Numbered(&'static str),
    /// As TOML in a folder, with one placeholder for all that was typed.
    Toml(&'static str),
    /// As skills: it has no commands.
    Skills,
}

/// Where a target reads what is deployed for the user. Paths are relative to the home folder.
pub struct UserPlaces {
    /// The file of instructions in the target's own folder, where it reads any.
    pub instructions: Option<&'static str>,
    /// The maximum number of characters in that file.
    pub max_characters: Option<u64>,
    /// Where it reads instructions that do not always apply, each in a file of its own.
    pub scoped_rules: Option<Rules>,
    /// The folder of skills.
    pub skills: &'static str,
    /// The other folders of skills that it reads.
    pub also_skills: &'static [&'static str],
    /// How it reads commands.
    pub commands: Commands,
}

impl UserPlaces {
    /// Of an agent that reads none of it.
    pub const NONE: Self = Self {
        instructions: None,
        max_characters: None,
        scoped_rules: None,
        skills: "",
        also_skills: &[],
        commands: Commands::Skills,
    };
}

/// Where and how a target reads subagents, each in a file.
#[derive(Clone, Copy, Debug)]
pub struct Subagents {
    /// The folder below the deploy root.
    pub project: &'static str,
    /// The folder in the target's own folder, where it reads them for the user.
    pub user: Option<&'static str>,
    /// How the files' names end.
    pub ending: &'static str,
    /// What a file looks like.
    pub form: SubagentForm,
    /// Whether a handwritten file counts as in its form if it knows all of the tools.
    pub takes_plain: bool,
    /// Whether it is known to list them in each session, by their names and descriptions.
    pub listed: bool,
}

/// A place that contract 000's original (version 0.9.1) writes to.
pub struct OriginalPlace {
    /// The option that turns it on or off.
    pub option: &'static str,
    /// Whether it is on by default.
    pub default: bool,
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
    /// The files of all commands.
    Commands,
    /// The files of all prompts.
    Prompts,
    /// Prompts as VS Code's prompt files.
    PromptFiles,
    /// Skills, each in a folder.
    Skills,
}
