//! Tests of the table of operations, the contracts' schemas, the docs, the files in packaging/, and the rules for the
//! sources.

mod circles;
mod code_map;
mod docs;
mod examples;
mod hints;
mod house;
mod json;
mod json_schema;
mod packaging;
mod pages;
mod pictures;
mod plain;
mod schemas;
mod smctl;
mod table;
