//! Holds the issuer that people sign in to the console with, and the sign-ins that have begun.

use std::sync::{Arc, OnceLock};

use tokio::sync::Semaphore;

use mcpkg_base::http::Url;
use mcpkg_core::access::token::Issuer;
use mcpkg_core::access::token::code::Client;
use mcpkg_core::op::Context;

use super::attempts::Attempts;

/// The path to which the issuer sends browsers back.
pub const BACK: &str = "/login/issuer";

/// The maximum number of codes that are exchanged at the same time.
const MOST: usize = 8;

/// The issuer that people sign in with, and the sign-ins that have begun.
pub struct SignIn {
    pub issuer: Arc<Issuer>,
    pub client: Client,
    pub scopes: Vec<String>,
    /// The address of the console as browsers see it. Set when the server listens.
    url: Arc<OnceLock<String>>,
    pub attempts: Attempts,
    /// Limits how many codes are exchanged at the same time, because strangers can make this server ask the issuer.
    pub exchanges: Semaphore,
}

impl SignIn {
    pub fn new(
        context: &Context,
        issuer: Arc<Issuer>,
        client: Client,
        scopes: Vec<String>,
        url: Arc<OnceLock<String>>,
    ) -> Self {
        let (attempts, exchanges) = (Attempts::new(context.clock.clone()), Semaphore::new(MOST));
        Self { issuer, client, scopes, url, attempts, exchanges }
    }

    /// Returns the host of the issuer, for buttons.
    pub fn host(&self) -> String {
        Url::parse(self.issuer.name()).map_or_else(|| self.issuer.name().to_owned(), |url| url.host())
    }

    /// Returns the address to which the issuer sends browsers back.
    pub fn back(&self) -> String {
        format!("{}{BACK}", self.url())
    }

    pub fn url(&self) -> &str {
        self.url.get().map_or("", String::as_str)
    }
}
