//! Tests the rendered preview of content: hostile Markdown, images of the project, and the raw text beside it.

use super::browser::links;
use super::{ground, opened, text};
use crate::support::Request;

/// A picture of one pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";

const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"/>";

const SKILL: &str = "---\nname: tidy\ndescription: Tidies up\n---\n# Tidy\n\nRead [the list](list.md) and [a page](https://a.example/x).\n\n\
    ![A chart](img/chart.png) ![Remote](https://evil.example/pixel.png) ![Vector](img/vector.svg) ![Out](../other/x.png)\n\n\
    <script>alert(1)</script>\n\n[click](javascript:alert(1)) \u{202e}hidden\n\n[//]: # (secret orders)\n";

#[test]
fn markdown_is_rendered_and_the_raw_text_is_beside_it() {
    let (ground, _client) = ground();
    let scratch = &ground.scratch;
    let chart = format!("@{}", scratch.file("chart.png", PNG).display());
    let vector = format!("@{}", scratch.file("vector.svg", SVG).display());
    scratch.ok(&["resource", "create", "tidy", "skill://tidy/SKILL.md", SKILL]);
    scratch.ok(&["resource", "create", "list", "skill://tidy/list.md", "- one\n- two"]);
    scratch.ok(&["resource", "create", "chart", "skill://tidy/img/chart.png", &chart]);
    scratch.ok(&["resource", "create", "vector", "skill://tidy/img/vector.svg", &vector]);
    scratch.ok(&["prompt", "create", "review", "## Steps\n\n1. Look."]);
    let Some(browser) = opened(&ground, &[]) else { return };
    let page = browser.page("/skill?name=tidy");
    let body = page.split_once("class=\"quoted markdown\"").expect("it is rendered").1;
    assert!(body.contains("<h2>Tidy</h2>") && body.contains("front matter"), "{body}");
    assert!(body.contains("<a href=\"/resource?uri=skill%3A%2F%2Ftidy%2Flist.md\">the list</a>"), "{body}");
    assert!(body.contains("<a rel=\"noopener noreferrer\" href=\"https://a.example/x\">a page</a>"), "{body}");
    // Only an image of the skill is loaded. All others are links or text.
    assert_eq!(body.matches("<img ").count(), 1, "{body}");
    assert!(body.contains("<img src=\"/image?uri=skill%3A%2F%2Ftidy%2Fimg%2Fchart.png\""), "{body}");
    let shown = text(body);
    for part in [
        "A chart (img/chart.png)",
        "Remote (https://evil.example/pixel.png)",
        "<script>alert(1)</script>",
        "click (javascript:alert(1))",
        "<U+202E>hidden",
        "secret orders",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(links(&page).iter().all(|link| !link.contains("javascript") && !link.contains("other/x")), "{page}");
    // The views are plain links.
    let views = ["view=0", "view=1", "view=2"].map(|view| format!("/skill?name=tidy&{view}"));
    assert!(views.iter().all(|view| links(&page).contains(view)), "{:?}", links(&page));
    let raw = text(&browser.page(&views[0]));
    assert!(raw.contains("![A chart](img/chart.png)") && raw.contains("# Tidy"), "{raw}");
    assert!(text(&browser.page(&views[2])).contains("skill:tidy"));
    assert!(browser.page("/prompt?name=review").contains("<h2>Steps</h2><ol><li>Look.</li></ol>"));
    let image = browser.page("/resource?uri=skill%3A%2F%2Ftidy%2Fimg%2Fchart.png");
    assert!(image.contains("<img src=\"/image?uri=skill%3A%2F%2Ftidy%2Fimg%2Fchart.png\""), "{image}");
}

#[test]
fn only_images_of_four_types_are_served_and_only_to_a_session() {
    let (ground, _client) = ground();
    let scratch = &ground.scratch;
    let kept = |name: &str, content: &[u8]| {
        let file = format!("@{}", scratch.file(name, content).display());
        scratch.ok(&["resource", "create", name, &format!("file:///{name}"), &file]);
    };
    kept("a.png", PNG);
    kept("vector.svg", SVG.as_bytes());
    // A page that pretends to be an image.
    kept("page.png", b"<html><script>alert(1)</script>\0\xff");
    kept("notes.md", b"![x](a.png)");
    let Some(browser) = opened(&ground, &[]) else { return };
    let address = |name: &str| format!("/image?uri=file%3A%2F%2F%2F{name}");
    let found = browser.get(&address("a.png"));
    assert_eq!((found.status, found.header("content-type"), &found.body[..]), (200, Some("image/png"), PNG));
    assert_eq!(found.header("x-content-type-options"), Some("nosniff"));
    assert!(found.header("content-security-policy").is_some_and(|policy| policy.starts_with("default-src 'none'")));
    for name in ["vector.svg", "page.png", "notes.md"] {
        let refused = browser.get(&address(name));
        assert_eq!((refused.status, refused.header("content-type")), (415, Some("text/html; charset=utf-8")), "{name}");
        assert!(!refused.text().contains("alert"), "{name}: {}", refused.text());
    }
    assert_eq!(browser.get(&address("missing.png")).status, 404);
    let status = |request: &Request| browser.send(request).status;
    let good = browser.request("GET", &address("a.png"));
    assert_eq!(status(&good.clone().without("Cookie")), 401);
    assert_eq!(status(&good.with("Host", "evil.example")), 403);
}
