//! Refuses schemas that would take too long to check. The schemas come from strangers.

use std::collections::HashMap;

use serde_json::Value;

use super::reference::{MAX_REFERENCES, pointed};

/// The maximum number of schemas that one part of a value is checked against. Nested references can multiply the
/// checks.
const MAX_CHECKS: u64 = 10_000;

/// The drafts whose `$ref` keyword this file understands.
const DRAFTS: [&str; 4] = ["2020-12/schema", "2019-09/schema", "draft-07/schema", "draft-06/schema"];

/// Fails if a schema has an unknown draft, or is too expensive to check.
pub(super) fn check(schema: &Value) -> Result<(), String> {
    if let Some(draft) = schema.get("$schema") {
        let draft = draft.as_str().unwrap_or_default();
        let name = draft.trim_end_matches('#');
        let known = name.contains("//json-schema.org/") && DRAFTS.iter().any(|draft| name.ends_with(draft));
        if !known {
            return Err(format!(
                "unknown `$schema` `{}`; leave out `$schema` to use draft 2020-12",
                draft.escape_debug()
            ));
        }
    }
    Costs { root: schema, known: HashMap::new(), on_the_way: Vec::new() }.every(schema)
}

/// Keywords whose values are data and not schemas.
const VALUES: [&str; 4] = ["enum", "const", "default", "examples"];

/// Computes for each schema how many schemas are checked along with it. Schemas are identified by their address in
/// memory.
struct Costs<'a> {
    root: &'a Value,
    known: HashMap<*const Value, u64>,
    on_the_way: Vec<*const Value>,
}

impl<'a> Costs<'a> {
    /// Visits all nested schemas, since any of them may be checked against a part of the value.
    fn every(&mut self, value: &'a Value) -> Result<(), String> {
        self.of(value)?;
        match value {
            Value::Object(map) => {
                let schemas = map.iter().filter(|(key, _)| !VALUES.contains(&key.as_str()));
                schemas.map(|(_, inner)| inner).try_for_each(|inner| self.every(inner))
            }
            Value::Array(list) => list.iter().try_for_each(|inner| self.every(inner)),
            _ => Ok(()),
        }
    }

    /// Returns how many schemas are checked against the same value as `schema`, including itself.
    fn of(&mut self, schema: &'a Value) -> Result<u64, String> {
        let place: *const Value = schema;
        if let Some(known) = self.known.get(&place) {
            return Ok(*known);
        }
        if self.on_the_way.contains(&place) {
            return Err("a `$ref` refers to itself".to_owned());
        }
        if self.on_the_way.len() > 4 * MAX_REFERENCES {
            return Err("its references are nested too deeply".to_owned());
        }
        if !std::ptr::eq(schema, self.root) && schema.get("$id").is_some_and(Value::is_string) {
            return Err("an `$id` inside a schema is not supported".to_owned());
        }
        self.on_the_way.push(place);
        let mut cost: u64 = 1;
        for inner in self.referenced(schema)?.into_iter().chain(in_place(schema)) {
            cost = cost.saturating_add(self.of(inner)?);
        }
        self.on_the_way.pop();
        if cost > MAX_CHECKS {
            return Err("its references expand to too many schemas".to_owned());
        }
        self.known.insert(place, cost);
        Ok(cost)
    }

    fn referenced(&self, schema: &'a Value) -> Result<Vec<&'a Value>, String> {
        let references = ["$ref", "$dynamicRef", "$recursiveRef"];
        let references = references.iter().filter_map(|key| schema.get(key)?.as_str());
        let target = |reference: &str| {
            let elsewhere = || format!("`$ref` `{}` points to nothing in this schema", reference.escape_debug());
            pointed(self.root, reference).ok_or_else(elsewhere)
        };
        references.map(target).collect()
    }
}

/// Returns the nested schemas that are checked against the same value as `schema`.
fn in_place(schema: &Value) -> impl Iterator<Item = &Value> {
    const LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
    const ONES: [&str; 4] = ["not", "if", "then", "else"];
    const MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];
    let lists = LISTS.iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
    let ones = ONES.iter().filter_map(|key| schema.get(key));
    let maps = MAPS.iter().filter_map(|key| schema.get(key)?.as_object()).flat_map(|map| map.values());
    lists.chain(ones).chain(maps)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::super::check_input;
    use super::*;

    fn wrong(schema: &Value) -> String {
        check(schema).err().unwrap_or_default()
    }

    #[test]
    fn a_schema_that_refers_to_itself_is_refused() {
        for endless in [
            json!({ "$ref": "#" }),
            json!({ "$id": "https://a.example/s", "$ref": "https://a.example/s" }),
            json!({ "$id": "https://a.example/s", "$ref": "https://a.example/s#" }),
            json!({ "allOf": [{ "$ref": "#" }] }),
            json!({ "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "not": { "$ref": "#/$defs/a" } } } }),
            json!({ "properties": { "a": { "properties": { "b": { "$ref": "#/properties/a/properties/b" } } } } }),
            json!({ "$anchor": "x", "anyOf": [{ "$ref": "#x" }] }),
            json!({ "$dynamicAnchor": "x", "if": { "$dynamicRef": "#x" } }),
        ] {
            assert!(wrong(&endless).contains("refers to itself"), "{endless}: {}", wrong(&endless));
        }
        let children = json!({ "type": "array", "items": { "$ref": "#" } });
        let tree = json!({ "type": "object", "properties": { "children": children } });
        assert_eq!(wrong(&tree), "");
        assert_eq!(check_input(&tree, &json!({ "children": [{ "children": [1] }] }))[0].path, "/children/0/children/0");
    }

    #[test]
    fn few_lines_do_not_become_many_checks() {
        let twice = |next: usize| json!({ "allOf": [{ "$ref": format!("#/$defs/{next}") }, { "$ref": format!("#/$defs/{next}") }] });
        let mut definitions: Map<_, _> = (0..30).map(|at| (at.to_string(), twice(at + 1))).collect();
        definitions.insert("30".to_owned(), json!(true));
        assert!(wrong(&json!({ "$defs": definitions, "$ref": "#/$defs/0" })).contains("expand to too many"));
        let mut chain: Map<_, _> =
            (0..5000).map(|at| (at.to_string(), json!({ "$ref": format!("#/$defs/{}", at + 1) }))).collect();
        chain.insert("5000".to_owned(), json!(true));
        assert!(wrong(&json!({ "$defs": chain })).contains("too deep"));
    }

    #[test]
    fn references_stay_inside() {
        let of = |reference: &str| json!({ "properties": { "a": { "$ref": reference } } });
        for outside in
            ["https://json-schema.org/draft/2020-12/schema", "file:///etc/passwd", "other.json", "", "#/no", "#x"]
        {
            assert!(wrong(&of(outside)).contains("points to nothing"), "{outside}: {}", wrong(&of(outside)));
        }
        assert!(wrong(&json!({ "$defs": { "a": { "$id": "https://b.example/", "$ref": "#" } } })).contains("`$id`"));
        assert!(wrong(&json!({ "$schema": "http://json-schema.org/draft-04/schema#" })).contains("`$schema`"));
        assert_eq!(wrong(&json!({ "$schema": "http://json-schema.org/draft-07/schema#" })), "");
        assert_eq!(wrong(&json!({ "$schema": "https://json-schema.org/draft/2020-12/schema" })), "");
    }
}
