//! Converts Swagger 2.0 documents to OpenAPI 3.0 when they are read.
//!
//! Schemas stay in place, because references may point to any part of a document. The rest is rewritten: Swagger defines bodies
//! and form fields as parameters, and servers and media types once for the whole document.

use serde_json::{Map, Value, json};

use super::media::{Media, is_json};
use super::reference::References;

pub(super) const METHODS: [&str; 9] = ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];

/// The media type of forms with files.
const PARTS: &str = "multipart/form-data";

/// Keys that are part of a parameter in Swagger, and of the parameter's schema in OpenAPI 3.
const OF_SCHEMA: [&str; 9] =
    ["type", "format", "items", "enum", "default", "x-nullable", "x-mcpkg-tags", "x-secret", "writeOnly"];

pub fn converted(root: &Value) -> Value {
    let references = References::new(root);
    let mut made = root.as_object().cloned().unwrap_or_default();
    made.shift_remove("swagger");
    made.insert("openapi".to_owned(), json!("3.0.3"));
    made.insert("servers".to_owned(), servers(root));
    if let Some(schemes) = root["securityDefinitions"].as_object() {
        let scheme = |value: &Value| match value["type"].as_str() {
            Some("basic") => json!({ "type": "http", "scheme": "basic" }),
            _ => value.clone(),
        };
        let schemes: Map<String, Value> = schemes.iter().map(|(name, value)| (name.clone(), scheme(value))).collect();
        made.insert("components".to_owned(), json!({ "securitySchemes": schemes }));
    }
    if let Some(paths) = root["paths"].as_object() {
        let paths: Map<String, Value> =
            paths.iter().map(|(path, value)| (path.clone(), item(references, root, value))).collect();
        made.insert("paths".to_owned(), Value::Object(paths));
    }
    Value::Object(made)
}

/// Returns the servers, `https` first. Without a host, the API is served where the document came from.
fn servers(root: &Value) -> Value {
    let base = root["basePath"].as_str().unwrap_or("/");
    let Some(host) = root["host"].as_str().filter(|host| !host.is_empty()) else { return json!([{ "url": base }]) };
    let mut schemes: Vec<&str> = texts(&root["schemes"]).filter(|scheme| ["https", "http"].contains(scheme)).collect();
    schemes.sort_by_key(|scheme| *scheme != "https");
    if schemes.is_empty() {
        schemes.push("https");
    }
    schemes.into_iter().map(|scheme| json!({ "url": format!("{scheme}://{host}{base}") })).collect()
}

fn item(references: References<'_>, root: &Value, value: &Value) -> Value {
    // A broken reference stays unchanged, and is reported when the operations are read.
    let Some(fields) = references.follow(value).ok().and_then(Value::as_object) else { return value.clone() };
    let shared = fields.get("parameters").unwrap_or(&Value::Null);
    let mut made = Map::new();
    for (key, value) in fields.iter().filter(|(key, _)| *key != "parameters") {
        let of = references.follow(value).ok().filter(|of| METHODS.contains(&key.as_str()) && of.is_object());
        made.insert(key.clone(), of.map_or_else(|| value.clone(), |of| operation(references, root, of, shared)));
    }
    Value::Object(made)
}

fn operation(references: References<'_>, root: &Value, value: &Value, shared: &Value) -> Value {
    let mut made = value.as_object().cloned().unwrap_or_default();
    let own: Vec<&Value> = list(references, &value["parameters"]);
    let place = |parameter: &Value| (parameter["name"].clone(), parameter["in"].clone());
    let shared = list(references, shared).into_iter();
    let shared = shared.filter(|shared| shared["name"].is_null() || own.iter().all(|own| place(own) != place(shared)));
    let all: Vec<&Value> = own.iter().copied().chain(shared).collect();
    let media = |key: &str| -> Vec<&str> {
        let own: Vec<&str> = texts(&value[key]).collect();
        if own.is_empty() { texts(&root[key]).collect() } else { own }
    };
    let (of_form, others): (Vec<&Value>, Vec<&Value>) = all.into_iter().partition(|one| one["in"] == "formData");
    let (of_body, others): (Vec<&Value>, Vec<&Value>) = others.into_iter().partition(|one| one["in"] == "body");
    made.insert("parameters".to_owned(), others.into_iter().map(parameter).collect());
    let consumes = media("consumes");
    if let Some(body) = of_body.first() {
        let consumes = if consumes.is_empty() { vec!["application/json"] } else { consumes };
        let content = consumes.into_iter().map(|media| (media.to_owned(), json!({ "schema": body["schema"] })));
        let content: Map<String, Value> = content.collect();
        made.insert("requestBody".to_owned(), json!({ "required": body["required"], "content": content }));
    } else if !of_form.is_empty() {
        made.insert("requestBody".to_owned(), form(&of_form, &consumes));
    }
    if let Some(responses) = value["responses"].as_object() {
        let produces = media("produces");
        // Swagger's default media type is JSON.
        let json = produces.iter().find(|media| is_json(media)).or(produces.first()).unwrap_or(&"application/json");
        let one = |(status, value): (&String, &Value)| (status.clone(), response(references, value, json));
        made.insert("responses".to_owned(), Value::Object(responses.iter().map(one).collect()));
    }
    Value::Object(made)
}

