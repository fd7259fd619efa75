//! The approval of a registry by this user on this machine. Without this approval, mcpkg does not read the registry's
//! folder, contact its host, or start the program that prints its token, because a database from somebody else may name
//! any of these.

use serde_json::{Value, json};

use mcpkg_base::approved::Kind;
use mcpkg_base::error::{Code, Error};
use mcpkg_core::consent::approvable::{Approvable, Askable};
use mcpkg_store::tools::registries::Place;

/// The subject of an approval: the use of a registry.
pub struct Use<'p>(pub &'p Place);

impl Approvable for Use<'_> {
    const KIND: Kind = Kind::Registry;

    fn covers(&self) -> Vec<u8> {
        let Place { kind, location, token, .. } = self.0;
        format!("{}\0{location}\0{}", kind.word(), token.as_deref().unwrap_or_default()).into_bytes()
    }

    fn note(&self) -> Value {
        json!({ "kind": self.0.kind.word(), "location": self.0.location, "token": self.0.token })
    }
}

impl Askable for Use<'_> {
    fn question(&self) -> String {
        let Place { location, token, .. } = self.0;
        let token = token.as_ref().map(|token| format!(", with the access token from `{token}`")).unwrap_or_default();
        format!("The database lists the registry `{location}`{token}. Use this registry?")
    }

    fn refusal(&self) -> Error {
        let Place { name, location, .. } = self.0;
        Error::new(
            Code::Unapproved,
            format!("You have not approved the registry '{name}' on this machine: `{location}`"),
        )
        .hint("run the command at a terminal to approve the registry, or remove the registry and add it again")
    }
}
