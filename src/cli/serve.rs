//! `mcpkg serve`: reads the options of a server and starts it.

use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::called::Called;
use super::globals::Globals;
use super::output::Output;
use crate::mcp;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Context, MAX_ANSWER, Names, Served, for_shell};
use mcpkg_store::tools::toolsets;
use mcpkg_store::{Store, access_rules, projects};

/// The value of `--groups` that means all groups.
const ALL_GROUPS: &str = "all";

/// The value of `--confirm` that means all tools with MCP's destructiveHint.
const DESTRUCTIVE: &str = "destructive";

const GROUPS: Names = Names::Known(|_| std::iter::once(ALL_GROUPS).chain(mcp::groups()).map(str::to_owned).collect());

const NOTES: &str = "Speaks MCP on standard input and output, or over HTTP; logs go to standard error. mcpkg serves \
    each request from one project. It uses the first of these that is set: --project, MCPKG_PROJECT, the project bound \
    to the folder in which the server was started, the selected project. Over HTTP, /projects/NAME/mcp serves the \
    project NAME.\n\n\
    After you create an access key (mcpkg access create NAME), every HTTP request needs a key. If there are no keys, \
    mcpkg serves only clients on this machine. With --oauth-issuer, a request needs a key or a token of that issuer.";

/// Options that only the long help shows.
const RARE: [&str; 22] = [
    "drain",
    "otlp",
    "audit-log-size",
    "audit-log-keep",
    "audit-required",
    "stdio",
    "allow-origin",
    "require-key",
    "public-url",
    "oauth-audience",
    "oauth-scope",
    "rate-limit",
    "tool-rate",
    "timeout",
    "read-timeout",
    "toolset",
    "install-scope",
    "confirm",
    "no-execute",
    "allow-outside",
    "max-answer",
    "max-line",
];

const EXAMPLES: [&str; 4] = [
    "mcpkg serve",
    "mcpkg serve --project auth-module --groups content",
    "mcpkg serve --http",
    "mcpkg serve --http --sse --host 0.0.0.0 --port 8080 --allow-host mcp.example.com",
];

pub(super) fn command() -> Command {
    let about = "Serve the database over MCP, to the client that starts the server or to many clients over HTTP";
    let rare = |arg: Arg| if RARE.contains(&arg.get_id().as_str()) { arg.hide_short_help(true) } else { arg };
    super::help::finished(for_shell(arguments()).mut_args(rare), about, &["serve"], NOTES, &EXAMPLES)
}

fn arguments() -> Command {
    Command::new("serve")
        .visible_alias("start")
        .arg(
            Arg::new("stdio")
                .long("stdio")
                .action(ArgAction::SetTrue)
                .help("Serve on standard input and output [the default]"),
        )
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
        )
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
        .arg(
            Arg::new("read-timeout")
                .long("read-timeout")
                .value_name("SECONDS")
                .value_parser(read_timeout)
                .help("Maximum time in seconds for one database read for a client, such as 30 or 0.5 [default: 30]"),
        )
        .arg(Arg::new("mcp").long("mcp").action(ArgAction::SetTrue).hide(true))
        .arg(
            Arg::new("as")
                .long("as")
                .value_name("NAME")
                .value_parser(mcp::Identity::ALL.map(mcp::Identity::name))
                .help(
                    "Server to stand in for, with only that server's tools: `agentpack` for deploys, `enact` for \
                    registries, `smctl` for workspaces and their resources, `assistant` for commands and workflows \
                    [default: mcpkg]",
                ),
        )
        .arg(
            Arg::new("toolset")
                .long("toolset")
                .value_name("NAME")
                .help("List and call only the installed tools in this toolset [default: the active toolset]"),
        )
        .arg(
            Arg::new("install-scope")
                .long("install-scope")
                .value_name("WHOSE")
                .value_parser(mcp::InstallScope::ALL.map(mcp::InstallScope::name))
                .help(
                    "User for whom agents install tools [default: over HTTP, the client's access key or else its \
                    session; otherwise everybody]",
                ),
        )
        .arg(Arg::new("groups").long("groups").add(GROUPS).value_name("NAME,...").value_delimiter(',').help(
            "Serve only these groups of tools, and list every tool in them; `all` lists all tools [default: \
                    serve all groups, but list only the tools that most sessions need]",
        ))
        .arg(Arg::new("confirm").long("confirm").value_name("WHAT").value_parser([DESTRUCTIVE]).help(
            "Tools that need a person's consent for every call; `destructive` means all tools that are \
                    marked as destructive",
        ))
        .arg(Arg::new("no-execute").long("no-execute").action(ArgAction::SetTrue).help(
            "Refuse to run commands for agents, except mcpkg's own read-only commands; same as \
                    MCPKG_NO_EXECUTE=1",
        ))
        .arg(
            Arg::new("allow-outside")
                .long("allow-outside")
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .action(ArgAction::Append)
                .help(
                    "Additional folder from which config repos can read files when agents deploy them; can be \
                    repeated",
                ),
        )
        .arg(
            Arg::new("max-answer")
                .long("max-answer")
                .value_name("BYTES")
                .value_parser(value_parser!(u64).range(1024..))
                .help("Maximum size of one response's content, in bytes [default: 67108864]"),
        )
        .arg(
            Arg::new("max-line")
                .long("max-line")
                .value_name("BYTES")
                .value_parser(value_parser!(u64).range(1024..))
                .help("Maximum size of one request, in bytes [default: 67108864]"),
        )
        .arg(
            Arg::new("audit-log")
                .long("audit-log")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Append a line of JSON about each call to this file, reads included; it never contains contents"),
        )
        .arg(
            Arg::new("audit-log-size")
                .long("audit-log-size")
                .value_name("BYTES")
                .value_parser(value_parser!(u64).range(1024..))
                .requires("audit-log")
                .help("Size at which the audit log is renamed to FILE.1 [default: 104857600]"),
        )
        .arg(
            Arg::new("audit-log-keep")
                .long("audit-log-keep")
                .value_name("N")
                .value_parser(value_parser!(u32).range(..=10_000))
                .requires("audit-log")
                .help("Number of older audit logs to keep, FILE.1 to FILE.N [default: 10]"),
        )
        .arg(
            Arg::new("otlp")
                .long("otlp")
                .action(ArgAction::SetTrue)
                .help("Send a span for each call, and metrics, to the receiver in OTEL_EXPORTER_OTLP_ENDPOINT"),
        )
        .arg(
            Arg::new("audit-required")
                .long("audit-required")
                .action(ArgAction::SetTrue)
                .requires("audit-log")
                .help("Refuse all calls while the audit log cannot be written"),
        )
        .arg(Arg::new("no-front").long("no-front").action(ArgAction::SetTrue).hide(true))
        .arg(Arg::new("calls").long("calls").value_name("FILE").value_parser(value_parser!(PathBuf)).hide(true))
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

