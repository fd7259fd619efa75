//! Draws screens as HTML: lists as tables, text, diffs, and the links and buttons for their actions.

use maud::{Markup, html};

use mcpkg_base::sha256;
use mcpkg_console::diff::{Diff, Shown};
use mcpkg_console::place::Place;
use mcpkg_console::screen::{Body, Line, List, Row, Span, Tone};
use mcpkg_console::{Action, Does, Invocation, Screen, palette};
use mcpkg_core::op::{Domains, Effect};

use super::address;
use super::at::At;
use super::figure;
use super::form;
use super::item;
use super::page::secret;
use super::session::Session;
use super::text::{label, line, lines, span};

/// How many parts of a diff are in one box. The browser lays out only the boxes that are visible, but each box takes it
/// some time.
const TOGETHER: usize = 32;

/// A cell with at most this many characters is not broken into lines.
const SHORT: usize = 20;

/// The context for drawing a screen: the session, the address, and what the user may do.
#[derive(Clone, Copy)]
pub struct Drawing<'a> {
    pub session: &'a Session,
    pub at: &'a At,
    pub domains: Domains,
    pub is_read_only: bool,
}

/// Returns whether an action is a button, which posts a form. All other actions are links, except [`Does::Note`], which
/// is a text field.
pub fn is_posted(action: &Action) -> bool {
    matches!(action.does, Does::Call(_) | Does::Review(_))
}

/// Returns whether a call needs no further question, because it asks for confirmation itself or changes nothing.
pub fn asks(call: &Invocation, domains: Domains) -> bool {
    let is_asked = |effect: Effect| effect.reads() || effect == Effect::Destroy;
    call.question.is_some()
        || call.destroys.is_some()
        || ["consent approve", "draft approve", "undo"].contains(&call.words.as_str())
        || call.entry(domains).is_some_and(|entry| is_asked(entry.effect))
}

/// Returns the name of an action's key in forms and tests, such as `enter`.
pub fn key(action: &Action) -> String {
    match action.key {
        ' ' => "space".to_owned(),
        '\n' => "enter".to_owned(),
        key => key.to_string(),
    }
}

/// Returns a hash of what the user saw: the text, and what the buttons would do. A button is refused if the hash has
/// changed since the page was drawn.
pub fn seen<'a>(text: &str, actions: impl IntoIterator<Item = &'a Action>) -> String {
    let mut seen = text.to_owned();
    for action in actions {
        let does = match &action.does {
            Does::Call(call) => format!("{} {:?} {:?}", call.command(), call.question, call.destroys),
            Does::Review(digest) => digest.clone(),
            _ => continue,
        };
        seen.push_str(&format!("\n{} {does}", key(action)));
    }
    sha256::hex(seen)
}

pub fn seen_row(row: &Row) -> String {
    seen(&words(row), &row.actions)
}

pub fn seen_screen(screen: &Screen) -> String {
    let text: Vec<String> = match screen.body {
        // Each row has its own buttons and its own hash; see `seen_row`.
        Body::List(_) => Vec::new(),
        _ => lines_of(screen).iter().map(Line::text).collect(),
    };
    seen(&text.join("\n"), &screen.actions)
}

/// Returns a screen as lines, to quote it in a question.
pub fn lines_of(screen: &Screen) -> Vec<Line> {
    match &screen.body {
        Body::Text(lines) => lines.clone(),
        Body::Diff(diff) => diff.lines(),
        Body::List(list) => list.rows.iter().map(|row| Line::quoted(&words(row))).collect(),
        Body::Form(_) | Body::Editor(_) => Vec::new(),
    }
}

/// Returns the text of a row's cells.
pub fn words(row: &Row) -> String {
    let cells: Vec<&str> = row.cells.iter().map(Span::text).filter(|text| !text.trim().is_empty()).collect();
    cells.join("  ")
}

