//! Builds the names that agents use to call tools over MCP. mcpkg never parses such a name; it looks the name up.

use super::name::Name;
use mcpkg_base::sha256;

/// The maximum length of a name in bytes: clients prefix it with `mcp__mcpkg__`, and accept at most 64 bytes.
pub const MAX_MCP_NAME: usize = 52;

/// Hex digits of the hash in a shortened name.
const DIGITS: usize = 6;

/// Hex digits of the hash if another tool already has the shortened name.
const MORE_DIGITS: usize = 12;

/// Returns the MCP name of an action; `None` is the main action.
///
/// The name depends only on the tool and the action, so the order of installs never changes it.
pub fn mcp_name(tool: &Name, action: Option<&str>) -> String {
    match plain(tool, action) {
        Some(plain) => plain,
        None => shortened(tool, action, DIGITS),
    }
}

/// Returns the name to use if another tool already has the [`mcp_name`] of this action.
pub fn longer_mcp_name(tool: &Name, action: Option<&str>) -> String {
    shortened(tool, action, MORE_DIGITS)
}

/// Returns the name without a hash, if no other tool and action can have the same name: `a/b:c` -> `a__b___c`.
fn plain(tool: &Name, action: Option<&str>) -> Option<String> {
    let is_plain = |part: &str| !part.contains("__") && !part.starts_with('_') && !part.ends_with('_');
    let joined = joined(tool, action);
    let parts = tool.segments().chain(action);
    (!tool.as_str().starts_with('@')
        && parts.into_iter().all(is_plain)
        && joined.len() <= MAX_MCP_NAME
        && ![DIGITS, MORE_DIGITS].iter().any(|digits| ends_like_a_hash(&joined, *digits)))
    .then_some(joined)
}

/// Returns whether a name ends like a shortened name. If such a name stayed plain, somebody could name a tool so
/// that it collides with another tool's shortened name.
fn ends_like_a_hash(name: &str, digits: usize) -> bool {
    let end = name.len().checked_sub(digits + 1).map(|at| &name.as_bytes()[at..]);
    end.is_some_and(|end| end[0] == b'_' && end[1..].iter().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f')))
}

fn joined(tool: &Name, action: Option<&str>) -> String {
    let tool = tool.as_str().trim_start_matches('@').replace('/', "__");
    action.map_or(tool.clone(), |action| format!("{tool}___{action}"))
}

fn shortened(tool: &Name, action: Option<&str>, digits: usize) -> String {
    let full = action.map_or(tool.to_string(), |action| format!("{tool}:{action}"));
    let hash = sha256::hex(full);
    let mut name = joined(tool, action);
    // `truncate` cannot split a character, because names are ASCII.
    name.truncate(MAX_MCP_NAME - 1 - digits);
    format!("{name}_{}", &hash[..digits])
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn of(tool: &str, action: Option<&str>) -> String {
        mcp_name(&Name::parse(tool).unwrap(), action)
    }

    #[test]
    fn plain_names_follow_the_contract() {
        assert_eq!(of("alice/utils/weather", None), "alice__utils__weather");
        assert_eq!(of("alice/pdf", Some("extract")), "alice__pdf___extract");
        assert_eq!(of("alice/a_b/c-d", None), "alice__a_b__c-d");
    }

    #[test]
    fn x44_ambiguous_names_get_a_hash() {
        let alike = [("a/b__c", None), ("a__b/c", None), ("a/b/c", None), ("@a/b/c", None), ("a/b_/c", None)];
        let names: Vec<String> = alike.iter().map(|(tool, action)| of(tool, *action)).collect();
        assert_eq!(names[2], "a__b__c");
        for (at, name) in names.iter().enumerate() {
            assert!(!names[..at].contains(name), "{names:?}");
        }
        assert_ne!(of("alice/utils", Some("weather")), of("alice/utils/weather", None));
        assert_ne!(of("a/b", Some("_c")), of("a/b_", Some("c")));
    }

    #[test]
    fn long_names_are_shortened_and_nobody_can_copy_a_shortened_name() {
        let long = format!("alice/{}", "x".repeat(60));
        assert_eq!(of(&long, None).len(), MAX_MCP_NAME);
        let name = Name::parse(&long).unwrap();
        assert_eq!(longer_mcp_name(&name, None).len(), MAX_MCP_NAME);
        // Name a tool exactly like another tool's shortened name.
        let shortened = of("a/b__c", None);
        let copy = shortened.replacen("__", "/", 1);
        assert_ne!(of(&copy, None), shortened);
    }

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn distinct_actions_of_tools_have_distinct_legal_names(
            tools in prop::collection::vec(("@?[ab_-]{1,3}(/[ab_-]{1,3}){0,4}", prop::option::of("[ab_-]{1,4}")), 1..40)
        ) {
            let mut seen: HashMap<String, (Name, Option<String>)> = HashMap::new();
            for (tool, action) in tools {
                let Ok(name) = Name::parse(&tool) else { continue };
                for called in [mcp_name(&name, action.as_deref()), longer_mcp_name(&name, action.as_deref())] {
                    prop_assert!((1..=MAX_MCP_NAME).contains(&called.len()));
                    prop_assert!(called.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'-'));
                    let this = (name.clone(), action.clone());
                    let other = seen.entry(called).or_insert_with(|| this.clone());
                    prop_assert_eq!(&*other, &this);
                }
            }
        }
    }
}
