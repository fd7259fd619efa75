//! Reads JSON Schemas of OpenAPI documents: resolves their references, and merges `allOf`, `oneOf` and `anyOf`.

use serde_json::{Map, Value, json};

use super::forms::{self, Form};
use super::media::Media;
use super::multipart::BINARY;
use super::reference::{DEPTH, References};
use super::violation::{Fault, Rule};
use crate::passwords;

/// Maximum number of schemas that are read for one command's answer. Also limits the parts and the properties of one schema.
pub const MOST_NODES: usize = 2_000;

/// A summary of the values that a schema describes, including its `allOf`, `oneOf` and `anyOf`.
#[derive(Clone, Debug, Default)]
pub struct Shape<'d> {
    /// The type; `None` if the schema has no type or several types.
    pub kind: Option<&'d str>,
    pub nullable: bool,
    pub format: Option<&'d str>,
    /// The allowed values, if they are enumerated.
    pub values: Vec<&'d Value>,
    /// The alternatives, if there are several and at least one is not just a list of values.
    pub forms: Vec<Form<'d>>,
    pub default: Option<&'d Value>,
    pub description: Option<&'d str>,
    /// The properties of an object, in document order.
    pub properties: Vec<(&'d str, &'d Value)>,
    pub required: Vec<&'d str>,
    /// The schema of array elements.
    pub items: Option<&'d Value>,
    /// Whether the property is read-only, so that callers never send it.
    pub read_only: bool,
    /// The media type of the content of a string.
    pub content: Option<&'d str>,
    /// The tags from `x-mcpkg-tags`.
    pub tags: Vec<&'d str>,
    /// Number of schemas merged so far.
    parts: usize,
}

impl<'d> Shape<'d> {
    /// Resolves a schema.
    pub fn of(references: References<'d>, schema: &'d Value) -> Result<Self, Fault<'d>> {
        let mut shape = Self::default();
        let mut forms = shape.take(references, schema, true, 0)?;
        if let [only] = &mut forms[..] {
            shape.kind = only.kind;
            shape.values = std::mem::take(&mut only.values);
        } else if forms.iter().all(|form| !form.values.is_empty()) {
            shape.values = forms.into_iter().flat_map(|form| form.values).collect();
        } else {
            shape.forms = forms;
        }
        Ok(shape)
    }

    /// Returns the properties that a schema lists itself, without following references.
    pub fn named(schema: &'d Value) -> Self {
        let properties = schema["properties"].as_object().into_iter().flatten().take(MOST_NODES);
        let properties = properties.map(|(name, property)| (name.as_str(), property)).collect();
        Self { kind: Some("object"), properties, required: texts(&schema["required"]).collect(), ..Self::default() }
    }

    /// Returns whether the value is a file, that is, binary data.
    pub fn is_file(&self) -> bool {
        let is_bytes = self.content.is_some_and(|media| Media::of(media) == Media::Bytes);
        self.kind.is_none_or(|kind| kind == "string") && (self.format == Some(BINARY) || is_bytes)
    }

    /// Returns the type, or `any` if it is unknown.
    pub fn type_name(&self) -> &'d str {
        self.kind.unwrap_or("any")
    }

    /// Merges a schema, and returns the forms that it accepts. Its `required` counts only if `holds` is true, which means that
    /// the schema always applies. For example, one alternative of an `anyOf` does not always apply.
    fn take(
        &mut self,
        references: References<'d>,
        schema: &'d Value,
        holds: bool,
        depth: usize,
    ) -> Result<Vec<Form<'d>>, Fault<'d>> {
        if depth > DEPTH {
            let message = "a schema includes itself through `allOf`".to_owned();
            return Err(Fault { rule: Rule::RefCycle, message, at: schema });
        }
        self.parts += 1;
        if self.parts.max(self.properties.len()) > MOST_NODES {
            let message = format!("a schema has more than {MOST_NODES} parts or properties");
            return Err(Fault { rule: Rule::LimitExceeded, message, at: schema });
        }
        let target = references.follow(schema)?;
        if !std::ptr::eq(target, schema) {
            // OpenAPI 3.1 allows `description` and `default` next to `$ref`.
            self.description = self.description.or_else(|| schema["description"].as_str());
            self.default = self.default.or_else(|| schema.get("default"));
        }
        let schema = target;
        let keywords = Keywords::of(schema);
        self.description = self.description.or_else(|| keywords.description?.as_str());
        self.default = self.default.or(keywords.default);
        let is_hidden = keywords.is_hidden.then_some(passwords::FORMAT);
        self.format = self.format.or(is_hidden).or_else(|| keywords.format?.as_str());
        self.read_only |= keywords.is_read_only;
        self.content = self.content.or_else(|| keywords.content?.as_str());
        self.tags.extend(keywords.tags.into_iter().flat_map(texts));
        let (mut forms, nullable) = forms::own(schema);
        self.nullable |= nullable;
        self.items = self.items.or(keywords.items.filter(|items| items.is_object()));
        for (name, property) in
            keywords.properties.into_iter().flat_map(Value::as_object).flatten().take(MOST_NODES + 1)
        {
            if !self.properties.iter().any(|(known, _)| known == name) {
                self.properties.push((name, property));
            }
        }
        if holds {
            self.required.extend(keywords.required.into_iter().flat_map(texts));
        }
        for part in keywords.all_of.into_iter().flat_map(Value::as_array).flatten() {
            let part = self.take(references, part, holds, depth + 1)?;
            forms = forms::both(forms, part);
        }
        for composed in [keywords.one_of, keywords.any_of] {
            let mut either = Vec::new();
            for part in composed.into_iter().flat_map(Value::as_array).flatten() {
                either.extend(self.take(references, part, false, depth + 1)?);
            }
            forms = forms::both(forms, forms::merged(either));
        }
        Ok(forms::guessed(forms, schema))
    }
}

