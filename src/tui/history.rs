//! The edit history of a text, for undo and redo.

/// A line and column of the text, counted from 0.
pub type Cursor = (usize, usize);

/// A replaced part of the text.
struct Edit {
    /// Whether the edit is a run of single keys, which a further key may continue.
    is_typed: bool,
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
    /// Records a change of the text. Characters that are typed one after the other become one edit, up to the beginning of the
    /// next word or line. So do characters that are deleted one after the other.
    pub fn record(&mut self, (old, before): (&str, Cursor), (new, after): (&str, Cursor)) {
        self.undone.clear();
        let edit = Edit::between((old, before), (new, after));
        if let Some(last) = self.done.last_mut()
            && last.continues(&edit)
        {
            last.inserted.push_str(&edit.inserted);
            if !edit.removed.is_empty() {
                (last.at, last.removed) = (edit.at, edit.removed + &last.removed);
            }
            last.after = after;
            return;
        }
        self.done.push(edit);
    }

    /// Undoes the last edit. Returns the text and the cursor as they were before that edit.
    pub fn undo(&mut self, text: &str) -> Option<(String, Cursor)> {
        let edit = self.done.pop()?;
        let undone = edit.replaced(text, &edit.inserted, &edit.removed)?;
        let cursor = edit.before;
        self.undone.push(edit);
        Some((undone, cursor))
    }

    /// Redoes the last undone edit. Returns the text and the cursor as they were after that edit.
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
        let is_typed = removed.chars().chain(inserted.chars()).count() == 1;
        Self { is_typed, at, removed: removed.to_owned(), inserted: inserted.to_owned(), before, after }
    }

    fn continues(&self, next: &Self) -> bool {
        if !(self.is_typed && next.is_typed) {
            return false;
        }
        let is_blank = |c: Option<char>| c.is_some_and(char::is_whitespace);
        let begins_word = is_blank(self.inserted.chars().last()) && !is_blank(next.inserted.chars().next());
        match (self.removed.is_empty(), next.removed.is_empty()) {
            (true, true) => next.at == self.at + self.inserted.len() && next.inserted != "\n" && !begins_word,
            (false, false) => next.at + next.removed.len() == self.at,
            _ => false,
        }
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
        let texts = ["", "$", "$a", "$a.", "$a. ", "$a. b", "$a. b\n", "$a. b\n ", "$a. b\n", "$a. b", "$a. "];
        for pair in texts.windows(2) {
            history.record((pair[0], (0, 0)), (pair[1], (0, 0)));
        }
        let mut texts = vec!["$a. ".to_owned()];
        while let Some((text, _)) = history.undo(texts.last().expect("a text")) {
            texts.push(text);
        }
        assert_eq!(texts, ["$a. ", "$a. b\n ", "$a. b", "$a. ", ""], "a run of keys is one step");
    }
}
