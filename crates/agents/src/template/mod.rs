//! Renders prompt templates: a subset of Jinja, run by minijinja without access to files or the network.
//!
//! Any template renders within tens of milliseconds and a few MiB, however hostile. [`subset`] limits the syntax,
//! [`filters`] the intermediate values, [`STEPS`] the running time, and [`MAX_RENDERED`] the output.

mod failure;
mod filters;
mod subset;

use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior};

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::names::MAX_DESCRIPTION;
use mcpkg_store::prompts::Argument;

use failure::failed;

pub use subset::check_size;

/// The maximum number of instructions that a template may execute. A page of text takes a few hundred.
const STEPS: u64 = 20_000;

/// The limit for instructions times bytes of the given values: one instruction, such as a comparison, may read all bytes.
const WORK: u64 = 1 << 29;

/// The maximum total size in bytes of the values given to a template.
const MAX_VALUES: usize = 256 << 10;

/// The maximum size in bytes of a rendered template.
const MAX_RENDERED: u64 = 2 << 20;

/// The maximum number of arguments that a prompt may declare.
pub const MAX_ARGUMENTS: usize = 100;

/// The maximum length of an argument's name in bytes.
const MAX_NAME: usize = 255;

/// Checks that a template parses and uses only the supported syntax. The error names the line.
pub fn check(source: &str) -> Result<()> {
    guarded(|| subset::check(source, ENVIRONMENT.syntax()))
}

/// Returns whether a text parses as a template, even if it uses unsupported syntax.
pub fn parses(source: &str) -> bool {
    guarded(|| Ok(subset::parses(source, ENVIRONMENT.syntax()))).unwrap_or(false)
}

/// Checks declared arguments: how many there are, how long their descriptions are in total, and that each name is
/// unique and can be used in a template.
pub fn check_arguments(arguments: &[Argument]) -> Result<()> {
    if arguments.len() > MAX_ARGUMENTS {
        let why = format!("{} arguments are declared; the limit is {MAX_ARGUMENTS}", arguments.len());
        return Err(Error::new(Code::InvalidArgument, why));
    }
    let described: usize = arguments.iter().filter_map(|argument| argument.description.as_ref()).map(String::len).sum();
    if described > MAX_DESCRIPTION {
        let why = format!(
            "The arguments' descriptions are {described} bytes long in total, but the limit is {MAX_DESCRIPTION} bytes"
        );
        return Err(Error::new(Code::InvalidArgument, why));
    }
    let mut names = HashSet::new();
    for argument in arguments {
        let name = &argument.name;
        let mut letters = name.chars();
        let good = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && letters.all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !good {
            return Err(Error::new(
                Code::InvalidArgument,
                format!(
                    "Argument name '{}' is invalid: use only letters, digits and _, and do not begin with a digit",
                    name.escape_debug()
                ),
            ));
        }
        if name.len() > MAX_NAME {
            let why = format!("An argument's name is {} bytes long, but the limit is {MAX_NAME} bytes", name.len());
            return Err(Error::new(Code::InvalidArgument, why));
        }
        if !names.insert(name) {
            return Err(Error::new(Code::InvalidArgument, format!("Argument '{name}' is declared twice")));
        }
    }
    Ok(())
}

/// Renders a template. An optional argument without a value is an empty string. The result has at most `limit` bytes
/// and at most 2 MiB; a larger one fails with `E_TOO_LARGE`. Fails with `E_INVALID_ARGUMENT` if a required argument
/// is missing or the values are too large, and with `E_TEMPLATE_FAILED` for other errors, with the line if it is
/// known.
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
    let bytes = values.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
    if bytes > MAX_VALUES {
        let why =
            format!("The arguments of prompt '{prompt}' are {bytes} bytes long, but the limit is {MAX_VALUES} bytes");
        return Err(Error::new(Code::InvalidArgument, why).with_details(serde_json::json!({ "name": prompt })));
    }
    check(source)?;
    let limit = limit.min(MAX_RENDERED);
    guarded(|| rendered(prompt, source, values, bytes, limit))
}

