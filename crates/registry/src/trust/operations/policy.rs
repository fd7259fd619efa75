//! `mcpkg tool trust policy`: shows and changes the trust policy.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::ask_at_terminal;
use crate::GROUP;
use crate::trust::policy::Policy;
use crate::trust::records::{self, Record};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Changes, Context, Effect, Faces, Names, NoOutput, Operation, Reach, Reply};
use mcpkg_store::tools::trust;

/// The largest required number of attestations.
const MOST: u32 = 100;

/// The policies, for shell completion.
const POLICIES: Names = Names::Known(|_| Policy::ALL.iter().map(|policy| policy.word().to_owned()).collect());

/// Show or set the policy
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct SetPolicy {
    /// What to do with an unverified tool: require_attestation refuses it, prompt asks a person, allow uses it
    #[arg(add = POLICIES)]
    policy: Option<String>,
    /// How many different trusted identities must sign a tool before the tool counts as verified
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST)))]
    minimum: Option<u32>,
}

impl Operation for SetPolicy {
    const TOOL: &'static str = "trust_policy";
    const CLI: &'static [&'static str] = &["tool", "trust", "policy"];
    const TITLE: &'static str = "Show or set the trust policy";
    const ABOUT: &'static str = "Show or set how mcpkg treats unverified tools";
    const HELP: &'static str = "To loosen the policy or lower the minimum number of signers, you must confirm at a terminal; --yes \
        cannot skip the confirmation. A failed audit by an auditor you trust blocks the tool under every policy.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg tool trust policy",
        "mcpkg tool trust policy require_attestation",
        "mcpkg tool trust policy prompt --minimum 2",
    ];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes { reach: Reach::Everybody, ..Changes::TOOLS };
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.policy.clone().unwrap_or_default()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let wanted = self.policy.as_deref().map(Policy::of_word).transpose()?;
        if self.minimum.is_some_and(|minimum| !(1..=MOST).contains(&minimum)) {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("The number of identities must be from 1 to {MOST}"),
            )
            .hint("to allow unverified tools, use the policy `allow`"));
        }
        let now = || context.store.read(|db| Ok((records::policy(db, context), trust::minimum(db))));
        let (policy, minimum) = now()?;
        if wanted.is_none() && self.minimum.is_none() {
            let (policy, named) = policy?;
            let mut reply = reply(policy, minimum?.unwrap_or(1), "The policy is");
            if let Some(named) = named {
                reply = reply.warn([format!(
                    "ignored the policy {} from the database: nobody has confirmed this policy on this machine",
                    named.word()
                )]);
            }
            return Ok(reply);
        }
        // A damaged policy counts as the strictest policy. If the minimum is damaged, a person must confirm the new
        // one.
        let (before, least) =
            (policy.map_or(Policy::RequireAttestation, |(policy, _)| policy), minimum.ok().map(|it| it.unwrap_or(1)));
        let (after, count) = (wanted.unwrap_or(before), self.minimum.or(least).unwrap_or(1));
        if after.is_looser_than(before) || least.is_none_or(|least| count < least) {
            let shown = [
                format!("policy   {} -> {}", before.word(), after.word()),
                format!("minimum  {} -> {count}", least.unwrap_or(MOST)),
            ];
            let what = format!("Loosen the trust policy to {}, with a required minimum of {count}?", after.word());
            ask_at_terminal(context, &shown, &what)?;
        }
        // Change the record on this machine before the database row. If writing the row then fails, a stricter policy
        // already applies, and a looser one does not apply yet.
        match after {
            Policy::Allow => Record::Policy(Policy::Allow).keep(context)?,
            Policy::Prompt | Policy::RequireAttestation => Record::Policy(Policy::Allow).withdraw(context)?,
        }
        context.store.write(|db| {
            trust::set_policy(db, after.word())?;
            trust::set_minimum(db, count)?;
            context.event(db, context.author(), None, "tool.trust.policy", after.word())
        })?;
        Ok(reply(after, count, "The policy is now"))
    }
}

fn reply(policy: Policy, minimum: u32, says: &str) -> Reply {
    let what = match policy {
        Policy::RequireAttestation => "mcpkg refuses unverified tools",
        Policy::Prompt => "mcpkg asks before it uses an unverified tool",
        Policy::Allow => "mcpkg uses unverified tools, and marks them as unverified",
    };
    let who =
        if minimum == 1 { "1 trusted identity has".to_owned() } else { format!("{minimum} trusted identities have") };
    let data: Value = json!({ "policy": policy.word(), "minimum": minimum });
    Reply::sentence(format!("{says} {}: {what}; a tool is verified if {who} signed it", policy.word()), data)
}
