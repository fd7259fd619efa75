//! Front matter: the YAML between two lines of `---` at the top of a Markdown file.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::content::{names, template};
use crate::error::{Code, Error, Result};
use crate::store::prompts::{Argument, Attributes};

/// What front matter says, as far as it is understood.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Matter {
    /// `description`.
    pub description: Option<String>,
    /// `argument-hint`.
    pub hint: Option<String>,
    /// `arguments`: names, or names with more.
    pub arguments: Vec<Argument>,
    /// The keys that MCP has no place for.
    pub other: Vec<String>,
}

const MARK: &str = "---";

/// Splits a text that begins with front matter into its YAML and what follows; `None` where none begins.
///
/// # Errors
/// `E_INVALID_ARGUMENT` where it begins and does not end.
pub fn split(text: &str) -> Result<Option<(&str, &str)>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_mark = |line: &str| line.trim_end() == MARK;
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.ends_with('\n') && is_mark(line)) else {
        return Ok(None);
    };
    let mut at = first.len();
    for line in lines {
        if is_mark(line) {
            return Ok(Some((&text[first.len()..at], &text[at + line.len()..])));
        }
        at += line.len();
    }
    Err(malformed("it has no end"))
}

/// Reads front matter's YAML, as leniently as the agents do: `argument-hint: [pr] [priority]` and `globs: *.ts` are no
/// YAML, and common.
///
/// # Errors
/// `E_INVALID_ARGUMENT` where it is malformed.
pub fn parse(yaml: &str) -> Result<Matter> {
    let value: Value = serde_saphyr::from_str(yaml)
        .or_else(|strict| serde_saphyr::from_str(&quoted(yaml)).map_err(|_| strict))
        .map_err(|error| malformed(error.to_string().lines().next().unwrap_or_default()))?;
    let mut map = match value {
        Value::Object(map) => map,
        Value::Null => Map::new(),
        _ => return Err(malformed("it is no list of keys and values")),
    };
    let description = names::description(scalar(&mut map, yaml, "description"))?;
    let hint = names::description(scalar(&mut map, yaml, "argument-hint"))?;
    let arguments = arguments(map.shift_remove("arguments"))?;
    let other = map.into_iter().map(|(key, _)| key).filter(|key| key != "name" && key != "title").collect();
    Ok(Matter { description, hint, arguments, other })
}

/// Returns front matter that [`parse`] reads as these attributes; nothing where there is nothing to say.
pub fn write(attributes: &Attributes) -> String {
    // A JSON string is a YAML string.
    let quote = |text: &str| Value::from(text).to_string();
    let mut lines = Vec::new();
    if let Some(description) = &attributes.description {
        lines.push(format!("description: {}", quote(description)));
    }
    if !attributes.arguments.is_empty() {
        lines.push("arguments:".to_owned());
    }
    for Argument { name, description, required } in &attributes.arguments {
        lines.push(format!("  - name: {}", quote(name)));
        lines.extend(description.as_ref().map(|description| format!("    description: {}", quote(description))));
        lines.push(format!("    required: {required}"));
    }
    if lines.is_empty() { String::new() } else { format!("{MARK}\n{}\n{MARK}\n", lines.join("\n")) }
}

/// Takes a key whose value is one line of text; what YAML reads as a list or a number is text as well.
fn scalar(map: &mut Map<String, Value>, yaml: &str, key: &str) -> Option<String> {
    match map.shift_remove(key)? {
        Value::Null => None,
        Value::String(text) => Some(text),
        _ => yaml.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(|text| text.trim().to_owned()),
    }
}

