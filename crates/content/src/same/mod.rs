//! Finds files with the same content at several paths.
//!
//! A tree often contains the same content at several paths. Sometimes people arranged that, and sometimes a deploy did:
//!
//! ```text
//! AGENTS.md                          the original
//! CLAUDE.md -> AGENTS.md             a link to it
//! .claude/commands/review.md         the original
//! .cursor/commands/review.md         a copy: the same bytes and mode
//! .gemini/commands/review.toml       a variant: what a deploy writes from it for Gemini
//! ```
//!
//! mcpkg stores such content once, as one item. One file is the *original*; all other files with the content are its
//! *duplicates* ([`Duplicate`]). There are three kinds:
//!
//! - A **link** is a symbolic link to the original, or to a folder that contains it.
//! - A **copy** is a file with the same bytes and the same executable bit.
//! - A **variant** is a file with other bytes but the same meaning. A deploy writes variants, because agents need the
//!   same content in different formats. The module [`variants`] implements them.
//!
//! # Which variants there are
//!
//! | original | variant | example |
//! | --- | --- | --- |
//! | prompt | a command in another agent's syntax | `.claude/commands/a.md` and `.gemini/commands/a.toml` |
//! | prompt | a skill, for agents without commands | `.claude/commands/a.md` and `.agents/skills/a/SKILL.md` |
//! | skill | a SKILL.md without the faults that some agents refuse | a byte order mark is removed |
//! | skill | `agents/openai.yaml`, if SKILL.md says that only people may call the skill | |
//! | subagent | a subagent in another agent's format | `.claude/agents/a.md` and `.codex/agents/a.toml` |
//! | rule | a rule with another agent's front matter | `.cursor/rules/a.mdc` and `.claude/rules/a.md` |
//! | instructions | a section of a block in a shared file | `.claude/rules/a.md` and a block in `AGENTS.md` |
//! | instructions | a block that only imports another file | `CLAUDE.md` with `@AGENTS.md` in a block |
//!
//! A file is a variant only if a deploy would write exactly its bytes. So if a user edits one of several files, the
//! edit is never lost: the edited file is no longer a duplicate, and becomes an item of its own.
//!
//! There are two more conditions. The names must match: `a.toml` is never a variant of `b.md`. Instructions must also
//! apply to the same files ([`variants::apply_alike`]): if one file applies to `*.ts` and the other to everything, they
//! are two items.
//!
//! # Which file is the original
//!
//! Files are processed in the order of their paths, and the first one becomes the item. But the first may be a variant
//! that contains less than the original. For example, `.agents/skills/x/SKILL.md` comes before
//! `.claude/skills/x/SKILL.md`. A deploy may have written the first file from the second one, with a fault removed. When
//! mcpkg finds the file that contains more, that file replaces the item, and the variant becomes its duplicate. The
//! same applies to rules and subagents, and to instructions that were first found in a block.
//!
//! Files that a manifest lists always come first. In a synced folder, the files of the last sync come before new ones.
//!
//! # How duplicates are processed
//!
//! 1. *Import* finds links in [`crate::import::recognise`], and copies and variants in [`crate::import::place`]. It
//!    reports each as the same as its original. [`record`] stores them with the project.
//! 2. *Merge* compares an imported item with the stored one. If the imported item is a variant of the stored one
//!    ([`is_variant`]), the stored one stays.
//! 3. *Export* writes each duplicate to its path, but only if an import would find it there and no other item would
//!    change ([`crate::export::duplicates`]). It writes a copy with the item's current bytes, and a variant with the
//!    bytes that were imported. So it skips a variant whose original has changed; the next deploy writes that variant
//!    again.
//! 4. *Sync* updates the copies of a file that it writes. It skips variants whose original has changed, since their
//!    text is outdated ([`crate::sync`]).
//!
//! One file can also become several items: an `AGENTS.md` with the user's text around a block becomes an item for the
//! text and one for each section of the block. No single item restores the file's bytes, so the file is stored as a
//! variant of itself.
//!
//! Files that only one agent reads, such as its settings, never have duplicates: they may contain secrets, so mcpkg stores
//! their bytes only after removing the secrets. If such a file was stored with changes, the reason is stored like a duplicate,
//! and an export shows it.

pub mod record;
pub mod variants;

use crate::item::{Item, What};
use mcpkg_agents::commands;
use mcpkg_agents::commands::skill::split_front;
use mcpkg_agents::forms::{sections::with_newline, skill};
use mcpkg_base::error::Result;
use mcpkg_store::prompts::Attributes;
use mcpkg_store::resources;

/// A file with the same content as an original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    pub path: String,
    /// The path of the original.
    pub of: String,
}

/// A stored item that an imported one may be a variant of.
pub enum Original<'o> {
    Prompt { name: &'o str, attributes: &'o Attributes },
    Resource(&'o resources::Attributes),
}

/// Returns whether an imported item has the content of `original`, or is the variant that a deploy writes for the
/// item's agent. `load` returns the content of the original.
pub fn is_variant(item: &Item, original: &Original<'_>, load: impl FnOnce() -> Result<Vec<u8>>) -> Result<bool> {
    match (&item.entry.what, original) {
        (What::Prompt(attributes), Original::Prompt { name, attributes: of }) => {
            let file = item.content.bytes()?;
            let Ok(text) = std::str::from_utf8(&file) else { return Ok(false) };
            let Ok(written) = commands::source(&item.entry.name, attributes, text) else { return Ok(false) };
            Ok(variants::commands_of(name, of, &load()?).contains(&written))
        }
        (What::Resource(attributes), Original::Resource(of)) => {
            let uri = of.uri.as_str();
            let has_variants =
                ["skill://", "instructions://", "subagent://"].iter().any(|scheme| uri.starts_with(scheme));
            if !has_variants || attributes.uri != uri || attributes.executable != of.executable {
                return Ok(false);
            }
            let (content, file) = (load()?, item.content.bytes()?);
            let is_section =
                || item.entry.origin.path.is_none() && with_newline(split_front(&content).1) == with_newline(&file);
            let is_subagent = || {
                let agent = item.entry.origin.agent.as_deref().unwrap_or_default();
                let name = uri.strip_prefix("subagent://");
                name.is_some_and(|name| {
                    variants::is_of_subagent(name, of.description.as_deref(), &content, agent, &file)
                })
            };
            let is_main = || {
                uri.starts_with("skill://")
                    && uri.ends_with("/SKILL.md")
                    && skill::mended(&content).is_some_and(|mended| *mended == *file)
            };
            let is_inert = || {
                let is_section = item.entry.origin.path.is_none();
                let own = if is_section { split_front(&content).1 } else { &content };
                uri.starts_with("instructions://") && variants::is_inert(own, &file)
            };
            Ok(content == *file || is_section() || is_subagent() || is_main() || is_inert())
        }
        _ => Ok(false),
    }
}
