//! Tests how a workflow is run in the browser: its questions, the way to its run, and what the lists and the feed say about
//! it.

use std::time::Duration;

use super::browser::links;
use super::{ground, opened, text};
use crate::support::api::Trouble;

/// A workflow with a required input. The last step needs the output of the second one.
const WORKFLOW: &str = "\
workflow: app_with_db
inputs:
  name: { type: string, required: true }
steps:
  - id: look
    run: hosting:apps:list
  - id: create_app
    run: hosting:apps:create
    depends_on: [look]
    with: { name: '${{ inputs.name }}', region: eu }
  - id: add_db
    run: hosting:databases:create
    with: { app_id: '${{ steps.create_app.output.id }}', plan: small }
";

#[test]
fn a_run_asks_for_its_input_and_leads_to_its_page() {
    let (ground, _client) = ground();
    let file = ground.scratch.file("app.yaml", WORKFLOW).display().to_string();
    ground.scratch.ok(&["workflow", "import", &file]);
    let Some(browser) = opened(&ground, &[]) else { return };
    let question = browser.pressed(&browser.page("/workflow?name=app_with_db"), "run", &[]);
    assert!(text(&question).contains("Value of 'name'"), "{}", text(&question));
    assert!(question.contains(" required") && question.contains(">Continue</button>"), "{question}");
    assert!(question.contains(">Cancel</button>") && !question.contains(">No</button>"), "{question}");
    // An empty answer does not end the operation.
    let again = browser.press(&question, "Continue", &[("typed", " ")]);
    assert_eq!(again.status, 409);
    assert!(text(&again.text()).contains("An answer is needed here"), "{}", text(&again.text()));
    // The question shows the values that are known, and says which are not.
    let question = browser.pressed(&again.text(), "Continue", &[("typed", "web2")]);
    let shown = text(&question);
    assert!(shown.contains("create_app: name = \"web2\"") && !shown.contains("inputs.name"), "{shown}");
    let later = "add_db: app_id = \"${{ steps.create_app.output.id }}\" (known once create_app has run)";
    assert!(shown.contains(later) && shown.contains("add_db: plan = \"small\"\n"), "{shown}");
    // While it runs, the page says which step is under way, and leads to the run.
    ground.api.trouble_after(1, Trouble::Late(Duration::from_secs(4)));
    let started = browser.press(&question, "Yes", &[]);
    let running = browser.page(started.header("location").expect("a page"));
    assert!(text(&running).contains("Step create_app is under way (2 of 3)."), "{}", text(&running));
    let run_of = |page: &str| links(page).into_iter().find(|link| link.starts_with("/run?id="));
    let run = run_of(&running).expect("the run");
    let done = browser.follow(&started);
    assert_eq!(run_of(&done).as_ref(), Some(&run), "{}", text(&done));
    // The times of its page are those of this machine.
    let page = text(&browser.page(&run));
    assert!(page.contains("Run of app_with_db") && page.contains(" POST 127.0.0.1"), "{page}");
    let time = regex::Regex::new(r"1 \d\d:\d\d:\d\d POST").expect("a pattern");
    assert!(time.is_match(&page) && !page.contains("Z POST"), "{page}");
    // In the list, the name is the link, and the row says when it ran and by whom.
    let list = browser.page("/workflows");
    let link = format!("<a href=\"{run}\"><span class=\"name\">app_with_db</span></a>");
    assert!(list.contains(&link), "{list}");
    let row = regex::Regex::new(r"app_with_db\s+succeeded\s+\d\d:\d\d\s+console").expect("a pattern");
    assert!(row.is_match(&text(&list)), "{}", text(&list));
    // The feed names the parts of the run, and an event leads to it.
    let feed = browser.page("/feed");
    for part in ["began", "step look", "step create_app", "step add_db", "succeeded"] {
        let row = format!("workflow run app_with_db: {part}");
        assert_eq!(text(&feed).matches(&row).count(), 1, "{row}: {}", text(&feed));
    }
    let events = links(&feed).into_iter().filter(|link| link.starts_with("/event?"));
    let event = events.map(|event| browser.page(&event)).find(|page| text(page).contains(": step add_db"));
    let event = event.expect("the event of a step");
    assert_eq!(run_of(&event), Some(run), "{}", text(&event));
    assert!(event.contains("<h1>Event "), "{event}");
}

#[test]
fn a_question_without_an_answer_can_be_cancelled() {
    let (ground, _client) = ground();
    let file = ground.scratch.file("app.yaml", WORKFLOW).display().to_string();
    ground.scratch.ok(&["workflow", "import", &file]);
    let Some(browser) = opened(&ground, &[]) else { return };
    let question = browser.pressed(&browser.page("/workflow?name=app_with_db"), "run", &[]);
    let ended = text(&browser.pressed(&question, "Cancel", &[]));
    assert!(ended.contains("nothing was changed"), "{ended}");
    assert_eq!(ground.scratch.json(&["workflow", "runs"])["runs"], serde_json::json!([]));
}
