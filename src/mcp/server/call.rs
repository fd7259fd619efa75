//! A tool call that is ready to run, and what it holds until then.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, JsonObject};
use tokio::sync::OwnedSemaphorePermit;

use crate::mcp::era::Era;
use crate::mcp::notes::Notes;
use crate::mcp::tickets::Ticket;
use crate::mcp::tools::{self, Tool};
use mcpkg_core::op::Context;

/// A call of a tool, ready to run.
pub(super) struct Call {
    pub(super) tool: Tool,
    pub(super) arguments: Option<JsonObject>,
    pub(super) context: Context,
    pub(super) notes: Notes,
    pub(super) era: Era,
    pub(super) held: Arc<Held>,
}

impl Call {
    /// Runs the tool; later requests of its client go on when it has ended, also where its client gave up.
    pub(super) fn run(self) -> Result<CallToolResult, ErrorData> {
        let result = tools::call(&self.tool, self.arguments, &self.context, &self.notes, self.era);
        self.held.release();
        result
    }
}

/// Resources held by a call that other requests wait for.
pub(super) struct Held {
    /// Its place in its client's order.
    ticket: Option<Arc<Ticket>>,
    /// Its right to read, of a limited number.
    permit: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Held {
    /// Returns what a call with this place holds.
    pub(super) fn new(ticket: Option<Arc<Ticket>>) -> Arc<Self> {
        Arc::new(Self { ticket, permit: Mutex::default() })
    }

    /// Keeps the right to read until the call has ended.
    pub(super) fn keep(&self, permit: Option<OwnedSemaphorePermit>) {
        *self.permit() = permit;
    }

    fn permit(&self) -> MutexGuard<'_, Option<OwnedSemaphorePermit>> {
        self.permit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Releases it all, so that later requests go on.
    pub(super) fn release(&self) {
        self.permit().take();
        if let Some(ticket) = &self.ticket {
            ticket.end();
        }
    }
}
