//! Decides whether a catalog may be used: only if this user imported or approved it on this machine in its current form.
//! Otherwise mcpkg does not read its document, call its API or send it secrets, because the catalog may have arrived with
//! somebody else's database.

use serde_json::{Value, json};

use super::catalog::Catalog;
use mcpkg_base::approved::Kind;
use mcpkg_base::error::{Code, Error};
use mcpkg_core::consent::approvable::{Approvable, Askable};

impl Catalog {
    fn shown_url(&self) -> &str {
        self.base_url.as_deref().unwrap_or("none")
    }
}

impl Approvable for Catalog {
    const KIND: Kind = Kind::Catalog;

    fn covers(&self) -> Vec<u8> {
        let Catalog { source, base_url, private, headers, auth, .. } = self;
        json!([source, base_url, private, headers, auth]).to_string().into_bytes()
    }

    fn note(&self) -> Value {
        let Catalog { source, base_url, headers, auth, .. } = self;
        json!({ "source": source, "base_url": base_url, "headers": headers, "auth": auth })
    }
}

impl Askable for Catalog {
    fn question(&self) -> String {
        let secrets: Vec<&str> = self.headers.values().chain(self.auth.values()).map(String::as_str).collect();
        let with =
            if secrets.is_empty() { String::new() } else { format!(", with secrets from {}", secrets.join(", ")) };
        format!(
            "The database contains the catalog '{}' from `{}` (base URL: {}{with}). Use this catalog on this machine?",
            self.name,
            self.source,
            self.shown_url()
        )
    }

    fn refusal(&self) -> Error {
        let Catalog { name, .. } = self;
        let why = format!(
            "The catalog '{name}' is not approved on this machine with its current base URL and secrets: {}",
            self.shown_url()
        );
        Error::new(Code::Unapproved, why).hint(format!(
            "approve the catalog with `mcpkg catalog refresh {name}` at a terminal, or remove the catalog and import it again"
        ))
    }
}
