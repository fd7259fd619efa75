//! Writes front matter that tells an agent when a rule applies.

use serde_json::Value;

use super::read::read;
use super::rule::{GlobList, RuleFormat, Switch, Words, split};
use mcpkg_store::modules::Applies;

/// The reason why an agent's format cannot express a rule or subagent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsayable {
    /// The format cannot express one of the globs.
    Globs,
    /// The format has no rules that apply by their description.
    ByDescription,
    /// The format has no rules that apply manually.
    ByHand,
    /// The format requires a description, and there is none.
    NoDescription,
}

/// Returns the front matter of a rule with its `---` lines, or an empty text if none is needed. Fails if this format cannot
/// express when the rule applies.
pub(super) fn write(format: &RuleFormat, applies: &Applies, description: Option<&str>) -> Result<String, Unsayable> {
    let description = description.map(|text| one_line(text, format)).filter(|text| !text.is_empty());
    let knows_all = !matches!(format.switch, Switch::Globs { .. });
    let needs_more = matches!(format.switch, Switch::Word(_, Words { described_needs: Some(_), .. }));
    match applies {
        Applies::Described if !knows_all || needs_more => return Err(Unsayable::ByDescription),
        Applies::Described if description.is_none() => return Err(Unsayable::NoDescription),
        Applies::Manual if !knows_all => return Err(Unsayable::ByHand),
        _ => {}
    }
    let mut lines = String::new();
    if let Switch::Word(key, words) = format.switch {
        lines += &format!("{key}: {}\n", word(&words, applies));
    }
    // Leave out the description of a manual rule: Cursor applies a rule that has only a description by that description.
    if let Some(text) = description.filter(|_| format.description && *applies != Applies::Manual) {
        lines += &description_line(format, &text);
    }
    match (applies, format.switch) {
        (Applies::Globs(globs), _) => lines += &globs_lines(format, globs)?,
        (Applies::Always, Switch::Globs { else_always: false }) => lines += &format!("{}: \"**\"\n", format.globs),
        _ => {}
    }
    if let Switch::Always(key) = format.switch {
        lines += &format!("{key}: {}\n", *applies == Applies::Always);
    }
    Ok(if lines.is_empty() { lines } else { format!("---\n{lines}---\n") })
}

const fn word(words: &Words, applies: &Applies) -> &'static str {
    match applies {
        Applies::Always => words.always,
        Applies::Globs(_) => words.globs,
        Applies::Described => words.described,
        Applies::Manual => words.manual,
    }
}

/// Writes the line with the description. YAML needs quotes around some texts, but Cursor would read quotes as part of the text.
fn description_line(format: &RuleFormat, text: &str) -> String {
    let is_plain = match format.switch {
        Switch::Always(_) => true,
        Switch::Word(..) => is_plain_yaml(text),
        Switch::Globs { .. } => false,
    };
    if is_plain { format!("description: {text}\n") } else { format!("description: {}\n", quoted(text)) }
}

/// Returns whether YAML reads this text unchanged without quotes.
fn is_plain_yaml(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic())
        && !text.ends_with(':')
        && !text.contains(": ")
        && !text.contains(" #")
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&text.to_lowercase().as_str())
}

fn globs_lines(format: &RuleFormat, globs: &[String]) -> Result<String, Unsayable> {
    let globs: Vec<&str> = globs.iter().map(|glob| glob.strip_prefix("./").unwrap_or(glob)).collect();
    let everything = globs.contains(&"**");
    let says_always = matches!(format.switch, Switch::Globs { .. });
    // If an agent has no key for "always", the glob `**` makes a rule always apply. So a list of globs that contains
    // `**` cannot be written.
    if globs.is_empty() || globs.iter().any(|glob| !is_plain(glob)) || (everything && says_always) {
        return Err(Unsayable::Globs);
    }
    let key = format.globs;
    let lines = match format.list {
        GlobList::Yaml => {
            let items: String = globs.iter().map(|glob| format!("  - {}\n", quoted(glob))).collect();
            format!("{key}:\n{items}")
        }
        GlobList::Quoted => format!("{key}: {}\n", quoted(&globs.join(","))),
        GlobList::Bare => format!("{key}: {}\n", globs.join(",")),
    };
    // Read the line back. Refuse if the agent would read other globs: it may take `[a]` for a list, for example.
    let head = match format.switch {
        Switch::Word(key, words) => format!("---\n{key}: {}\n{lines}---\n", words.globs),
        Switch::Globs { .. } | Switch::Always(_) => format!("---\n{lines}---\n"),
    };
    let said = read(format, &head).applies;
    let meant = Applies::Globs(globs.iter().map(|glob| (*glob).to_owned()).collect());
    if said == meant { Ok(lines) } else { Err(Unsayable::Globs) }
}

