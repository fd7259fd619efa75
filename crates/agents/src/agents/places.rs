//! Defines the types that describe where an agent reads files, and how it reads them.

use crate::forms::RuleFormat;
use crate::forms::skill::Fault;
use crate::forms::subagent::SubagentForm;

/// An agent's rules for reading the files that it loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The maximum depth to which the agent follows imports such as `@docs/style.md`.
    pub import_hops: usize,
    /// Files in which the agent follows no imports.
    pub no_imports_in: &'static [&'static str],
    /// Whether the agent drops HTML comments.
    pub drops_comments: bool,
    /// Whether the agent loads files with equal text only once.
    pub equal_once: bool,
    /// Whether a user's skill hides a project's skill with the same name.
    pub user_skills_win: bool,
    /// Whether the agent renames both commands if the user and the project have one with the same name.
    pub renames_commands: bool,
    /// The commands that the agent lists next to the skills in each session, with names and descriptions.
    pub lists_commands: Option<ListedCommands>,
    /// The agent's rules for reading skills.
    pub skills: SkillReading,
}

/// Commands that an agent lists next to the skills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedCommands {
    /// The folder of the commands, relative to the deploy root and to the home folder.
    pub folder: &'static str,
    /// Whether the agent also lists commands in subfolders.
    pub nested: bool,
    /// Whether the agent also lists the user's commands.
    pub of_user: bool,
}

/// An agent's rules for reading skills. If a fact is unknown, its value is `None` or one for which mcpkg reports
/// nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkillReading {
    /// The name that the agent uses for a skill.
    pub called_by: Option<CalledBy>,
    /// Whether `$NAME` in a prompt calls a skill. This never works for a name that two skills share or that contains a
    /// dot.
    pub called_by_dollar: bool,
    /// Whether the agent finds skills inside the folder of another skill.
    pub finds_nested: Option<bool>,
    /// The faults for which the agent does not load a skill.
    pub rejects: &'static [Fault],
    /// How a skill says that the agent may use it only when asked.
    pub manual: Option<Manual>,
    /// Whether the agent always loads a skill with `alwaysApply: true`.
    pub always_applies: bool,
    /// Whether the agent ignores skills without a description.
    pub needs_description: bool,
    /// The agent loads a list of skills in each session, and cuts the descriptions in it to this many characters.
    /// `None` means no limit.
    pub cuts_description: Option<usize>,
    /// Whether the list of skills shows `when_to_use` after the description.
    pub lists_when_to_use: bool,
    /// The keys in a SKILL.md that keep the skill out of the list until the agent works on a matching file.
    pub scoped_by: &'static [&'static str],
}

/// The name that an agent uses for a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalledBy {
    /// The name of the skill's folder.
    Folder,
    /// The value of `name` in SKILL.md.
    Name,
}

/// How a skill says that an agent may use it only when asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manual {
    /// With `disable-model-invocation: true` in SKILL.md.
    Key,
    /// With the policy in `agents/openai.yaml`, next to SKILL.md.
    OpenaiYaml,
    Nothing,
}

impl SkillReading {
    /// The value for an agent whose reading of skills is unknown.
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
    /// The value for an agent that loads files unchanged.
    pub const PLAIN: Self = Self {
        import_hops: 0,
        no_imports_in: &[],
        drops_comments: false,
        equal_once: false,
        user_skills_win: false,
        renames_commands: false,
        lists_commands: None,
        skills: SkillReading::UNKNOWN,
    };
}

/// How users can move an agent's own folder.
pub struct MovedBy {
    /// The environment variable that names the folder.
    pub variable: &'static str,
    /// The option in agentpack.yaml that names the folder. It takes precedence over the variable.
    pub option: &'static str,
}

/// The places where an agent reads files in a project. Paths are relative to the deploy root.
pub struct ProjectPlaces {
    /// The folder of instructions, which `doctor` checks.
    pub instructions_folder: &'static str,
    /// Whether `status` also lists files in the folder of instructions that mcpkg did not write.
    pub lists_extras: bool,
    /// The condition under which the agent reads AGENTS.md.
    pub agents_md: AgentsMd,
    /// The maximum total size in bytes of the AGENTS.md files from the root down to the folder where the agent is started. The
    /// agent cuts off the last file at this limit.
    pub agents_md_limit: Option<u64>,
    /// The file that the agent reads instead of AGENTS.md if a folder has both.
    pub agents_md_override: Option<&'static str>,
    /// Other files that the agent loads in each session.
    pub always_loaded: &'static [&'static str],
    /// The place for a text that other agents must not see. If there is no such place, the text goes into AGENTS.md.
    pub own_instructions: Option<OwnInstructions>,
    /// The place for instructions that apply only sometimes, each in its own file.
    pub scoped_rules: Option<Rules>,
    /// Folders of other agents' rules that the agent reads too.
    pub also_reads: &'static [&'static str],
    /// Instruction files that apply to their folder and everything below it. mcpkg writes the first of them.
    pub folder_files: &'static [FolderFile],
    /// The folder of skills that mcpkg writes to.
    pub skills: &'static str,
    /// Other folders of skills that the agent reads.
    pub also_skills: &'static [&'static str],
    /// How the agent reads commands.
    pub commands: Commands,
    /// The folder of prompt files, which mcpkg writes only if the user asks for them.
    pub prompt_files: Option<&'static str>,
}

