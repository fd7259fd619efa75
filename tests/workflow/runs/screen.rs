//! Tests that the screen shows a person the true request, whatever text the agent wrote.

use serde_json::{Value, json};

use super::{Ground, execute};
use crate::support::fuzz::Cases;
use crate::support::{Client, Random, screen_at, skipped};

/// The usual size of a terminal: columns and rows.
const USUAL: (u16, u16) = (80, 24);

/// Imitates the first line of a harmless request.
const FORGED: &str = "GET http://127.0.0.1:9/api/v1/apps (hosting:apps:list, reads)";

const NO_SCRIPT: &str = "there is no script of util-linux";

/// Returns values that push the request off the screen and imitate another one.
fn hostile() -> [String; 4] {
    let rows = |lines: &[&str]| lines.iter().map(|line| format!("{line:<80}")).collect::<String>();
    [
        format!("tidying up{}{}", " ".repeat(1_900), rows(&["", FORGED, "  name = \"web\"", ""])),
        format!("tidying up{}{FORGED}", "\n".repeat(60)),
        format!("tidying up\u{1b}[2J\u{1b}[H{FORGED}\r\n"),
        format!("{}{FORGED}", "tidying up \u{a0}".repeat(500)),
    ]
}

/// Checks the rows of a screen that asks about [`super::create`]. The question must contain the true request, and no
/// part of a value may look like another row.
#[track_caller]
fn checked(rows: &[String], shown: &str) {
    let text = rows.join("\n");
    let asked = rows.iter().rposition(|row| row.trim_start().starts_with("Run ")).expect("the question");
    let question = rows[asked..].join(" ").replace("↳ ", "").split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["hosting:apps:create", "writes: POST http://127.0.0.1:", "[y/N"] {
        assert!(question.contains(part), "{part}: {text}");
    }
    let is_forged =
        |row: &&String| row.trim_start().starts_with("GET ") || row.trim_start().starts_with("name = \"web\"");
    assert_eq!(rows.iter().find(is_forged), None, "{text}");
    assert!(!shown.contains("\u{1b}[2J") && !shown.contains("\u{1b}[H"), "{shown:?}");
}

#[test]
fn no_value_hides_or_forges_the_request() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    for name in hostile() {
        let args = json!({ "name": name, "region": "eu" });
        let asked = execute(&mut client, json!({ "command": "hosting:apps:create", "args": args, "wait_s": 0 }));
        let id = asked["error"]["details"]["consent"].as_str().expect("a request");
        let mut approve = ground.scratch.command();
        approve.args(["consent", "approve", id]);
        let argument = format!("name={name}");
        let mut run = ground.scratch.command();
        run.args(["command", "run", "hosting:apps:create", "-a", "region=eu", "-a", &argument]);
        for command in [approve, run] {
            let Some((rows, shown, status)) = screen_at(USUAL, &command, "[y/N", "n\n") else {
                return skipped(NO_SCRIPT);
            };
            assert_ne!(status, 0, "{shown}");
            checked(&rows, &shown);
            let first = rows.iter().find(|row| row.contains(" = \"tidying up")).expect("the value");
            assert!(first.contains("name (") || name.chars().count() <= 200, "its size: {first}");
        }
        let text = json!({ "workflow": "w", "steps": [{ "id": "a", "run": "hosting:apps:create", "with": args }] });
        ground.scratch.file("w.yaml", text.to_string());
        let mut run = ground.scratch.command();
        run.args(["workflow", "run", "w.yaml"]);
        let (rows, shown, _) = screen_at(USUAL, &run, "[y/N", "n\n").expect("a terminal");
        assert!(rows.iter().any(|row| row.contains("Run the workflow w (")), "{rows:#?}");
        checked(&rows, &shown);
    }
    assert_eq!(ground.changes(), 0);
    client.finish();
}

/// Returns a value made of text that could hide, forge or move parts of the screen.
fn odd(random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..1 + random.below(12) {
        let count = 1 + random.below(90);
        let piece = match random.below(14) {
            0 => " ".repeat(count * 20),
            1 => "\n".repeat(count),
            2 => "\r".to_owned(),
            3 => format!("\u{1b}[{}m", random.below(120)),
            4 => format!("\u{1b}[{};{}H\u{1b}[J", random.below(30), random.below(90)),
            5 => format!("\u{1b}]52;c;{}\u{7}", "QQ==".repeat(random.below(9))),
            6 => FORGED.to_owned(),
            7 => format!("{FORGED:<80}"),
            // The end of a real question is missing here, because the test waits for that end.
            8 => "Run hosting:apps:list (reads: GET http://127.0.0.1:9/). Consent to it? ".to_owned(),
            9 => ["\u{202e}", "\u{2066}", "\u{61c}", "\u{200b}", "\u{ad}", "\u{3164}", "\u{feff}"][random.below(7)]
                .repeat(count),
            10 => (0..count).filter_map(|_| char::from_u32(0xe0020 + random.below(0x5f) as u32)).collect(),
            11 => ["字", "👩\u{200d}💻", "❤\u{fe0f}", "e\u{301}", "\u{1f1e9}\u{1f1ea}"][random.below(5)].repeat(count),
            12 => "x".repeat(count * 7),
            _ => "\n  name = \"web\"\n".to_owned(),
        };
        text += &piece;
    }
    text
}

