//! Requests that the front answers itself: hot reads, and calls of tools that are declared hot.

use std::borrow::Borrow;

use serde_json::value::RawValue;

use crate::mcp::era::Era;
use crate::mcp::reads::{self, Read};
use crate::mcp::tools::HotCall;
use crate::mcp::{Config, live};
use mcpkg_base::error::Result;
use mcpkg_core::op::Context;
use mcpkg_store::{Db, Reader};

/// A request that the front may answer, with its parameters.
pub(in crate::mcp) enum Hot<'a> {
    /// A read of the protocol's own.
    Read(Read<'a>),
    Call(Box<HotCall>),
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answered {
    /// The result was appended; while nothing is committed it may be given again.
    Lasting,
    /// The result was appended, for this time.
    Once,
    /// rmcp's handler has to answer it; nothing was appended.
    Not,
}

/// Whether requests for `method` can be hot.
pub(in crate::mcp) fn may_be_hot(method: &str) -> bool {
    method == "tools/call" || Read::is_hot(method)
}

impl<'a> Hot<'a> {
    /// Takes the parameters of a method that can be hot. `None` if rmcp's handler has to answer: it also reads live
    /// resources, and explains what is wrong with a tool call.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` that names the parameter of a read that is wrong.
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

    /// The name or URI that a request of 2026-07-28 has to repeat in a header.
    pub(in crate::mcp) fn name(&self) -> Option<&str> {
        match self {
            Hot::Read(Read::Prompt { name, .. }) => Some(name),
            Hot::Read(Read::Resource { uri }) => Some(uri),
            Hot::Read(Read::Prompts { .. } | Read::Resources { .. } | Read::Tools { .. }) => None,
            Hot::Call(call) => Some(call.name()),
        }
    }

    /// Whether it may take long in a large database: a tool call that is run in a context whose reads end soon.
    pub(super) fn may_be_long(&self) -> bool {
        matches!(self, Hot::Call(call) if call.may_be_long())
    }

    /// Reads what is asked for and appends the result to `out`, and nothing where that fails. `context` is what tools run in.
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
                Some(true) => Answered::Lasting,
                Some(false) => Answered::Once,
                None => Answered::Not,
            }),
        }
    }
}
