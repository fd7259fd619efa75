//! From a command and its arguments to a request: the one function that makes them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::output::is_json;
use super::written::{elements, encoded, pairs, path, text};
use crate::error::{Code, Error, Result, nearest};
use crate::http::{Outgoing, Url};
use crate::workflow::spec::{Body, CommandSpec, Flag, Place, Style};

/// Headers that requests have anyway, or that are another's: no argument says them.
pub const OWN: [&str; 11] = [
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "host",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Returns the request of a command with its arguments. Where it goes is decided by `base` alone: no argument changes the
/// host, or leads out of the path.
///
/// # Errors
/// `E_INVALID_ARGUMENT` that names the argument: unknown, missing, or one that cannot be sent. `E_HTTP_REFUSED` where the
/// command cannot be run at all.
pub fn request(base: &Url, spec: &CommandSpec, arguments: &Map<String, Value>) -> Result<Outgoing> {
    let (Some(template), Some(method), true) = (&spec.path, &spec.method, spec.runnable) else {
        let why = spec.why_not.as_deref().unwrap_or("it has no method and path");
        return Err(Error::new(Code::HttpRefused, format!("The command '{}' cannot be run: {why}", spec.id)));
    };
    check_names(spec, arguments)?;
    let mut query: Vec<String> = Vec::new();
    let mut headers = HeaderMap::new();
    for (flag, value) in given(spec, arguments, Place::Query) {
        query.extend(pairs(key(flag), value, flag.style));
    }
    for (flag, value) in given(spec, arguments, Place::Header) {
        let (name, value) = header(flag, value)?;
        headers.insert(name, value);
    }
    let body = match &spec.body {
        Some(body) => body_of(spec, body, arguments, &mut headers)?,
        None => Vec::new(),
    };
    let url = address(base, &filled(spec, template, arguments)?, &query)?;
    let method = Method::from_bytes(method.as_bytes()).map_err(|_| {
        Error::new(Code::HttpRefused, format!("The command '{}' has no method that can be sent", spec.id))
    })?;
    Ok(Outgoing { method, url, headers, body })
}

/// Refuses arguments that the command does not take, and their lack where it needs them.
fn check_names(spec: &CommandSpec, arguments: &Map<String, Value>) -> Result<()> {
    let flags = spec.flags.iter().map(|flag| flag.name.as_str());
    let known: Vec<&str> = spec.positionals.iter().map(|positional| positional.name.as_str()).chain(flags).collect();
    if let Some(unknown) = arguments.keys().find(|name| !known.contains(&name.as_str())) {
        let error = invalid(format!("The command '{}' takes no argument '{unknown}'", spec.id));
        return Err(match nearest(unknown, known.iter().copied()) {
            Some(near) => error.hint(format!("did you mean '{near}'?")),
            None if known.is_empty() => error.hint("it takes none"),
            None => error.hint(format!("it takes {}", known.join(", "))),
        });
    }
    let required = spec.flags.iter().filter(|flag| flag.required).map(|flag| &flag.name);
    let mut required = spec.positionals.iter().map(|positional| &positional.name).chain(required);
    match required.find(|name| arguments.get(*name).is_none_or(Value::is_null)) {
        Some(missing) => Err(invalid(format!("The command '{}' needs the argument '{missing}'", spec.id))),
        None => Ok(()),
    }
}

/// Returns the arguments of a place that were given. Null is as if it were not.
fn given<'a>(
    spec: &'a CommandSpec,
    arguments: &'a Map<String, Value>,
    place: Place,
) -> impl Iterator<Item = (&'a Flag, &'a Value)> {
    let flags = spec.flags.iter().filter(move |flag| flag.r#in == Some(place));
    flags.filter_map(|flag| Some((flag, arguments.get(&flag.name).filter(|value| !value.is_null())?)))
}

/// The name of an argument in the request.
fn key(flag: &Flag) -> &str {
    flag.key.as_deref().unwrap_or(&flag.name)
}

/// Returns a path with its placeholders filled in.
fn filled(spec: &CommandSpec, template: &str, arguments: &Map<String, Value>) -> Result<String> {
    let mut made = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else { break };
        made.push_str(&path(before));
        let value = arguments.get(name).filter(|_| spec.positionals.iter().any(|positional| positional.name == name));
        made.push_str(&segment(name, value.unwrap_or(&Value::Null))?);
        rest = after;
    }
    Ok(made + &path(rest))
}

