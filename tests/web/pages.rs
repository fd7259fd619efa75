//! Tests the pages of the console: text, filters, views, forms and the editor.

use serde_json::json;

use super::browser::{forms, links};
use super::{ground, opened, text};
use crate::support::skill;

#[test]
fn the_content_is_found_shown_and_compared() {
    let (ground, _client) = ground();
    for name in ["review", "other"] {
        ground.scratch.ok(&["prompt", "create", name, "Look for missing tests.\nThen for names."]);
    }
    ground.scratch.ok(&["prompt", "update", "review", "--content", "Look for missing tests first.\nThen for names."]);
    let Some(browser) = opened(&ground, &[]) else { return };
    let content = browser.page("/content");
    assert!(
        text(&content).contains("PROMPTS") && links(&content).contains(&"/prompt?name=review".to_owned()),
        "{content}"
    );
    let found = browser.page("/content?q=revi");
    assert!(text(&found).contains("review") && !text(&found).contains("other"), "{}", text(&found));
    assert!(text(&browser.page("/content?q=nothing")).contains("No row has these words"));
    let prompt = browser.page("/prompt?name=review");
    assert!(text(&prompt).contains("Look for missing tests first."), "{}", text(&prompt));
    assert!(prompt.contains("<nav class=\"views\""), "{prompt}");
    let history = browser.page("/history?noun=prompt&name=review");
    let revision = links(&history).into_iter().find(|link| link.starts_with("/revision?")).expect("a revision");
    let diff = browser.page(&revision);
    assert!(diff.contains("class=\"added\"") && diff.contains("class=\"removed\""), "{diff}");
    let columns = browser.page(&format!("{revision}&split=1"));
    assert!(columns.contains("<table class=\"columns\">") || !diff.contains("In columns"), "{columns}");
    // The page asks for a confirmation before an older revision is restored.
    let question = browser.pressed(&history, "bring back", &[]);
    let done = text(&browser.pressed(&question, "Yes", &[]));
    assert!(done.contains("review"), "{done}");
    let missing = browser.get("/prompt?name=missing");
    assert_eq!(missing.status, 404);
    assert!(text(&missing.text()).contains("missing"), "{}", text(&missing.text()));
    assert_eq!(browser.get("/nothing").status, 404);
}

#[test]
fn a_resource_has_a_trail_and_is_deleted() {
    let (ground, _client) = ground();
    let scratch = &ground.scratch;
    scratch.ok(&["resource", "create", "notes", "file:///notes.md", "One."]);
    scratch.ok(&["resource", "update", "notes", "Two."]);
    scratch.ok(&["resource", "create", "tidy", "skill://tidy/SKILL.md", "---\nname: tidy\ndescription: T\n---\nTidy."]);
    let Some(browser) = opened(&ground, &[]) else { return };
    let page = browser.page("/resource?uri=file%3A%2F%2F%2Fnotes.md");
    let trail = links(&page).into_iter().find(|link| link.starts_with("/history?")).expect("a trail");
    let trail = browser.page(&trail);
    let revision = links(&trail).into_iter().find(|link| link.starts_with("/revision?")).expect("a revision");
    assert!(text(&browser.page(&revision)).contains("Two."), "{revision}");
    // The first button belongs to the newest revision, so press that of the first one.
    let question = browser.follow(&browser.press_of(&trail, "bring back", "1", &[]));
    assert!(!text(&browser.pressed(&question, "Yes", &[])).contains("error:"));
    assert_eq!(scratch.ok(&["resource", "show", "notes"]).trim_end(), "One.");
    let skill = links(&browser.page("/skill?name=tidy")).into_iter().find(|link| link.starts_with("/history?"));
    assert!(text(&browser.page(&skill.expect("a trail"))).contains("create"));
    let content = links(&browser.page("/content"));
    assert!(content.iter().any(|link| link.starts_with("/history?noun=resource")), "{content:?}");
    let page = browser.page("/resource?uri=file%3A%2F%2F%2Fnotes.md");
    let question = browser.pressed(&page, "delete", &[]);
    let done = text(&browser.pressed(&question, "Yes", &[("typed", "notes")]));
    assert!(done.contains("Deleted resource 'notes'"), "{done}");
}

