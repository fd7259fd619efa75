//! A level of the stack of screens: a place, its content, and the user's position in it.

use mcpkg_console::diff::{self, Diff};
use mcpkg_console::form::Form;
use mcpkg_console::palette;
use mcpkg_console::screen::{Body, Line, Row};
use mcpkg_console::{Action, Does, Invocation, Part, Place, Screen};
use tokio_util::sync::CancellationToken;

use super::editor::Editor;
use super::message::Task;

/// The message for a key that would leave an editor with unsaved text.
pub(super) const UNSAVED: &str = "The text is not saved: s saves it, D throws it away";

/// A screen that is being loaded, was loaded, or failed to load.
#[derive(Default)]
pub enum Shown {
    #[default]
    Loading,
    Screen(Box<Screen>),
    Failed(Vec<Line>),
}

impl Shown {
    pub fn screen(&self) -> Option<&Screen> {
        match self {
            Shown::Screen(screen) => Some(screen),
            _ => None,
        }
    }
}

/// A run of the user's agent that is still in progress.
pub struct Asked {
    pub invocation: Invocation,
    pub cancelled: CancellationToken,
}

pub struct Level {
    pub place: Place,
    /// The part of the place to show.
    pub part: Part,
    /// The part that `shown` has; `part` is still loading if it differs.
    pub loaded: Part,
    pub shown: Shown,
    pub preview: Shown,
    /// The place that `preview` shows or is loading.
    pub previewed: Option<Place>,
    /// The index of the preview's view, which the user chose with `v`. It applies to all rows of the list.
    pub preview_view: usize,
    /// The names of the views of the preview that was loaded last.
    pub preview_views: &'static [&'static str],
    /// The id of the selected row, not its index: the selection stays on its item when rows are added or removed.
    pub selected: String,
    pub filter: String,
    /// The first visible line of the text or the preview; in a diff, the row of the cursor.
    pub scroll: usize,
    /// How the diff is shown: its open folds, and whether it is in columns.
    pub diff: diff::View,
    /// Whether the user chose columns with `v`; `None` if the width of the terminal decides.
    pub is_split: Option<bool>,
    /// Whether the preview has the focus.
    pub in_preview: bool,
    pub editor: Option<Box<Editor>>,
    /// The run of the user's agent that a panel has started.
    pub asked: Option<Asked>,
    /// The rows that say what the panel's agent has done. Rows that open a draft can be selected, after the form's
    /// fields.
    pub reports: Vec<Row>,
    /// The index of the selected field of a form. In a panel, higher numbers select the reports that open a draft.
    pub field: usize,
    /// The generation of the latest load. Results of earlier loads are dropped.
    pub wanted: u64,
    pub wanted_preview: u64,
}

impl Level {
    pub fn new(place: Place) -> Self {
        Self {
            place,
            part: Part::default(),
            loaded: Part::default(),
            shown: Shown::Loading,
            preview: Shown::Loading,
            previewed: None,
            preview_view: 0,
            preview_views: &[],
            selected: String::new(),
            filter: String::new(),
            scroll: 0,
            diff: diff::View::default(),
            is_split: None,
            in_preview: false,
            editor: None,
            asked: None,
            reports: Vec::new(),
            field: 0,
            wanted: 0,
            wanted_preview: 0,
        }
    }

    /// Shows a loaded screen. An editor that is already open keeps its text. For a new editor, returns the task that checks
    /// and plans its text.
    pub fn take(&mut self, screen: Box<Screen>) -> Option<Task> {
        let mut task = None;
        if let (Body::Editor(document), None) = (&screen.body, &self.editor) {
            let editor = Editor::new((**document).clone());
            task = Some(Task::Check(editor.version(), editor.text(), true));
            self.editor = Some(Box::new(editor));
        }
        let position = self.position();
        self.shown = Shown::Screen(screen);
        if self.selected_row().is_none() {
            // The selected row is gone, so select the row at its position.
            let rows = self.rows();
            let at = position.min(rows.len().saturating_sub(1));
            let id = rows[at.min(rows.len())..].iter().chain(rows.iter().rev()).find(|row| !row.is_heading);
            self.selected = id.map(|row| row.id.clone()).unwrap_or_default();
        }
        task
    }

    /// Returns the rows of the list that match the filter; in the palette, best matches first.
    pub fn rows(&self) -> Vec<&Row> {
        let Some(Screen { body: Body::List(list), .. }) = self.shown.screen() else { return Vec::new() };
        if self.place == Place::Palette {
            return palette::matching(&list.rows, &self.filter);
        }
        // The database has already filtered the rows of a search. A row may match only by its item's text, so do not filter
        // the rows again.
        let is_whole = self.filter.is_empty() || !self.loaded.words.is_empty();
        let keep = |row: &&Row| is_whole || (!row.is_heading && row.matches(&self.filter));
        list.rows.iter().filter(keep).collect()
    }

    /// Returns whether the filter must search the database, because not all rows are loaded.
    pub fn is_searched(&self) -> bool {
        let Some(Screen { body: Body::List(list), .. }) = self.shown.screen() else { return false };
        self.place.has_search() && (!self.loaded.words.is_empty() || list.rows.iter().any(Row::is_more))
    }

