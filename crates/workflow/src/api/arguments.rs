//! Derives the arguments of a command from the parameters and the request body of an OpenAPI operation.

use serde_json::Value;

use super::naming;
use super::reference::References;
use super::schema::Shape;
use super::violation::{Fault, Rule};
use crate::passwords::{FORMAT, Places, of_schema};
use crate::spec::{Body, Flag, Form, Place, Positional, Style};

/// Maximum length of a description, in characters.
pub const LONGEST: usize = 1_000;

/// Header parameters that are ignored, because OpenAPI says so.
const NO_PARAMETERS: [&str; 3] = ["accept", "content-type", "authorization"];

/// The header that lets a server recognize a repeated request.
pub const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// The arguments of one command.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    pub positionals: Vec<Positional>,
    pub flags: Vec<Flag>,
    pub body: Option<Body>,
    /// The path. Its placeholders have the names of the arguments.
    pub path: String,
    /// The reason why mcpkg cannot build a request for this operation; `None` if it can.
    pub why_not: Option<String>,
}

#[derive(Clone, Copy)]
struct Parameter<'d> {
    name: &'d str,
    place: &'d str,
    value: &'d Value,
}

pub fn of<'d>(
    references: References<'d>,
    path: &str,
    item: &'d Value,
    operation: &'d Value,
) -> Result<Arguments, Fault<'d>> {
    let mut parameters = parameters(references, &operation["parameters"])?;
    for shared in self::parameters(references, &item["parameters"])? {
        if !parameters.iter().any(|own| (own.name, own.place) == (shared.name, shared.place)) {
            parameters.push(shared);
        }
    }
    let mut made = Arguments { path: path.to_owned(), ..Arguments::default() };
    for (name, argument) in naming::placeholders(path) {
        let declared = parameters.iter().find(|parameter| parameter.place == "path" && parameter.name == name);
        let Some(declared) = declared else {
            let message = format!("the path placeholder `{{{name}}}` has no matching path parameter");
            return Err(Fault { rule: Rule::PathParameterUndeclared, message, at: operation });
        };
        made.place_in_path(references, *declared, argument)?;
    }
    for parameter in parameters.iter().filter(|parameter| parameter.place != "path") {
        made.parameter(references, *parameter)?;
    }
    if let Some(body) = operation.get("requestBody") {
        made.take_body(references, references.follow(body)?)?;
    }
    made.tell_apart();
    Ok(made)
}

fn parameters<'d>(references: References<'d>, list: &'d Value) -> Result<Vec<Parameter<'d>>, Fault<'d>> {
    let mut found: Vec<Parameter<'d>> = Vec::new();
    for entry in references.follow(list)?.as_array().into_iter().flatten() {
        let value = references.follow(entry)?;
        let (Some(name), Some(place)) = (value["name"].as_str(), value["in"].as_str()) else { continue };
        if found.iter().any(|known| (known.name, known.place) == (name, place)) {
            let message = format!("the parameter `{name}` in {place} is defined twice");
            return Err(Fault { rule: Rule::DuplicateParameter, message, at: entry });
        }
        found.push(Parameter { name, place, value });
    }
    Ok(found)
}

