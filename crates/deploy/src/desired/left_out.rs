//! Records which modules a target does not get, and why.

use serde_json::{Value, json};

use crate::project::Broken;
use crate::targets::Target;
use mcpkg_agents::forms;
use mcpkg_agents::servers::loss::Unsayable;
use mcpkg_base::plural;

/// A module that is meant for a target but not written for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub module_id: String,
    pub target: Target,
    pub reason: Reason,
}

/// The reason why a target does not get a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The target's format cannot express one of the globs.
    Globs,
    /// The target supports scoped instructions only for whole folders.
    NotAFolder,
    /// The target does not support instructions that apply by their description.
    ByDescription,
    /// The target does not support instructions that the user applies by hand.
    ByHand,
    /// The target requires a description, but the module has none.
    NoDescription,
    /// The target's format can contain only text, but the module's file is not text.
    NotText,
    /// The target does not read this kind of file from the home folder.
    NotForTheUser,
    /// The target's format cannot express the MCP server.
    Server(Unsayable),
    /// The target reads no MCP servers from the project (or, with `--scope user`, from the home folder).
    NoServers,
    /// The target's MCP server file in the home folder also contains the agent's own state.
    OwnState,
    /// The target's MCP server file contains a secret, and a snapshot of the file would store it.
    HoldsSecret,
    /// The target's MCP server file is malformed.
    Malformed,
    /// Another server already uses the name.
    EntryTaken,
    /// The file is longer than the target reads.
    TooLong,
    /// The target does not support subagents.
    NoSubagents,
    /// The target supports only MCP servers.
    OnlyServers,
    /// The text contains something that the target would replace, and it cannot be escaped.
    Placeholders,
    /// The text contains something that this target would run, although the text's original agent does not.
    WouldRun,
    /// The target reads commands as skills, and a skill already has the command's name.
    SkillTaken,
    /// The target reads the text only from a link, which mcpkg does not write through.
    Linked,
    /// The module's text cannot be written. A warning gives the reason.
    Broken,
}

impl From<forms::Unsayable> for Reason {
    fn from(why: forms::Unsayable) -> Self {
        match why {
            forms::Unsayable::Globs => Self::Globs,
            forms::Unsayable::ByDescription => Self::ByDescription,
            forms::Unsayable::ByHand => Self::ByHand,
            forms::Unsayable::NoDescription => Self::NoDescription,
        }
    }
}

impl Reason {
    /// Returns the reason's name for programs.
    pub const fn word(self) -> &'static str {
        match self {
            Reason::Globs => "globs",
            Reason::NotAFolder => "not_a_folder",
            Reason::ByDescription => "by_description",
            Reason::ByHand => "by_hand",
            Reason::NoDescription => "no_description",
            Reason::NotText => "not_text",
            Reason::NotForTheUser => "not_for_the_user",
            Reason::Server(Unsayable::Variables) => "no_variables",
            Reason::Server(Unsayable::Literal) => "would_be_filled_in",
            Reason::Server(Unsayable::Inputs) => "no_inputs",
            Reason::Server(Unsayable::Files) => "no_files",
            Reason::Server(Unsayable::Transport) => "transport",
            Reason::NoServers => "no_servers",
            Reason::OwnState => "own_state",
            Reason::HoldsSecret => "holds_secret",
            Reason::Malformed => "malformed",
            Reason::EntryTaken => "entry_taken",
            Reason::TooLong => "too_long",
            Reason::NoSubagents => "no_subagents",
            Reason::OnlyServers => "only_servers",
            Reason::Placeholders => "placeholders",
            Reason::WouldRun => "would_run",
            Reason::SkillTaken => "skill_taken",
            Reason::Linked => "linked",
            Reason::Broken => "broken",
        }
    }

    /// Returns the reason for a person. The names of the targets come before it.
    pub const fn text(self) -> &'static str {
        match self {
            Reason::Globs => "the agent's format cannot express its globs",
            Reason::NotAFolder => "only whole folders, such as src/**, can be expressed there",
            Reason::ByDescription => "the agent cannot apply rules by description",
            Reason::ByHand => "the agent cannot apply rules manually",
            Reason::NoDescription => "it has no description, which the agent requires",
            Reason::NotText => "its text is not UTF-8",
            Reason::NotForTheUser => "the agent reads no file of this kind from the home folder",
            Reason::Server(why) => why.text(),
            Reason::NoServers => "the agent reads no MCP server file in that location",
            Reason::OwnState => {
                "the agent's user-level file also holds the agent's own state; add the server with the agent's own command"
            }
            Reason::HoldsSecret => {
                "the agent's MCP server file contains plain values, which a snapshot would store; replace them with variables"
            }
            Reason::Malformed => "the agent's MCP server file is malformed",
            Reason::EntryTaken => "another server's entry already uses that name",
            Reason::TooLong => "it is longer than the agent allows",
            Reason::NoSubagents => "the agent does not support subagents",
            Reason::OnlyServers => "the agent reads only MCP servers",
            Reason::Placeholders => "the agent would replace part of its text",
            Reason::WouldRun => "the agent would execute part of its text",
            Reason::Linked => "the agent's instructions file is a link, which mcpkg does not write through",
            Reason::SkillTaken => "the agent reads commands as skills, and a skill has the same name",
            Reason::Broken => "its text cannot be written",
        }
    }
}

