//! The state of a list: the groups that are open, the ticked items, the focus, and the filter that the person types.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::super::styled_text::wrapped;
use mcpkg_base::marks;
use mcpkg_core::op::{PickGroup, PickItem};

const KEYS: &str = "enter: go on   space: tick   right: open   type to filter   esc: leave";

/// How the person ended the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    Chosen,
    Left,
    Cancelled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Heading,
    Focus,
}

/// A line of the list that keys act on: a group, or an item of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    group: usize,
    item: Option<usize>,
}

pub(super) struct List {
    heading: String,
    question: String,
    groups: Vec<PickGroup>,
    filter: String,
    at: Place,
    /// The first row that is shown.
    top: usize,
    /// The rows of the focused place, and the number of rows that fit, when the list was last drawn.
    focused: std::ops::Range<usize>,
    room: usize,
}

impl List {
    pub(super) fn new(heading: String, question: String, groups: Vec<PickGroup>) -> Self {
        let at = Place { group: 0, item: None };
        Self { heading, question, groups, filter: String::new(), at, top: 0, focused: 0..1, room: 1 }
    }

    pub(super) fn ticks(&self) -> Vec<Vec<bool>> {
        self.groups.iter().map(|group| group.items.iter().map(|item| item.is_ticked).collect()).collect()
    }

    /// Returns the line that stays on the terminal: the question and its answer.
    pub(super) fn summary(&self) -> String {
        let items = || self.groups.iter().flat_map(|group| &group.items);
        let ticked = items().filter(|item| item.is_ticked).count();
        format!("{} yes, {ticked} of {}", self.question, items().count())
    }

