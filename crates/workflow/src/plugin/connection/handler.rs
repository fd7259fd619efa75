//! Handles what a plugin sends to its client: records that tools changed, and declines every request except a ping.

#![expect(deprecated, reason = "the newest protocol revision removed roots; older revisions may still ask for them")]

use std::sync::Arc;

use rmcp::model::{
    ClientCapabilities, ErrorCode, ErrorData, ExperimentalCapabilities, Implementation, InitializeRequestParams,
    JsonObject, ListRootsResult, ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};

use super::heard::Heard;
use mcpkg_core::op::PLUGIN_OF;

/// The client of one plugin. It does not implement sampling or roots, and declines questions to the user.
pub struct Handler {
    /// Identifies the database: see [`PLUGIN_OF`].
    pub mark: String,
    /// Records that the tools changed.
    pub heard: Arc<Heard>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> InitializeRequestParams {
        let mut capabilities = ClientCapabilities::default();
        let mark = JsonObject::from_iter([("database".to_owned(), self.mark.as_str().into())]);
        capabilities.experimental = Some(ExperimentalCapabilities::from([(PLUGIN_OF.to_owned(), mark)]));
        InitializeRequestParams::new(capabilities, Implementation::new("mcpkg", env!("CARGO_PKG_VERSION")))
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "roots/list", None))
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.heard.set_tools_changed();
    }
}
