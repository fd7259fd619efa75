//! Tests deploys in the browser: what their questions say, files that changed on both sides, and refused rollbacks.

use super::{Browser, NO_SCRIPT, text};
use crate::deploy::place::Place;
use crate::support::skipped;

/// Text with hidden characters, which are a critical finding.
const HIDDEN: &str = "Be kind.\u{e0072}\u{e0075}\u{e006e}\n";

const COMMAND: &str = "root/.claude/commands/review.md";

/// Returns a place with the project `p`, whose root is a git repository.
fn place() -> Place {
    let place = Place::with_project();
    place.git(&place.root(), &["init", "-q"]);
    place
}

/// Returns a place with a deployed prompt that was changed both on disk and in the project.
fn changed_on_both_sides() -> Place {
    let place = place();
    place.prompt("review", "One.\n\nTwo.\n");
    place.deploy(&["--target", "claude_code"]);
    place.write(COMMAND, place.read(COMMAND).replace("One.", "One, on disk."));
    place.prompt("review", "One.\n\nTwo, in the project.\n");
    place
}

fn opened(place: &Place) -> Option<Browser> {
    let browser = Browser::start(place.command(), &[]);
    if browser.is_none() {
        skipped(NO_SCRIPT);
    }
    browser
}

/// Returns the address of the first link with this label, as its element shows it.
fn link(page: &str, label: &str) -> String {
    let pattern = format!(r#"<a [^>]*href="([^"]+)"[^>]*>{label}</a>"#);
    let found = regex::Regex::new(&pattern).expect("a pattern").captures(page).map(|found| found[1].to_owned());
    found.unwrap_or_else(|| panic!("no link {label}: {page}")).replace("&amp;", "&")
}

#[test]
fn a_deploy_asks_about_the_findings_that_it_accepts_and_the_files_that_it_replaces() {
    let place = place();
    place.prompt("bad", HIDDEN);
    place.write(COMMAND, "Mine.\n");
    let Some(browser) = opened(&place) else { return };
    let page = browser.page("/deploy");
    assert!(page.contains(">Leave out</a>") && !page.contains("In or out"), "{page}");
    let page = browser.page(&link(&page, "Take in"));
    let question = browser.pressed(&page, "apply", &[]);
    let shown = text(&question);
    for part in [
        "0 to delete)? This replaces 1 file that you wrote: .claude/commands/review.md; its old text is kept. Yes also \
         accepts",
        "`tags` at .claude/commands/bad.md:1:9",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("needs --adopt"), "{shown}");
    // The table of the question is whole: no column and no path is cut.
    assert!(!question.contains('\u{2026}'), "{question}");
    assert!(question.contains("class=\"quoted aligned\""), "{question}");
    assert!(shown.contains("would overwrite unmanaged existing file"), "{shown}");
    let done = text(&browser.pressed(&question, "Yes", &[]));
    assert!(done.contains("Deployed to"), "{done}");
    let data = place.scratch.json(&["finding", "list"]);
    let findings = data["findings"].as_array().expect("findings");
    assert!(!findings.is_empty() && findings.iter().all(|one| one["reason"] == "accepted in a browser"), "{data:#}");
}

#[test]
fn a_file_that_changed_on_both_sides_can_be_replaced_or_edited_from_its_page() {
    let place = changed_on_both_sides();
    let Some(browser) = opened(&place) else { return };
    // Nothing can be proposed, and the page does not call that done.
    let question = browser.pressed(&browser.page("/deploy"), "find changes", &[]);
    let answer = browser.pressed(&question, "Yes", &[]);
    let shown = text(&answer);
    assert!(shown.contains("Nothing was recorded: skipped 1 changed file (its source changed too)"), "{shown}");
    assert!(shown.contains("mcpkg deploy --apply --only") && !shown.contains("Done"), "{shown}");
    assert!(answer.contains("<p class=\"warning\" role=\"status\">Nothing was recorded"), "{answer}");
    let inbox = browser.page("/inbox");
    let links = super::browser::links(&inbox);
    let file = links.iter().find(|link| link.starts_with("/file?")).expect("the page of the file");
    let page = browser.page(file);
    assert_eq!(link(&page, "Edit"), "/edit?prompt=review");
    let question = browser.pressed(&page, "take the project's text", &[]);
    let shown = text(&question);
    let sentence = "This replaces 1 file that you changed: .claude/commands/review.md; its old text is kept.";
    assert!(shown.contains(sentence), "{shown}");
    browser.pressed(&question, "Yes", &[]);
    assert_eq!(place.read(COMMAND).trim_end(), "One.\n\nTwo, in the project.");
}

#[test]
fn a_refused_rollback_offers_a_preview_and_replacing_the_files() {
    let place = changed_on_both_sides();
    let Some(browser) = opened(&place) else { return };
    let snapshots = browser.page("/snapshots");
    let refused = browser.press_of(&snapshots, "bring back", "pristine", &[]);
    let refused = browser.follow(&refused);
    assert!(text(&refused).contains("that changed after mcpkg wrote them"), "{}", text(&refused));
    let preview = text(&browser.pressed(&refused, "Show what would change", &[]));
    assert!(preview.contains("1 needs --adopt") && preview.contains("One, on disk."), "{preview}");
    assert!(place.read(COMMAND).contains("One, on disk."));
    let question = browser.pressed(&refused, "Bring back, and replace this file", &[]);
    let shown = text(&question);
    assert!(shown.contains("This deletes 1 file that you changed: .claude/commands/review.md;"), "{shown}");
    assert!(shown.contains("Type pristine to confirm"), "{shown}");
    let done = text(&browser.pressed(&question, "Yes", &[("typed", "pristine")]));
    assert!(done.contains("back to pristine"), "{done}");
    assert!(!place.exists(COMMAND));
}

#[test]
fn a_finding_names_the_stored_item_and_leads_to_it() {
    let place = place();
    // The file of the prompt is clean.
    place.write(COMMAND, "Clean.\n");
    place.ok(&["import", &place.root().join(".claude").display().to_string(), "--update"]);
    place.prompt("review", HIDDEN);
    let Some(browser) = opened(&place) else { return };
    let inbox = browser.page("/inbox");
    let shown = text(&inbox);
    assert!(shown.contains("1 critical finding of `tags`: prompt review"), "{shown}");
    assert!(inbox.contains(">Mark as harmless</button>"), "{inbox}");
    let links = super::browser::links(&inbox);
    let page = browser.page(links.iter().find(|link| link.starts_with("/audit?")).expect("the page of the audit"));
    assert!(text(&page).contains("critical tags: invisible tag characters"), "{}", text(&page));
    assert_eq!(link(&page, "<span class=\"name\">prompt review</span>"), "/prompt?name=review");
    // The editor uses the same word, and its question repeats the finding.
    let editor = browser.page("/edit?prompt=review");
    assert!(text(&editor).contains("1 critical finding, first line 1"), "{}", text(&editor));
    assert!(text(&editor).contains("Critical line 1, column 9"), "{}", text(&editor));
    let form =
        super::browser::forms(&editor).into_iter().find(|form| form.action.starts_with("/edit")).expect("a form");
    let old = form.fields.iter().find(|(name, _)| name == "text").expect("a text").1.clone();
    let question = text(&browser.pressed(&editor, "Save", &[("text", &format!("{old}More.\n"))]));
    let question = question.split_whitespace().collect::<Vec<_>>().join(" ");
    let finding = "The text has 1 critical finding: critical line 1, column 9: invisible tag characters";
    assert!(question.contains(finding) && question.contains("Save this text?"), "{question}");
}
