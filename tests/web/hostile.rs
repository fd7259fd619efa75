//! Tests that text from others is shown as text on every page: it cannot add a tag, an attribute, a script or a link to
//! another site.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::json;

use super::browser::links;
use super::{Browser, text};
use crate::console::ground::filled;
use crate::workflow::runs::execute;

/// Text that tries to end a tag, an attribute, a comment or a text area, and to run a script.
const MARKUP: &str = "</textarea></title>\"'><script>alert(1)</script><img src=//evil.example onerror=alert(1)>\
                      <a href=\"javascript:alert(1)\">Approved</a><!-- &lt;b&gt; &#60;b&#62;";

/// The tags that pages may contain.
const TAGS: [&str; 57] = [
    "html",
    "head",
    "meta",
    "title",
    "link",
    "body",
    "a",
    "header",
    "nav",
    "ul",
    "li",
    "form",
    "input",
    "button",
    "main",
    "h1",
    "h2",
    "p",
    "code",
    "div",
    "span",
    "strong",
    "mark",
    "search",
    "label",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "section",
    "select",
    "option",
    "textarea",
    "em",
    "ol",
    "dl",
    "dt",
    "dd",
    "br",
    "small",
    "pre",
    "figure",
    "figcaption",
    "svg",
    "path",
    "rect",
    "circle",
    "text",
    "h3",
    "blockquote",
    "hr",
    "img",
    "del",
    "h4",
    "h5",
];

#[test]
fn hostile_text_is_text_on_every_page() {
    let (ground, mut client) = filled();
    let scratch = &ground.scratch;
    scratch.ok(&["prompt", "create", "marked", MARKUP, "--description", MARKUP]);
    scratch.ok(&["resource", "create", "page", "file:///page.html", MARKUP, "--description", MARKUP]);
    scratch.ok(&["prompt", "update", "marked", "--content", &format!("{MARKUP} and more")]);
    let arguments = json!({ "name": MARKUP, "region": "eu" });
    let asked = json!({ "command": "hosting:apps:create", "args": arguments, "wait_s": 0, "reason": MARKUP });
    execute(&mut client, asked);
    let yaml =
        format!("workflow: marked\ndescription: {}\nsteps:\n  - id: a\n    run: hosting:apps:list\n", json!(MARKUP));
    client
        .result("tools/call", json!({ "name": "propose_workflow", "arguments": { "yaml": yaml, "message": MARKUP } }));
    let mut command = scratch.command();
    command.current_dir(scratch.path().join("root"));
    let Some(browser) = Browser::start(command, &[]) else { return crate::support::skipped(super::NO_SCRIPT) };
    let known = BTreeSet::from(TAGS);
    let tag = Regex::new(r"<([a-zA-Z!?][a-zA-Z0-9-]*)([^>]*)>").expect("a pattern");
    let acts = Regex::new(r#"(?i)\s(on[a-z]+|style|src|srcdoc|formaction)\s*="#).expect("a pattern");
    let quoted = Regex::new(r#""[^"]*""#).expect("a pattern");
    let own_script = r#"^<script src="/(live\.js|(codemirror|editor)\.js\?[0-9a-f]{16})" defer>$"#;
    let own_script = Regex::new(own_script).expect("a pattern");
    let (mut shown, mut kinds) = (0, BTreeSet::new());
    let pages = browser.crawl();
    let fields =
        Regex::new(r#"(?s)<textarea.*?</textarea>|(?:value|href|action|data-text)="[^"]*""#).expect("a pattern");
    for (address, response) in &pages {
        let page = response.text();
        kinds.insert(address.split('?').next().unwrap_or_default().to_owned());
        for found in tag.captures_iter(&page) {
            let name = found[1].to_lowercase();
            if own_script.is_match(&found[0]) {
                continue;
            }
            assert!(name.starts_with('!') || known.contains(name.as_str()), "{address}: <{name}> in {page}");
            // A page loads images of the project only.
            let rest = found[2].strip_prefix(" src=\"/image?uri=").filter(|_| name == "img").unwrap_or(&found[2]);
            let bare = quoted.replace_all(rest, "\"\"");
            assert!(!acts.is_match(&bare), "{address}: {}", &found[0]);
        }
        let away = " rel=\"noopener noreferrer\" href=\"http";
        for link in links(&page.replace(away, "")) {
            assert!(
                link.starts_with('/') && !link.starts_with("//") || link == "#content" || link == "data:,",
                "{address}: {link}"
            );
        }
        // Fields for editing keep the text unchanged. Everything else shows hidden characters as marks.
        let outside = fields.replace_all(&page, "");
        for hidden in ['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}', '\u{200b}', '\u{e0041}'] {
            assert!(!outside.contains(hidden), "{address}: {hidden:?}");
        }
        assert_eq!(page.matches("<h1").count(), 1, "{address}");
        assert_eq!(page.matches("<main ").count(), 1, "{address}");
        assert!(page.contains("<html lang=\"en\">"), "{address}");
        if text(&page).contains("<script>alert(1)</script>") {
            shown += 1;
        }
    }
    assert!(shown >= 6, "{shown} pages show it");
    for kind in [
        "/inbox",
        "/feed",
        "/content",
        "/request",
        "/draft",
        "/draft-diff",
        "/prompt",
        "/resource",
        "/history",
        "/event",
        "/undo",
        "/workflow",
        "/editor",
        "/edit",
        "/form",
        "/deploy",
        "/list",
        "/palette",
        "/run",
    ] {
        assert!(kinds.contains(kind), "{kind} is not among {kinds:?}");
    }
}

#[test]
fn each_field_has_a_label_and_each_table_its_headers() {
    let (ground, _client) = filled();
    let mut command = ground.scratch.command();
    command.current_dir(ground.scratch.path().join("root"));
    let Some(browser) = Browser::start(command, &[]) else { return crate::support::skipped(super::NO_SCRIPT) };
    let field = Regex::new(r#"<(?:input|select|textarea)([^>]*)>"#).expect("a pattern");
    let id = Regex::new(r#" id="([^"]*)""#).expect("a pattern");
    for (address, response) in browser.crawl() {
        let page = response.text();
        for found in field.captures_iter(&page).filter(|found| !found[1].contains("type=\"hidden\"")) {
            let id = id.captures(&found[1]).unwrap_or_else(|| panic!("{address}: {}", &found[0]))[1].to_owned();
            assert_eq!(page.matches(&format!(" for=\"{id}\"")).count(), 1, "{address}: {id}");
            assert_eq!(page.matches(&format!(" id=\"{id}\"")).count(), 1, "{address}: {id}");
        }
        for at in ["/inbox", "/feed"] {
            let has_rows = address == at && page.contains("<td ");
            assert!(!has_rows || page.contains("<th scope=\"col\""), "{address}");
        }
    }
}
