//! What a path becomes: a prompt, a file of a skill, instructions, or a plain file; its name and its URI.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::content::command::dialect::Dialect;
use crate::content::names;
use crate::content::uri::encode;

pub use crate::content::uri::decode;

/// What a file is to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A slash command or prompt.
    Prompt,
    /// A file of a skill, `SKILL.md` among them.
    Skill,
    /// Standing instructions: CLAUDE.md, AGENTS.md, rules.
    Instructions,
    /// Anything else.
    File,
}

/// Where a file belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// What it is.
    pub role: Role,
    /// The path that makes its name.
    pub label: String,
    /// Of a prompt in the project's own folder of commands, its path below it.
    pub file: Option<String>,
    /// Of a prompt, whose placeholders it has.
    pub dialect: Dialect,
    /// The URI, where the path alone decides it.
    uri: Option<String>,
}

/// The folders agents look into, what they take there, and by which ending.
const FOLDERS: &[([&str; 2], Role, &str)] = &[
    ([".claude", "commands"], Role::Prompt, ".md"),
    ([".opencode", "command"], Role::Prompt, ".md"),
    ([".opencode", "commands"], Role::Prompt, ".md"),
    ([".codex", "prompts"], Role::Prompt, ".md"),
    ([".cursor", "commands"], Role::Prompt, ".md"),
    ([".github", "prompts"], Role::Prompt, ".prompt.md"),
    ([".claude", "skills"], Role::Skill, ""),
    ([".agents", "skills"], Role::Skill, ""),
    ([".claude", "rules"], Role::Instructions, ".md"),
    ([".cursor", "rules"], Role::Instructions, ".mdc"),
];

const MAX_NAME: usize = 255;

const COPILOT: [&str; 2] = [".github", "copilot-instructions.md"];

/// Whether `relative`, below the folder `top`, is an agent's folder or lies in one.
pub fn is_agents(relative: &Path, top: &Path) -> bool {
    let known = |part: std::path::Component<'_>| FOLDERS.iter().any(|([folder, _], _, _)| part.as_os_str() == *folder);
    relative.components().chain(top.components()).any(known)
}

impl Destination {
    /// Returns where the file at `relative`, a path with `/` between, belongs. The outermost known folder decides:
    /// what lies in a skill is the skill's.
    pub fn of(relative: &str) -> Self {
        let parts: Vec<&str> = relative.split('/').collect();
        for start in 0..parts.len() {
            let (before, here) = parts.split_at(start);
            let known = FOLDERS.iter().find(|(folder, _, _)| here.starts_with(folder) && here.len() > folder.len());
            if let Some((folder, role, ending)) = known
                && let Some(place) = Self::below(before, &here[folder.len()..], *role, ending)
            {
                // Codex counted from one as well, while it had prompts.
                let counts_from_one = matches!(folder[0], ".opencode" | ".codex");
                let dialect = if counts_from_one { Dialect::OpenCode } else { Dialect::Claude };
                return Self { dialect, ..place };
            }
            if here == COPILOT {
                return Self::instructions(&[before, &here[1..]].concat());
            }
        }
        match parts.last() {
            Some(&("CLAUDE.md" | "AGENTS.md")) => Self::instructions(&parts),
            _ => Self {
                role: Role::File,
                label: relative.to_owned(),
                file: None,
                dialect: Dialect::Claude,
                uri: Some(format!("file:///{}", encode(relative))),
            },
        }
    }

    fn below(before: &[&str], inner: &[&str], role: Role, ending: &str) -> Option<Self> {
        let label = [before, inner].concat().join("/");
        match role {
            Role::Prompt => {
                let label = label.strip_suffix(ending)?.to_owned();
                let file = before.is_empty().then(|| format!("{label}.md"));
                Some(Self { role, label, file, dialect: Dialect::Claude, uri: None })
            }
            Role::Skill if inner.len() > 1 => {
                let uri = Some(format!("skill://{}", encode(&inner.join("/"))));
                Some(Self { role, label, file: None, dialect: Dialect::Claude, uri })
            }
            Role::Instructions if label.ends_with(ending) => {
                Some(Self { role, label, file: None, dialect: Dialect::Claude, uri: None })
            }
            _ => None,
        }
    }

    fn instructions(parts: &[&str]) -> Self {
        Self { role: Role::Instructions, label: parts.join("/"), file: None, dialect: Dialect::Claude, uri: None }
    }

    /// Returns the name this place asks for; it may be taken, too long or no name at all.
    pub fn wanted_name(&self) -> String {
        let letter = |c: char| match c {
            '/' => '.',
            c if u8::try_from(c).is_ok_and(names::is_name_byte) => c,
            _ => '-',
        };
        self.label.chars().map(letter).collect()
    }

