//! `mcpkg serve --http --marketplace`: serves projects to agents that install plugins and skills.
//!
//! | path | for |
//! | --- | --- |
//! | `/marketplace/PROJECT.git`, `/marketplace.git` (all projects) | git: Claude Code, Codex, Copilot CLI, Gemini CLI |
//! | `/.well-known/agent-skills/` | `npx skills add` |
//! | `/v0.1/servers` | clients of the MCP Registry API |
//!
//! The skills and servers are those of the access key's project, or else of the selected project. With
//! `/marketplace/PROJECT` in front, the same paths serve the skills and servers of PROJECT. Everything is read-only.

mod git;
mod repository;
mod route;
mod scope;
mod servers;
mod skills;

use std::io::Read;

use http::header::{ALLOW, HeaderValue};
use http::{Method, StatusCode};

use self::route::{Route, TEXT, What, nothing, refuse};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Answer, Context, Head, Served};

pub static SERVED: Served = Served {
    flag: "marketplace",
    help: "Serve plugins by git at /marketplace/PROJECT.git",
    prefixes: &route::PREFIXES,
    basic: true,
    admit,
    answer,
    refuse,
};

/// Checks a request before its body is read, and returns the size limit of the body.
fn admit(_: &Context, head: &Head) -> Result<u64, Box<Answer>> {
    let Some(route) = Route::of(head) else { return Err(Box::new(nothing())) };
    let (method, most) = match route.what {
        What::Upload => (Method::POST, git::REQUEST),
        _ => (Method::GET, 0),
    };
    if head.method != method {
        let why = format!("This address supports only {method}: what it serves can only be read");
        let allowed = HeaderValue::from_str(method.as_str()).unwrap_or(TEXT);
        return Err(Box::new(refuse(StatusCode::METHOD_NOT_ALLOWED, &why).with(ALLOW, allowed)));
    }
    git::admit(&route, head)?;
    Ok(most)
}

/// Answers a request that [`admit`] accepted.
fn answer(context: &Context, head: &Head, body: &mut (dyn Read + Send)) -> Answer {
    let Some(route) = Route::of(head) else { return nothing() };
    let answered = match &route.what {
        What::Offer => git::offer(context, &route, head),
        What::Upload => git::upload(context, &route, head, body),
        What::Skills => skills::index(context, &route),
        What::Skill(file) => skills::archive(context, &route, file),
        What::Servers => servers::list(context, &route, &head.query),
        What::Server { name, version } => servers::one(context, &route, name, version.as_deref()),
    };
    answered.map_or_else(|error| failed(&error), |answer| answer.revalidated(head))
}

fn failed(error: &Error) -> Answer {
    let status = match error.code() {
        Code::NotFound | Code::NoProject => StatusCode::NOT_FOUND,
        Code::InvalidArgument => StatusCode::BAD_REQUEST,
        Code::Busy | Code::Unavailable | Code::Timeout => StatusCode::SERVICE_UNAVAILABLE,
        Code::GitNotFound => {
            let why = "git is not installed on this server, which needs it to serve plugins";
            tracing::error!("{why}");
            return refuse(StatusCode::NOT_IMPLEMENTED, why);
        }
        _ => {
            // Do not send the message, because it may contain paths on the server.
            tracing::error!(%error, "cannot answer a request for the marketplace");
            return refuse(StatusCode::INTERNAL_SERVER_ERROR, "Internal error; see the server's log");
        }
    };
    refuse(status, error.message())
}
