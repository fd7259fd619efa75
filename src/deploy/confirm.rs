//! Confirm tokens: a plan that was shown is applied, and no other one.

use serde_json::{Value, json};

use crate::clock::Millis;
use crate::disk::{self, Sha};
use crate::error::{Code, Error, Result};
use crate::hex;
use crate::op::Context;
use crate::store::Db;
use crate::store::tokens::{self, Token};

/// For how long a token is good: ten minutes (contract 000, two-stage confirmation).
const LIFE: Millis = 10 * 60_000;

/// How far the clock may go back behind the moment in which a token was given.
const SLACK: Millis = 60_000;

/// A token that was given.
#[derive(Debug)]
pub struct Issued {
    /// The token: 64 hex digits. It is kept nowhere.
    pub token: String,
    /// From when on it is refused.
    pub expires_at: Millis,
}

/// Gives a token for a plan that is about to be shown.
///
/// # Errors
/// `E_READ_ONLY`, `E_DISK_FULL`, `E_DB_BUSY`, `E_STORAGE`.
pub fn issue(context: &Context, inputs: &Value, plan_hash: &str) -> Result<Issued> {
    let token = hex::encode(&context.clock.secret()?);
    let now = context.clock.now();
    let row = Token {
        inputs: inputs.to_string(),
        plan_hash: plan_hash.to_owned(),
        issued_at: now,
        expires_at: now.saturating_add(LIFE),
        consumed_at: None,
    };
    context.store.write(|db| tokens::insert(db, &key(&token), &row))?;
    Ok(Issued { token, expires_at: row.expires_at })
}

/// Checks a token before anything is planned for it.
///
/// # Errors
/// `E_CONFIRM_TOKEN_MISMATCH` where it is unknown, used or of other inputs; `E_CONFIRM_TOKEN_EXPIRED`.
pub fn check(db: &Db<'_>, token: &str, inputs: &Value, now: Millis) -> Result<Token> {
    let row = tokens::get(db, &key(token))?;
    let row = row.ok_or_else(|| mismatch("unknown", "The confirm token is not known to this database", json!({})))?;
    if row.consumed_at.is_some() {
        return Err(mismatch("consumed", "The confirm token was used already", json!({})));
    }
    if now < row.issued_at.saturating_sub(SLACK) || now >= row.expires_at {
        let at = crate::clock::rfc3339(row.expires_at);
        return Err(Error::new(Code::ConfirmTokenExpired, format!("The confirm token expired at {at}"))
            .with_details(json!({ "expired_at": at }))
            .hint("ask for the plan again, with `deploy`"));
    }
    let given: Value = serde_json::from_str(&row.inputs).unwrap_or_default();
    if given != *inputs {
        let details = json!({ "confirmed": given, "asked": inputs });
        return Err(mismatch("inputs_differ", "The confirm token was given for other arguments", details));
    }
    Ok(row)
}

/// Checks a token against the plan that is about to be applied, and uses it up; in the transaction of the journal.
///
/// # Errors
/// As [`check`], and `E_CONFIRM_TOKEN_MISMATCH` where the plan is another one by now.
pub fn consume(db: &Db<'_>, token: &str, inputs: &Value, plan_hash: &str, now: Millis) -> Result<()> {
    check_plan(&check(db, token, inputs, now)?, plan_hash)?;
    tokens::consume(db, &key(token), now)
}

/// Checks that a token is of this plan.
///
/// # Errors
/// `E_CONFIRM_TOKEN_MISMATCH`.
pub fn check_plan(row: &Token, plan_hash: &str) -> Result<()> {
    if row.plan_hash == plan_hash {
        return Ok(());
    }
    let details = json!({ "confirm_plan_hash": plan_hash, "expected_confirm_plan_hash": row.plan_hash });
    Err(mismatch("plan_changed", "The plan changed after the confirm token was given", details))
}

/// The failure of a call that says yes and gives no token.
pub fn missing() -> Error {
    Error::new(Code::ConfirmTokenRequired, "An apply takes the confirm_token that `deploy` gives")
}

fn mismatch(kind: &str, why: &str, mut details: Value) -> Error {
    details["mismatch_kind"] = json!(kind);
    Error::new(Code::ConfirmTokenMismatch, why).with_details(details).hint("ask for the plan again, with `deploy`")
}

fn key(token: &str) -> Sha {
    disk::sha256(token.trim().as_bytes())
}
