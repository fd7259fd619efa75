//! Reads and writes front matter: the YAML between two lines of `---` at the top of a Markdown file.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::template;
use mcpkg_base::cache::Cache;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::yaml::{self, Malformed};
use mcpkg_core::names;
use mcpkg_store::prompts::{Argument, Attributes};

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Matter {
    /// The value of `description`.
    pub description: Option<String>,
    /// The value of `argument-hint`.
    pub hint: Option<String>,
    /// The value of `arguments`. Each argument is a name, or a mapping with further keys.
    pub arguments: Vec<Argument>,
}

/// Returns the names that Claude Code finds in `arguments`, which is a list of texts, or a text split at spaces. A
/// comma stays part of the name before it. Numbers are ignored.
pub fn names(yaml: &str) -> Vec<String> {
    let is_name = |name: &String| !name.is_empty() && !name.bytes().all(|byte| byte.is_ascii_digit());
    let names: Vec<String> = match keys(yaml).ok().and_then(|mut keys| keys.map.remove("arguments")) {
        Some(Value::String(text)) => text.split_whitespace().map(str::to_owned).collect(),
        Some(Value::Array(list)) => list.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    };
    names.into_iter().filter(is_name).take(template::MAX_ARGUMENTS).collect()
}

const MARK: &str = "---";

/// The maximum size of front matter, in bytes. Agents write a few hundred bytes.
const MAX_YAML: usize = 64 << 10;

/// The maximum number of values after expanding YAML aliases.
const MAX_ALIASED: usize = 10_000;

/// Splits a text into its front matter's YAML and the rest; `None` if it has no front matter. Fails if the front matter has
/// no end.
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
    Err(malformed("it has no closing `---`"))
}

/// The keys and values of front matter.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    /// The values by key, in their original order.
    pub map: Map<String, Value>,
    /// If the front matter is not valid YAML and was read leniently: the reason, and the line within the YAML.
    pub odd: Option<(String, usize)>,
}

/// Parses front matter as leniently as agents do: `argument-hint: [pr] [priority]` and `globs: *.ts` are common, but
/// not valid YAML. If even that fails, the error's details have `line` if the position is known.
pub fn keys(yaml: &str) -> Result<Keys> {
    // Fast path: most files have no front matter.
    if yaml.is_empty() {
        return Ok(Keys::default());
    }
    if let Some(keys) = LATELY.get(yaml) {
        return Ok(keys);
    }
    let keys = parsed(yaml)?;
    if yaml.len() <= SHORT {
        LATELY.put(yaml.to_owned(), keys.clone());
    }
    Ok(keys)
}

/// The maximum size of front matter that is cached, in bytes.
const SHORT: usize = 1 << 10;

/// Parsed front matter. Checking a file, converting it for several agents and counting what they load all parse the same
/// text, and parsing YAML takes most of that time.
static LATELY: Cache<String, Keys> = Cache::new(512);

fn parsed(yaml: &str) -> Result<Keys> {
    if yaml.len() > MAX_YAML {
        return Err(malformed(&format!("it is {} bytes long, and the limit is {MAX_YAML} bytes", yaml.len())));
    }
    let (value, odd) = match read(yaml) {
        Ok(value) => (value, None),
        Err(error) => {
            let (line, why) = (error.line(), error.why);
            match read(&quoted(yaml)) {
                Ok(value) => (value, Some((why, line))),
                Err(_) => return Err(malformed(&why).with_details(serde_json::json!({ "line": line }))),
            }
        }
    };
    match value {
        Value::Object(map) => Ok(Keys { map, odd }),
        Value::Null => Ok(Keys { odd, ..Keys::default() }),
        _ => Err(malformed("it is not a mapping of keys to values")),
    }
}

/// Parses YAML 1.2, as agents do: `yes` and `1_000` are texts.
pub fn read(text: &str) -> Result<Value, Malformed> {
    yaml::read(text, yaml::options(MAX_ALIASED))
}

/// Returns the keys of front matter that mcpkg understands; see [`keys`].
pub fn parse(yaml: &str) -> Result<Matter> {
    read_with(yaml, arguments)
}

/// Like [`parse`], but ignores `arguments` in a form that only an agent understands.
pub fn parse_for_agents(yaml: &str) -> Result<Matter> {
    read_with(yaml, |value| Ok(arguments(value).unwrap_or_default()))
}

fn read_with(yaml: &str, arguments: impl FnOnce(Option<Value>) -> Result<Vec<Argument>>) -> Result<Matter> {
    let Keys { mut map, .. } = keys(yaml)?;
    let description = names::description(scalar(&mut map, yaml, "description"))?;
    let hint = names::description(scalar(&mut map, yaml, "argument-hint"))?;
    let arguments = arguments(map.shift_remove("arguments"))?;
    Ok(Matter { description, hint, arguments })
}

