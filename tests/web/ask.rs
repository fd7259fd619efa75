//! Tests the page that asks the user's agent for a workflow, with a fake agent.

use super::browser::links;
use super::{Browser, NO_SCRIPT, text};
use crate::support::skipped;
use crate::workflow::ask::Ground;

#[test]
fn an_agent_is_asked_and_its_draft_is_a_link() {
    let ground = Ground::new(&["claude"]);
    let Some(browser) = Browser::start(ground.command(""), &[]) else { return skipped(NO_SCRIPT) };
    let workflows = links(&browser.page("/workflows"));
    assert!(workflows.contains(&"/ask".to_owned()), "{workflows:?}");
    let page = browser.page("/ask");
    let shown = text(&page);
    assert!(shown.contains("Ask your agent") && page.contains("claude-code"), "{shown}");
    assert!(!shown.contains("--draft") && !shown.contains("--workflow"), "{shown}");
    // Without words, nothing is asked.
    assert_eq!(browser.press(&page, "Run", &[]).status, 400);
    let question = browser.pressed(&page, "Run", &[("value.text", "Make a web app"), ("value.--agent", "claude-code")]);
    assert!(text(&question).contains("Run `mcpkg ask"), "{}", text(&question));
    let allow = browser.pressed(&question, "Yes", &[]);
    let shown = text(&allow);
    assert!(shown.contains("Allow mcpkg to run Claude Code") && shown.contains("You pay the maker"), "{shown}");
    let done = browser.pressed(&allow, "Yes", &[]);
    let shown = text(&done);
    for part in ["Claude Code proposed 1 draft", "propose_workflow: draft ", "I made it."] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let draft = links(&done).into_iter().find(|link| link.starts_with("/draft-diff?id=")).expect("a draft");
    let draft = browser.page(&draft);
    assert!(text(&draft).contains("workflow: app"), "{}", text(&draft));
    // The editor of the draft leads to the page that asks for changes to it.
    let editor = links(&draft).into_iter().find(|link| link.starts_with("/editor?draft=")).expect("an editor");
    let ask = links(&browser.page(&editor)).into_iter().find(|link| link.starts_with("/ask?draft=")).expect("a link");
    assert!(text(&browser.page(&ask)).contains("--draft"));
}

#[test]
fn a_no_runs_nothing_and_a_failure_keeps_the_words() {
    let ground = Ground::new(&["claude"]);
    let Some(browser) = Browser::start(ground.command("fail"), &[]) else { return skipped(NO_SCRIPT) };
    let page = browser.page("/ask");
    let question = browser.pressed(&page, "Run", &[("value.text", "Make a web app"), ("value.--agent", "claude-code")]);
    // Answering no to the program runs nothing.
    let refused = browser.pressed(&browser.pressed(&question, "Yes", &[]), "No", &[]);
    assert!(text(&refused).contains("Not confirmed"), "{}", text(&refused));
    assert!(!ground.scratch.path().join("notes/prompt").exists());
    let question = browser.pressed(&page, "Run", &[("value.text", "Make a web app"), ("value.--agent", "claude-code")]);
    let failed = browser.pressed(&browser.pressed(&question, "Yes", &[]), "Yes", &[]);
    assert!(text(&failed).contains("error:") && failed.contains("Make a web app"), "{}", text(&failed));
}
