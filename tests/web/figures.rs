//! Tests the figures of pages: the graph of a workflow, and the timeline of a run.

use mcpkg_console::Invocation;
use serde_json::json;

use super::{ground, opened, text};
use crate::workflow::runs::Ground;

/// Saves a workflow.
fn import(ground: &Ground, yaml: &str) {
    let file = ground.scratch.file("workflow.yaml", yaml);
    ground.scratch.ok(&["workflow", "import", &file.display().to_string()]);
}

/// Runs a saved workflow, and answers every question with yes.
fn run(ground: &Ground, name: &str) {
    Invocation::new("workflow run").with(name).run(&ground.person()).expect("it runs");
}

/// A workflow with three steps. The last step needs the other two.
const THREE: &str = "\
workflow: three
steps:
  - id: look
    run: hosting:apps:list
  - id: make
    run: hosting:apps:create
    depends_on: [look]
    with: { name: web, region: eu }
  - id: read
    run: hosting:apps:info
    with: { app_id: '${{ steps.make.output.id }}' }
    if: ${{ steps.look.output || true }}
";

#[test]
fn a_workflow_is_drawn_with_the_state_of_its_last_run() {
    let (ground, _client) = ground();
    import(&ground, THREE);
    let Some(browser) = opened(&ground, &[]) else { return };
    let page = browser.page("/workflow?name=three");
    assert!(page.contains("aria-label=\"3 steps in 3 layers, listed in the text\""), "{page}");
    assert_eq!((page.matches("class=\"box\"").count(), page.matches("class=\"tip\"").count()), (3, 3), "{page}");
    assert!(!page.contains("Last run") && !page.contains("class=\"mark"), "{page}");
    let listed = text(&page);
    for line in
        ["look  hosting:apps:list  reads", "make  hosting:apps:create  writes  after look", "reads  after look, make"]
    {
        assert!(listed.contains(line), "{line}: {listed}");
    }
    run(&ground, "three");
    let page = browser.page("/workflow?name=three");
    assert_eq!(page.matches("<circle class=\"mark good\"").count(), 3, "{page}");
    assert!(text(&page).contains("Last run: succeeded") && page.contains("<a href=\"/run?id="), "{}", text(&page));
    assert!(text(&page).contains("writes  after look  succeeded"), "{}", text(&page));
}

#[test]
fn forty_steps_and_hostile_names_stay_inside_the_picture() {
    let (ground, mut client) = ground();
    let step = |at: usize| match at {
        0 => "  - id: step_0\n    run: hosting:apps:list\n".to_owned(),
        _ => format!("  - id: step_{at}\n    run: hosting:apps:list\n    depends_on: [step_{}, step_0]\n", at - 1),
    };
    import(&ground, &format!("workflow: long\nsteps:\n{}", (0..40).map(step).collect::<String>()));
    let hostile = format!("</text></svg><script>alert(1)</script>\u{202e}{}", "x".repeat(500));
    let yaml = format!(
        "workflow: draft\nsteps:\n  - id: {0}\n    run: {0}\n  - id: b\n    run: hosting:apps:list\n    depends_on: [{0}]\n",
        json!(hostile)
    );
    client.result("tools/call", json!({ "name": "propose_workflow", "arguments": { "yaml": yaml } }));
    let id = ground.scratch.json(&["draft", "list"])["drafts"][0]["id"].as_str().expect("an id").to_owned();
    let Some(browser) = opened(&ground, &[]) else { return };
    let page = browser.page("/workflow?name=long");
    assert!(page.contains("aria-label=\"40 steps in 40 layers, listed in the text\""), "{page}");
    assert_eq!(page.matches("class=\"box\"").count(), 40);
    let page = browser.page(&format!("/draft?id={id}"));
    assert_eq!(picture(&page).matches("class=\"box\"").count(), 2, "{page}");
    let words = text(picture(&page));
    assert!(words.contains("</text></svg><script>aler") && words.contains('…'), "{words}");
    assert!(!page.contains("<script>alert") && !page.contains('\u{202e}'), "{page}");
}

/// Returns the picture of a page.
fn picture(page: &str) -> &str {
    let from = page.find("<svg").expect("a picture");
    &page[from..page.rfind("</svg>").expect("an end")]
}

#[test]
fn a_run_has_a_timeline_with_waits() {
    let (ground, _client) = ground();
    import(
        &ground,
        "workflow: poll\nsteps:\n  - id: make\n    run: hosting:apps:create\n    with: { name: web, region: eu }\n  - id: poll\n    run: hosting:apps:list\n    depends_on: [make]\n    repeat: { until: '${{ 1 == 2 }}', every: 300ms, max_attempts: 3 }\n  - id: never\n    run: hosting:apps:list\n    depends_on: [poll]\n",
    );
    let _ = Invocation::new("workflow run").with("poll").run(&ground.person());
    let id = ground.run()["run"].as_str().expect("an id").to_owned();
    let Some(browser) = opened(&ground, &[]) else { return };
    let page = browser.page(&format!("/run?id={id}"));
    let chart = &page[page.find("<figure class=\"chart\">").expect("a chart")..page.find("</figure>").expect("an end")];
    assert!(text(chart).contains("Timeline: ") && chart.contains(">BEGAN AFTER</th>"), "{chart}");
    assert_eq!(chart.matches("<svg aria-hidden=\"true\"").count(), 4, "{chart}");
    assert!(chart.matches("class=\"lead\"").count() >= 2, "the waits between the attempts: {chart}");
    let rows: Vec<String> = chart.split("</tr>").map(text).collect();
    assert_eq!(rows.iter().filter(|row| row.contains("poll ")).count(), 3, "{rows:?}");
    let never = rows.iter().find(|row| row.contains("never")).expect("a row");
    assert!(!never.contains("ms"), "a step without an attempt has no time: {never}");
    let took = ground.run()["steps"][1]["attempts"][0]["ended_at"].as_str().expect("a time").to_owned();
    assert_eq!(took.len(), "2026-11-28T12:48:20.123Z".len(), "{took}");
}
