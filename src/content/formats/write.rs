//! A rule's front matter: how it says when the rule applies, and what it says to its agent.

use serde_json::Value;

use super::left_out::Reason;
use crate::content::command::skill::{keys, split_front};
use crate::deploy::targets::facts::{GlobList, RuleMatter};
use crate::store::modules::Applies;

/// Returns the front matter of a rule, with its marks; empty where there is nothing to say.
///
/// # Errors
/// Why the form cannot say it.
pub fn write(form: &RuleMatter, applies: &Applies, description: Option<&str>) -> Result<String, Reason> {
    let description = description.map(|text| one_line(text, form.list)).filter(|text| !text.is_empty());
    let described = form.always.is_some();
    let mut lines = String::new();
    // To an agent that has all four, a description alone is one that the rule applies by.
    if let Some(text) = description.as_ref().filter(|_| form.description && *applies != Applies::Manual) {
        lines += &match form.list {
            GlobList::Bare => format!("description: {text}\n"),
            GlobList::Yaml | GlobList::Quoted => format!("description: {}\n", quoted(text)),
        };
    }
    match applies {
        Applies::Always if form.always.is_some() || form.always_without_globs => {}
        Applies::Always => lines += &format!("{}: \"**\"\n", form.globs),
        Applies::Globs(globs) => lines += &globs_lines(form, globs)?,
        Applies::Described if !described => return Err(Reason::ByDescription),
        Applies::Described if description.is_none() => return Err(Reason::NoDescription),
        Applies::Manual if !described => return Err(Reason::ByHand),
        Applies::Described | Applies::Manual => {}
    }
    if let Some(key) = form.always {
        lines += &format!("{key}: {}\n", *applies == Applies::Always);
    }
    Ok(if lines.is_empty() { lines } else { format!("---\n{lines}---\n") })
}

/// Returns when a rule applies, as its agent reads the file; `None` where the agent would not load it, or where that
/// cannot be told.
pub fn read(form: &RuleMatter, file: &[u8]) -> Option<Applies> {
    let Some(front) = split_front(file).0 else {
        return match (form.always, form.always_without_globs) {
            (Some(_), _) => None,
            (None, true) => Some(Applies::Always),
            (None, false) => Some(Applies::Manual),
        };
    };
    let front = std::str::from_utf8(front).ok()?;
    match form.list {
        GlobList::Bare => Some(read_lines(form, front)),
        GlobList::Yaml | GlobList::Quoted => read_yaml(form, front),
    }
}

/// Reads front matter line by line: brackets are text, and so are quotes that are not around all of it.
fn read_lines(form: &RuleMatter, front: &str) -> Applies {
    let value = |key: &str| {
        let of_key = |line: &'_ str| line.strip_prefix(key).and_then(|rest| rest.strip_prefix(':')).map(str::to_owned);
        front.lines().find_map(of_key).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    };
    if form.always.and_then(value).as_deref() == Some("true") {
        return Applies::Always;
    }
    match value(form.globs).map(|globs| split(unquoted(&globs))).filter(|globs| !globs.is_empty()) {
        Some(globs) => Applies::Globs(globs),
        None if value("description").is_some() => Applies::Described,
        None => Applies::Manual,
    }
}

fn read_yaml(form: &RuleMatter, front: &str) -> Option<Applies> {
    let mut keys = keys(front.as_bytes())?;
    let globs = match keys.remove(form.globs) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => split(&text),
        Some(Value::Array(list)) => {
            list.iter().map(|glob| glob.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()?
        }
        Some(_) => return None,
    };
    if globs.is_empty() && !form.always_without_globs {
        let is_text = |text: &Value| text.as_str().is_some_and(|text| !text.trim().is_empty());
        let described = keys.get("description").is_some_and(is_text);
        return Some(if described { Applies::Described } else { Applies::Manual });
    }
    let everything = globs.is_empty() || globs.iter().any(|glob| glob == "**");
    // Claude Code ignores exceptions.
    let included = globs.iter().filter(|glob| form.list != GlobList::Yaml || !glob.starts_with('!'));
    let included: Vec<String> = included.cloned().collect();
    Some(match (everything, included.is_empty()) {
        (true, _) => Applies::Always,
        (false, true) => Applies::Globs(globs),
        (false, false) => Applies::Globs(included),
    })
}

