//! Builds the value and the positions from the events of the YAML parser, and refuses unsupported YAML.

use std::collections::HashMap;

use granit_parser::{ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, StrInput, StructureStyle};
use serde_json::{Map, Value, json};

use super::places::{Place, Places, below};
use super::scalar;
use crate::finding::{Finding, Kind};
use crate::limits::{MAX_BYTES, MAX_DEPTH, MAX_EXPANDED, MAX_NODES};
use crate::span::Span;

/// Ends the walk. A finding with the reason is already recorded.
struct Stop;

type Step<T> = Result<T, Stop>;

type Spanned<'t> = (Event<'t>, Span);

/// A parsed text.
#[derive(Debug)]
pub struct Read {
    /// The value; `None` if parsing stopped early.
    pub value: Option<Value>,
    pub places: Places,
    /// The syntax errors and unsupported features.
    pub findings: Vec<Finding>,
}

/// Parses a text. Limits keep large texts from taking too much time and memory.
pub fn read(text: &str) -> Read {
    let mut options = Options::default();
    options.disallow_directives = true;
    options.emit_comments = false;
    // The walk has a lower limit of its own, with better messages. These limits only keep the parser from reading too
    // far ahead.
    options.flow_nesting_limit = 2 * MAX_DEPTH;
    options.block_nesting_limit = 2 * MAX_DEPTH;
    let mut walk = Walk {
        text,
        parser: Parser::new_from_str_with_options(text, options),
        waiting: None,
        places: Places::new(),
        findings: Vec::new(),
        pointer: String::new(),
        anchors: HashMap::new(),
        nodes: 0,
        expanded: 0,
    };
    let value = walk.document().ok();
    Read { value, places: walk.places, findings: walk.findings }
}

struct Walk<'t> {
    text: &'t str,
    parser: Parser<'t, StrInput<'t>>,
    /// An event that was read ahead.
    waiting: Option<Spanned<'t>>,
    places: Places,
    findings: Vec<Finding>,
    /// JSON pointer of the current value.
    pointer: String,
    anchors: HashMap<usize, Anchor>,
    nodes: usize,
    expanded: usize,
}

/// An anchored value. Its size is stored, because each alias counts against the limits.
struct Anchor {
    value: Value,
    node: usize,
    nodes: usize,
    bytes: usize,
}

/// A value with its position.
struct Positioned {
    value: Value,
    span: Span,
}

impl<'t> Walk<'t> {
    fn find(&mut self, kind: Kind, span: Span, message: impl Into<String>) -> &mut Finding {
        self.findings.push(Finding::new(kind, self.pointer.clone(), span, message));
        self.findings.last_mut().expect("it was pushed just now")
    }

    fn stop<T>(&mut self, kind: Kind, span: Span, message: impl Into<String>) -> Step<T> {
        self.find(kind, span, message);
        Err(Stop)
    }

