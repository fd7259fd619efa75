//! Runs the operations that pages start, each on its own thread. The thread waits while a page asks the operation's
//! question.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_console::form::Form;
use mcpkg_console::place::Place;
use mcpkg_console::screen::Line;
use mcpkg_console::{Invocation, ask, reply};
use mcpkg_core::access::Grant;
use mcpkg_core::op::{AskedIn, Confirmation, Context, Empty, Reply};

/// How long an operation waits for an answer.
const PATIENCE: Duration = Duration::from_secs(600);

/// The maximum number of operations that run at the same time.
const MOST: usize = 32;

/// The number of operations to keep, so that their pages can be loaded again.
const KEPT: usize = 64;

/// The maximum number of reported lines to keep per operation. When there are more, the oldest are dropped.
const LINES: usize = 5_000;

/// The result of a successful operation: a sentence, and the details.
pub struct Outcome {
    pub sentence: String,
    pub lines: Vec<Line>,
    /// Whether the operation did what it was asked for; see [`reply::is_done`].
    pub is_done: bool,
}

impl Outcome {
    pub fn of(reply: &Reply) -> Self {
        Self {
            sentence: reply::sentence(reply),
            lines: reply::lines(reply, AskedIn::Browser),
            is_done: reply::is_done(reply),
        }
    }

    /// Returns an outcome without details.
    pub fn done(sentence: String) -> Self {
        Self { sentence, lines: Vec::new(), is_done: true }
    }
}

/// Where a job came from: its title, and the page to go back to.
pub struct Origin {
    /// The heading, such as `mcpkg prompt delete review`.
    pub title: String,
    /// The address of the page that started the job.
    pub address: String,
    /// The form that started the job, to show again if it fails.
    pub form: Option<Form>,
    /// The call that the job runs, if it runs just one. If it is refused, the page may offer other calls.
    pub call: Option<Invocation>,
    /// The name that you must type to confirm, because the job destroys something.
    pub name: Option<String>,
    /// What the access rules allowed the person who started the job, if they signed in with the issuer.
    pub grant: Option<Grant>,
}

pub struct Question {
    /// Counts the job's questions, so that an answer cannot reach a later question.
    pub number: u64,
    pub lines: Vec<Line>,
    pub text: String,
    /// What an empty answer means, if the answer is a line of text instead of yes or no.
    pub line: Option<Empty>,
    answer: Sender<Option<String>>,
}

#[derive(Default)]
pub struct State {
    pub progress: String,
    /// What the operation has reported so far.
    pub lines: Vec<Line>,
    /// The drafts that an agent has proposed so far, when it was asked.
    pub drafts: Vec<Place>,
    /// The run that the operation has begun or continues, if any.
    pub run: Option<String>,
    pub question: Option<Question>,
    asked: u64,
    pub outcome: Option<Result<Outcome>>,
}

pub struct Job {
    pub id: u64,
    pub origin: Origin,
    state: Mutex<State>,
    changed: Condvar,
    cancelled: CancellationToken,
}

/// Returns the error for a question that was answered with no.
pub fn not_confirmed() -> Error {
    Error::new(Code::ConfirmRequired, "Not confirmed; nothing was changed")
}

/// Returns the error for a button on a page that no longer shows what is stored.
pub fn outdated() -> Error {
    Error::new(Code::PlanChanged, "This page is older than what is stored now, so nothing was changed")
        .hint("go back and look again")
}

