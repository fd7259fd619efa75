//! Serves this database as a registry over HTTP, with the paths that Enact's registry uses. Enact is the program that
//! contract 002 describes.
//!
//! [`route`] parses the request, and each kind of response has its own file. Reading needs a key only if the server
//! requires keys, and a key that is limited to one project cannot read. Writing needs a key made for publishing or for
//! attesting; [`authority`] checks that. [`failure`] builds all error responses.

mod attestations;
mod authority;
mod changes;
mod download;
mod failure;
mod find;
mod parameters;
mod publish;
mod route;
#[cfg(test)]
mod tests;
mod upload;

use std::io::Read;

use http::StatusCode;

use self::failure::Failure;
use self::route::{PREFIX, Route};
use mcpkg_core::op::{Answer, Context, Head, Served};

/// The handler for requests below `/registry`.
pub static SERVED: Served = Served {
    flag: "registry",
    help: "Serve this database as a tool registry at /registry; to publish, use a key made with `mcpkg access create --publish`",
    prefixes: &[PREFIX],
    basic: false,
    admit,
    answer,
    refuse,
};

/// The maximum size in bytes of a request body without an archive.
const SMALL: u64 = 1 << 20;

/// Checks a request before its body is read, so that a bad address or a missing right does not cost an upload.
/// Returns the size limit of the body.
fn admit(context: &Context, head: &Head) -> Result<u64, Box<Answer>> {
    let admitted = authority::reads(context).and_then(|()| Route::of(head)).and_then(|route| {
        authority::check(context, &route)?;
        Ok(match route {
            Route::Publish(_) => upload::most(&head.headers),
            _ if head.method == http::Method::GET => 0,
            _ => SMALL,
        })
    });
    admitted.map_err(|failure| Box::new(failure.answer()))
}

/// Answers a request that [`admit`] accepted.
fn answer(context: &Context, head: &Head, body: &mut (dyn Read + Send)) -> Answer {
    let answered = Route::of(head).and_then(|route| match &route {
        Route::Search => find::search(context, head),
        Route::Tool(name) => find::tool(context, name),
        Route::Version(name, version) => find::version(context, name, version),
        Route::Download(name, version) => download::download(context, head, name, version),
        Route::Publish(name) => publish::publish(context, head, name, body),
        Route::Yank(name, version) => changes::yank(context, name, version, body),
        Route::Unyank(name, version) => changes::unyank(context, name, version),
        Route::Visibility(name) => changes::visibility(context, name, body),
        Route::Attestations(name, version) => attestations::list(context, head, name, version),
        Route::Attestation(name, version, auditor) => attestations::one(context, name, version, auditor),
        Route::Attest(name, version) => attestations::post(context, name, version, body),
        Route::Revoke(name, version) => attestations::revoke(context, head, name, version, body),
    });
    answered.map_or_else(Failure::answer, |answer| answer.revalidated(head))
}

/// Returns the response to a request that the HTTP server itself refuses.
fn refuse(status: StatusCode, why: &str) -> Answer {
    Failure::of_status(status, why).answer()
}