    /// Applies a key. Returns how the list ended, if the key ended it.
    pub(super) fn press(&mut self, key: KeyEvent) -> Option<Done> {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c' | 'd') if is_control => return Some(Done::Cancelled),
            KeyCode::Enter => return Some(Done::Chosen),
            KeyCode::Esc if self.filter.is_empty() => return Some(Done::Left),
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Char('p') if is_control => self.back(1),
            KeyCode::Char('n') if is_control => self.forth(1),
            KeyCode::Char('u') if is_control => self.filter.clear(),
            KeyCode::Up => self.back(1),
            KeyCode::Down => self.forth(1),
            KeyCode::PageUp => self.back(self.room.max(2) - 1),
            KeyCode::PageDown => self.forth(self.room.max(2) - 1),
            KeyCode::Home => self.back(usize::MAX),
            KeyCode::End => self.forth(usize::MAX),
            KeyCode::Right => self.groups[self.at.group].is_open = true,
            KeyCode::Left => self.close(),
            KeyCode::Tab if self.groups[self.at.group].is_open => self.close(),
            KeyCode::Tab => self.groups[self.at.group].is_open = true,
            KeyCode::Char(' ') => self.toggle(),
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Char(c) if !is_control => self.filter.push(c),
            _ => {}
        }
        let places = self.places();
        if !places.contains(&self.at) {
            self.at = match places.iter().find(|place| place.group == self.at.group) {
                Some(group) => *group,
                None => places.first().copied().unwrap_or(self.at),
            };
        }
        None
    }

    fn close(&mut self) {
        self.groups[self.at.group].is_open = false;
        self.at.item = None;
    }

    /// Moves the focus down. If the end of a long item is not shown yet, first scrolls to it.
    fn forth(&mut self, by: usize) {
        if by == 1 && self.focused.end > self.top + self.room && self.focused.start < self.top + self.room {
            self.top += 1;
            return;
        }
        self.go(|at, last| at.saturating_add(by).min(last));
    }

    fn back(&mut self, by: usize) {
        if by == 1 && self.focused.start < self.top {
            self.top -= 1;
            return;
        }
        self.go(|at, _| at.saturating_sub(by));
    }

    fn go(&mut self, to: impl Fn(usize, usize) -> usize) {
        let places = self.places();
        let at = places.iter().position(|place| *place == self.at).unwrap_or_default();
        let place = places.get(to(at, places.len().saturating_sub(1))).copied();
        if let Some(place) = place.filter(|place| *place != self.at) {
            self.at = place;
            // The next drawing scrolls to the new place.
            self.focused = 0..0;
        }
    }

    /// Ticks the focused item, or the items of the focused group that match the filter. If all are ticked, unticks
    /// them.
    fn toggle(&mut self) {
        let Place { group, item } = self.at;
        let shown: Vec<usize> = match item {
            Some(item) => vec![item],
            None => self.items_of(group).collect(),
        };
        let items = &mut self.groups[group].items;
        let is_ticked = !shown.iter().all(|at| items[*at].is_ticked);
        shown.into_iter().for_each(|at| items[at].is_ticked = is_ticked);
    }

    /// Returns the items of a group that match the filter.
    fn items_of(&self, group: usize) -> impl Iterator<Item = usize> {
        let wanted = self.filter.to_lowercase();
        let has = |text: &String| text.to_lowercase().contains(&wanted);
        let is_match = |item: &PickItem| has(&item.title) || item.details.iter().any(has);
        let items = self.groups[group].items.iter().enumerate();
        items.filter(|(_, item)| is_match(item)).map(|(at, _)| at).collect::<Vec<_>>().into_iter()
    }

    /// Returns the places that the focus can move to: the groups, and the items of open groups. With a filter, all
    /// groups with matches are open.
    fn places(&self) -> Vec<Place> {
        let mut places = Vec::new();
        for (group, PickGroup { is_open, .. }) in self.groups.iter().enumerate() {
            let items: Vec<usize> = self.items_of(group).collect();
            if items.is_empty() && !self.filter.is_empty() {
                continue;
            }
            places.push(Place { group, item: None });
            if *is_open || !self.filter.is_empty() {
                places.extend(items.into_iter().map(|item| Place { group, item: Some(item) }));
            }
        }
        places
    }

    /// Returns the lines to draw, at most `height`. Visible marks replace hidden characters.
    pub(super) fn lines(&mut self, columns: u16, height: u16) -> Vec<(Style, String)> {
        let columns = usize::from(columns).max(20);
        let keys = match self.filter.is_empty() {
            true => KEYS.to_owned(),
            false => format!("filter: {}   backspace, esc: less", self.filter),
        };
        let around = [&self.heading, &self.question, &keys].map(|text| cut(&marks::line(text), columns));
        let [heading, question, keys] = around;
        let mut rows = Vec::new();
        for place in self.places() {
            let start = rows.len();
            rows.extend(self.rows(place, columns).into_iter().map(|row| (place, row)));
            if place == self.at {
                let is_new = self.focused.is_empty();
                self.focused = start..rows.len();
                self.room = usize::from(height).saturating_sub(4).max(1);
                if is_new {
                    // Show the whole place, or else its beginning.
                    self.top = self.top.max(self.focused.end.saturating_sub(self.room)).min(start);
                }
            }
        }
        if rows.is_empty() {
            rows.push((self.at, "  nothing matches".to_owned()));
        }
        self.top = self.top.min(rows.len().saturating_sub(self.room));
        let below = rows.len().saturating_sub(self.top + self.room);
        let above = self.top;
        let shown = rows.into_iter().skip(self.top).take(self.room);
        let shown = shown.map(|(place, row)| (if place == self.at { Style::Focus } else { Style::Plain }, row));
        let more = match (above, below) {
            (0, 0) => String::new(),
            (above, below) => format!("  {above} lines above, {below} below"),
        };
        let end = [(Style::Plain, more), (Style::Heading, question), (Style::Plain, keys)];
        std::iter::once((Style::Heading, heading)).chain(shown).chain(end).collect()
    }

    /// Returns the rows of a group or an item. A group's row, and an item without details, are cut. Other lines are
    /// wrapped.
    fn rows(&self, place: Place, columns: usize) -> Vec<String> {
        let pointer = if place == self.at { '>' } else { ' ' };
        let group = &self.groups[place.group];
        let Some(item) = place.item else {
            let ticked = group.items.iter().filter(|item| item.is_ticked).count();
            let tick = match ticked {
                0 => "[ ]",
                _ if ticked == group.items.len() => "[x]",
                _ => "[-]",
            };
            let is_open = group.is_open || !self.filter.is_empty();
            let names: Vec<&str> = group.items.iter().map(|item| item.title.as_str()).collect();
            let some = if tick == "[-]" { format!(" ({ticked} ticked)") } else { String::new() };
            let (sign, title) = (if is_open { '-' } else { '+' }, format!("{}{some}", group.title));
            let width =
                self.groups.iter().filter(|group| !group.is_open).map(|group| group.title.chars().count()).max();
            let rest = match is_open {
                true => title,
                false => format!("{title:<width$}  {}", names.join(", "), width = width.unwrap_or_default()),
            };
            return vec![cut(&marks::line(&format!("{pointer} {tick} {sign} {rest}")), columns)];
        };
        let item = &group.items[item];
        let tick = if item.is_ticked { "[x]" } else { "[ ]" };
        let title = format!("{pointer}     {tick} {}", item.title);
        if item.details.is_empty() {
            return vec![cut(&marks::line(&title), columns)];
        }
        let details = item.details.iter().map(|line| format!("          {line}"));
        let lines = std::iter::once(title).chain(details);
        lines.flat_map(|line| wrapped(&marks::line(&line), columns)).collect()
    }
}

