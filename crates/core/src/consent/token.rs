//! Confirm tokens. A caller gets a token together with a plan, and can apply only this plan with the token.

use serde_json::Value;

use super::in_time;
use crate::op::Context;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;
use mcpkg_base::hex;
use mcpkg_base::sha256::{self, Sha};
use mcpkg_store::Db;
use mcpkg_store::consents::{self, Binding, New, Request, State};

/// How long a token is valid: ten minutes, as in the two-stage confirmation of contract 000 (agentpack).
pub const LIFE: Millis = 10 * 60_000;

/// A token that was issued to a caller.
#[derive(Debug)]
pub struct Issued {
    /// The token: 64 hex digits. mcpkg stores only its SHA-256.
    pub token: String,
    pub expires_at: Millis,
}

/// A plan that is about to be shown to a caller.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// The name of the tool that will apply the plan.
    pub operation: &'a str,
    /// The project's name; empty if the plan concerns no project.
    pub project: &'a str,
    pub inputs: &'a Value,
    /// The SHA-256 of the plan, in hex.
    pub hash: &'a str,
    pub summary: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// This caller has no such token for this operation.
    Unknown,
    /// The token was already used.
    Consumed,
    /// The token has expired, or the clock went back to before it was issued.
    Expired { at: Millis },
    /// The token was issued for other arguments.
    OtherInputs {
        /// The arguments that the token was issued for.
        given: Value,
    },
    /// The token was issued for another plan.
    OtherPlan {
        /// The SHA-256 of the plan that the token was issued for, in hex.
        given: String,
    },
}

/// Issues a token for a plan to the caller.
pub fn issue(context: &Context, plan: &Plan<'_>) -> Result<Issued> {
    let token = hex::encode(&context.clock.secret()?);
    let now = context.clock.now();
    let expires_at = now.saturating_add(LIFE);
    let binding = Binding {
        operation: plan.operation,
        asker: &context.caller.asker(),
        project: plan.project,
        inputs: &plan.inputs.to_string(),
        plan_hash: plan.hash,
    };
    let new = New {
        uuid: context.clock.uuid(),
        binding,
        caller: context.caller.actor(),
        summary: plan.summary,
        effects: "[]",
        effect: None,
        asked_at: now,
        expires_at,
    };
    context.store.write(|db| consents::insert_token(db, &new, &key(&token)))?;
    Ok(Issued { token, expires_at })
}

/// Checks a token before the operation makes its plan. The inner error says why the token is refused.
pub fn check(
    db: &Db<'_>,
    context: &Context,
    token: &str,
    operation: &str,
    inputs: &Value,
) -> Result<Result<Confirmed, Refused>> {
    let sha256 = key(token);
    // Report another caller's token as unknown, so that nobody can probe for tokens.
    let row = consents::of_token(db, &sha256)?
        .filter(|row| row.asker == context.caller.asker() && row.operation == operation);
    let Some(row) = row else { return Ok(Err(Refused::Unknown)) };
    if row.state == State::Consumed {
        return Ok(Err(Refused::Consumed));
    }
    if !in_time(row.asked_at, row.expires_at, context.clock.now()) {
        return Ok(Err(Refused::Expired { at: row.expires_at }));
    }
    let given: Value = serde_json::from_str(&row.inputs).unwrap_or_default();
    if given != *inputs {
        return Ok(Err(Refused::OtherInputs { given }));
    }
    Ok(Ok(Confirmed { sha256, row }))
}

/// A token that has passed [`check`].
#[derive(Debug)]
pub struct Confirmed {
    sha256: Sha,
    row: Request,
}

impl Confirmed {
    /// Checks that the token was issued for this plan.
    ///
    /// # Errors
    /// [`Refused::OtherPlan`].
    pub fn check_plan(&self, plan_hash: &str) -> Result<(), Refused> {
        match self.row.plan_hash == plan_hash {
            true => Ok(()),
            false => Err(Refused::OtherPlan { given: self.row.plan_hash.clone() }),
        }
    }

    /// Uses the token up, in the transaction that applies the plan.
    ///
    /// # Errors
    /// The inner error if another call has used the token first.
    pub fn consume(&self, db: &Db<'_>, now: Millis) -> Result<Result<(), Refused>> {
        Ok(match consents::consume_token(db, &self.sha256, now)? {
            true => Ok(()),
            false => Err(Refused::Consumed),
        })
    }
}

fn key(token: &str) -> Sha {
    sha256::of(token.trim().as_bytes())
}
