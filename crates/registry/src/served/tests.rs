//! Fuzzes the registry: it must answer any request with a valid response, and never with an internal error.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use proptest::prelude::*;
use serde_json::Value;

use super::SERVED;
use super::route::PREFIX;
use crate::package::archive;
use mcpkg_core::op::{Caller, Connection, Content, Context, Grant, Head, Holder, Identity};
use mcpkg_store::Store;
use mcpkg_store::projects::Selection;

const VERSION: &str = "tools/alice/x/versions/1.0.0";

fn caller() -> Caller {
    let grant = Grant {
        holder: Holder::Key("ci".to_owned()),
        project: None,
        project_name: None,
        read_only: true,
        consent: false,
        publish: vec!["alice".parse().expect("a namespace")],
        attest: true,
        execute: false,
        expires_at: None,
    };
    Caller::client(Some("registry"), Some(grant), Connection::Network, Identity::Mcpkg)
}

/// Sends a request as the server would, and returns the status and the JSON.
fn ask(context: &Context, method: &str, path: &str, kind: &'static str, mut body: &[u8]) -> (u16, Value) {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]);
    let method = method.parse().expect("a method");
    let head = Head { method, prefix: PREFIX, path: path.to_owned(), query: query.to_owned(), headers };
    let answer = match (SERVED.admit)(context, &head) {
        Ok(most) if most < body.len() as u64 => return (413, Value::Null),
        Ok(_) => (SERVED.answer)(context, &head, &mut body),
        Err(refused) => *refused,
    };
    let json = match answer.content {
        Content::Json(bytes) => serde_json::from_slice(&bytes).expect("JSON"),
        Content::Nothing | Content::Bytes { .. } | Content::File { .. } | Content::Stored { .. } => Value::Null,
    };
    (answer.status.as_u16(), json)
}

#[test]
fn random_bodies_are_answered_and_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("a.db")).unwrap();
    let context = Context::of_served(mcpkg_core::op::Domains::NONE, caller(), store, Selection::default());
    std::fs::create_dir(folder.path().join("x")).unwrap();
    let manifest = "---\nname: alice/x\nversion: 1.0.0\ndescription: Is small\n---\nSmall.\n";
    std::fs::write(folder.path().join("x/SKILL.md"), manifest).unwrap();
    let opened = archive::pack(&folder.path().join("x")).unwrap().opened;
    let form = [
        b"--b\r\nContent-Disposition: form-data; name=\"bundle\"\r\n\r\n",
        &*opened.content.bytes().unwrap(),
        b"\r\n--b--\r\n",
    ]
    .concat();
    let multipart = "multipart/form-data; boundary=b";
    assert_eq!(ask(&context, "POST", "tools/alice/x/versions", multipart, &form).0, 201);
    let before = ask(&context, "GET", VERSION, "", b"").1;

    let attestations = format!("{VERSION}/attestations");
    let places = [
        ("POST", "tools/alice/x/versions".to_owned(), multipart),
        ("POST", "tools/alice/x/versions".to_owned(), "application/json"),
        ("POST", format!("{VERSION}/yank"), "application/json"),
        ("PATCH", "tools/alice/x/visibility".to_owned(), "application/json"),
        ("POST", attestations.clone(), "application/json"),
        ("DELETE", attestations, "application/json"),
    ];
    let value = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..200),
        // JSON with a known key and a random value.
        ("bundle|auditor|visibility|manifest|replacement_version", "[\\[{\"a-z0-9:,}\\]]{0,40}")
            .prop_map(|(key, value)| format!("{{\"{key}\":{value}}}").into_bytes()),
        (any::<prop::sample::Index>(), any::<u8>()).prop_map({
            let form = form.clone();
            move |(at, byte)| {
                let mut changed = form.clone();
                let at = at.index(changed.len());
                changed[at] ^= byte | 1;
                changed
            }
        }),
    ];
    proptest!(crate::seed::config(300), |(bytes in value, at in 0..places.len())| {
        let (method, path, kind) = &places[at];
        let (status, said) = ask(&context, method, path, kind, &bytes);
        // A mutated form may still contain the unchanged archive, which is already published.
        let is_same = status == 200 && at == 0 && said["already_published"] == true;
        // A yank without a reason is valid, so a random object can yank the version.
        let is_yank = at == 2 && status == 200;
        if is_yank {
            let unyank = format!("{VERSION}/unyank");
            prop_assert_eq!(ask(&context, "POST", &unyank, kind, b"").0, 200);
        }
        prop_assert!(is_same || is_yank || matches!(status, 400 | 404 | 409 | 413 | 422), "{} {}", status, said);
        prop_assert!(is_same || is_yank || said["error"]["message"].is_string(), "{}", said);
    });
    assert_eq!(ask(&context, "GET", VERSION, "", b"").1, before);
}
