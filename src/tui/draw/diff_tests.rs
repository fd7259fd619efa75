//! Draws diffs, and checks what the keys do in them.

use mcpkg_console::diff::{Diff, three};
use mcpkg_console::place::Place;
use mcpkg_console::screen::{Line, Screen, Tone};
use mcpkg_console::{Action, Invocation, diff};
use ratatui::crossterm::event::KeyCode;

use super::tests::{app, frame, press};
use crate::tui::app::App;
use crate::tui::level::Shown;
use crate::tui::message::{Message, Task};

/// Returns the screen of a proposal with three hunks. `out` has the numbers of the excluded hunks.
fn proposal(out: &[usize]) -> Screen {
    let old: String = (1..=60).map(|line| format!("Line {line} of the prompt.\n")).collect();
    let new = old
        .replace("Line 10 of the prompt.", "Line 10 of the prompt, and more.")
        .replace("Line 30 of the prompt.\n", "")
        .replace("Line 50 of", "Line 50\u{202e} of");
    let diff = Diff::of(&old, &new, ["project".to_owned(), "on disk".to_owned()])
        .under(vec![Line::of(Tone::Name, "command:review"), Line::blank()]);
    let chosen = diff.chosen(out).iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let diff = diff.choosing(out, |out| Place::Proposal("7".to_owned(), out));
    let accept = Invocation::new("evolve accept").with("7").option("--hunks", &chosen);
    let actions = [Action::call('a', "accept", accept)];
    Screen::diff("Inbox > change of command:review", diff).with(actions).with(diff::review("x"))
}

fn shown(screen: Screen) -> App {
    let mut app = app();
    app.open(Place::Proposal("7".to_owned(), Vec::new()), &mut Vec::new());
    app.level_mut().shown = Shown::Screen(Box::new(screen));
    app
}

#[test]
fn a_diff_is_unified_when_narrow_and_in_columns_when_wide() {
    for (columns, rows) in [(40, 14), (80, 24), (120, 24)] {
        insta::assert_snapshot!(format!("diff-{columns}"), frame(&mut shown(proposal(&[])), columns, rows));
    }
    let mut app = shown(proposal(&[]));
    assert!(frame(&mut app, 80, 24).contains("enter shows them"));
    press(&mut app, KeyCode::Char('v'));
    assert!(frame(&mut app, 80, 24).contains("| -"), "v puts the texts side by side");
    press(&mut app, KeyCode::Char('v'));
    let narrow = frame(&mut app, 200, 30);
    assert!(!narrow.contains("on disk"), "and v makes it unified again, at every width: {narrow}");
}

#[test]
fn without_colour_changed_words_are_enclosed_in_markers() {
    let text = frame(&mut shown(proposal(&[])), 80, 24);
    assert!(text.contains("of the {+prompt, and more.+}"), "{text}");
}

#[test]
fn keys_go_through_stops_folds_and_hunks() {
    let mut app = shown(proposal(&[]));
    assert!(frame(&mut app, 80, 24).contains("hunk 1 of 3"));
    press(&mut app, KeyCode::Char('.'));
    press(&mut app, KeyCode::Char('.'));
    let text = frame(&mut app, 80, 24);
    assert!(text.contains("hunk 2 of 3") && text.lines().any(|line| line.starts_with(">IN   hunk 2")), "{text}");
    // Space excludes the hunk of the cursor: the screen's place now lists this hunk as excluded.
    press(&mut app, KeyCode::Char(' '));
    assert_eq!(app.level().place, Place::Proposal("7".to_owned(), vec![2]));
    app.level_mut().shown = Shown::Screen(Box::new(proposal(&[2])));
    let text = frame(&mut app, 80, 24);
    assert!(text.lines().any(|line| line.starts_with(">OUT  hunk 2")), "the cursor stays: {text}");
    let tasks = press(&mut app, KeyCode::Char('a'));
    let [Task::Run(call)] = &tasks[..] else { panic!("one call") };
    assert_eq!(call.command(), "mcpkg evolve accept '--hunks=1,3' 7");
    // `.` also stops at the hidden character in the last hunk. Enter opens the fold before that hunk.
    press(&mut app, KeyCode::Char('.'));
    press(&mut app, KeyCode::Char('.'));
    let text = frame(&mut app, 80, 24);
    let marked = text.lines().find(|line| line.starts_with('>')).expect("a cursor");
    assert!(marked.contains("<U+202E>"), "{text}");
    press(&mut app, KeyCode::Char(','));
    press(&mut app, KeyCode::Up);
    assert!(!frame(&mut app, 80, 24).contains("Line 40 of"));
    press(&mut app, KeyCode::Enter);
    assert!(frame(&mut app, 80, 24).contains("Line 40 of"));
    // m marks exactly this diff.
    assert!(matches!(press(&mut app, KeyCode::Char('m'))[..], [Task::Review(_)]));
    app.update(Message::Reviewed(Ok(true)));
    assert!(frame(&mut app, 80, 24).contains("Marked as reviewed"));
}

#[test]
fn three_texts_are_columns_when_wide_and_below_each_other_when_narrow() {
    let base = "one\ntwo\nthree\n";
    let diff = three(
        base,
        "one\n2\nthree\n",
        "one\ntwo again\nthree\n",
        ["revision 1", "revision 2", "draft"].map(str::to_owned),
    );
    let mut app = shown(Screen::diff("Workflows > draft", diff));
    insta::assert_snapshot!("diff-three-80", frame(&mut app, 80, 16));
    insta::assert_snapshot!("diff-three-120", frame(&mut app, 120, 16));
}

proptest::proptest! {
    #![proptest_config(crate::seed::config(64))]
    #[test]
    fn no_key_or_size_breaks_a_diff_and_only_the_key_a_runs_something(
        keys in proptest::collection::vec(0_u8..64, 1..80),
        sizes in proptest::collection::vec((1_u16..220, 1_u16..50), 1..6),
    ) {
        let texts = ["one\ntwo\n", "", "two\nthree\u{202e}\n"];
        let three = three(texts[0], texts[1], texts[2], ["a", "b", "c"].map(str::to_owned));
        for screen in [proposal(&[]), Screen::diff("three", three)] {
            let mut app = shown(screen);
            for (at, key) in keys.iter().enumerate() {
                let all = b"jkgGhl.,v[]cadnmt +\r\t\x08\x1bvvv..  MuU";
                let code = match all[usize::from(*key) % all.len()] {
                    b'\r' => KeyCode::Enter,
                    b'\x1b' => KeyCode::Esc,
                    b'\t' => KeyCode::Tab,
                    8 => KeyCode::PageDown,
                    letter => KeyCode::Char(char::from(letter)),
                };
                let tasks = press(&mut app, code);
                let runs = tasks.iter().any(|task| matches!(task, Task::Run(_) | Task::RunOnTerminal(_)));
                proptest::prop_assert!(!runs || code == KeyCode::Char('a'));
                let (columns, rows) = sizes[at % sizes.len()];
                frame(&mut app, columns, rows);
            }
        }
    }
}
