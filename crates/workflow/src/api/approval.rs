//! Which catalogs this user imported on this machine. A database that came from somebody else can name one, and make nobody
//! read its document, ask its API, or send a secret there.

use serde_json::json;
use sha2::{Digest, Sha256};

use super::catalog::Catalog;
use mcpkg_base::approved::Kind;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_core::op::{Body, Confirmation, Context};

/// Keeps it that this user uses a catalog as it is.
///
/// # Errors
/// `E_UNAPPROVED` where the user has no home, `E_IO_PERMISSION_DENIED`, `E_DISK_FULL`, `E_FILE_FAILED`.
pub fn approve(context: &Context, catalog: &Catalog) -> Result<()> {
    let note = json!({ "source": catalog.source, "base_url": catalog.base_url, "headers": catalog.headers, "auth": catalog.auth });
    context.approved.put(Kind::Catalog, &key(catalog), &note)
}

/// Whether this user uses a catalog as it is.
pub fn is_approved(context: &Context, catalog: &Catalog) -> Result<bool> {
    Ok(context.approved.get(Kind::Catalog, &key(catalog))?.is_some())
}

/// Refuses a catalog that this user never imported on this machine as it is, unless a person at a terminal says so now.
///
/// # Errors
/// `E_CONFIRM_REQUIRED` where the person says no.
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
