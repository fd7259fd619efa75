//! Converts a slash command to a skill's `SKILL.md`, for agents without commands, both on disk and over MCP.

use serde_json::Value;

use super::words::{self, Spelling};
use crate::forms::matter;
use mcpkg_store::prompts::Argument;
pub use mcpkg_store::skills::{MAX_NAME, name};

/// The maximum length of a skill's description in characters.
pub const MAX_DESCRIPTION: usize = 1024;

/// Returns whether agents accept `name` for a skill: at most [`MAX_NAME`] lower-case letters and digits, with single
/// hyphens between them.
pub fn is_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(is_letter)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

/// Converts a command to the `SKILL.md` of the skill `name`. The skill has the command's description, and describes the arguments
/// in words; `known` contains their descriptions.
pub fn of_command(name: &str, file: &[u8], known: &[Argument]) -> Vec<u8> {
    let (front, body) = split_front(file);
    let file = without_blanks(file);
    let spelled = std::str::from_utf8(&file).map(|file| words::text(file, known, Spelling::Words));
    let body = spelled.as_ref().map_or(body, |text| text.as_bytes());
    let description = front.and_then(described).unwrap_or_else(|| format!("Runs the command {name}"));
    [front_matter(name, &description).as_bytes(), b"\n", body].concat()
}

/// Converts an edited `SKILL.md` back to a command. `file` is the command that the `SKILL.md` was made from; see
/// [`words::back`]. The error is the reason, for people, why that is impossible.
pub fn to_command(file: &[u8], known: &[Argument], edited: &[u8]) -> Result<Vec<u8>, String> {
    let body = split_front(file).1;
    let head = &file[..file.len() - body.len()];
    let texts = (std::str::from_utf8(head), String::from_utf8(without_blanks(file)), std::str::from_utf8(edited));
    match texts {
        (Ok(head), Ok(file), Ok(edited)) => {
            words::back(&file, known, Spelling::Words, head, edited).map(String::into_bytes)
        }
        _ => Ok([head, edited].concat()),
    }
}

/// Removes the empty lines after a command's front matter, because [`split_front`] drops them too.
fn without_blanks(file: &[u8]) -> Vec<u8> {
    let body = split_front(file).1;
    let head = &file[..file.len() - body.len()];
    let blank = head.split_inclusive(|byte| *byte == b'\n').rev().take_while(|line| line.trim_ascii().is_empty());
    let head = &head[..head.len() - blank.map(<[u8]>::len).sum::<usize>()];
    [head, body].concat()
}

/// Writes a skill's front matter. A description that is too long for agents is cut off.
pub fn front_matter(name: &str, description: &str) -> String {
    let description: String = description.chars().take(MAX_DESCRIPTION).collect();
    format!("---\nname: {name}\ndescription: {}\n---\n", Value::from(description))
}

/// Reads the name and the description from front matter that [`front_matter`] wrote, without a YAML parser. `None` if the
/// front matter may mean something else.
pub fn written(front: &str) -> Option<(&str, String)> {
    let (name, description) = front.strip_prefix("name: ")?.strip_suffix('\n')?.split_once("\ndescription: ")?;
    // Refuse values that YAML does not read as text, or that some YAML parser may read differently.
    let is_text = is_name(name) && name.starts_with(|c: char| c.is_ascii_alphabetic()) && !WORDS.contains(&name);
    let is_plain =
        |c: char| !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    let is_plain = is_text && description.chars().all(is_plain);
    let text: String = serde_json::from_str(description).ok().filter(|_| is_plain)?;
    let again = serde_json::to_string(&text).ok()?;
    (again == description).then_some((name, text))
}

/// Names that YAML reads as something other than text.
const WORDS: [&str; 10] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan"];

/// Splits a text into front matter and body. Drops a byte order mark at the start, and empty lines between the two parts.
pub fn split_front(text: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let marked = text.strip_prefix("\u{feff}".as_bytes());
    match split_unmarked(marked.unwrap_or(text)) {
        (None, _) => (None, text),
        split => split,
    }
}

