//! Tests of sources at a terminal: tables that fit, and the question before anything is written.

use insta::assert_snapshot;
use regex::Regex;

use super::{kit, with_kit};
use crate::support::{Scratch, shown_on, skill, skipped, typed_after};

#[test]
fn the_list_fits_each_terminal() {
    let upstream = kit();
    let scratch = Scratch::with_project();
    let config = format!("[url \"{}\"]\n\tinsteadOf = https://github.com/anthropics/kit\n", upstream.url());
    let config = scratch.file("gitconfig", config);
    for (name, prefix) in [("a-source-with-a-rather-long-name", "long"), ("kit", "k")] {
        let mut add = scratch.command();
        add.env("GIT_CONFIG_GLOBAL", &config).args(["source", "add", "anthropics/kit", "--yes"]);
        assert_eq!(scratch.finish(add.args(["--name", name, "--prefix", prefix])).status, 0);
    }
    let mut all = String::new();
    let [style, time] = ["\x1b\\[[0-9;]*m", "20\\d\\d-[0-9:TZ-]*"].map(|text| Regex::new(text).expect("a pattern"));
    for columns in [40, 80, 100, 160] {
        let mut command = scratch.command();
        command.env("PATH", "/usr/bin:/bin").args(["source", "list"]);
        let Some(shown) = shown_on(columns, &command) else { return skipped("there is no script of util-linux") };
        let shown = style.replace_all(&shown, "").into_owned();
        assert!(shown.lines().all(|line| line.chars().count() <= usize::from(columns)), "{columns}: {shown}");
        let shown = time.replace_all(&shown, "<TIME>").into_owned();
        all.push_str(&format!("--- {columns}\n{shown}"));
    }
    assert_snapshot!(all, @"
    --- 40
    NAME                      FOLLOWS      …
    a-source-with-a-rather-   branch main
    long-name
    kit                       branch main
    --- 80
    NAME                              FOLLOWS      COMMIT        WHERE         …
    a-source-with-a-rather-long-name  branch main  cfaf83a688ad  …hropics/kit
    kit                               branch main  cfaf83a688ad  …hropics/kit
    --- 100
    NAME                              FOLLOWS      COMMIT        FILES  UPDATED      WHERE
    a-source-with-a-rather-long-name  branch main  cfaf83a688ad  6      <TIME>…  …com/anthropics/kit
    kit                               branch main  cfaf83a688ad  6      <TIME>…  …com/anthropics/kit
    --- 160
    NAME                              FOLLOWS      COMMIT        FILES  UPDATED               WHERE
    a-source-with-a-rather-long-name  branch main  cfaf83a688ad  6      <TIME>  https://github.com/anthropics/kit
    kit                               branch main  cfaf83a688ad  6      <TIME>  https://github.com/anthropics/kit
    ");
}

#[test]
fn a_terminal_shows_the_content_and_asks() {
    let upstream = kit();
    for (typed, added) in [("n\n", 0), ("y\n", 1)] {
        let scratch = Scratch::with_project();
        let mut add = scratch.command();
        add.args(["source", "add", &upstream.url()]);
        let Some((shown, status)) = typed_after(&add, "[y/N", typed) else {
            return skipped("there is no script of util-linux");
        };
        let (table, question) =
            shown.split_once("Add the source 'kit' from ").unwrap_or_else(|| panic!("no question: {shown}"));
        assert!(table.contains("skills/pdf/scripts/run.sh") && table.contains("LICENSE"), "{table}");
        assert_eq!(status == 0, added == 1, "{question}");
        assert_eq!(scratch.json(&["source", "list"])["sources"].as_array().map(Vec::len), Some(added));
    }
}

#[test]
fn a_terminal_shows_what_an_update_changes_and_asks() {
    let upstream = kit();
    let scratch = with_kit(&upstream);
    upstream.remove("skills/xlsx");
    upstream.commit(&[
        ("skills/csv/SKILL.md", &skill("csv", "rows\n")),
        ("skills/pdf/scripts/new.py", "print()\n"),
        ("AGENTS.md", "Be briefer.\n"),
    ]);
    let planned = scratch.run(&["source", "update", "--dry-run"]);
    for line in [
        "new\tskill\t1\tcsv",
        "changed\tskill\t1\tpdf",
        "changed\tinstructions file\t1\tAGENTS.md",
        "deleted\tskill\t1\txlsx",
        "new or changed\tof these, programs and scripts\t1\tskills/pdf/scripts/new.py",
    ] {
        assert!(planned.stdout.contains(line), "{line}: {planned}");
    }
    let planned = scratch.json(&["source", "update", "--dry-run"])["sources"][0].clone();
    assert_eq!(planned["changes"][0], serde_json::json!({ "change": "new", "kind": "skill", "names": ["csv"] }));
    assert_eq!(planned["programs"], serde_json::json!(["skills/pdf/scripts/new.py"]));
    for (typed, is_updated) in [("n\n", false), ("y\n", true)] {
        let mut update = scratch.command();
        update.args(["source", "update"]);
        let Some((shown, status)) = typed_after(&update, "[y/N", typed) else {
            return skipped("there is no script of util-linux");
        };
        let (table, _) = shown.split_once("Update 1 source?").unwrap_or_else(|| panic!("no question: {shown}"));
        assert!(table.contains("csv") && table.contains("xlsx") && table.contains("deleted"), "{table}");
        assert_eq!(status == 0, is_updated, "{shown}");
        assert_eq!(scratch.run(&["resource", "show", "skill://csv/SKILL.md"]).status == 0, is_updated);
    }
    // Nothing is asked if nothing changes.
    let mut update = scratch.command();
    update.args(["source", "update"]);
    let Some((shown, status)) = typed_after(&update, "[y/N", "") else { return };
    assert!(status == 0 && shown.contains("current"), "{shown}");
}
