//! Plans the import of the section `trust` of Enact's `config.yaml`: trusted identities, and the policy.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::config_file::Trust;
use super::home::Text;
use super::plan::{EVERY, LeftOut, Plan};
use crate::trust::identity::Identity;
use crate::trust::records::{self, Record};
use crate::trust::{Policy, rules};
use mcpkg_base::error::{Code, Result};
use mcpkg_core::op::Context;
use mcpkg_store::tools::trust::{TrustedPart, TrustedRow};

/// Returns the policy that the file names.
///
/// # Errors
/// `E_INVALID_ARGUMENT` for an unknown policy. An invalid word never falls back to the default policy.
pub(super) fn policy(trust: &Trust, text: &Text) -> Result<Option<Policy>> {
    let word = trust.policy.clone().or_else(|| trust.require_signatures.map(|required| required.to_string()));
    let policy = word.map(|word| Policy::of_word(&word)).transpose();
    policy.map_err(|error| text.malformed(error.message()))
}

/// Plans the trust that the section gives. Trust that came from this file ends when the file no longer names the
/// identity; trust that a person granted by command stays.
pub(super) fn take(
    context: &Context,
    trust: &Trust,
    policy: Option<Policy>,
    text: &Text,
    plan: &mut Plan,
) -> Result<()> {
    let now = context.store.read(|db| rules(db, context))?;
    plan.policy = policy.filter(|policy| *policy != now.policy);
    take_identities(context, &now.trusted, trust, text, plan)?;
    match trust.minimum_attestations {
        Some(number @ 1..=100) => {
            plan.minimum = u32::try_from(number).ok().filter(|number| *number != now.minimum);
        }
        Some(number) => {
            let what = format!("minimum_attestations {number}");
            let why = format!("the number must be from 1 to 100; the current number, {}, is unchanged", now.minimum);
            plan.left.push(LeftOut::new(what, &text.name, why));
        }
        None => {}
    }
    Ok(())
}

fn take_identities(context: &Context, now: &[TrustedRow], trust: &Trust, text: &Text, plan: &mut Plan) -> Result<()> {
    let wanted = wanted(trust);
    plan.config = text.path.display().to_string();
    plan.withdrawn = records::trusted_from(context, &plan.config)?;
    let is_named = |row: &TrustedRow| {
        wanted.get(&row.identity).is_some_and(|part| *part == TrustedPart::Both || *part == row.part)
    };
    plan.withdrawn.retain(|row| !is_named(row));
    plan.withdrawn.sort_by(|one, other| (&one.identity, one.part.word()).cmp(&(&other.identity, other.part.word())));
    for (name, part) in wanted {
        let why = match Identity::from_str(&name) {
            Err(error) if error.code() == Code::TrustUnsupported => {
                format!("{}; trust one of the signer's keys instead: `mcpkg tool trust add KEYFILE`", error.message())
            }
            Err(error) => error.message().to_owned(),
            Ok(identity) => {
                let identity = identity.as_str().to_owned();
                let added_at = context.clock.now();
                let row = TrustedRow { identity, label: None, pattern: EVERY.to_owned(), part, added_at };
                let is_same =
                    |known: &TrustedRow| known.identity == row.identity && known.pattern == EVERY && known.part == part;
                if now.iter().any(is_same) && Record::Identity(&row).is_kept(context)? {
                    "this identity is already trusted".to_owned()
                } else {
                    let had_more = |old: &TrustedRow| old.identity == row.identity && old.part == TrustedPart::Both;
                    match plan.withdrawn.iter().any(had_more) {
                        true => plan.reduced.push(row),
                        false => plan.trusted.push(row),
                    }
                    continue;
                }
            }
        };
        plan.left.push(LeftOut::new(format!("trusted {}", name.escape_debug()), &text.name, why));
    }
    Ok(())
}

/// Returns the identities in the section, each with its roles.
fn wanted(trust: &Trust) -> BTreeMap<String, TrustedPart> {
    let mut wanted: BTreeMap<String, TrustedPart> = BTreeMap::new();
    for (names, part) in [
        (&trust.auditors, TrustedPart::Both),
        (&trust.trusted_auditors, TrustedPart::Auditor),
        (&trust.trusted_publishers, TrustedPart::Publisher),
    ] {
        for name in names {
            let both = wanted.get(name).is_some_and(|before| *before != part);
            wanted.insert(name.clone(), if both { TrustedPart::Both } else { part });
        }
    }
    wanted
}
