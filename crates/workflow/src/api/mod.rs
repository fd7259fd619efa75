//! Catalogs: descriptions of APIs (OpenAPI 3.0, 3.1, 3.2; Swagger 2.0, [converted](swagger)) whose operations become commands.
//!
//! [`document`] reads a description. [`import`] turns each operation into a command: it follows [references](reference), merges
//! [schemas](schema), derives the [arguments] and the [output], and gives the command a permanent [name](naming). A [`catalog`]
//! stores the commands together with a person's settings: base URL, secrets and [corrections](patch). [`request`] builds the
//! request of a command; [`call`] sends it. Only a person can import: [`fetch`] reads a file or a URL for operations that agents
//! do not have.

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
