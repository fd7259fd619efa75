//! Property tests of the merge.

use proptest::prelude::*;

use super::*;
use crate::item::{Origin, What};
use mcpkg_base::error::Error;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::resources::Attributes;

/// One side's version of an item.
#[derive(Clone, Debug, PartialEq)]
struct Item {
    entry: Entry,
    content: Vec<u8>,
}

impl Item {
    fn new(content: &[u8]) -> Self {
        let attributes = Attributes {
            uri: "file:///a".to_owned(),
            description: None,
            mime_type: None,
            text: true,
            executable: false,
        };
        let entry = Entry { name: "a".to_owned(), what: What::Resource(attributes), origin: Origin::default() };
        Self { entry, content: content.to_vec() }
    }

    fn described(mut self, text: &str) -> Self {
        if let What::Resource(attributes) = &mut self.entry.what {
            attributes.description = Some(text.to_owned());
        }
        self
    }

    fn executable(mut self) -> Self {
        if let What::Resource(attributes) = &mut self.entry.what {
            attributes.executable = true;
        }
        self
    }

    fn version(&self) -> Version<'_> {
        Version { entry: &self.entry, sha256: NewContent::from(self.content.clone()).sha256() }
    }
}

fn merged(base: Option<&Item>, theirs: Option<&Item>, ours: Option<&Item>) -> Outcome {
    let load = |side| {
        let item = match side {
            Side::Base => base,
            Side::Theirs => theirs,
            Side::Ours => ours,
        };
        item.map(|item| item.content.clone()).ok_or_else(|| Error::internal("loaded what is not there"))
    };
    super::merge(base.map(Item::version), theirs.map(Item::version), ours.map(Item::version), load)
        .expect("the content is there")
}

#[test]
fn each_combination_of_changes_has_its_outcome() {
    let (a, b) = (Item::new(b"a\n"), Item::new(b"b\n"));
    for (base, theirs, ours, outcome) in [
        (Some(&a), Some(&a), Some(&a), Outcome::Unchanged),
        (Some(&a), Some(&b), Some(&b), Outcome::Unchanged),
        (None, Some(&a), Some(&a), Outcome::Unchanged),
        (Some(&a), None, None, Outcome::Unchanged),
        (Some(&a), Some(&b), Some(&a), Outcome::Taken),
        (None, Some(&b), None, Outcome::Taken),
        (Some(&a), Some(&a), Some(&b), Outcome::Kept),
        (None, None, Some(&b), Outcome::Kept),
        (Some(&a), None, Some(&a), Outcome::DeletedThere { changed: false }),
        (Some(&a), None, Some(&b), Outcome::DeletedThere { changed: true }),
        (Some(&a), Some(&a), None, Outcome::DeletedHere { changed: false }),
        (Some(&a), Some(&b), None, Outcome::DeletedHere { changed: true }),
        (None, Some(&a), Some(&b), Outcome::Conflict(vec!["content"])),
    ] {
        assert_eq!(merged(base, theirs, ours), outcome, "{base:?} {theirs:?} {ours:?}");
    }
}

#[test]
fn content_is_loaded_only_where_both_sides_changed_it() {
    let (base, theirs) = (Item::new(b"a\n"), Item::new(b"b\n"));
    let ours = Item::new(b"a\n").described("ours").executable();
    let load = |_| Err(Error::internal("loaded"));
    let outcome =
        super::merge(Some(base.version()), Some(theirs.version()), Some(ours.version()), load).expect("merged");
    let merged = Merged { entry: ours.entry.clone(), content: Content::Of(Side::Theirs) };
    assert_eq!(outcome, Outcome::Merged(Box::new(merged)));
}

#[test]
fn parts_come_from_the_side_that_changed_them() {
    let base = Item::new(b"a\nb\nc\n");
    let theirs = Item::new(b"A\nb\nc\n").described("theirs");
    let ours = Item::new(b"a\nb\nC\n").executable();
    let Outcome::Merged(both) = merged(Some(&base), Some(&theirs), Some(&ours)) else { panic!("no merge") };
    assert_eq!(both.entry, base.clone().described("theirs").executable().entry);
    assert_eq!(both.content, Content::New(b"A\nb\nC\n".to_vec()));
    let ours = ours.described("ours");
    assert_eq!(merged(Some(&base), Some(&theirs), Some(&ours)), Outcome::Conflict(vec!["description"]));
}

