//! Decides which tools a caller may reach, whether by name or as a command.

use super::Effect;

/// The tools that a caller may reach. The default is all of them, as in a shell.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Surface {
    /// The groups that are served. `None` means all groups except the withheld ones.
    pub groups: Option<Vec<String>>,
    /// The groups that are served only if `groups` names them.
    pub withheld: Vec<&'static str>,
    /// The only tools that are served, if the server presents itself as a program whose contract lists its tools.
    pub tools: Option<&'static [&'static str]>,
    /// Whether only tools that change nothing are served.
    pub read_only: bool,
    /// Whether the caller must not run commands. Commands of mcpkg itself that only read are still allowed.
    pub no_execute: bool,
}

impl Surface {
    /// Whether the tools of this group are served.
    pub fn serves_group(&self, group: &str) -> bool {
        match &self.groups {
            Some(named) => named.iter().any(|name| name == group),
            None => !self.withheld.contains(&group),
        }
    }

    /// Whether the tool with this name, group and effect is served.
    pub fn serves(&self, tool: &str, group: &str, effect: Effect) -> bool {
        self.tools.is_none_or(|only| only.contains(&tool))
            && self.serves_group(group)
            && !(self.read_only && effect.changes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_served_by_its_name_its_group_and_its_effect() {
        let all = Surface::default();
        assert!(all.serves("deploy", "deploy", Effect::Destroy));
        let reading = Surface { read_only: true, ..Surface::default() };
        assert!(reading.serves("plan", "deploy", Effect::Offer) && !reading.serves("deploy", "deploy", Effect::Write));
        let content = Surface { groups: Some(vec!["content".to_owned()]), ..Surface::default() };
        assert!(content.serves("get_prompt", "content", Effect::Read) && !content.serves_group("deploy"));
        let one = Surface { tools: Some(&["plan"]), ..Surface::default() };
        assert!(one.serves("plan", "deploy", Effect::Read) && !one.serves("diff", "deploy", Effect::Read));
    }

    #[test]
    fn a_withheld_group_is_served_only_if_it_is_named() {
        let network = Surface { withheld: vec!["workspace"], ..Surface::default() };
        assert!(!network.serves_group("workspace") && network.serves_group("content"));
        let named = Surface { groups: Some(vec!["workspace".to_owned()]), ..network };
        assert!(named.serves_group("workspace"));
    }
}
