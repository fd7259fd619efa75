//! Prompt templates: minijinja without files, network or endless loops.

use std::collections::BTreeMap;
use std::io::Write;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, ErrorKind, UndefinedBehavior};

use crate::error::{Code, Error, Result};
use crate::store::prompts::Argument;

/// Instructions a template may execute; a page of text takes a few hundred.
const FUEL: u64 = 500_000;

/// Checks that a template parses.
///
/// # Errors
/// `E_TEMPLATE_FAILED` with the line.
pub fn check(source: &str) -> Result<()> {
    environment().template_from_str(source).map(drop).map_err(|error| failed("does not parse", &error))
}

/// Checks declared arguments: names that a template can use, none twice.
///
/// # Errors
/// `E_INVALID_ARGUMENT`.
pub fn check_arguments(arguments: &[Argument]) -> Result<()> {
    for (index, argument) in arguments.iter().enumerate() {
        let name = &argument.name;
        let mut letters = name.chars();
        let good = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && letters.all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !good {
            return Err(Error::new(
                Code::InvalidArgument,
                format!(
                    "Argument name '{}' must be letters, digits and _, and not begin with a digit",
                    name.escape_debug()
                ),
            ));
        }
        if arguments[..index].iter().any(|other| other.name == *name) {
            return Err(Error::new(Code::InvalidArgument, format!("Argument '{name}' is declared twice")));
        }
    }
    Ok(())
}

/// Renders a template with the values given; a declared argument that is optional and absent is an empty string.
/// The result is at most `limit` bytes.
///
/// # Errors
/// `E_INVALID_ARGUMENT` naming a required argument that is missing, `E_TEMPLATE_FAILED`, `E_TOO_LARGE`.
pub fn render(
    prompt: &str,
    source: &str,
    declared: &[Argument],
    given: &BTreeMap<String, String>,
    limit: u64,
) -> Result<String> {
    let mut values = given.clone();
    for argument in declared {
        if values.contains_key(&argument.name) {
            continue;
        }
        if argument.required {
            return Err(missing(prompt, &argument.name));
        }
        values.insert(argument.name.clone(), String::new());
    }
    let environment = environment();
    let template = environment.template_from_str(source).map_err(|error| failed("does not parse", &error))?;
    let mut output = Bounded { bytes: Vec::new(), limit };
    let values = minijinja::Value::from_pairs(values);
    template.render_captured_to(values, &mut output).map(drop).map_err(|error| {
        if output.full() {
            Error::new(Code::TooLarge, format!("Prompt '{prompt}' renders to more than {limit} bytes"))
        } else {
            failed("does not render", &error)
        }
    })?;
    String::from_utf8(output.bytes).map_err(|_| Error::internal("a template rendered to something that is not UTF-8"))
}

/// Returns the failure of a required argument that nobody gave.
pub fn missing(prompt: &str, argument: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("Prompt '{prompt}' requires the argument '{argument}'"))
        .with_details(serde_json::json!({ "name": prompt, "argument": argument }))
}

/// Returns the names that a template looks up and has to be given.
///
/// # Errors
/// `E_TEMPLATE_FAILED`.
pub fn variables(source: &str) -> Result<Vec<String>> {
    let environment = environment();
    let template = environment.template_from_str(source).map_err(|error| failed("does not parse", &error))?;
    let own = |name: &String| environment.globals().any(|(global, _)| global == name);
    Ok(template.undeclared_variables(false).into_iter().filter(|name| !own(name)).collect())
}

/// Returns the values that a template compares an argument with, in order of appearance: what can be suggested.
pub fn compared_values(source: &str, argument: &str) -> Vec<String> {
    let Ok(pattern) = regex::Regex::new(&format!(
        r#"\b{}\s*[=!]=\s*(?:"([^"\n]{{1,100}})"|'([^'\n]{{1,100}})')"#,
        regex::escape(argument)
    )) else {
        return Vec::new();
    };
    let mut values: Vec<String> = Vec::new();
    for found in pattern.captures_iter(source) {
        if let Some(value) = found.get(1).or_else(|| found.get(2))
            && !values.iter().any(|known| known == value.as_str())
        {
            values.push(value.as_str().to_owned());
        }
    }
    values
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    environment.set_syntax(SyntaxConfig::builder().keep_trailing_newline(true).build().unwrap_or_default());
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment
}

fn failed(how: &str, error: &minijinja::Error) -> Error {
    let place = error.line().map(|line| format!(" (line {line})")).unwrap_or_default();
    let why = match error.kind() {
        ErrorKind::OutOfFuel => "it runs too long".to_owned(),
        _ => error.detail().map_or_else(|| error.kind().to_string(), |detail| format!("{}: {detail}", error.kind())),
    };
    Error::new(Code::TemplateFailed, format!("The prompt template {how}: {why}{place}"))
}

struct Bounded {
    bytes: Vec<u8>,
    limit: u64,
}

impl Bounded {
    fn full(&self) -> bool {
        self.bytes.len() as u64 > self.limit
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        if self.full() {
            return Err(std::io::ErrorKind::OutOfMemory.into());
        }
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argument(name: &str, required: bool) -> Argument {
        Argument { name: name.to_owned(), description: None, required }
    }

    fn render_with(source: &str, declared: &[Argument], given: &[(&str, &str)]) -> Result<String> {
        let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        render("p", source, declared, &given, 10_000)
    }

    #[test]
    fn renders_with_required_and_optional_arguments() {
        let declared = [argument("file", true), argument("focus", false)];
        let source = "Review {{ file }}{% if focus %} for {{ focus }}{% endif %}\n";
        assert_eq!(render_with(source, &declared, &[("file", "a.rs")]).unwrap(), "Review a.rs\n");
        assert_eq!(
            render_with(source, &declared, &[("file", "<a>"), ("focus", "speed")]).unwrap(),
            "Review <a> for speed\n"
        );
        let missing = render_with(source, &declared, &[]).unwrap_err();
        assert_eq!(missing.message(), "Prompt 'p' requires the argument 'file'");
    }

    #[test]
    fn is_strict_bounded_and_sees_no_files() {
        for (source, code) in [
            ("{{ nobody }}", Code::TemplateFailed),
            ("{% include '/etc/passwd' %}", Code::TemplateFailed),
            (
                "{% for a in range(9999) %}{% for b in range(9999) %}{{ b }}{% endfor %}{% endfor %}",
                Code::TemplateFailed,
            ),
            ("{% for a in range(9999) %}xxxxxxxxxxx{% endfor %}", Code::TooLarge),
        ] {
            let error = render_with(source, &[], &[]).unwrap_err();
            assert!(error.code() == code || error.code() == Code::TooLarge, "{source}: {error}");
        }
        assert!(check("{% if %}").unwrap_err().message().contains("line 1"));
    }

    #[test]
    fn knows_what_it_looks_up() {
        let mut names = variables("{% for i in range(n) %}{{ i }}{{ a.b }}{% endfor %}{% set c = 1 %}{{ c }}").unwrap();
        names.sort_unstable();
        assert_eq!(names, ["a", "n"]);
    }

    #[test]
    fn suggests_what_the_template_asks_for() {
        let source = "{% if focus == 'speed' %}a{% elif focus == \"size\" or focus == 'speed' %}b{% endif %}";
        assert_eq!(compared_values(source, "focus"), ["speed", "size"]);
        assert!(compared_values(source, "other").is_empty());
    }
}
