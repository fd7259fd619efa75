//! Checks the shape of a text against the schema: types, known keys and required keys.

use serde_json::{Map, Value, json};

use super::book::Book;
use super::fixes::meant;
use crate::argument::kind_of;
use crate::finding::Kind;
use crate::yaml::places::below;
use mcpkg_base::error::nearest;

/// Keys of other workflow languages, each with the key to use here.
const RESERVED: [(&str, &str); 5] =
    [("condition", "if"), ("flags", "with"), ("positional_args", "with"), ("hints", "hint"), ("examples", "example")];

/// Keys that are accepted as synonyms.
const ALIASES: [(&str, &str); 1] = [("when", "if")];

/// Checks a value against the schema. Invalid parts are reported, and then removed or emptied so that the other checks can
/// continue.
pub(super) fn check(book: &mut Book<'_>, schema: &Value, value: &mut Value) {
    let mut shape = Shape { book, pointer: String::new() };
    if !shape.fits(schema, value) {
        *value = blank(schema);
    }
}

struct Shape<'b, 'a> {
    book: &'b mut Book<'a>,
    pointer: String,
}

impl Shape<'_, '_> {
    /// Checks a value. Returns false if the caller must remove or blank it.
    fn fits(&mut self, schema: &Value, value: &mut Value) -> bool {
        if let Some(options) = schema.get("anyOf").and_then(Value::as_array) {
            return match options.iter().find(|option| is_of_type(option, value)) {
                Some(option) => self.fits(option, value),
                None => self.wrong(&types(schema).join(" or "), value),
            };
        }
        if !is_of_type(schema, value) {
            return self.wrong(&types(schema).join(" or "), value);
        }
        let words = words(schema);
        if let Some(text) = value.as_str().filter(|text| !words.is_empty() && !words.contains(text)) {
            let near = nearest(text, words.iter().copied());
            let fix = meant(text, words.iter().copied());
            let fix = fix.and_then(|word| self.book.fix_value(&self.pointer, &word.into()));
            let found =
                self.book.at(Kind::WrongType, &self.pointer, format!("`{text}` is not one of {}", words.join(", ")));
            found.fix = fix;
            found.hint = near.map(|near| format!("did you mean `{near}`?"));
            return false;
        }
        match value {
            Value::Object(fields) => self.object(schema, fields),
            Value::Array(values) => {
                if let Some(items) = schema.get("items") {
                    for (index, value) in values.iter_mut().enumerate() {
                        if !self.below(&index.to_string(), |shape| shape.fits(items, value)) {
                            *value = blank(items);
                        }
                    }
                }
            }
            _ => {}
        }
        true
    }

    fn below<T>(&mut self, key: &str, f: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.pointer.len();
        self.pointer = below(&self.pointer, key);
        let result = f(self);
        self.pointer.truncate(length);
        result
    }

    fn wrong(&mut self, wanted: &str, value: &Value) -> bool {
        let name = self.pointer.rsplit('/').next().unwrap_or_default();
        let what = match name.is_empty() {
            true => "a workflow".to_owned(),
            false => format!("`{name}`"),
        };
        let is = a(kind_of(value));
        let found = self.book.at(Kind::WrongType, &self.pointer, format!("{what} must be {}, but is {is}", a(wanted)));
        if wanted.starts_with("string") && matches!(value, Value::Number(_) | Value::Bool(_)) {
            let span = found.span;
            found.hint("put the value in quotes").fix(span, json!(value.to_string()).to_string());
        }
        false
    }

    fn object(&mut self, schema: &Value, fields: &mut Map<String, Value>) {
        let others = schema.get("additionalProperties");
        let Some(known) = schema.get("properties").and_then(Value::as_object) else {
            if let Some(others) = others {
                let keys: Vec<String> = fields.keys().cloned().collect();
                for key in keys {
                    let value = &mut fields[&key];
                    if !self.below(&key, |shape| shape.fits(others, value)) {
                        *value = blank(others);
                    }
                }
            }
            return;
        };
        let required: Vec<&str> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let given = std::mem::take(fields);
        for (key, mut value) in given {
            let name = ALIASES.iter().find(|(alias, _)| *alias == key).map_or(&*key, |(_, name)| name);
            let Some(field) = known.get(name) else {
                self.below(&key, |shape| shape.unknown(&key, known, fields));
                continue;
            };
            if fields.contains_key(name) {
                let message = format!("`{key}` and `{name}` are the same field; only one of them is used");
                self.below(&key, |shape| {
                    shape.book.at_key(Kind::DuplicateKey, &shape.pointer, message);
                });
                continue;
            }
            // A null field counts as absent.
            if value.is_null() && !required.contains(&name) {
                continue;
            }
            let stays = self.below(&key, |shape| match name == "default" && is_default(field) && !value.is_object() {
                true => shape.default(&mut value),
                false => shape.fits(field, &mut value),
            });
            match (stays, required.contains(&name)) {
                (true, _) => drop(fields.insert(name.to_owned(), value)),
                (false, true) => drop(fields.insert(name.to_owned(), blank(field))),
                (false, false) => {}
            }
        }
        for name in required {
            if !fields.contains_key(name) {
                let message = format!("`{name}` is missing");
                let pointer = below(&self.pointer, name);
                self.book.at(Kind::MissingField, &pointer, message);
                fields.insert(name.to_owned(), known.get(name).map_or(Value::Null, blank));
            }
        }
    }

