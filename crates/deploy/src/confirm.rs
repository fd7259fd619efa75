//! Issues and checks contract 000's confirm tokens, and explains why a token was refused.

use serde_json::{Value, json};

use mcpkg_base::clock::{Millis, rfc3339};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::consent::token::{self, Confirmed, Issued, Plan, Refused};
use mcpkg_core::op::Context;
use mcpkg_store::Db;

/// The operation that a confirm token of `deploy` is bound to, also when the token is used in the shell.
const OPERATION: &str = "deploy_apply";

/// Issues a token for a plan that is about to be shown.
pub fn issue(context: &Context, project: &str, inputs: &Value, plan_hash: &str, summary: &str) -> Result<Issued> {
    token::issue(context, &Plan { operation: OPERATION, project, inputs, hash: plan_hash, summary })
}

/// Checks a token before the plan is computed again.
///
/// # Errors
/// `E_CONFIRM_TOKEN_EXPIRED`, or `E_CONFIRM_TOKEN_MISMATCH` if the token is unknown, used, or was issued for other
/// inputs.
pub fn check(db: &Db<'_>, context: &Context, token: &str, inputs: &Value) -> Result<Confirmed> {
    token::check(db, context, token, OPERATION, inputs)?.map_err(|refused| refusal(refused, inputs))
}

/// Checks that a token was issued for this plan.
pub fn check_plan(confirmed: &Confirmed, plan_hash: &str) -> Result<()> {
    confirmed.check_plan(plan_hash).map_err(|refused| refusal(refused, &json!(plan_hash)))
}

/// Checks a token against the plan that is about to be applied, and marks it as used. Runs in the transaction that
/// writes the journal.
pub fn consume(
    db: &Db<'_>,
    context: &Context,
    token: &str,
    inputs: &Value,
    plan_hash: &str,
    now: Millis,
) -> Result<()> {
    let confirmed = check(db, context, token, inputs)?;
    check_plan(&confirmed, plan_hash)?;
    confirmed.consume(db, now)?.map_err(|refused| refusal(refused, inputs))
}

/// Returns the error for a call with `yes` but without a token.
pub fn missing() -> Error {
    Error::new(Code::ConfirmTokenRequired, "deploy_apply needs the confirm_token that `deploy` returned")
}

/// Returns contract 000's error for a refused token. `asked` is the value that the token did not match.
fn refusal(refused: Refused, asked: &Value) -> Error {
    let (kind, why, mut details) = match refused {
        Refused::Expired { at } => {
            let at = rfc3339(at);
            return Error::new(Code::ConfirmTokenExpired, format!("The confirm token expired at {at}"))
                .with_details(json!({ "expired_at": at }))
                .hint("get a new token with `deploy`");
        }
        Refused::Unknown => ("unknown", "The confirm token is unknown to this database", json!({})),
        Refused::Consumed => ("consumed", "The confirm token was already used", json!({})),
        Refused::OtherInputs { given } => (
            "inputs_differ",
            "The confirm token was issued for other arguments",
            json!({ "confirmed": given, "asked": asked }),
        ),
        Refused::OtherPlan { given } => (
            "plan_changed",
            "The plan changed since the confirm token was issued",
            json!({ "confirm_plan_hash": asked, "expected_confirm_plan_hash": given }),
        ),
    };
    details["mismatch_kind"] = json!(kind);
    Error::new(Code::ConfirmTokenMismatch, why).with_details(details).hint("get a new token with `deploy`")
}
