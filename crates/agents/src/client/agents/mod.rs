//! The agents, one file each.

use super::agent::{Agent, Key, Url};
use mcpkg_base::error::{Code, Error, Result};

/// The field that holds the headers of a URL.
pub const HEADERS: &str = "headers";

/// Declares the files and lists the agents in the order that users see.
macro_rules! agents {
    ($($agent:ident),* $(,)?) => {
        $(mod $agent;)*

        /// Every agent, in the order that users see.
        pub static ALL: &[&Agent] = &[$(&$agent::AGENT),*];
    };
}

agents!(claude_code, claude_desktop, codex, cursor, vscode, windsurf, gemini, copilot, opencode);

/// Returns their names on a command line.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|agent| agent.name)
}

/// Returns the agent of a name.
pub fn named(name: &str) -> Result<&'static Agent> {
    ALL.iter().copied().find(|agent| agent.name == name).ok_or_else(|| {
        let error = Error::new(Code::TargetUnsupported, format!("There is no agent '{name}'"));
        error.suggest(name, names(), format!("the agents are {}", names().collect::<Vec<_>>().join(", ")))
    })
}

/// Returns the fields in which agents' entries hold a URL, each once.
pub fn url_fields() -> Vec<&'static str> {
    let fields = ALL.iter().filter_map(|agent| match agent.url {
        Url::Entry { field, .. } => Some(field),
        Url::Refused { .. } => None,
    });
    once(fields)
}

/// Returns the ways in which agents' headers name a variable, such as `${NAME}`, each once.
pub fn variable_forms() -> Vec<&'static str> {
    once(ALL.iter().filter_map(|agent| match agent.url {
        Url::Entry { key: Key::Header(form), .. } => Some(form),
        _ => None,
    }))
}

/// Returns the fields that agents have for a variable, each once.
pub fn variable_fields() -> Vec<&'static str> {
    once(ALL.iter().filter_map(|agent| match agent.url {
        Url::Entry { key: Key::Field(field), .. } => Some(field),
        _ => None,
    }))
}

/// Returns the fields that mcpkg writes with any agent, and those that would contradict them, each once. Which of a server's
/// tools an agent may use is the user's choice.
pub fn written_fields() -> Vec<String> {
    let of = |agent: &&Agent| {
        let mut entries = vec![(agent.start)("", &[])];
        let mut named = vec!["cwd"];
        if let Url::Entry { fields, key, .. } = agent.url {
            entries.push(fields(""));
            named.push(match key {
                Key::Header(_) => HEADERS,
                Key::Field(field) => field,
            });
        }
        named.extend(agent.other_fields);
        let written = entries.into_iter().filter_map(|entry| entry.as_object().cloned()).flatten();
        let written: Vec<String> = written.map(|(name, _)| name).filter(|name| name != "tools").collect();
        written.into_iter().chain(named.into_iter().map(str::to_owned))
    };
    once(ALL.iter().flat_map(of))
}

fn once<T: PartialEq>(words: impl Iterator<Item = T>) -> Vec<T> {
    let mut known = Vec::new();
    words.for_each(|word| {
        if !known.contains(&word) {
            known.push(word);
        }
    });
    known
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_agent_has_a_name_of_its_own() {
        for (at, agent) in ALL.iter().enumerate() {
            assert!(!ALL[at + 1..].contains(agent), "{}", agent.name);
            assert!(named(agent.name).is_ok_and(|found| found == *agent));
        }
        let error = named("claude-cod").expect_err("no agent");
        assert_eq!(error.hints(), ["did you mean 'claude-code'?"]);
    }

    #[test]
    fn what_is_written_is_known_for_every_agent() {
        let mut fields = written_fields();
        fields.sort_unstable();
        let known = [
            "args",
            "bearer_token_env_var",
            "command",
            "cwd",
            "env_http_headers",
            "headers",
            "httpUrl",
            "http_headers",
            "serverUrl",
            "type",
            "url",
        ];
        assert!(known.iter().all(|name| fields.iter().any(|field| field == name)), "{fields:?}");
        assert!(!fields.contains(&"tools".to_owned()));
    }

    #[test]
    fn a_projects_file_is_in_the_project() {
        let root = Path::new("/code/p");
        for agent in ALL {
            assert!(agent.project_file.is_none_or(|file| file(root).starts_with(root)), "{}", agent.name);
        }
    }

    #[test]
    fn the_forms_of_mcp_servers_are_of_the_same_files() {
        use crate::servers::dialect::DIALECTS;

        let root = Path::new("/code/p");
        for dialect in DIALECTS {
            let agent = named(&dialect.agent.replace('_', "-")).expect("an agent");
            assert_eq!(dialect.document, agent.document(), "{}", agent.name);
            assert_eq!(dialect.project.map(|file| root.join(file)), agent.project_file.map(|file| file(root)));
        }
    }

    #[test]
    fn facts_that_are_written_as_text_are_well_formed() {
        for agent in ALL {
            let start = (agent.start)("/m", &["serve".to_owned()]);
            assert!(start["command"].to_string().contains("/m"), "{}", agent.name);
            if let Url::Entry { field, fields, key } = agent.url {
                assert_eq!(fields("http://a")[field], "http://a", "{}", agent.name);
                assert!(!matches!(key, Key::Header(form) if form.matches("NAME").count() != 1), "{}", agent.name);
            }
        }
    }
}
