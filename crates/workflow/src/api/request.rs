//! Builds the HTTP request of a command from its arguments.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::media::{Media, is_json};
use super::multipart;
use super::written::{elements, encoded, loses_null, pairs, path, text};
use crate::argument;
use crate::spec::{Body, CommandSpec, Flag, Place, Style};
use mcpkg_base::error::{Code, Error, Result, nearest};
use mcpkg_base::http::{Outgoing, Url};

/// Headers that arguments must not set: the request sets them itself, or they belong to the connection.
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

/// Returns the request of a command. No argument can change the host or leave the base path: only `base` decides where the
/// request goes.
pub fn request(base: &Url, spec: &CommandSpec, arguments: &Map<String, Value>) -> Result<Outgoing> {
    let (Some(template), Some(method), true) = (&spec.path, &spec.method, spec.runnable) else {
        let why = spec.why_not.as_deref().unwrap_or("its method or path is missing");
        return Err(Error::new(Code::HttpRefused, format!("The command '{}' cannot be run: {why}", spec.id)));
    };
    check_names(spec, arguments)?;
    // A fragment (`#...`) only distinguishes operations with the same path, and is never sent. A query in the path is always
    // sent.
    let template = template.split('#').next().unwrap_or_default();
    let (template, own) = template.split_once('?').map_or((template, None), |(path, own)| (path, Some(own)));
    let mut query: Vec<String> = own.map(|own| filled(spec, own, arguments)).transpose()?.into_iter().collect();
    let mut headers = HeaderMap::new();
    check_keys(spec, arguments, Place::Query)?;
    for (flag, value) in arguments_at(spec, arguments, Place::Query) {
        query.extend(pairs(key(flag), value, style_of(flag, value, Place::Query)));
    }
    for (flag, value) in arguments_at(spec, arguments, Place::Header) {
        let (name, value) = header(flag, value)?;
        headers.insert(name, value);
    }
    let body = match &spec.body {
        Some(body) => body_of(spec, body, arguments, &mut headers)?,
        None => Vec::new(),
    };
    let url = address(base, &filled(spec, template, arguments)?, &query)?;
    let method = Method::from_bytes(method.as_bytes())
        .map_err(|_| Error::new(Code::HttpRefused, format!("The command '{}' has an invalid HTTP method", spec.id)))?;
    Ok(Outgoing { method, url, headers, body })
}