/// Returns a value as a part of a path.
fn segment(name: &str, value: &Value) -> Result<String> {
    let elements: Vec<String> = elements(value).iter().map(|element| encoded(element)).collect();
    match elements.join(",") {
        empty if empty.is_empty() => Err(invalid(format!("The argument '{name}' is empty, and stands in the path"))),
        dots if dots == "." || dots == ".." => {
            Err(invalid(format!("The argument '{name}' is '{dots}', which would lead to another path")))
        }
        segment => Ok(segment),
    }
}

/// Returns the URL of a path below a base. It is the very text that was put together, or none.
fn address(base: &Url, path: &str, query: &[String]) -> Result<Url> {
    let mut text = format!("{}{path}", super::servers::base(base));
    if !query.is_empty() {
        text = format!("{text}?{}", query.join("&"));
    }
    // A URL's parser takes out dots, turns slashes round and drops line ends: then it would be another path.
    Url::parse(&text)
        .filter(|url| url.as_str() == text && url.has_origin_of(base))
        .ok_or_else(|| Error::new(Code::HttpRefused, format!("The path `{path}` leads out of {}", base.as_str())))
}

fn header(flag: &Flag, value: &Value) -> Result<(HeaderName, HeaderValue)> {
    let refused = |why: &str| invalid(format!("The argument '{}' cannot be a header: {why}", flag.name));
    let name = HeaderName::from_bytes(key(flag).as_bytes()).map_err(|_| refused("its name is none of a header"))?;
    if OWN.contains(&name.as_str()) {
        return Err(refused("the request has its own"));
    }
    let text = match flag.style {
        Some(Style::Json) => value.to_string(),
        _ => elements(value).join(","),
    };
    if text.contains(['\r', '\n', '\0']) {
        return Err(refused("it holds a line end or a NUL"));
    }
    let value = HeaderValue::from_bytes(text.as_bytes()).map_err(|_| refused("it holds control characters"))?;
    Ok((name, value))
}

/// Returns the body, and says in the headers what it is.
fn body_of(
    spec: &CommandSpec,
    body: &Body,
    arguments: &Map<String, Value>,
    headers: &mut HeaderMap,
) -> Result<Vec<u8>> {
    let given: Vec<(&Flag, &Value)> = given(spec, arguments, Place::Body).collect();
    if given.is_empty() && (!body.required || body.whole) {
        return Ok(Vec::new());
    }
    let content_type = HeaderValue::from_str(&body.content_type)
        .map_err(|_| Error::new(Code::HttpRefused, format!("The body of '{}' is of no known type", spec.id)))?;
    headers.insert(CONTENT_TYPE, content_type);
    let whole = given.first().filter(|_| body.whole);
    if is_json(&body.content_type) {
        let value = match whole {
            Some((_, value)) => (*value).clone(),
            None => given.iter().map(|(flag, value)| (key(flag).to_owned(), (*value).clone())).collect(),
        };
        return Ok(value.to_string().into_bytes());
    }
    match whole {
        Some((flag, Value::String(text))) if flag.format.as_deref() == Some("byte") => STANDARD
            .decode(text)
            .map_err(|error| invalid(format!("The argument '{}' is no base64: {error}", flag.name))),
        Some((_, value)) => Ok(text(value).into_bytes()),
        None => {
            let form = given.iter().flat_map(|(flag, value)| pairs(key(flag), value, flag.style));
            Ok(form.collect::<Vec<_>>().join("&").into_bytes())
        }
    }
}

fn invalid(message: String) -> Error {
    Error::new(Code::InvalidArgument, message)
}
