//! A client's requests in its own order: what reads never overtakes what wrote before it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The order of one client's requests.
#[derive(Default)]
pub(crate) struct Turns {
    state: Mutex<State>,
    ended: Notify,
}

#[derive(Default)]
struct State {
    next: u64,
    writing: BTreeSet<u64>,
}

/// A request's place in the order. It travels with the request; a write ends when its last copy is dropped, which is
/// when its handler has ended, whether or not anybody still waits for the reply.
pub(crate) struct Turn {
    turns: Arc<Turns>,
    number: u64,
    writes: bool,
}

impl Turns {
    /// Returns the next request's place.
    pub(crate) fn next(self: &Arc<Self>, writes: bool) -> Arc<Turn> {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        if writes {
            state.writing.insert(number);
        }
        Arc::new(Turn { turns: Arc::clone(self), number, writes })
    }

    /// Whether no write is under way.
    pub(crate) fn idle(&self) -> bool {
        self.state().writing.is_empty()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// Waits until every earlier write has ended.
    pub(crate) async fn wait(&self) {
        loop {
            let ended = self.turns.ended.notified();
            if self.turns.state().writing.first().is_none_or(|first| *first >= self.number) {
                return;
            }
            ended.await;
        }
    }

    /// Lets later requests go on before the last copy is dropped.
    pub(crate) fn end(&self) {
        if self.writes && self.turns.state().writing.remove(&self.number) {
            self.turns.ended.notify_waiters();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_wait_for_earlier_writes_only() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let turns = Arc::new(Turns::default());
            let write = turns.next(true);
            let read = turns.next(false);
            let later = turns.next(true);
            assert!(!turns.idle());
            let waiting = tokio::spawn(async move { read.wait().await });
            tokio::task::yield_now().await;
            assert!(!waiting.is_finished());
            drop(write);
            waiting.await.unwrap();
            later.wait().await;
            drop(later);
            assert!(turns.idle());
        });
    }
}
