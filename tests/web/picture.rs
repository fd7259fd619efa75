//! Keeps the pictures of pages in docs/pictures current.
//!
//! The pixels of a page depend on the browser and on its fonts. So a picture carries a hash of what the page consists of:
//! its words, its elements and the style. A picture with the right hash is current. With `UPDATE_DOCS=1`, all others are
//! taken again.

use std::path::Path;

use mcpkg_base::sha256;
use regex::Regex;

use super::chromium::Chromium;

/// A script that replaces the addresses of the test's servers, and the paths of its files.
const PLACES: &str = r"
    const all = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = all.nextNode(); node; node = all.nextNode()) {
        const text = node.data.replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:8080').replace(/\/\S*\/test\.db/g, '/srv/mcpkg/team.db');
        if (text !== node.data) node.data = text;
    }";

/// A script that returns the elements of a page with their classes and their own words. The figures of charts differ each
/// time, and so do the parts of an editor.
const PARTS: &str = "
    const own = (node) => [...node.childNodes].filter((part) => part.nodeType === 3).map((part) => part.data).join('');
    const all = [...document.body.querySelectorAll(':not(svg *, input[type=hidden], .cm-editor, .cm-editor *, .chart td:nth-child(n+4), .chart td:nth-child(n+4) *)')];
    return all.map((node) => `${node.localName}.${node.className.baseVal ?? node.className} ${own(node)}`).join('\\n')";

/// The name of the text in a PNG file that holds the hash.
const NAME: &[u8] = b"tEXtpage\0";

/// The length of a PNG file's signature and its first chunk. The text follows them.
const HEAD: usize = 33;

const STYLE: &str = include_str!("../../src/web/style.css");

/// Replaces what differs from run to run: ids, times and numbers.
fn same_each_time(text: &str) -> String {
    let replaced = [
        (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "ID"),
        (r"\b[0-9a-f]{12,}\b", "ID"),
        (r"\b\d{1,2} [A-Z][a-z]{2}\b", "DAY"),
        (r"\d+([.:-]\d+)*( (ms|s|min|h|B|bytes|KiB|MiB)\b)*", "N"),
        (r"[ \n]+", " "),
    ];
    replaced.iter().fold(text.to_owned(), |text, (found, instead)| {
        Regex::new(found).expect("a pattern").replace_all(&text, *instead).into_owned()
    })
}

/// Checks the picture of a page with a theme and a size, or takes it.
#[track_caller]
pub fn check(chromium: &Chromium, name: &str, theme: &str, (width, height): (u32, u32)) {
    chromium.theme(theme);
    chromium.size(width, height);
    // The focus and the pointer are of no interest.
    chromium.run("document.activeElement?.blur(); scrollTo(0, 0)");
    chromium.run(PLACES);
    let parts = chromium.run(PARTS);
    let parts = same_each_time(parts.as_str().expect("a text"));
    let hash = sha256::hex(format!("{theme} {width} {height}\n{STYLE}\n{parts}"));
    let file = format!("{name}.png");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pictures").join(&file);
    let is_current = std::fs::read(&path).is_ok_and(|found| hash_of(&found) == Some(hash.as_bytes()));
    if !is_current && std::env::var_os("UPDATE_DOCS").is_some() {
        let picture = chromium.picture(width, height);
        std::fs::write(&path, with_hash(&picture, &hash)).expect("a picture is written");
        return;
    }
    assert!(is_current, "docs/pictures/{file} is not current: run `UPDATE_DOCS=1 cargo test docs`\n{parts}");
}

/// Checks the pictures of a page with the light and with the dark theme.
#[track_caller]
pub fn check_both(chromium: &Chromium, name: &str, size: (u32, u32)) {
    check(chromium, &format!("{name}-dark"), "dark", size);
    check(chromium, name, "light", size);
}

fn hash_of(png: &[u8]) -> Option<&[u8]> {
    png.get(HEAD + 4..)?.strip_prefix(NAME)?.get(..64)
}

fn with_hash(png: &[u8], hash: &str) -> Vec<u8> {
    let text = [NAME, hash.as_bytes()].concat();
    let mut sum = flate2::Crc::new();
    sum.update(&text);
    let length = u32::try_from(text.len() - 4).expect("it is short").to_be_bytes();
    let (head, rest) = png.split_at(HEAD);
    [head, &length, &text, &sum.sum().to_be_bytes(), rest].concat()
}