/// Parses a time in seconds, between a millisecond and an hour.
fn read_timeout(text: &str) -> std::result::Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.001..=3600.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "give a number of seconds from 0.001 to 3600".to_owned())
}

/// Warns if the project that was named does not exist, because requests are refused until it does.
fn warn_of_project(store: &Store, globals: &Globals, output: &Output) {
    let Some(name) = &globals.project else { return };
    let found = store.read(|db| projects::get(db, name).map(drop));
    if found.is_err_and(|error| error.code() == Code::NotFound) {
        output.warning(&format!(
            "project '{name}' does not exist ({}): requests are refused until you create it (`mcpkg project create {name}`)",
            globals.project_by
        ));
    }
}

/// Warns if the server's toolset does not exist, because no installed tools are served until it does.
fn warn_of_toolset(store: &Store, toolset: Option<&str>, output: &Output) {
    let Some(name) = toolset else { return };
    let found = store.read(|db| toolsets::get(db, name).map(drop));
    if found.is_err_and(|error| error.code() == Code::NotFound) {
        output.warning(&format!(
            "toolset '{name}' does not exist: no installed tools are served until you create it (`mcpkg toolset create \
             {name}`)"
        ));
    }
}

pub(super) fn identity(line: &ArgMatches, called: Called) -> mcp::Identity {
    let Some(("serve", matches)) = line.subcommand() else { return mcp::Identity::default() };
    let named = matches.get_one::<String>("as");
    let known = |known: &mcp::Identity| named.is_some_and(|name| name == known.name());
    mcp::Identity::ALL.into_iter().find(known).unwrap_or_else(|| called.identity())
}

/// Returns the file that gets a line about each audited call, in addition to the log.
pub(super) fn calls(line: &ArgMatches) -> Option<&Path> {
    let (_, matches) = line.subcommand().filter(|(name, _)| *name == "serve")?;
    matches.get_one::<PathBuf>("calls").map(PathBuf::as_path)
}

