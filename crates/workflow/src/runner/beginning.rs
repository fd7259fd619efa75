//! Prepares an attempt: builds the record that is stored before the request is sent.

use serde_json::{Map, Value};
use uuid::Uuid;

use super::program::{Planned, place};
use crate::passwords;
use crate::sealed::Known;
use crate::spec::Idempotency;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;
use mcpkg_base::redact::HIDDEN;
use mcpkg_core::op::Context;
use mcpkg_store::Db;
use mcpkg_store::runs::attempts::{self, Begun};
use mcpkg_store::runs::steps;

/// Returns the record of the first attempt at a step.
pub fn beginning(
    context: &Context,
    run: Uuid,
    step: &Planned,
    seq: usize,
    (with, body): (&Map<String, Value>, Option<&Value>),
    known: &mut Known,
) -> Begun {
    let spec = &step.spec;
    let (mut with, mut body) = (with.clone(), body.cloned());
    let mut take = |_: &str, value: &mut Value| {
        known.learn(value);
        *value = HIDDEN.into();
    };
    passwords::each_argument(spec, &mut with, &mut take);
    if let Some(body) = &mut body {
        passwords::each_of_body(spec, body, &mut take);
    }
    Begun {
        seq: place(seq),
        number: 1,
        round: 1,
        key: key(run, step, 1),
        actor: context.caller.actor().to_owned(),
        command: spec.id.clone(),
        method: spec.method.clone(),
        host: spec.base_url.as_deref().map(host),
        path: spec.path.as_deref().map(|path| format!("{}{path}", spec.base_url.as_deref().map_or("", base_path))),
        arguments: known.shown(&arguments(with, body)).to_string(),
        started_at: context.clock.now(),
    }
}

/// Returns the deadline of a step that begins now, if the step is repeated.
pub fn deadline(step: &Planned, now: Millis) -> Option<Millis> {
    step.repeat.as_ref().map(|repeat| now.saturating_add(repeat.timeout))
}

/// Records that an attempt begins, and that its step is running.
pub fn note(db: &Db<'_>, run: i64, begun: &Begun, deadline: Option<Millis>) -> Result<()> {
    attempts::begin(db, run, begun)?;
    steps::begin(db, run, begun.seq, begun.round, deadline, begun.started_at)
}

/// Returns the idempotency key of a round, if the command takes one. All attempts of a round use the same key.
pub fn key(run: Uuid, step: &Planned, round: i64) -> Option<String> {
    (step.spec.idempotency == Idempotency::Key).then(|| key_of(run, &step.id, round).to_string())
}

fn key_of(run: Uuid, step: &str, round: i64) -> Uuid {
    Uuid::new_v5(&run, format!("{step}\0{round}").as_bytes())
}

/// Returns the arguments as one value, with the body as the argument `body`.
fn arguments(mut with: Map<String, Value>, body: Option<Value>) -> Value {
    with.extend(body.map(|body| ("body".to_owned(), body)));
    Value::Object(with)
}

/// Returns the path of a base URL, without a trailing slash.
fn base_path(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let path = rest.find('/').map_or("", |at| &rest[at..]);
    path[..path.find(['?', '#']).unwrap_or(path.len())].trim_end_matches('/')
}

/// Returns the host of a URL, with its port if it has one.
fn host(address: &str) -> String {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    rest[..end].rsplit_once('@').map_or(&rest[..end], |(_, host)| host).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_that_of_a_run_a_step_and_a_round() {
        let run = Uuid::from_u128(7);
        assert_eq!(key_of(run, "create", 1), key_of(run, "create", 1));
        assert_ne!(key_of(run, "create", 1), key_of(run, "create", 2));
        assert_ne!(key_of(run, "create", 1), key_of(run, "creat", 1));
        assert_ne!(key_of(run, "create", 1), key_of(Uuid::from_u128(8), "create", 1));
    }

    #[test]
    fn the_path_of_an_address_ends_without_a_slash() {
        for (address, path) in [
            ("https://api.example.com", ""),
            ("https://api.example.com/", ""),
            ("https://api.example.com/api/v3/", "/api/v3"),
            ("https://api.example.com/v1?key=secret", "/v1"),
        ] {
            assert_eq!(base_path(address), path);
        }
    }

    #[test]
    fn the_host_of_an_address_has_no_password() {
        assert_eq!(host("https://api.example.com/v1"), "api.example.com");
        assert_eq!(host("http://me:secret@127.0.0.1:80"), "127.0.0.1:80");
    }
}
