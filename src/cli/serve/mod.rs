//! `mcpkg serve`: reads the options of a server and starts it.

mod network;
mod reports;
mod sign_in;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::called::Called;
use super::globals::Globals;
use super::output::Output;
use crate::mcp;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Context, MAX_ANSWER, Names, for_shell};
use mcpkg_store::tools::toolsets;
use mcpkg_store::{Access, Store, projects};

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
const RARE: [&str; 24] = [
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
    "oauth-client",
    "oauth-client-secret",
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
    let command = Command::new("serve").visible_alias("start").arg(
        Arg::new("stdio")
            .long("stdio")
            .action(ArgAction::SetTrue)
            .help("Serve on standard input and output [the default]"),
    );
    let command =
        network::arguments(command)
            .arg(
                Arg::new("read-timeout").long("read-timeout").value_name("SECONDS").value_parser(read_timeout).help(
                    "Maximum time in seconds for one database read for a client, such as 30 or 0.5 [default: 30]",
                ),
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
            );
    reports::arguments(command).arg(Arg::new("no-front").long("no-front").action(ArgAction::SetTrue).hide(true))
}

/// Parses a time in seconds, between a millisecond and an hour.
fn read_timeout(text: &str) -> std::result::Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.001..=3600.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "give a number of seconds from 0.001 to 3600".to_owned())
}

/// Warns if the database cannot be written.
fn warn_of_access(store: &Store, output: &Output) {
    if store.access().is_ok_and(|access| access != Access::Writable) {
        let location = store.location();
        output.warning(&format!("the database {location} is read-only: clients can read, but nothing can be changed"));
    }
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
        audit_log: reports::audit_log(matches),
        telemetry: reports::telemetry(matches)?,
    };
    let store = globals.open()?;
    recover(&Context::shell(crate::DOMAINS, store.clone(), globals.selection()));
    let network = network::settings(matches)?;
    warn_of_access(&store, output);
    warn_of_project(&store, globals, output);
    warn_of_toolset(&store, config.toolset.as_deref(), output);
    sign_in::warn_of_rules(&store, network.as_ref(), output);
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

/// Finishes or undoes work that an earlier process left unfinished. Called before a command or a server starts.
pub(super) fn recover(context: &Context) {
    crate::DOMAINS.iter().for_each(|domain| (domain.recover)(context));
}