impl Job {
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns everything that determines what a yes to a question means: the job's id and command, the question with its
    /// number, and all lines that it quotes.
    pub fn whole(&self, question: &Question) -> String {
        let lines: Vec<String> = question.lines.iter().map(Line::text).collect();
        let Question { number, text, .. } = question;
        format!("{} {number}\n{}\n{text}\n{}", self.id, self.origin.title, lines.join("\n"))
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    /// Waits until the job asks a question or ends, but at most for `time`.
    pub fn wait(&self, time: Duration) {
        let runs = |state: &mut State| state.question.is_none() && state.outcome.is_none();
        drop(self.changed.wait_timeout_while(self.state(), time, runs));
    }

    /// Asks a question on the job's page, and waits for the answer. `None` means no, or no answer within [`PATIENCE`].
    pub fn ask(&self, lines: Vec<Line>, text: &str) -> Option<String> {
        self.asks(lines, text, None)
    }

    fn asks(&self, lines: Vec<Line>, text: &str, line: Option<Empty>) -> Option<String> {
        let (answer, answered) = mpsc::channel();
        self.change(|state| {
            state.asked += 1;
            state.question = Some(Question { number: state.asked, lines, text: text.to_owned(), line, answer });
        });
        let answer = answered.recv_timeout(PATIENCE).ok().flatten();
        self.change(|state| state.question = None);
        answer
    }

    /// Answers the question with this number. Returns false if the question is no longer open.
    pub fn answer(&self, number: u64, answer: Option<String>) -> bool {
        let mut state = self.state();
        match state.question.take_if(|question| question.number == number) {
            Some(question) => question.answer.send(answer).is_ok(),
            None => false,
        }
    }

    /// Returns whether the question with this number is open and needs a text as its answer.
    pub fn needs_line(&self, number: Option<u64>) -> bool {
        let state = self.state();
        state.question.as_ref().is_some_and(|asked| Some(asked.number) == number && asked.line == Some(Empty::Ends))
    }

    /// Stops the job: answers its question with no, and cancels its operation.
    pub fn stop(&self) {
        self.cancelled.cancel();
        if let Some(question) = self.state().question.take() {
            let _ = question.answer.send(None);
        }
    }

    /// Returns a context whose questions and messages appear on the job's page.
    fn context(self: &Arc<Self>, context: &Context) -> Context {
        let mut context = context.clone();
        context.confirmation = Confirmation::Ask;
        context.cancelled = self.cancelled.clone();
        let job = Arc::clone(self);
        context.ask = Arc::new(move |body, text| match job.ask(reply::body(&body, AskedIn::Browser), text) {
            Some(_) => Ok(()),
            None => Err(not_confirmed()),
        });
        let job = Arc::clone(self);
        context.line = Arc::new(move |body, text, empty| {
            let answer = job.asks(reply::body(&body, AskedIn::Browser), text, Some(empty));
            answer.ok_or_else(|| Error::new(Code::TerminalRequired, "No answer was given; nothing was changed"))
        });
        let job = Arc::clone(self);
        context.progress = Arc::new(move |what, done, total| {
            let text = if total > 1 { format!("{what}, {done} of {total}") } else { what.to_owned() };
            job.state().progress = text;
        });
        let job = Arc::clone(self);
        context.say = Arc::new(move |text| text.clone_into(&mut job.state().progress));
        let job = Arc::clone(self);
        context.began = Arc::new(move |run| job.state().run = Some(run.to_string()));
        let (job, clock) = (Arc::clone(self), context.clock.clone());
        context.emit = Arc::new(move |part| {
            let mut state = job.state();
            state.drafts.extend(ask::drafts(&ask::reported(&part, 0, clock.now())));
            state.lines.extend(reply::lines(&part, AskedIn::Browser));
            let excess = state.lines.len().saturating_sub(LINES);
            state.lines.drain(..excess);
            Ok(())
        });
        context
    }
}

#[derive(Default)]
pub struct Jobs(Mutex<(u64, Vec<Arc<Job>>)>);

impl Jobs {
    /// Runs `work` on a new thread. A panic becomes the job's error.
    pub fn start(
        &self,
        context: &Context,
        origin: Origin,
        work: impl FnOnce(&Job, &Context) -> Result<Outcome> + Send + 'static,
    ) -> Result<Arc<Job>> {
        let mut jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_done = |job: &Arc<Job>| job.state().outcome.is_some();
        if jobs.1.iter().filter(|job| !is_done(job)).count() >= MOST {
            return Err(Error::new(Code::TooMany, "Too many operations are running; answer or stop some of them"));
        }
        while jobs.1.len() >= KEPT {
            let Some(oldest) = jobs.1.iter().position(is_done) else { break };
            jobs.1.remove(oldest);
        }
        jobs.0 += 1;
        let job = Arc::new(Job {
            id: jobs.0,
            origin,
            state: Mutex::default(),
            changed: Condvar::new(),
            cancelled: context.cancelled.child_token(),
        });
        jobs.1.push(Arc::clone(&job));
        let (context, running) = (job.context(context), Arc::clone(&job));
        std::thread::spawn(move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| work(&running, &context)));
            let outcome = outcome.unwrap_or_else(|_| Err(Error::internal("The command crashed")));
            running.change(|state| state.outcome = Some(outcome));
        });
        Ok(job)
    }

    pub fn get(&self, id: u64) -> Option<Arc<Job>> {
        let jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.1.iter().find(|job| job.id == id).cloned()
    }
}
