//! An open connection: sends calls to the plugin and waits for answers, until a limit is reached or the connection ends.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientRequest, CustomResult, JsonObject, ListToolsRequest,
    PaginatedRequestParams, ServerResult, Tool,
};
use rmcp::service::{Peer, ServiceError};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::broken::{Broken, unsent, wait_for_turn};
use super::child::Child;
use super::era::Era;
use super::heard::Heard;
use crate::plugin::runtime::{Limits, within};
use mcpkg_base::http::Url;

/// How long to keep reading after the connection has ended. The answer may already have been written.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Maximum length of a skipped tool's name in messages, in characters.
const LONGEST_NAME: usize = 128;

pub struct Connection {
    pub(super) runtime: &'static Runtime,
    pub(super) peer: Peer<RoleClient>,
    /// Cancel this to end the connection.
    pub(super) closing: CancellationToken,
    /// Cancelled when the connection has ended.
    pub(super) closed: CancellationToken,
    /// The process, if the plugin is a program.
    pub(super) child: Option<Child>,
    /// The URL, if the plugin is reached over HTTP.
    pub(super) url: Option<Url>,
    pub(super) heard: Arc<Heard>,
    pub(super) era: Era,
}

/// The result of listing tools.
#[derive(Debug, Default)]
pub struct Listed {
    pub tools: Vec<Tool>,
    /// The reasons why tools were skipped, one line each.
    pub left_out: Vec<String>,
}

impl Listed {
    /// Adds a tool from the raw list. If it has no argument schema, it takes no arguments.
    fn add(&mut self, mut tool: Value) {
        let name = tool["name"].as_str().unwrap_or_default().escape_debug().take(LONGEST_NAME).collect::<String>();
        if let Some(fields) = tool.as_object_mut().filter(|fields| fields.get("inputSchema").is_none_or(Value::is_null))
        {
            fields.insert("inputSchema".to_owned(), json!({ "type": "object" }));
        }
        match serde_json::from_value(tool) {
            Ok(tool) => self.tools.push(tool),
            Err(error) => self.left_out.push(format!("'{name}': invalid tool definition: {error}")),
        }
    }
}

impl Connection {
    /// Lists the tools page by page, up to the last page or until there are at least `most` tools. Also returns why invalid tools
    /// were skipped.
    pub fn tools(&self, most: usize, limits: &Limits) -> Result<Listed, Broken> {
        self.heard.take_tools_changed();
        let mut listed = Listed::default();
        let mut cursor: Option<String> = None;
        loop {
            let page = PaginatedRequestParams::default().with_cursor(cursor.clone());
            let next = self.ask(limits, self.page(page, &mut listed))?;
            match next {
                Some(next) if listed.tools.len() < most && Some(&next) != cursor.as_ref() => cursor = Some(next),
                _ => return Ok(listed),
            }
        }
    }

    /// Adds a page of tools, and returns the cursor of the next page. rmcp rejects a whole page if one of its tools is invalid,
    /// so in that case each tool is parsed separately.
    async fn page(&self, page: PaginatedRequestParams, listed: &mut Listed) -> Result<Option<String>, ServiceError> {
        match self.peer.list_tools(Some(page.clone())).await {
            Ok(page) => {
                listed.tools.extend(page.tools);
                return Ok(page.next_cursor);
            }
            Err(ServiceError::UnexpectedResponse) => {}
            Err(error) => return Err(error),
        }
        let method = Default::default();
        let request = ListToolsRequest { method, params: Some(page), extensions: Default::default() };
        match self.peer.send_request(ClientRequest::ListToolsRequest(request)).await? {
            ServerResult::CustomResult(CustomResult(mut page)) if page["tools"].is_array() => {
                for tool in page["tools"].as_array_mut().into_iter().flatten() {
                    listed.add(tool.take());
                }
                Ok(page["nextCursor"].as_str().map(str::to_owned))
            }
            _ => Err(ServiceError::UnexpectedResponse),
        }
    }

    pub fn call(&self, tool: &str, arguments: JsonObject, limits: &Limits) -> Result<CallToolResult, Broken> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        match self.ask(limits, self.peer.call_tool_once(params))? {
            CallToolResponse::Complete(result) => Ok(result),
            CallToolResponse::InputRequired(_) => {
                Err(Broken::Odd("it asked the user for input, which plugins cannot do".to_owned()))
            }
            _ => Err(Broken::Odd("it returned a task, which mcpkg did not request".to_owned())),
        }
    }

    /// Waits for an answer, until a limit is reached or the connection ends.
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
                // Give the program a moment to end, because its last output contains the reason.
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

    /// Returns why the connection ended, for a person.
    pub fn last_words(&self) -> String {
        let words = self.heard.broke().or_else(|| self.child.as_ref().and_then(Child::last_words));
        words.unwrap_or_else(|| "the connection ended".to_owned())
    }

    pub fn is_open(&self) -> bool {
        let lives = self.child.as_ref().is_none_or(|child| !child.ended().is_cancelled());
        lives && !self.closed.is_cancelled() && !self.peer.is_transport_closed()
    }

    /// Returns whether the plugin is a program that has written nothing since the last call began.
    pub fn is_silent(&self) -> bool {
        self.child.is_some() && self.heard.is_silent()
    }

    /// Returns whether the list of tools changed since the last call of this function.
    pub fn take_tools_changed(&self) -> bool {
        self.heard.take_tools_changed()
    }

    pub fn era(&self) -> Era {
        self.era
    }

    pub fn close(&self) {
        self.closing.cancel();
        if let Some(child) = &self.child {
            child.end();
        }
    }

    /// Waits at most `time` until the connection and its processes have ended.
    pub fn wait(&self, time: Duration) {
        let waiting = async { tokio::time::timeout(time, self.ended()).await };
        let _ = self.runtime.block_on(waiting);
    }
}