#[test]
fn a_form_runs_any_operation() {
    let (ground, _client) = ground();
    let Some(browser) = opened(&ground, &[]) else { return };
    let palette = browser.page("/palette?q=prompt+create");
    let form = links(&palette).into_iter().find(|link| link == "/form?words=prompt+create").expect("a form");
    let page = browser.page(&form);
    assert!(page.contains("<textarea") && text(&page).contains("(required)"), "{page}");
    let missing = browser.press(&page, "Run", &[("value.name", "review")]);
    assert_eq!(missing.status, 400);
    assert!(text(&missing.text()).contains("Missing: content"), "{}", text(&missing.text()));
    let values = [("value.name", "review"), ("value.content", "Look for <b>bugs</b>.\r\nThen rest.")];
    let question = browser.pressed(&page, "Run", &values);
    assert!(text(&question).contains("Run `mcpkg prompt create"), "{}", text(&question));
    assert!(!ground.scratch.ok(&["prompt", "list"]).contains("review"), "nothing ran yet");
    let done = text(&browser.pressed(&question, "Yes", &[]));
    assert!(done.contains("review"), "{done}");
    assert_eq!(ground.scratch.ok(&["prompt", "show", "review"]).trim_end(), "Look for <b>bugs</b>.\nThen rest.");
    // If the operation fails, the page shows the form again with the entered values.
    let question = browser.pressed(&page, "Run", &values);
    let failed = browser.pressed(&question, "Yes", &[]);
    assert!(text(&failed).contains("error:"), "{}", text(&failed));
    let kept = forms(&failed).into_iter().find(|form| form.action == "/form?words=prompt+create").expect("the form");
    assert!(kept.fields.contains(&("value.name".to_owned(), "review".to_owned())), "{kept:?}");
    // An operation that only reads runs without a confirmation.
    let read = browser.page("/form?words=prompt+list");
    assert!(text(&browser.pressed(&read, "Run", &[])).contains("review"));
    // In the browser, operations have no standard input and no editor.
    let refused = browser.press(&page, "Run", &[("value.name", "x"), ("value.content", "-")]);
    assert!(text(&refused.text()).contains("no standard input"), "{}", text(&refused.text()));
    let edit = browser.page("/form?words=prompt+edit");
    let refused = browser.press(&edit, "Run", &[("value.name", "review")]);
    assert!(text(&refused.text()).contains("needs a terminal"), "{}", text(&refused.text()));
}

#[test]
fn a_change_is_undone_from_the_feed() {
    let (ground, mut client) = ground();
    ground.scratch.ok(&["prompt", "create", "review", "Look for missing tests."]);
    let arguments = json!({ "name": "review", "content": "Look away." });
    client.result("tools/call", json!({ "name": "update_prompt", "arguments": arguments }));
    let Some(browser) = opened(&ground, &[]) else { return };
    let feed = browser.page("/feed");
    assert!(text(&feed).contains("mcp:codex"), "{}", text(&feed));
    assert!(text(&feed).contains("can be undone"), "{}", text(&feed));
    let undo = links(&feed).into_iter().find(|link| link.starts_with("/undo?seq=")).expect("an undo");
    let preview = browser.page(&undo);
    let shown = text(&preview);
    assert!(shown.contains("will be undone") && shown.contains("prompt review back to revision 1"), "{shown}");
    let mut page = browser.pressed(&preview, "undo 1 change", &[]);
    if page.contains(">Yes</button>") {
        page = browser.pressed(&page, "Yes", &[]);
    }
    assert!(!text(&page).contains("error:"), "{}", text(&page));
    assert_eq!(ground.scratch.ok(&["prompt", "show", "review"]).trim_end(), "Look for missing tests.");
}

#[test]
fn a_workflow_is_edited_checked_and_saved() {
    let (ground, _client) = ground();
    let yaml = "workflow: kept\nsteps:\n  - id: first\n    run: hosting:apps:list\n";
    let file = ground.scratch.path().join("kept.yaml");
    std::fs::write(&file, yaml).expect("written");
    ground.scratch.ok(&["workflow", "import", &file.display().to_string()]);
    let Some(browser) = opened(&ground, &[]) else { return };
    let editor = browser.page("/editor?workflow=kept");
    assert!(text(&editor).contains("Text of the workflow"), "{}", text(&editor));
    let wrong = yaml.replace("apps:list", "apps:lits");
    let checked = browser.press(&editor, "Check", &[("text", &wrong)]).text();
    assert!(text(&checked).contains("lits") && text(&checked).contains("What saving changes"), "{}", text(&checked));
    // A place without suggestions is not a failure.
    let unknown = format!("{yaml}final_outputx: 1\n");
    let at = [("text", unknown.as_str()), ("key", "suggest"), ("line", "5"), ("column", "5")];
    let form = forms(&editor).into_iter().find(|form| form.action.starts_with("/editor")).expect("the editor");
    let none = browser.submit(&form, None, &at);
    assert_eq!((none.status, none.text().contains("<li")), (200, false), "{}", none.text());
    let better = yaml.replace("first", "second");
    let question = browser.pressed(&checked, "Save", &[("text", &better.replace('\n', "\r\n"))]);
    assert!(text(&question).contains("Save this text?") && text(&question).contains("second"), "{}", text(&question));
    let done = text(&browser.pressed(&question, "Yes", &[]));
    assert!(!done.contains("error:"), "{done}");
    assert_eq!(ground.scratch.json(&["workflow", "show", "kept"])["yaml"], better);
    // Another save came first, so the old page must not overwrite it. The server refuses, and its answer contains the
    // typed text.
    let late = browser.press(&editor, "Save", &[("text", &yaml.replace("first", "third"))]);
    assert_eq!(late.status, 409);
    let shown = text(&late.text());
    assert!(
        shown.contains("Somebody in the console saved another text in the meantime") && shown.contains("third"),
        "{shown}"
    );
    assert_eq!(ground.scratch.json(&["workflow", "show", "kept"])["yaml"], better);
}

