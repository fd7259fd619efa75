//! Catalogs: descriptions of APIs (OpenAPI 3.0, 3.1, 3.2; Swagger 2.0, [converted](swagger)) whose operations become commands.
//!
//! A [`document`] is read as it is; its [references](reference) are followed, its [schemas](schema) put together, and each
//! operation becomes a command ([`import`]) with a [name](naming) for good, [arguments] and an [output]. A [`catalog`] keeps
//! them with what a person decided: where it is served, which secrets it has, and what they [corrected](patch). [`request`]
//! makes a request of a command and its arguments; [`call`] sends it. Only a person imports: [`fetch`] reads a file or a URL
//! for operations that no agent has.

mod answer;
pub mod approval;
pub mod arguments;
mod body;
pub mod call;
pub mod catalog;
pub mod catalogs;
pub mod difference;
pub mod document;
pub mod fetch;
pub mod files;
pub mod forms;
mod health;
pub mod import;
pub mod media;
mod multipart;
pub mod naming;
mod oatty;
mod operations;
pub mod output;
pub mod parse;
pub mod patch;
mod places;
pub mod reference;
pub mod request;
pub mod schema;
pub mod security;
pub mod servers;
mod swagger;
pub mod violation;
mod written;

pub use health::health;
pub use operations::OPS;