/// Writes front matter that [`parse`] reads as these attributes; empty if there is nothing to write.
pub fn write(attributes: &Attributes) -> String {
    let description = attributes.description.iter().map(|text| line("description", text));
    between_marks(&(description.collect::<String>() + &block(&attributes.arguments)))
}

/// Puts lines between two `---` lines; empty if there are no lines.
pub fn between_marks(lines: &str) -> String {
    if lines.is_empty() { String::new() } else { format!("{MARK}\n{lines}{MARK}\n") }
}

/// Writes a line with a key and a quoted text.
pub fn line(key: &str, text: &str) -> String {
    format!("{key}: {}\n", quote(text))
}

/// Writes the lines that declare arguments.
pub fn block(arguments: &[Argument]) -> String {
    let mut lines = if arguments.is_empty() { String::new() } else { "arguments:\n".to_owned() };
    for Argument { name, description, required } in arguments {
        lines += &format!("  - name: {}\n", quote(name));
        lines.extend(description.as_ref().map(|description| format!("    description: {}\n", quote(description))));
        lines += &format!("    required: {required}\n");
    }
    lines
}

/// Quotes a text. A JSON string is also a valid YAML string.
fn quote(text: &str) -> String {
    Value::from(text).to_string()
}

/// Replaces the lines of `key` in front matter that is given with its `---` lines. A missing key is inserted at the top.
pub fn replace(matter: &str, key: &str, lines: &str) -> String {
    let end = if matter.contains("\r\n") { "\r\n" } else { "\n" };
    let lines = lines.replace('\n', end);
    let is_key = |line: &str| {
        let name = line.split_once(':').map_or("", |(name, _)| name.trim_end());
        name == key || name.trim_matches(['"', '\'']) == key
    };
    let goes_on = |line: &str| line.starts_with([' ', '\t']) || line.trim_end() == "-" || line.starts_with("- ");
    let old: Vec<&str> = matter.split_inclusive('\n').collect();
    let from = old.iter().position(|line| is_key(line));
    let from_or_first = from.unwrap_or(1).min(old.len());
    let length =
        if from.is_some() { 1 + old[from_or_first + 1..].iter().take_while(|line| goes_on(line)).count() } else { 0 };
    [&old[..from_or_first].concat(), &lines, &old[from_or_first + length..].concat()].map(String::as_str).concat()
}

/// Removes a key and returns its value as text. If YAML reads the value as a list or a number, returns the value as
/// written.
fn scalar(map: &mut Map<String, Value>, yaml: &str, key: &str) -> Option<String> {
    match map.shift_remove(key)? {
        Value::Null => None,
        Value::String(text) => Some(text),
        _ => yaml.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(|text| text.trim().to_owned()),
    }
}

/// Quotes all unquoted values of the top level.
fn quoted(yaml: &str) -> String {
    let quote = |line: &str| {
        let (key, value) = plain(line)?;
        Some(format!("{key}: '{}'", value.replace('\'', "''")))
    };
    yaml.lines().map(|line| quote(line).unwrap_or_else(|| line.to_owned()) + "\n").collect()
}

/// Quotes only the values that keep the text from being valid YAML. `None` if it is valid already, or invalid even with quotes.
pub fn requoted(yaml: &str) -> Option<String> {
    if yaml.len() > MAX_YAML || read(yaml).is_ok() {
        return None;
    }
    let requote = |line: &str| {
        let text = line.trim_end_matches(['\r', '\n']);
        let (key, value) = plain(text).filter(|_| read(text).is_err())?;
        Some(format!("{key}: {}{}", quote(value), &line[text.len()..]))
    };
    let mended: String =
        yaml.split_inclusive('\n').map(|line| requote(line).unwrap_or_else(|| line.to_owned())).collect();
    read(&mended).is_ok().then_some(mended)
}

