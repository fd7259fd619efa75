//! Tests the console in a real browser: what its pages show, that they stay current, and that they keep to the security policy.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use regex::Regex;
use serde_json::{Value, json};

use super::chromium::{Chromium, axe};
use super::{Browser, ground, opened};
use crate::console::ground::filled;
use crate::support::{eventually, runs_all, skipped};
use crate::workflow::runs::{Ground, code, create, execute, with_nonce};

fn in_root(ground: &Ground) -> Option<Browser> {
    let mut command = ground.scratch.command();
    command.current_dir(ground.scratch.path().join("root"));
    let browser = Browser::start(command, &[]);
    if browser.is_none() {
        skipped(super::NO_SCRIPT);
    }
    browser
}

/// Replaces times, ids and ports.
fn same_each_time(text: &str) -> String {
    let replaced = [
        (r"\b(\d\d [A-Z][a-z]{2} )?\d\d:\d\d(:\d\d)?\b", "12:48"),
        (r"127\.0\.0\.1:\d+", "127.0.0.1:18291"),
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b", "ID"),
    ];
    replaced.iter().fold(text.to_owned(), |text, (found, instead)| {
        Regex::new(found).expect("a pattern").replace_all(&text, *instead).into_owned()
    })
}

/// A script that returns the accessibility faults that axe-core finds in a page.
pub const FAULTS: &str = "
    const done = arguments[arguments.length - 1];
    const rules = { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] };
    axe.run(document, rules).then(
        (found) => done(found.violations.map((rule) =>
            rule.id + ': ' + rule.nodes.map((node) => node.html + ' ' + node.failureSummary).join(' | '))),
        (error) => done(['axe: ' + error]));";

