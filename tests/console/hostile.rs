//! Tests that foreign text has no effect on the terminal on any screen, and never appears on the console's own rows.
//! Also tests that keys that do not approve change nothing.

use std::time::Duration;

use super::ground::{self, FORGED};
use super::started;
use crate::support::{Random, Screen};
use crate::workflow::runs::Ground;

fn open(ground: &Ground) -> Option<Screen> {
    let mut command = ground.scratch.command();
    command.current_dir(ground.scratch.path().join("root"));
    started(command, &[])
}

/// Checks that no line begins with the forged text, and that the console's own rows do not contain it.
#[track_caller]
fn assert_nothing_forged(text: &str) {
    let lines: Vec<&str> = text.lines().collect();
    let last = lines.len().saturating_sub(2);
    for (at, line) in lines.iter().enumerate() {
        let is_own_row = at < 2 || at >= last;
        assert!(!line.trim_start().starts_with(FORGED), "{text}");
        assert!(!(is_own_row && line.contains(FORGED)), "{text}");
    }
    assert!(lines[0].starts_with(" mcpkg p "), "the first row is the console's: {text}");
}

#[test]
fn foreign_text_has_no_effect_and_cannot_imitate_the_console_on_any_screen() {
    let (ground, _client) = ground::filled();
    let Some(mut screen) = open(&ground) else { return };
    screen.wait("wait for you");
    let mut steps = 0;
    let mut look = |screen: &mut Screen, keys: &str| {
        screen.keys(keys);
        std::thread::sleep(Duration::from_millis(60));
        assert_nothing_forged(&screen.text());
        steps += 1;
    };
    for place in ["1", "2", "3", "4", "5"] {
        look(&mut screen, place);
        std::thread::sleep(Duration::from_millis(300));
        for _ in 0..9 {
            // Open the row, go through its views and to its end, and then to the next row.
            for keys in ["\r", "v", "G", "v", ".", "\u{1b}"] {
                look(&mut screen, keys);
            }
            // If the row did not open, the escape may have gone back to the place's first screen. Either way, go down.
            look(&mut screen, "j");
        }
        // The question about an approval quotes everything again.
        look(&mut screen, place);
        look(&mut screen, "g");
        look(&mut screen, "a");
        std::thread::sleep(Duration::from_millis(200));
        for keys in [" ", " ", "\u{1b}", "\u{1b}"] {
            look(&mut screen, keys);
        }
    }
    assert!(steps > 300, "{steps}");
    let written = screen.written();
    for hostile in ["\u{1b}]52", "\u{1b}]0;", "\u{1b}[31m\u{202e}", "\u{202e}", "\u{200b}", "\u{e0041}", "\u{9b}31m"] {
        let bytes = hostile.as_bytes();
        assert!(!written.windows(bytes.len()).any(|window| window == bytes), "{hostile:?} was written");
    }
    screen.keys("\u{3}\u{3}");
    assert_eq!(screen.end(), 0);
}

#[test]
fn random_keys_without_an_approving_one_change_nothing() {
    let (ground, _client) = ground::filled();
    // An action that is not confirmed is refused, and the audit trail records the refusal. Nothing else may be
    // recorded.
    let state = || {
        let events = ground.scratch.json(&["events", "--limit", "1000"])["events"].clone();
        let events = events.as_array().expect("events").iter().filter(|event| event["outcome"] == "ok").cloned();
        let consents = ground.scratch.json(&["consent", "list"])["consents"].clone();
        (events.map(|event| event.to_string()).collect::<Vec<_>>(), consents)
    };
    let before = state();
    let Some(mut screen) = open(&ground) else { return };
    screen.wait("wait for you");
    let mut random = Random::new();
    // Leave out `y`, the immediate answers `d` and `z`, and `e` and `E`, which start an editor that reads the next
    // keys.
    let keys: Vec<char> = "jkhlgG.,v/?:Mcanbtfpsrx+muUS[]oW<>=~!01234569-_ \r\t\u{1b}".chars().collect();
    for _ in 0..60 {
        let burst: String = (0..12).map(|_| keys[random.below(keys.len())]).collect();
        screen.keys(&burst);
        std::thread::sleep(Duration::from_millis(30));
    }
    // The console still runs, and Ctrl-C ends it.
    for _ in 0..100 {
        if !screen.is_running() {
            break;
        }
        // The first Ctrl-C may refuse a question, and a further one throws away unsaved text.
        screen.keys("\u{3}");
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(!screen.is_running(), "{}", screen.text());
    let after = state();
    let new: Vec<&String> = after.0.iter().filter(|event| !before.0.contains(event)).collect();
    assert!(new.is_empty(), "{new:#?}");
    assert_eq!(after.1, before.1);
}
