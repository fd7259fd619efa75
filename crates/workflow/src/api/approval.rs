//! Remembers which catalogs this user has imported on this machine. A catalog that merely arrived with someone else's database
//! is not used: mcpkg does not read its document, call its API or send it secrets.

use serde_json::json;
use sha2::{Digest, Sha256};

use super::catalog::Catalog;
use mcpkg_base::approved::Kind;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_core::op::{Body, Confirmation, Context};

/// Records that this user trusts a catalog in its current form.
pub fn approve(context: &Context, catalog: &Catalog) -> Result<()> {
    let note = json!({ "source": catalog.source, "base_url": catalog.base_url, "headers": catalog.headers, "auth": catalog.auth });
    context.approved.put(Kind::Catalog, &key(catalog), &note)
}

pub fn is_approved(context: &Context, catalog: &Catalog) -> Result<bool> {
    Ok(context.approved.get(Kind::Catalog, &key(catalog))?.is_some())
}

/// Refuses a catalog that this user has not imported on this machine in its current form. A person at a terminal may approve
/// it.
pub fn check(context: &Context, catalog: &Catalog) -> Result<()> {
    if is_approved(context, catalog)? {
        return Ok(());
    }
    let base_url = catalog.base_url.as_deref().unwrap_or("none");
    if context.confirmation == Confirmation::Ask {
        let secrets: Vec<&str> = catalog.headers.values().chain(catalog.auth.values()).map(String::as_str).collect();
        let with =
            if secrets.is_empty() { String::new() } else { format!(", with secrets from {}", secrets.join(", ")) };
        let question = format!(
            "The database contains the catalog '{}' from `{}` (base URL: {base_url}{with}). Use this catalog on this machine?",
            catalog.name, catalog.source
        );
        (context.ask)(Body::Several(Vec::new()), &question)?;
        return approve(context, catalog);
    }
    let why = format!(
        "The catalog '{}' is not approved on this machine with its current base URL and secrets: {base_url}",
        catalog.name
    );
    Err(Error::new(Code::Unapproved, why).hint(format!(
        "approve the catalog with `mcpkg catalog refresh {}` at a terminal, or remove the catalog and import it again",
        catalog.name
    )))
}

fn key(catalog: &Catalog) -> String {
    let Catalog { source, base_url, private, headers, auth, .. } = catalog;
    hex::encode(&Sha256::digest(json!([source, base_url, private, headers, auth]).to_string()))
}
