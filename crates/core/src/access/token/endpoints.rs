//! The addresses in an issuer's metadata: its keys, and the two endpoints with which a browser signs in.

use serde::Deserialize;

use mcpkg_base::http::{Reach, Url};

/// The part of an authorization server's metadata (RFC 8414, OpenID Connect Discovery) that is needed.
#[derive(Deserialize)]
pub(super) struct Metadata {
    pub(super) issuer: String,
    pub(super) jwks_uri: String,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    code_challenge_methods_supported: Option<Vec<String>>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// The endpoints with which a browser signs in.
#[derive(Clone)]
pub(super) struct Endpoints {
    /// The page where the person signs in.
    pub(super) authorization: Url,
    /// The endpoint that exchanges a code for tokens, and the addresses that it may be at.
    pub(super) token: (Url, Reach),
    /// Whether a client's secret is sent in the form, because the issuer does not accept it in a header.
    pub(super) takes_secret_in_form: bool,
    /// Whether the issuer names itself when it sends a browser back (RFC 9207).
    pub(super) names_itself: bool,
}

impl Endpoints {
    /// Reads the endpoints, or says why nobody can sign in with a browser.
    pub(super) fn read(metadata: &Metadata, issuer: &Url) -> Result<Self, String> {
        let named = |name: &str, address: &Option<String>| {
            let address = address.as_deref().ok_or_else(|| format!("the issuer's metadata has no {name}"))?;
            locate(issuer, name, address)
        };
        let lists = |list: &Option<Vec<String>>, wanted: &str| {
            list.as_ref().map(|list| list.iter().any(|method| method == wanted))
        };
        // Some issuers support PKCE without saying so. mcpkg sends the challenge in any case.
        if lists(&metadata.code_challenge_methods_supported, "S256") == Some(false) {
            return Err("the issuer does not support PKCE with S256".to_owned());
        }
        let methods = &metadata.token_endpoint_auth_methods_supported;
        let is_basic = lists(methods, "client_secret_basic") != Some(false);
        Ok(Self {
            authorization: named("authorization_endpoint", &metadata.authorization_endpoint)?.0,
            token: named("token_endpoint", &metadata.token_endpoint)?,
            takes_secret_in_form: !is_basic && lists(methods, "client_secret_post") == Some(true),
            names_itself: metadata.authorization_response_iss_parameter_supported,
        })
    }
}

/// Checks an address in the metadata. Returns it with the addresses that a request to it may connect to.
///
/// The administrator named the issuer, so the issuer may be on the local network. If the metadata names another origin,
/// that origin must not be on the local network.
pub(super) fn locate(issuer: &Url, name: &str, address: &str) -> Result<(Url, Reach), String> {
    let url = Url::parse(address).ok_or_else(|| format!("the issuer's {name} '{address}' is not a URL"))?;
    if url.is_loopback() && !issuer.is_loopback() {
        return Err(format!("the issuer's {name} is on {}, which is this machine", url.host()));
    }
    if !url.is_private() {
        return Err(format!("the issuer's {name} '{address}' does not use https"));
    }
    let reach = if url.has_origin_of(issuer) { Reach::Anywhere } else { Reach::Public };
    Ok((url, reach))
}