#[test]
fn pages_have_no_faults_of_accessibility_in_both_themes_and_on_a_phone() {
    let (ground, _client) = filled();
    let Some(mut browser) = in_root(&ground) else { return };
    let Some(chromium) = Chromium::start(&mut browser) else { return };
    let axe = axe();
    let mut pages = browser.crawl();
    // By default, check only one page of each kind.
    let mut kinds = BTreeSet::new();
    pages.retain(|(address, _)| {
        let kind = address.split('?').next().unwrap_or_default().to_owned();
        kinds.insert(kind) || runs_all()
    });
    chromium.reports();
    let mut faults = Vec::new();
    for (at, (address, _)) in pages.iter().enumerate() {
        // Check each page on a phone and on a large screen: one with the light theme, the other with the dark theme.
        // By default, axe takes turns: it needs a second of a processor for each page.
        let themes = if at % 2 == 0 { ["light", "dark"] } else { ["dark", "light"] };
        chromium.open(address);
        for (turn, (theme, (width, height))) in themes.into_iter().zip([(320, 640), (1280, 800)]).enumerate() {
            chromium.size(width, height);
            chromium.theme(theme);
            let wide = chromium.run("return document.documentElement.scrollWidth");
            if wide.as_u64() > Some(u64::from(width)) {
                faults.push(format!("{address}: {wide} pixels wide on a screen of {width}"));
            }
            let own = chromium.run("return [...document.scripts].map((script) => script.src).join()");
            let own: Vec<&str> = own.as_str().into_iter().flat_map(|own| own.split(',')).collect();
            let names: Vec<&str> = own.iter().filter_map(|own| own.rsplit('/').next()?.split('?').next()).collect();
            let is_editor = address.starts_with("/edit");
            let expected: &[&str] = if is_editor { &["live.js", "codemirror.js", "editor.js"] } else { &["live.js"] };
            assert_eq!(names, expected, "{address}");
            let is_in_turn = turn == at / 2 % 2 || runs_all();
            if let Some(axe) = axe.as_ref().filter(|_| is_in_turn) {
                chromium.run(axe);
                let found = chromium.run_async(FAULTS);
                let found = found.as_array().into_iter().flatten().filter_map(Value::as_str);
                faults.extend(found.map(|fault| format!("{address} {theme} {width}: {fault}")));
            }
        }
    }
    faults.extend(chromium.reports().into_iter().filter(|report| !report.contains("status of 4")));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_request_reads_as_text_and_as_a_tree() {
    let (ground, mut client) = ground();
    execute(&mut client, create());
    let Some(mut browser) = opened(&ground, &[]) else { return };
    let Some(chromium) = Chromium::start(&mut browser) else { return };
    assert_snapshot!("inbox_text", same_each_time(&chromium.text()));
    assert_snapshot!("inbox_tree", same_each_time(&chromium.tree()));
    chromium.click("td.what a");
    chromium.wait("Asked at");
    assert_snapshot!("request_tree", same_each_time(&chromium.tree()));
    chromium.press("Approve");
    chromium.wait("Consent to it?");
    assert_snapshot!("question_tree", same_each_time(&chromium.tree()));
    assert_eq!(chromium.reports(), [""; 0]);
}

#[test]
fn a_request_is_approved_on_a_phone_without_scripts() {
    let (ground, mut client) = ground();
    let asked = execute(&mut client, create());
    let Some(mut browser) = opened(&ground, &[]) else { return };
    let Some(chromium) = Chromium::start(&mut browser) else { return };
    chromium.size(320, 640);
    chromium.tool("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
    chromium.open("/inbox");
    chromium.click("td.what a");
    chromium.wait("Asked at");
    chromium.keys("#note", "only this one");
    chromium.press("Approve");
    chromium.wait("Your note: \"only this one\"");
    chromium.press("Yes");
    chromium.wait("Approved once");
    assert_eq!(code(&execute(&mut client, with_nonce(&create(), &asked))), "ok");
}

#[test]
fn pages_stay_current_and_typed_text_stays() {
    let (ground, mut client) = ground();
    ground.scratch.ok(&["prompt", "create", "review", "Look for missing tests."]);
    let Some(mut browser) = opened(&ground, &[]) else { return };
    let Some(chromium) = Chromium::start(&mut browser) else { return };
    let first = chromium.tab();
    chromium.wait("nothing waits for you");
    chromium.keys("#q", "apps");
    execute(&mut client, create());
    chromium.wait("Run hosting:apps:create");
    let kept = "return [document.activeElement.id, document.activeElement.value, document.title].join()";
    let kept = chromium.run(kept);
    assert!(kept.as_str().is_some_and(|kept| kept.starts_with("q,apps,Inbox: 1 waits for you")), "{kept}");
    // A new row does not replace the rows that were already there.
    chromium.run("window.row = document.querySelector('tbody tr')");
    let delete = json!({ "command": "hosting:apps:delete", "args": { "app_id": "app_7f3" }, "wait_s": 0 });
    execute(&mut client, delete);
    chromium.wait("Run hosting:apps:delete");
    assert_eq!(chromium.run("return window.row.isConnected && window.row.innerText.includes('create')"), true);
    // A request that is decided in one tab disappears from the other tab.
    let second = chromium.new_tab("/inbox");
    chromium.wait("2 wait for you");
    chromium.press("Deny");
    chromium.wait("Deny: Run");
    chromium.press("Yes");
    chromium.wait("Denied");
    chromium.switch(&first);
    chromium.wait("1 waits for you");
    // When an item is deleted, its open page shows an error.
    chromium.switch(&second);
    chromium.open("/prompt?name=review");
    chromium.wait("Look for missing tests.");
    ground.scratch.ok(&["prompt", "delete", "review", "--yes"]);
    chromium.wait("error:");
    assert_eq!(
        chromium.reports().into_iter().filter(|report| !report.contains("404")).collect::<Vec<_>>(),
        [""; 0],
        "nothing breaks the content security policy"
    );
}

#[test]
fn a_page_that_is_older_than_what_is_stored_is_refused() {
    let (ground, mut client) = ground();
    let yaml = "workflow: listed\nsteps:\n  - id: a\n    run: hosting:apps:list\n";
    client.result("tools/call", json!({ "name": "propose_workflow", "arguments": { "yaml": yaml } }));
    let id = ground.scratch.json(&["draft", "list"])["drafts"][0]["id"].as_str().expect("an id").to_owned();
    let Some(mut browser) = opened(&ground, &[]) else { return };
    let Some(chromium) = Chromium::start(&mut browser) else { return };
    // Without scripts, a page does not update itself.
    chromium.tool("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
    chromium.open(&format!("/draft?id={id}"));
    chromium.wait("hosting:apps:list");
    let file = ground.scratch.path().join("other.yaml");
    std::fs::write(&file, yaml.replace("id: a", "id: other")).expect("written");
    let edited = ground.scratch.run(&["draft", "edit", &id, "--from", &file.display().to_string()]);
    assert_eq!(edited.status, 0, "{edited}");
    chromium.press("Approve");
    chromium.wait("This page is older than what is stored now, so nothing was changed");
    assert_eq!(ground.scratch.json(&["workflow", "list"])["workflows"], json!([]));
}

#[test]
fn an_editor_keeps_what_you_type_while_others_save() {
    let (ground, _client) = ground();
    let yaml = "workflow: kept\nsteps:\n  - id: first\n    run: hosting:apps:list\n";
    let file = ground.scratch.path().join("kept.yaml");
    let import = |text: String| {
        std::fs::write(&file, text).expect("written");
        ground.scratch.ok(&["workflow", "import", "--update", &file.display().to_string()]);
    };
    import(yaml.to_owned());
    let Some(mut browser) = opened(&ground, &[]) else { return };
    let Some(chromium) = Chromium::start(&mut browser) else { return };
    chromium.open("/editor?workflow=kept");
    chromium.keys(".cm-content", "# mine\n");
    import(yaml.replace("first", "second"));
    ground.scratch.ok(&["prompt", "create", "review", "Look for missing tests."]);
    std::thread::sleep(std::time::Duration::from_secs(1));
    let typed = chromium.run("return document.querySelector('#text').value");
    assert!(typed.as_str().is_some_and(|typed| typed.contains("# mine") && typed.contains("first")), "{typed}");
    // What saving changes is compared with their text, without another key.
    chromium.wait("Somebody in the shell saved another text in the meantime");
    chromium.wait("-   3    - id: second");
    chromium.press("Save");
    chromium.wait("Nothing was overwritten");
    assert_eq!(ground.scratch.json(&["workflow", "show", "kept"])["yaml"], yaml.replace("first", "second"));
}

#[test]
fn seven_tabs_share_one_stream_that_ends_with_the_last() {
    let (ground, _client) = ground();
    let Some(mut browser) = opened(&ground, &[]) else { return };
    let Some(chromium) = Chromium::start(&mut browser) else { return };
    let process = browser.terminal().program();
    let watches = || {
        let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("threads");
        let names = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok());
        names.filter(|name| name.trim() == "watch").count()
    };
    let first = chromium.tab();
    let tabs: Vec<String> = (0..6).map(|_| chromium.new_tab("/feed")).collect();
    let held = "const done = arguments[0]; navigator.locks.query().then((locks) => done(locks.held.length))";
    assert_eq!(chromium.run_async(held), 1);
    eventually("one thread watches for all tabs", || (watches() == 1).then_some(()));
    ground.scratch.ok(&["prompt", "create", "one", "Text."]);
    for tab in &tabs {
        chromium.switch(tab);
        chromium.wait("prompt create one");
    }
    // Close the tab that receives the changes. Another tab takes over.
    chromium.close(&first);
    chromium.switch(&tabs[5]);
    ground.scratch.ok(&["prompt", "create", "two", "Text."]);
    chromium.wait("prompt create two");
    for tab in &tabs[..5] {
        chromium.close(tab);
    }
    chromium.switch(&tabs[5]);
    chromium.open("/style.css");
    eventually("the thread ends with the last tab", || (watches() == 0).then_some(()));
}

#[test]
fn a_console_that_ends_or_signs_out_is_noticed() {
    let (ground, _client) = ground();
    let Some(mut browser) = opened(&ground, &[]) else { return };
    let Some(mut chromium) = Chromium::start(&mut browser) else { return };
    browser.terminal().keys("\u{3}");
    chromium.wait("The console does not answer");
    // Start another console on the same database. It does not know the browser's session.
    let Some(mut other) = opened(&ground, &[]) else { return };
    chromium.sign_in(&mut other);
    let first = chromium.tab();
    chromium.new_tab("/feed");
    chromium.press("Sign out");
    chromium.wait("Not signed in");
    chromium.switch(&first);
    ground.scratch.ok(&["prompt", "create", "one", "Text."]);
    chromium.wait("This browser is not signed in any more");
}
