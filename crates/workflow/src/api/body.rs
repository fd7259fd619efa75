//! Turns the request body of an operation into arguments: one for each key or part, or one for the whole body.

use serde_json::Value;

use super::arguments::{Arguments, flag, marked, query_style};
use super::media::{Media, is_json};
use super::multipart::BINARY;
use super::reference::References;
use super::schema::Shape;
use super::violation::Fault;
use crate::passwords::of_schema;
use crate::spec::{Body, Flag, Form, Place, Style};

/// Name of the argument for a whole body, used when the body has no named keys.
pub const WHOLE: &str = "body";

impl Arguments {
    /// Adds the arguments of a request body. Of several media types, uses the one that comes first in [`Media`].
    pub(super) fn take_body<'d>(&mut self, references: References<'d>, body: &'d Value) -> Result<(), Fault<'d>> {
        let content = body["content"].as_object();
        let best = content.into_iter().flatten().min_by_key(|(media, _)| Media::of(media));
        let Some((name, media)) = best else { return Ok(()) };
        let required = body["required"] == true;
        let kind = Media::of(name);
        let nothing = &Value::Null;
        let media = references.follow(media)?;
        let schema = media.get("schema").unwrap_or(nothing);
        let shape = Shape::of(references, schema)?;
        // A form whose schema allows no keys sends nothing.
        if kind == Media::Form && shape.properties.is_empty() && is_closed(references.follow(schema)?) {
            return Ok(());
        }
        let content_type = if name.contains('*') { kind.stands_for() } else { name.as_str() };
        let (content_type, needs) = (content_type.to_owned(), Vec::new());
        let passwords = of_schema(references, schema);
        let mut body = Body { content_type, whole: true, required, needs };
        match kind {
            Media::Multipart if is_not_form(name) => self.cannot(format!("its body has the unsupported type {name}")),
            Media::Multipart if shape.properties.is_empty() => {
                self.cannot("its body is a multipart form with unnamed parts".to_owned());
            }
            Media::Json | Media::Form | Media::Multipart if !shape.properties.is_empty() => {
                body.whole = false;
                for (name, property) in &shape.properties {
                    let of = Shape::of(references, property)?;
                    if !of.read_only {
                        let is_needed = shape.required.contains(name);
                        if is_needed && !required {
                            body.needs.push(name.to_string());
                        }
                        let encoding = &media["encoding"][*name];
                        let flag = flag(name, &of, Place::Body, required && is_needed);
                        let flag = match kind {
                            Media::Form => Flag { style: self.encoding(name, encoding), ..flag },
                            Media::Multipart => part(references, flag, &of, encoding)?,
                            _ => flag,
                        };
                        self.flags.push(marked(flag, &passwords.within(name)));
                    }
                }
            }
            Media::Multipart => {}
            Media::Json => {
                self.flags.push(marked(flag(WHOLE, &shape, Place::Body, required), &passwords));
            }
            // The form accepts any key, so one object argument holds them all.
            Media::Form => {
                let whole = marked(flag(WHOLE, &shape, Place::Body, required), &passwords);
                self.flags.push(Flag { r#type: "object".to_owned(), style: Some(Style::Pairs), ..whole });
            }
            Media::Text => {
                let whole = marked(flag(WHOLE, &shape, Place::Body, required), &passwords);
                self.flags.push(Flag { r#type: "string".to_owned(), ..whole });
            }
            Media::Bytes => {
                let description = Some("Bytes, as base64".to_owned());
                let (kind, format) = ("string".to_owned(), Some("byte".to_owned()));
                let whole =
                    Flag { r#type: kind, format, description, ..flag(WHOLE, &Shape::default(), Place::Body, required) };
                self.flags.push(marked(whole, &passwords));
            }
        }
        self.body = Some(body);
        Ok(())
    }

    /// Returns the style of a form key. If the key's `encoding` has style fields, these decide; otherwise the media type in
    /// `encoding` decides. `None` is the default style, which sends an object as JSON.
    fn encoding(&mut self, name: &str, encoding: &Value) -> Option<Style> {
        let is_styled = ["style", "explode", "allowReserved"].iter().any(|key| encoding.get(*key).is_some());
        if !is_styled {
            return encoding["contentType"].as_str().is_some_and(is_json).then_some(Style::Json);
        }
        let style = encoding["style"].as_str().unwrap_or("form");
        match query_style(style, encoding["explode"].as_bool()) {
            // With an explicit style, an object becomes one pair for each of its keys.
            Some(None) => Some(Style::Pairs),
            Some(style) => style,
            None => {
                self.cannot(format!("`{name}` uses the unsupported style {style}"));
                None
            }
        }
    }
}

/// Returns whether a multipart media type is something other than `multipart/form-data`.
fn is_not_form(media: &str) -> bool {
    !media.to_ascii_lowercase().starts_with("multipart/form-data")
}

/// Turns an argument into a part of a multipart body. Files are passed as base64, or as an object with a file name.
fn part<'d>(references: References<'d>, flag: Flag, shape: &Shape<'d>, encoding: &Value) -> Result<Flag, Fault<'d>> {
    let said = encoding["contentType"].as_str().and_then(|media| media.split(',').next()).map(str::trim);
    let said = said.filter(|media| !media.contains('*'));
    let element = shape.items.map(|items| Shape::of(references, items)).transpose()?;
    let is_file = element.as_ref().unwrap_or(shape).is_file();
    if !is_file {
        let style = said.is_some_and(is_json).then_some(Style::Json);
        return Ok(Flag { style, media: said.map(str::to_owned), ..flag });
    }
    let form = |kind: &str| Form { r#type: kind.to_owned(), r#enum: Vec::new() };
    let any_of = if element.is_none() { vec![form("string"), form("object")] } else { Vec::new() };
    let r#type = if element.is_none() { "any".to_owned() } else { flag.r#type.clone() };
    let how = "File content as base64, or an object with `data`, `name` and `type`";
    let description = flag.description.as_deref().map_or_else(|| how.to_owned(), |said| format!("{said}. {how}"));
    let (format, items) = (Some(BINARY.to_owned()), element.map(|_| "any".to_owned()));
    Ok(Flag { r#type, any_of, format, items, media: said.map(str::to_owned), description: Some(description), ..flag })
}

/// Returns whether a schema lists the keys of an object, and neither `additionalProperties` nor a composition allows others.
fn is_closed(schema: &Value) -> bool {
    schema.get("properties").is_some_and(Value::is_object)
        && schema.get("additionalProperties").is_none_or(|more| *more == false)
        && ["allOf", "oneOf", "anyOf"].iter().all(|composed| schema.get(*composed).is_none())
}