fn globs_lines(form: &RuleMatter, globs: &[String]) -> Result<String, Reason> {
    let globs: Vec<&str> = globs.iter().map(|glob| glob.strip_prefix("./").unwrap_or(glob)).collect();
    let everything = globs.contains(&"**");
    // Without `alwaysApply` an agent takes `**` for always, as it does no globs at all.
    if globs.is_empty() || globs.iter().any(|glob| !is_plain(glob)) || (everything && form.always.is_none()) {
        return Err(Reason::Globs);
    }
    let key = form.globs;
    Ok(match form.list {
        GlobList::Yaml => {
            let items: String = globs.iter().map(|glob| format!("  - {}\n", quoted(glob))).collect();
            format!("{key}:\n{items}")
        }
        GlobList::Quoted => format!("{key}: {}\n", quoted(&globs.join(","))),
        GlobList::Bare => format!("{key}: {}\n", globs.join(",")),
    })
}

fn unquoted(text: &str) -> &str {
    let inside = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}

/// A JSON string is a YAML string.
fn quoted(text: &str) -> Value {
    Value::from(text)
}

/// Whether every agent reads a glob as it stands: none takes an exception (`!`), and each splits at commas.
fn is_plain(glob: &str) -> bool {
    let one = split(glob);
    one.len() == 1
        && one[0] == glob
        && !glob.starts_with('!')
        && !glob.starts_with("./")
        && !glob.contains("---")
        && !glob.contains(['"', '\''])
        && !glob.chars().any(char::is_control)
}

/// Splits globs at the commas that stand outside of braces.
fn split(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let at_comma = |c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    text.split(at_comma).map(str::trim).filter(|glob| !glob.is_empty()).map(str::to_owned).collect()
}

