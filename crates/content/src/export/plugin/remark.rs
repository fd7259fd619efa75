//! Describes what a plugin lacks or contains in a changed form, grouped by the reason.

use serde_json::{Value, json};

use mcpkg_agents::agents;
use mcpkg_base::plural;

/// The maximum number of items that a line names.
const NAMED: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    LeftOut,
    Renamed,
    Changed,
}

/// A remark on all items of one kind that share a reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    pub kind: Kind,
    /// The ids of the agents that the remark is about; empty for all.
    pub agents: Vec<&'static str>,
    /// The word for the items: `command`, `skill` and so on.
    pub word: &'static str,
    /// The names of the items. For a renamed item, also the new name: `Pdf -> pdf`.
    pub names: Vec<String>,
    pub why: String,
}

impl Remark {
    /// Returns whether the remark says that the item is missing or changed for all agents, and thus also for an import.
    pub fn covers(&self, word: &str, name: &str) -> bool {
        let is_it = |named: &String| {
            named == name
                || (self.kind == Kind::Renamed && named.split_once(" -> ").is_some_and(|(old, _)| old == name))
        };
        self.agents.is_empty() && self.word == word && self.names.iter().any(is_it)
    }

    pub fn line(&self) -> String {
        let Self { kind, agents, word, names, why } = self;
        let titles: Vec<&str> = agents.iter().filter_map(|id| agents::with_id(id)).map(|agent| agent.title).collect();
        let which = match (kind, titles.as_slice()) {
            (Kind::LeftOut, []) => "not in the plugin".to_owned(),
            (Kind::LeftOut, titles) => format!("not for {}", titles.join(" and ")),
            (Kind::Renamed, _) => "renamed".to_owned(),
            (Kind::Changed, []) => "changed".to_owned(),
            (Kind::Changed, titles) => format!("changed for {}", titles.join(" and ")),
        };
        let count = plural::count(names.len(), word).replace("agent's files", "agents' files");
        format!("{which}: {count} ({}): {why}", plural::first(names, NAMED))
    }

    pub fn json(&self) -> Value {
        let kind = match self.kind {
            Kind::LeftOut => "left_out",
            Kind::Renamed => "renamed",
            Kind::Changed => "changed",
        };
        json!({ "kind": kind, "agents": self.agents, "of": self.word, "names": self.names, "why": self.why })
    }
}

pub(super) fn add(
    remarks: &mut Vec<Remark>,
    kind: Kind,
    agents: &[&'static str],
    word: &'static str,
    name: &str,
    why: &str,
) {
    let is_same =
        |known: &&mut Remark| known.kind == kind && known.agents == agents && known.word == word && known.why == why;
    match remarks.iter_mut().find(is_same) {
        Some(known) if known.names.iter().any(|known| known == name) => {}
        Some(known) => known.names.push(name.to_owned()),
        None => {
            let (agents, names) = (agents.to_vec(), vec![name.to_owned()]);
            remarks.push(Remark { kind, agents, word, names, why: why.to_owned() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_items_with_one_reason_take_one_line() {
        let mut remarks = Vec::new();
        for name in ["a", "b", "c", "d", "a"] {
            add(&mut remarks, Kind::LeftOut, &["codex"], "command", name, "it loads none");
        }
        add(&mut remarks, Kind::Renamed, &[], "skill", "Pdf -> pdf", "names are lower case");
        let lines: Vec<String> = remarks.iter().map(Remark::line).collect();
        let expected = [
            "not for Codex: 4 commands (a, b, c and 1 more): it loads none",
            "renamed: 1 skill (Pdf -> pdf): names are lower case",
        ];
        assert_eq!(lines, expected);
        assert!(remarks[1].covers("skill", "Pdf") && !remarks[0].covers("command", "a"));
    }
}
