//! Searches a text for the regular expressions in the table of rules.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::bytes::{Regex, RegexBuilder};

use super::found::Found;
use super::kind::{is_prose, is_settings};
use super::rules::{CREDENTIALS, FETCH_AND_RUN, FETCH_UNSAFE, OVERRIDE, RULES, Reads, Rule, SECRECY};

/// An expression that is compiled when a text first contains one of its words.
struct Search {
    rule: &'static Rule,
    regex: LazyLock<Option<Regex>, Box<dyn FnOnce() -> Option<Regex> + Send>>,
}

/// All expressions, and an automaton that finds their words in one pass.
struct Searches {
    all: Vec<Search>,
    words: AhoCorasick,
    /// For each word, the index of its search.
    of_word: Vec<usize>,
}

static SEARCHES: LazyLock<Option<Searches>> = LazyLock::new(|| {
    let (mut all, mut words, mut of_word) = (Vec::new(), Vec::new(), Vec::new());
    for (rule, pattern) in RULES.iter().flat_map(|rule| rule.patterns.iter().map(move |pattern| (*rule, pattern))) {
        for word in pattern.0 {
            words.push(*word);
            of_word.push(all.len());
        }
        let expression = pattern.1;
        all.push(Search { rule, regex: LazyLock::new(Box::new(move || compiled(expression))) });
    }
    let words = AhoCorasick::builder().ascii_case_insensitive(true).build(words).ok()?;
    Some(Searches { all, words, of_word })
});

/// Compiles an expression. A test compiles all of them.
pub(super) fn compiled(expression: &str) -> Option<Regex> {
    RegexBuilder::new(expression).case_insensitive(true).unicode(false).multi_line(true).build().ok()
}

pub(super) fn scan(found: &mut Found<'_>) {
    let Some(searches) = SEARCHES.as_ref() else { return };
    let mut is_due = vec![false; searches.all.len()];
    for word in searches.words.find_overlapping_iter(found.text) {
        is_due[searches.of_word[word.pattern().as_usize()]] = true;
    }
    let (is_prose, is_settings) = (is_prose(found.path), is_settings(found.path));
    for (search, _) in searches.all.iter().zip(is_due).filter(|(_, is_due)| *is_due) {
        let reads = match search.rule.reads {
            Reads::All => true,
            Reads::Prose => is_prose,
            Reads::Settings => is_settings,
        };
        if let (true, Some(regex)) = (reads, search.regex.as_ref()) {
            search_for(found, search.rule, regex);
        }
    }
}

/// Adds the first match in each line, unless the match is harmless. After a match, the search continues in the next
/// line, so that the text is read only once.
fn search_for(found: &mut Found<'_>, rule: &'static Rule, regex: &Regex) {
    let text = found.text;
    let mut from = 0;
    while from < text.len() {
        let Some(captures) = regex.captures_at(text.as_bytes(), from) else { return };
        let Some(whole) = captures.get(0) else { return };
        let range = captures.get(1).unwrap_or(whole).range();
        let line = found.line_of(whole.start());
        let before = String::from_utf8_lossy(&text.as_bytes()[found.start_of(line)..range.start]);
        let matched = String::from_utf8_lossy(&text.as_bytes()[range.clone()]);
        if let Some(rule) = judged(rule, &before, &matched) {
            found.add(rule, range);
        }
        from = found.end_of(line).max(from + 1);
    }
}

/// Returns the rule that a match belongs to; `None` if the match is harmless. `before` is the part of the line before
/// the match.
fn judged(rule: &'static Rule, before: &str, matched: &str) -> Option<&'static Rule> {
    let is_rule = |other: &Rule| rule.id == other.id;
    if is_rule(&FETCH_AND_RUN) && is_unsafe(matched) {
        return Some(&FETCH_UNSAFE);
    }
    let is_harmless = is_rule(&CREDENTIALS) && is_placeholder(matched)
        || (is_rule(&OVERRIDE) || is_rule(&SECRECY)) && is_quoted(before)
        || is_rule(&OVERRIDE) && is_negated(before)
        || is_rule(&SECRECY) && matched.contains(" without ") && forbids(before);
    (!is_harmless).then_some(rule)
}

/// Returns whether a text is in quotes. A quoted text describes an instruction and does not give it. `before` is the
/// part of the line before the text.
fn is_quoted(before: &str) -> bool {
    let odd = |quote: char| before.matches(quote).count() % 2 == 1;
    odd('"') || odd('`') || before.matches('“').count() > before.matches('”').count() || before.ends_with('\'')
}

fn is_negated(before: &str) -> bool {
    let before = before.trim_end().to_ascii_lowercase();
    ["not", "never", "n't", "n’t", "to not", "cannot"].iter().any(|word| before.ends_with(word))
}

/// Returns whether a sentence forbids the text that follows it, as in `Never push a change without telling the user`.
fn forbids(before: &str) -> bool {
    let sentence = before.rsplit(". ").next().unwrap_or_default().to_ascii_lowercase();
    ["not ", "never ", "n't ", "n’t ", "avoid ", "no ", "should "].iter().any(|word| sentence.contains(word))
}

/// Sites where anybody can publish a script.
const OPEN_SITES: [&str; 6] = ["pastebin.com", "paste.ee", "transfer.sh", "bit.ly", "tinyurl.com", "ngrok"];

/// Returns whether a script comes from a site where anybody can publish, from a bare IPv4 address, or over plain
/// HTTP. Addresses of this machine are safe.
fn is_unsafe(command: &str) -> bool {
    let command = command.to_ascii_lowercase();
    let mut hosts = command.match_indices("://").map(|(at, _)| (&command[..at], &command[at + 3..]));
    let is_local = |host: &str| ["localhost", "127.", "[::1]", "0.0.0.0"].iter().any(|local| host.starts_with(local));
    let is_address = |host: &str| {
        let host = host.split(['/', ':', '"', '\'']).next().unwrap_or_default();
        host.parse::<std::net::Ipv4Addr>().is_ok()
    };
    hosts.any(|(scheme, host)| !is_local(host) && (scheme.ends_with("http") || is_address(host)))
        || OPEN_SITES.iter().any(|site| command.contains(site))
}

/// Words in the passwords and hosts of examples.
const EXAMPLES: [&str; 30] = [
    "password",
    "passwd",
    "passw0rd",
    "pass",
    "pwd",
    "secret",
    "user",
    "token",
    "key",
    "xxx",
    "***",
    "...",
    "changeme",
    "example",
    "your",
    "my",
    "test",
    "dev",
    "admin",
    "root",
    "postgres",
    "guest",
    "placeholder",
    "redacted",
    "hunter2",
    "foo",
    "1234",
    "pw",
    "cred",
    "app",
];

/// Returns whether the password in an address is harmless: it is missing, short, a placeholder or a typical example
/// such as `changeme`, or the host is local or an example.
fn is_placeholder(address: &str) -> bool {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest).to_ascii_lowercase();
    let Some((user, host)) = rest.rsplit_once('@') else { return true };
    let password = user.split_once(':').map_or("", |(_, password)| password);
    let is_example = |text: &str| EXAMPLES.iter().any(|word| text.contains(word));
    let is_host = host.contains('.') && !["localhost", "127.0.0.1", "0.0.0.0"].contains(&host);
    password.len() < 6
        || is_example(password)
        || password.starts_with(['$', '%', '{', '[', '(', ':'])
        || !is_host
        || ["example", "host", "test", "local"].iter().any(|word| host.contains(word))
}
