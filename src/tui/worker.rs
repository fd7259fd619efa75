//! Threads that read the database and run operations, so that the console stays responsive.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_console::document::Saved;
use mcpkg_console::fields::Fields;
use mcpkg_console::survey::Survey;
use mcpkg_console::{Invocation, Place, document, editor, inbox, picker, reply, reviewed};
use mcpkg_core::op::{AskedIn, Body, Confirmation, Context};
use mcpkg_store::watch::{Change, Watch};

use super::message::{Edited, Message, Question, Task, Ticket, Version, Work};

/// How often to check for commits. A check costs microseconds.
const WATCH: Duration = Duration::from_millis(20);

/// How long to wait before the next try if the database cannot be watched.
const AWAY: Duration = Duration::from_secs(1);

pub struct Workers {
    context: Context,
    /// The context of operations that have the terminal to themselves. Their questions are asked as in the shell.
    pub aside: Context,
    messages: Sender<Message>,
    loads: Sender<Ticket>,
    checks: Sender<(Version, String)>,
    forms: Sender<(Version, String, bool)>,
    surveys: Sender<bool>,
}

impl Workers {
    /// Starts the threads that load screens, survey this machine, check and plan texts, and watch the database.
    pub fn start(context: Context, messages: &Sender<Message>) -> Self {
        let aside = context.clone();
        let quiet = Context { progress: Arc::new(|_, _, _| {}), say: Arc::new(|_| {}), ..context.clone() };
        let context = asking(context, messages, None);
        let (loads, tickets) = mpsc::channel::<Ticket>();
        let (checks, texts) = mpsc::channel::<(Version, String)>();
        let (surveys, wanted) = mpsc::channel::<bool>();
        let survey = Arc::new(Mutex::new(None));
        let (reader, sender, found) = (quiet.clone(), messages.clone(), Arc::clone(&survey));
        thread::spawn(move || look_around(&reader, &wanted, &found, &sender));
        let (reader, sender) = (quiet.clone(), messages.clone());
        thread::spawn(move || {
            let mut waiting = VecDeque::new();
            while let Some(ticket) = next(&tickets, &mut waiting) {
                let screen = unless_panicked(|| match ticket.place {
                    // Items from the database appear at once, and items from the survey when it has ended.
                    Place::Inbox => inbox::screen(&reader, known(&survey).as_ref()),
                    _ => mcpkg_console::load(&ticket.place, &reader, &ticket.part),
                });
                let screen = screen.map(Box::new);
                if sender.send(Message::Loaded(ticket, screen)).is_err() {
                    return;
                }
            }
        });
        let (forms, described) = mpsc::channel::<(Version, String, bool)>();
        let (reader, sender) = (quiet.clone(), messages.clone());
        thread::spawn(move || {
            while let Some((version, text)) = newest(&texts) {
                let checked = Edited::Checked(unless_panicked(|| document::validated(&reader, &text)));
                if sender.send(Message::Edited(version, checked)).is_err() {
                    return;
                }
            }
        });
        // The form and the plan have a thread of their own: they take longer, and must not delay the findings.
        let (reader, sender) = (quiet.clone(), messages.clone());
        thread::spawn(move || {
            while let Some((version, text, has_plan)) = newest(&described) {
                // If the text cannot be read as a workflow, the form keeps its last state.
                if let Ok(fields) = Fields::read(&reader, &text)
                    && sender.send(Message::Edited(version, Edited::Described(fields))).is_err()
                {
                    return;
                }
                if has_plan
                    && sender.send(Message::Edited(version, Edited::Planned(editor::plan(&reader, &text)))).is_err()
                {
                    return;
                }
            }
        });
        let (watcher, sender) = (quiet, messages.clone());
        thread::spawn(move || watch(&watcher, &sender));
        Self { context, aside, messages: messages.clone(), loads, checks, forms, surveys }
    }

