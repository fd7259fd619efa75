//! Tests of catalogs: the documents in tests/fixtures/api are imported, and their commands called.

mod approved;
mod defects;
mod further;
mod hostile;
mod imports;
mod network;
mod published;
mod references;
mod refresh;
mod requests;
mod shell;
mod taken_over;

use std::path::PathBuf;

use mcpkg_core::op::Context;
use mcpkg_workflow::api::catalog::Catalog;
use mcpkg_workflow::api::catalogs::find;
use mcpkg_workflow::api::document::Document;
use mcpkg_workflow::api::import::{Imported, Wanted, commands};
use mcpkg_workflow::spec::CommandSpec;
use serde_json::{Map, Value};

use crate::support::{Ran, Scratch};

/// Returns the path of a fixture.
fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/api").join(name)
}

/// Returns the document `hosting.json`.
fn hosting() -> Value {
    let text = std::fs::read_to_string(fixture("hosting.json")).expect("the fixture");
    serde_json::from_str(&text).expect("JSON")
}

/// Converts a document to commands.
fn imported(text: impl Into<Vec<u8>>, prefix: &str) -> mcpkg_base::error::Result<Imported> {
    let document = Document::read("document", text.into(), None)?;
    let (prefix, fallback) = (prefix.to_owned(), "hosting".to_owned());
    commands(&document, &Wanted { from: "document".to_owned(), prefix, fallback, ..Wanted::default() })
}

/// Returns a scratch database with the fixture imported as `hosting`, served at `base`.
fn scratch(base: &str) -> Scratch {
    let scratch = Scratch::with_database();
    let document = fixture("hosting.json").display().to_string();
    scratch.ok(&["catalog", "import", &document, "--prefix", "hosting", "--base-url", base]);
    scratch
}

/// Returns the command with an id, and its catalog.
fn command(context: &Context, id: &str) -> (Catalog, CommandSpec) {
    find(context, id).expect("the database").unwrap_or_else(|| panic!("no command {id}"))
}

/// Returns the fields of an object.
fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => panic!("no object: {other}"),
    }
}

/// Imports a document from the scratch folder. This must fail; returns the error.
#[track_caller]
fn refused(scratch: &Scratch, arguments: &[&str]) -> Value {
    let ran: Ran = scratch.run(&[&["--json", "catalog", "import"], arguments].concat());
    assert_ne!(ran.status, 0, "{ran}");
    let printed: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran}"));
    printed["error"].clone()
}