    fn unknown(&mut self, key: &str, known: &Map<String, Value>, fields: &Map<String, Value>) {
        let reserved = RESERVED.iter().find(|(word, name)| *word == key && known.contains_key(*name));
        if let Some((_, name)) = reserved {
            let message = format!("`{key}` has no meaning here; use `{name}`");
            let is_free = !fields.contains_key(*name) && !self.has_beside(name);
            let found = self.book.at_key(Kind::ReservedKey, &self.pointer, message);
            found.hint(format!("write `{name}`"));
            // Only `condition` can be renamed safely. The other keys need a different value too.
            if key == "condition" && is_free {
                let span = found.span;
                found.fix(span, *name);
            }
            return;
        }
        let near = nearest(key, known.keys().map(String::as_str));
        let fix = meant(key, known.keys().map(String::as_str));
        let fix = fix.filter(|name| !fields.contains_key(*name) && !self.has_beside(name));
        let fix = fix.and_then(|name| self.book.fix_key(&self.pointer, name));
        let found = self.book.at_key(Kind::UnknownKey, &self.pointer, format!("unknown field `{key}`; it is ignored"));
        found.fix = fix;
        found.hint = near.map(|near| format!("did you mean `{near}`?"));
    }

    /// Returns whether the parent mapping of the current value also has this key.
    fn has_beside(&self, key: &str) -> bool {
        let above = self.pointer.rsplit_once('/').map_or("", |(above, _)| above);
        self.book.has(&below(above, key))
    }

    /// Reports a default that is a bare value instead of a mapping, with a fix.
    fn default(&mut self, value: &mut Value) -> bool {
        let message = "`default` must be a mapping with `from` and `value`";
        let mended = format!("{{from: literal, value: {value}}}");
        let found = self.book.at(Kind::DefaultShape, &self.pointer, message);
        found.hint(format!("write {mended}"));
        if found.span.line == found.span.end_line {
            let span = found.span;
            found.fix(span, mended);
        }
        *value = json!({ "from": "literal", "value": value });
        true
    }
}

fn is_default(schema: &Value) -> bool {
    let is = |schema: &Value| schema.pointer("/properties/from").is_some();
    is(schema) || schema.get("anyOf").and_then(Value::as_array).is_some_and(|options| options.iter().any(is))
}

/// Returns the names of the types that a schema accepts.
fn types(schema: &Value) -> Vec<&str> {
    if let Some(options) = schema.get("anyOf").and_then(Value::as_array) {
        return options.iter().flat_map(types).collect();
    }
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect(),
        // A schema without `type` that lists its allowed words accepts strings.
        _ if !words(schema).is_empty() => vec!["string"],
        _ => Vec::new(),
    }
}

/// Returns the strings of a schema that is an enumeration.
fn words(schema: &Value) -> Vec<&str> {
    let of = |key: &str| schema.get(key).and_then(Value::as_array).into_iter().flatten();
    let listed = of("enum").filter_map(Value::as_str);
    listed.chain(of("oneOf").filter_map(|option| option.get("const").and_then(Value::as_str))).collect()
}

fn is_of_type(schema: &Value, value: &Value) -> bool {
    if let Some(options) = schema.get("anyOf").and_then(Value::as_array) {
        return options.iter().any(|option| is_of_type(option, value));
    }
    let types = types(schema);
    let is_small = schema.get("format").is_none_or(|format| format != "uint32");
    types.is_empty()
        || types.iter().any(|name| match *name {
            "string" => value.is_string(),
            "number" => value.is_number(),
            "integer" if is_small => value.is_i64() || value.is_u64(),
            "integer" => value.as_u64().is_some_and(|number| u32::try_from(number).is_ok()),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            "null" => value.is_null(),
            _ => false,
        })
}

/// Returns a value that a schema accepts, as empty as possible.
fn blank(schema: &Value) -> Value {
    match types(schema).first() {
        Some(&"string") => words(schema).first().map_or_else(|| json!(""), |word| json!(word)),
        Some(&"array") => json!([]),
        Some(&"object") => {
            let required =
                schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
            let fields = required.map(|name| {
                let field = schema.pointer("/properties").and_then(|fields| fields.get(name));
                (name.to_owned(), field.map_or(Value::Null, blank))
            });
            Value::Object(fields.collect())
        }
        Some(&"boolean") => json!(false),
        Some(&("number" | "integer")) => json!(0),
        _ => Value::Null,
    }
}

/// Adds articles to types that are separated by `or`: `string or array` becomes `a string or an array`.
pub(super) fn a(types: &str) -> String {
    let one = |name: &str| match name {
        "null" | "any" => name.to_owned(),
        // Only a type gets an article, and this is a literal value.
        name if !name.starts_with(|c: char| c.is_ascii_alphabetic()) => name.to_owned(),
        name if name.starts_with(['a', 'e', 'i', 'o', 'u']) => format!("an {name}"),
        name => format!("a {name}"),
    };
    types.split(" or ").map(one).collect::<Vec<_>>().join(" or ")
}
