//! Things that a user approves once on this machine, such as a source or a plugin. A database may come from somebody else, so
//! its rows alone never make mcpkg read a folder, call a host, or start a program.

use serde_json::Value;

use crate::op::{Body, Confirmation, Context};
use mcpkg_base::approved::Kind;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::sha256;

/// Something that a user approves, such as a source or a plugin. The approval is a record outside the database.
pub trait Approvable {
    const KIND: Kind;

    /// Returns the bytes that the approval covers. If they change, the user has to approve again.
    fn covers(&self) -> Vec<u8>;

    /// Returns the content of the record, for people to read.
    fn note(&self) -> Value;

    fn key(&self) -> String {
        sha256::hex(self.covers())
    }

    fn is_approved(&self, context: &Context) -> Result<bool> {
        Ok(context.approved.get(Self::KIND, &self.key())?.is_some())
    }

    fn approve(&self, context: &Context) -> Result<()> {
        context.approved.put(Self::KIND, &self.key(), &self.note())
    }

    fn withdraw(&self, context: &Context) -> Result<()> {
        context.approved.withdraw(Self::KIND, &self.key())
    }
}

/// Something that a person at a terminal is asked to approve when it is first needed.
pub trait Askable: Approvable {
    fn question(&self) -> String;

    /// Returns the lines to read before the question.
    fn details(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the error for callers that cannot be asked.
    fn refusal(&self) -> Error;

    /// Fails if this value cannot be used even with an approval, so that asking a person would be pointless.
    fn is_usable(&self) -> Result<()> {
        Ok(())
    }

    /// Succeeds if this user has approved this value. Otherwise asks a person at a terminal and stores the approval, or fails
    /// if the caller cannot be asked.
    fn require(&self, context: &Context) -> Result<()> {
        if self.is_approved(context)? {
            return Ok(());
        }
        if context.confirmation != Confirmation::Ask {
            return Err(self.refusal());
        }
        self.ask(context)?;
        self.approve(context)
    }

    /// Asks a person at a terminal. Fails without a terminal: `--yes` does not answer this question.
    fn ask(&self, context: &Context) -> Result<()> {
        self.is_usable()?;
        if context.confirmation != Confirmation::Ask {
            let why = "Only a person at a terminal can decide what mcpkg runs; --yes cannot skip this question";
            return Err(Error::new(Code::TerminalRequired, why).hint("run the command at a terminal, without --yes"));
        }
        let details = self.details();
        let body = if details.is_empty() { Body::Several(Vec::new()) } else { Body::lines(details) };
        (context.ask)(body, &self.question())
    }
}