    /// Returns the URI of a resource of this name.
    pub fn uri(&self, name: &str) -> String {
        self.uri.clone().unwrap_or_else(|| format!("instructions://{name}"))
    }
}

/// Returns the names that the file at `relative` may get, best first, without end: the one wanted, else with a hash of
/// the path behind it.
pub fn names(wanted: String, relative: &str) -> impl Iterator<Item = String> {
    let good = !matches!(wanted.as_str(), "" | "." | "..") && wanted.len() <= MAX_NAME;
    let first = good.then(|| wanted.clone());
    let seeds = std::iter::successors(Some(digest(relative, 8)), |seed| Some(digest(seed, 8)));
    let hashed = seeds.map(move |seed| {
        let stem: String = wanted.chars().take(MAX_NAME - 1 - seed.len()).collect();
        format!("{stem}-{seed}")
    });
    first.into_iter().chain(hashed)
}

/// Returns the folder from which names count, where `path` is or lies in a folder agents look into.
pub fn base(path: &Path) -> Option<PathBuf> {
    let is_place = |path: &Path| FOLDERS.iter().any(|(folder, _, _)| path.ends_with(folder.join("/")));
    if let Some(place) = path.ancestors().filter(|ancestor| is_place(ancestor)).last() {
        return place.ancestors().nth(2).map(Path::to_path_buf);
    }
    if path.ends_with(COPILOT.join("/")) {
        return path.ancestors().nth(2).map(Path::to_path_buf);
    }
    let is_agents = FOLDERS.iter().any(|(folder, _, _)| path.ends_with(folder[0]));
    if is_agents { path.parent().map(Path::to_path_buf) } else { None }
}

/// Returns the first `digits` hexadecimal digits of the SHA-256 of `text`.
pub fn digest(text: &str, digits: usize) -> String {
    crate::hex::encode(&Sha256::digest(text)).chars().take(digits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_decide_what_a_file_is() {
        let cases = [
            (".claude/commands/review/pr.md", Role::Prompt, "review.pr", ""),
            ("web/.claude/commands/pr.md", Role::Prompt, "web.pr", ""),
            (".github/prompts/a.prompt.md", Role::Prompt, "a", ""),
            (".codex/prompts/a b.md", Role::Prompt, "a-b", ""),
            (".claude/skills/x/SKILL.md", Role::Skill, "x.SKILL.md", "skill://x/SKILL.md"),
            (".agents/skills/x/s/run me.sh", Role::Skill, "x.s.run-me.sh", "skill://x/s/run%20me.sh"),
            (
                ".claude/skills/x/e/.claude/commands/a.md",
                Role::Skill,
                "x.e..claude.commands.a.md",
                "skill://x/e/.claude/commands/a.md",
            ),
            ("CLAUDE.md", Role::Instructions, "CLAUDE.md", "instructions://CLAUDE.md"),
            ("web/AGENTS.md", Role::Instructions, "web.AGENTS.md", "instructions://web.AGENTS.md"),
            (".cursor/rules/a.mdc", Role::Instructions, "a.mdc", "instructions://a.mdc"),
            (".claude/rules/ts/a.md", Role::Instructions, "ts.a.md", "instructions://ts.a.md"),
            (
                ".github/copilot-instructions.md",
                Role::Instructions,
                "copilot-instructions.md",
                "instructions://copilot-instructions.md",
            ),
            ("docs/é#1.md", Role::File, "docs.--1.md", "file:///docs/%C3%A9%231.md"),
            (".claude/commands/run.sh", Role::File, ".claude.commands.run.sh", "file:///.claude/commands/run.sh"),
            (".claude/skills/README.md", Role::File, ".claude.skills.README.md", "file:///.claude/skills/README.md"),
        ];
        for (relative, role, name, uri) in cases {
            let place = Destination::of(relative);
            assert_eq!((place.role, place.wanted_name().as_str()), (role, name), "{relative}");
            if role != Role::Prompt {
                assert_eq!(place.uri(name), uri);
                assert!(names::check_uri(uri).is_ok());
            }
        }
    }

    #[test]
    fn names_count_from_above_the_agents_folder() {
        let base = |path: &str| base(Path::new(path)).map(|base| base.display().to_string());
        for inside in
            ["/p/.claude", "/p/.claude/commands", "/p/.claude/commands/a/b.md", "/p/.claude/skills/x/.cursor/rules"]
        {
            assert_eq!(base(inside).as_deref(), Some("/p"), "{inside}");
        }
        assert_eq!(base("/p/.github/copilot-instructions.md").as_deref(), Some("/p"));
        for outside in ["/p", "/p/docs/a.md", "/home/.claude/worktrees/p", "/p/.github/workflows"] {
            assert_eq!(base(outside), None, "{outside}");
        }
    }
}
