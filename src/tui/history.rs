//! The edit history of a text, for undo and redo.

/// A line and column of the text, counted from 0.
pub type Cursor = (usize, usize);

/// A replaced part of the text.
struct Edit {
    /// The byte offset of the part in the text.
    at: usize,
    removed: String,
    inserted: String,
    before: Cursor,
    after: Cursor,
}

#[derive(Default)]
pub struct History {
    done: Vec<Edit>,
    undone: Vec<Edit>,
}

impl History {
    /// Records a change of the text. Letters, digits and `_` that are typed one after the other become one edit.
    pub fn record(&mut self, (old, before): (&str, Cursor), (new, after): (&str, Cursor)) {
        self.undone.clear();
        let edit = Edit::between((old, before), (new, after));
        if let Some(last) = self.done.last_mut()
            && last.continues(&edit)
        {
            last.inserted.push_str(&edit.inserted);
            last.after = after;
            return;
        }
        self.done.push(edit);
    }

    /// Undoes the last edit. Returns the text and the cursor before it.
    pub fn undo(&mut self, text: &str) -> Option<(String, Cursor)> {
        let edit = self.done.pop()?;
        let undone = edit.replaced(text, &edit.inserted, &edit.removed)?;
        let cursor = edit.before;
        self.undone.push(edit);
        Some((undone, cursor))
    }

    /// Redoes the last undone edit. Returns the text and the cursor after it.
    pub fn redo(&mut self, text: &str) -> Option<(String, Cursor)> {
        let edit = self.undone.pop()?;
        let redone = edit.replaced(text, &edit.removed, &edit.inserted)?;
        let cursor = edit.after;
        self.done.push(edit);
        Some((redone, cursor))
    }
}

impl Edit {
    fn between((old, before): (&str, Cursor), (new, after): (&str, Cursor)) -> Self {
        let same = |pair: &(char, char)| pair.0 == pair.1;
        let at: usize = old.chars().zip(new.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
        let (old, new) = (&old[at..], &new[at..]);
        let end: usize = old.chars().rev().zip(new.chars().rev()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
        let (removed, inserted) = (&old[..old.len() - end], &new[..new.len() - end]);
        Self { at, removed: removed.to_owned(), inserted: inserted.to_owned(), before, after }
    }

    fn continues(&self, next: &Self) -> bool {
        let is_word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
        self.removed.is_empty()
            && next.removed.is_empty()
            && next.at == self.at + self.inserted.len()
            && is_word(&self.inserted)
            && is_word(&next.inserted)
            && next.inserted.chars().count() == 1
    }

    fn replaced(&self, text: &str, old: &str, new: &str) -> Option<String> {
        let rest = text.get(self.at..)?.strip_prefix(old)?;
        Some(format!("{}{new}{rest}", &text[..self.at]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #![proptest_config(crate::seed::config(128))]
        #[test]
        fn undo_and_redo_go_through_the_same_texts(texts in proptest::collection::vec("[aé\n ]{0,8}", 1..12)) {
            let mut history = History::default();
            for pair in texts.windows(2) {
                history.record((&pair[0], (0, 0)), (&pair[1], (1, 1)));
            }
            let last = texts.last().cloned().unwrap_or_default();
            let mut text = last.clone();
            while let Some((before, _)) = history.undo(&text) {
                proptest::prop_assert!(texts.contains(&before));
                text = before;
            }
            proptest::prop_assert_eq!(&text, &texts[0]);
            while let Some((after, _)) = history.redo(&text) {
                text = after;
            }
            proptest::prop_assert_eq!(text, last);
        }
    }

    #[test]
    fn a_typed_word_is_one_edit() {
        let mut history = History::default();
        for (old, new) in [("", "a"), ("a", "ab"), ("ab", "ab "), ("ab ", "ab c")] {
            history.record((old, (0, old.len())), (new, (0, new.len())));
        }
        let mut texts = vec!["ab c".to_owned()];
        while let Some((text, _)) = history.undo(texts.last().expect("a text")) {
            texts.push(text);
        }
        assert_eq!(texts, ["ab c", "ab ", "ab", ""]);
    }
}
