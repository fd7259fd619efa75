//! Keeps track of the runs of this process that have their own thread: those of agents. A run continues when its caller no
//! longer waits.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use mcpkg_base::error::{Error, Result};
use mcpkg_core::op::{Confirmation, Context, Progress, Say};

/// How long an ending process waits for its runs, which is slightly longer than their attempts may continue.
const LAST: Duration = Duration::from_secs(6);

static ENDING: AtomicBool = AtomicBool::new(false);
static LIVE: LazyLock<Live> = LazyLock::new(Live::default);

#[derive(Default)]
struct Live {
    runs: Mutex<HashMap<Uuid, Arc<Followed>>>,
    ended: Condvar,
}

impl Live {
    fn runs(&self) -> MutexGuard<'_, HashMap<Uuid, Arc<Followed>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A caller that receives a run's progress until it stops waiting.
#[derive(Default)]
pub struct Followed(Mutex<Option<(Arc<Progress>, Arc<Say>)>>);

impl Followed {
    fn listeners(&self) -> Option<(Arc<Progress>, Arc<Say>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn leave(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Returns whether this process is shutting down.
pub(super) fn is_ending() -> bool {
    ENDING.load(Ordering::Acquire)
}

/// Carries out a run in its own thread, and waits until it ends, `wait` has passed, or the call is cancelled. Returns whether
/// the run has ended. The caller receives the run's progress while waiting.
///
/// An error means that the thread did not start.
pub fn follow(
    context: &Context,
    run: Uuid,
    wait: Duration,
    work: impl FnOnce(&Context) + Send + 'static,
) -> Result<bool> {
    let followed = Arc::new(Followed(Mutex::new(Some((Arc::clone(&context.progress), Arc::clone(&context.say))))));
    let alone = alone(context, &followed);
    LIVE.runs().insert(run, Arc::clone(&followed));
    let working = Working(run);
    let started = std::thread::Builder::new().name("run".to_owned()).spawn(move || {
        let _working = working;
        work(&alone);
    });
    started.map_err(|error| Error::internal("cannot start a thread for a run").with_source(error))?;
    let until = Instant::now() + wait;
    let mut runs = LIVE.runs();
    while runs.contains_key(&run) && !context.is_cancelled() {
        let left = until.saturating_duration_since(Instant::now()).min(Duration::from_millis(100));
        if left.is_zero() {
            break;
        }
        runs = LIVE.ended.wait_timeout(runs, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    let ended = !runs.contains_key(&run);
    drop(runs);
    // Drop the connection to the client, so that the connection can close once the answer is sent.
    followed.leave();
    Ok(ended)
}

/// Stops all runs of this process, and waits until they have recorded their progress, at most [`LAST`].
pub fn end_all() {
    ENDING.store(true, Ordering::Release);
    let until = Instant::now() + LAST;
    let mut runs = LIVE.runs();
    while !runs.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        runs = LIVE.ended.wait_timeout(runs, left).unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// A run in progress. Dropping it marks the end of the work, even after a panic.
struct Working(Uuid);

impl Drop for Working {
    fn drop(&mut self) {
        LIVE.runs().remove(&self.0);
        LIVE.ended.notify_all();
    }
}

/// Returns the context for the run's own thread. In this context, nobody can be asked, and the caller's cancellation
/// does not stop the run.
fn alone(context: &Context, followed: &Arc<Followed>) -> Context {
    let (progress, say) = (Arc::clone(followed), Arc::clone(followed));
    Context {
        store: context.store.patient(),
        progress: Arc::new(move |what, done, total| {
            if let Some((progress, _)) = progress.listeners() {
                progress(what, done, total);
            }
        }),
        say: Arc::new(move |what| {
            if let Some((_, say)) = say.listeners() {
                say(what);
            }
        }),
        emit: Arc::new(|_| Ok(())),
        ask: Arc::clone(&context.ask),
        confirmation: Confirmation::Nobody,
        cancelled: CancellationToken::new(),
        elicit: None,
        answered: None,
        step_aside: Arc::new(|| {}),
        ..context.clone()
    }
}
