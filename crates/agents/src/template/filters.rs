//! Defines the filters and functions that templates may use. Each filter that creates a text or list counts its size, and the
//! total per rendering is limited.

use std::borrow::Cow;

use minijinja::value::{Kwargs, Value};
use minijinja::{Environment, Error, ErrorKind, State, filters, functions, tests};

/// The allowed filters.
pub const FILTERS: [&str; 17] = [
    "upper",
    "lower",
    "title",
    "capitalize",
    "trim",
    "replace",
    "indent",
    "split",
    "lines",
    "join",
    "first",
    "last",
    "length",
    "count",
    "default",
    "d",
    "string",
];

/// The allowed tests. `divisibleby` is missing because it panics when dividing by zero.
pub const TESTS: [&str; 29] = [
    "defined",
    "undefined",
    "none",
    "string",
    "number",
    "integer",
    "float",
    "boolean",
    "true",
    "false",
    "sequence",
    "mapping",
    "iterable",
    "odd",
    "even",
    "lower",
    "upper",
    "startingwith",
    "endingwith",
    "in",
    "eq",
    "equalto",
    "ne",
    "lt",
    "lessthan",
    "le",
    "gt",
    "greaterthan",
    "ge",
];

/// The only function; it is allowed only after `for ... in`.
pub const RANGE: &str = "range";

/// The maximum size in bytes of a text that a filter creates.
const MAX_TEXT: usize = 256 << 10;

/// The maximum length of a list that a filter creates.
const MAX_PARTS: usize = 1000;

/// The maximum count of numbers that `range` creates.
const MAX_TURNS: isize = 10_000;

/// The total bytes that the filters of one rendering may read and create.
const MAX_WORK: usize = 8 << 20;

/// The maximum number that `range` accepts.
const MAX_NUMBER: usize = 1_000_000;

