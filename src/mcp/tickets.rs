//! Orders requests with write tickets: a client's read never overtakes its own earlier write.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Issues the tickets for the requests of one client.
#[derive(Default)]
pub(crate) struct WriteTickets {
    state: Mutex<State>,
    ended: Notify,
}

#[derive(Default)]
struct State {
    next: u64,
    writing: BTreeSet<u64>,
}

/// A request's position in the order of its client's requests. It travels with the request.
///
/// A write is in progress until [`Ticket::end`] is called or the last copy of its ticket is dropped. The handler holds
/// a copy until it ends, even if nobody waits for the reply any more.
pub(crate) struct Ticket {
    tickets: Arc<WriteTickets>,
    number: u64,
    writes: bool,
}

impl WriteTickets {
    /// Returns the ticket of the next request.
    pub(crate) fn next(self: &Arc<Self>, writes: bool) -> Arc<Ticket> {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        if writes {
            state.writing.insert(number);
        }
        Arc::new(Ticket { tickets: Arc::clone(self), number, writes })
    }

    /// Returns whether no write is in progress.
    pub(crate) fn idle(&self) -> bool {
        self.state().writing.is_empty()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket {
    /// Waits until every earlier write has ended.
    pub(crate) async fn wait(&self) {
        loop {
            let ended = self.tickets.ended.notified();
            if self.tickets.state().writing.first().is_none_or(|first| *first >= self.number) {
                return;
            }
            ended.await;
        }
    }

    /// Ends the write now, so that later requests continue before the last copy is dropped.
    pub(crate) fn end(&self) {
        if self.writes && self.tickets.state().writing.remove(&self.number) {
            self.tickets.ended.notify_waiters();
        }
    }
}

impl Drop for Ticket {
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
            let tickets = Arc::new(WriteTickets::default());
            let write = tickets.next(true);
            let read = tickets.next(false);
            let later = tickets.next(true);
            assert!(!tickets.idle());
            let waiting = tokio::spawn(async move { read.wait().await });
            tokio::task::yield_now().await;
            assert!(!waiting.is_finished());
            drop(write);
            waiting.await.unwrap();
            later.wait().await;
            drop(later);
            assert!(tickets.idle());
        });
    }
}