fn split_unmarked(text: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let mut lines = text.split_inclusive(|byte| *byte == b'\n');
    let Some(first) = lines.next().filter(|line| line.trim_ascii_end() == b"---") else {
        return (None, text);
    };
    let mut at = first.len();
    for line in lines {
        let next = at + line.len();
        if line.trim_ascii_end() == b"---" {
            let body = &text[next..];
            let blank = body.split_inclusive(|byte| *byte == b'\n').take_while(|line| line.trim_ascii().is_empty());
            let skipped: usize = blank.map(<[u8]>::len).sum();
            return (Some(&text[first.len()..at]), &body[skipped..]);
        }
        at = next;
    }
    (None, text)
}

/// Parses front matter, given without its `---` lines, as leniently as agents do; `None` if it is malformed.
pub fn keys(front: &[u8]) -> Option<serde_json::Map<String, Value>> {
    matter::keys(&String::from_utf8_lossy(front)).ok().map(|keys| keys.map)
}

/// Returns the trimmed description in front matter, even if that is not valid YAML.
fn described(front: &[u8]) -> Option<String> {
    let front = String::from_utf8_lossy(front);
    let text = match matter::keys(&front).map(|mut keys| keys.map.remove("description")) {
        Ok(Some(Value::String(text))) => text,
        _ => front.lines().find_map(|line| line.strip_prefix("description:"))?.trim().to_owned(),
    };
    (!text.trim().is_empty()).then(|| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn reading_without_yaml_agrees_with_yaml(
            name in "([a-z0-9]{1,5}|true|null|no|e1|0x1f|inf)(-[a-z0-9]{1,3})?", description in "\\PC{0,40}|[ -~]{0,30}|(\\n|\\\\|\"|é|\u{1f600}| |#|:){0,8}",
        ) {
            let front = front_matter(&name, &description);
            let front = front.strip_prefix("---\n").and_then(|front| front.strip_suffix("---\n")).expect("its marks");
            if let Some((name, description)) = written(front) {
                let keys = matter::keys(front).expect("YAML");
                prop_assert!(keys.odd.is_none());
                prop_assert_eq!(Value::from(keys.map), serde_json::json!({ "name": name, "description": description }));
            }
        }
    }

    #[test]
    fn only_front_matter_from_a_deploy_is_read_without_yaml() {
        let expected = Some(("a-b", "Say \"hi\": é #1".to_owned()));
        assert_eq!(written("name: a-b\ndescription: \"Say \\\"hi\\\": é #1\"\n"), expected);
        for other in [
            "name: a\ndescription: plain\n",
            "name: true\ndescription: \"x\"\n",
            "name: 12\ndescription: \"x\"\n",
            "name: a\ndescription: \"x\"\nmore: 1\n",
            "name: a\ndescription: \"\\u0041\"\n",
            "name: a\ndescription: 5\n",
            "description: \"x\"\nname: a\n",
        ] {
            assert_eq!(written(other), None, "{other}");
        }
    }

    #[test]
    fn skills_have_plain_names() {
        assert_eq!(name("Review.PR/main_1"), "review-pr-main-1");
        assert_eq!(name("ü"), "command");
        assert_eq!(name(&"a".repeat(80)).len(), 64);
        for good in ["a", "code-review", "x2", &"a".repeat(64)] {
            assert!(is_name(good) && name(good) == good, "{good}");
        }
        for bad in ["", "A", "a_b", "a.b", "-a", "a-", "a--b", "é", &"a".repeat(65)] {
            assert!(!is_name(bad), "{bad}");
        }
    }

    #[test]
    fn front_matter_is_split_off() {
        let text = b"---\ndescription: Review: it\n---\n\nBody\n";
        let (front, body) = split_front(text);
        assert_eq!((front.and_then(described).as_deref(), body), (Some("Review: it"), b"Body\n".as_slice()));
        assert_eq!(split_front(b"Body").0, None);
        assert_eq!(split_front(b"---\nno end").0, None);
    }

    #[test]
    fn a_command_keeps_its_description_and_body() {
        let text = of_command("a", b"---\ndescription: Look: \"here\"\nmodel: x\n---\n\nBody\n", &[]);
        assert_eq!(String::from_utf8_lossy(&text), "---\nname: a\ndescription: \"Look: \\\"here\\\"\"\n---\n\nBody\n");
        let long = of_command("a", format!("---\ndescription: {}\n---\nx", "é".repeat(2000)).as_bytes(), &[]);
        assert_eq!(String::from_utf8_lossy(&long).matches('é').count(), MAX_DESCRIPTION);
    }
}
