//! `mcpkg serve` over HTTP: where it listens, and for whom.

use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::sign_in;
use crate::mcp;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Served;

/// Adds the options of a network server.
pub(super) fn arguments(command: Command) -> Command {
    let command = command
        .arg(
            Arg::new("http")
                .long("http")
                .action(ArgAction::SetTrue)
                .conflicts_with("stdio")
                .help("Serve streamable HTTP at /mcp"),
        )
        .arg(
            Arg::new("sse")
                .long("sse")
                .action(ArgAction::SetTrue)
                .conflicts_with("stdio")
                .help("Serve the older HTTP+SSE transport at /sse, for older clients"),
        )
        .args(served().map(|served| {
            Arg::new(served.flag).long(served.flag).action(ArgAction::SetTrue).conflicts_with("stdio").help(served.help)
        }))
        .arg(
            Arg::new("console")
                .long("console")
                .action(ArgAction::SetTrue)
                .conflicts_with("stdio")
                .help("Serve the console for people's browsers; `mcpkg console --link` signs one in"),
        )
        .arg(Arg::new("host").long("host").value_name("ADDRESS").value_parser(address).help(
            "Address to listen on; an address that other machines can reach requires an access key \
                    [default: 127.0.0.1]",
        ))
        .arg(
            Arg::new("port")
                .long("port")
                .value_name("PORT")
                .value_parser(value_parser!(u16))
                .help("Port to listen on, or 0 for any free port [default: 3000; 3100 with --sse alone]"),
        )
        .arg(
            Arg::new("allow-host")
                .long("allow-host")
                .value_name("NAME,...")
                .value_delimiter(',')
                .help("Additional host name that clients can use for the server"),
        )
        .arg(
            Arg::new("allow-origin")
                .long("allow-origin")
                .value_name("ORIGIN,...")
                .value_delimiter(',')
                .value_parser(|text: &str| text.parse::<mcp::Origin>())
                .help("Web origin that may use this server, such as http://localhost:5173"),
        )
        .arg(
            Arg::new("require-key")
                .long("require-key")
                .action(ArgAction::SetTrue)
                .help("Require an access key even if no key has ever been created"),
        );
    sign_in::arguments(command)
        .arg(
            Arg::new("rate-limit").long("rate-limit").value_name("N").value_parser(value_parser!(NonZeroU32)).help(
                "Maximum number of requests per second from one client (a key or an address) [default: no limit]",
            ),
        )
        .arg(Arg::new("tool-rate").long("tool-rate").value_name("N").value_parser(value_parser!(NonZeroU32)).help(
            "Maximum number of calls per second over HTTP from one key to each rate-limited tool, with \
                    bursts of three times as many [default: 20]",
        ))
        .arg(
            Arg::new("tls-cert")
                .long("tls-cert")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .requires("tls-key")
                .help("Serve HTTPS with this certificate chain, in PEM format"),
        )
        .arg(
            Arg::new("tls-key")
                .long("tls-key")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .requires("tls-cert")
                .help("Private key of the certificate, in PEM format"),
        )
        .arg(
            Arg::new("timeout")
                .long("timeout")
                .value_name("SECONDS")
                .value_parser(value_parser!(u64).range(1..=3600))
                .help(
                    "Maximum time in seconds for a client to send a request, receive a response or leave a \
                    connection idle [default: 30]",
                ),
        )
        .arg(
            Arg::new("drain").long("drain").value_name("SECONDS").value_parser(value_parser!(u64).range(0..=3600)).help(
                "Time in seconds to go on serving after SIGTERM, while /readyz returns 503, so that a proxy can choose \
                    another server [default: 0]",
            ),
        )
}

/// Returns the endpoints that domains add outside MCP. Flags enable them.
fn served() -> impl Iterator<Item = &'static Served> {
    crate::DOMAINS.iter().filter_map(|domain| domain.served)
}

/// Parses the address to listen on. It accepts `localhost`, which many people type for 127.0.0.1.
fn address(text: &str) -> std::result::Result<IpAddr, String> {
    if text.eq_ignore_ascii_case("localhost") {
        return Ok(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    text.trim_start_matches('[').trim_end_matches(']').parse().map_err(|_| {
        "give an IP address of this machine, such as 127.0.0.1, or 0.0.0.0 for all addresses; use --allow-host for host names"
            .to_owned()
    })
}

/// Returns the network settings, if the flags ask for a network server.
pub(super) fn settings(matches: &ArgMatches) -> Result<Option<mcp::Network>> {
    let (http, sse) = (matches.get_flag("http"), matches.get_flag("sse"));
    let hosts: Vec<String> = matches.get_many("allow-host").into_iter().flatten().cloned().collect();
    let origins: Vec<mcp::Origin> = matches.get_many("allow-origin").into_iter().flatten().cloned().collect();
    let host = matches.get_one("host").copied();
    let port = matches.get_one("port").copied();
    let served: Vec<&'static Served> = served().filter(|served| matches.get_flag(served.flag)).collect();
    if !http && !sse {
        let mut alone = vec![
            (host.is_some(), "host"),
            (port.is_some(), "port"),
            (!hosts.is_empty(), "allow-host"),
            (!origins.is_empty(), "allow-origin"),
            (matches.contains_id("oauth-issuer"), "oauth-issuer"),
            (matches.contains_id("drain"), "drain"),
            (matches.get_flag("console"), "console"),
            (matches.contains_id("public-url"), "public-url"),
        ];
        alone.extend(served.iter().map(|served| (true, served.flag)));
        return match alone.iter().find(|(given, _)| *given).map(|(_, flag)| flag) {
            Some(flag) => Err(Error::new(Code::InvalidArgument, format!("--{flag} needs --http or --sse"))),
            None => Ok(None),
        };
    }
    let host = host.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let has_console = matches.get_flag("console");
    if has_console && !host.is_loopback() && !matches.contains_id("tls-cert") {
        let why =
            "--console needs TLS if other machines can reach the server, because anyone who sees a session can approve";
        return Err(Error::new(Code::InvalidArgument, why)
            .hint("add --tls-cert FILE and --tls-key FILE, or listen on 127.0.0.1 behind a proxy that has TLS"));
    }
    let public_url = matches.get_one::<String>("public-url").map(|url| mcp::public_url(url)).transpose()?;
    if public_url.is_some() && !has_console && !matches.contains_id("oauth-issuer") {
        return Err(Error::new(Code::InvalidArgument, "--public-url needs --oauth-issuer or --console"));
    }
    Ok(Some(mcp::Network {
        host,
        console: has_console,
        port: port.unwrap_or(if http { 3000 } else { 3100 }),
        http,
        sse,
        served,
        hosts,
        origins,
        key_required: matches.get_flag("require-key"),
        sign_in: sign_in::settings(matches, public_url.clone())?,
        public_url,
        rate: matches.get_one("rate-limit").copied(),
        tls: matches.get_one("tls-cert").cloned().zip(matches.get_one("tls-key").cloned()),
        timeout: Duration::from_secs(matches.get_one("timeout").copied().unwrap_or(30)),
        drain: Duration::from_secs(matches.get_one("drain").copied().unwrap_or(0)),
    }))
}
