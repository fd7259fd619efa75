//! Checks that a module has the files that its kind requires.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::tree::Draft;
use crate::module::Kind;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_content::skills::check;

/// The file name of an instructions module.
pub(super) const INSTRUCTIONS: &str = "AGENTS.md";

/// The file name that makes a folder a skill.
const SKILL: &str = "SKILL.md";

/// A module to check.
pub(super) struct Candidate<'a> {
    pub(super) id: &'a str,
    pub(super) kind: Kind,
    /// The path of the module's source. Errors show it if a file is missing.
    pub(super) source: String,
    pub(super) files: &'a BTreeMap<String, Draft>,
}

/// Checks that a composed module has the files and the front matter that its kind requires. Returns a warning if a
/// command runs a shell without allowing `Bash`.
///
/// # Errors
/// `E_CONFIG_INVALID` with the details `module_id` and `path` and, depending on the problem, `missing`, `field`,
/// `expected`, `found` and `error`.
pub(super) fn check(module: &Candidate<'_>) -> Result<Option<String>> {
    match module.kind {
        Kind::Instructions => module.file(INSTRUCTIONS).map(|_| None),
        Kind::Skill => {
            let skill = module.file(SKILL)?;
            let matter = module.matter(SKILL, module.text(SKILL, skill)?)?;
            module.field(SKILL, &matter, "name")?;
            module.field(SKILL, &matter, "description")?;
            Ok(None)
        }
        Kind::Prompt | Kind::Subagent | Kind::McpServer | Kind::AgentFile => module.only().map(|_| None),
        Kind::Command => {
            let (path, file) = module.only()?;
            let text = module.text(path, file)?;
            let matter = module.matter(path, text)?;
            module.field(path, &matter, "description")?;
            module.bash(path, text, &matter)
        }
    }
}