/// The keywords of a schema. One pass finds them all: a lookup of each would hash more than a dozen names for every schema.
#[derive(Default)]
struct Keywords<'d> {
    description: Option<&'d Value>,
    default: Option<&'d Value>,
    format: Option<&'d Value>,
    content: Option<&'d Value>,
    tags: Option<&'d Value>,
    properties: Option<&'d Value>,
    required: Option<&'d Value>,
    items: Option<&'d Value>,
    all_of: Option<&'d Value>,
    one_of: Option<&'d Value>,
    any_of: Option<&'d Value>,
    is_read_only: bool,
    /// Whether the value is write-only or a secret.
    is_hidden: bool,
}

impl<'d> Keywords<'d> {
    fn of(schema: &'d Value) -> Self {
        let mut keywords = Self::default();
        for (key, value) in schema.as_object().into_iter().flatten() {
            let keyword = match key.as_str() {
                "description" => &mut keywords.description,
                "default" => &mut keywords.default,
                "format" => &mut keywords.format,
                "contentMediaType" => &mut keywords.content,
                "x-mcpkg-tags" => &mut keywords.tags,
                "properties" => &mut keywords.properties,
                "required" => &mut keywords.required,
                "items" => &mut keywords.items,
                "allOf" => &mut keywords.all_of,
                "oneOf" => &mut keywords.one_of,
                "anyOf" => &mut keywords.any_of,
                "readOnly" => {
                    keywords.is_read_only = value == true;
                    continue;
                }
                "writeOnly" | "x-secret" => {
                    keywords.is_hidden |= value == true;
                    continue;
                }
                _ => continue,
            };
            *keyword = Some(value);
        }
        keywords
    }
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Returns a schema without references, descriptions and examples, and how many properties and items were cut because it
/// has more than [`MOST_NODES`] schemas. A recursive schema is cut where it repeats, which is not counted.
pub fn outline<'d>(references: References<'d>, schema: &'d Value) -> Result<(Map<String, Value>, usize), Fault<'d>> {
    let mut outline = Outline { references, left: MOST_NODES, cut: 0, within: Vec::new() };
    Ok((outline.of(schema)?, outline.cut))
}

struct Outline<'d> {
    references: References<'d>,
    left: usize,
    cut: usize,
    within: Vec<&'d Value>,
}