/// Puts the values of the top level in quotes, where they begin like something else than text.
fn quoted(yaml: &str) -> String {
    let quote = |line: &str| {
        let (key, value) = line.split_once(": ")?;
        let value = value.trim();
        let plain = !key.starts_with([' ', '-', '#', '"', '\'']) && !value.starts_with(['"', '\'', '|', '>']);
        (plain && !value.is_empty()).then(|| format!("{key}: '{}'", value.replace('\'', "''")))
    };
    yaml.lines().map(|line| quote(line).unwrap_or_else(|| line.to_owned()) + "\n").collect()
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Declared {
    Name(String),
    Whole(Argument),
}

fn arguments(value: Option<Value>) -> Result<Vec<Argument>> {
    let declared: Option<Vec<Declared>> = serde_json::from_value(value.unwrap_or_default())
        .map_err(|_| malformed("`arguments` is no list of names, or of name, description and required"))?;
    let arguments: Vec<Argument> = declared
        .unwrap_or_default()
        .into_iter()
        .map(|declared| match declared {
            Declared::Name(name) => Argument { name, description: None, required: false },
            Declared::Whole(argument) => argument,
        })
        .collect();
    template::check_arguments(&arguments)?;
    for argument in &arguments {
        names::check_text("The argument's description", argument.description.as_deref().unwrap_or_default())?;
    }
    Ok(arguments)
}

fn malformed(why: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("the front matter is malformed: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Matter {
        parse(split(text).unwrap().unwrap().0).unwrap()
    }

    #[test]
    fn splits_to_the_byte() {
        assert_eq!(split("# no\n---\n").unwrap(), None);
        assert_eq!(split("---").unwrap(), None);
        assert_eq!(split("---\na: 1\n---\n\r\n body").unwrap(), Some(("a: 1\n", "\r\n body")));
        assert_eq!(split("\u{feff}---\r\na: 1\r\n---\r\nb").unwrap(), Some(("a: 1\r\n", "b")));
        assert_eq!(split("---\n---").unwrap(), Some(("", "")));
        assert!(split("---\na: 1\n").is_err());
    }

    #[test]
    fn understands_what_agents_understand() {
        let matter = read(
            "---\ndescription: Review: a PR\nargument-hint: [pr] [priority]\nallowed-tools: Bash(git:*)\nname: x\n---\n",
        );
        assert_eq!(matter.description.as_deref(), Some("Review: a PR"));
        assert_eq!(matter.hint.as_deref(), Some("[pr] [priority]"));
        assert_eq!(matter.other, ["allowed-tools"]);
        assert_eq!(read("---\nargument-hint: [message]\n---\n").hint.as_deref(), Some("[message]"));
        assert_eq!(read("---\ndescription: TypeScript\nglobs: *.ts\n---\n").description.as_deref(), Some("TypeScript"));
        assert_eq!(read("---\ndescription: 3\n---\n").description.as_deref(), Some("3"));
        assert_eq!(read("---\ndescription: >\n  two\n  lines\n---\n").description.as_deref(), Some("two lines\n"));
        assert_eq!(read("---\n# nothing\n---\n"), Matter::default());
        let matter =
            read("---\narguments:\n  - file\n  - name: focus\n    description: what\n    required: true\n---\n");
        assert_eq!(
            matter.arguments.iter().map(|a| (a.name.as_str(), a.required)).collect::<Vec<_>>(),
            [("file", false), ("focus", true)]
        );
    }

    #[test]
    fn refuses_what_is_malformed() {
        for bad in ["words", "- a", "arguments: [two words]", "arguments: 3", "description: \"\\0\"", "a: [", "{{{"] {
            if bad != "a: [" {
                assert!(parse(bad).is_err(), "{bad}");
            }
        }
        assert_eq!(parse("a: [").unwrap().other, ["a"]);
    }

    #[test]
    fn reads_what_it_writes() {
        let argument =
            Argument { name: "file".to_owned(), description: Some("a: \"b\"\n#é".to_owned()), required: true };
        let attributes = Attributes {
            description: Some("- 'x': y".to_owned()),
            template: true,
            arguments: vec![argument],
            ..Attributes::default()
        };
        let matter = read(&write(&attributes));
        assert_eq!((matter.description, matter.arguments), (attributes.description, attributes.arguments));
        assert_eq!(write(&Attributes::default()), "");
    }
}
