//! A connection that stands: calls, and what ends them.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, JsonObject, PaginatedRequestParams, Tool};
use rmcp::service::{Peer, ServiceError};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::broken::{Broken, unsent, wait_for_turn};
use super::child::Child;
use super::era::Era;
use super::heard::Heard;
use crate::http::Url;
use crate::workflow::plugin::runtime::{Limits, within};

/// How long an answer is still read that was written before the end.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// A connection to a plugin.
pub struct Connection {
    pub(super) runtime: &'static Runtime,
    pub(super) peer: Peer<RoleClient>,
    /// Ends it when it is cancelled.
    pub(super) closing: CancellationToken,
    /// Cancelled once nothing more comes.
    pub(super) closed: CancellationToken,
    /// Where it is a program.
    pub(super) child: Option<Child>,
    /// Where it is an address.
    pub(super) url: Option<Url>,
    pub(super) heard: Arc<Heard>,
    pub(super) era: Era,
}

impl Connection {
    /// Returns all tools that it lists, up to so many.
    ///
    /// # Errors
    /// See [`Broken`].
    pub fn tools(&self, most: usize, limits: &Limits) -> Result<Vec<Tool>, Broken> {
        self.heard.take_tools_changed();
        let mut tools = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let page = PaginatedRequestParams::default().with_cursor(cursor.clone());
            let page = self.ask(limits, self.peer.list_tools(Some(page)))?;
            tools.extend(page.tools);
            match page.next_cursor {
                Some(next) if tools.len() < most && Some(&next) != cursor.as_ref() => cursor = Some(next),
                _ => return Ok(tools),
            }
        }
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// See [`Broken`].
    pub fn call(&self, tool: &str, arguments: JsonObject, limits: &Limits) -> Result<CallToolResult, Broken> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        match self.ask(limits, self.peer.call_tool_once(params))? {
            CallToolResponse::Complete(result) => Ok(result),
            CallToolResponse::InputRequired(_) => {
                Err(Broken::Odd("it asks its user for something, and a plugin may ask nothing".to_owned()))
            }
            _ => Err(Broken::Odd("it answers with a task, which nobody asked for".to_owned())),
        }
    }

    /// Waits for an answer, and no longer than the connection lasts.
    fn ask<T>(&self, limits: &Limits, answer: impl Future<Output = Result<T, ServiceError>>) -> Result<T, Broken> {
        if let Some(url) = &self.url {
            wait_for_turn(url, limits)?;
        }
        self.heard.begin();
        let asked = within(self.runtime, limits, async {
            tokio::select! {
                biased;
                answer = answer => Some(answer),
                () = self.after_the_end() => None,
            }
        });
        match asked.map_err(Broken::Cut)? {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(ServiceError::McpError(error))) => Err(Broken::Said(error)),
            Some(Err(ServiceError::TransportSend(error))) => Err(unsent(&error)),
            Some(Err(ServiceError::TransportClosed)) | None => {
                // The program's end comes with the reason.
                let _ = within(self.runtime, limits, async {
                    let _ = tokio::time::timeout(LAST_WORDS, self.ended()).await;
                });
                Err(Broken::Ended(self.last_words()))
            }
            Some(Err(other)) => Err(Broken::Odd(other.to_string())),
        }
    }

    async fn after_the_end(&self) {
        self.ended().await;
        tokio::time::sleep(LAST_WORDS).await;
    }

    async fn ended(&self) {
        match &self.child {
            Some(child) => child.ended().cancelled().await,
            None => self.closed.cancelled().await,
        }
    }

    /// Returns how it ended, for a person.
    pub fn last_words(&self) -> String {
        let words = self.heard.broke().or_else(|| self.child.as_ref().and_then(Child::last_words));
        words.unwrap_or_else(|| "the connection ended".to_owned())
    }

    /// Whether it can be asked.
    pub fn is_open(&self) -> bool {
        let lives = self.child.as_ref().is_none_or(|child| !child.ended().is_cancelled());
        lives && !self.closed.is_cancelled() && !self.peer.is_transport_closed()
    }

    /// Whether it is a program that wrote nothing since it was asked last.
    pub fn is_silent(&self) -> bool {
        self.child.is_some() && self.heard.is_silent()
    }

    /// Whether it said that it lists other tools, since this was asked last.
    pub fn take_tools_changed(&self) -> bool {
        self.heard.take_tools_changed()
    }

    /// How it was greeted.
    pub fn era(&self) -> Era {
        self.era
    }

    /// Has it end.
    pub fn close(&self) {
        self.closing.cancel();
        if let Some(child) = &self.child {
            child.end();
        }
    }

    /// Waits until it has ended, with all that it started; at most for so long.
    pub fn wait(&self, time: Duration) {
        let waiting = async { tokio::time::timeout(time, self.ended()).await };
        let _ = self.runtime.block_on(waiting);
    }
}
