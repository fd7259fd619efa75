//! `mcpkg console --plain`: prints screens as plain lines and never redraws, for screen readers and simple terminals.
//!
//! A number opens a row. A letter does the same as that key in the console. With a number, as in `d 2`, the letter acts
//! on that row. Editors and forms are not shown: the console names the command to use instead.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::stdin;
use std::sync::Arc;

use super::output::Output;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::marks;
use mcpkg_console::place::{Place, ROOTS, Text};
use mcpkg_console::screen::{Body, Line, List, Row};
use mcpkg_console::{Action, Does, Invocation, Part, Screen, load, reply};
use mcpkg_core::op::{AskedIn, Body as Told, Context, Empty, read_only};
use mcpkg_store::watch::{Change, Watch};

/// The number of rows that a list prints at once.
const ROWS: usize = 20;

/// The maximum number of new events to print before a prompt.
const NEWS: usize = 5;

/// A console that reads lines and prints lines.
pub(super) struct Plain<'a> {
    pub output: &'a Output,
    pub context: Context,
    pub is_read_only: bool,
    /// The notes to send with a decision, by what it decides on ([`Invocation::decides_on`]).
    pub notes: RefCell<HashMap<String, String>>,
}

/// An open screen on the stack, and the user's position in it.
struct Level {
    place: Place,
    part: Part,
    /// The first row to print.
    first: usize,
}

impl Level {
    fn new(place: Place) -> Self {
        Self { place, part: Part::default(), first: 0 }
    }
}

