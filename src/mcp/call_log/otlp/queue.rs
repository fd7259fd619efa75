//! Holds the calls whose spans are not sent yet, and the durations of all calls.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::attributes;
use super::durations::Durations;
use crate::mcp::call_log::line::Line;

/// The maximum number of spans that wait for the receiver.
const MAX_QUEUED: usize = 2_048;

/// The maximum number of spans in one request.
const BATCH: usize = 512;

/// The queue that the threads of calls fill and the sending thread empties.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    lines: VecDeque<Line>,
    durations: Durations,
    dropped: u64,
    is_ending: bool,
}

impl Queue {
    /// Counts a call, and queues its span. If the queue is full, the span is dropped.
    pub(super) fn push(&self, line: Line) {
        let Some(rpc) = &line.rpc else { return };
        let series = attributes::of_metric(&line, rpc);
        let is_recorded = rpc.parent.as_ref().is_none_or(|parent| parent.is_sampled);
        let mut state = self.state();
        state.durations.add(series, Duration::from_micros(line.micros));
        match state.lines.len() {
            _ if !is_recorded => return,
            MAX_QUEUED.. => {
                state.dropped += 1;
                return;
            }
            _ => state.lines.push_back(line),
        }
        if matches!(state.lines.len(), 1 | BATCH) {
            self.changed.notify_one();
        }
    }

    /// Waits for at most `idle` until there are spans. Then waits for `delay`, so that more spans collect, or until a request
    /// is full. With `pause`, waits for the whole `delay`, even without spans. Returns whether the server is ending.
    pub(super) fn wait(&self, idle: Duration, delay: Duration, pause: bool) -> bool {
        let state = self.state();
        let is_empty = |state: &mut State| !pause && state.lines.is_empty() && !state.is_ending;
        let (state, _) = self.changed.wait_timeout_while(state, idle, is_empty).unwrap_or_else(PoisonError::into_inner);
        if state.lines.is_empty() && !pause {
            return state.is_ending;
        }
        let collects = |state: &mut State| (pause || state.lines.len() < BATCH) && !state.is_ending;
        let (state, _) =
            self.changed.wait_timeout_while(state, delay, collects).unwrap_or_else(PoisonError::into_inner);
        state.is_ending
    }

    /// Takes the spans of one request.
    pub(super) fn take(&self) -> Vec<Line> {
        let lines = &mut self.state().lines;
        let count = lines.len().min(BATCH);
        lines.drain(..count).collect()
    }

    pub(super) fn durations(&self) -> Durations {
        self.state().durations.clone()
    }

    /// Counts spans that could not be sent as dropped.
    pub(super) fn lose(&self, count: usize) {
        self.state().dropped += count as u64;
    }

    pub(super) fn dropped(&self) -> u64 {
        self.state().dropped
    }

    pub(super) fn end(&self) {
        self.state().is_ending = true;
        self.changed.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
