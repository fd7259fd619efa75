//! Identifies hot requests, which the front answers itself: MCP's own reads, such as prompts/get, and tool calls that
//! their operations declare hot.

use std::borrow::Borrow;

use serde_json::value::RawValue;

use crate::mcp::era::Era;
use crate::mcp::reads::{self, Read};
use crate::mcp::tools::HotCall;
use crate::mcp::{Config, live};
use mcpkg_base::error::{Code, Result};
use mcpkg_core::op::Context;
use mcpkg_store::{Db, Reader};

/// A request that the front may answer, with its parameters.
pub(in crate::mcp) enum Hot<'a> {
    /// A read that is part of MCP itself.
    Read(Read<'a>),
    Call(Box<HotCall>),
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answered {
    /// The result was appended. It stays valid until the next commit.
    Lasting,
    /// The result of a call that failed with this code was appended. It is valid only once.
    Once(Code),
    /// Nothing was appended; rmcp's handler has to answer.
    Not,
}

/// Returns whether requests with this method can be hot.
pub(in crate::mcp) fn may_be_hot(method: &str) -> bool {
    method == "tools/call" || Read::is_hot(method)
}

impl<'a> Hot<'a> {
    /// Parses the parameters of a method that can be hot. Returns `None` if rmcp's handler has to answer, because only
    /// the handler reads live resources and explains errors in tool calls.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` with the name of the invalid parameter of a read.
    pub(in crate::mcp) fn parse(
        method: &str,
        parameters: Option<&'a RawValue>,
        config: &Config,
    ) -> Result<Option<Self>> {
        if method == "tools/call" {
            return Ok(HotCall::parse(parameters, config).map(Box::new).map(Hot::Call));
        }
        let read = Read::parse(method, parameters)?;
        let is_live = match &read {
            Read::Resource { uri } => live::only(config) || live::find(config, uri).is_some(),
            Read::Resources { .. } => live::only(config),
            Read::Prompts { .. } | Read::Prompt { .. } | Read::Tools { .. } => false,
        };
        Ok((!is_live).then_some(Hot::Read(read)))
    }

    /// Returns the name or URI that a request of 2026-07-28 has to repeat in a header.
    pub(in crate::mcp) fn name(&self) -> Option<&str> {
        match self {
            Hot::Read(Read::Prompt { name, .. }) => Some(name),
            Hot::Read(Read::Resource { uri }) => Some(uri),
            Hot::Read(Read::Prompts { .. } | Read::Resources { .. } | Read::Tools { .. }) => None,
            Hot::Call(call) => Some(call.name()),
        }
    }

    /// Returns whether the request may take long in a large database. On stdio and SSE, the front gives such a tool
    /// call a short time limit for reads.
    pub(super) fn may_be_long(&self) -> bool {
        matches!(self, Hot::Call(call) if call.may_be_long())
    }

    /// Reads the requested data and appends the result to `out`. On failure, `out` is unchanged. Tools run in
    /// `context`.
    pub(super) fn answer<C: Borrow<Context>>(
        self,
        reader: &Reader,
        context: impl FnOnce() -> C,
        config: &Config,
        era: Era,
        out: &mut Vec<u8>,
    ) -> Result<Answered> {
        match self {
            Hot::Read(read) => {
                let answer = |db: &Db<'_>| reads::answer(db, config, &read, era, out);
                if read.looks_twice() { reader.read(answer) } else { reader.statement(answer) }?;
                Ok(Answered::Lasting)
            }
            Hot::Call(call) => Ok(match call.answer(context().borrow(), era, out) {
                Some(Ok(())) => Answered::Lasting,
                Some(Err(code)) => Answered::Once(code),
                None => Answered::Not,
            }),
        }
    }
}
