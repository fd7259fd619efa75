//! Tests every verb under every policy, at a shell and over MCP.

use std::sync::Arc;

use ed25519_dalek::SigningKey;
use tempfile::TempDir;

use crate::trust::identity::Identity;
use crate::trust::records::Record;
use crate::trust::statement::{self, Audit, Outcome, Says};
use crate::trust::{Policy, Status, Subject, Verb, dsse, records, require};
use mcpkg_base::approved::Approved;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::consent::request;
use mcpkg_core::op::{Caller, Confirmation, Connection, Context, Identity as Contract};
use mcpkg_store::Store;
use mcpkg_store::projects::Selection;
use mcpkg_store::tools::attestations;
use mcpkg_store::tools::trust::{self, TrustedPart, TrustedRow};

/// The attestations of an archive.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Standing {
    Verified,
    Unsigned,
    ByStranger,
    Vetoed,
}

struct Home {
    folder: TempDir,
    context: Context,
}

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn subject(seed: u8) -> Subject {
    Subject { name: "alice/weather".to_owned(), version: "1.0.0".to_owned(), sha256: [seed; 32] }
}

fn trusted(seed: u8) -> TrustedRow {
    let identity = Identity::of(&key(seed).verifying_key()).as_str().to_owned();
    TrustedRow { identity, label: None, pattern: "alice/*".to_owned(), part: TrustedPart::Both, added_at: 0 }
}

impl Home {
    /// Creates a home folder in which key 1 is trusted.
    fn new(policy: Policy) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("a.db")).expect("a database");
        let mut context = Context::shell(mcpkg_core::op::Domains::NONE, store, Selection::default());
        context.approved = Approved::below(folder.path().join("approved"));
        Record::Identity(&trusted(1)).keep(&context).expect("kept");
        Record::Policy(policy).keep(&context).expect("kept");
        let write = |db: &mcpkg_store::Db<'_>| {
            trust::add(db, &trusted(1))?;
            trust::set_policy(db, policy.word())
        };
        context.store.write(write).expect("written");
        Self { folder, context }
    }

    fn sign(&self, subject: &Subject, says: &Says, seed: u8) {
        let statement = statement::write(subject, None, says, None, 0);
        let bundle = dsse::sign(statement.as_bytes(), &key(seed)).expect("signed");
        let insert = |db: &mcpkg_store::Db<'_>| attestations::insert(db, &subject.sha256, &bundle, None, 0);
        assert!(self.context.store.write(insert).expect("inserted"));
    }

    fn stand(&self, subject: &Subject, standing: Standing) {
        let failed = Audit { outcome: Outcome::Failed, notes: None, severity: None, category: None };
        match standing {
            Standing::Unsigned => {}
            Standing::Verified => self.sign(subject, &Says::Made, 1),
            Standing::ByStranger => self.sign(subject, &Says::Made, 2),
            Standing::Vetoed => {
                self.sign(subject, &Says::Made, 1);
                self.sign(subject, &Says::Audited(failed), 1);
            }
        }
    }

    fn at_terminal(&self, says_yes: bool) -> Context {
        let ask = move |_, _: &str| match says_yes {
            true => Ok(()),
            false => Err(Error::new(Code::ConfirmRequired, "no")),
        };
        Context { ask: Arc::new(ask), confirmation: Confirmation::Ask, ..self.context.clone() }
    }

    fn over(&self, connection: Connection) -> Context {
        let caller = Caller::client(Some("agent"), None, connection, Contract::Mcpkg);
        Context { caller, ..self.context.clone() }
    }
}

/// Returns the status of the archive, or the error code.
fn outcome(context: &Context, verb: Verb, subject: &Subject) -> Result<Status, Code> {
    require(context, verb, subject).map(|verdict| verdict.status).map_err(|error| error.code())
}

#[test]
fn x9_every_verb_makes_the_same_decision() {
    use Policy::{Allow, Prompt, RequireAttestation};
    use Standing::{ByStranger, Unsigned, Verified, Vetoed};
    for (policy, standing, at_terminal, elsewhere) in [
        (RequireAttestation, Verified, Ok(Status::Verified), Ok(Status::Verified)),
        (RequireAttestation, Unsigned, Err(Code::TrustRequired), Err(Code::TrustRequired)),
        (RequireAttestation, ByStranger, Err(Code::TrustRequired), Err(Code::TrustRequired)),
        (RequireAttestation, Vetoed, Err(Code::TrustFailed), Err(Code::TrustFailed)),
        (Prompt, Verified, Ok(Status::Verified), Ok(Status::Verified)),
        (Prompt, Unsigned, Ok(Status::Approved), Err(Code::ConsentRequired)),
        (Prompt, ByStranger, Ok(Status::Approved), Err(Code::ConsentRequired)),
        (Prompt, Vetoed, Err(Code::TrustFailed), Err(Code::TrustFailed)),
        (Allow, Verified, Ok(Status::Verified), Ok(Status::Verified)),
        (Allow, Unsigned, Ok(Status::Unverified), Ok(Status::Unverified)),
        (Allow, ByStranger, Ok(Status::Unverified), Ok(Status::Unverified)),
        (Allow, Vetoed, Err(Code::TrustFailed), Err(Code::TrustFailed)),
    ] {
        let home = Home::new(policy);
        for (number, verb) in (0..).zip(Verb::ALL) {
            let subject = subject(number);
            home.stand(&subject, standing);
            let says = format!("{policy:?} {standing:?} {verb:?}");
            for connection in [Connection::Stdio, Connection::Network] {
                assert_eq!(outcome(&home.over(connection), verb, &subject), elsewhere, "{says} {connection:?}");
            }
            // A shell without a terminal behaves like MCP: nobody is asked.
            assert_eq!(outcome(&home.context, verb, &subject), elsewhere, "{says}");
            assert_eq!(outcome(&home.at_terminal(true), verb, &subject), at_terminal, "{says}");
        }
    }
}