#[test]
fn hostile_texts_in_consents_do_not_hide_the_request() {
    let mut ground = Ground::new();
    let mut asked_here = 0;
    let mut cases = Cases::new("texts in consents", 12);
    while cases.more() {
        // A database keeps requests for an hour, and at most 1,000 of them. So use a new database before that.
        asked_here += 1;
        if asked_here % 900 == 0 {
            assert_eq!(ground.changes(), 0);
            ground = Ground::new();
        }
        let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
        let name = odd(&mut cases.random);
        let args = json!({ "name": name, "region": "eu" });
        let asked = execute(&mut client, json!({ "command": "hosting:apps:create", "args": args, "wait_s": 0 }));
        let id = asked["error"]["details"]["consent"].as_str().unwrap_or_else(|| panic!("{asked}"));
        let mut approve = ground.scratch.command();
        approve.args(["consent", "approve", id]);
        let size = (60 + cases.random.below(80) as u16, 20 + cases.random.below(40) as u16);
        let Some((rows, shown, status)) = screen_at(size, &approve, "[y/N", "n\n") else { return skipped(NO_SCRIPT) };
        assert_ne!(status, 0, "{name:?}: {shown}");
        checked(&rows, &shown);
        client.finish();
        ground.scratch.ok(&["consent", "deny", id]);
    }
    assert_eq!(ground.changes(), 0);
}

#[test]
fn the_choices_of_a_question_are_never_broken() {
    let ground = Ground::new();
    let mut run = ground.scratch.command();
    run.args(["command", "run", "hosting:apps:create", "-a", "region=eu"]);
    for columns in (60..104).step_by(2) {
        let Some((rows, shown, _)) = screen_at((columns, 50), &run, "N]", "n\n") else { return skipped(NO_SCRIPT) };
        assert!(rows.iter().any(|row| row.contains("[y/N]")), "{columns}: {rows:#?} {shown}");
    }
    assert_eq!(ground.changes(), 0);
}

#[test]
fn a_request_that_exceeds_the_screen_says_so_and_opens_in_a_pager() {
    let ground = Ground::new();
    let name = format!("{}{FORGED}", "tidying up. ".repeat(200));
    let mut run = ground.scratch.command();
    run.args(["command", "run", "hosting:apps:create", "-a", "region=eu", "-a", &format!("name={name}")]);
    let whole = |shown: &str| shown.replace("\r\n↳ ", "").contains(FORGED);
    run.env("PAGER", "cat");
    let Some((rows, shown, status)) = screen_at(USUAL, &run, "[y/N/v]", "n\n") else { return skipped(NO_SCRIPT) };
    assert!(status != 0 && !whole(&shown), "{shown}");
    assert!(rows.iter().any(|row| row.contains("not all of these") && row.contains("press `v`")), "{rows:#?}");
    // `v` shows the whole text and asks again. If there is no pager, the text is printed on the terminal.
    for pager in ["cat", "'no pager'", "/nonexistent/pager"] {
        run.env("PAGER", pager);
        let (_, shown, status) = screen_at(USUAL, &run, "[y/N/v]", "v\nn\n").expect("a terminal");
        assert!(status != 0 && whole(&shown) && shown.matches("[y/N/v]").count() == 2, "{pager}: {shown}");
        let is_unmarked = |line: &&str| line.starts_with("GET ") || line.starts_with(' ') && line.contains("GET ");
        assert_eq!(shown.lines().find(is_unmarked), None, "{shown}");
    }
    assert_eq!(ground.changes(), 0);
    // A request that fits on the screen gets the usual question.
    let mut run = ground.scratch.command();
    run.args(["command", "run", "hosting:apps:create", "-a", "region=eu"]);
    let (_, shown, _) = screen_at(USUAL, &run, "[y/N] ", "n\n").expect("a terminal");
    assert!(shown.contains("region = \"eu\"") && !shown.contains("not all of these"), "{shown}");
}

#[test]
fn a_preview_is_shown_on_the_terminal_if_stdout_is_redirected() {
    let ground = Ground::new();
    let mut command = std::process::Command::new("/bin/sh");
    let plain = ground.scratch.command();
    let run = "exec \"$0\" command run hosting:apps:create -a region=eu > answer.json";
    command.args(["-c", run]).arg(plain.get_program()).current_dir(ground.scratch.path());
    for (name, value) in plain.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    let Some((rows, _, status)) = screen_at(USUAL, &command, "[y/N]", "y\n") else { return skipped(NO_SCRIPT) };
    assert!(status == 0 && rows.iter().any(|row| row.contains("region = \"eu\"")), "{rows:#?}");
    let answer = std::fs::read_to_string(ground.scratch.path().join("answer.json")).expect("an answer");
    assert!(!answer.contains("region = "), "{answer}");
}

#[test]
fn tag_characters_of_a_value_are_spelled_out() {
    let ground = Ground::new();
    let tagged: String = "App".chars().filter_map(|c| char::from_u32(0xe0000 + u32::from(c))).collect();
    let run = |name: &str| -> Value {
        let name = format!("name={name}");
        let run = ["command", "run", "hosting:apps:create", "-a", "region=eu", "--dry-run", "-a", &name];
        ground.scratch.json(&run)["effects"].clone()
    };
    let effects = run(&format!("ok{tagged}\u{202e}gnp"));
    let line = r#"name (9 characters, 4 hidden) = "ok" <tags: "App"> <U+202E right-to-left> "gnp""#;
    assert!(effects.as_array().expect("lines").contains(&json!(line)), "{effects}");
}
