//! Finds names that use letters of another script to imitate other names.

use super::found::Found;
use super::front::front_matter;
use super::kind::{is_prose, is_settings};
use super::rules::MIXED_SCRIPTS;

/// Returns whether a letter looks like a Latin one. Unicode's table of confusable characters (UTS 39) maps each of
/// these Greek and Armenian letters to a Latin letter. For each of the other scripts and blocks, it maps most
/// letters, so all of them count here.
fn is_lookalike(c: char) -> bool {
    matches!(c, 'Α' | 'Β' | 'Ε' | 'Ζ' | 'Η' | 'Ι' | 'Κ' | 'Μ' | 'Ν' | 'Ο' | 'Ρ' | 'Τ' | 'Υ' | 'Χ' | 'α' | 'γ' | 'ι' | 'κ' | 'ν'
        | 'ο' | 'ρ' | 'σ' | 'υ' | 'ϲ' | 'ϳ' | 'օ' | 'ս' | 'հ' | 'ո' | 'ց' | 'գ' | 'զ' | 'ղ'
        | '\u{400}'..='\u{52f}' | '\u{13a0}'..='\u{13ff}' | '\u{ab70}'..='\u{abbf}' | '\u{a4d0}'..='\u{a4ff}'
        | '\u{2c80}'..='\u{2cff}' | '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}' | '\u{1d400}'..='\u{1d7ff}')
}

/// Returns whether a word has both Latin letters and letters that look like them.
fn is_mixed(name: &str) -> bool {
    !name.is_ascii()
        && name
            .split(|c: char| !c.is_alphanumeric())
            .any(|word| word.chars().any(|c| c.is_ascii_alphabetic()) && word.chars().any(is_lookalike))
}

pub(super) fn scan(found: &mut Found<'_>) {
    if is_mixed(found.path) {
        found.add_path(&MIXED_SCRIPTS);
    }
    if found.text.is_ascii() {
        return;
    }
    let mut names = Vec::new();
    if is_prose(found.path) {
        for (key, range) in front_matter(found.text) {
            if matches!(key, "name" | "tools" | "allowed-tools" | "model") {
                names.push(range);
            }
        }
    }
    if is_settings(found.path) {
        names.extend(keys(found.text));
    }
    for range in names {
        if is_mixed(&found.text[range.clone()]) {
            found.add(&MIXED_SCRIPTS, range);
        }
    }
}

/// Returns the ranges of the keys in a JSON text, such as the names of MCP servers.
fn keys(text: &str) -> Vec<std::ops::Range<usize>> {
    let quotes: Vec<usize> = memchr::memchr_iter(b'"', text.as_bytes()).collect();
    let is_key = |end: usize| text[end + 1..].trim_start().starts_with(':');
    quotes.windows(2).filter(|pair| is_key(pair[1])).map(|pair| pair[0] + 1..pair[1]).collect()
}