fn cut(line: &str, columns: usize) -> String {
    console::truncate_str(line, columns, "…").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> List {
        let item = |title: &str, is_ticked| PickItem { title: title.to_owned(), details: Vec::new(), is_ticked };
        let many = (0..30).map(|n| item(&format!("skills/s{n}"), true)).collect();
        let runs = PickItem { details: vec!["Codex: .codex/config.toml".to_owned()], ..item("'x' starts npx", false) };
        let group = |title: &str, is_open, items| PickGroup { title: title.to_owned(), is_open, items };
        let groups = vec![
            group("30 skills", false, many),
            group("2 rules", false, vec![item("CLAUDE.md", true), item("a\u{1b}[31m.mdc", true)]),
            group("Look at this first", true, vec![runs]),
        ];
        List::new("Found in ~/shop:".to_owned(), "Set up shop for Codex?".to_owned(), groups)
    }

    fn press(list: &mut List, keys: &[KeyCode]) {
        for key in keys {
            assert_eq!(list.press(KeyEvent::from(*key)), None);
            shown(list);
        }
    }

    fn shown(list: &mut List) -> String {
        list.lines(50, 14).into_iter().map(|(_, line)| line.trim_end().to_owned() + "\n").collect()
    }

    #[test]
    fn closed_groups_show_names_and_open_groups_show_items() {
        insta::assert_snapshot!(shown(&mut list()), @"
        Found in ~/shop:
        > [x] + 30 skills  skills/s0, skills/s1, skills/s…
          [x] + 2 rules    CLAUDE.md, a^[[31m.mdc
          [ ] - Look at this first
              [ ] 'x' starts npx
                  Codex: .codex/config.toml

        Set up shop for Codex?
        enter: go on   space: tick   right: open   type t…
        ");
    }

    #[test]
    fn an_item_and_a_whole_group_can_be_left_out() {
        let mut list = list();
        press(&mut list, &[KeyCode::Down, KeyCode::Right, KeyCode::Down, KeyCode::Char(' ')]);
        assert!(shown(&mut list).contains("  [-] - 2 rules (1 ticked)\n>     [ ] CLAUDE.md\n"), "{}", shown(&mut list));
        press(&mut list, &[KeyCode::Left, KeyCode::Up, KeyCode::Char(' ')]);
        let ticks = list.ticks();
        assert!(ticks[0].iter().all(|is_ticked| !is_ticked));
        assert_eq!((&ticks[1], &ticks[2]), (&vec![false, true], &vec![false]));
        press(&mut list, &[KeyCode::Char(' ')]);
        assert_eq!(list.summary(), "Set up shop for Codex? yes, 31 of 33");
    }

    #[test]
    fn a_filter_shows_matches_and_acts_on_them_alone() {
        let mut list = list();
        press(&mut list, &"S2".chars().map(KeyCode::Char).collect::<Vec<_>>());
        let text = shown(&mut list);
        assert!(text.contains("skills/s27") && !text.contains("skills/s3\n") && !text.contains("rules"), "{text}");
        press(&mut list, &[KeyCode::Char(' '), KeyCode::Esc]);
        assert_eq!(list.ticks()[0].iter().filter(|is_ticked| !**is_ticked).count(), 11);
        press(&mut list, &"nothing".chars().map(KeyCode::Char).collect::<Vec<_>>());
        assert!(shown(&mut list).contains("nothing matches"));
        press(&mut list, &[KeyCode::Char(' '), KeyCode::Esc]);
        assert_eq!(list.press(KeyEvent::from(KeyCode::Esc)), Some(Done::Left));
    }

    #[test]
    fn the_focus_stays_on_the_screen() {
        let mut list = list();
        press(&mut list, &[KeyCode::Right]);
        for _ in 0..40 {
            press(&mut list, &[KeyCode::Down]);
            assert!(shown(&mut list).lines().any(|line| line.starts_with('>')), "{}", shown(&mut list));
        }
        assert!(shown(&mut list).contains(">     [ ] 'x' starts npx"), "{}", shown(&mut list));
        press(&mut list, &[KeyCode::Home]);
        assert!(shown(&mut list).contains("> [x] - 30 skills"));
    }

    #[test]
    fn a_long_item_is_scrolled_through_before_the_next() {
        let mut list = list();
        list.groups[2].items[0].details = (0..20).map(|n| format!("line {n}")).collect();
        press(&mut list, &[KeyCode::Down, KeyCode::Down, KeyCode::Down]);
        assert!(shown(&mut list).contains("line 5") && !shown(&mut list).contains("line 19"), "{}", shown(&mut list));
        for _ in 0..15 {
            press(&mut list, &[KeyCode::Down]);
        }
        assert!(shown(&mut list).contains("line 19"), "{}", shown(&mut list));
    }

    #[test]
    fn control_c_cancels_the_list() {
        let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(list().press(key), Some(Done::Cancelled));
    }
}
