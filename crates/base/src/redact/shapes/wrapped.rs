//! Finds the rest of a secret on the next lines, if a program wraps its lines.

use super::span::Matches;

/// The minimum width of a line that counts as wrapped.
const NARROWEST: usize = 60;

/// The minimum length of a secret's part at the end of a line. The part on the next line may be shorter if it does not
/// look like an ordinary word.
const SHORTEST: usize = 16;

/// The most lines that one secret may take up.
const MOST: usize = 64;

/// Hides the rest of each secret that ends at a line's end and continues at the start of the following lines.
pub fn find(text: &str, found: &mut Matches) {
    let mut more = Vec::new();
    let mut open = None;
    for span in &found.spans {
        let (start, mut end) = (span.range.start, span.range.end);
        if end - start < SHORTEST || text[start..end].contains('\n') {
            continue;
        }
        // Only one secret can end a line, so the rest of the loop runs once per line.
        if line_end(&text[end..]).is_none() {
            continue;
        }
        let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
        let width = end - line;
        if width < NARROWEST {
            continue;
        }
        for _ in 0..MOST {
            let Some(next) = line_end(&text[end..]).map(|size| end + size) else { break };
            if next == text.len() {
                open = Some(open.map_or(line, |open: usize| open.min(line)));
                break;
            }
            let from = next + text[next..].bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            let size = text[from..].bytes().take_while(is_in_word).count();
            if !is_rest(&text[from..from + size]) || !ends_line(&text[from + size..]) {
                break;
            }
            more.push(from..from + size);
            end = from + size;
            if end - next + 1 < width {
                break;
            }
        }
    }
    open.into_iter().for_each(|from| found.goes_on(from));
    more.into_iter().for_each(|range| found.hide(range));
}

fn is_in_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-' | b'.' | b'~')
}

/// Whether a word can be the rest of a secret: it is long, or does not look like an ordinary word.
fn is_rest(word: &str) -> bool {
    let has = |is: fn(&u8) -> bool| word.bytes().any(|byte| is(&byte));
    let is_mixed = word.bytes().skip(1).any(|byte| byte.is_ascii_uppercase()) && has(u8::is_ascii_lowercase);
    word.len() >= SHORTEST || (has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)) || is_mixed
}

/// Returns the length of the line end at the start of a text.
fn line_end(text: &str) -> Option<usize> {
    ["\n", "\r\n", "\\\n"].iter().find(|end| text.starts_with(**end)).map(|end| end.len())
}

/// Whether the line ends here, apart from characters that close a text.
fn ends_line(text: &str) -> bool {
    text.trim_start_matches(['"', '\'', ',', ';', '\\', ')', '}', '\r']).starts_with('\n') || text.is_empty()
}
