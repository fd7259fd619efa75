//! Splits text in scripts without spaces, so that an index of words finds any part of it.
//!
//! An index finds words and beginnings of words. Chinese, Japanese and Thai have no spaces between words, and Korean attaches particles
//! to words. A sentence would be one word, and only its beginning would be found. So a run of such letters is indexed as its pairs of
//! letters, one after the other, and its last letter: `日本語` as `日本 本語 語`. A query is split into the same pairs, which occur in a row
//! where the query's text occurs. A single letter finds the pairs that begin with it.
//!
//! Letters that are one to a reader are one here (NFKC): wide and half-wide ones, and those that are composed. Marks such as the tones
//! of Thai do not count, as those of other scripts do not.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The first byte, in UTF-8, of the first letter that is written so; those of shorter encodings, ASCII among them, are lower.
const FIRST_BYTE: u8 = 0xe0;

/// How a query's word ends, which decides what in the index matches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// With a word of a script with spaces: one may begin so.
    Word,
    /// With a letter alone: any pair that begins with it.
    Letter,
    /// With a pair, which is indexed unchanged.
    Pair,
}

/// Whether a letter is of a script that is written without spaces.
pub fn is_spaceless(c: char) -> bool {
    match c {
        ..'\u{e00}' => false,
        // Most Han letters, and the syllables of Hangul: letters all of them.
        '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => true,
        _ => is_in_script(c) && c.is_alphabetic() && !is_combining_mark(c),
    }
}

/// Whether a character is in the ranges of such scripts, letter or not.
fn is_in_script(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}'         // Thai, Lao
        | '\u{1000}'..='\u{109f}'     // Myanmar
        | '\u{1100}'..='\u{11ff}'     // Hangul, as it is decomposed
        | '\u{1780}'..='\u{17ff}'     // Khmer
        | '\u{3005}'..='\u{3007}'     // marks that repeat a letter of Han, and zero
        | '\u{3031}'..='\u{3035}'     // marks that repeat kana
        | '\u{303b}'..='\u{303c}'     // likewise
        | '\u{3040}'..='\u{318f}'     // Hiragana, Katakana, Bopomofo, Hangul
        | '\u{31a0}'..='\u{31bf}'     // Bopomofo
        | '\u{31f0}'..='\u{31ff}'     // Katakana
        | '\u{3400}'..='\u{4dbf}'     // Han
        | '\u{a960}'..='\u{a97f}'     // Hangul
        | '\u{a9e0}'..='\u{a9ff}'     // Myanmar
        | '\u{aa60}'..='\u{aa7f}'     // Myanmar
        | '\u{d7a4}'..='\u{d7ff}'     // Hangul
        | '\u{f900}'..='\u{faff}'     // Han
        | '\u{ff66}'..='\u{ffdc}'     // half-wide Katakana and Hangul
        | '\u{1aff0}'..='\u{1b16f}'   // Katakana, Hiragana
        | '\u{20000}'..='\u{3ffff}'   // Han
    )
}

/// Whether a text holds such letters. Most texts are known by their bytes not to: a letter takes three of them or more.
pub fn is_cut(text: &str) -> bool {
    // Many bytes are compared at once.
    let may_be = |bytes: &[u8]| bytes.iter().fold(false, |any, byte| any | (*byte >= FIRST_BYTE));
    !text.is_ascii() && text.as_bytes().chunks(256).any(may_be) && text.chars().any(is_spaceless)
}

/// Returns the text to index: unchanged, except for runs of such letters.
pub fn cut(text: &str) -> Cow<'_, str> {
    if is_cut(text) { Cow::Owned(Cutting::of(text, true).out) } else { Cow::Borrowed(text) }
}

/// Returns a query's word, or several separated by spaces, in the form of the index, and how it ends.
pub fn asked(text: &str) -> (Cow<'_, str>, Ends) {
    if !is_cut(text) {
        return (Cow::Borrowed(text), Ends::Word);
    }
    let cutting = Cutting::of(text, false);
    (Cow::Owned(cutting.out), cutting.ends)
}

/// A text while it is cut.
struct Cutting {
    out: String,
    run: String,
    /// The last letter of the run before, which belongs there only where something follows in the same word.
    last: Option<char>,
    /// Whether that letter is always written, as the index has it.
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

    /// Writes the last letter of the run before, since its word continues.
    fn go_on(&mut self) {
        if let Some(last) = self.last.take() {
            self.out.push(last);
            self.out.push(' ');
        }
    }

    /// Writes the run as pairs, with spaces around each.
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
    fn other_texts_are_what_they_were() {
        for text in ["", "plain", "Größe, café — “quoted” …", "Ελληνικά Русский עברית العربية हिन्दी", "ＡＢＣ 😀 １２"]
        {
            assert!(matches!(cut(text), Cow::Borrowed(same) if same == text), "{text}");
            assert!(matches!(asked(text), (Cow::Borrowed(same), Ends::Word) if same == text), "{text}");
        }
    }

    #[test]
    fn runs_are_cut_into_pairs_and_their_last_letter() {
        for (text, cut_text) in [
            ("日本語", "日本 本語 語"),
            ("本", "本"),
            ("use日本語now", "use 日本 本語 語 now"),
            ("第3章、終わり。", "第 3 章 、 終わ わり り 。"),
            ("데이터베이스를 쓴다", "데이 이터 터베 베이 이스 스를 를 쓴다 다"),
            // Tones and vowels that are marks do not count.
            ("ที่นี่ 12", "ทน น 12"),
            // What is one letter to a reader is one: half-wide, and composed.
            ("ｶﾞｲﾄﾞ", "ガイ イド ド"),
            ("か\u{3099}く", "がく く"),
            ("\u{1112}\u{1161}\u{11ab}국", "한국 국"),
            ("𠮷野家", "𠮷野 野家 家"),
        ] {
            assert_eq!(words(&cut(text)), cut_text, "{text}");
        }
    }

    #[test]
    fn what_is_asked_for_is_a_row_of_pairs_in_what_the_index_has() {
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
            let (found, how) = asked(text);
            assert_eq!((words(&found).as_str(), how), (asked_text, ends), "{text}");
        }
    }
}
