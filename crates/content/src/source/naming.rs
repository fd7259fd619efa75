//! Chooses the names that a source's items get in a project.
//!
//! With a prefix, all names contain the prefix. Without one, items keep the names that import gives them, with two
//! exceptions. Plain documents go below the source's name, because every repository has a README.md; only documents in
//! an export's manifest keep their names. Agent-specific files always go below the prefix or the source's name, so that
//! they are never at a path where an agent reads them.

use crate::item::{Item, What};

/// Changes an item's name to the one that it gets in the project.
pub fn set_name(item: &mut Item, prefix: Option<&str>, source: &str, is_listed: bool) {
    let word = item.word();
    match (&mut item.entry.what, prefix) {
        (What::Prompt(attributes), Some(prefix)) => {
            if let Some(file) = &mut attributes.file {
                *file = match file.rsplit_once('/') {
                    Some((folder, name)) => format!("{folder}/{prefix}-{name}"),
                    None => format!("{prefix}-{file}"),
                };
            }
            item.entry.name = format!("{prefix}-{}", item.entry.name);
        }
        (What::Resource(attributes), _) => {
            let Some((scheme, rest)) = attributes.uri.split_once("://") else { return };
            let (uri, name) = match (word, prefix) {
                ("skill" | "instructions", Some(prefix)) => {
                    (format!("{scheme}://{prefix}-{rest}"), format!("{prefix}-{}", item.entry.name))
                }
                ("subagent", Some(prefix)) => {
                    let name = item.entry.name.strip_prefix("agents.").unwrap_or(&item.entry.name);
                    (format!("{scheme}://{prefix}-{rest}"), format!("agents.{prefix}-{name}"))
                }
                ("resource", _) if scheme == "file" && (!is_listed || prefix.is_some()) => {
                    let below = prefix.unwrap_or(source);
                    let rest = rest.trim_start_matches('/');
                    (format!("file:///{below}/{rest}"), format!("{below}.{}", item.entry.name))
                }
                (_, Some(prefix)) => (attributes.uri.clone(), format!("{prefix}-{}", item.entry.name)),
                (_, None) => return,
            };
            attributes.uri = uri;
            item.entry.name = name;
        }
        (What::AgentFile { .. }, _) => {
            item.entry.name = format!("{}/{}", prefix.unwrap_or(source), item.entry.name);
            item.entry.origin.path = Some(item.entry.name.clone());
        }
        (What::Server, _) => {
            if let Some(prefix) = prefix {
                item.entry.name = format!("{prefix}-{}", item.entry.name);
            }
            let below = prefix.unwrap_or(source);
            item.entry.origin.path = item.entry.origin.path.take().map(|path| format!("{below}/{path}"));
        }
        (What::Prompt(_), None) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::{Entry, Origin};
    use mcpkg_store::{prompts, resources};

    fn named(what: What, name: &str, prefix: Option<&str>) -> (String, Option<String>) {
        let entry = Entry { name: name.to_owned(), what, origin: Origin::default() };
        let mut item = Item { path: "x".to_owned(), entry, content: Vec::new().into() };
        set_name(&mut item, prefix, "kit", false);
        (item.entry.name.clone(), item.entry.what.uri().map(str::to_owned))
    }

    fn resource(uri: &str) -> What {
        What::Resource(resources::Attributes {
            uri: uri.to_owned(),
            description: None,
            mime_type: None,
            text: true,
            executable: false,
        })
    }

    #[test]
    fn names_without_and_with_a_prefix() {
        let expected = |name: &str, uri: &str| (name.to_owned(), Some(uri.to_owned()));
        for (name, uri, without, with) in [
            ("pdf.SKILL.md", "skill://pdf/SKILL.md", None, expected("a-pdf.SKILL.md", "skill://a-pdf/SKILL.md")),
            ("AGENTS.md", "instructions://AGENTS.md", None, expected("a-AGENTS.md", "instructions://a-AGENTS.md")),
            ("agents.fix.md", "subagent://fix", None, expected("agents.a-fix.md", "subagent://a-fix")),
            (
                "docs.x.md",
                "file:///docs/x.md",
                Some(expected("kit.docs.x.md", "file:///kit/docs/x.md")),
                expected("a.docs.x.md", "file:///a/docs/x.md"),
            ),
        ] {
            let same = expected(name, uri);
            assert_eq!(named(resource(uri), name, None), without.unwrap_or(same));
            assert_eq!(named(resource(uri), name, Some("a")), with);
        }
        let file = Some("git/commit.md".to_owned());
        let prompt = What::Prompt(prompts::Attributes { file, ..prompts::Attributes::default() });
        assert_eq!(named(prompt.clone(), "git.commit", None), ("git.commit".to_owned(), None));
        assert_eq!(named(prompt, "git.commit", Some("a")), ("a-git.commit".to_owned(), None));
    }
}