    /// Returns whether the selection is at most `page` rows above a row that loads more.
    pub fn is_near_more(&self, page: usize) -> bool {
        self.rows().iter().skip(self.position()).take(page + 1).any(|row| row.is_more())
    }

    pub fn selected_row(&self) -> Option<&Row> {
        self.rows().into_iter().find(|row| !row.is_heading && row.id == self.selected)
    }

    /// Returns the index of the selected row among [`Level::rows`].
    pub fn position(&self) -> usize {
        self.rows().iter().position(|row| !row.is_heading && row.id == self.selected).unwrap_or(0)
    }

    /// Selects the first row that is not a heading.
    pub fn select_first(&mut self) {
        let first = self.rows().into_iter().find(|row| !row.is_heading).map(|row| row.id.clone());
        self.selected = first.unwrap_or_default();
    }

    /// Returns whether `/` filters the rows, or finds lines. While the screen is loading, the words wait for its rows.
    pub fn has_filter(&self) -> bool {
        !matches!(self.shown.screen(), Some(Screen { body: Body::Form(_) | Body::Editor(_), .. }))
    }

    /// Returns what the keys of the screen decide on, such as a request for consent.
    pub fn decides_on(&self) -> Option<String> {
        let calls = self.actions().into_iter().filter_map(|action| match &action.does {
            Does::Call(call) => call.decides_on(),
            _ => None,
        });
        calls.into_iter().next()
    }

    /// Moves the selection by `by` rows. Headings do not count.
    pub fn step(&mut self, by: isize) {
        let rows = self.rows();
        let chosen: Vec<usize> = (0..rows.len()).filter(|at| !rows[*at].is_heading).collect();
        if chosen.is_empty() {
            return;
        }
        let now = chosen.iter().position(|at| rows[*at].id == self.selected);
        let next = match now {
            Some(now) => now.saturating_add_signed(by).min(chosen.len() - 1),
            None => 0,
        };
        self.selected = rows[chosen[next]].id.clone();
    }

    /// Returns whether the screen opens with its filter, so that typing narrows it at once.
    pub fn opens_typing(&self) -> bool {
        matches!(self.place, Place::Palette | Place::Help)
    }

    /// Returns whether the level is an editor whose text is not saved.
    pub fn is_unsaved(&self) -> bool {
        self.editor.as_ref().is_some_and(|editor| editor.is_changed())
    }

    pub fn form(&mut self) -> Option<&mut Form> {
        match &mut self.shown {
            Shown::Screen(screen) => match &mut screen.body {
                Body::Form(form) => Some(form),
                _ => None,
            },
            _ => None,
        }
    }

    /// Moves the selection of a form by `by` fields. The reports that open something come after the fields.
    pub fn step_field(&mut self, by: isize) {
        let Some(fields) = self.form().map(|form| form.fields.len()) else { return };
        let stops = fields + self.reports.iter().filter(|row| row.look.is_some()).count();
        self.field = self.field.saturating_add_signed(by).min(stops.saturating_sub(1));
    }

    /// Returns the place that the selected report opens.
    pub fn reported(&mut self) -> Option<&Place> {
        let fields = self.form()?.fields.len();
        let at = self.field.checked_sub(fields)?;
        self.reports.iter().filter_map(|row| row.look.as_ref()).nth(at)
    }