/// Refuses unknown arguments, missing required ones, and null in a part of the request that cannot express it.
fn check_names(spec: &CommandSpec, arguments: &Map<String, Value>) -> Result<()> {
    let flags = spec.flags.iter().map(|flag| flag.name.as_str());
    let known: Vec<&str> = spec.positionals.iter().map(|positional| positional.name.as_str()).chain(flags).collect();
    if let Some(unknown) = arguments.keys().find(|name| !known.contains(&name.as_str())) {
        let error = invalid(format!("The command '{}' has no argument '{unknown}'", spec.id));
        return Err(match nearest(unknown, known.iter().copied()) {
            Some(near) => error.hint(format!("did you mean '{near}'?")),
            None if known.is_empty() => error.hint("the command takes no arguments"),
            None => error.hint(format!("its arguments are {}", known.join(", "))),
        });
    }
    for argument in argument::all(spec) {
        let value = arguments.get(argument.name);
        let flag = spec.flags.iter().find(|flag| flag.name == argument.name);
        let is_null = value.is_some_and(|value| value.is_null() && argument.no_null.is_some());
        if flag.is_none_or(|flag| flag.required) && (value.is_none() || is_null) {
            return Err(invalid(format!("The command '{}' needs the argument '{}'", spec.id, argument.name)));
        }
        let style = |value| flag.and_then(|flag| style_of(flag, value, flag.r#in?));
        if let (Some(place), true) = (argument.no_null, value.is_some_and(|value| loses_null(value, style(value)))) {
            let what = if is_null { "is" } else { "contains" };
            let why =
                format!("The argument '{}' {what} null, but is sent {place}, which cannot express null", argument.name);
            return Err(invalid(why).hint("omit the argument"));
        }
    }
    Ok(())
}

/// Returns the given arguments that are sent in one place, such as the query.
fn arguments_at<'a>(
    spec: &'a CommandSpec,
    arguments: &'a Map<String, Value>,
    place: Place,
) -> impl Iterator<Item = (&'a Flag, &'a Value)> {
    let flags = spec.flags.iter().filter(move |flag| flag.r#in == Some(place));
    flags.filter_map(|flag| Some((flag, arguments.get(&flag.name)?)))
}

/// Refuses objects with keys that a server would misread: as another argument of the command or, because of a bracket, as
/// a nested object.
fn check_keys(spec: &CommandSpec, arguments: &Map<String, Value>, place: Place) -> Result<()> {
    let mut names: Vec<&str> = spec.flags.iter().filter(|flag| flag.r#in == Some(place)).map(key).collect();
    for (flag, value) in arguments_at(spec, arguments, place) {
        let Value::Object(fields) = value else { continue };
        let refused = |name: &str, why: &str| {
            let name = name.escape_debug();
            Err(invalid(format!("The argument '{}' cannot be sent with the key '{name}': {why}", flag.name)))
        };
        match style_of(flag, value, place) {
            Some(Style::Deep) => {
                if let Some(name) = bracketed(value) {
                    return refused(name, "the key contains a bracket, which would mean a nested object");
                }
            }
            None => {
                let is_of = |one: &str, other: &str| {
                    one.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
                };
                for name in fields.keys() {
                    if names.iter().any(|other| is_of(name, other) || is_of(other, name)) {
                        return refused(name, &format!("the key would overwrite another argument of '{}'", spec.id));
                    }
                }
                names.extend(fields.keys().map(String::as_str));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Returns the first key with a bracket in an object or its nested objects.
fn bracketed(value: &Value) -> Option<&str> {
    match value {
        Value::Object(fields) => {
            let own = fields.keys().find(|key| key.contains(['[', ']'])).map(String::as_str);
            own.or_else(|| fields.values().find_map(bracketed))
        }
        Value::Array(values) => values.iter().find_map(bracketed),
        _ => None,
    }
}

/// Returns how a value is written in the query or in a form, or `None` for one pair per element and key. In a form, objects are
/// sent as JSON unless the document says otherwise.
fn style_of(flag: &Flag, value: &Value, place: Place) -> Option<Style> {
    match (flag.style, place, value) {
        (None, Place::Body, Value::Object(_)) => Some(Style::Json),
        (Some(Style::Pairs), ..) => None,
        (style, ..) => style,
    }
}

/// Returns the name of an argument in the request, which may differ from the argument's own name.
fn key(flag: &Flag) -> &str {
    flag.key.as_deref().unwrap_or(&flag.name)
}

fn filled(spec: &CommandSpec, template: &str, arguments: &Map<String, Value>) -> Result<String> {
    let value = |name: &str| arguments.get(name).filter(|_| is_positional(spec, name));
    filled_by(template, |name| segment(name, value(name).unwrap_or(&Value::Null)))
}

/// Returns the path of a command for people. An argument without a `known` value stays a placeholder. `cut` may shorten the
/// values.
pub fn shown_path(
    spec: &CommandSpec,
    known: impl Fn(&str) -> Option<Value>,
    cut: impl Fn(&str) -> String,
) -> Option<String> {
    let template = spec.path.as_deref()?.split('#').next().unwrap_or_default();
    let filled = filled_by(template, |name| {
        let value = known(name).filter(|_| is_positional(spec, name));
        let segment = value.and_then(|value| segment(name, &value).ok());
        Ok(segment.map_or_else(|| format!("{{{name}}}"), |segment| cut(&segment)))
    });
    filled.ok()
}

fn is_positional(spec: &CommandSpec, name: &str) -> bool {
    spec.positionals.iter().any(|positional| positional.name == name)
}

/// Replaces the placeholders of a path.
fn filled_by(template: &str, value: impl Fn(&str) -> Result<String>) -> Result<String> {
    let mut made = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else { break };
        made.push_str(&path(before));
        made.push_str(&value(name)?);
        rest = after;
    }
    Ok(made + &path(rest))
}

/// Encodes a value as a segment of a path.
fn segment(name: &str, value: &Value) -> Result<String> {
    let elements: Vec<String> = elements(value).iter().map(|element| encoded(element)).collect();
    match elements.join(",") {
        empty if empty.is_empty() => {
            Err(invalid(format!("The argument '{name}' is part of the path and cannot be empty")))
        }
        dots if dots == "." || dots == ".." => {
            Err(invalid(format!("The argument '{name}' is part of the path and cannot be '{dots}'")))
        }
        segment => Ok(segment),
    }
}

/// Returns the URL of a path below a base. Fails if parsing would change the URL.
fn address(base: &Url, path: &str, query: &[String]) -> Result<Url> {
    let mut text = format!("{}{path}", super::servers::base(base));
    if !query.is_empty() {
        text = format!("{text}?{}", query.join("&"));
    }
    // The URL parser resolves dots, turns backslashes into slashes and drops line ends. The result would be a different path.
    Url::parse(&text)
        .filter(|url| url.as_str() == text && url.has_origin_of(base))
        .ok_or_else(|| Error::new(Code::HttpRefused, format!("The path `{path}` points outside {}", base.as_str())))
}

fn header(flag: &Flag, value: &Value) -> Result<(HeaderName, HeaderValue)> {
    let refused = |why: &str| invalid(format!("The argument '{}' cannot be sent as a header: {why}", flag.name));
    let name =
        HeaderName::from_bytes(key(flag).as_bytes()).map_err(|_| refused("its name is not a valid header name"))?;
    if OWN.contains(&name.as_str()) {
        return Err(refused("mcpkg sets this header itself"));
    }
    let text = match flag.style {
        Some(Style::Json) => value.to_string(),
        _ => elements(value).join(","),
    };
    if text.contains(['\r', '\n', '\0']) {
        return Err(refused("it contains a line break or NUL"));
    }
    let value = HeaderValue::from_bytes(text.as_bytes()).map_err(|_| refused("it contains control characters"))?;
    Ok((name, value))
}

/// Returns the body, and sets its content type in the headers.
fn body_of(
    spec: &CommandSpec,
    body: &Body,
    arguments: &Map<String, Value>,
    headers: &mut HeaderMap,
) -> Result<Vec<u8>> {
    let given: Vec<(&Flag, &Value)> = arguments_at(spec, arguments, Place::Body).collect();
    if given.is_empty() && (!body.required || body.whole) {
        return Ok(Vec::new());
    }
    let content_type = |media: &str| {
        HeaderValue::from_str(media)
            .map_err(|_| Error::new(Code::HttpRefused, format!("The body of '{}' has an invalid media type", spec.id)))
    };
    if Media::of(&body.content_type) == Media::Multipart {
        let parts: Vec<(&Flag, &str, &Value)> = given.iter().map(|(flag, value)| (*flag, key(flag), *value)).collect();
        let (bytes, media) = multipart::body(&parts, &body.content_type)?;
        headers.insert(CONTENT_TYPE, content_type(&media)?);
        return Ok(bytes);
    }
    headers.insert(CONTENT_TYPE, content_type(&body.content_type)?);
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
            .map_err(|error| invalid(format!("The argument '{}' is not valid base64: {error}", flag.name))),
        Some((flag, fields @ Value::Object(_))) if Media::of(&body.content_type) == Media::Form => {
            Ok(pairs(key(flag), fields, None).join("&").into_bytes())
        }
        Some((_, value)) => Ok(text(value).into_bytes()),
        None => {
            check_keys(spec, arguments, Place::Body)?;
            let pairs = |(flag, value): &(&Flag, &Value)| pairs(key(flag), value, style_of(flag, value, Place::Body));
            Ok(given.iter().flat_map(pairs).collect::<Vec<_>>().join("&").into_bytes())
        }
    }
}

fn invalid(message: String) -> Error {
    Error::new(Code::InvalidArgument, message)
}