impl Arguments {
    fn place_in_path<'d>(
        &mut self,
        references: References<'d>,
        parameter: Parameter<'d>,
        argument: String,
    ) -> Result<(), Fault<'d>> {
        let style = parameter.value["style"].as_str().unwrap_or("simple");
        if style != "simple" {
            self.cannot(format!("`{}` uses the unsupported style {style}", parameter.name));
        }
        let (shape, _) = shape_of(references, parameter.value)?;
        self.path = self.path.replace(&format!("{{{}}}", parameter.name), &format!("{{{argument}}}"));
        self.positionals.push(Positional {
            name: argument,
            r#type: shape.type_name().to_owned(),
            passwords: passwords_of(references, parameter.value).pointers(),
            help: described(parameter.value, &shape),
            provider: None,
            accepts: Vec::new(),
            prefer: None,
        });
        Ok(())
    }

    fn parameter<'d>(&mut self, references: References<'d>, parameter: Parameter<'d>) -> Result<(), Fault<'d>> {
        let Parameter { name, place, value } = parameter;
        let place = match place {
            "query" => Place::Query,
            "header" if NO_PARAMETERS.contains(&name.to_ascii_lowercase().as_str()) => return Ok(()),
            "header" => Place::Header,
            other => {
                self.cannot(format!("`{name}` is sent in a {other}, which is not supported"));
                return Ok(());
            }
        };
        let (shape, is_content) = shape_of(references, value)?;
        let style = match is_content {
            true => Some(Style::Json),
            false => self.style(parameter, place),
        };
        let is_key = place == Place::Header && name.eq_ignore_ascii_case(IDEMPOTENCY_KEY);
        let required = value["required"] == true && !is_key;
        let mut flag = flag(name, &shape, place, required);
        flag.description = described(value, &shape);
        flag.style = style;
        self.flags.push(marked(flag, &passwords_of(references, value)));
        Ok(())
    }

    /// Returns the serialization style of a parameter. `None` is the default style for its place: the query or a header.
    fn style(&mut self, parameter: Parameter<'_>, place: Place) -> Option<Style> {
        let value = parameter.value;
        let name = value["style"].as_str().unwrap_or(if place == Place::Query { "form" } else { "simple" });
        let style = match (place, name) {
            (Place::Header, "simple") => Some(None),
            (Place::Query, _) => query_style(name, value["explode"].as_bool()),
            _ => None,
        };
        style.unwrap_or_else(|| {
            self.cannot(format!("`{}` uses the unsupported style {name}", parameter.name));
            None
        })
    }

    pub(super) fn cannot(&mut self, why: String) {
        self.why_not.get_or_insert(why);
    }

    /// Renames arguments that share a name but go to different places, such as `id` in the path and `id` in the query.
    fn tell_apart(&mut self) {
        let in_path: Vec<String> = self.positionals.iter().map(|positional| positional.name.clone()).collect();
        let names: Vec<String> = self.flags.iter().map(|flag| flag.name.clone()).collect();
        let is_taken =
            |name: &String| in_path.contains(name) || names.iter().filter(|other| *other == name).count() > 1;
        let mut used = in_path.clone();
        used.extend(names.iter().filter(|name| !is_taken(name)).cloned());
        for flag in &mut self.flags {
            if !is_taken(&flag.name) {
                continue;
            }
            let place = match flag.r#in {
                Some(Place::Query) => "_query",
                Some(Place::Header) => "_header",
                Some(Place::Body) | None => "_body",
            };
            let key = flag.name.clone();
            let mut name = format!("{key}{place}");
            while used.contains(&name) {
                name.push_str(place);
            }
            used.push(name.clone());
            let needs = self.body.iter_mut().flat_map(|body| &mut body.needs);
            if place == "_body" {
                needs.filter(|need| **need == key).for_each(|need| need.clone_from(&name));
            }
            (flag.name, flag.key) = (name, Some(key));
        }
    }
}

/// Returns the shape of a parameter's schema, and whether its value is sent as JSON.
fn shape_of<'d>(references: References<'d>, parameter: &'d Value) -> Result<(Shape<'d>, bool), Fault<'d>> {
    if let Some(schema) = parameter.get("schema") {
        return Ok((Shape::of(references, schema)?, false));
    }
    let media = parameter["content"].as_object().and_then(|content| content.values().next());
    let shape = media.and_then(|media| media.get("schema")).map(|schema| Shape::of(references, schema));
    Ok((shape.transpose()?.unwrap_or_default(), media.is_some()))
}

/// Returns the places of passwords in a parameter: those that its schema marks, or the whole parameter if it is marked as secret.
fn passwords_of<'d>(references: References<'d>, parameter: &'d Value) -> Places {
    let media = || parameter["content"].as_object()?.values().next()?.get("schema");
    let mut places =
        parameter.get("schema").or_else(media).map(|schema| of_schema(references, schema)).unwrap_or_default();
    if parameter["x-secret"] == true || parameter["writeOnly"] == true {
        places.add(Places::whole());
    }
    places
}

/// Stores the places of passwords in a flag: one pointer for each, or an empty pointer if the whole value is a password. A flag
/// that already has the format `password` gets none.
pub(crate) fn marked(flag: Flag, places: &Places) -> Flag {
    let passwords = match flag.format.as_deref() {
        Some(FORMAT) => Vec::new(),
        _ if places.is_whole() => vec![String::new()],
        _ => places.pointers(),
    };
    Flag { passwords, ..flag }
}

