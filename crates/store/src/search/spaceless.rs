//! Splits text in scripts without spaces into pairs of letters, so that a search finds any part of it.
//!
//! An index finds words and beginnings of words. Chinese, Japanese and Thai have no spaces between words, and Korean attaches
//! particles to words. A sentence would be one word, and only its beginning would be found. So a run of letters of
//! these scripts is indexed as its overlapping pairs of letters, followed by its last letter: `日本語` becomes `日本 本語
//! 語`. A query is split into the same pairs, which follow each other wherever the query's text occurs. A query of a
//! single letter finds the pairs that begin with it.
//!
//! Different forms of the same letter are treated as equal (NFKC): full-width, half-width and composed forms. Marks such as the
//! tones of Thai are ignored, like the marks of other scripts.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// In UTF-8, each letter of a script without spaces begins with this byte or a higher one. Characters with shorter
/// encodings, such as ASCII, begin with a lower byte.
const FIRST_BYTE: u8 = 0xe0;

/// The end of a query's word, which decides what the word matches in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// A word of a script with spaces. It may match the beginning of a longer word.
    Word,
    /// A single letter. It matches any pair that begins with it.
    Letter,
    /// A pair of letters, which must match exactly.
    Pair,
}

/// Whether a character is a letter of a script without spaces.
pub fn is_spaceless(c: char) -> bool {
    match c {
        ..'\u{e00}' => false,
        // Fast path: most Han letters and Hangul syllables. All characters in these ranges are letters.
        '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => true,
        _ => is_in_script(c) && c.is_alphabetic() && !is_combining_mark(c),
    }
}

/// Whether a character is in the ranges of scripts without spaces, even if it is not a letter.
fn is_in_script(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}'         // Thai, Lao
        | '\u{1000}'..='\u{109f}'     // Myanmar
        | '\u{1100}'..='\u{11ff}'     // decomposed Hangul
        | '\u{1780}'..='\u{17ff}'     // Khmer
        | '\u{3005}'..='\u{3007}'     // marks that repeat a Han letter, and zero
        | '\u{3031}'..='\u{3035}'     // marks that repeat kana
        | '\u{303b}'..='\u{303c}'     // marks that repeat kana
        | '\u{3040}'..='\u{318f}'     // Hiragana, Katakana, Bopomofo, Hangul
        | '\u{31a0}'..='\u{31bf}'     // Bopomofo
        | '\u{31f0}'..='\u{31ff}'     // Katakana
        | '\u{3400}'..='\u{4dbf}'     // Han
        | '\u{a960}'..='\u{a97f}'     // Hangul
        | '\u{a9e0}'..='\u{a9ff}'     // Myanmar
        | '\u{aa60}'..='\u{aa7f}'     // Myanmar
        | '\u{d7a4}'..='\u{d7ff}'     // Hangul
        | '\u{f900}'..='\u{faff}'     // Han
        | '\u{ff66}'..='\u{ffdc}'     // half-width Katakana and Hangul
        | '\u{1aff0}'..='\u{1b16f}'   // Katakana, Hiragana
        | '\u{20000}'..='\u{3ffff}'   // Han
    )
}

/// Whether a text contains letters of scripts without spaces. Checking bytes first rules out most texts, since such a
/// letter takes at least three bytes.
pub fn is_cut(text: &str) -> bool {
    // Comparing in chunks lets the compiler compare many bytes at once.
    let may_be = |bytes: &[u8]| bytes.iter().fold(false, |any, byte| any | (*byte >= FIRST_BYTE));
    !text.is_ascii() && text.as_bytes().chunks(256).any(may_be) && text.chars().any(is_spaceless)
}

/// Returns the text to index: unchanged, except for runs of letters of scripts without spaces.
pub fn cut(text: &str) -> Cow<'_, str> {
    if is_cut(text) { Cow::Owned(Cutting::of(text, true).out) } else { Cow::Borrowed(text) }
}

/// Converts a word of a query, or several separated by spaces, into the form of the index. Also returns how the last word
/// ends.
pub fn query_word(text: &str) -> (Cow<'_, str>, Ends) {
    if !is_cut(text) {
        return (Cow::Borrowed(text), Ends::Word);
    }
    let cutting = Cutting::of(text, false);
    (Cow::Owned(cutting.out), cutting.ends)
}