    /// Returns whether the panel has started this invocation.
    pub fn is_of(&self, invocation: &Invocation) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.invocation == *invocation)
    }

    /// Returns the place to preview for the selected row. The palette has no preview.
    pub fn look(&self) -> Option<&Place> {
        match self.place {
            Place::Palette => None,
            _ => self.selected_row()?.look.as_ref().filter(|place| place.has_preview()),
        }
    }

    /// Returns the actions of the selected row, the hunk at the cursor, the screen and the preview, in this order. If
    /// several have the same key, only the first one counts. Leaves out actions of the screen and the preview that open
    /// this same place.
    pub fn actions(&self) -> Vec<&Action> {
        let mut actions: Vec<&Action> = self.selected_row().map(|row| row.actions.iter().collect()).unwrap_or_default();
        if let Some(Screen { body: Body::Diff(diff), .. }) = self.shown.screen() {
            actions.extend(diff.actions(self.hunk()));
        }
        let of_preview =
            self.preview.screen().filter(|_| self.look().is_some() && self.previewed.as_ref() == self.look());
        // Skip the preview's actions for an event: a row about an event has its own undo action if it may be undone
        // alone.
        let of_preview = of_preview.filter(|_| !matches!(self.look(), Some(Place::Event(_))));
        let leads_here = |action: &Action| matches!(&action.does, Does::Open(place) if *place == self.place);
        for action in self.shown.screen().into_iter().chain(of_preview).flat_map(|screen| &screen.actions) {
            if actions.iter().all(|known| known.key != action.key) && !leads_here(action) {
                actions.push(action);
            }
        }
        actions
    }

    /// Returns the lines that can be scrolled: those of the text or error on the screen, or else those of the preview.
    pub fn lines(&self) -> &[Line] {
        match (&self.shown, &self.preview) {
            (Shown::Screen(screen), preview) => match (&screen.body, preview) {
                (Body::Text(lines), _) => lines,
                (_, Shown::Screen(preview)) => match &preview.body {
                    Body::Text(lines) => lines,
                    _ => &[],
                },
                (_, Shown::Failed(lines)) => lines,
                _ => &[],
            },
            (Shown::Failed(lines), _) => lines,
            (Shown::Loading, _) => &[],
        }
    }

    /// Returns the diff on the screen or, for a list, in its preview.
    pub fn shown_diff(&self) -> Option<&Diff> {
        let screen = match self.shown.screen()? {
            Screen { body: Body::List(_), .. } => self.preview.screen()?,
            screen => screen,
        };
        match &screen.body {
            Body::Diff(diff) => Some(diff),
            _ => None,
        }
    }

    /// Returns whether the screen itself is a diff, which `v` shows in columns.
    pub fn has_columns(&self) -> bool {
        matches!(self.shown.screen(), Some(Screen { body: Body::Diff(_), .. }))
    }

    /// Returns the number of the hunk at or before the cursor of the diff; 1 if there is none.
    pub fn hunk(&self) -> usize {
        let rows = self.shown_diff().map(|diff| diff.rows(&self.diff)).unwrap_or_default();
        let end = rows.len().min(self.scroll + 1);
        rows[..end].iter().rev().find_map(|row| row.hunk).unwrap_or(1)
    }

    /// Shows the diff in columns, or unified. The cursor goes to the first row of its hunk, or stays at the top.
    pub fn split(&mut self, is_split: bool) {
        if self.diff.is_split == is_split {
            return;
        }
        let (hunk, was_at_top) = (self.hunk(), self.scroll == 0);
        self.diff.is_split = is_split;
        let rows = self.shown_diff().map(|diff| diff.rows(&self.diff)).unwrap_or_default();
        let first = rows.iter().position(|row| row.hunk == Some(hunk)).filter(|_| !was_at_top);
        self.scroll = first.unwrap_or(0);
    }

    /// Opens the fold at the cursor. Returns false if there is none.
    pub fn unfold(&mut self) -> bool {
        let rows = self.shown_diff().map(|diff| diff.rows(&self.diff)).unwrap_or_default();
        let fold = rows.get(self.scroll).and_then(|row| row.fold);
        fold.is_some_and(|fold| self.diff.open.insert(fold))
    }

    /// Returns the names of the views that `v` goes through: those of the screen or, if it has none, those of the preview.
    pub fn views(&self) -> &'static [&'static str] {
        match self.shown.screen().map_or(&[][..], |screen| screen.views) {
            [] => self.preview_views,
            views => views,
        }
    }

    /// Shows the next view of the screen or, if it has none, of the preview.
    pub fn next_view(&mut self) {
        let count = self.views().len().max(1);
        match self.shown.screen().is_some_and(|screen| screen.views.is_empty()) {
            true => {
                self.preview_view = (self.preview_view + 1) % count;
                self.previewed = None;
            }
            false => self.part.view = (self.part.view + 1) % count,
        }
    }

    /// Returns whether the screen is a text or a diff, in which `/` finds lines.
    pub fn is_text(&self) -> bool {
        matches!(self.shown.screen(), Some(Screen { body: Body::Text(_) | Body::Diff(_), .. }))
    }

    /// Returns for each line whether `.` and `,` stop there. With a filter, they stop at the lines that contain it.
    fn stops(&self) -> Vec<bool> {
        let words = self.filter.to_lowercase();
        let found = |line: &Line| line.text().to_lowercase().contains(&words);
        let is_search = self.is_text() && !words.is_empty();
        match self.shown_diff() {
            Some(diff) => {
                let is_stop = |row: &diff::Shown| match is_search {
                    true => row.cells.iter().flatten().any(found),
                    false => row.is_stop(),
                };
                diff.rows(&self.diff).iter().map(is_stop).collect()
            }
            None => self.lines().iter().map(|line| if is_search { found(line) } else { line.is_stop }).collect(),
        }
    }

    /// Scrolls to the first line from here on that contains the filter, or else to the first one of the text. Returns false if
    /// there is none.
    pub fn find(&mut self) -> bool {
        let stops = self.stops();
        let next = (self.scroll..stops.len()).chain(0..self.scroll.min(stops.len())).find(|at| stops[*at]);
        self.scroll = next.unwrap_or(self.scroll);
        next.is_some()
    }

    /// Scrolls to the next or previous stop.
    pub fn next_stop(&mut self, forward: bool) {
        let stops = self.stops();
        let next = match forward {
            true => (self.scroll + 1..stops.len()).find(|at| stops[*at]),
            false => (0..self.scroll.min(stops.len())).rev().find(|at| stops[*at]),
        };
        if let Some(next) = next {
            self.scroll = next;
        }
    }
}