#[test]
fn each_screen_is_a_page_and_long_lists_load_more() {
    let (ground, _client) = ground();
    for number in 0..12 {
        ground.scratch.ok(&["prompt", "create", &format!("prompt-{number:02}"), "Text."]);
    }
    let Some(browser) = opened(&ground, &[]) else { return };
    for (address, title) in [
        ("/", "Inbox"),
        ("/inbox", "Inbox"),
        ("/feed", "Feed"),
        ("/feed?view=1", "Feed, by agent"),
        ("/content", "Content"),
        ("/deploy", "Deploy"),
        ("/workflows", "Workflows"),
        ("/all", "All"),
        ("/palette", "Palette"),
        ("/list?words=catalog+list", "Catalog"),
        ("/list?words=tool+list", "Tool"),
    ] {
        let response = browser.get(address);
        let page = response.text();
        let heading = page.split_once("<h1>").expect("a heading").1.split("</h1>").next().expect("an end");
        assert!(heading.contains(title) || response.status != 200 && address == "/deploy", "{address}: {heading}");
    }
    let few = browser.page("/content?rows=5");
    let more = links(&few).into_iter().find(|link| link == "/content?rows=10").expect("more rows");
    assert!(!few.contains("prompt-08") && browser.page(&more).contains("prompt-08"), "{}", text(&few));
    // A filter also finds rows beyond the first five.
    assert!(browser.page("/content?rows=5&q=prompt-11").contains("prompt-11"));
    let style = browser.get("/style.css");
    assert_eq!(style.header("content-type"), Some("text/css; charset=utf-8"));
}

#[test]
fn a_mistake_is_fixed_with_a_button() {
    let (ground, _client) = ground();
    let Some(browser) = opened(&ground, &[]) else { return };
    let editor = browser.page("/editor?new=1");
    let yaml = "workflow: w\ninputs:\n  name: {type: string}\nsteps:\n  - id: a\n    run: hosting:apps:create\n    with:\n      name: ${{ inputs.nmae }}\n      region: eu\n";
    let checked = browser.press(&editor, "Check", &[("text", yaml)]).text();
    assert!(text(&checked).contains("Change to name") && !text(&checked).contains("f fixes"), "{}", text(&checked));
    let fixed = browser.press(&checked, "Change to <code>name</code>", &[]);
    assert_eq!(fixed.status, 200);
    assert!(fixed.text().contains("${{ inputs.name }}") && !fixed.text().contains("nmae"), "{}", text(&fixed.text()));
}

#[test]
fn pages_name_buttons_instead_of_keys() {
    let (ground, _client) = crate::console::ground::filled();
    let mut command = ground.scratch.command();
    command.current_dir(ground.scratch.path().join("root"));
    let Some(browser) = super::Browser::start(command, &[]) else { return crate::support::skipped(super::NO_SCRIPT) };
    let key = regex::Regex::new(r"\b(key \d|press [a-zA-Z.]\b|[a-zA-Z.] (fixes|shows|opens|goes to|brings|installs) )")
        .expect("a pattern");
    for (address, page) in browser.crawl() {
        let page = text(&page.text());
        let named = key.find_iter(&page).map(|found| found.as_str()).find(|found| !found.starts_with("a "));
        assert_eq!(named, None, "{address}: {page}");
    }
}

#[test]
fn every_list_of_all_can_be_shown_and_an_empty_one_names_its_button() {
    let (ground, _client) = ground();
    let Some(browser) = opened(&ground, &[]) else { return };
    let all = links(&browser.page("/all"));
    assert!(!all.iter().any(|link| link.contains("worktree")), "not in a workspace: {all:?}");
    for link in all.iter().filter(|link| link.starts_with("/list?")) {
        let page = browser.page(link);
        assert!(!text(&page).contains("+ creates one"), "{link}: {}", text(&page));
    }
    let empty = browser.page("/list?words=source+list");
    assert!(text(&empty).contains("Nothing here yet. \"Add\" creates one."), "{}", text(&empty));
    assert!(empty.contains("<h1>Source</h1>"), "{empty}");
    let missing = browser.get("/list?words=worktree+list");
    assert_eq!(missing.status, 409);
    assert!(missing.text().contains("<h1>This page cannot be shown</h1>"), "{}", missing.text());
    assert!(browser.get("/prompt?name=nothing").text().contains("<h1>Not found</h1>"));
}

#[test]
fn a_table_in_a_page_is_wider_than_a_terminal() {
    let (ground, _client) = ground();
    let long = "a-skill-".repeat(7) + "x";
    let folder = ground.scratch.path().join("kit");
    ground.scratch.file(&format!("kit/.claude/skills/{long}/SKILL.md"), skill(&long, "Something"));
    ground.scratch.ok(&["source", "add", &folder.display().to_string(), "--yes"]);
    let Some(browser) = opened(&ground, &[]) else { return };
    let page = browser.page("/shown?noun=source&name=kit");
    let table = page.split("class=\"quoted aligned\"").nth(1).expect("a table");
    assert!(text(table).contains(&format!(".claude/skills/{long}/SKILL.md  {long}")), "{}", text(table));
}
