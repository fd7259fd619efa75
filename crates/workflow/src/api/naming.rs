//! Names commands by method and path, such as `apps:list`. Names are unique, and a refresh of the catalog does not change them.

use std::collections::{HashMap, HashSet};

use crate::words::stem;

#[derive(Clone, Copy, Debug)]
pub struct Unnamed<'a> {
    /// The method, in upper case.
    pub method: &'a str,
    pub path: &'a str,
    pub operation_id: Option<&'a str>,
}

/// Settings for the names of commands.
#[derive(Clone, Debug, Default)]
pub struct Scheme {
    /// The group of all commands. If empty, the first segment of each path is the group.
    pub prefix: String,
    /// The group of commands whose path has no segment, if there is no prefix.
    pub fallback: String,
    /// Ids of known commands by method and path; they stay the same.
    pub kept: HashMap<(String, String), String>,
    /// Other ids that are in use.
    pub taken: HashSet<String>,
}

/// Returns the id of each operation, in the order of the operations.
///
/// If several operations want the same id, the operation with the fewest placeholders gets it. Ties are resolved by path and
/// method. Each of the others gets an id that ends with the last part of its `operationId` instead of the verb. If it has no
/// `operationId`, or that id is in use, the method is appended. If that id is in use too, a number makes it unique.
pub fn named(operations: &[Unnamed<'_>], scheme: &Scheme) -> Vec<String> {
    let shared = shared(operations);
    let patched: HashSet<&str> =
        operations.iter().filter(|operation| operation.method == "PATCH").map(|operation| operation.path).collect();
    let mut used: HashSet<String> = scheme.taken.iter().chain(scheme.kept.values()).cloned().collect();
    let mut names: Vec<Option<String>> =
        operations.iter().map(|one| scheme.kept.get(&(one.method.to_owned(), one.path.to_owned())).cloned()).collect();
    let mut order: Vec<usize> = (0..operations.len()).filter(|n| names[*n].is_none()).collect();
    order.sort_by_key(|n| {
        let Unnamed { method, path, .. } = operations[*n];
        (path.matches('{').count(), path, method)
    });
    // Give out all first choices before any second choice. Otherwise a second choice could take an id that is the first
    // choice of another operation.
    let candidates: HashMap<usize, Vec<String>> =
        order.iter().map(|n| (*n, candidates(&operations[*n], shared, &patched, scheme))).collect();
    for choice in 0..3 {
        for n in &order {
            if names[*n].is_none()
                && let Some(name) = candidates[n].get(choice)
                && used.insert(name.clone())
            {
                names[*n] = Some(name.clone());
            }
        }
    }
    for n in order {
        if names[n].is_none() {
            let last = candidates[&n].last().cloned().unwrap_or_default();
            let name = (2..).map(|count| format!("{last}-{count}")).find(|name| used.insert(name.clone()));
            names[n] = name;
        }
    }
    names.into_iter().map(Option::unwrap_or_default).collect()
}

/// Returns the ids that an operation may get, best first.
fn candidates(operation: &Unnamed<'_>, shared: usize, patched: &HashSet<&str>, scheme: &Scheme) -> Vec<String> {
    let mut segments = concrete(operation.path, shared);
    let action = action(operation.method, operation.path, patched.contains(operation.path));
    if !scheme.prefix.is_empty() {
        segments.insert(0, scheme.prefix.clone());
    } else if segments.is_empty() {
        segments.push(scheme.fallback.clone());
    }
    let of = |last: &str| [segments.join(":"), last.to_owned()].join(":");
    let method = operation.method.to_lowercase();
    let mut found = vec![of(&action)];
    match operation.operation_id.map(last_part).filter(|part| !part.is_empty()) {
        Some(part) => found.extend([of(&part), of(&format!("{part}-{method}"))]),
        None => found.push(of(&format!("{action}-{method}"))),
    }
    found
}

/// Returns the verb of an operation, such as `list` or `create`.
fn action(method: &str, path: &str, is_patched: bool) -> String {
    match method {
        "GET" if names_one(path) => "info".to_owned(),
        "GET" => "list".to_owned(),
        "POST" => "create".to_owned(),
        "PUT" if is_patched => "replace".to_owned(),
        "PUT" | "PATCH" => "update".to_owned(),
        "DELETE" => "delete".to_owned(),
        other => kebab(other),
    }
}

/// Extensions at the end of paths, as in `/calls.json`.
const FORMATS: [&str; 2] = [".json", ".xml"];

/// Strips the query, the fragment and the format extension from a path.
pub fn resources(path: &str) -> &str {
    let path = path.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    let of = |format: &&str| path.strip_suffix(*format).filter(|rest| !rest.ends_with('/'));
    FORMATS.iter().find_map(of).unwrap_or(path)
}

/// Returns whether a path names one resource of a collection, that is, whether its last segment is a placeholder.
pub fn names_one(path: &str) -> bool {
    let last = resources(path).rsplit('/').next().unwrap_or_default();
    last.contains('{') && kebab(&without_placeholders(last)).is_empty()
}

/// Returns the segments of a path after the first `shared` ones, without placeholders and versions.
fn concrete(path: &str, shared: usize) -> Vec<String> {
    let segments = resources(path).split('/').filter(|segment| !segment.is_empty()).skip(shared);
    let plain = segments.filter(|segment| !is_version(segment)).map(|segment| kebab(&without_placeholders(segment)));
    plain.filter(|segment| !segment.is_empty()).collect()
}

/// Removes the placeholders from a segment, including an extension as in `{id}.json`.
fn without_placeholders(segment: &str) -> String {
    let mut kept = String::new();
    let mut rest = segment;
    while let Some((before, after)) = rest.split_once('{') {
        kept.push_str(before);
        rest = after.split_once('}').map_or("", |(_, after)| after);
    }
    match rest.strip_prefix('.') {
        Some(_) if rest.len() < segment.len() => kept,
        _ => kept + rest,
    }
}

/// Counts the leading segments that carry no information: `api` and versions that all paths share.
fn shared(operations: &[Unnamed<'_>]) -> usize {
    let split = |path: &'_ str| -> Vec<String> {
        path.split('/').filter(|segment| !segment.is_empty()).map(str::to_owned).collect()
    };
    let Some(first) = operations.first().map(|operation| split(operation.path)) else { return 0 };
    let says_nothing = |segment: &str| segment.eq_ignore_ascii_case("api") || is_version(segment) || is_date(segment);
    let leading = first.iter().take_while(|segment| says_nothing(segment)).count();
    let is_shared =
        |count: &usize| operations.iter().all(|operation| split(operation.path).starts_with(&first[..*count]));
    (0..=leading).rev().find(is_shared).unwrap_or_default()
}

/// Returns whether a segment is a version, such as `v2`, `v1.1` or `v1beta1`.
fn is_version(segment: &str) -> bool {
    let Some(rest) = segment.strip_prefix(['v', 'V']) else { return false };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let begins = segment[1..].starts_with(|c: char| c.is_ascii_digit());
    let stage = ["alpha", "beta", "rc"].iter().find_map(|stage| rest.strip_prefix(stage)).unwrap_or(rest);
    begins && stage.chars().all(|c| c.is_ascii_digit())
}

/// Returns whether a segment is a version by date or number, such as `2024-01-31` or `1.2`.
fn is_date(segment: &str) -> bool {
    segment.starts_with(|c: char| c.is_ascii_digit()) && segment.chars().all(|c| c.is_ascii_digit() || "-.".contains(c))
}

/// Returns the last part of an `operationId`, such as `list-for-org` of `repos/list-for-org`.
fn last_part(id: &str) -> String {
    kebab(id.rsplit(['/', '.', '#', ':']).find(|part| !part.is_empty()).unwrap_or_default()).replace('_', "-")
}

/// Converts text to lower-case words separated by `-`, for use in ids. `_` and `.` stay as they are.
pub fn kebab(text: &str) -> String {
    let mut made = String::new();
    let mut previous = ' ';
    for c in text.chars() {
        let is_plain = c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        let begins_word = c.is_ascii_uppercase() && (previous.is_ascii_lowercase() || previous.is_ascii_digit());
        if (begins_word || !is_plain) && !made.is_empty() && !made.ends_with('-') {
            made.push('-');
        }
        if is_plain {
            made.push(c.to_ascii_lowercase());
        }
        previous = c;
    }
    made.trim_matches(['-', '.']).to_owned()
}

/// Returns the placeholders of a path, each with the name of its argument. In `/apps/{id}`, the argument for `id` is `app_id`,
/// unless another placeholder has that name.
pub fn placeholders(path: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut before = "";
    for segment in path.split('/') {
        let mut rest = segment;
        while let Some((_, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else { break };
            rest = after;
            if !found.iter().any(|(known, _)| known == name) {
                let resource = stem(&kebab(before));
                let is_bare = name == "id" && !resource.is_empty();
                let argument = if is_bare { format!("{resource}_id") } else { name.to_owned() };
                found.push((name.to_owned(), argument));
            }
        }
        if !segment.contains('{') && !is_version(segment) {
            before = segment;
        }
    }
    let names: Vec<String> = found.iter().map(|(name, _)| name.clone()).collect();
    for (name, argument) in &mut found {
        if argument != name && names.contains(argument) {
            argument.clone_from(name);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operations<'a>(list: &[(&'a str, &'a str, &'a str)]) -> Vec<Unnamed<'a>> {
        let one = |(method, path, id): &(&'a str, &'a str, &'a str)| Unnamed {
            method,
            path,
            operation_id: Some(*id).filter(|id| !id.is_empty()),
        };
        list.iter().map(one).collect()
    }

    fn prefixed(prefix: &str) -> Scheme {
        Scheme { prefix: prefix.to_owned(), fallback: "hosting".to_owned(), ..Scheme::default() }
    }

    #[test]
    fn a_name_is_the_path_and_what_is_done() {
        for (method, path, expected) in [
            ("GET", "/apps", "h:apps:list"),
            ("GET", "/apps/{id}", "h:apps:info"),
            ("POST", "/apps", "h:apps:create"),
            ("PATCH", "/apps/{id}", "h:apps:update"),
            ("PUT", "/pulls/{n}/merge", "h:pulls:merge:update"),
            ("DELETE", "/apps/{id}/", "h:apps:delete"),
            ("HEAD", "/apps", "h:apps:head"),
            ("GET", "/v2/configVars/{id}.json", "h:config-vars:info"),
            ("POST", "/v1beta1/files/{name}:undelete", "h:files:undelete:create"),
            ("GET", "/", "h:list"),
            ("GET", "/a%20b/c d", "h:a-20b:c-d:list"),
            ("GET", "/responses/{id}?beta=true", "h:responses:info"),
            ("GET", "/hash#fragment", "h:hash:list"),
            ("GET", "/calls.json", "h:calls:list"),
        ] {
            assert_eq!(named(&operations(&[(method, path, "")]), &prefixed("h")), [expected], "{method} {path}");
        }
        let bare = [("POST", "/apps", ""), ("GET", "/", ""), ("GET", "/addons/{id}", "")];
        assert_eq!(named(&operations(&bare), &prefixed("")), ["apps:create", "hosting:list", "addons:info"]);
    }

    #[test]
    fn a_common_prefix_of_all_paths_is_left_out() {
        let all = [("GET", "/api/2024-01/apps", ""), ("GET", "/api/2024-01/addons", "")];
        assert_eq!(named(&operations(&all), &prefixed("h")), ["h:apps:list", "h:addons:list"]);
        let some = [("GET", "/api/apps", ""), ("GET", "/addons", "")];
        assert_eq!(named(&operations(&some), &prefixed("h")), ["h:api:apps:list", "h:addons:list"]);
    }

    #[test]
    fn if_names_clash_the_simplest_operation_keeps_the_name() {
        let list = operations(&[
            ("GET", "/orgs/{org}/apps", "apps/list-for-org"),
            ("GET", "/orgs/apps", "apps/listAll"),
            ("PATCH", "/apps/{id}", ""),
            ("PUT", "/apps/{id}", ""),
            ("GET", "/teams/{a}/{b}", ""),
            ("GET", "/teams/{a}", "get"),
            ("GET", "/teams/{a}/{c}", ""),
            ("GET", "/teams/{b}/{a}", ""),
        ]);
        let expected = [
            "h:orgs:apps:list-for-org",
            "h:orgs:apps:list",
            "h:apps:update",
            "h:apps:replace",
            "h:teams:info-get",
            "h:teams:info",
            "h:teams:info-get-2",
            "h:teams:info-get-3",
        ];
        assert_eq!(named(&list, &prefixed("h")), expected);
    }

    #[test]
    fn x15_a_name_is_kept_whatever_comes_later_and_in_any_order() {
        let before = operations(&[("GET", "/orgs/{org}/apps", "apps/list-for-org")]);
        let first = named(&before, &prefixed("h"));
        assert_eq!(first, ["h:orgs:apps:list"]);
        let kept = HashMap::from([(("GET".to_owned(), "/orgs/{org}/apps".to_owned()), first[0].clone())]);
        let after = operations(&[("GET", "/orgs/apps", ""), ("GET", "/orgs/{org}/apps", "apps/list-for-org")]);
        let scheme = Scheme { kept, ..prefixed("h") };
        assert_eq!(named(&after, &scheme), ["h:orgs:apps:list-get", "h:orgs:apps:list"]);
        // The order of operations in the document does not matter.
        let mut turned = after.clone();
        turned.reverse();
        let mut names = named(&turned, &prefixed("h"));
        names.reverse();
        assert_eq!(names, named(&after, &prefixed("h")));
    }

    #[test]
    fn a_file_extension_in_a_path_is_ignored() {
        let list = operations(&[
            ("POST", "/Accounts/{Account}/Calls.json", "CreateCall"),
            ("GET", "/Accounts/{Account}/Calls.json", "ListCall"),
            ("POST", "/Accounts/{Account}/Calls/{Sid}.json", "UpdateCall"),
            ("GET", "/Accounts/{Account}/Calls/{Sid}.json", "FetchCall"),
        ]);
        let expected =
            ["accounts:calls:create", "accounts:calls:list", "accounts:calls:update-call", "accounts:calls:info"];
        assert_eq!(named(&list, &prefixed("h")), expected.map(|name| format!("h:{name}")));
    }

    #[test]
    fn a_placeholder_called_id_gets_the_name_of_its_resource() {
        let arguments = |path: &str| placeholders(path).into_iter().map(|(_, name)| name).collect::<Vec<_>>();
        assert_eq!(arguments("/apps/{id}/addons/{addon}"), ["app_id", "addon"]);
        assert_eq!(arguments("/apps/{id}/x/{app_id}"), ["id", "app_id"]);
        assert_eq!(arguments("/{id}"), ["id"]);
        assert_eq!(arguments("/databases/{id}/v2/{id}"), ["database_id"]);
        assert_eq!(arguments("/repos/{owner}/{repo}/compare/{base}...{head}"), ["owner", "repo", "base", "head"]);
        assert_eq!(arguments("/broken/{id"), Vec::<String>::new());
    }
}