impl Drawing<'_> {
    pub fn screen(&self, screen: &Screen) -> Markup {
        html! {
            div.bar {
                (self.views(screen))
                @match &screen.body {
                    Body::List(_) => { (self.filter()) }
                    Body::Diff(diff) => { (self.layouts(diff)) }
                    _ => {}
                }
            }
            @match &screen.body {
                Body::List(list) => { (self.list(list, screen)) }
                Body::Text(text) => { (figure::text(text, &screen.figures)) }
                Body::Diff(diff) => { (self.diff(diff)) }
                Body::Form(form) => { (form::form(self.session, &self.at.address(), form, self.is_read_only)) }
                // `edit` draws editors.
                Body::Editor(_) => {}
            }
            (self.actions(screen))
        }
    }

    /// Draws the links to the views of a screen.
    fn views(&self, screen: &Screen) -> Markup {
        let view = self.at.part.view % screen.views.len().max(1);
        html! {
            @if !screen.views.is_empty() {
                nav.views aria-label="Views" {
                    ul {
                        @for (number, name) in screen.views.iter().enumerate() {
                            @let current = (number == view).then_some("true");
                            li { a href=(self.at.other("view", &number.to_string())) aria-current=[current] { (label(name)) } }
                        }
                    }
                }
            }
        }
    }

    fn filter(&self) -> Markup {
        let is_palette = self.at.place == Place::Palette;
        html! {
            search {
                form method="get" action=(self.at.path()) {
                    (self.at.hidden())
                    label.hidden for="q" { "Filter" }
                    input #q type="search" name="q" value=(self.at.words) autofocus[is_palette]
                        placeholder="Words, !without";
                    button { "Filter" }
                }
            }
        }
    }

    fn list(&self, list: &List, screen: &Screen) -> Markup {
        let empty = || screen.when_empty(|action| format!("\"{}\"", label(&action.words())));
        let rows = self.matching(list);
        let columns = list.columns.len().max(rows.iter().map(|row| row.cells.len()).max().unwrap_or(0));
        html! {
            @if rows.is_empty() {
                p.empty { (if self.at.words.is_empty() { empty() } else { "No row has these words.".to_owned() }) }
            } @else {
                div.rows { table role="table" {
                    @if list.columns.iter().any(|name| !name.is_empty()) {
                        thead role="rowgroup" {
                            tr role="row" {
                                @for at in 0..columns {
                                    @match list.columns.get(at) {
                                        Some(name) if !name.is_empty() => { th scope="col" role="columnheader" { (name) } }
                                        _ => { td role="cell" {} }
                                    }
                                }
                                th scope="col" role="columnheader" { span.hidden { "ACTIONS" } }
                            }
                        }
                    }
                    tbody role="rowgroup" {
                        @for row in rows { (self.row(row, list, columns)) }
                    }
                } }
            }
        }
    }

    /// Returns the rows that match the filter; in the palette, best matches first.
    fn matching<'l>(&self, list: &'l List) -> Vec<&'l Row> {
        let words = &self.at.words;
        if self.at.place == Place::Palette {
            return palette::matching(&list.rows, words);
        }
        // Rows that a search of the database found may match by text that they do not show, so they are not filtered
        // again.
        let is_whole = words.is_empty() || !self.at.part.words.is_empty();
        list.rows.iter().filter(|row| is_whole || (!row.is_heading && row.matches(words))).collect()
    }

    fn row(&self, row: &Row, list: &List, columns: usize) -> Markup {
        if row.is_heading {
            return html! {
                tr role="row" { th.heading scope="rowgroup" role="rowheader" colspan=(columns + 1) { (words(row)) } }
            };
        }
        let look = row.look.as_ref().and_then(address::of);
        let is_filled = |at: &usize| !row.cells[*at].text().trim().is_empty();
        let cells = || (0..row.cells.len()).filter(is_filled);
        let linked = cells().find(|at| matches!(list.columns.get(*at), Some(&("WHAT" | "FILE" | "CHANGE" | "NAME"))));
        let linked = linked.or_else(|| cells().find(|at| row.cells[*at].tone == Tone::Name)).or_else(|| cells().next());
        // In the palette, the last cell of a screen's row is a key of the terminal. It has no effect in a browser, so
        // it is left out.
        let is_key =
            |at: usize| self.at.place == Place::Palette && row.id.starts_with("screen ") && at == row.cells.len() - 1;
        // `u` -> `can be undone`
        let sign = |cell: &Span| list.signs.iter().find(|(sign, _)| *sign == cell.text()).map(|(_, words)| *words);
        html! {
            tr role="row" data-key=(row.id) {
                @for at in 0..columns {
                    @if let Some(cell) = row.cells.get(at) {
                        @let is_linked = linked == Some(at);
                        @let name = list.columns.get(at).filter(|name| !is_linked && !name.is_empty());
                        td.what[is_linked].short[!is_linked && cell.text().chars().count() <= SHORT] role="cell"
                            data-name=[name.map(|name| name.to_lowercase())] {
                            @match &look {
                                Some(look) if is_linked => a href=(look) { (span(cell)) },
                                _ if cell.text().trim().is_empty() || is_key(at) => {}
                                _ => { @match sign(cell).filter(|_| at == 0) {
                                    Some(words) => { (span(&Span::new(cell.tone, words))) }
                                    None => { (span(cell)) }
                                } }
                            }
                        }
                    } @else {
                        td role="cell" {}
                    }
                }
                td.actions role="cell" {
                    @if row.actions.iter().any(|action| self.is_offered(action)) {
                        div {
                            (self.links(&row.actions, &words(row)))
                            (self.buttons(&row.actions, Some(row), &seen_row(row), None))
                        }
                    }
                }
            }
        }
    }

    /// Draws the links to the layouts of a diff: one column, or a column for each text.
    fn layouts(&self, diff: &Diff) -> Markup {
        let is_split = self.at.diff.is_split;
        html! {
            @if diff.sides.len() > 1 {
                nav.views aria-label="Layout" {
                    ul {
                        @for (split, name) in [("", "Unified"), ("1", "In columns")] {
                            @let current = (split.is_empty() != is_split).then_some("true");
                            li { a href=(self.at.other("split", split)) aria-current=[current] { (name) } }
                        }
                    }
                }
            }
        }
    }

    fn diff(&self, diff: &Diff) -> Markup {
        let rows = diff.rows(&self.at.diff);
        let parts: Vec<&[Shown]> = rows.chunk_by(|one, next| one.hunk == next.hunk && one.fold == next.fold).collect();
        html! {
            div.diff {
                @for parts in parts.chunks(TOGETHER) {
                    div.parts { @for part in parts { (self.part(part, diff)) } }
                }
            }
        }
    }

    /// Draws a hunk, lines that are always shown, or the link that shows folded lines.
    fn part(&self, part: &[Shown], diff: &Diff) -> Markup {
        if let Some(fold) = part[0].fold {
            return self.fold(fold, &part[0]);
        }
        html! {
            div.hunk[part[0].hunk.is_some()] {
                @if part.iter().any(|row| row.cells.len() > 1) {
                    (columns(part))
                } @else {
                    (lines(&part.iter().filter_map(|row| row.cells.iter().flatten().next().cloned()).collect::<Vec<_>>()))
                }
                @if let Some(hunk) = part[0].hunk {
                    (self.links(diff.actions(hunk), &format!("hunk {hunk}")))
                }
            }
        }
    }

    fn fold(&self, fold: usize, row: &Shown) -> Markup {
        let text = row.cells.iter().flatten().next().map(Line::text).unwrap_or_default();
        let text = text.trim_start_matches("... ").split(',').next().unwrap_or_default().to_owned();
        html! { p.fold { a href=(self.at.and("open", &fold.to_string())) { "Show " (text) } } }
    }

    /// Draws the actions of the screen as a whole, not those of its rows.
    fn actions(&self, screen: &Screen) -> Markup {
        let edit = item::address(&self.at.place).filter(|_| !self.is_read_only);
        let has_note = screen.actions.iter().any(|action| matches!(action.does, Does::Note));
        let note = has_note.then_some("Note for the agent that asked");
        html! {
            @if !screen.actions.is_empty() {
                section.actions aria-label="Actions" {
                    @if let Some(edit) = edit { a.action href=(edit) { "Edit" } " " }
                    (self.buttons(&screen.actions, None, &seen_screen(screen), note))
                    (self.links(&screen.actions, ""))
                }
            }
        }
    }

    fn is_offered(&self, action: &Action) -> bool {
        let leads_here = matches!(&action.does, Does::Open(place) if *place == self.at.place);
        // An operation that opens $EDITOR needs the terminal.
        let is_edit = matches!(&action.does, Does::Call(call) if needs_terminal(call));
        !(leads_here || is_edit || (self.is_read_only && action.changes(self.domains)))
    }

    /// Draws links for the actions that open another page. `of` names the thing that the actions are about, for screen
    /// readers.
    fn links(&self, actions: &[Action], of: &str) -> Markup {
        html! {
            @for action in actions.iter().filter(|action| self.is_offered(action)) {
                @let to = match &action.does {
                    // A terminal has no editor for an item, so there the key opens the item.
                    Does::Open(place) if action.key == 'e' && !self.is_read_only && item::address(place).is_some() => {
                        item::address(place)
                    }
                    Does::Open(place) | Does::Replace(place) => address::of(place),
                    Does::More => Some(self.at.more()),
                    _ => None,
                };
                @if let Some(to) = to {
                    @let words = label(&action.words());
                    a.action href=(to) aria-label=[(!of.is_empty()).then(|| format!("{words}: {of}"))] { (words) } " "
                }
            }
        }
    }

    /// Draws one form with a button for each action that is posted.
    fn buttons(&self, actions: &[Action], row: Option<&Row>, seen: &str, note: Option<&str>) -> Markup {
        let posted: Vec<&Action> =
            actions.iter().filter(|action| is_posted(action) && self.is_offered(action)).collect();
        html! {
            @if !posted.is_empty() {
                form method="post" action=(self.at.address()) {
                    (secret(self.session))
                    input type="hidden" name="seen" value=(seen);
                    @if let Some(row) = row { input type="hidden" name="row" value=(row.id); }
                    @if let Some(note) = note {
                        div.note {
                            label for="note" { (note) }
                            input #note type="text" name="note" maxlength="1000";
                        }
                    }
                    @for (number, action) in posted.into_iter().enumerate() {
                        @let words = label(&action.words());
                        @let is_main = row.is_none() && number == 0 && !is_danger(action);
                        button.main[is_main].danger[is_danger(action)] name="key" value=(key(action))
                            aria-label=[row.map(|row| format!("{words}: {}", self::words(row)))] { (words) } " "
                    }
                }
            }
        }
    }
}

/// Returns whether a call opens the user's editor in the terminal.
pub fn needs_terminal(call: &Invocation) -> bool {
    call.words.ends_with(" edit") && !call.has("--from")
}

fn is_danger(action: &Action) -> bool {
    matches!(&action.does, Does::Call(call) if call.destroys.is_some())
}

/// Draws the lines of a diff in columns, one column per side.
fn columns(rows: &[Shown]) -> Markup {
    let width = rows.iter().map(|row| row.cells.len()).max().unwrap_or(1);
    html! {
        table.columns {
            @for row in rows {
                tr {
                    @match row.cells.as_slice() {
                        [only] => td colspan=(width) { @if let Some(only) = only { (line(only)) } },
                        cells => {
                            @for cell in cells { td { @if let Some(cell) = cell { (line(cell)) } } }
                        }
                    }
                }
            }
        }
    }
}
