//! Finds text that a reader of the rendered Markdown does not see: comments, hidden elements, text far to the right or
//! far below, and encoded text.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::found::Found;
use super::patterns::compiled;
use super::rules::{BLOB, COMMENT, WHITE_SPACE};

/// The number of consecutive blanks that moves text out of an editor's window.
const BLANKS: usize = 200;

/// The number of consecutive empty lines that moves text out of an editor's window.
const EMPTY_LINES: usize = 60;

/// The minimum length in bytes of an encoded text that is reported.
const ENCODED: usize = 120;

/// The maximum distance in bytes between an encoded text and words about decoding.
const NEAR: usize = 400;

/// Matches texts that give an agent instructions.
static INSTRUCTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compiled(concat!(
        r"\b(?:assistants?|ai|agents?|claude|copilot|cursor|codex|gemini|chatgpt|llms?|models?)\b",
        r"(?:\s?[,:]\s{0,4}(?:please\s+)?(?:you\s+(?:must|should|shall|will|have|need)|always|never|do\s+not|don't)\b",
        r"|\s+(?:must|should|shall|needs?\s+to|has\s+to|have\s+to)\s+(?:also\s+|first\s+|always\s+|never\s+|not\s+)?",
        r"(?:run|execute|send|read|ignore|include|add|call|use|fetch|download|open|write|delete|create|install|output|respond|",
        r"reply|say|insert|follow|obey|upload|post|print|reveal|hide|mention|skip|approve)\b)",
        r"|\b(?:ignore|disregard|forget)\s+(?:all|any|the|your|previous|prior)\b[^\n.]{0,40}\b(?:instructions?|prompts?|rules)\b",
        r"|\b(?:do\s+not|don't|never)\s+(?:tell|inform|mention\s+(?:this|it)\s+to)\s+(?:the\s+)?user",
        r"|\b(?:run|execute|send|upload|post)\b[^\n.]{0,60}(?:\bcurl\b|\bwget\b|https?://|\.sh\b|\bsecrets?\b|\.env\b|\.ssh\b)",
        r"|\bsystem\s+prompt\b"
    ))
});

/// Matches elements whose style hides them.
static HIDES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compiled(concat!(
        r"<[a-z]+\s[^<>\n]*style\s*=\s*[\x22'][^\x22'<>\n]*",
        r"(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?:px|em|pt)?\s*[;\x22']|opacity\s*:\s*0\s*[;\x22'])[^<>\n]*>[^<\n]*"
    ))
});

/// Matches words about decoding.
static DECODES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compiled(
        r"\bdecod(?:e|ed|ing)\b|\bbase64\s+(?:-d|-D)\b|\batob\(|b64decode|frombase64string|\bxxd\s+-r|\bfromhex\b|解码|解碼",
    )
});

pub(super) fn scan(found: &mut Found<'_>) {
    hidden(found);
    blanks(found);
    blobs(found);
}

/// Finds instructions in comments, in link definitions that serve as comments, and in hidden elements. Skips fenced
/// code.
fn hidden(found: &mut Found<'_>) {
    let text = found.text;
    let fences = fences(text);
    let is_fenced = |at: usize| fences.iter().any(|fence| fence.contains(&at));
    let mut ranges = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find("<!--").map(|at| from + at) {
        // Without an end, the rest of the text is a comment.
        let end = text[start..].find("-->").map_or(text.len(), |at| start + at);
        ranges.push(start..end);
        from = end;
    }
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let begins = line.trim_start();
        if begins.starts_with("[//]:") || begins.starts_with("[comment]:") || begins.starts_with("[_]:") {
            ranges.push(at..at + line.trim_end().len());
        }
        at += line.len();
    }
    let elements = HIDES.iter().flat_map(|hides| hides.find_iter(text.as_bytes()).map(|element| element.range()));
    let elements: Vec<_> = elements.take(1000).collect();
    ranges.extend(elements);
    for range in ranges {
        let Some(instructs) = INSTRUCTS.as_ref() else { return };
        if let Some(instruction) = instructs.find(&text.as_bytes()[range.clone()])
            && !is_fenced(range.start)
        {
            found.add(&COMMENT, range.start + instruction.start()..range.start + instruction.end());
        }
    }
}

/// Returns the ranges of fenced code, which Markdown shows unchanged.
fn fences(text: &str) -> Vec<Range<usize>> {
    let mut fences = Vec::new();
    let (mut open, mut at) = (None, 0);
    for line in text.split_inclusive('\n') {
        let begins = line.trim_start();
        if begins.starts_with("```") || begins.starts_with("~~~") {
            match open.take() {
                Some(start) => fences.push(start..at),
                None => open = Some(at),
            }
        }
        at += line.len();
    }
    fences
}

fn blanks(found: &mut Found<'_>) {
    let text = found.text;
    let (mut at, mut empty) = (0, 0);
    for line in text.split_inclusive('\n') {
        let content = line.trim_end();
        if content.is_empty() {
            empty += 1;
            at += line.len();
            continue;
        }
        if empty >= EMPTY_LINES {
            found.add(&WHITE_SPACE, at..at + content.len());
        }
        empty = 0;
        let mut run = 0;
        for (offset, byte) in content.bytes().enumerate() {
            match byte {
                b' ' | b'\t' => run += 1,
                // Skip the padding in a table, whose columns may be wide.
                b'|' | b'+' => run = 0,
                _ if run >= BLANKS => {
                    found.add(&WHITE_SPACE, at + offset..at + content.len());
                    break;
                }
                _ => run = 0,
            }
        }
        at += line.len();
    }
}

/// Finds long texts in Base64 or hex that have words about decoding near them. Skips data URLs.
fn blobs(found: &mut Found<'_>) {
    let text = found.text;
    let bytes = text.as_bytes();
    let is_encoded = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let mut at = 0;
    while at < bytes.len() {
        let length = bytes[at..].iter().take_while(|byte| is_encoded(**byte)).count();
        let blob = &bytes[at..at + length];
        if length >= ENCODED && is_blob(blob) && !text[..at].ends_with("base64,") {
            let near = at.saturating_sub(NEAR)..(at + length + NEAR).min(bytes.len());
            let around = [&bytes[near.start..at], &bytes[at + length..near.end]];
            if DECODES.iter().any(|decodes| around.iter().any(|part| decodes.is_match(part))) {
                found.add(&BLOB, at..at + length);
            }
        }
        at += length + 1;
    }
}

/// Returns whether a word looks encoded: it mixes letters and digits, and has too few slashes to be a path.
fn is_blob(word: &[u8]) -> bool {
    let count = |is: fn(&u8) -> bool| word.iter().filter(|byte| is(byte)).count();
    let slashes = count(|byte| *byte == b'/');
    count(u8::is_ascii_digit) > 2 && count(u8::is_ascii_alphabetic) > 10 && slashes * 12 < word.len()
}