#[test]
fn an_approval_covers_this_archive_for_every_verb() {
    let home = Home::new(Policy::Prompt);
    assert_eq!(outcome(&home.at_terminal(false), Verb::Run, &subject(1)), Err(Code::ConfirmRequired));
    assert_eq!(outcome(&home.at_terminal(true), Verb::Learn, &subject(1)), Ok(Status::Approved));
    for verb in Verb::ALL {
        assert_eq!(outcome(&home.over(Connection::Network), verb, &subject(1)), Ok(Status::Approved));
        assert_eq!(outcome(&home.over(Connection::Network), verb, &subject(2)), Err(Code::ConsentRequired));
        let renamed = Subject { name: "alice/other".to_owned(), ..subject(1) };
        assert_eq!(outcome(&home.over(Connection::Network), verb, &renamed), Err(Code::ConsentRequired));
    }
    // A veto that comes later overrides the approval.
    home.stand(&subject(1), Standing::Vetoed);
    assert_eq!(outcome(&home.at_terminal(true), Verb::Call, &subject(1)), Err(Code::TrustFailed));
}

#[test]
fn an_agent_gets_the_id_of_a_request_that_a_person_approves() {
    let home = Home::new(Policy::Prompt);
    let agent = home.over(Connection::Stdio);
    let error = require(&agent, Verb::Install, &subject(1)).expect_err("nobody said yes");
    assert_eq!(error.code(), Code::ConsentRequired);
    let id = error.details().and_then(|details| details["consent"].as_str()?.parse().ok()).expect("an id");
    let person = home.at_terminal(true);
    let shown = request::waiting(&person, id, person.clock.now()).expect("a request");
    request::approve(&person, &shown, None).expect("approved");
    assert_eq!(outcome(&agent, Verb::Install, &subject(2)), Err(Code::ConsentRequired), "another digest asks again");
    assert_eq!(outcome(&agent, Verb::Install, &subject(1)), Ok(Status::Approved));
    assert_eq!(outcome(&agent, Verb::Call, &subject(1)), Ok(Status::Approved));
}

#[test]
fn a_read_only_caller_is_refused_and_no_request_is_stored() {
    let home = Home::new(Policy::Prompt);
    let reading = Context { store: home.context.store.reading(), ..home.context.clone() };
    assert_eq!(outcome(&reading, Verb::Learn, &subject(1)), Err(Code::TrustRequired));
}

#[test]
fn a_database_from_somebody_else_brings_no_trust() {
    let home = Home::new(Policy::Allow);
    home.stand(&subject(1), Standing::Verified);
    require(&Home::at_terminal(&home, true), Verb::Run, &subject(1)).expect("verified");
    let approval = records::approval(&subject(2));
    home.context.store.write(|db| trust::approve(db, &approval)).expect("a row");
    let stranger =
        Context { approved: Approved::below(home.folder.path().join("another user")), ..home.context.clone() };
    for seed in [1, 2] {
        // Neither the trusted identity, nor the policy, nor the approval counts for another user.
        let error = require(&stranger, Verb::Run, &subject(seed)).expect_err("nothing was decided by this user");
        assert_eq!(error.code(), Code::ConsentRequired);
    }
    let (policy, named) = home.context.store.read(|db| records::policy(db, &stranger)).expect("read");
    assert_eq!((policy, named), (Policy::Prompt, Some(Policy::Allow)));
}

#[test]
fn a_distrusted_tool_is_refused_at_the_next_call() {
    let home = Home::new(Policy::RequireAttestation);
    home.stand(&subject(1), Standing::Verified);
    assert_eq!(outcome(&home.context, Verb::Call, &subject(1)), Ok(Status::Verified));
    let epoch = || home.context.store.read(trust::epoch).expect("read");
    let before = epoch();
    Record::Identity(&trusted(1)).withdraw(&home.context).expect("withdrawn");
    assert_eq!(outcome(&home.context, Verb::Call, &subject(1)), Err(Code::TrustRequired));
    home.context.store.write(|db| trust::remove(db, &trusted(1))).expect("removed");
    assert!(epoch() > before);
}

#[test]
fn x11_and_x17_a_damaged_setting_lets_nothing_through() {
    for (policy, minimum) in [("require_nothing", "1"), ("", "1"), ("allow", "0"), ("allow", "-1"), ("allow", "many")] {
        let home = Home::new(Policy::Allow);
        home.stand(&subject(1), Standing::Verified);
        let set = |db: &mcpkg_store::Db<'_>| {
            trust::set_policy(db, policy)?;
            trust::set_minimum_text(db, minimum)
        };
        home.context.store.write(set).expect("set");
        assert!(require(&home.at_terminal(true), Verb::Run, &subject(1)).is_err(), "{policy} {minimum}");
    }
}

#[test]
fn a_refusal_gives_the_reason_for_each_attestation() {
    let home = Home::new(Policy::RequireAttestation);
    home.stand(&subject(1), Standing::ByStranger);
    let error = require(&home.context, Verb::Install, &subject(1)).expect_err("a stranger");
    assert_eq!(
        error.message(),
        "alice/weather@1.0.0 is not verified: 0 of 1 required attestations count (policy require_attestation)"
    );
    let details = error.details().expect("details");
    assert_eq!(details["attestations"][0]["why"], "you do not trust the signer");
    assert_eq!(details["attestations"][0]["counted"], false);
}
