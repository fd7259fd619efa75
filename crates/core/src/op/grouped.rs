//! Combines similar warnings and hints about many things into one line.

use super::LISTED_BY_VERBOSE;
use mcpkg_base::plural;

/// Up to this many similar warnings are shown one by one.
const FEW: usize = 2;

/// How many names a combined warning lists.
const NAMED: usize = 3;

/// Combines three or more warnings that differ only in names: `205 skills: 'a' has no description; the same for 'b',
/// 'c' and 202 more`.
pub fn grouped(warnings: Vec<String>) -> Vec<String> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for warning in warnings {
        let alike = without_names(&warning);
        match groups.iter_mut().find(|(said, _)| *said == alike) {
            Some((_, group)) => group.push(warning),
            None => groups.push((alike, vec![warning])),
        }
    }
    groups.into_iter().flat_map(|(_, group)| if group.len() > FEW { vec![as_one(&group)] } else { group }).collect()
}

/// Combines a group of warnings that differ only in names into one line.
fn as_one(group: &[String]) -> String {
    let first = group.first().map_or("", String::as_str);
    let names: Vec<&str> = group.iter().map(|warning| differing(warning, first)).collect();
    let count = match names.first().and_then(|name| noun(first, name)) {
        Some(noun) => plural::count(group.len(), &noun),
        None => format!("{} times", group.len()),
    };
    let others = plural::first(names.iter().skip(1), NAMED - 1);
    format!("{count}: {first}; the same for {others}{LISTED_BY_VERBOSE}")
}

/// Splits a text into quoted parts, parts in backticks, and single words.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), text.trim_start());
    while !rest.is_empty() {
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '`'));
        let quoted = quote.and_then(|quote| rest[1..].find(quote)).map(|end| end + 2);
        let end = quoted.or_else(|| rest.find(' ')).unwrap_or(rest.len());
        parts.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    parts
}

/// Whether a part is a name: quoted text, a path, an id or a number.
fn is_name(part: &str) -> bool {
    let inner = part.trim_end_matches([':', ',', ';', '.', ')']);
    part.starts_with(['\'', '`']) || inner.contains(['/', ':', '.']) || inner.bytes().any(|byte| byte.is_ascii_digit())
}

/// Returns the text with a placeholder for each name, so that similar warnings become equal.
fn without_names(text: &str) -> String {
    parts(text).into_iter().map(|part| if is_name(part) { "\0" } else { part }).collect::<Vec<_>>().join(" ")
}

/// Returns the first name in `warning` that `other` does not have in the same place. If there is none, returns the
/// first name in `warning`.
fn differing<'w>(warning: &'w str, other: &str) -> &'w str {
    let others = parts(other);
    let names = || parts(warning).into_iter().enumerate().filter(|(_, part)| is_name(part));
    let name = names().find(|(place, part)| others.get(*place) != Some(part)).or_else(|| names().next());
    name.map_or("", |(_, part)| part.trim_end_matches([':', ',', ';']))
}

/// Returns the kind of thing that a name belongs to: `skill` for `skill:pdf` and for `The skill 'pdf'`.
fn noun(warning: &str, name: &str) -> Option<String> {
    let is_word = |word: &&str| word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    if let Some((kind, _)) = name.trim_matches(['\'', '`']).split_once(':').filter(|(kind, _)| is_word(kind)) {
        // Remove the `s` of a kind that is a plural, such as `instructions`: `plural::count` appends an `s`.
        return Some(kind.to_lowercase().trim_end_matches('s').to_owned());
    }
    let parts = parts(warning);
    let place = parts.iter().position(|part| part.trim_end_matches([':', ',', ';']) == name)?;
    let before = parts.get(place.checked_sub(1)?).filter(|word| is_word(word))?;
    Some(before.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_that_differ_in_names_are_one_line() {
        let of = |names: &[&str], text: &str| names.iter().map(|name| text.replace('X', name)).collect::<Vec<_>>();
        assert_eq!(
            grouped(of(&["a", "b", "c", "d"], "Skill 'X' has no description")),
            ["4 skills: Skill 'a' has no description; the same for 'b', 'c' and 1 more; `-v` lists them"]
        );
        assert_eq!(
            grouped(of(&["a", "b", "c"], "skill:X has SKILL.md twice; one is left out")),
            ["3 skills: skill:a has SKILL.md twice; one is left out; the same for skill:b, skill:c; `-v` lists them"]
        );
        assert_eq!(
            grouped(of(&["a/1", "a/2", "a/3"], "`X` was changed since")),
            ["3 times: `a/1` was changed since; the same for `a/2`, `a/3`; `-v` lists them"]
        );
        assert_eq!(
            grouped(of(&["a", "b", "c"], "module 'instructions:X' is large")),
            [
                "3 instructions: module 'instructions:a' is large; the same for 'instructions:b', 'instructions:c'; `-v` lists them"
            ]
        );
        let two = of(&["a", "b"], "Skill 'X' has no description");
        assert_eq!(grouped(two.clone()), two);
        let others = vec!["One thing".to_owned(), "Another thing".to_owned(), "A third".to_owned()];
        assert_eq!(grouped(others.clone()), others);
    }
}