impl<'d> Outline<'d> {
    fn of(&mut self, schema: &'d Value) -> Result<Map<String, Value>, Fault<'d>> {
        let target = self.references.follow(schema)?;
        let shape = Shape::of(self.references, schema)?;
        // Documents contain tens of thousands of these maps, so allocate exactly what is needed.
        let said = [shape.kind.is_some(), shape.format.is_some(), !shape.values.is_empty(), !shape.tags.is_empty()];
        let inner = [!shape.properties.is_empty(), !shape.required.is_empty(), shape.items.is_some()];
        let mut made = Map::with_capacity(said.into_iter().chain(inner).filter(|is| *is).count());
        if let Some(kind) = shape.kind {
            made.insert("type".to_owned(), if shape.nullable { json!([kind, "null"]) } else { json!(kind) });
        }
        if let Some(format) = shape.format {
            made.insert("format".to_owned(), json!(format));
        }
        if !shape.values.is_empty() {
            made.insert("enum".to_owned(), json!(shape.values));
        }
        if !shape.tags.is_empty() {
            made.insert("x-mcpkg-tags".to_owned(), json!(shape.tags));
        }
        let ends = self.within.iter().any(|outer| std::ptr::eq(*outer, target)) || self.within.len() > DEPTH;
        let inside = shape.properties.len() + usize::from(shape.items.is_some());
        let cost = inside + shape.parts - 1;
        if !ends && self.left < cost {
            self.cut += inside;
        }
        if ends || inside == 0 || self.left < cost {
            return Ok(made);
        }
        self.left -= cost;
        self.within.push(target);
        if !shape.properties.is_empty() {
            let mut properties = Map::with_capacity(shape.properties.len());
            for (name, property) in &shape.properties {
                properties.insert((*name).to_owned(), Value::Object(self.of(property)?));
            }
            made.insert("properties".to_owned(), Value::Object(properties));
            let required: Vec<&str> =
                shape.required.into_iter().filter(|name| made["properties"].get(name).is_some()).collect();
            if !required.is_empty() {
                made.insert("required".to_owned(), json!(required));
            }
        }
        if let Some(items) = shape.items {
            let items = self.of(items)?;
            made.insert("items".to_owned(), Value::Object(items));
        }
        self.within.pop();
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outlined(root: &Value) -> Value {
        Value::Object(outline(References::new(root), &root["s"]).expect("an outline").0)
    }

    #[test]
    fn a_schema_is_put_together_of_its_parts() {
        let root = json!({
            "s": { "allOf": [{ "$ref": "#/base" }, { "properties": { "name": { "type": ["string", "null"] } } }],
                   "oneOf": [{ "required": ["kind"], "properties": { "kind": { "const": "a" } } }] },
            "base": { "type": "object", "required": ["id"], "properties": { "id": { "type": "string", "format": "uuid", "description": "x" } } },
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "id": { "type": "string", "format": "uuid" },
                "name": { "type": ["string", "null"] },
                "kind": { "type": "string", "enum": ["a"] },
            },
            "required": ["id"],
        });
        // The schema's own properties come first, then those of `allOf`, then those of `oneOf`.
        assert_eq!(outlined(&root), expected);
    }

    #[test]
    fn a_type_is_derived_from_the_schema() {
        let kind =
            |schema: Value| Shape::of(References::new(&schema), &schema).expect("a shape").type_name().to_owned();
        for (schema, expected) in [
            (json!({ "type": ["null", "integer"] }), "integer"),
            (json!({ "type": ["string", "integer"] }), "any"),
            (json!({ "anyOf": [{ "type": "integer" }, { "type": "number" }] }), "number"),
            (json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }), "string"),
            (json!({ "enum": ["a", null] }), "string"),
            (json!({ "properties": { "a": {} } }), "object"),
            (json!({ "items": {} }), "array"),
            (json!(true), "any"),
            (json!({}), "any"),
        ] {
            assert_eq!(kind(schema.clone()), expected, "{schema}");
        }
    }

    #[test]
    fn a_schema_within_itself_ends() {
        let root = json!({ "s": { "type": "object", "properties": { "next": { "$ref": "#/s" }, "of": { "type": "array", "items": { "$ref": "#/s" } } } } });
        let expected = json!({ "type": "object", "properties": { "next": { "type": "object" }, "of": { "type": "array", "items": { "type": "object" } } } });
        assert_eq!(outlined(&root), expected);
        let root = json!({ "s": { "allOf": [{ "$ref": "#/s" }] } });
        assert_eq!(Shape::of(References::new(&root), &root["s"]).expect_err("a cycle").rule, Rule::RefCycle);
    }

    #[test]
    fn a_schema_with_exponentially_many_branches_is_cut() {
        let level = |n: usize| {
            let next: Map<String, Value> =
                (0..20).map(|k| (format!("p{k}"), json!({ "$ref": format!("#/l{}", n + 1) }))).collect();
            (format!("l{n}"), json!({ "type": "object", "properties": next }))
        };
        let mut root: Map<String, Value> = (0..30).map(level).collect();
        root.insert("l30".to_owned(), json!({ "type": "string" }));
        root.insert("s".to_owned(), json!({ "$ref": "#/l0" }));
        let text = outlined(&Value::Object(root)).to_string();
        assert!(text.matches("\"type\"").count() <= MOST_NODES + 1 && text.len() < 200_000);
    }
}
