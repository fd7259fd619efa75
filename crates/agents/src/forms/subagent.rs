//! Converts a subagent's file between the formats of agents.

use serde_json::Value;
use toml_edit::Item;

use super::toml_text::{self, INSTRUCTIONS};
use super::write::Unsayable;
use crate::commands::skill::{self, keys, split_front};

/// The format of a subagent's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubagentForm {
    /// Markdown with front matter.
    Markdown {
        /// The names by which the file lists the allowed tools.
        tools: ToolNames,
        /// Whether the description is in quotes. Agents that do not parse YAML read quotes as part of the text.
        quoted: bool,
        /// The place where the file states the subagent's name.
        name: SubagentName,
    },
    /// TOML with the text in `developer_instructions`. This format cannot list tools.
    Toml,
}

/// The place where a file states the subagent's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubagentName {
    /// In the key `name`.
    Key,
    /// In the key `name`, with only lower-case letters, digits and hyphens.
    Slug,
    /// Only in the file's name. The key `mode` marks the file as a subagent.
    File,
}

/// The names by which a file lists the tools that a subagent may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolNames {
    /// Claude Code's names, separated by commas.
    Claude,
    /// A list of VS Code's names.
    VsCode,
    /// Only as the flag `readonly`.
    ReadOnly,
    /// A list of Gemini's names.
    Gemini,
    /// A map of OpenCode's names, which turns all other tools off.
    OpenCode,
}

pub const CLAUDE_CODE: SubagentForm =
    SubagentForm::Markdown { tools: ToolNames::Claude, quoted: true, name: SubagentName::Key };
pub const CODEX: SubagentForm = SubagentForm::Toml;
/// Cursor's format. Cursor reads quotes as part of the text.
pub const CURSOR: SubagentForm =
    SubagentForm::Markdown { tools: ToolNames::ReadOnly, quoted: false, name: SubagentName::Key };
pub const GEMINI: SubagentForm =
    SubagentForm::Markdown { tools: ToolNames::Gemini, quoted: true, name: SubagentName::Slug };
pub const OPENCODE: SubagentForm =
    SubagentForm::Markdown { tools: ToolNames::OpenCode, quoted: true, name: SubagentName::File };
/// The format of VS Code and Copilot.
pub const VSCODE: SubagentForm =
    SubagentForm::Markdown { tools: ToolNames::VsCode, quoted: true, name: SubagentName::Key };

/// A tool, with its name in each agent.
struct Tool {
    /// Claude Code's names, and how many of them to write; the others are only recognized.
    claude: (&'static [&'static str], usize),
    /// VS Code's name.
    vscode: &'static str,
    /// Gemini's names. All of them are written.
    gemini: &'static [&'static str],
    /// OpenCode's names. All of them are written.
    opencode: &'static [&'static str],
    /// Further names that are only recognized.
    aliases: &'static [&'static str],
    /// Whether the tool changes nothing.
    reads: bool,
}

const TOOLS: &[Tool] = &[
    Tool {
        claude: (&["Read", "NotebookRead"], 1),
        vscode: "read",
        gemini: &["read_file", "read_many_files"],
        opencode: &["read"],
        aliases: &["view", "readfile"],
        reads: true,
    },
    Tool {
        claude: (&["Edit", "Write", "MultiEdit", "NotebookEdit"], 2),
        vscode: "edit",
        gemini: &["replace", "write_file"],
        opencode: &["edit", "write", "patch"],
        aliases: &["create", "editfiles"],
        reads: false,
    },
    Tool {
        claude: (&["Grep", "Glob", "LS"], 2),
        vscode: "search",
        gemini: &["grep_search", "glob", "list_directory"],
        opencode: &["grep", "glob", "list"],
        aliases: &["codebase", "search_file_content"],
        reads: true,
    },
    Tool {
        claude: (&["Bash"], 1),
        vscode: "execute",
        gemini: &["run_shell_command"],
        opencode: &["bash"],
        aliases: &["shell", "powershell", "runcommands", "runinterminal"],
        reads: false,
    },
    Tool {
        claude: (&["WebFetch", "WebSearch"], 2),
        vscode: "web",
        gemini: &["web_fetch", "google_web_search"],
        opencode: &["webfetch", "websearch"],
        aliases: &["fetch"],
        reads: true,
    },
    Tool {
        claude: (&["Task", "Agent"], 1),
        vscode: "agent",
        gemini: &[],
        opencode: &["task"],
        aliases: &["custom-agent"],
        reads: false,
    },
    Tool {
        claude: (&["TodoWrite"], 1),
        vscode: "todo",
        gemini: &["write_todos"],
        opencode: &["todowrite", "todoread"],
        aliases: &["todos"],
        reads: true,
    },
];

