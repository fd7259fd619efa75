//! Connects rmcp to `Front`, which reads the client's lines: passes requests to rmcp, and rmcp's answers to the output.

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, GetExtensions, JsonRpcMessage, ProtocolVersion, ServerResult};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;

use super::{HandlerGuard, InFlight, Phase, Sink};
use crate::mcp::output::Output;

/// The transport through which rmcp gets its requests and sends its answers.
pub(crate) struct RmcpTransport {
    in_flight: Arc<InFlight>,
    from_front: mpsc::UnboundedReceiver<ClientJsonRpcMessage>,
}

impl RmcpTransport {
    /// Returns a transport that answers through `output`, and the table of its requests.
    pub(crate) fn new(output: Arc<Output>) -> (Self, Arc<InFlight>) {
        let (in_flight, from_front) = InFlight::new(output);
        (Self { in_flight: Arc::clone(&in_flight), from_front }, in_flight)
    }
}

impl Transport<RoleServer> for RmcpTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let in_flight = Arc::clone(&self.in_flight);
        let encoded = encode(&item);
        async move {
            let mut line = encoded?;
            let answered = match &item {
                JsonRpcMessage::Response(response) => Some(response.id.clone()),
                JsonRpcMessage::Error(error) => error.id.clone(),
                _ => None,
            };
            let batches = match &item {
                JsonRpcMessage::Response(response) => match &response.result {
                    ServerResult::InitializeResult(result) => {
                        Some(result.protocol_version == ProtocolVersion::V_2025_03_26)
                    }
                    _ => None,
                },
                _ => None,
            };
            drop(item);
            line.push(b'\n');
            let sink =
                answered.as_ref().and_then(|id| in_flight.state().requests.get(id).map(|request| request.sink.clone()));
            let line = match sink {
                Some(Sink::Batch(batch)) => batch.add(line),
                _ => Some(line),
            };
            let sent = match line {
                // This answer begins the session, and `Front` must not answer anything before it. So it is written at
                // once instead of queued.
                Some(line) if batches.is_some() => in_flight.write(&line),
                Some(line) => in_flight.output.queue(line).await,
                None => Ok(()),
            };
            // The request counts as answered only now, so that no message that waits for it is sent before the answer.
            if let Some(id) = answered {
                let mut state = in_flight.state();
                if let Some(batches) = batches {
                    state.phase = Phase::Legacy { batches };
                }
                in_flight.remove(&mut state, &id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let mut message = self.from_front.recv().await?;
        if let JsonRpcMessage::Request(request) = &mut message {
            let guard = HandlerGuard { in_flight: Arc::clone(&self.in_flight), id: request.id.clone() };
            request.request.extensions_mut().insert(Arc::new(guard));
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.from_front.close();
        Ok(())
    }
}

fn encode(item: &TxJsonRpcMessage<RoleServer>) -> io::Result<Vec<u8>> {
    let mut line = Vec::with_capacity(1024);
    serde_json::to_writer(&mut line, item)?;
    Ok(line)
}
