//! Loads screens, their previews and the inbox, and drops results that are outdated.

use mcpkg_base::error::Error;
use mcpkg_console::place::Place;
use mcpkg_console::screen::{Body, List, Row, Screen, Tone};
use mcpkg_console::{Part, reply};

use super::app::App;
use super::level::Shown;
use super::message::{Task, Ticket};

impl App {
    /// Loads the top screen for the first time, or again if it follows the database ([`Place::is_live`]). The old
    /// content stays visible until the new content is loaded.
    pub fn load(&mut self, tasks: &mut Vec<Task>) {
        let level = self.level();
        if !level.place.is_live() && level.shown.screen().is_some() {
            return;
        }
        self.fetch(tasks);
    }

    fn fetch(&mut self, tasks: &mut Vec<Task>) {
        let generation = self.next();
        let level = self.level_mut();
        level.wanted = generation;
        tasks.push(Task::Load(Ticket { generation, place: level.place.clone(), part: level.part.clone() }));
        self.look(tasks);
    }

    /// Loads more rows of the list, unless they are already being loaded.
    pub fn more(&mut self, tasks: &mut Vec<Task>) {
        let level = self.level_mut();
        if level.part == level.loaded {
            level.part.grow();
            self.fetch(tasks);
        }
    }

    /// Searches the database for the words of the filter, if not all rows of the list are loaded.
    pub fn search_database(&mut self, tasks: &mut Vec<Task>) {
        let level = self.level_mut();
        if level.is_searched() && level.part.words != level.filter {
            level.part.words.clone_from(&level.filter);
            self.fetch(tasks);
        }
    }

    /// Loads the preview of the selected row, unless it is loaded already.
    pub fn look(&mut self, tasks: &mut Vec<Task>) {
        let generation = self.next();
        let level = self.level_mut();
        let look = level.look().cloned();
        if look == level.previewed {
            return;
        }
        level.previewed.clone_from(&look);
        level.preview = Shown::Loading;
        // Set this even if the row has no preview: the answer to an earlier load must not appear.
        level.wanted_preview = generation;
        if let Some(place) = look {
            let part = Part::of_view(level.preview_view);
            tasks.push(Task::Load(Ticket { generation, place, part }));
        }
        if matches!(level.shown.screen(), Some(Screen { body: Body::List(_), .. })) {
            level.scroll = 0;
            level.diff.open.clear();
        }
    }

    /// Loads the inbox again and, if the screen follows the database, the screen and its preview.
    pub(super) fn reload(&mut self, tasks: &mut Vec<Task>) {
        if self.level().place.is_live() {
            let previewed = self.level().previewed.clone();
            self.load(tasks);
            if let Some(place) = previewed {
                let generation = self.next();
                let level = self.level_mut();
                level.wanted_preview = generation;
                let part = Part::of_view(level.preview_view);
                tasks.push(Task::Load(Ticket { generation, place, part }));
            }
        }
        if self.level().place != Place::Inbox {
            self.load_inbox(tasks);
        }
    }

    /// Loads the inbox, since the header shows the number of its items on every screen.
    pub(super) fn load_inbox(&mut self, tasks: &mut Vec<Task>) {
        let generation = self.next();
        let inbox = &mut self.stacks[0][0];
        inbox.wanted = generation;
        tasks.push(Task::Load(Ticket { generation, place: Place::Inbox, part: inbox.part.clone() }));
    }

    fn next(&mut self) -> u64 {
        self.generation += 1;
        self.generation
    }

    pub(super) fn loaded(&mut self, ticket: &Ticket, screen: Result<Box<Screen>, Error>, tasks: &mut Vec<Task>) {
        if ticket.place == Place::Inbox
            && let Ok(screen) = &screen
            && let Body::List(list) = &screen.body
        {
            self.waiting = Some(list.rows.iter().filter(|row| row.look.is_some()).count());
            self.announce(list);
        }
        // While the database cannot be read, keep the content that was loaded before.
        let is_lost = self.state == "LOST";
        let levels = self.stacks.iter_mut().flatten();
        for level in levels {
            if level.wanted == ticket.generation {
                match screen {
                    Ok(screen) => {
                        if !ticket.part.words.is_empty() && level.loaded.words != ticket.part.words {
                            // Select the first row again: it is the best hit of the new search.
                            level.selected.clear();
                        }
                        level.loaded = ticket.part.clone();
                        tasks.extend(level.take(screen));
                    }
                    Err(_) if is_lost && level.shown.screen().is_some() => {}
                    Err(error) => level.shown = Shown::Failed(reply::error(&error)),
                }
                break;
            }
            if level.wanted_preview == ticket.generation {
                level.preview = match screen {
                    Ok(screen) => {
                        level.preview_views = screen.views;
                        Shown::Screen(screen)
                    }
                    Err(_) if is_lost && level.preview.screen().is_some() => break,
                    Err(error) => Shown::Failed(reply::error(&error)),
                };
                break;
            }
        }
        self.look(tasks);
    }

    /// Shows a message about a new request for consent, unless the inbox or another message is on the screen.
    fn announce(&mut self, inbox: &List) {
        let asks = |row: &&Row| row.id.starts_with("ask ");
        let now = inbox.rows.iter().filter(asks).map(|row| row.id.clone()).collect();
        let Some(known) = self.asks.replace(now) else { return };
        let new = inbox.rows.iter().filter(asks).find(|row| !known.contains(&row.id));
        if let Some([_, from, what, ..]) = new.map(|row| &row.cells[..])
            && self.level().place != Place::Inbox
            && self.message.is_none()
        {
            // A value that the agent chose stays out of the message.
            let what = what.text().split(" \"").next().unwrap_or_default();
            let text = format!("{} asks: {what}   1 Inbox", from.text());
            self.say(Tone::Warning, &text);
        }
    }
}