/// Adds the allowed filters, tests and function to an empty environment.
pub fn add(environment: &mut Environment<'_>) {
    environment.add_filter("upper", |state: &mut State, text: Cow<'_, str>| made(state, &text, text.to_uppercase()));
    environment.add_filter("lower", |state: &mut State, text: Cow<'_, str>| made(state, &text, text.to_lowercase()));
    environment.add_filter("title", |state: &mut State, text: Cow<'_, str>| {
        let title = filters::title(Cow::Borrowed(&text));
        made(state, &text, title)
    });
    environment.add_filter("capitalize", |state: &mut State, text: Cow<'_, str>| {
        let mut letters = text.chars();
        let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
        made(state, &text, first + &letters.as_str().to_lowercase())
    });
    environment.add_filter("trim", trim);
    environment.add_filter("replace", replace);
    environment.add_filter("indent", indent);
    environment.add_filter("split", split);
    environment.add_filter("lines", |state: &mut State, text: Cow<'_, str>| parts(state, &text, text.lines()));
    environment.add_filter("join", join);
    environment.add_filter("string", |state: &mut State, text: Cow<'_, str>| made(state, &text, text.to_string()));
    environment.add_filter("first", filters::first);
    environment.add_filter("last", filters::last);
    environment.add_filter("length", filters::length);
    environment.add_filter("count", filters::length);
    environment.add_filter("default", filters::default);
    environment.add_filter("d", filters::default);

    environment.add_test("defined", tests::is_defined);
    environment.add_test("undefined", tests::is_undefined);
    environment.add_test("none", tests::is_none);
    environment.add_test("string", tests::is_string);
    environment.add_test("number", tests::is_number);
    environment.add_test("integer", tests::is_integer);
    environment.add_test("float", tests::is_float);
    environment.add_test("boolean", tests::is_boolean);
    environment.add_test("true", tests::is_true);
    environment.add_test("false", tests::is_false);
    environment.add_test("sequence", tests::is_sequence);
    environment.add_test("mapping", tests::is_mapping);
    environment.add_test("iterable", tests::is_iterable);
    environment.add_test("odd", tests::is_odd);
    environment.add_test("even", tests::is_even);
    environment.add_test("lower", tests::is_lower);
    environment.add_test("upper", tests::is_upper);
    environment.add_test("startingwith", tests::is_startingwith);
    environment.add_test("endingwith", tests::is_endingwith);
    environment.add_test("in", tests::is_in);
    for name in ["eq", "equalto"] {
        environment.add_test(name, tests::is_eq);
    }
    environment.add_test("ne", tests::is_ne);
    for name in ["lt", "lessthan"] {
        environment.add_test(name, tests::is_lt);
    }
    environment.add_test("le", tests::is_le);
    for name in ["gt", "greaterthan"] {
        environment.add_test(name, tests::is_gt);
    }
    environment.add_test("ge", tests::is_ge);

    environment.add_function(RANGE, range);
}

fn trim(state: &mut State, text: Cow<'_, str>, characters: Option<Cow<'_, str>>) -> Result<Value, Error> {
    let Some(characters) = characters else { return made(state, &text, text.trim().to_owned()) };
    let characters: Vec<char> = characters.chars().collect();
    // In the worst case, each character of the text is compared with each of `characters`.
    spend(state, text.len().saturating_mul(characters.len()))?;
    made(state, &text, text.trim_matches(&characters[..]).to_owned())
}

fn replace(state: &mut State, text: Cow<'_, str>, from: Cow<'_, str>, to: Cow<'_, str>) -> Result<Value, Error> {
    let found = text.matches(&*from).count();
    bounded(text.len() - found * from.len() + found.saturating_mul(to.len()))?;
    made(state, &text, text.replace(&*from, &to))
}

fn indent(
    state: &mut State,
    text: Cow<'_, str>,
    width: Option<usize>,
    first: Option<bool>,
    named: Kwargs,
) -> Result<Value, Error> {
    let width = width.or(named.get("width")?).unwrap_or(4);
    let first = first.or(named.get("first")?).unwrap_or(false);
    named.assert_all_used()?;
    let lines = 1 + text.matches('\n').count();
    bounded(lines.saturating_mul(width).saturating_add(text.len()))?;
    let space = " ".repeat(width);
    let mut indented = String::with_capacity(text.len() + lines * width);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if (first || index > 0) && !line.trim_end().is_empty() {
            indented.push_str(&space);
        }
        indented.push_str(line);
    }
    made(state, &text, indented)
}

fn split(
    state: &mut State,
    text: Cow<'_, str>,
    separator: Option<Cow<'_, str>>,
    most: Option<usize>,
) -> Result<Value, Error> {
    let most = most.map_or(usize::MAX, |most| most.saturating_add(1));
    match separator {
        Some(separator) => parts(state, &text, text.splitn(most, &*separator)),
        None if most == usize::MAX => parts(state, &text, text.split_whitespace()),
        None => Err(refusal("`split` needs a separator before the count".to_owned())),
    }
}

fn join(state: &mut State, list: &Value, separator: Option<Cow<'_, str>>, named: Kwargs) -> Result<Value, Error> {
    let separator = separator.or(named.get("d")?).unwrap_or_default();
    named.assert_all_used()?;
    let mut joined = String::new();
    for (index, item) in list.try_iter()?.enumerate() {
        if index > 0 {
            joined.push_str(&separator);
        }
        match item.as_str() {
            Some(text) => joined.push_str(text),
            None => joined.push_str(&item.to_string()),
        }
        bounded(joined.len())?;
    }
    made(state, "", joined)
}

fn range(lower: i64, upper: Option<i64>, step: Option<i64>) -> Result<Value, Error> {
    let number = |number: i64| match isize::try_from(number) {
        Ok(number) if number.unsigned_abs() <= MAX_NUMBER => Ok(number),
        _ => Err(refusal(format!("`range` accepts numbers up to {MAX_NUMBER}"))),
    };
    let (lower, upper) = (number(lower)?, upper.map(number).transpose()?);
    let step = step.map(number).transpose()?;
    let (from, to) = upper.map_or((0, lower), |upper| (lower, upper));
    if (to - from).checked_div(step.unwrap_or(1)).is_some_and(|count| count > MAX_TURNS) {
        return Err(refusal(format!("`range` returns at most {MAX_TURNS} numbers")));
    }
    functions::range(lower, upper, step)
}

/// Returns `text`, which a filter created from `from`, after counting both against the limits.
fn made(state: &mut State, from: &str, text: String) -> Result<Value, Error> {
    bounded(text.len())?;
    spend(state, from.len() + text.len())?;
    Ok(Value::from(text))
}

/// Collects parts of a text into a list, within the limits.
fn parts<'t>(state: &mut State, text: &str, parts: impl Iterator<Item = &'t str>) -> Result<Value, Error> {
    let mut list = Vec::new();
    for part in parts {
        if list.len() == MAX_PARTS {
            return Err(refusal(format!("`split` would return more than {MAX_PARTS} parts")));
        }
        list.push(Value::from(part));
    }
    spend(state, 2 * text.len() + list.len() * size_of::<Value>())?;
    Ok(Value::from(list))
}

fn bounded(bytes: usize) -> Result<(), Error> {
    if bytes > MAX_TEXT {
        return Err(refusal(format!("the result of a filter is larger than {MAX_TEXT} bytes")));
    }
    Ok(())
}

/// The bytes that filters may still read and create in this rendering.
struct Left(usize);

fn spend(state: &mut State, bytes: usize) -> Result<(), Error> {
    let left = state.get_or_insert_extension(Left(MAX_WORK));
    left.0 =
        left.0.checked_sub(bytes).ok_or_else(|| refusal("its filters return too much text in total".to_owned()))?;
    Ok(())
}

fn refusal(why: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, why)
}
