//! Checks that a user approved fetching from a stored source on this machine.
//!
//! You approve a source by adding or installing it on this machine, or by answering mcpkg's question. Without this
//! check, a database from somebody else could make mcpkg read any folder of this machine, or fetch from any host.

use serde_json::{Value, json};

use mcpkg_base::approved::Kind;
use mcpkg_base::error::{Code, Error};
use mcpkg_core::consent::approvable::{Approvable, Askable};
use mcpkg_store::sources::Origin;

/// The approval to fetch from a source.
pub struct Fetch<'o>(pub &'o Origin);

impl Approvable for Fetch<'_> {
    const KIND: Kind = Kind::Source;

    fn covers(&self) -> Vec<u8> {
        format!("{}\0{}", self.0.kind.word(), self.0.url).into_bytes()
    }

    fn note(&self) -> Value {
        json!({ "kind": self.0.kind, "url": self.0.url })
    }
}

impl Askable for Fetch<'_> {
    fn question(&self) -> String {
        let url = &self.0.url;
        format!("The database lists `{url}` as a source, but you have never fetched it on this machine. Fetch it?")
    }

    fn refusal(&self) -> Error {
        let Origin { name, url, .. } = self.0;
        Error::new(Code::Unapproved, format!("You have never fetched the source '{name}' (`{url}`) on this machine"))
            .hint("run the command at a terminal and confirm, or remove the source and add it again")
    }
}