/// Returns the serialization style of a query argument: `Some(None)` for the default style, `None` for an unknown style name.
pub(super) fn query_style(style: &str, explode: Option<bool>) -> Option<Option<Style>> {
    let explodes = explode.unwrap_or(style == "form");
    Some(match style {
        "form" => (!explodes).then_some(Style::Comma),
        // An exploded array is sent as one pair for each element, so the separator does not matter.
        "spaceDelimited" | "pipeDelimited" if explodes => None,
        "spaceDelimited" => Some(Style::Space),
        "pipeDelimited" => Some(Style::Pipe),
        "deepObject" => Some(Style::Deep),
        _ => return None,
    })
}

/// Returns a flag for a schema. Its default is the `default` of the schema, never the first enum value.
pub(super) fn flag(name: &str, shape: &Shape<'_>, place: Place, required: bool) -> Flag {
    let items = shape.items.and_then(|items| match &items["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        kind => kind.as_str(),
    });
    Flag {
        name: name.to_owned(),
        r#type: shape.type_name().to_owned(),
        key: None,
        style: None,
        media: None,
        r#in: Some(place),
        required,
        nullable: shape.nullable,
        r#enum: shape.values.iter().map(|value| (*value).clone()).collect(),
        any_of: shape.forms.iter().map(Form::of).collect(),
        default: shape.default.filter(|default| !default.is_null()).cloned(),
        format: shape.format.map(str::to_owned),
        passwords: Vec::new(),
        items: items.map(str::to_owned),
        description: shape.description.map(short),
        provider: None,
        accepts: Vec::new(),
        prefer: None,
    }
}

/// Returns the description of a parameter, or else the one of its schema.
fn described(parameter: &Value, shape: &Shape<'_>) -> Option<String> {
    parameter["description"].as_str().or(shape.description).map(short)
}