pub(super) fn run(matches: &ArgMatches, identity: mcp::Identity, globals: &Globals, output: &Output) -> Result<u8> {
    let groups: Option<Vec<String>> =
        matches.get_many::<String>("groups").map(|names| names.map(|name| name.trim().to_owned()).collect());
    // With `--groups`, every served tool is listed. Without it, a server that presents itself as mcpkg lists only the
    // tools that most sessions need.
    let full_list = groups.is_some();
    let groups = groups.filter(|names| !names.iter().any(|name| name == ALL_GROUPS));
    let known: Vec<&str> = mcp::groups();
    for name in groups.iter().flatten() {
        if !known.contains(&name.as_str()) {
            let error = Error::new(Code::InvalidArgument, format!("There is no group '{name}'"));
            let otherwise = format!("the groups are {}, or `{ALL_GROUPS}`", known.join(", "));
            return Err(error.suggest(name, known.iter().copied(), otherwise));
        }
    }
    let install_scope = matches.get_one::<String>("install-scope");
    let install_scope =
        mcp::InstallScope::ALL.into_iter().find(|known| install_scope.is_some_and(|name| name == known.name()));
    let groups = groups.or_else(|| mcp::group_of(identity).map(|name| vec![name.to_owned()]));
    let config = mcp::Config {
        selection: globals.selection(),
        identity,
        surface: Arc::new(mcp::Surface {
            groups,
            tools: mcp::tools_of(identity),
            no_execute: matches.get_flag("no-execute") || globals.no_execute,
            ..mcp::Surface::default()
        }),
        full_list: full_list || mcp::group_of(identity).is_some(),
        grant: None,
        connection: mcp::Connection::default(),
        asks_before_destructive: matches.contains_id("confirm"),
        allow_outside: matches.get_many("allow-outside").into_iter().flatten().cloned().collect(),
        toolset: matches.get_one::<String>("toolset").cloned(),
        install_scope,
        session: None,
        providers: mcp::Providers::default(),
        tool_rate: matches.get_one("tool-rate").copied().map(mcp::Rate::per_second),
        read_timeout: matches.get_one("read-timeout").copied().unwrap_or(mcp::READ_TIMEOUT),
        max_answer: matches.get_one("max-answer").copied().unwrap_or(MAX_ANSWER),
        max_line: matches.get_one("max-line").copied().unwrap_or(mcp::MAX_LINE),
        front: !matches.get_flag("no-front"),
        audit_log: audit_log(matches),
        telemetry: telemetry(matches)?,
    };
    let store = globals.open()?;
    recover(&Context::shell(crate::DOMAINS, store.clone(), globals.selection()));
    let network = network(matches)?;
    warn_of_project(&store, globals, output);
    warn_of_toolset(&store, config.toolset.as_deref(), output);
    warn_of_rules(&store, network.as_ref(), output);
    let served = match network {
        None => mcp::serve_stdio(store, config),
        Some(network) => {
            let places: Vec<&str> = [(network.http, "/mcp"), (network.sse, "/sse")]
                .iter()
                .filter(|(on, _)| *on)
                .map(|(_, at)| *at)
                .chain(network.served.iter().map(|served| served.prefixes[0]))
                .chain(network.console.then_some("/inbox"))
                .collect();
            let scheme = if network.tls.is_some() { "https" } else { "http" };
            mcp::serve_http(store, config, network, |address| output.listening(scheme, address, &places))
        }
    };
    served.map(|()| 0)
}

/// Returns the settings of the audit log, if a file is named.
fn audit_log(matches: &ArgMatches) -> Option<mcp::AuditLog> {
    Some(mcp::AuditLog {
        path: matches.get_one::<PathBuf>("audit-log")?.clone(),
        size: matches.get_one("audit-log-size").copied().unwrap_or(100 << 20),
        keep: matches.get_one("audit-log-keep").copied().unwrap_or(10),
        required: matches.get_flag("audit-required"),
    })
}

/// Returns where to send traces and metrics. Without `--otlp`, mcpkg ignores the variables: agents that have them for their
/// own telemetry pass them on to the servers that they start.
fn telemetry(matches: &ArgMatches) -> Result<Option<mcp::Telemetry>> {
    match matches.get_flag("otlp") {
        true => mcp::Telemetry::read(|name| std::env::var(name).ok()),
        false => Ok(None),
    }
}

/// Returns the network settings, if the flags ask for a network server.
fn network(matches: &ArgMatches) -> Result<Option<mcp::Network>> {
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
        sign_in: sign_in(matches, public_url.clone())?,
        public_url,
        rate: matches.get_one("rate-limit").copied(),
        tls: matches.get_one("tls-cert").cloned().zip(matches.get_one("tls-key").cloned()),
        timeout: Duration::from_secs(matches.get_one("timeout").copied().unwrap_or(30)),
        drain: Duration::from_secs(matches.get_one("drain").copied().unwrap_or(0)),
    }))
}

/// Returns the settings for signing in, if an issuer is named.
fn sign_in(matches: &ArgMatches, url: Option<String>) -> Result<Option<mcp::SignIn>> {
    let Some(issuer) = matches.get_one::<String>("oauth-issuer") else { return Ok(None) };
    let list = |name: &str| matches.get_many::<String>(name).into_iter().flatten().cloned().collect();
    mcp::SignIn::new(issuer, list("oauth-audience"), list("oauth-scope"), url).map(Some)
}

/// Warns if nobody who signs in would have access.
fn warn_of_rules(store: &Store, network: Option<&mcp::Network>, output: &Output) {
    let is_asked = network.is_some_and(|network| network.sign_in.is_some());
    if is_asked && store.read(access_rules::list).is_ok_and(|rules| rules.is_empty()) {
        output.warning(
            "there are no access rules yet, so nobody who signs in has access; add one (`mcpkg access rule add --claim \
             NAME=VALUE`)",
        );
    }
}

/// Finishes or undoes work that an earlier process left unfinished. Called before a command or a server starts.
pub(super) fn recover(context: &Context) {
    crate::DOMAINS.iter().for_each(|domain| (domain.recover)(context));
}