    /// Passes a task to a worker thread. Ignores the tasks of the main loop.
    pub fn take(&self, task: Task) {
        match task {
            Task::Load(ticket) => drop(self.loads.send(ticket)),
            Task::Survey(is_whole) => drop(self.surveys.send(is_whole)),
            Task::Check(version, text, has_plan) => {
                let _ = self.checks.send((version, text.clone()));
                let _ = self.forms.send((version, text, has_plan));
            }
            Task::Run(invocation) => self.spawn(move |context, messages| {
                let context = asking(context.clone(), messages, Some(&invocation));
                let done = unless_panicked(|| invocation.run(&context).map(Box::new));
                Message::Done(invocation, done)
            }),
            Task::Follow(invocation, cancelled) => self.spawn(move |context, messages| {
                let mut context = asking(context.clone(), messages, None);
                context.cancelled = cancelled;
                let (sender, clock, call) = (messages.clone(), context.clock.clone(), invocation.clone());
                context.emit = Arc::new(move |reply| {
                    let _ = sender.send(Message::Reported(call.clone(), Box::new(reply), clock.now()));
                    Ok(())
                });
                let done = unless_panicked(|| invocation.run(&context).map(Box::new));
                Message::Done(invocation, done)
            }),
            Task::Work(version, text, work) => {
                self.spawn(move |context, _| Message::Edited(version, worked(context, &text, work)));
            }
            Task::Save(version, document, text) => {
                self.spawn(move |context, _| {
                    let saved = unless_panicked(|| Ok(document.save(context, &text)));
                    let saved = saved.unwrap_or_else(|error| Saved::Failed { error, is_stored: false });
                    Message::Edited(version, Edited::Saved(text, saved))
                });
            }
            Task::Review(digest) => {
                self.spawn(move |context, _| Message::Reviewed(reviewed::toggle(context, &digest)));
            }
            Task::RunOnTerminal(_)
            | Task::EditOnTerminal(..)
            | Task::Copy(_)
            | Task::Suspend
            | Task::Redraw
            | Task::Quit => {}
        }
    }

    fn spawn(&self, work: impl FnOnce(&Context, &Sender<Message>) -> Message + Send + 'static) {
        let (context, messages) = (self.context.clone(), self.messages.clone());
        thread::spawn(move || drop(messages.send(work(&context, &messages))));
    }
}

/// Waits for a load, and returns the first one that is still needed. A search is skipped if a later load of the same
/// place is waiting.
fn next(tickets: &Receiver<Ticket>, waiting: &mut VecDeque<Ticket>) -> Option<Ticket> {
    loop {
        if waiting.is_empty() {
            waiting.push_back(tickets.recv().ok()?);
        }
        waiting.extend(tickets.try_iter());
        let first = waiting.pop_front()?;
        let is_old = |ticket: &Ticket| waiting.iter().any(|later| later.place == ticket.place);
        if first.part.words.is_empty() || !is_old(&first) {
            return Some(first);
        }
    }
}

/// Waits for a text to work on, and returns the newest one. Older texts in the queue are outdated and need no check.
fn newest<T>(queue: &Receiver<T>) -> Option<T> {
    let first = queue.recv().ok()?;
    Some(queue.try_iter().last().unwrap_or(first))
}

fn worked(context: &Context, text: &str, work: Work) -> Edited {
    match work {
        Work::Set { pointer, value, new_input } => {
            Edited::Set(document::set(context, text, &pointer, value.as_deref(), new_input))
        }
        Work::Suggest { spot, words, number } => {
            Edited::Picked(number, picker::suggested(context, text, &spot, &words))
        }
        Work::Ask { pointer, provider, number } => {
            Edited::Picked(number, picker::asked(context, text, &pointer, &provider))
        }
        Work::Mean(document) => Edited::Meant(editor::meaning(context, &document, text)),
    }
}

fn known(survey: &Mutex<Option<Survey>>) -> Option<Survey> {
    survey.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Runs the requested surveys, one at a time. One survey answers all requests that are in the queue.
fn look_around(context: &Context, wanted: &Receiver<bool>, survey: &Mutex<Option<Survey>>, messages: &Sender<Message>) {
    while let Ok(first) = wanted.recv() {
        let is_whole = wanted.try_iter().fold(first, |one, other| one || other);
        let before = known(survey).filter(|_| !is_whole);
        let found = unless_panicked(|| {
            Ok(match before {
                Some(before) => before.of_files(context),
                None => Survey::new(context),
            })
        });
        *survey.lock().unwrap_or_else(PoisonError::into_inner) = Some(found.unwrap_or_default());
        if messages.send(Message::Surveyed).is_err() {
            return;
        }
    }
}

/// Runs a worker's task. A panic becomes an error, and the console goes on.
fn unless_panicked<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(Error::internal("The command crashed")))
}