/// The keys that mcpkg converts. All other keys are specific to one agent.
const SAID: [&str; 4] = ["name", "description", "tools", INSTRUCTIONS];

/// A parsed subagent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subagent {
    name: String,
    description: Option<String>,
    /// The allowed tools. `None` means all tools.
    tools: Option<Vec<String>>,
    /// The keys that only the agent of the file understands.
    others: Vec<String>,
    /// The text, if the file is TOML.
    text: Option<String>,
}

/// The part of a subagent's file before the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The front matter with its `---` lines, or the TOML keys before the text.
    pub head: String,
    /// A sentence for people about tool restrictions that the format cannot express.
    pub lost: Option<String>,
}

impl Subagent {
    /// Parses a Markdown or TOML file. `name` is the subagent's name, and `described` its description if the caller knows it.
    pub fn of(name: &str, described: Option<&str>, is_toml: bool, file: &[u8]) -> Self {
        let (mut keys, body) = match is_toml {
            true => of_toml(file),
            false => (split_front(file).0.and_then(keys).unwrap_or_default(), None),
        };
        let mut text = |key: &str| match keys.shift_remove(key) {
            Some(Value::String(text)) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            _ => None,
        };
        let (own_name, description) = (text("name"), text("description"));
        let tools = keys.shift_remove("tools").and_then(|tools| listed(&tools));
        Self {
            name: own_name.unwrap_or_else(|| name.to_owned()),
            description: described.map(str::to_owned).or(description).filter(|text| !text.trim().is_empty()),
            tools,
            text: body,
            others: keys.into_iter().map(|(key, _)| key).filter(|key| !SAID.contains(&key.as_str())).collect(),
        }
    }

    /// Returns the keys that only the agent of the file understands.
    pub fn others(&self) -> &[String] {
        &self.others
    }

    /// Returns the text; `None` unless the file is TOML.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Returns whether the subagent has a description, and an agent knows all of its tools under the names in the
    /// file. Claude Code refuses to start a subagent if all of its tools are unknown.
    pub fn is_in(&self, form: &SubagentForm) -> bool {
        let SubagentForm::Markdown { tools: names, .. } = form else { return false };
        let known = |tool: &String| names.named(tool);
        self.description.is_some() && self.tools.iter().flatten().all(known)
    }

    /// Writes the part before the text in an agent's format. Fails without a description, which every agent needs.
    pub fn write(&self, form: &SubagentForm) -> Result<Written, Unsayable> {
        let description = self.description.as_deref().ok_or(Unsayable::NoDescription)?;
        let (tools, quoted, name) = match form {
            SubagentForm::Toml => {
                let lost = self
                    .tools
                    .is_some()
                    .then(|| "which has no tool list, so the subagent can use every tool".to_owned());
                let mut head = toml_edit::DocumentMut::new();
                head["name"] = toml_edit::value(self.name.as_str());
                head["description"] = toml_edit::value(description);
                return Ok(Written { head: head.to_string(), lost });
            }
            SubagentForm::Markdown { tools, quoted, name } => (tools, *quoted, name),
        };
        let line = |key: &str, text: &str| match quoted {
            true => format!("{key}: {}\n", Value::from(text)),
            false => format!("{key}: {}\n", one_line(text)),
        };
        let named = match name {
            SubagentName::Key => format!("name: {}\n", one_line(&self.name)),
            SubagentName::Slug => format!("name: {}\n", skill::name(&self.name)),
            SubagentName::File => "mode: subagent\n".to_owned(),
        };
        let (listed, lost) = self.tools.as_ref().map(|own| tools.write(own)).unwrap_or_default();
        let head = format!("---\n{named}{}{listed}---\n", line("description", description));
        Ok(Written { head, lost })
    }
}

impl Subagent {
    /// Writes the whole file for an agent. `body` is the text, unless the subagent comes from a TOML file and has its
    /// own.
    pub fn file(&self, form: &SubagentForm, body: &str) -> Result<Vec<u8>, Unsayable> {
        let head = self.write(form)?.head;
        let text = self.text().unwrap_or(body);
        Ok(match form {
            SubagentForm::Toml => toml(&head, text),
            SubagentForm::Markdown { .. } => {
                format!("{head}\n{text}{}", if text.ends_with('\n') { "" } else { "\n" }).into_bytes()
            }
        })
    }
}

/// Returns a TOML file: the keys in `head`, then the text.
pub fn toml(head: &str, body: &str) -> Vec<u8> {
    format!("{head}{}", toml_text::write(&[], INSTRUCTIONS, body)).into_bytes()
}

