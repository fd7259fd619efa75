//! Splits text into search words, and knows plurals and synonyms.

use mcpkg_store::search;

/// Maximum number of words searched per query; each word scans all commands.
const MOST: usize = 32;

/// Words that a search ignores, unless the query has no other words.
const STOP: &[&str] = &[
    "a", "all", "an", "and", "any", "are", "as", "at", "be", "by", "do", "for", "from", "how", "i", "in", "into", "is",
    "it", "its", "me", "my", "of", "on", "or", "our", "please", "that", "the", "their", "this", "to", "want", "with",
];

/// Action words with their synonyms.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("add", &["create", "update"]),
    ("create", &["add"]),
    ("delete", &["remove"]),
    ("edit", &["set", "update"]),
    ("find", &["search", "list"]),
    ("get", &["info", "show"]),
    ("info", &["get", "show"]),
    ("remove", &["delete"]),
    ("set", &["edit", "update"]),
    ("show", &["get", "info"]),
    ("switch", &["select", "use"]),
    ("undo", &["restore", "rollback"]),
    ("update", &["edit", "set"]),
];

/// Plurals that the rules in [`singular`] get wrong, and words that only look like plurals.
const IRREGULAR: &[(&str, &str)] = &[
    ("aliases", "alias"),
    ("alias", "alias"),
    ("analyses", "analysis"),
    ("caches", "cache"),
    ("canvas", "canvas"),
    ("children", "child"),
    ("https", "https"),
    ("ids", "id"),
    ("indices", "index"),
    ("ips", "ip"),
    ("kubernetes", "kubernetes"),
    ("news", "news"),
    ("people", "person"),
    ("series", "series"),
    ("statuses", "status"),
];

/// Splits text into lower-case words of letters and digits; `appId` gives `app` and `id`.
pub fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut before_is_lower = false;
    for c in text.chars() {
        if !c.is_alphanumeric() || before_is_lower && c.is_uppercase() {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
        }
        before_is_lower = c.is_lowercase() || c.is_ascii_digit();
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// Splits text into words for the index. Scripts without spaces are split into pairs of letters.
pub fn indexed(text: &str) -> Vec<String> {
    words(&search::cut(text))
}

/// Returns the distinct words of a query. Stop words are dropped, unless there is nothing else. Only the first words of a long
/// query count.
pub fn of_query(query: &str) -> Vec<String> {
    let mut asked: Vec<String> = Vec::new();
    for word in words(&search::query_word(query).0) {
        if asked.len() == MOST {
            break;
        }
        if !asked.contains(&word) {
            asked.push(word);
        }
    }
    let telling: Vec<String> = asked.iter().filter(|word| !STOP.contains(&word.as_str())).cloned().collect();
    if telling.is_empty() { asked } else { telling }
}

/// Returns the synonyms of an action word.
pub fn synonyms(word: &str) -> &'static [&'static str] {
    SYNONYMS.iter().find(|(known, _)| *known == word).map_or(&[], |(_, same)| same)
}

/// Converts a lower-case word to the singular.
pub fn singular(word: &str) -> String {
    if let Some((_, singular)) = IRREGULAR.iter().find(|(plural, _)| *plural == word) {
        return (*singular).to_owned();
    }
    let cut = |ending: &str| word.strip_suffix(ending).filter(|rest| rest.len() > 1);
    if let Some(rest) = cut("ies").filter(|rest| rest.len() > 2) {
        return format!("{rest}y");
    }
    for ending in ["sses", "shes", "ches", "xes", "zes"] {
        if cut(ending).is_some() {
            return word[..word.len() - 2].to_owned();
        }
    }
    match cut("s") {
        Some(rest) if rest.len() > 2 && !rest.ends_with(['s', 'u', 'i']) => rest.to_owned(),
        _ => word.to_owned(),
    }
}

/// Converts a name to snake case: `fooId`, `foo-id` and `foo.id` become `foo_id`.
pub fn snake(name: &str) -> String {
    words(name).join("_")
}

/// Converts a name to snake case, with its last word in the singular.
pub fn stem(name: &str) -> String {
    let name = snake(name);
    match name.rsplit_once('_') {
        Some((before, last)) => format!("{before}_{}", singular(last)),
        None => singular(&name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_into_words() {
        assert_eq!(words("mcpkg:prompt:create"), ["mcpkg", "prompt", "create"]);
        assert_eq!(words("appId add-on  HTTPServer v2"), ["app", "id", "add", "on", "httpserver", "v2"]);
        assert_eq!(words("Überall, ÄÖ"), ["überall", "äö"]);
        assert!(words(" -- ").is_empty());
        assert_eq!(snake("ownerId"), "owner_id");
        assert_eq!(snake("owner.id"), "owner_id");
    }

    #[test]
    fn a_query_drops_stop_words_and_words_beyond_the_limit() {
        assert_eq!(of_query("Add a collaborator to the repo, add"), ["add", "collaborator", "repo"]);
        assert_eq!(of_query("all of it"), ["all", "of", "it"]);
        assert!(of_query("").is_empty());
        let long: Vec<String> = (0..10_000).map(|number| format!("word{number}")).collect();
        assert_eq!(of_query(&long.join(" ")), long[..MOST]);
    }

    #[test]
    fn plurals_have_the_stem_of_their_singular() {
        for (plural, one) in [
            ("apps", "app"),
            ("policies", "policy"),
            ("branches", "branch"),
            ("addresses", "address"),
            ("databases", "database"),
            ("indexes", "index"),
            ("caches", "cache"),
            ("statuses", "status"),
            ("ids", "id"),
            ("keys", "key"),
            ("boxes", "box"),
            ("repositories", "repository"),
            ("people", "person"),
            ("ties", "tie"),
        ] {
            assert_eq!(singular(plural), one);
            assert_eq!(singular(one), one);
        }
        for word in ["status", "access", "dns", "s", "is", "analysis", "kubernetes", "bus", ""] {
            assert_eq!(singular(word), word);
        }
    }
}