impl ProjectPlaces {
    /// The value for an agent that reads no files in a project.
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

/// The condition under which an agent reads AGENTS.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentsMd {
    Always,
    /// Unless one of these files is in the same folder or in a folder above it. Such a file has no effect if it is
    /// empty or imports AGENTS.md.
    UnlessHiddenBy(&'static [&'static str]),
    /// Only if this file, which the agent does read, imports it.
    ImportedBy(&'static str),
    Never,
}

/// The place for a text that no other agent sees.
#[derive(Clone, Copy, Debug)]
pub enum OwnInstructions {
    /// In a separate file for each text.
    Rules(Rules),
    /// In a block inside one file.
    Block {
        folder: &'static str,
        /// The name of the file in the folder.
        file: &'static str,
    },
}

/// A folder in which each file is a rule.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub folder: &'static str,
    /// The ending of the files' names.
    pub ending: &'static str,
    /// The format of the front matter, which states when a rule applies.
    pub format: &'static RuleFormat,
}

/// An instruction file that applies to its folder and everything below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FolderFile {
    pub name: &'static str,
    /// If one of these files is in the same folder and does not import this file, the agent does not read this file.
    pub hidden_by: &'static [&'static str],
}

/// How an agent reads commands.
#[derive(Clone, Copy, Debug)]
pub enum Commands {
    /// As files in a folder, with the agent's own placeholders for arguments.
    Files(&'static str),
    /// As files in a folder. The agent does not fill in arguments, so the text asks for them in words.
    FilesInWords {
        folder: &'static str,
        /// Whether the agent also reads subfolders.
        nested: bool,
        /// The maximum length of a file in characters.
        max_characters: Option<usize>,
    },
    /// As Markdown files in a folder, with OpenCode's numbered placeholders.
    Numbered(&'static str),
    /// As TOML files in a folder, with one placeholder for the whole typed text.
    Toml(&'static str),
    /// As skills, because the agent has no commands.
    Skills,
}

/// The places where an agent reads files that are deployed for the user. Paths are relative to the home folder.
pub struct UserPlaces {
    /// The file of instructions in the agent's own folder, if the agent reads one.
    pub instructions: Option<&'static str>,
    /// The maximum length of the file of instructions in characters.
    pub max_characters: Option<u64>,
    /// The place for instructions that apply only sometimes, each in its own file.
    pub scoped_rules: Option<Rules>,
    /// The folder of skills that mcpkg writes to.
    pub skills: &'static str,
    /// Other folders of skills that the agent reads.
    pub also_skills: &'static [&'static str],
    /// How the agent reads commands.
    pub commands: Commands,
}

impl UserPlaces {
    /// The value for an agent that reads no files of the user.
    pub const NONE: Self = Self {
        instructions: None,
        max_characters: None,
        scoped_rules: None,
        skills: "",
        also_skills: &[],
        commands: Commands::Skills,
    };
}

/// The places and the format of an agent's subagents. Each subagent is a file.
#[derive(Clone, Copy, Debug)]
pub struct Subagents {
    /// The folder in a project, relative to the deploy root.
    pub project: &'static str,
    /// The folder of the user's subagents, relative to the agent's own folder.
    pub user: Option<&'static str>,
    /// The ending of the files' names.
    pub ending: &'static str,
    /// The format of a file.
    pub form: SubagentForm,
    /// Whether a handwritten file is deployed unchanged if the agent knows all tools that the file names.
    pub takes_plain: bool,
    /// Whether the agent is known to list subagents in each session, with names and descriptions.
    pub listed: bool,
}

/// A place that agentpack 0.9.1 (contract 000) writes to.
pub struct OriginalPlace {
    /// The option that turns this place on or off.
    pub option: &'static str,
    /// Whether the place is on by default.
    pub default: bool,
    pub folder: &'static str,
    /// The content that is written there.
    pub form: OriginalForm,
}

/// The content that agentpack (contract 000) writes to a place.
#[derive(Clone, Copy, Debug)]
pub enum OriginalForm {
    /// All instructions in one file with this name.
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