/// Parses a TOML file into its keys and its text. Keys that are not strings have the value null.
fn of_toml(file: &[u8]) -> (serde_json::Map<String, Value>, Option<String>) {
    let Ok(document) = toml_text::parse(file) else { return Default::default() };
    let value = |item: &Item| item.as_str().map_or(Value::Null, Value::from);
    let keys = document.iter().map(|(key, item)| (key.to_owned(), value(item))).collect();
    (keys, toml_text::text(&document, INSTRUCTIONS).map(str::to_owned))
}

impl ToolNames {
    /// Returns whether an agent uses this name for the tool.
    fn named(&self, tool: &str) -> bool {
        match self {
            ToolNames::Claude => {
                let bare = tool.split('(').next().unwrap_or_default().trim();
                bare.starts_with("mcp__") || TOOLS.iter().any(|known| known.claude.0.contains(&bare))
            }
            ToolNames::VsCode => TOOLS.iter().any(|known| known.vscode == tool),
            ToolNames::Gemini => tool.starts_with("mcp_") || TOOLS.iter().any(|known| known.gemini.contains(&tool)),
            ToolNames::OpenCode => TOOLS.iter().any(|known| known.opencode.contains(&tool)),
            ToolNames::ReadOnly => false,
        }
    }

    /// Returns the line that lists the allowed tools, and the restrictions that it cannot express.
    fn write(&self, own: &[String]) -> (String, Option<String>) {
        let mut names: Vec<String> = Vec::new();
        let mut unknown: Vec<&str> = Vec::new();
        let mut reads_only = true;
        for name in own {
            let tool = tool(name);
            reads_only &= tool.is_some_and(|tool| tool.reads);
            let known: Vec<&str> = match (self, tool) {
                (ToolNames::ReadOnly, _) => continue,
                (_, _) if self.named(name) => vec![name],
                (ToolNames::Claude, Some(tool)) => tool.claude.0[..tool.claude.1].to_vec(),
                (ToolNames::VsCode, Some(tool)) => vec![tool.vscode],
                (ToolNames::Gemini, Some(tool)) if !tool.gemini.is_empty() => tool.gemini.to_vec(),
                (ToolNames::OpenCode, Some(tool)) => tool.opencode.to_vec(),
                (_, _) => {
                    unknown.push(name);
                    continue;
                }
            };
            for name in known {
                if !names.iter().any(|listed| listed == name) {
                    names.push(name.to_owned());
                }
            }
        }
        match self {
            ToolNames::ReadOnly if reads_only && !own.is_empty() => ("readonly: true\n".to_owned(), None),
            ToolNames::ReadOnly => {
                (String::new(), Some("which has no tool list, so the subagent can use every tool".to_owned()))
            }
            _ if names.is_empty() => (
                String::new(),
                Some("which supports none of the listed tools, so the subagent can use every tool".to_owned()),
            ),
            _ => {
                let line = match self {
                    ToolNames::VsCode => format!("tools: {}\n", Value::from(names)),
                    ToolNames::Gemini => {
                        let items: String = names.iter().map(|name| format!("  - {name}\n")).collect();
                        format!("tools:\n{items}")
                    }
                    ToolNames::OpenCode => {
                        let items: String = names.iter().map(|name| format!("  {name}: true\n")).collect();
                        format!("tools:\n  \"*\": false\n{items}")
                    }
                    _ => format!("tools: {}\n", names.join(", ")),
                };
                (line, (!unknown.is_empty()).then(|| format!("which does not support {}", unknown.join(", "))))
            }
        }
    }
}

/// Finds a tool by the name that any agent uses for it. Does not find restricted names such as `Bash(git:*)`, because
/// only one agent understands such a name.
fn tool(name: &str) -> Option<&'static Tool> {
    let is = |known: &&str| known.eq_ignore_ascii_case(name);
    TOOLS.iter().find(|tool| {
        let others = tool.claude.0.iter().chain(tool.gemini).chain(tool.opencode).chain(tool.aliases);
        tool.vscode.eq_ignore_ascii_case(name) || others.into_iter().any(is)
    })
}

/// Parses a list of tools: a text with commas, a list, or a map of names to true and false.
fn listed(tools: &Value) -> Option<Vec<String>> {
    let clean = |name: &str| Some(name.trim().to_owned()).filter(|name| !name.is_empty());
    match tools {
        Value::String(text) => Some(text.split(',').filter_map(clean).collect()),
        Value::Array(list) => Some(list.iter().filter_map(|name| clean(name.as_str()?)).collect()),
        Value::Object(map) => {
            Some(map.iter().filter(|(_, on)| **on == Value::Bool(true)).filter_map(|(name, _)| clean(name)).collect())
        }
        _ => None,
    }
}

/// Puts a text on one line, for an agent that reads front matter line by line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
