//! Sends the messages of a running tool to its client: progress if the client gave a token, and log messages.
//!
//! A client that does not read loses some of these messages, but does not delay the tool.

#![allow(deprecated, reason = "the newest protocol revision has no logging, but older revisions do")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::model::{
    LoggingLevel, LoggingMessageNotification, LoggingMessageNotificationParam, ProgressNotification,
    ProgressNotificationParam, ServerNotification,
};
use rmcp::service::{Peer, RequestContext};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// The maximum number of messages that may wait for a client.
const WAITING: usize = 64;

/// The minimum time between two progress messages of the same step. The first message of a new step and the message at
/// the end of the work are sent at once.
const PACE: Duration = Duration::from_millis(100);

/// The last progress message that was sent.
struct Last {
    at: Instant,
    done: u64,
    said: String,
}

/// The progress of a request. Each part of the work counts from zero, but the protocol requires increasing numbers, so
/// the sum of the earlier parts is added.
#[derive(Default)]
struct Standing {
    /// The work done by earlier parts.
    before: u64,
    /// The work done by the current part.
    done: u64,
    last: Option<Last>,
}

impl Standing {
    /// Records the progress of the current part, and returns the work done by earlier parts. A lower number than before
    /// begins a new part.
    fn of_part(&mut self, done: u64) -> u64 {
        if done < self.done {
            self.before += self.done;
        }
        self.done = done;
        self.before
    }
}

/// The logger's name in log messages.
const LOGGER: &str = "mcpkg";

/// The channel for messages from a running tool to its client.
#[derive(Clone)]
pub(super) struct Notes {
    sender: mpsc::Sender<ServerNotification>,
    /// The minimum level that the client wants; `None` if it wants no log messages.
    level: Option<LoggingLevel>,
    /// Set once the request was answered, because no message may follow the answer.
    muted: Arc<AtomicBool>,
}

/// The task that sends the messages. It is awaited before the tool's reply is sent.
pub(super) struct Sending(JoinHandle<()>);

impl Notes {
    /// Returns the channel to the client of `request`.
    pub(super) fn to(request: &RequestContext<RoleServer>, level: Option<LoggingLevel>) -> (Self, Sending) {
        let (sender, mut receiver) = mpsc::channel(WAITING);
        let peer: Peer<RoleServer> = request.peer.clone();
        let sending = tokio::spawn(async move {
            while let Some(notification) = receiver.recv().await {
                if peer.send_notification(notification).await.is_err() {
                    return;
                }
            }
        });
        (Self { sender, level, muted: Arc::default() }, Sending(sending))
    }

    /// Returns the function that reports progress. It does nothing if the client gave no progress token.
    pub(super) fn progress(&self, request: &RequestContext<RoleServer>) -> Arc<mcpkg_core::op::Progress> {
        let Some(token) = request.meta.get_progress_token() else { return Arc::new(|_, _, _| {}) };
        let (sender, muted) = (self.sender.clone(), Arc::clone(&self.muted));
        let standing: Mutex<Standing> = Mutex::default();
        Arc::new(move |what, done, total| {
            if muted.load(Ordering::Relaxed) {
                return;
            }
            let mut standing = standing.lock().unwrap_or_else(PoisonError::into_inner);
            let before = standing.of_part(done);
            let (done, total) = (before + done, if total > 0 { before + total } else { 0 });
            let is_due = standing.last.as_ref().is_none_or(|last| {
                let is_whole = total > 0 && done >= total;
                done > last.done && (last.at.elapsed() >= PACE || last.said != what || is_whole)
            });
            if !is_due {
                return;
            }
            standing.last = Some(Last { at: Instant::now(), done, said: what.to_owned() });
            drop(standing);
            #[expect(clippy::cast_precision_loss, reason = "MCP counts progress in floating point")]
            let mut parameters = ProgressNotificationParam::new(token.clone(), done as f64).with_message(what);
            if total > 0 {
                #[expect(clippy::cast_precision_loss, reason = "MCP counts progress in floating point")]
                let whole = total as f64;
                parameters = parameters.with_total(whole);
            }
            let _ = sender.try_send(ServerNotification::ProgressNotification(ProgressNotification::new(parameters)));
        })
    }

    /// Stops all further messages.
    pub(super) fn mute(&self) {
        self.muted.store(true, Ordering::Relaxed);
    }

    /// Sends a log message if the client wants this level.
    pub(super) fn log(&self, level: LoggingLevel, data: serde_json::Value) {
        if !self.muted.load(Ordering::Relaxed) && self.level.is_some_and(|least| rank(level) >= rank(least)) {
            let parameters = LoggingMessageNotificationParam::new(level, data).with_logger(LOGGER);
            let message = ServerNotification::LoggingMessageNotification(LoggingMessageNotification::new(parameters));
            let _ = self.sender.try_send(message);
        }
    }
}

impl Sending {
    /// Waits until everything was sent. The tool and every copy of its [`Notes`] must be dropped by then.
    pub(super) async fn end(self) {
        let _ = self.0.await;
    }
}

fn rank(level: LoggingLevel) -> u8 {
    level as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_of_several_parts_adds_up() {
        let mut standing = Standing::default();
        let mut told = |done: u64| standing.of_part(done) + done;
        let parts = [0, 64, 100, 0, 64, 300, 1, 2, 300];
        assert_eq!(parts.map(&mut told), [0, 64, 100, 100, 164, 400, 401, 402, 700]);
    }
}