impl LeftOut {
    pub fn json(&self) -> Value {
        json!({ "module_id": self.module_id, "target": self.target.name(), "reason_code": self.reason.word() })
    }
}

/// Records the modules whose text cannot be written, for each `selected` target that they are meant for.
pub fn add_broken(left_out: &mut Vec<LeftOut>, broken: &[Broken], selected: &[Target]) {
    for Broken { id, targets, why: _ } in broken {
        let of = selected.iter().filter(|target| targets.is_empty() || targets.contains(target));
        left_out.extend(of.map(|target| LeftOut { module_id: id.clone(), target: *target, reason: Reason::Broken }));
    }
    left_out.sort_by(|a, b| (&a.module_id, a.target).cmp(&(&b.module_id, b.target)));
}

/// The largest number of modules that get their own line for one reason. Above that, one line names this many of them.
pub(super) const NAMED: usize = 3;

/// Describes for a person what was left out: one line for each module and reason, or one line for many modules.
pub fn lines(left_out: &[LeftOut]) -> Vec<String> {
    let mut by_module: Vec<(&str, Reason, Vec<&str>)> = Vec::new();
    // A warning has already reported the broken modules.
    for LeftOut { module_id, target, reason } in left_out.iter().filter(|left_out| left_out.reason != Reason::Broken) {
        match by_module.iter_mut().find(|(id, known, _)| id == module_id && known == reason) {
            Some((_, _, targets)) => targets.push(target.facts().title),
            None => by_module.push((module_id, *reason, vec![target.facts().title])),
        }
    }
    let mut by_reason: Vec<(Reason, Vec<&str>, Vec<&str>)> = Vec::new();
    for (id, reason, targets) in by_module {
        match by_reason.iter_mut().find(|(known, of, _)| *known == reason && *of == targets) {
            Some((_, _, ids)) => ids.push(id),
            None => by_reason.push((reason, targets, vec![id])),
        }
    }
    by_reason.into_iter().flat_map(|(reason, targets, ids)| lines_for(reason, &targets, &ids)).collect()
}

/// Describes for a person each module and the target that does not get it.
pub fn each(left_out: &[LeftOut]) -> Vec<String> {
    let left_out = left_out.iter().filter(|left_out| left_out.reason != Reason::Broken);
    let line = |LeftOut { module_id, target, reason }: &LeftOut| {
        format!("module '{module_id}' is not written for {}: {}", target.facts().title, reason.text())
    };
    left_out.map(line).collect()
}

fn lines_for(reason: Reason, targets: &[&str], ids: &[&str]) -> Vec<String> {
    let why = format!("written for {}: {}", targets.join(", "), reason.text());
    if ids.len() <= NAMED {
        return ids.iter().map(|id| format!("module '{id}' is not {why}")).collect();
    }
    vec![format!("{} modules are not {why} ({}; `--json` lists them)", ids.len(), some(ids))]
}

/// Names the first few modules and counts the others.
pub(super) fn some(ids: &[&str]) -> String {
    plural::first(ids.iter().map(|id| format!("'{id}'")), NAMED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_modules_that_are_left_out_for_one_reason_take_one_line() {
        let left_out = |n: usize| -> Vec<LeftOut> {
            let one = |n| LeftOut { module_id: format!("m{n}"), target: Target::all()[0], reason: Reason::ByHand };
            (1..=n).map(one).collect()
        };
        let title = Target::all()[0].facts().title;
        let why = format!("written for {title}: the agent cannot apply rules manually");
        assert_eq!(lines(&left_out(1)), [format!("module 'm1' is not {why}")]);
        assert_eq!(lines(&left_out(3)).len(), 3);
        let many = format!("5 modules are not {why} ('m1', 'm2', 'm3' and 2 more; `--json` lists them)");
        assert_eq!(lines(&left_out(5)), [many]);
    }
}
