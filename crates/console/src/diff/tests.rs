use super::*;

fn shown(diff: &Diff, view: &View) -> Vec<String> {
    let cell = |cell: &Option<Line>| cell.as_ref().map(Line::text).unwrap_or_default();
    let row = |row: &Shown| row.cells.iter().map(cell).collect::<Vec<_>>().join(" | ");
    diff.rows(view).iter().map(row).collect()
}

#[test]
fn lines_are_numbered_and_only_the_words_that_differ_are_marked() {
    let unified = "--- review 1\n+++ review 2\n@@ -3,3 +3,3 @@\n same\n-Look for missing tests first.\n+Look for missing tests and unsafe SQL first.\n more\n";
    let shown = lines(unified);
    let text: Vec<String> = shown.iter().map(Line::text).collect();
    assert_eq!(
        text,
        [
            "--- review 1",
            "+++ review 2",
            "@@ -3,3 +3,3 @@",
            "    3  same",
            "-   4  Look for missing tests first.",
            "+   4  Look for missing tests and unsafe SQL first.",
            "    5  more"
        ]
    );
    let marked = |line: &Line| -> String {
        line.spans.iter().filter(|span| span.tone == Tone::Changed).map(Span::text).collect()
    };
    assert_eq!((marked(&shown[4]), marked(&shown[5])), (String::new(), "and unsafe SQL ".to_owned()));
    assert!(shown[2].is_stop && shown[4].is_quoted);
    assert_eq!(shown[5].clone().with_words_marked().text(), "+   4  Look for missing tests {+and unsafe SQL +}first.");
}

#[test]
fn a_removed_line_that_looks_like_a_file_name_stays_in_its_hunk() {
    let unified = "--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n--- b/y\n same\n--- a/y\n+++ b/y\n@@ -0,0 +1 @@\n+new\n\\ No newline at end of file\n";
    let diff = parse(unified);
    assert_eq!(diff.hunks(), 2);
    assert_eq!(
        shown(&diff, &View::default()),
        [
            "--- a/x",
            "+++ b/x",
            "@@ -1,2 +1 @@",
            "-   1  -- b/y",
            "    1  same",
            "--- a/y",
            "+++ b/y",
            "@@ -0,0 +1 @@",
            "+   1  new",
            "\\ No newline at end of file"
        ]
    );
}

#[test]
fn unchanged_lines_unfold_and_both_texts_stand_side_by_side() {
    let old: String = (1..=20).map(|line| format!("line {line}\n")).collect();
    let new = old.replace("line 10\n", "line ten\nand more\n");
    let diff = Diff::of(&old, &new, ["disk".to_owned(), "project".to_owned()]);
    let closed = shown(&diff, &View::default());
    assert_eq!(closed[0], "... 6 unchanged lines, enter shows them");
    assert_eq!(closed[1], "@@ -7,7 +7,8 @@");
    assert_eq!(closed.last().map(String::as_str), Some("... 7 unchanged lines, enter shows them"));
    let open = View { open: [1].into(), is_split: true };
    let rows = shown(&diff, &open);
    assert_eq!(rows[0], "disk | project");
    assert!(rows.contains(&"-  10  line 10 | +  10  line ten".to_owned()), "{rows:?}");
    assert!(rows.contains(&" | +  11  and more".to_owned()), "{rows:?}");
    assert_eq!(rows.last().map(String::as_str), Some("   20  line 20 |    21  line 20"));
    // A diff that was not made from the given text has no folds.
    let other = parse(&mcpkg_base::diff::unified(&old, &new, "a", "b")).with_text("something else\n", 1);
    assert!(!shown(&other, &View::default()).iter().any(|row| row.starts_with("...")));
}

#[test]
fn each_hunk_can_be_excluded_and_included_again() {
    let old: String = (1..=30).map(|line| format!("{line}\n")).collect();
    let new = old.replace("\n5\n", "\nfive\n").replace("\n25\n", "\n25b\n");
    let diff = Diff::of(&old, &new, [String::new(), String::new()]);
    let diff = diff.choosing(&[2], |out| Place::Proposal("7".to_owned(), out));
    assert_eq!((diff.hunks(), diff.chosen(&[2])), (2, vec![1]));
    let heads: Vec<String> = shown(&diff, &View::default()).into_iter().filter(|row| row.contains("hunk")).collect();
    assert_eq!(heads, ["IN   hunk 1 of 2  @@ -2,7 +2,7 @@", "OUT  hunk 2 of 2  @@ -22,7 +22,7 @@"]);
    let goes = |hunk: usize| match &diff.actions(hunk)[0].does {
        Does::Replace(Place::Proposal(_, out)) => out.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!((goes(1), goes(2)), (vec![1, 2], vec![]));
    assert!(diff.actions(3).is_empty() && diff.actions(0).is_empty());
}

#[test]
fn three_texts_are_aligned_with_their_base() {
    let base: String = (1..=12).map(|line| format!("line {line}\n")).collect();
    let yours = base.replace("line 2\n", "line two\n");
    let theirs = base.replace("line 2\n", "line 2 again\n").replace("line 3\n", "") + "line 13\n";
    let diff = three(&base, &yours, &theirs, ["1", "2", "draft"].map(str::to_owned));
    let rows = shown(&diff, &View { is_split: true, ..View::default() });
    assert_eq!(rows[0], "1 | 2 | draft");
    assert!(rows.contains(&"    2  line 2 |     2  line two |     2  line 2 again".to_owned()), "{rows:?}");
    assert!(rows.contains(&"    3  line 3 |     3  line 3 | ".to_owned()), "{rows:?}");
    assert!(rows.contains(&" |  |    12  line 13".to_owned()), "{rows:?}");
    let rows = shown(&diff, &View::default());
    assert_eq!(rows[..3], ["base    1", "yours   2", "theirs  draft"]);
    let at = rows.iter().position(|row| row == "base     2  line 2").expect("the base");
    assert_eq!(rows[at + 2..at + 5], ["yours    2  line two", "yours    3  line 3", "theirs   2  line 2 again"]);
}

#[test]
fn hidden_characters_are_stops() {
    let diff = parse("--- a\n+++ b\n@@ -1 +1 @@\n-ok\n+ok\u{202e}gnp.exe\u{1b}[2J\n");
    let rows = diff.rows(&View::default());
    let stops: Vec<bool> = rows.iter().map(Shown::is_stop).collect();
    assert_eq!(stops, [false, false, true, false, true]);
    let all = shown(&diff, &View::default()).join("\n");
    assert!(all.contains("<U+202E>") && all.contains("^["), "{all}");
}

#[test]
fn the_words_of_long_lines_are_not_compared() {
    for (words, is_compared) in [(100, true), (100_000, false)] {
        let old = "word ".repeat(words);
        let marks = |line: &str| super::parse::words(&old, line).1.iter().any(|span| span.tone == Tone::Changed);
        assert_eq!(marks(&format!("{old}more")), is_compared, "{words}");
        // Without a limit, this would take minutes.
        assert_eq!(marks(&"other ".repeat(words)), is_compared, "{words}");
    }
}
