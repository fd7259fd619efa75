//! POST to an MCP address: a message, or several.

use std::sync::Arc;

use http::{Request, Response};
use hyper::body::Incoming;
use rmcp::ErrorData;

use super::batch::batch;
use super::message;
use crate::mcp::front::{self, Line};
use crate::mcp::transport::http::admission::Admission;
use crate::mcp::transport::http::answer::{Body, Refusal};
use crate::mcp::transport::http::app::App;
use crate::mcp::transport::http::body;
use crate::mcp::transport::http::connection::Peer;

/// Answers what was posted: a message, or several.
pub(in crate::mcp) async fn post(
    app: &Arc<App>,
    peer: &Peer,
    admission: Admission,
    request: Request<Incoming>,
) -> Result<Response<Body>, Refusal> {
    let (parts, body) = request.into_parts();
    let body = body::read(app, peer, &parts.headers, body).await?;
    let line = front::parse_line(&body);
    let admission = match line {
        Line::One(_) => admission,
        _ => Admission::certain(admission.config(app, &parts.headers)?),
    };
    match line {
        Line::Blank => Err(Refusal::message(ErrorData::parse_error("Parse error: the body is empty", None))),
        Line::Unreadable(why) => Err(Refusal::message(ErrorData::parse_error(why, None))),
        Line::Batch(items) => batch(app, peer, Arc::clone(admission.presumed()), parts, &body, &items).await,
        Line::One(envelope) => message::answer(app, peer, admission, parts, &body, envelope).await,
    }
}