/// The state while a text is being split.
struct Cutting {
    out: String,
    run: String,
    /// The last letter of the previous run. In a query it is written only if the same word continues after the run.
    last: Option<char>,
    /// Whether the last letter of each run is always written, as in the index.
    with_last: bool,
    ends: Ends,
}

impl Cutting {
    fn of(text: &str, with_last: bool) -> Self {
        let out = String::with_capacity(text.len() * 2);
        let mut cutting = Self { out, run: String::new(), last: None, with_last, ends: Ends::Word };
        for c in text.chars() {
            if is_spaceless(c) {
                cutting.go_on();
                cutting.run.push(c);
            } else if !cutting.run.is_empty() && is_combining_mark(c) {
                cutting.run.push(c);
            } else {
                cutting.end_run();
                if c.is_whitespace() {
                    cutting.last = None;
                } else if c.is_alphanumeric() {
                    cutting.go_on();
                    cutting.ends = Ends::Word;
                }
                cutting.out.push(c);
            }
        }
        cutting.end_run();
        cutting
    }

    /// Writes the last letter of the previous run, since its word continues.
    fn go_on(&mut self) {
        if let Some(last) = self.last.take() {
            self.out.push(last);
            self.out.push(' ');
        }
    }

    /// Writes the run as pairs, each surrounded by spaces.
    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        let mut letters = run.nfkc().filter(|c| !is_combining_mark(*c));
        let Some(mut before) = letters.next() else { return };
        self.ends = Ends::Letter;
        self.out.push(' ');
        for letter in letters {
            self.out.extend([before, letter, ' ']);
            before = letter;
            self.ends = Ends::Pair;
        }
        if self.with_last || self.ends == Ends::Letter {
            self.out.extend([before, ' ']);
        } else {
            self.last = Some(before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn texts_in_scripts_with_spaces_are_unchanged() {
        for text in ["", "plain", "Größe, café — “quoted” …", "Ελληνικά Русский עברית العربية हिन्दी", "ＡＢＣ 😀 １２"]
        {
            assert!(matches!(cut(text), Cow::Borrowed(same) if same == text), "{text}");
            assert!(matches!(query_word(text), (Cow::Borrowed(same), Ends::Word) if same == text), "{text}");
        }
    }

    #[test]
    fn letters_without_spaces_are_cut_into_pairs_and_the_last_letter() {
        for (text, cut_text) in [
            ("日本語", "日本 本語 語"),
            ("本", "本"),
            ("use日本語now", "use 日本 本語 語 now"),
            ("第3章、終わり。", "第 3 章 、 終わ わり り 。"),
            ("데이터베이스를 쓴다", "데이 이터 터베 베이 이스 스를 를 쓴다 다"),
            // Tones and vowels that are marks are ignored.
            ("ที่นี่ 12", "ทน น 12"),
            // Half-width and decomposed forms are equal to the usual letter.
            ("ｶﾞｲﾄﾞ", "ガイ イド ド"),
            ("か\u{3099}く", "がく く"),
            ("\u{1112}\u{1161}\u{11ab}국", "한국 국"),
            ("𠮷野家", "𠮷野 野家 家"),
        ] {
            assert_eq!(words(&cut(text)), cut_text, "{text}");
        }
    }

    #[test]
    fn a_query_word_becomes_pairs_that_the_index_contains() {
        for (text, asked_text, ends) in [
            ("日本語", "日本 本語", Ends::Pair),
            ("本", "本", Ends::Letter),
            ("本語now", "本語 語 now", Ends::Word),
            ("now日", "now 日", Ends::Letter),
            ("第3章", "第 3 章", Ends::Letter),
            ("日本・東京", "日本 ・本 東京", Ends::Pair),
            ("日本。", "日本 。", Ends::Pair),
            ("日本 東京", "日本 東京", Ends::Pair),
            ("ที่", "ท", Ends::Letter),
        ] {
            let (found, how) = query_word(text);
            assert_eq!((words(&found).as_str(), how), (asked_text, ends), "{text}");
        }
    }
}