/// Truncates a description to [`LONGEST`] characters.
pub fn short(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn made(path: &str, operation: &Value) -> Arguments {
        of(References::new(operation), path, &Value::Null, operation).expect("arguments")
    }

    fn query(name: &str, more: Value) -> Value {
        let mut parameter =
            json!({ "name": name, "in": "query", "schema": { "type": "array", "items": { "type": "string" } } });
        for (key, value) in more.as_object().into_iter().flatten() {
            parameter[key] = value.clone();
        }
        parameter
    }

    #[test]
    fn x13_a_default_is_the_schemas_own_and_never_the_first_value() {
        let operation = json!({ "parameters": [
            { "name": "a", "in": "query", "schema": { "type": "string", "enum": ["x", "y"] }, "example": "y" },
            { "name": "b", "in": "query", "schema": { "type": "string", "enum": ["x", "y"], "default": "y" } },
        ] });
        let defaults: Vec<_> = made("/", &operation).flags.into_iter().map(|flag| flag.default).collect();
        assert_eq!(defaults, [None, Some(json!("y"))]);
    }

    #[test]
    fn x14_header_parameters_are_kept() {
        let header =
            |name: &str| json!({ "name": name, "in": "header", "required": true, "schema": { "type": "string" } });
        let all = json!({ "parameters": (["X-Trace", "Authorization", "idempotency-key"].map(header)) });
        let flags: Vec<_> =
            made("/", &all).flags.into_iter().map(|flag| (flag.name, flag.r#in, flag.required)).collect();
        let expected = [("X-Trace", true), ("idempotency-key", false)];
        assert_eq!(flags, expected.map(|(name, required)| (name.to_owned(), Some(Place::Header), required)));
    }

    #[test]
    fn only_unusual_styles_are_recorded() {
        let style = |more: Value| {
            let operation = json!({ "parameters": [query("a", more)] });
            let made = made("/", &operation);
            (made.flags[0].style, made.why_not.is_some())
        };
        for (more, expected) in [
            (json!({}), (None, false)),
            (json!({ "explode": false }), (Some(Style::Comma), false)),
            (json!({ "style": "spaceDelimited" }), (Some(Style::Space), false)),
            (json!({ "style": "spaceDelimited", "explode": true }), (None, false)),
            (json!({ "style": "pipeDelimited", "explode": false }), (Some(Style::Pipe), false)),
            (json!({ "style": "deepObject", "explode": true }), (Some(Style::Deep), false)),
            (json!({ "style": "matrix" }), (None, true)),
        ] {
            assert_eq!(style(more.clone()), expected, "{more}");
        }
        let json = json!({ "parameters": [{ "name": "f", "in": "query", "content": { "application/json": { "schema": { "type": "object" } } } }] });
        assert_eq!(made("/", &json).flags[0].style, Some(Style::Json));
    }

    #[test]
    fn unsupported_parameters_and_bodies_are_reported() {
        let parameter = |place: &str, style: &str| json!({ "parameters": [{ "name": "p", "in": place, "style": style, "schema": {} }] });
        for (path, operation, why) in [
            ("/", parameter("cookie", "form"), "`p` is sent in a cookie, which is not supported"),
            ("/{p}", parameter("path", "label"), "`p` uses the unsupported style label"),
            ("/{p}", parameter("path", "matrix"), "`p` uses the unsupported style matrix"),
            (
                "/",
                json!({ "requestBody": { "content": { "multipart/mixed": {} } } }),
                "its body has the unsupported type multipart/mixed",
            ),
            (
                "/",
                json!({ "requestBody": { "content": { "multipart/form-data": {} } } }),
                "its body is a multipart form with unnamed parts",
            ),
        ] {
            assert_eq!(made(path, &operation).why_not.as_deref(), Some(why));
        }
    }

    #[test]
    fn arguments_with_the_same_name_get_a_suffix() {
        let operation = json!({
            "parameters": [
                { "name": "app", "in": "path", "required": true, "schema": { "type": "string" } },
                { "name": "x", "in": "query", "schema": {} },
                { "name": "only", "in": "query", "schema": {} },
            ],
            "requestBody": { "required": true, "content": { "application/json": { "schema": {
                "required": ["x"], "properties": { "app": {}, "x": { "type": "string" }, "id": { "readOnly": true } },
            } } } },
        });
        let made = made("/apps/{app}", &operation);
        let flags: Vec<_> =
            made.flags.iter().map(|flag| (flag.name.as_str(), flag.key.as_deref(), flag.required)).collect();
        let expected = [
            ("x_query", Some("x"), false),
            ("only", None, false),
            ("app_body", Some("app"), false),
            ("x_body", Some("x"), true),
        ];
        assert_eq!(flags, expected);
    }

    #[test]
    fn a_body_is_its_keys_or_one_argument() {
        let body = |content: Value| made("/", &json!({ "requestBody": { "content": content } }));
        for (content, media, whole, flags) in [
            (
                json!({ "text/plain": {}, "application/json": { "schema": { "properties": { "a": {} } } } }),
                "application/json",
                false,
                vec![("a", "any")],
            ),
            (
                json!({ "application/vnd.x+json": { "schema": { "type": "array" } } }),
                "application/vnd.x+json",
                true,
                vec![("body", "array")],
            ),
            (
                json!({ "application/x-www-form-urlencoded": { "schema": { "properties": { "a": { "type": "string" } } } } }),
                "application/x-www-form-urlencoded",
                false,
                vec![("a", "string")],
            ),
            (json!({ "text/*": {} }), "text/plain", true, vec![("body", "string")]),
            (json!({ "image/png": {} }), "image/png", true, vec![("body", "string")]),
        ] {
            let made = body(content);
            let found: Vec<_> = made.flags.iter().map(|flag| (flag.name.as_str(), flag.r#type.as_str())).collect();
            assert_eq!(found, flags);
            assert_eq!(
                made.body,
                Some(Body { content_type: media.to_owned(), whole, required: false, needs: Vec::new() })
            );
        }
    }

    #[test]
    fn rules_of_parameters_are_kept() {
        let twice = json!({ "parameters": [query("a", json!({})), query("a", json!({}))] });
        let fault = of(References::new(&twice), "/", &Value::Null, &twice).expect_err("a fault");
        assert_eq!(fault.rule, Rule::DuplicateParameter);
        let none = json!({});
        let fault = of(References::new(&none), "/a/{b}", &Value::Null, &none).expect_err("a fault");
        assert_eq!(
            (fault.rule, fault.message.as_str()),
            (Rule::PathParameterUndeclared, "the path placeholder `{b}` has no matching path parameter")
        );
        // Parameters of the operation override those of the path.
        let item =
            json!({ "parameters": [query("a", json!({ "description": "of the path" })), query("b", json!({}))] });
        let own = json!({ "parameters": [query("a", json!({ "description": "own" }))] });
        let made = of(References::new(&own), "/", &item, &own).expect("arguments");
        let found: Vec<_> = made.flags.iter().map(|flag| (flag.name.as_str(), flag.description.as_deref())).collect();
        assert_eq!(found, [("a", Some("own")), ("b", None)]);
    }
}
