//! `mcpkg serve`.

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::Globals;
use crate::error::{Code, Error, Result};
use crate::mcp;
use crate::op::{Context, MAX_ANSWER};

pub(super) fn command() -> Command {
    Command::new("serve")
        .visible_alias("start")
        .about("Serve the database over MCP, as a client's child process")
        .after_help(
            "Speaks MCP on standard input and output; logs go to standard error. Which project is served is found for\n\
             each request: --project, else MCPKG_PROJECT, else the one bound to the folder it was started in, else the\n\
             selected one.\n\n\
             Examples:\n  mcpkg serve\n  mcpkg serve --project auth-module --toolset content",
        )
        .arg(Arg::new("stdio").long("stdio").action(ArgAction::SetTrue).help("Serve on standard input and output [the default]"))
        .arg(Arg::new("mcp").long("mcp").action(ArgAction::SetTrue).hide(true))
        .arg(
            Arg::new("as")
                .long("as")
                .value_name("NAME")
                .value_parser(mcp::Identity::ALL.map(mcp::Identity::name))
                .help("Server to stand in for: `agentpack` shows the deploy tools only [default: mcpkg]"),
        )
        .arg(
            Arg::new("toolset")
                .long("toolset")
                .value_name("NAME,...")
                .value_delimiter(',')
                .help("Toolsets to list and to allow [default: all]"),
        )
        .arg(
            Arg::new("max-answer")
                .long("max-answer")
                .value_name("BYTES")
                .value_parser(value_parser!(u64).range(1024..))
                .help("Most bytes of content in one answer [default: 67108864]"),
        )
        .arg(
            Arg::new("max-line")
                .long("max-line")
                .value_name("BYTES")
                .value_parser(value_parser!(u64).range(1024..))
                .help("Most bytes of one request [default: 67108864]"),
        )
        .arg(Arg::new("no-front").long("no-front").action(ArgAction::SetTrue).hide(true))
}

pub(super) fn run(matches: &ArgMatches, globals: &Globals) -> Result<u8> {
    let toolsets: Option<Vec<String>> =
        matches.get_many::<String>("toolset").map(|names| names.map(|name| name.trim().to_owned()).collect());
    let known: Vec<&str> = mcp::toolsets();
    for name in toolsets.iter().flatten() {
        if !known.contains(&name.as_str()) {
            let error = Error::new(Code::InvalidArgument, format!("There is no toolset '{name}'"));
            return Err(match crate::error::nearest(name, known.iter().copied()) {
                Some(near) => error.hint(format!("did you mean '{near}'?")),
                None => error.hint(format!("the toolsets are {}", known.join(", "))),
            });
        }
    }
    let identity = matches.get_one::<String>("as");
    let identity = mcp::Identity::ALL
        .into_iter()
        .find(|known| identity.is_some_and(|name| name == known.name()))
        .unwrap_or_default();
    let toolsets = toolsets.or_else(|| identity.toolset().map(|name| vec![name.to_owned()]));
    let config = mcp::Config {
        selection: globals.selection(),
        identity,
        toolsets,
        max_answer: matches.get_one("max-answer").copied().unwrap_or(MAX_ANSWER),
        max_line: matches.get_one("max-line").copied().unwrap_or(mcp::MAX_LINE),
        front: !matches.get_flag("no-front"),
    };
    let store = globals.open()?;
    crate::deploy::recover(&Context::shell(store.clone(), globals.selection()));
    mcp::serve_stdio(store, config)?;
    Ok(0)
}