/// Returns a text on one line; where the agent reads lines, without what it takes for the end of the front matter.
fn one_line(text: &str, list: GlobList) -> String {
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    while list == GlobList::Bare && text.contains("---") {
        text = text.replace("---", "--");
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::deploy::targets::Target;

    fn form(target: &str) -> RuleMatter {
        let rules = Target::named(target).and_then(|target| target.facts().project.scoped_rules);
        rules.expect("it has rules").matter
    }

    fn globs(globs: &[&str]) -> Applies {
        Applies::Globs(globs.iter().map(|glob| (*glob).to_owned()).collect())
    }

    #[test]
    fn each_agent_has_its_own_words() {
        let both = globs(&["**/*.py", "src/**/*.{ts,tsx}"]);
        let cases = [
            ("claude_code", &both, "---\npaths:\n  - \"**/*.py\"\n  - \"src/**/*.{ts,tsx}\"\n---\n"),
            (
                "cursor",
                &both,
                "---\ndescription: How: \"we\" write\nglobs: **/*.py,src/**/*.{ts,tsx}\nalwaysApply: false\n---\n",
            ),
            (
                "vscode",
                &both,
                "---\ndescription: \"How: \\\"we\\\" write\"\napplyTo: \"**/*.py,src/**/*.{ts,tsx}\"\n---\n",
            ),
            ("cursor", &Applies::Described, "---\ndescription: How: \"we\" write\nalwaysApply: false\n---\n"),
            ("cursor", &Applies::Manual, "---\nalwaysApply: false\n---\n"),
            ("claude_code", &Applies::Always, ""),
        ];
        for (target, applies, expected) in cases {
            assert_eq!(write(&form(target), applies, Some("How: \"we\"\n write")).as_deref(), Ok(expected), "{target}");
        }
        assert_eq!(write(&form("claude_code"), &Applies::Manual, None), Err(Reason::ByHand));
        assert_eq!(write(&form("vscode"), &Applies::Described, Some("d")), Err(Reason::ByDescription));
        assert_eq!(write(&form("cursor"), &Applies::Described, Some(" \n")), Err(Reason::NoDescription));
    }

    #[test]
    fn a_glob_that_an_agent_would_read_otherwise_is_not_written() {
        for bad in ["!src/**", "a,b", "a, {b,c}", " a", "a ", "", "a\nb", "a---b"] {
            for target in ["claude_code", "cursor", "vscode"] {
                let written = write(&form(target), &globs(&["src/**", bad]), None);
                assert_eq!(written, Err(Reason::Globs), "{target}: {bad:?}");
            }
        }
        assert_eq!(write(&form("claude_code"), &globs(&[]), None), Err(Reason::Globs));
        assert_eq!(write(&form("vscode"), &globs(&["**"]), None), Err(Reason::Globs), "it would be always");
        let dotted = write(&form("claude_code"), &globs(&["./src/**"]), None).unwrap();
        assert!(dotted.contains("\"src/**\""), "Claude Code never matches `./src/**`: {dotted}");
    }

    #[test]
    fn front_matter_is_read_as_its_agent_reads_it() {
        let cases: [(&str, &str, Option<Applies>); 22] = [
            ("claude_code", "text", Some(Applies::Always)),
            ("claude_code", "---\ndescription: x\n---\n", Some(Applies::Always)),
            ("claude_code", "---\nglobs: \"*.py\"\nalwaysApply: false\n---\n", Some(Applies::Always)),
            ("claude_code", "\u{feff}---\r\npaths: **/*.py\r\n---\r\n", Some(globs(&["**/*.py"]))),
            ("claude_code", "---\npaths: \"a, {b,c}\"\n---\n", Some(globs(&["a", "{b,c}"]))),
            ("claude_code", "---\npaths: [\"*.py\", \"src/**\"]\n---\n", Some(globs(&["*.py", "src/**"]))),
            ("claude_code", "---\npaths:\n---\n", Some(Applies::Always)),
            ("claude_code", "---\npaths: 3\n---\n", None),
            ("claude_code", "---\npaths: [\"a\", \"!b\"]\n---\n", Some(globs(&["a"]))),
            ("cursor", "text", None),
            ("cursor", "---\nglobs: \"*.ts,*.js\"\n---\n", Some(globs(&["*.ts", "*.js"]))),
            ("vscode", "text", Some(Applies::Manual)),
            ("vscode", "---\ndescription: d\n---\n", Some(Applies::Described)),
            ("vscode", "---\napplyTo:\n---\n", Some(Applies::Manual)),
            ("vscode", "---\napplyTo: [a, '!b']\n---\n", Some(globs(&["a", "!b"]))),
            ("cursor", "---\ndescription: d\nglobs: *.ts, *.js\nalwaysApply: true\n---\n", Some(Applies::Always)),
            ("cursor", "---\nglobs: *.ts, *.js\nalwaysApply: True\n---\n", Some(globs(&["*.ts", "*.js"]))),
            ("cursor", "---\nglobs: [\"*.py\"]\n---\n", Some(globs(&["[\"*.py\"]"]))),
            ("cursor", "---\nglobs:\n- \"*.py\"\n---\n", Some(Applies::Manual)),
            ("cursor", "---\ndescription: d\nglobs:\n---\n", Some(Applies::Described)),
            ("vscode", "---\napplyTo: '**/*.ts,**/*.tsx'\n---\n", Some(globs(&["**/*.ts", "**/*.tsx"]))),
            ("vscode", "---\napplyTo: '**'\n---\n", Some(Applies::Always)),
        ];
        for (target, file, expected) in cases {
            assert_eq!(read(&form(target), file.as_bytes()), expected, "{target}: {file}");
        }
    }

    fn applies() -> impl Strategy<Value = Applies> {
        let glob = "(!|\\./)?(src/|[*]{2}/|a b/|é/|\\[x\\]|\"|'|#|,|\\{a,b\\}|---| ){0,3}([*]\\.rs|[*]{2})?";
        prop_oneof![
            Just(Applies::Always),
            Just(Applies::Described),
            Just(Applies::Manual),
            prop::collection::vec(glob, 0..4).prop_map(Applies::Globs),
        ]
    }

    proptest! {
        /// What is written says to its agent what was meant, or nothing is written.
        #[test]
        fn when_a_rule_applies_is_never_widened(applies in applies(), description in prop::option::of("[-a: \"#\n]{0,8}")) {
            for target in Target::ALL {
                let Some(rules) = target.facts().project.scoped_rules else { continue };
                let Ok(head) = write(&rules.matter, &applies, description.as_deref()) else { continue };
                let expected = match &applies {
                    Applies::Globs(globs) => Applies::Globs(
                        globs.iter().map(|glob| glob.strip_prefix("./").unwrap_or(glob).to_owned()).collect(),
                    ),
                    other => other.clone(),
                };
                prop_assert_eq!(read(&rules.matter, format!("{head}\nText\n").as_bytes()), Some(expected), "{}", head);
            }
        }
    }
}
