//! SHIM
use super::definition::Definition; use super::finding::{Finding,Kind}; use super::span::Span; use super::yaml::{self, places::Places};
use crate::op::Context; use crate::error::Result;
pub struct Checked { pub findings: Vec<Finding>, pub definition: Option<Definition>, pub places: Places }
pub fn shaped(text: &str) -> Checked {
    let mut read = yaml::read(text);
    if let Some(v) = read.value.as_mut().and_then(|v| v.as_object_mut()) { v.entry("steps").or_insert(serde_json::json!([])); }
    let definition = match read.value.map(serde_json::from_value::<Definition>) { Some(Ok(d)) => Some(d), Some(Err(e)) => { read.findings.push(Finding::new(Kind::MissingField, "", Span::BEGINNING, e.to_string())); None } None => None };
    Checked { findings: read.findings, definition, places: read.places }
}
pub fn checked(text: &str, _c: &Context) -> Result<Checked> { Ok(shaped(text)) }