/// Quotes a text. A JSON string is also a valid YAML string.
fn quoted(text: &str) -> Value {
    Value::from(text)
}

/// Returns whether every agent reads a glob in the same way. Agents split globs at commas, and none supports
/// exclusions (`!`).
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

/// Puts a text on one line. For agents that read line by line, removes `---`, which would end the front matter.
fn one_line(text: &str, format: &RuleFormat) -> String {
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    while format.list == GlobList::Bare && text.contains("---") {
        text = text.replace("---", "--");
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::forms::rule::{CLAUDE_CODE, COPILOT, CURSOR, KIRO, WINDSURF};

    const ALL: [RuleFormat; 5] = [CLAUDE_CODE, COPILOT, CURSOR, KIRO, WINDSURF];

    fn globs(globs: &[&str]) -> Applies {
        Applies::Globs(globs.iter().map(|glob| (*glob).to_owned()).collect())
    }

    #[test]
    fn each_agents_frontmatter_says_when_a_rule_applies() {
        let both = globs(&["**/*.py", "src/**/*.{ts,tsx}"]);
        let cases = [
            (CLAUDE_CODE, &both, "---\npaths:\n  - \"**/*.py\"\n  - \"src/**/*.{ts,tsx}\"\n---\n"),
            (
                CURSOR,
                &both,
                "---\ndescription: How: \"we\" write\nglobs: **/*.py,src/**/*.{ts,tsx}\nalwaysApply: false\n---\n",
            ),
            (
                COPILOT,
                &both,
                "---\ndescription: \"How: \\\"we\\\" write\"\napplyTo: \"**/*.py,src/**/*.{ts,tsx}\"\n---\n",
            ),
            (CURSOR, &Applies::Described, "---\ndescription: How: \"we\" write\nalwaysApply: false\n---\n"),
            (CURSOR, &Applies::Manual, "---\nalwaysApply: false\n---\n"),
            (CLAUDE_CODE, &Applies::Always, ""),
            (
                WINDSURF,
                &both,
                "---\ntrigger: glob\ndescription: \"How: \\\"we\\\" write\"\nglobs: **/*.py,src/**/*.{ts,tsx}\n---\n",
            ),
            (WINDSURF, &Applies::Manual, "---\ntrigger: manual\n---\n"),
            (KIRO, &Applies::Manual, "---\ninclusion: manual\n---\n"),
            (
                KIRO,
                &Applies::Globs(vec!["a/**".to_owned()]),
                "---\ninclusion: fileMatch\ndescription: \"How: \\\"we\\\" write\"\nfileMatchPattern:\n  - \"a/**\"\n---\n",
            ),
            (WINDSURF, &Applies::Always, "---\ntrigger: always_on\ndescription: \"How: \\\"we\\\" write\"\n---\n"),
        ];
        for (format, applies, expected) in cases {
            assert_eq!(format.write(applies, Some("How: \"we\"\n write")).as_deref(), Ok(expected), "{}", format.globs);
        }
        assert_eq!(CLAUDE_CODE.write(&Applies::Manual, None), Err(Unsayable::ByHand));
        assert_eq!(COPILOT.write(&Applies::Described, Some("d")), Err(Unsayable::ByDescription));
        assert_eq!(CURSOR.write(&Applies::Described, Some(" \n")), Err(Unsayable::NoDescription));
    }

    #[test]
    fn a_glob_that_an_agent_would_read_otherwise_is_not_written() {
        for bad in ["!src/**", "a,b", "a, {b,c}", " a", "a ", "", "a\nb", "a---b"] {
            for format in ALL {
                let written = format.write(&globs(&["src/**", bad]), None);
                assert_eq!(written, Err(Unsayable::Globs), "{}: {bad:?}", format.globs);
            }
        }
        assert_eq!(CLAUDE_CODE.write(&globs(&[]), None), Err(Unsayable::Globs));
        assert_eq!(COPILOT.write(&globs(&["**"]), None), Err(Unsayable::Globs), "it would be always");
        let dotted = CLAUDE_CODE.write(&globs(&["./src/**"]), None).unwrap();
        assert!(dotted.contains("\"src/**\""), "Claude Code never matches `./src/**`: {dotted}");
    }

    #[test]
    fn front_matter_is_read_as_its_agent_reads_it() {
        let cases: [(RuleFormat, &str, Option<Applies>); 22] = [
            (CLAUDE_CODE, "text", Some(Applies::Always)),
            (CLAUDE_CODE, "---\ndescription: x\n---\n", Some(Applies::Always)),
            (CLAUDE_CODE, "---\nglobs: \"*.py\"\nalwaysApply: false\n---\n", Some(Applies::Always)),
            (CLAUDE_CODE, "\u{feff}---\r\npaths: **/*.py\r\n---\r\n", Some(globs(&["**/*.py"]))),
            (CLAUDE_CODE, "---\npaths: \"a, {b,c}\"\n---\n", Some(globs(&["a", "{b,c}"]))),
            (CLAUDE_CODE, "---\npaths: [\"*.py\", \"src/**\"]\n---\n", Some(globs(&["*.py", "src/**"]))),
            (CLAUDE_CODE, "---\npaths:\n---\n", Some(Applies::Always)),
            (CLAUDE_CODE, "---\npaths: 3\n---\n", Some(Applies::Always)),
            (CLAUDE_CODE, "---\npaths: [\"a\", \"!b\"]\n---\n", Some(globs(&["a"]))),
            (CURSOR, "text", None),
            (CURSOR, "---\nglobs: \"*.ts,*.js\"\n---\n", Some(globs(&["*.ts", "*.js"]))),
            (COPILOT, "text", Some(Applies::Manual)),
            (COPILOT, "---\ndescription: d\n---\n", Some(Applies::Described)),
            (COPILOT, "---\napplyTo:\n---\n", Some(Applies::Manual)),
            (COPILOT, "---\napplyTo: [a, '!b']\n---\n", Some(globs(&["a", "!b"]))),
            (CURSOR, "---\ndescription: d\nglobs: *.ts, *.js\nalwaysApply: true\n---\n", Some(Applies::Always)),
            (CURSOR, "---\nglobs: *.ts, *.js\nalwaysApply: True\n---\n", Some(globs(&["*.ts", "*.js"]))),
            (CURSOR, "---\nglobs: [\"*.py\"]\n---\n", Some(globs(&["[\"*.py\"]"]))),
            (CURSOR, "---\nglobs:\n- \"*.py\"\n---\n", Some(Applies::Manual)),
            (CURSOR, "---\ndescription: d\nglobs:\n---\n", Some(Applies::Described)),
            (COPILOT, "---\napplyTo: '**/*.ts,**/*.tsx'\n---\n", Some(globs(&["**/*.ts", "**/*.tsx"]))),
            (COPILOT, "---\napplyTo: '**'\n---\n", Some(Applies::Always)),
        ];
        for (format, file, expected) in cases {
            assert_eq!(format.applies(file.as_bytes()), expected, "{}: {file}", format.globs);
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
        #![proptest_config(crate::seed::config(256))]

        // Reading the front matter back must give exactly what was written. If that is impossible, `write` must fail.
        #[test]
        fn when_a_rule_applies_is_never_widened(applies in applies(), description in prop::option::of("[-a: \"#\n]{0,8}")) {
            for format in ALL {
                let Ok(head) = format.write(&applies, description.as_deref()) else { continue };
                let expected = match &applies {
                    Applies::Globs(globs) => Applies::Globs(
                        globs.iter().map(|glob| glob.strip_prefix("./").unwrap_or(glob).to_owned()).collect(),
                    ),
                    other => other.clone(),
                };
                prop_assert_eq!(format.applies(format!("{head}\nText\n").as_bytes()), Some(expected), "{}", head);
            }
        }
    }
}