#[test]
fn a_change_of_only_one_side_is_the_result() {
    let (a, b) = (Item::new(b"a\n"), Item::new(b"b\n"));
    assert_eq!(merged(Some(&a), None, Some(&a)), Outcome::DeletedThere { changed: false });
    assert_eq!(merged(None, Some(&a), None), Outcome::Taken);
    assert_eq!(merged(Some(&a), Some(&a), Some(&a)), Outcome::Unchanged);
    assert_eq!(merged(Some(&a), Some(&b), Some(&a)), Outcome::Taken);
}

/// An edit of a text: the position, how many lines to delete, and how many to insert.
type Edit = (prop::sample::Index, usize, usize);

/// Applies edits. Each inserted line is unique.
fn edited(lines: &[String], edits: &[Edit], side: &str, end: &str) -> Vec<String> {
    let mut lines = lines.to_vec();
    for (number, (at, gone, come)) in edits.iter().enumerate() {
        let at = at.index(lines.len() + 1);
        let gone = (*gone).min(lines.len() - at);
        lines.splice(at..at + gone, (0..*come).map(|line| format!("{side} {number} {line}{end}")));
    }
    lines
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec((any::<prop::sample::Index>(), 0..3_usize, 0..3_usize), 0..4)
}

proptest! {
    #![proptest_config(crate::seed::config(256))]

    #[test]
    fn a_merge_loses_no_line_of_either(
        // Choose from a few different lines only, so that lines repeat.
        base in prop::collection::vec("[ab]{0,1}", 0..12),
        (theirs, ours) in (edits(), edits()),
        end in prop_oneof![Just("\n"), Just("\r\n")],
        cut in any::<[bool; 3]>(),
    ) {
        let base: Vec<String> = base.into_iter().map(|line| line + end).collect();
        let texts = [base.clone(), edited(&base, &theirs, "theirs", end), edited(&base, &ours, "ours", end)];
        let mut cut = cut.into_iter();
        let [base, theirs, ours] = texts.map(|lines| {
            let text = lines.concat();
            if cut.next() == Some(true) { text.trim_end_matches(['\r', '\n']).to_owned() } else { text }
        });
        let items = [&base, &theirs, &ours].map(|text| Item::new(text.as_bytes()));
        let result = match merged(Some(&items[0]), Some(&items[1]), Some(&items[2])) {
            // A conflict loses no line, because our version stays and the proposal contains their version.
            Outcome::Conflict(_) => return Ok(()),
            Outcome::Unchanged | Outcome::Taken => theirs.clone(),
            Outcome::Kept => ours.clone(),
            Outcome::Merged(both) => match both.content {
                Content::New(bytes) => String::from_utf8(bytes).expect("text"),
                other => return Err(TestCaseError::fail(format!("{other:?}"))),
            },
            other => return Err(TestCaseError::fail(format!("{other:?}"))),
        };
        let whole: Vec<&str> = result.split_inclusive('\n').collect();
        for line in theirs.split_inclusive('\n').chain(ours.split_inclusive('\n')) {
            if line.starts_with("theirs") || line.starts_with("ours") {
                prop_assert!(whole.contains(&line), "{line:?} is lost: {base:?} {theirs:?} {ours:?} -> {result:?}");
            }
        }
        for line in whole {
            let known = [&base, &theirs, &ours].iter().any(|text| text.split_inclusive('\n').any(|known| known == line));
            prop_assert!(known, "{line:?} is nobody's: {base:?} {theirs:?} {ours:?} -> {result:?}");
        }
    }

    #[test]
    fn a_merge_is_the_same_seen_from_the_other_side(
        base in prop::collection::vec("[a-e]", 0..9),
        (theirs, ours) in (edits(), edits()),
    ) {
        let base: Vec<String> = base.into_iter().map(|line| line + "\n").collect();
        let [theirs, ours] = [edited(&base, &theirs, "theirs", "\n"), edited(&base, &ours, "ours", "\n")];
        let [base, theirs, ours] = [base, theirs, ours].map(|lines| Item::new(lines.concat().as_bytes()));
        let here = merged(Some(&base), Some(&theirs), Some(&ours));
        let there = merged(Some(&base), Some(&ours), Some(&theirs));
        match (&here, &there) {
            (Outcome::Taken, Outcome::Kept) | (Outcome::Kept, Outcome::Taken) => {}
            _ => prop_assert_eq!(here, there),
        }
    }
}