impl Candidate<'_> {
    fn file(&self, name: &str) -> Result<&Draft> {
        self.files.get(name).ok_or_else(|| {
            self.refuse(None, &format!("it is {} but has no {name}", self.article()), json!({"missing": name}))
        })
    }

    /// Returns the only file of a module, which must be Markdown.
    fn only(&self) -> Result<(&str, &Draft)> {
        let mut files = self.files.iter();
        match (files.next(), files.next()) {
            (Some((path, file)), None) if path.ends_with(".md") => Ok((path, file)),
            _ => {
                let found: Vec<&String> = self.files.keys().take(20).collect();
                let why = format!(
                    "it is {} but has {} files; it needs exactly one .md file",
                    self.article(),
                    self.files.len()
                );
                let why = why.replace("has 1 files", "has another file");
                Err(self.refuse(None, &why, json!({"expected": "exactly one .md file", "found": found})))
            }
        }
    }

    fn text<'a>(&self, path: &str, file: &'a Draft) -> Result<&'a str> {
        std::str::from_utf8(&file.content.bytes)
            .map_err(|error| self.refuse(Some(path), "it is not valid UTF-8", json!({"error": error.to_string()})))
    }

    fn matter(&self, path: &str, text: &str) -> Result<Map<String, Value>> {
        let refuse = |why: &str| self.refuse(Some(path), why, json!({"error": why}));
        match check::front_matter(text) {
            Ok((keys, _)) => Ok(keys.map),
            Err((_, why)) => Err(refuse(&why)),
        }
    }

    fn field(&self, path: &str, matter: &Map<String, Value>, field: &str) -> Result<()> {
        match matter.get(field) {
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(()),
            Some(_) => Err(self.refuse(
                Some(path),
                &format!("`{field}` in its front matter must be a non-empty string"),
                json!({"field": field, "expected": "a non-empty string"}),
            )),
            None => Err(self.refuse(
                Some(path),
                &format!("its front matter has no `{field}`"),
                json!({"missing": field, "field": field, "expected": "a non-empty string"}),
            )),
        }
    }

    /// Checks that `allowed-tools` in a command's front matter allows the shell commands in its text. If the text
    /// contains `!bash`, a missing `Bash(...)` is an error. For other shell commands, a missing `Bash` is only a
    /// warning.
    fn bash(&self, path: &str, text: &str, matter: &Map<String, Value>) -> Result<Option<String>> {
        let said = match matter.get("allowed-tools") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
            _ => String::new(),
        };
        let literal = text.contains("!bash") || text.contains("!`bash`");
        if literal && !said.contains("Bash(") {
            let why = "it runs a shell, but `allowed-tools` in its front matter does not include `Bash(...)`";
            return Err(self.refuse(
                Some(path),
                why,
                json!({"field": "allowed-tools", "expected": "Bash(...)", "error": why}),
            ));
        }
        // Most texts have none, and `contains` finds that out much faster than `split`.
        let runs = text.contains("!`")
            && text.split("!`").skip(1).any(|rest| rest.split('\n').next().is_some_and(|line| line.contains('`')));
        Ok((runs && !said.contains("Bash")).then(|| {
            format!(
                "Module `{}`: `{path}` runs a shell command, but `allowed-tools` in its front matter does not include `Bash(...)`",
                self.id
            )
        }))
    }

    fn article(&self) -> &'static str {
        match self.kind {
            Kind::Instructions => "an instructions module",
            Kind::Skill => "a skill",
            Kind::Prompt => "a prompt",
            Kind::Command => "a command",
            Kind::Subagent => "a subagent",
            Kind::McpServer => "an MCP server",
            Kind::AgentFile => "an agent's file",
        }
    }

    fn refuse(&self, file: Option<&str>, why: &str, more: Value) -> Error {
        let path = match file.and_then(|file| self.files.get(file)) {
            Some(draft) => draft.content.from.display().to_string(),
            None => self.source.clone(),
        };
        let mut details = json!({"module_id": self.id, "path": path});
        if let (Value::Object(details), Value::Object(more)) = (&mut details, more) {
            details.extend(more);
        }
        Error::new(Code::ConfigInvalid, format!("Module `{}`: `{path}`: {why}", self.id)).with_details(details)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::Layer;
    use crate::repo::tree::Content;

    fn checked(kind: Kind, files: &[(&str, &str)]) -> Result<Option<String>> {
        let draft = |text: &str, path: &str| Draft {
            content: Content {
                from: format!("/r/{path}").into(),
                bytes: text.as_bytes().into(),
                executable: false,
                linked: false,
            },
            layer: Layer::Upstream,
        };
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), draft(text, path))).collect();
        check(&Candidate { id: "m", kind, source: "/r".to_owned(), files: &files })
    }

    #[test]
    fn accepts_what_is_well_formed() {
        let skill = "---\r\nname: a\ndescription: b\n---\r\nText";
        assert_eq!(checked(Kind::Skill, &[("SKILL.md", skill), ("x.bin", "")]).unwrap(), None);
        assert_eq!(checked(Kind::Instructions, &[("AGENTS.md", ""), ("README.md", "")]).unwrap(), None);
        assert_eq!(checked(Kind::Prompt, &[("p.md", "no front matter")]).unwrap(), None);
        let command = "---\ndescription: Review: a PR\nargument-hint: [pr] [priority]\n---\n";
        assert_eq!(checked(Kind::Command, &[("c.md", command)]).unwrap(), None);
        let command = "---\ndescription: d\nallowed-tools: [Read, 'Bash(git:*)']\n---\n!bash\n!`ls`";
        assert_eq!(checked(Kind::Command, &[("c.md", command)]).unwrap(), None);
    }

    #[test]
    fn warns_where_agentpack_said_nothing() {
        let warning = checked(Kind::Command, &[("c.md", "---\ndescription: d\n---\n!`ls -l`\n")]).unwrap().unwrap();
        assert!(warning.contains("`c.md` runs a shell command"), "{warning}");
        assert_eq!(checked(Kind::Command, &[("c.md", "---\ndescription: d\n---\nwow!`\nx`")]).unwrap(), None);
    }

    #[test]
    fn refuses_with_module_path_and_reason() {
        let skill = |text| checked(Kind::Skill, &[("SKILL.md", text)]);
        let command = |text| checked(Kind::Command, &[("c.md", text)]);
        for (result, says, path) in [
            (checked(Kind::Instructions, &[("a.md", "")]), "has no AGENTS.md", "/r"),
            (checked(Kind::Skill, &[]), "has no SKILL.md", "/r"),
            (skill("# no"), "does not begin with front matter", "/r/SKILL.md"),
            (skill("---\nname: a\n"), "has no closing `---`", "/r/SKILL.md"),
            (skill("---\n- a\n---\n"), "not a mapping of keys", "/r/SKILL.md"),
            (skill("---\nname: a\n---\n"), "has no `description`", "/r/SKILL.md"),
            (
                skill("---\nname: 3\ndescription: b\n---\n"),
                "`name` in its front matter must be a non-empty string",
                "/r/SKILL.md",
            ),
            (skill("---\nname: a\ndescription: ' '\n---\n"), "must be a non-empty string", "/r/SKILL.md"),
            (skill("---\n{{{\n---\n"), "malformed", "/r/SKILL.md"),
            (checked(Kind::Prompt, &[]), "has 0 files", "/r"),
            (checked(Kind::Prompt, &[("a.md", ""), ("b.md", "")]), "has 2 files", "/r"),
            (checked(Kind::Prompt, &[("a.txt", "")]), "has another file", "/r"),
            (command("no"), "does not begin", "/r/c.md"),
            (command("---\nx: y\n---\n"), "has no `description`", "/r/c.md"),
            (command("---\ndescription: d\n---\n!bash"), "runs a shell", "/r/c.md"),
        ] {
            let error = result.unwrap_err();
            assert_eq!(error.code(), Code::ConfigInvalid);
            assert!(error.message().contains(says), "{error}");
            let details = error.details().unwrap();
            assert_eq!((&details["module_id"], &details["path"]), (&json!("m"), &json!(path)), "{error}");
        }
    }
}
