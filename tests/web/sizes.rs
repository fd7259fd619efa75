//! Measures what a browser has to load and to lay out: the bytes of the first page, and a long difference.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use regex::Regex;
use serde_json::json;

use super::chromium::Chromium;
use super::{ground, opened};
use crate::workflow::runs::{create, execute};

/// The largest first page with its style and scripts, in bytes, compressed.
const FIRST_PAGE: usize = 45 << 10;

/// The number of lines in each of the two texts.
const LINES: usize = 20_000;

fn compressed(bytes: &[u8]) -> usize {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("it is compressed");
    encoder.finish().expect("it is compressed").len()
}

#[test]
fn the_first_page_is_small() {
    let (ground, mut client) = ground();
    execute(&mut client, create());
    ground.scratch.ok(&["prompt", "create", "review", "Look for missing tests."]);
    let Some(browser) = opened(&ground, &[]) else { return };
    let loaded = Regex::new(r#"(?:src|rel="stylesheet" href)="(/[^"]*)""#).expect("a pattern");
    for address in ["/inbox", "/feed", "/content", "/all", "/database"] {
        let page = browser.page(address);
        let parts: Vec<&str> =
            loaded.captures_iter(&page).map(|found| found.extract::<1>().1[0]).chain([address]).collect();
        assert!(parts.contains(&"/style.css") && parts.contains(&"/live.js"), "{parts:?}");
        let sizes = parts.iter().map(|part| {
            let body = browser.get(part).body;
            (compressed(&body), body.len())
        });
        let [small, whole] = sizes.fold([0, 0], |sum, (small, whole)| [sum[0] + small, sum[1] + whole]);
        eprintln!("{address}: {small} bytes compressed, {whole} as sent");
        assert!(small <= FIRST_PAGE, "{address}: {small} bytes");
    }
}

#[test]
fn only_the_visible_part_of_a_long_difference_is_laid_out() {
    let (ground, _client) = ground();
    // Every tenth line differs.
    let text = |word: &str| -> String {
        let line = |at: usize| format!("{at} {}\n", if at.is_multiple_of(10) { word } else { "stays as it was" });
        (0..LINES).map(line).collect()
    };
    for (words, word) in [("create", "before"), ("update", "after")] {
        let file = ground.scratch.file("long.md", text(word));
        let content = format!("@{}", file.display());
        match words {
            "create" => ground.scratch.ok(&["prompt", "create", "long", &content]),
            _ => ground.scratch.ok(&["prompt", "update", "long", "--content", &content]),
        };
    }
    let Some(mut browser) = opened(&ground, &[]) else { return };
    let Some(chromium) = Chromium::start(&mut browser) else { return };
    chromium.tool("Performance.enable", json!({}));
    let layout = || {
        let metrics = chromium.tool("Performance.getMetrics", json!({}))["metrics"].clone();
        let found = metrics.as_array().into_iter().flatten().find(|one| one["name"] == "LayoutDuration");
        found.and_then(|one| one["value"].as_f64()).expect("a time")
    };
    chromium.open("/revision?noun=prompt&name=long");
    let lines = chromium.run("return document.querySelectorAll('.hunk .line, .hunk .quoted > *').length");
    let hunks = chromium.run("return document.querySelectorAll('.hunk').length");
    // Lay the page out with another width, three times.
    let median = || {
        let mut times = [900, 1000, 1100].map(|width| {
            let before = layout();
            let script = "document.body.style.width = 'WIDTHpx'; return document.body.offsetHeight";
            assert!(chromium.run(&script.replace("WIDTH", &width.to_string())).as_f64() > Some(10_000.0));
            layout() - before
        });
        times.sort_by(f64::total_cmp);
        times[1]
    };
    let with = median();
    chromium.run(
        "document.styleSheets[0].insertRule('.parts, .hunk { content-visibility: visible !important }', \
                  document.styleSheets[0].cssRules.length); return document.body.offsetHeight",
    );
    let without = median();
    eprintln!(
        "{lines} lines in {hunks} hunks: layout {:.1} ms against {:.1} ms without content-visibility: {:.3}",
        with * 1e3,
        without * 1e3,
        with / without
    );
    assert!(hunks.as_u64() > Some(1_000), "{hunks} hunks");
    assert!(with <= without * 0.1, "{with} s against {without} s");
}