/// Returns the key and the value of an unquoted line of the top level.
fn plain(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(": ")?;
    let value = value.trim();
    let is_plain = !key.starts_with([' ', '-', '#', '"', '\'']) && !value.starts_with(['"', '\'', '|', '>']);
    (is_plain && !value.is_empty()).then_some((key, value))
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Declared {
    Name(String),
    Whole(Argument),
}

fn arguments(value: Option<Value>) -> Result<Vec<Argument>> {
    let declared: Option<Vec<Declared>> = serde_json::from_value(value.unwrap_or_default())
        .map_err(|_| malformed("`arguments` must list names, or objects with `name`, `description` and `required`"))?;
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

    fn matter_of(text: &str) -> Matter {
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
        let matter = matter_of(
            "---\ndescription: Review: a PR\nargument-hint: [pr] [priority]\nallowed-tools: Bash(git:*)\nname: x\n---\n",
        );
        assert_eq!(matter.description.as_deref(), Some("Review: a PR"));
        assert_eq!(matter.hint.as_deref(), Some("[pr] [priority]"));
        assert_eq!(matter_of("---\nargument-hint: [message]\n---\n").hint.as_deref(), Some("[message]"));
        assert_eq!(
            matter_of("---\ndescription: TypeScript\nglobs: *.ts\n---\n").description.as_deref(),
            Some("TypeScript")
        );
        assert_eq!(matter_of("---\ndescription: 3\n---\n").description.as_deref(), Some("3"));
        assert_eq!(matter_of("---\ndescription: >\n  two\n  lines\n---\n").description.as_deref(), Some("two lines\n"));
        assert_eq!(matter_of("---\n# nothing\n---\n"), Matter::default());
        let matter =
            matter_of("---\narguments:\n  - file\n  - name: focus\n    description: what\n    required: true\n---\n");
        assert_eq!(
            matter.arguments.iter().map(|a| (a.name.as_str(), a.required)).collect::<Vec<_>>(),
            [("file", false), ("focus", true)]
        );
    }

    #[test]
    fn values_are_those_of_yaml_1_2() {
        let keys = keys("a: yes\nb: true\nc: 1_000\nd: 0x1F\ne: 2026-11-01\nf: ~\n").unwrap();
        let expected =
            serde_json::json!({ "a": "yes", "b": true, "c": "1_000", "d": 31, "e": "2026-11-01", "f": null });
        assert_eq!((Value::Object(keys.map), keys.odd), (expected, None));
    }

    #[test]
    fn refuses_what_is_malformed() {
        for bad in ["words", "- a", "arguments: [two words]", "arguments: 3", "description: \"\\0\"", "a: [", "{{{"] {
            if bad != "a: [" {
                assert!(parse(bad).is_err(), "{bad}");
            }
        }
        assert_eq!(parse("a: [").unwrap(), Matter::default());
    }

    #[test]
    fn limits_aliases_size_depth_and_arguments() {
        let letters = || "bcdefghijkl".chars();
        let line =
            |letter: char| format!("{letter}: &{letter} [{}]\n", format!("*{}, ", letter_before(letter)).repeat(9));
        let laughs = format!("a: &a [lol, lol]\n{}", letters().map(line).collect::<String>());
        let (why, _) = keys(&laughs).unwrap().odd.expect("it is read as plain texts");
        assert!(why.contains("alias"), "{why}");
        let many: String = (0..100_000).map(|n| format!("k{n}: v\n")).collect();
        assert!(parse(&many).unwrap_err().message().contains("the limit is 65536"));
        for deep in ["[", "{a: ", "- "] {
            let odd = keys(&format!("a: {}", deep.repeat(10_000))).map(|keys| keys.odd);
            assert!(odd.as_ref().map_or(true, Option::is_some), "{deep}");
        }
        let arguments: String = (0..101).map(|n| format!("  - a{n}\n")).collect();
        let error = parse(&format!("arguments:\n{arguments}")).unwrap_err();
        assert_eq!(error.message(), "101 arguments are declared; the limit is 100");
    }

    fn letter_before(letter: char) -> char {
        char::from(letter as u8 - 1)
    }

    #[test]
    fn a_key_is_replaced_and_the_others_stay() {
        let matter = "---\r\nmodel: x\r\ndescription: >\r\n  two\r\n\tlines\r\n# note\r\n---\r\n";
        let changed = replace(matter, "description", "description: \"new\"\n");
        assert_eq!(changed, "---\r\nmodel: x\r\ndescription: \"new\"\r\n# note\r\n---\r\n");
        assert_eq!(replace(&changed, "description", ""), "---\r\nmodel: x\r\n# note\r\n---\r\n");
        assert_eq!(replace("---\n---", "a", "a: 1\n"), "---\na: 1\n---");
        assert_eq!(
            replace("---\n\"a\": 1\narguments:\n- a\n- b\nc: d\n---\n", "arguments", ""),
            "---\n\"a\": 1\nc: d\n---\n"
        );
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
        let matter = matter_of(&write(&attributes));
        assert_eq!((matter.description, matter.arguments), (attributes.description, attributes.arguments));
        assert_eq!(write(&Attributes::default()), "");
    }
}