/// Returns a context whose questions and progress messages appear in the console.
fn asking(mut context: Context, messages: &Sender<Message>, call: Option<&Invocation>) -> Context {
    let ask = |messages: &Sender<Message>,
               body: &Body,
               text: &str,
               is_line: bool,
               call: Option<&Invocation>|
     -> Option<String> {
        let (answer, answered) = mpsc::channel();
        let (name, call) = (call.and_then(|call| call.destroys.clone()), call.cloned());
        let question = Question {
            lines: reply::body(body, AskedIn::Terminal),
            text: text.to_owned(),
            is_line,
            name,
            call,
            answer,
        };
        messages.send(Message::Asked(question)).ok()?;
        answered.recv().ok().flatten()
    };
    let (sender, call) = (messages.clone(), call.cloned());
    context.confirmation = Confirmation::Ask;
    context.ask = Arc::new(move |body, text| match ask(&sender, &body, text, false, call.as_ref()) {
        Some(_) => Ok(()),
        None => Err(Error::new(Code::ConfirmRequired, "Not confirmed; nothing was changed")),
    });
    let sender = messages.clone();
    context.line = Arc::new(move |body, text, _| {
        ask(&sender, &body, text, true, None)
            .ok_or_else(|| Error::new(Code::TerminalRequired, "No answer was given; nothing was changed"))
    });
    let sender = messages.clone();
    context.progress = Arc::new(move |what, done, total| {
        let text = if total > 1 { format!("{what}, {done} of {total}") } else { what.to_owned() };
        let _ = sender.send(Message::Progress(text));
    });
    let sender = messages.clone();
    context.say = Arc::new(move |text| drop(sender.send(Message::Progress(text.to_owned()))));
    context
}

/// Returns the name of the selected project; empty if there is none.
pub fn project(context: &Context) -> String {
    context.read(|_, project| Ok(project.name.clone())).unwrap_or_default()
}

/// Watches the database until the console ends. Sends a message when this or another process has committed events, when a
/// backup was restored, when the database cannot be read, and when it can be read again.
fn watch(context: &Context, messages: &Sender<Message>) {
    let mut is_lost = false;
    loop {
        let watched = context.store.position().and_then(|position| context.store.watch(position));
        if let Ok(watch) = watched
            && follow(context, watch, &mut is_lost, messages).is_none()
        {
            return;
        }
        if !std::mem::replace(&mut is_lost, true) && messages.send(Message::Lost(true)).is_err() {
            return;
        }
        thread::sleep(AWAY);
    }
}

/// Follows a watch until its connection fails. Returns `None` when the console has ended. If the database file is moved
/// away, the watch goes on, and reports when the file is back.
fn follow(context: &Context, mut watch: Watch, is_lost: &mut bool, messages: &Sender<Message>) -> Option<()> {
    loop {
        if !watch.wait(WATCH) {
            continue;
        }
        let Ok(change) = watch.look() else { return Some(()) };
        let is_away = context.store.check_in_place().is_err();
        if std::mem::replace(is_lost, is_away) != is_away {
            messages.send(Message::Lost(is_away)).ok()?;
        }
        let message = match change {
            _ if is_away => continue,
            Change::None => continue,
            Change::Events(events) => Message::Changed(events.len(), project(context)),
            Change::Restored => Message::Restored(project(context)),
        };
        messages.send(message).ok()?;
    }
}

#[cfg(test)]
mod tests {
    use mcpkg_console::Part;

    use super::*;

    #[test]
    fn a_search_is_dropped_once_more_is_typed() {
        let (sender, tickets) = mpsc::channel();
        let ticket = |generation, place, words: &str| {
            let part = Part { words: words.to_owned(), ..Part::default() };
            sender.send(Ticket { generation, place, part }).expect("a receiver");
        };
        for (at, words) in ["r", "ro", "row"].into_iter().enumerate() {
            ticket(at as u64, Place::Content, words);
            ticket(10 + at as u64, Place::Prompt(words.to_owned()), "");
        }
        drop(sender);
        let mut waiting = VecDeque::new();
        let done: Vec<u64> =
            std::iter::from_fn(|| next(&tickets, &mut waiting)).map(|ticket| ticket.generation).collect();
        assert_eq!(done, [10, 11, 2, 12]);
    }

    #[test]
    fn only_the_newest_text_is_checked() {
        let (sender, queue) = mpsc::channel();
        for number in 1..=500 {
            sender.send(number).expect("a receiver");
        }
        assert_eq!(newest(&queue), Some(500));
        drop(sender);
        assert_eq!(newest(&queue), None::<i32>);
    }
}