/// Resolves the references in a list of parameters. A broken reference stays unchanged, and is reported later.
fn list<'d>(references: References<'d>, list: &'d Value) -> Vec<&'d Value> {
    list.as_array().into_iter().flatten().map(|one| references.follow(one).unwrap_or(one)).collect()
}

fn parameter(value: &Value) -> Value {
    let Some(fields) = value.as_object().filter(|fields| !fields.contains_key("$ref")) else { return value.clone() };
    let (of_schema, mut made): (Map<String, Value>, Map<String, Value>) =
        fields.clone().into_iter().partition(|(key, _)| OF_SCHEMA.contains(&key.as_str()));
    let is_list = of_schema.get("type").is_some_and(|kind| kind == "array");
    made.insert("schema".to_owned(), Value::Object(of_schema));
    let style = if value["in"] == "query" { styled(value) } else { json!({ "style": unlisted(value) }) };
    for (key, value) in style.as_object().into_iter().flatten().filter(|_| is_list) {
        made.insert(key.clone(), value.clone());
    }
    Value::Object(made)
}

/// Converts the `collectionFormat` of a list in a query or a form.
fn styled(value: &Value) -> Value {
    match value["collectionFormat"].as_str() {
        Some("multi") => json!({ "style": "form", "explode": true }),
        Some("ssv") => json!({ "style": "spaceDelimited", "explode": false }),
        Some("pipes") => json!({ "style": "pipeDelimited", "explode": false }),
        None | Some("csv") => json!({ "style": "form", "explode": false }),
        Some(other) => json!({ "style": other, "explode": false }),
    }
}

/// Converts the `collectionFormat` of a list in a path or a header. An unsupported format becomes a style that is refused
/// later.
fn unlisted(value: &Value) -> &str {
    value["collectionFormat"].as_str().filter(|format| *format != "csv").unwrap_or("simple")
}

/// Returns the request body for the fields of a form.
fn form(fields: &[&Value], consumes: &[&str]) -> Value {
    let (mut properties, mut encoding, mut required) = (Map::new(), Map::new(), Vec::new());
    let has_files = fields.iter().any(|field| field["type"] == "file");
    for field in fields {
        let name = field["name"].as_str().unwrap_or_default().to_owned();
        let mut schema = parameter(field)["schema"].clone();
        if field["type"] == "file" {
            schema = json!({ "type": "string", "format": "binary" });
        }
        schema["description"] = field["description"].clone();
        if field["type"] == "array" {
            encoding.insert(name.clone(), styled(field));
        }
        if field["required"] == true {
            required.push(name.clone());
        }
        properties.insert(name, schema);
    }
    let in_parts =
        has_files || consumes.iter().all(|media| Media::of(media) == Media::Multipart) && !consumes.is_empty();
    let media = if in_parts { PARTS } else { "application/x-www-form-urlencoded" };
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    json!({ "required": !required.is_empty(), "content": { media: { "schema": schema, "encoding": encoding } } })
}

fn response(references: References<'_>, value: &Value, media: &str) -> Value {
    let Ok(of) = references.follow(value) else { return value.clone() };
    match of.get("schema") {
        Some(schema) => json!({ "description": of["description"], "content": { media: { "schema": schema } } }),
        None => json!({ "description": of["description"] }),
    }
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_server_is_the_safe_one() {
        let url = |root: Value| servers(&root)[0]["url"].clone();
        assert_eq!(
            url(json!({ "host": "a.example", "basePath": "/v1", "schemes": ["http", "https"] })),
            "https://a.example/v1"
        );
        assert_eq!(url(json!({ "host": "a.example" })), "https://a.example/");
        assert_eq!(url(json!({ "basePath": "/v1" })), "/v1");
    }
}
