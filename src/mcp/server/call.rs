//! Runs a tool call, and tracks the resources that it holds until it ends.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, JsonObject};
use tokio::sync::OwnedSemaphorePermit;

use crate::mcp::call_log::Record;
use crate::mcp::era::Era;
use crate::mcp::notes::Notes;
use crate::mcp::tickets::Ticket;
use crate::mcp::tools::{self, Tool};
use mcpkg_core::op::Context;

pub(super) struct Call {
    pub(super) tool: Tool,
    pub(super) arguments: Option<JsonObject>,
    pub(super) context: Context,
    pub(super) notes: Notes,
    pub(super) era: Era,
    pub(super) held: Arc<HeldResources>,
    /// Where the outcome is recorded, if calls are recorded.
    pub(super) record: Option<Arc<Record>>,
}

impl Call {
    /// Runs the tool. Once the tool has ended, later requests of the same client continue, even if the client no longer
    /// waits for this call.
    pub(super) fn answer(self) -> Result<CallToolResult, ErrorData> {
        let ended = |outcome| {
            if let Some(record) = &self.record {
                record.ended(outcome);
            }
        };
        let result = tools::answer(&self.tool, self.arguments, &self.context, &self.notes, self.era, ended);
        self.held.release();
        result
    }
}

/// The resources of a call that other requests wait for.
pub(super) struct HeldResources {
    /// The call's position in the order of its client's requests.
    ticket: Option<Arc<Ticket>>,
    /// The permit to read, of which there is a limited number.
    permit: Mutex<Option<OwnedSemaphorePermit>>,
}

impl HeldResources {
    /// Returns the resources of a call with this ticket, which has no permit yet.
    pub(super) fn new(ticket: Option<Arc<Ticket>>) -> Arc<Self> {
        Arc::new(Self { ticket, permit: Mutex::default() })
    }

    /// Keeps the permit to read until the call has ended.
    pub(super) fn keep(&self, permit: Option<OwnedSemaphorePermit>) {
        *self.permit() = permit;
    }

    fn permit(&self) -> MutexGuard<'_, Option<OwnedSemaphorePermit>> {
        self.permit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Releases the ticket and the permit, so that later requests continue.
    pub(super) fn release(&self) {
        self.permit().take();
        if let Some(ticket) = &self.ticket {
            ticket.end();
        }
    }
}