impl Plain<'_> {
    /// Prints screens and reads commands until the user leaves or the input ends.
    pub fn run(&self) -> Result<()> {
        let mut stack = vec![Level::new(Place::Inbox)];
        let store = &self.context.store;
        let mut watch = store.position().and_then(|position| store.watch(position)).ok();
        loop {
            let level = &stack[stack.len() - 1];
            let screen = load(&level.place, &self.context, &level.part);
            match &screen {
                Ok(screen) => self.show(screen, level.first)?,
                Err(error) => print_lines(self.output, &reply::error(error))?,
            }
            let Ok(screen) = screen else {
                // The screen failed to load: go back to the screen below, or leave if there is none.
                if stack.len() == 1 {
                    return Ok(());
                }
                stack.pop();
                continue;
            };
            loop {
                self.news(watch.as_mut())?;
                self.output.print("> ")?;
                let mut line = String::new();
                if stdin().read_line(&mut line).is_ok_and(|read| read == 0) {
                    return Ok(());
                }
                match self.command(line.trim(), &screen, &mut stack) {
                    Ok(Next::Show) => break,
                    Ok(Next::Stay) => {}
                    Ok(Next::Leave) => return Ok(()),
                    Err(error) => print_lines(self.output, &reply::error(&error))?,
                }
            }
        }
    }

    /// Prints what others did since the last prompt. It prints only before a prompt, so that nothing appears while
    /// the user types.
    fn news(&self, watch: Option<&mut Watch>) -> Result<()> {
        let Some(Ok(Change::Events(events))) = watch.map(Watch::look) else { return Ok(()) };
        let own = self.context.caller.actor();
        let events: Vec<_> = events.iter().filter(|event| event.actor != own).collect();
        for event in events.iter().take(NEWS) {
            let what = format!("{} {}", event.actor, event.kind.replace('.', " "));
            self.output.print(&format!("New: {}.\n", marks::line(&what)))?;
        }
        match events.len().saturating_sub(NEWS) {
            0 => Ok(()),
            more => self.output.print(&format!("New: {more} more; feed shows them.\n")),
        }
    }

    /// Runs a command line that the user typed.
    fn command(&self, line: &str, screen: &Screen, stack: &mut Vec<Level>) -> Result<Next> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        if let Some((_, _, place)) = ROOTS.iter().find(|(_, name, _)| name.eq_ignore_ascii_case(word)) {
            stack.clear();
            stack.push(Level::new(place.clone()));
            return Ok(Next::Show);
        }
        let top = stack.len() - 1;
        match word {
            "" => {
                let more = rows(screen).is_some_and(|rows| stack[top].first + ROWS < rows.len());
                stack[top].first = if more { stack[top].first + ROWS } else { 0 };
                return Ok(Next::Show);
            }
            "q" => return Ok(Next::Leave),
            "0" => {
                if stack.len() > 1 {
                    stack.pop();
                }
                return Ok(Next::Show);
            }
            "?" => {
                self.keys(screen, None)?;
                return Ok(Next::Stay);
            }
            "v" if !screen.views.is_empty() => {
                stack[top].part.view = (stack[top].part.view + 1) % screen.views.len();
                return Ok(Next::Show);
            }
            _ => {}
        }
        if let Ok(number) = word.parse::<usize>() {
            let row = row(screen, number)?;
            if let Some(answer) = row.actions.iter().find(|action| action.key == '\n') {
                let is_more = row.is_more();
                let next = self.act(answer, None, stack)?;
                if !is_more {
                    stack.pop();
                }
                return Ok(next);
            }
            let Some(look) = row.look.clone() else { return Ok(Next::Stay) };
            return self.open(look, stack);
        }
        let marked = match rest.trim() {
            "" => None,
            number => {
                let number = number.parse().map_err(|_| unknown(line))?;
                Some(row(screen, number)?)
            }
        };
        let mut letters = word.chars();
        let key = match (letters.next(), letters.next()) {
            (Some(key), None) => key,
            _ if word == "space" => ' ',
            _ => return Err(unknown(line)),
        };
        let offered = || marked.into_iter().flat_map(|row| &row.actions).chain(&screen.actions);
        let action = offered().find(|action| action.key == key).cloned();
        let about = offered().find_map(|action| match &action.does {
            Does::Call(call) => call.decides_on(),
            _ => None,
        });
        self.act(&action.ok_or_else(|| unknown(line))?, about, stack)
    }

    /// Runs an action. If the action writes a note, the note is kept for the decision on `about`.
    fn act(&self, action: &Action, about: Option<String>, stack: &mut Vec<Level>) -> Result<Next> {
        if self.is_read_only && action.changes(self.context.domains) {
            return Err(read_only());
        }
        match &action.does {
            Does::Open(place) => return self.open(place.clone(), stack),
            Does::Replace(place) => {
                stack.pop();
                stack.push(Level::new(place.clone()));
            }
            Does::More => {
                let top = stack.len() - 1;
                stack[top].part.grow();
            }
            Does::Note => {
                let question = "Note to the agent that asked; a or d sends it:";
                let note = (self.context.line)(Told::Several(Vec::new()), question, Empty::Answers)?;
                self.notes.borrow_mut().insert(about.unwrap_or_default(), note);
                return Ok(Next::Stay);
            }
            Does::Review(digest) => drop(mcpkg_console::reviewed::toggle(&self.context, digest)?),
            Does::Call(invocation) => self.call(invocation)?,
        }
        Ok(Next::Show)
    }

    fn open(&self, place: Place, stack: &mut Vec<Level>) -> Result<Next> {
        let command = match &place {
            Place::Ask(about) => {
                self.ask(about.clone())?;
                return Ok(Next::Show);
            }
            Place::Form(words) => Invocation::new(words).flag("--help"),
            Place::Filled(words, name) => Invocation::new(words).with(name),
            Place::Editor(Text::Draft(id)) => Invocation::new("draft edit").with(id),
            Place::Editor(Text::Workflow(name)) => Invocation::new("workflow edit").with(name),
            Place::Editor(Text::Empty) => Invocation::new("workflow import").with("FILE"),
            _ => {
                stack.push(Level::new(place));
                return Ok(Next::Show);
            }
        };
        self.output.print(&format!("A plain console has no editor. In the shell, use `{}`.\n", command.command()))?;
        Ok(Next::Stay)
    }

    /// Asks the user's agent for a workflow, like the panel of the console, and prints what the agent does.
    fn ask(&self, about: Option<Text>) -> Result<()> {
        if self.is_read_only {
            return Err(read_only());
        }
        let question = "What should the workflow do? An empty line goes back:";
        let text = (self.context.line)(Told::Several(Vec::new()), question, Empty::Answers)?;
        let Body::Form(mut form) = load(&Place::Ask(about), &self.context, &Part::default())?.body else {
            return Ok(());
        };
        if text.trim().is_empty() {
            return Ok(());
        }
        if let Some(field) = form.fields.iter_mut().find(|field| field.name == "text") {
            field.value = text;
        }
        let (mut context, output) = (self.context.clone(), *self.output);
        context.emit = Arc::new(move |reply| print_lines(&output, &reply::lines(&reply, AskedIn::Terminal)));
        let done = form.invocation().run(&context)?;
        self.output.print(&format!("{}\n", reply::sentence(&done)))
    }

    fn call(&self, invocation: &Invocation) -> Result<()> {
        if let Some(name) = &invocation.destroys {
            let question = format!("Type {name} to go on:");
            let typed = (self.context.line)(Told::Several(Vec::new()), &question, Empty::Ends)?;
            if typed != *name {
                return Err(Error::new(Code::ConfirmRequired, "That is not the name; nothing was changed"));
            }
        }
        let about = invocation.decides_on();
        let note = about.as_ref().and_then(|about| self.notes.borrow().get(about).cloned());
        let invocation = invocation.clone().noting(&note.unwrap_or_default());
        let done = invocation.run(&self.context)?;
        if let Some(about) = about {
            self.notes.borrow_mut().remove(&about);
        }
        self.output.print(&format!("{}\n", reply::sentence(&done)))
    }

    fn show(&self, screen: &Screen, first: usize) -> Result<()> {
        self.output.print(&format!("\n{}.\n", screen.title))?;
        match &screen.body {
            Body::Text(lines) => print_lines(self.output, lines)?,
            Body::Diff(diff) => print_lines(self.output, &diff.lines())?,
            Body::List(list) => self.list(list, first)?,
            Body::Form(_) | Body::Editor(_) => {}
        }
        self.keys(screen, Some(first))
    }

    fn list(&self, list: &List, first: usize) -> Result<()> {
        let rows: Vec<&Row> = list.rows.iter().filter(|row| !row.is_heading).collect();
        if rows.is_empty() {
            return self.output.print(&format!("{}\n", list.keys_when_empty()));
        }
        for (at, row) in rows.iter().enumerate().skip(first).take(ROWS) {
            let word = |sign: &str| list.signs.iter().find(|(known, _)| *known == sign).map(|(_, words)| *words);
            let first = row.cells.first().map(|cell| word(cell.text()).unwrap_or(cell.text()));
            let others = row.cells.iter().skip(1).map(|cell| cell.text());
            let cells: Vec<&str> = first.into_iter().chain(others).filter(|text| !text.is_empty()).collect();
            self.output.print(&format!("{}. {}.\n", at + 1, cells.join(". ").trim_end_matches('.')))?;
        }
        match rows.len().saturating_sub(first + ROWS) {
            0 => Ok(()),
            more => self.output.print(&format!("Enter shows {more} more.\n")),
        }
    }

    /// Prints the keys of the screen and of its first row. Without `short`, also lists the screens to go to and the key
    /// that leaves.
    fn keys(&self, screen: &Screen, short: Option<usize>) -> Result<()> {
        let mut keys: Vec<String> =
            screen.actions.iter().map(|action| format!("{} {}", name(action.key), action.words())).collect();
        let of_row = rows(screen).and_then(|rows| rows.first().map(|row| row.actions.clone())).unwrap_or_default();
        let own = of_row.iter().filter(|action| action.key != '\n');
        keys.extend(own.map(|action| format!("{} N {}", name(action.key), action.words())));
        if !screen.views.is_empty() {
            keys.push("v next view".to_owned());
        }
        if rows(screen).is_some_and(|rows| !rows.is_empty()) {
            keys.insert(0, "a number opens a row".to_owned());
        }
        keys.push("0 goes back".to_owned());
        if short.is_none() {
            let places: Vec<String> = ROOTS.iter().map(|(_, name, _)| name.to_lowercase()).collect();
            keys.push(format!("{} go there", places.join(", ")));
            keys.push("q leaves".to_owned());
        } else {
            keys.push("? lists all keys".to_owned());
        }
        self.output.print(&format!("{}.\n", keys.join(", ")))
    }
}