/// Renders a template that was checked before. `bytes` is the total size of the values.
fn rendered(prompt: &str, source: &str, values: BTreeMap<String, String>, bytes: usize, limit: u64) -> Result<String> {
    let mut environment = ENVIRONMENT.clone();
    environment.set_fuel(Some(STEPS.min(WORK / bytes.max(1) as u64)));
    let template = environment.template_from_str(source).map_err(|error| failed("does not parse", &error))?;
    let mut output = Bounded { bytes: Vec::new(), limit };
    let values = minijinja::Value::from_pairs(values);
    template.render_captured_to(values, &mut output).map(drop).map_err(|error| {
        if output.full() {
            Error::new(Code::TooLarge, format!("The rendered text of prompt '{prompt}' is larger than {limit} bytes"))
        } else {
            failed("does not render", &error)
        }
    })?;
    String::from_utf8(output.bytes).map_err(|_| Error::internal("a template rendered to something that is not UTF-8"))
}

pub fn missing(prompt: &str, argument: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("Prompt '{prompt}' requires the argument '{argument}'"))
        .with_details(serde_json::json!({ "name": prompt, "argument": argument }))
}

/// Returns the names that a template reads and does not define itself.
pub fn variables(source: &str) -> Result<Vec<String>> {
    check(source)?;
    let template = ENVIRONMENT.template_from_str(source).map_err(|error| failed("does not parse", &error))?;
    Ok(template.undeclared_variables(false).into_iter().filter(|name| name != filters::RANGE).collect())
}

/// Checks that each name in a template is declared, or has a fallback through `default` or `is defined`. Fails with
/// `E_TEMPLATE_FAILED`; the error lists the undeclared names, and suggests a declared name that is similar to the first
/// one.
pub fn check_declared(source: &str, declared: &[Argument]) -> Result<()> {
    let known = |name: &str| declared.iter().any(|argument| argument.name == name);
    let mut unknown: Vec<String> = variables(source)?.into_iter().filter(|name| !known(name)).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let provided = guarded(|| subset::provided(source, ENVIRONMENT.syntax()))?;
    unknown.retain(|name| !provided.contains(name));
    unknown.sort_unstable();
    let Some(first) = unknown.first() else { return Ok(()) };
    let names = unknown.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    let arguments = unknown.iter().map(|name| format!(" --argument {name}")).collect::<String>();
    let how = format!(
        "declare each name as an argument ({}), or give the name a default, as in `{{{{ {first}|default('') }}}}`",
        arguments.trim_start()
    );
    let error = Error::new(Code::TemplateFailed, format!("The prompt template uses undeclared arguments: {names}"))
        .with_details(serde_json::json!({ "undeclared": unknown }));
    let near = declared.iter().map(|argument| argument.name.as_str());
    Err(error.suggest(first, near, how))
}

/// Returns whether an error comes from [`check_declared`].
pub fn is_undeclared(error: &Error) -> bool {
    error.code() == Code::TemplateFailed && error.details().is_some_and(|details| details["undeclared"].is_array())
}

/// Returns the values that a template compares an argument with, in order of appearance. mcpkg offers them as completions.
pub fn compared_values(source: &str, argument: &str) -> Vec<String> {
    let Ok(pattern) = regex::Regex::new(&format!(
        r#"\b{}\s*[=!]=\s*(?:"([^"\n]{{1,100}})"|'([^'\n]{{1,100}})')"#,
        regex::escape(argument)
    )) else {
        return Vec::new();
    };
    let mut known = HashSet::new();
    let found = pattern.captures_iter(source).filter_map(|found| found.get(1).or_else(|| found.get(2)));
    found.map(|value| value.as_str()).filter(|value| known.insert(*value)).map(str::to_owned).collect()
}

/// The environment for all templates. It contains only what [`filters`] adds.
static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::empty();
    filters::add(&mut environment);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_syntax(SyntaxConfig::builder().keep_trailing_newline(true).build().unwrap_or_default());
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment
});

/// Converts a panic in minijinja to an error. For example, minijinja counts columns in 16 bits, but lines may be longer.
fn guarded<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|_| {
        Err(Error::new(Code::TemplateFailed, "The prompt template is invalid: the template parser failed on it"))
    })
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
mod tests;