    fn next(&mut self) -> Step<Spanned<'t>> {
        if let Some(waiting) = self.waiting.take() {
            return Ok(waiting);
        }
        loop {
            match self.parser.next_event() {
                Some(Ok((event, span))) if is_known(&event) => return Ok((event, of(span))),
                Some(Ok(_)) => {}
                Some(Err(error)) => return self.refused(&error),
                None => return Ok((Event::StreamEnd, self.end())),
            }
        }
    }

    fn peek(&mut self) -> Step<&Spanned<'t>> {
        let next = self.next()?;
        Ok(self.waiting.insert(next))
    }

    /// Returns the position of the end of the text.
    fn end(&self) -> Span {
        let line = self.text.lines().count().max(1);
        let column = self.text.lines().next_back().map_or(0, |line| line.chars().count()) + 1;
        let start = self.text.len();
        Span { start, end: start, line, column, end_line: line, end_column: column }
    }

    fn refused<T>(&mut self, error: &ScanError) -> Step<T> {
        let marker = error.marker();
        let start = marker.byte_offset().unwrap_or(0).min(self.text.len());
        let (line, column) = (marker.line(), marker.col() + 1);
        // The span covers one character, or none at the end of a line.
        let width = self.text.get(start..).and_then(|rest| rest.chars().next()).filter(|c| !matches!(c, '\n' | '\r'));
        let (bytes, columns) = width.map_or((0, 0), |c| (c.len_utf8(), 1));
        let span = Span { start, end: start + bytes, line, column, end_line: line, end_column: column + columns };
        match error.kind() {
            ErrorKind::RecursionLimitExceeded => {
                self.stop(Kind::LimitExceeded, span, format!("values are nested more than {MAX_DEPTH} levels deep"))
            }
            ErrorKind::DirectiveDisallowed => self.stop(Kind::UnsupportedYaml, span, "directives are not supported"),
            _ => {
                let before = self.text.get(..start).unwrap_or_default();
                let is_template = before.ends_with('$') && self.text[start..].starts_with('{');
                let found = self.find(Kind::YamlSyntax, span, error.info());
                if is_template {
                    found.hint = Some(
                        "inside { }, put a template in quotes: \"${{ ... }}\"; or write the mapping on separate lines"
                            .to_owned(),
                    );
                }
                Err(Stop)
            }
        }
    }

    fn document(&mut self) -> Step<Value> {
        if self.text.len() > MAX_BYTES {
            return self.stop(
                Kind::LimitExceeded,
                Span::BEGINNING,
                format!("the text is longer than {MAX_BYTES} bytes"),
            );
        }
        let mut value = Value::Null;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(value),
                Event::DocumentStart(..) => {
                    let first = self.next()?;
                    let found = self.node(Places::ROOT, None, first, 0)?;
                    value = found.value;
                    self.after()?;
                }
                _ => debug_assert!(matches!(event, Event::StreamStart), "{event:?} at {span:?}"),
            }
        }
    }

    /// Checks that nothing follows the document.
    fn after(&mut self) -> Step<()> {
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => {
                    self.waiting = Some((Event::StreamEnd, span));
                    return Ok(());
                }
                Event::DocumentStart(..) => {
                    return self.stop(
                        Kind::MultiDocument,
                        span,
                        "a second document starts here; a workflow must be a single document",
                    );
                }
                _ => {}
            }
        }
    }

    /// Counts a value against the limits before it is stored.
    fn spend(&mut self, nodes: usize, bytes: usize, span: Span) -> Step<()> {
        self.nodes += nodes;
        self.expanded += bytes;
        if self.nodes > MAX_NODES {
            return self.stop(Kind::LimitExceeded, span, format!("there are more than {MAX_NODES} values"));
        }
        if self.expanded > MAX_EXPANDED {
            return self.stop(
                Kind::LimitExceeded,
                span,
                format!("with its aliases expanded, the text is longer than {MAX_EXPANDED} bytes"),
            );
        }
        Ok(())
    }

    fn node(&mut self, node: usize, key: Option<Span>, (event, span): Spanned<'t>, depth: usize) -> Step<Positioned> {
        if depth > MAX_DEPTH {
            return self.stop(
                Kind::LimitExceeded,
                span,
                format!("values are nested more than {MAX_DEPTH} levels deep"),
            );
        }
        self.spend(1, 0, span)?;
        let (nodes, expanded) = (self.nodes, self.expanded);
        let (found, exact, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.tag(tag.is_some(), span);
                self.spend(0, text.len(), span)?;
                let exact = exact(self.text, span, &text, style);
                (Positioned { value: self.scalar(&text, style, span), span }, exact, anchor)
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.tag(tag.is_some(), span);
                (self.sequence(node, span, style, depth)?, None, anchor)
            }
            Event::MappingStart(style, anchor, tag) => {
                self.tag(tag.is_some(), span);
                let doubled = matches!(style, StructureStyle::Flow)
                    && matches!(self.peek()?, (Event::MappingStart(StructureStyle::Flow, ..), inner) if inner.start == span.end);
                match doubled {
                    true => (self.mustache(span, depth)?, None, anchor),
                    false => (self.mapping(node, span, style, depth)?, None, anchor),
                }
            }
            Event::Alias(id) => return self.alias(node, key, id, span),
            other => return self.stop(Kind::YamlSyntax, span, format!("expected a value, found {other:?}")),
        };
        self.places.set(node, Place { key, value: found.span, defined_at: None, exact });
        if anchor > 0 {
            let (nodes, bytes) = (self.nodes - nodes + 1, self.expanded - expanded + scalar_bytes(&found.value));
            self.anchors.insert(anchor, Anchor { value: found.value.clone(), node, nodes, bytes });
        }
        Ok(found)
    }

    fn tag(&mut self, is_tagged: bool, span: Span) {
        if is_tagged {
            self.find(Kind::UnsupportedYaml, span, "tags are not supported")
                .hint("remove the tag; use quotes for text");
        }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, span: Span) -> Value {
        if !matches!(style, ScalarStyle::Plain) {
            return Value::String(text.to_owned());
        }
        // A plain scalar without text is a missing value, that is, null.
        let (value, is_ambiguous) = scalar::plain(text);
        if is_ambiguous {
            let message = format!("`{text}` is text here, but other YAML parsers read it differently");
            let found = self.find(Kind::AmbiguousScalar, span, message);
            found.hint("if you mean text, put the value in quotes");
        }
        value
    }

    fn sequence(&mut self, node: usize, span: Span, style: StructureStyle, depth: usize) -> Step<Positioned> {
        let mut values = Vec::new();
        let mut end = span;
        loop {
            let (event, at) = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                end = if matches!(style, StructureStyle::Flow) { at } else { end };
                return Ok(Positioned { value: Value::Array(values), span: span.to_end_of(end) });
            }
            let child = self.places.element(node, Place { key: None, value: at, defined_at: None, exact: None });
            let length = self.pointer.len();
            self.pointer = below(&self.pointer, values.len());
            let found = self.node(child, None, (event, at), depth + 1)?;
            self.pointer.truncate(length);
            end = found.span;
            values.push(found.value);
        }
    }

    fn mapping(&mut self, node: usize, span: Span, style: StructureStyle, depth: usize) -> Step<Positioned> {
        let mut values = Map::new();
        let mut end = span;
        loop {
            let (event, at) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                end = if matches!(style, StructureStyle::Flow) { at } else { end };
                return Ok(Positioned { value: Value::Object(values), span: span.to_end_of(end) });
            }
            let Some(key) = self.key(event, at)? else {
                // The key is invalid, so skip its value.
                let next = self.next()?;
                end = self.pass(next)?;
                continue;
            };
            self.spend(0, key.len(), at)?;
            if values.contains_key(&key) {
                let first = self.places.child(node, &key).and_then(|child| self.places.of(child).key);
                let found = self.find(Kind::DuplicateKey, at, format!("the key `{key}` appears twice"));
                found.hint = first
                    .map(|first| format!("it already appears on line {}; only the first value is used", first.line));
                let next = self.next()?;
                end = self.pass(next)?;
                continue;
            }
            let next = self.next()?;
            let child =
                self.places.named(node, &key, Place { key: Some(at), value: at, defined_at: None, exact: None });
            let length = self.pointer.len();
            self.pointer = below(&self.pointer, &key);
            let found = self.node(child, Some(at), next, depth + 1)?;
            self.pointer.truncate(length);
            end = found.span;
            values.insert(key, found.value);
        }
    }

    /// Returns a key, or `None` after reporting an invalid one.
    fn key(&mut self, event: Event<'t>, span: Span) -> Step<Option<String>> {
        match event {
            Event::Scalar(text, ScalarStyle::Plain, ..) if text == "<<" => {
                self.find(Kind::UnsupportedYaml, span, "merge keys are not supported")
                    .hint("write out the merged fields");
                Ok(None)
            }
            Event::Scalar(text, style, ..) => {
                let is_text = !matches!(style, ScalarStyle::Plain) || scalar::plain(&text).0.is_string();
                if !is_text {
                    let found = self.find(Kind::NonScalarKey, span, format!("the key `{text}` is not text"));
                    found.hint("put the key in quotes").fix(span, json!(text).to_string());
                    // A missing key has no text to put in quotes.
                    found.fix.take_if(|_| span.start == span.end);
                }
                Ok(is_text.then(|| text.into_owned()))
            }
            Event::Alias(_) => {
                self.find(Kind::NonScalarKey, span, "an alias cannot be a key");
                Ok(None)
            }
            other => {
                self.pass((other, span))?;
                self.find(Kind::NonScalarKey, span, "a list or a mapping cannot be a key");
                Ok(None)
            }
        }
    }

    /// Skips a value, and returns the span of its end.
    fn pass(&mut self, (event, span): Spanned<'t>) -> Step<Span> {
        let mut depth = 0_usize;
        let (mut event, mut at) = (event, span);
        loop {
            self.spend(1, 0, at)?;
            match event {
                Event::SequenceStart(..) | Event::MappingStart(..) => depth += 1,
                Event::SequenceEnd | Event::MappingEnd => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return Ok(at);
            }
            (event, at) = self.next()?;
        }
    }

    /// Reports `{{ x }}`. To YAML, this is a mapping inside a mapping, but the author meant a template.
    fn mustache(&mut self, span: Span, depth: usize) -> Step<Positioned> {
        let end = self.pass((Event::MappingStart(StructureStyle::Flow, 0, None), span))?;
        let whole = span.to_end_of(end);
        let written = format!("${}", self.text.get(whole.bytes()).unwrap_or_default());
        let may_mend = depth > 0 && whole.line == whole.end_line && self.is_value_of_a_line(span);
        let found = self.find(Kind::MustacheWithoutDollar, whole, "a template begins with `${{`");
        found.hint(format!("write \"{written}\""));
        if may_mend {
            found.fix(whole, json!(written).to_string());
        }
        Ok(Positioned { value: Value::String(written), span: whole })
    }

    /// Returns whether a value directly follows a key on its line, or begins a list element.
    fn is_value_of_a_line(&self, span: Span) -> bool {
        let before = self.text.get(..span.start).unwrap_or_default().trim_end_matches(' ');
        before.ends_with([':', '-', '[', ',']) && before.len() < span.start
    }

    fn alias(&mut self, node: usize, key: Option<Span>, id: usize, span: Span) -> Step<Positioned> {
        let Some(anchor) = self.anchors.get(&id) else {
            self.find(Kind::UnsupportedYaml, span, "an alias is inside its own anchor");
            self.places.set(node, Place { key, value: span, defined_at: None, exact: None });
            return Ok(Positioned { value: Value::Null, span });
        };
        let (nodes, bytes, source) = (anchor.nodes, anchor.bytes, anchor.node);
        self.spend(nodes, bytes, span)?;
        let value = self.anchors[&id].value.clone();
        self.places.set(node, Place { key, value: span, defined_at: Some(self.places.of(source).value), exact: None });
        self.stand_in(node, source, &value, span);
        Ok(Positioned { value, span })
    }

    /// Gives everything inside an aliased value the position of the alias.
    fn stand_in(&mut self, node: usize, source: usize, value: &Value, span: Span) {
        let place = |walk: &Self, source: Option<usize>| {
            let defined_at = source.map(|source| walk.places.of(source).value);
            Place { key: Some(span), value: span, defined_at, exact: None }
        };
        match value {
            Value::Array(values) => {
                for (index, value) in values.iter().enumerate() {
                    let from = self.places.child(source, &index.to_string());
                    let at = Place { key: None, ..place(self, from) };
                    let child = self.places.element(node, at);
                    self.stand_in(child, from.unwrap_or(source), value, span);
                }
            }
            Value::Object(values) => {
                for (key, value) in values {
                    let from = self.places.child(source, key);
                    let at = place(self, from);
                    let child = self.places.named(node, key, at);
                    self.stand_in(child, from.unwrap_or(source), value, span);
                }
            }
            _ => {}
        }
    }
}

