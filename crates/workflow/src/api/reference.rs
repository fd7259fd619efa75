//! Resolves references within a document: `{"$ref": "#/components/..."}`. [`super::files`] has already rewritten references to
//! files.

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::places::KEY;
use super::violation::{Fault, Rule};

/// Maximum length of a chain of references, and maximum nesting of composed schemas.
pub const DEPTH: usize = 64;

#[derive(Clone, Copy, Debug)]
pub struct References<'d> {
    root: &'d Value,
}

impl<'d> References<'d> {
    pub fn new(root: &'d Value) -> Self {
        Self { root }
    }

    /// Returns the value that a reference leads to, or the value itself if it is not a reference.
    ///
    /// # Errors
    /// A fault with the rule `ref_unknown`, `ref_external` or `ref_cycle`.
    pub fn follow(&self, value: &'d Value) -> Result<&'d Value, Fault<'d>> {
        let mut at = value;
        for _ in 0..=DEPTH {
            let Some(reference) = at.get("$ref") else { return Ok(at) };
            // `$ref` may also be the name of an ordinary property.
            let Value::String(reference) = reference else { return Ok(at) };
            at = self.target(reference, at)?;
            if std::ptr::eq(at, value) {
                break;
            }
        }
        let message = format!("the reference `{}` refers to itself", shown(text(value)));
        Err(Fault { rule: Rule::RefCycle, message, at: value.get("$ref").unwrap_or(value) })
    }

    /// Returns the direct target of a reference, which may be another reference. `None` if `value` is not a valid reference.
    pub fn target_of(&self, value: &'d Value) -> Option<&'d Value> {
        self.target(value.get("$ref")?.as_str()?, value).ok()
    }

    fn target(&self, reference: &str, holder: &'d Value) -> Result<&'d Value, Fault<'d>> {
        let at = holder.get("$ref").unwrap_or(holder);
        let Some(fragment) = reference.strip_prefix('#') else {
            let message = format!(
                "the reference `{reference}` points outside the document, but not to a file below the document's folder"
            );
            return Err(Fault { rule: Rule::RefExternal, message, at });
        };
        let pointer = percent_decode_str(fragment).decode_utf8_lossy();
        self.root.pointer(&pointer).ok_or_else(|| {
            let message = format!("the reference `{}` does not exist in the document", shown(reference));
            Fault { rule: Rule::RefUnknown, message, at }
        })
    }
}

/// Shortens a reference into an embedded file: `#/x-mcpkg-files/0/a` becomes `/a`. Other references stay unchanged.
fn shown(reference: &str) -> &str {
    let in_file = reference.strip_prefix('#').and_then(|pointer| pointer.strip_prefix('/')?.strip_prefix(KEY));
    let after = in_file.and_then(|rest| rest[1..].find('/').map(|at| &rest[1 + at..]));
    if in_file.is_some() { after.unwrap_or_default() } else { reference }
}

fn text(value: &Value) -> &str {
    value["$ref"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_are_followed_to_their_end() {
        let root = json!({
            "a": { "$ref": "#/c/x~1y%20z" },
            "c": { "x/y z": { "$ref": "#/d" }, "self": { "$ref": "#/c/self" }, "to": { "$ref": "#/c/fro" }, "fro": { "$ref": "#/c/to" } },
            "d": { "type": "string" },
            "broken": { "$ref": "#/c/none" },
            "outside": { "$ref": "other.yaml#/d" },
            "named": { "$ref": { "type": "string" } },
        });
        let references = References::new(&root);
        assert_eq!(references.follow(&root["a"]).expect("a value"), &root["d"]);
        assert_eq!(references.follow(&root["d"]).expect("a value"), &root["d"]);
        assert_eq!(references.follow(&root["named"]).expect("a value"), &root["named"]);
        for (value, rule) in [
            (&root["broken"], Rule::RefUnknown),
            (&root["outside"], Rule::RefExternal),
            (&root["c"]["self"], Rule::RefCycle),
            (&root["c"]["to"], Rule::RefCycle),
        ] {
            let fault = references.follow(value).expect_err("a fault");
            assert_eq!(fault.rule, rule);
            assert!(std::ptr::eq(fault.at, &value["$ref"]), "{value}");
        }
    }

    #[test]
    fn a_long_chain_is_no_cycle_and_an_endless_one_is() {
        let chain = |length: usize| {
            let mut chain: serde_json::Map<String, Value> =
                (0..length).map(|n| (n.to_string(), json!({ "$ref": format!("#/{}", n + 1) }))).collect();
            chain.insert(length.to_string(), json!({ "type": "string" }));
            Value::Object(chain)
        };
        let (short, long) = (chain(DEPTH), chain(DEPTH + 1));
        assert!(References::new(&short).follow(&short["0"]).is_ok());
        assert_eq!(References::new(&long).follow(&long["0"]).expect_err("too long").rule, Rule::RefCycle);
    }
}