/// The next action after a command.
enum Next {
    /// Print the top of the stack again.
    Show,
    /// Ask for the next command.
    Stay,
    Leave,
}

/// Prints lines, and marks where quoted text starts and ends.
fn print_lines(output: &Output, lines: &[Line]) -> Result<()> {
    let mut is_quoted = false;
    for line in lines {
        if line.is_quoted != is_quoted {
            output.print(if line.is_quoted { "Quoted text begins.\n" } else { "Quoted text ends.\n" })?;
            is_quoted = line.is_quoted;
        }
        let indent = if line.is_quoted { "  " } else { "" };
        output.print(&format!("{indent}{}\n", line.clone().with_words_marked().text()))?;
    }
    match is_quoted {
        true => output.print("Quoted text ends.\n"),
        false => Ok(()),
    }
}

/// Returns the word to type for a key.
fn name(key: char) -> String {
    if key == ' ' { "space".to_owned() } else { key.to_string() }
}

fn rows(screen: &Screen) -> Option<Vec<&Row>> {
    match &screen.body {
        Body::List(list) => Some(list.rows.iter().filter(|row| !row.is_heading).collect()),
        _ => None,
    }
}

fn row(screen: &Screen, number: usize) -> Result<&Row> {
    let rows = rows(screen).unwrap_or_default();
    let row = number.checked_sub(1).and_then(|at| rows.get(at)).copied();
    row.ok_or_else(|| Error::new(Code::InvalidArgument, format!("There is no row {number}")))
}

fn unknown(line: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("'{}' is not a key of this screen", line.escape_debug()))
        .hint("? lists the keys")
}