/// Returns whether the walk handles this kind of event. It skips all others.
fn is_known(event: &Event<'_>) -> bool {
    matches!(
        event,
        Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(..)
            | Event::DocumentEnd
            | Event::Alias(_)
            | Event::Scalar(..)
            | Event::SequenceStart(..)
            | Event::SequenceEnd
            | Event::MappingStart(..)
            | Event::MappingEnd
    )
}

fn of(span: granit_parser::Span) -> Span {
    Span {
        start: span.start.byte_offset().unwrap_or(0),
        end: span.end.byte_offset().unwrap_or(0),
        line: span.start.line(),
        column: span.start.col() + 1,
        end_line: span.end.line(),
        end_column: span.end.col() + 1,
    }
}

fn scalar_bytes(value: &Value) -> usize {
    value.as_str().map_or(0, str::len)
}

/// Returns the span of a scalar's text without its quotes. Returns `None` for block scalars, and if the value differs
/// from this text, for example because of escapes.
fn exact(text: &str, span: Span, scalar: &str, style: ScalarStyle) -> Option<Span> {
    let quotes = match style {
        ScalarStyle::Plain => 0,
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => 1,
        _ => return None,
    };
    let inside = quotes..(span.end - span.start).checked_sub(quotes)?;
    let part = (inside.start <= inside.end).then(|| span.part(text, inside)).flatten()?;
    (text.get(part.bytes())? == scalar).then_some(part)
}
