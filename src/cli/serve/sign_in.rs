//! `mcpkg serve` for people who sign in with the team's OAuth server.

use clap::{Arg, ArgMatches, Command};
use tokio_util::sync::CancellationToken;

use super::super::output::Output;
use crate::mcp;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::secret::Reference;
use mcpkg_core::access::token::code::Client;
use mcpkg_store::{Store, access_rules};

/// Adds the options for signing in.
pub(super) fn arguments(command: Command) -> Command {
    command
        .arg(Arg::new("oauth-issuer").long("oauth-issuer").value_name("URL").help(
            "Let people sign in with this OAuth or OpenID Connect server; `mcpkg access rule add` says what they may do",
        ))
        .arg(
            Arg::new("public-url")
                .long("public-url")
                .value_name("URL")
                .help(
                    "URL under which clients and browsers reach the server, without /mcp; they must use exactly this one [default: the \
                    address that the server listens on]",
                ),
        )
        .arg(
            Arg::new("oauth-audience")
                .long("oauth-audience")
                .value_name("URI,...")
                .value_delimiter(',')
                .requires("oauth-issuer")
                .help(
                    "Audiences that a token may have [default: the URL of the endpoint that it is sent to, such as \
                    https://mcp.example.com/mcp]",
                ),
        )
        .arg(
            Arg::new("oauth-scope")
                .long("oauth-scope")
                .value_name("NAME,...")
                .value_delimiter(',')
                .default_value("openid")
                .requires("oauth-issuer")
                .help("Scopes that clients ask the issuer for"),
        )
        .arg(Arg::new("oauth-client").long("oauth-client").value_name("ID").requires("oauth-issuer").requires("console").help(
            "Let people sign in to the console too, as users of this client of the issuer; its redirect address is \
             PUBLIC-URL/login/issuer",
        ))
        .arg(
            Arg::new("oauth-client-secret")
                .long("oauth-client-secret")
                .value_name("REFERENCE")
                .requires("oauth-client")
                .help("Where the client's secret is stored, unless the client is public: env:NAME, file:PATH or command:ARGV"),
        )
}

/// Returns the settings for signing in, if an issuer is named.
pub(super) fn settings(matches: &ArgMatches, url: Option<String>) -> Result<Option<mcp::SignIn>> {
    let Some(issuer) = matches.get_one::<String>("oauth-issuer") else { return Ok(None) };
    let list = |name: &str| matches.get_many::<String>(name).into_iter().flatten().cloned().collect();
    let sign_in = mcp::SignIn::new(issuer, list("oauth-audience"), list("oauth-scope"), url)?;
    Ok(Some(sign_in.with_client(client(matches)?)))
}

/// Returns the client of the issuer with which people sign in to the console, if one is named.
fn client(matches: &ArgMatches) -> Result<Option<Client>> {
    let Some(id) = matches.get_one::<String>("oauth-client") else { return Ok(None) };
    if id.is_empty() || !id.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        let why = format!("--oauth-client '{}' is not the id of a client", id.escape_debug());
        return Err(Error::new(Code::InvalidArgument, why));
    }
    // Parsed here and not by clap, which would repeat a secret that somebody gives instead of a reference.
    let secret = matches.get_one::<String>("oauth-client-secret").map(|text| text.parse::<Reference>()).transpose()?;
    let secret = secret.map(|reference| reference.resolve(&CancellationToken::new())).transpose()?;
    Ok(Some(Client { id: id.clone(), secret }))
}

/// Warns if nobody who signs in would have access.
pub(super) fn warn_of_rules(store: &Store, network: Option<&mcp::Network>, output: &Output) {
    let is_asked = network.is_some_and(|network| network.sign_in.is_some());
    if is_asked && store.read(access_rules::list).is_ok_and(|rules| rules.is_empty()) {
        output.warning(
            "there are no access rules yet, so nobody who signs in has access; add one (`mcpkg access rule add --claim \
             NAME=VALUE`)",
        );
    }
}
