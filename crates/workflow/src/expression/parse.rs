//! The parser of expressions, by recursive descent. The grammar is in the comment of the parent module.

use std::ops::Range;

use serde_json::{Map, Value};

use super::ast::{Expression, Node, Path, Root, Segment};
use super::cursor::Cursor;
use super::fault::{Fault, FaultKind};
use crate::limits::{MAX_EXPRESSION, MAX_EXPRESSION_DEPTH};

/// Parses a whole text as a condition. Stops at the first error.
pub fn parse(text: &str) -> Result<Expression, Fault> {
    let mut parser = Parser::new(text, 0..text.len())?;
    let expression = parser.condition()?;
    match parser.cursor.rest() {
        "" => Ok(expression),
        _ => Err(parser.cursor.unexpected("the end")),
    }
}

/// Parses the condition of a template in `range`. Returns it with the position after its `}}`.
pub(super) fn inside(text: &str, range: Range<usize>) -> Result<(Expression, usize), Fault> {
    let mut parser = Parser::new(text, range)?;
    let expression = parser.condition()?;
    match parser.cursor.eat("}}") {
        true => Ok((expression, parser.cursor.at)),
        false => Err(parser.cursor.unexpected("`}}`")),
    }
}

struct Parser<'t> {
    cursor: Cursor<'t>,
    start: usize,
    depth: usize,
}

type Parsed = Result<Expression, Fault>;

impl<'t> Parser<'t> {
    /// Cuts the text off after the maximum length of an expression, so that even a very long text is parsed quickly.
    fn new(text: &'t str, range: Range<usize>) -> Result<Self, Fault> {
        let start = range.start;
        let ends = range.end;
        let mut end = ends.min(start + MAX_EXPRESSION + 3);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let parser = Self { cursor: Cursor::new(text, start..end), start, depth: 0 };
        Ok(parser)
    }

    /// Calls `f` one nesting level deeper, unless that exceeds the limit.
    fn down<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        let at = self.cursor.at;
        if self.depth == MAX_EXPRESSION_DEPTH {
            let message = format!("the expression is nested more than {MAX_EXPRESSION_DEPTH} levels deep");
            return Err(Fault { kind: FaultKind::Limit, at: at..at, message });
        }
        if at - self.start > MAX_EXPRESSION {
            let message = format!("the expression is longer than {MAX_EXPRESSION} bytes");
            return Err(Fault { kind: FaultKind::Limit, at: self.start..at, message });
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    fn condition(&mut self) -> Parsed {
        self.down(|parser| parser.several("||", Node::Or, |parser| parser.several("&&", Node::And, Self::not)))
    }

    /// Parses operands separated by an operator. A single operand is returned unchanged.
    fn several(&mut self, sign: &str, of: fn(Vec<Expression>) -> Node, operand: fn(&mut Self) -> Parsed) -> Parsed {
        let first = operand(self)?;
        let start = first.at.start;
        let mut operands = vec![first];
        loop {
            self.cursor.space();
            if !self.cursor.eat(sign) {
                break;
            }
            operands.push(operand(self)?);
        }
        match operands.len() {
            1 => Ok(operands.remove(0)),
            _ => {
                let end = operands.last().map_or(start, |last| last.at.end);
                Ok(Expression { node: of(operands), at: start..end })
            }
        }
    }

    fn not(&mut self) -> Parsed {
        self.cursor.space();
        let start = self.cursor.at;
        if self.cursor.is_at("!=") || !self.cursor.eat("!") {
            return self.compare();
        }
        let inner = self.down(Self::not)?;
        let at = start..inner.at.end;
        Ok(Expression { node: Node::Not(Box::new(inner)), at })
    }

    fn compare(&mut self) -> Parsed {
        let left = self.value()?;
        let start = left.at.start;
        if self.cursor.eat(".includes(") {
            let right = self.value()?;
            self.cursor.space();
            if !self.cursor.eat(")") {
                return Err(self.cursor.unexpected("`)`"));
            }
            let node = Node::Includes(Box::new(left), Box::new(right));
            return Ok(Expression { node, at: start..self.cursor.at });
        }
        let end = self.cursor.at;
        self.cursor.space();
        for long in ["===", "!=="] {
            if self.cursor.is_at(long) {
                return Err(self.cursor.unsupported(long));
            }
        }
        let is_equal = self.cursor.eat("==");
        if !is_equal && !self.cursor.eat("!=") {
            self.cursor.at = end;
            return Ok(left);
        }
        let right = self.value()?;
        let at = start..right.at.end;
        Ok(Expression { node: Node::Equal(is_equal, Box::new(left), Box::new(right)), at })
    }

    fn value(&mut self) -> Parsed {
        self.cursor.space();
        let start = self.cursor.at;
        if self.cursor.eat("(") {
            let inner = self.condition()?;
            self.cursor.space();
            if !self.cursor.eat(")") {
                return Err(self.cursor.unexpected("`)`"));
            }
            return Ok(Expression { at: start..self.cursor.at, ..inner });
        }
        let node = match self.cursor.rest().as_bytes().first() {
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => self.word()?,
            _ => Node::Literal(self.down(Self::literal)?),
        };
        Ok(Expression { node, at: start..self.cursor.at })
    }

    /// Parses a number, string, list or mapping in JSON syntax; strings may use single quotes.
    fn literal(&mut self) -> Result<Value, Fault> {
        self.cursor.space();
        match self.cursor.rest().as_bytes().first() {
            Some(b'"' | b'\'') => Ok(Value::String(self.cursor.quoted()?)),
            Some(b'0'..=b'9' | b'-') => Ok(Value::Number(self.cursor.number()?)),
            Some(b'[') => self.list(),
            Some(b'{') => self.mapping(),
            Some(b'a'..=b'z') => {
                let start = self.cursor.at;
                let name = self.cursor.name().unwrap_or_default();
                constant(name).ok_or_else(|| {
                    Fault::syntax(
                        start..self.cursor.at,
                        format!("`{name}` is not valid JSON; a list or mapping in an expression can contain only literal values"),
                    )
                })
            }
            _ => Err(self.cursor.unexpected("a value")),
        }
    }

    fn list(&mut self) -> Result<Value, Fault> {
        self.cursor.eat("[");
        let mut values = Vec::new();
        loop {
            self.cursor.space();
            if values.is_empty() && self.cursor.eat("]") {
                return Ok(Value::Array(values));
            }
            values.push(self.down(Self::literal)?);
            self.cursor.space();
            if self.cursor.eat("]") {
                return Ok(Value::Array(values));
            }
            if !self.cursor.eat(",") {
                return Err(self.cursor.unexpected("`,` or `]`"));
            }
        }
    }

    fn mapping(&mut self) -> Result<Value, Fault> {
        self.cursor.eat("{");
        let mut values = Map::new();
        loop {
            self.cursor.space();
            if values.is_empty() && self.cursor.eat("}") {
                return Ok(Value::Object(values));
            }
            if !self.cursor.is_at("\"") && !self.cursor.is_at("'") {
                return Err(self.cursor.unexpected("a key in quotes"));
            }
            let key = self.cursor.quoted()?;
            self.cursor.space();
            if !self.cursor.eat(":") {
                return Err(self.cursor.unexpected("`:`"));
            }
            let value = self.down(Self::literal)?;
            values.insert(key, value);
            self.cursor.space();
            if self.cursor.eat("}") {
                return Ok(Value::Object(values));
            }
            if !self.cursor.eat(",") {
                return Err(self.cursor.unexpected("`,` or `}`"));
            }
        }
    }

    /// Parses a constant or a path.
    fn word(&mut self) -> Result<Node, Fault> {
        let start = self.cursor.at;
        let word = self.cursor.name().unwrap_or_default();
        if let Some(constant) = constant(word) {
            return Ok(Node::Literal(constant));
        }
        let of: fn(String) -> Root = match word {
            "inputs" => Root::Input,
            "steps" => Root::Step,
            "env" => Root::Env,
            "secrets" => Root::Secret,
            _ if self.cursor.is_at("(") => return Err(self.call(start)),
            _ => {
                let message = format!("unknown name `{word}`; a path starts with inputs, steps, env or secrets");
                return Err(Fault::syntax(start..self.cursor.at, message));
            }
        };
        if !self.cursor.eat(".") {
            return Err(self.cursor.unexpected(&format!("`.` and a name after `{word}`")));
        }
        let name_start = self.cursor.at;
        let Some(name) = self.cursor.name() else { return Err(self.cursor.unexpected("a name")) };
        let (root, name_at) = (of(name.to_owned()), name_start..self.cursor.at);
        let takes_segments = matches!(root, Root::Input(_) | Root::Step(_));
        let says_output = matches!(root, Root::Step(_)) && self.output();
        let segments_start = self.cursor.at;
        let mut segments = Vec::new();
        while let Some(segment) = self.segment()? {
            segments.push(segment);
        }
        let segments_at = segments_start..self.cursor.at;
        if !takes_segments && !segments.is_empty() {
            return Err(Fault::syntax(segments_at, format!("`{word}.{name}` is text and has no fields")));
        }
        Ok(Node::Path(Path { root, name_at, says_output, segments, segments_at }))
    }

    /// Skips `.output`, unless it is only the beginning of a longer word or a call.
    fn output(&mut self) -> bool {
        let at = self.cursor.at;
        if self.cursor.eat(".") && self.cursor.name() == Some("output") && !self.cursor.is_at("(") {
            return true;
        }
        self.cursor.at = at;
        false
    }

    fn segment(&mut self) -> Result<Option<Segment>, Fault> {
        let start = self.cursor.at;
        if self.cursor.is_at(".includes(") {
            return Ok(None);
        }
        if self.cursor.eat(".") {
            if let Some(index) = self.cursor.index() {
                return Ok(Some(Segment::Index(index)));
            }
            let Some(key) = self.cursor.name() else { return Err(self.cursor.unexpected("a key or an index")) };
            if self.cursor.is_at("(") {
                return Err(self.call(start + 1));
            }
            return Ok(Some(Segment::Key(key.to_owned())));
        }
        if self.cursor.eat("[") {
            self.cursor.space();
            let Some(index) = self.cursor.index() else { return Err(self.cursor.unexpected("an index")) };
            self.cursor.space();
            return match self.cursor.eat("]") {
                true => Ok(Some(Segment::Index(index))),
                false => Err(self.cursor.unexpected("`]`")),
            };
        }
        Ok(None)
    }

    fn call(&self, start: usize) -> Fault {
        let message = "expressions can only call `.includes( )`".to_owned();
        Fault { kind: FaultKind::Unsupported, at: start..self.cursor.at, message }
    }
}

fn constant(word: &str) -> Option<Value> {
    match word {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        "null" => Some(Value::Null),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn literal(text: &str) -> Value {
        match parse(text).unwrap().node {
            Node::Literal(value) => value,
            other => panic!("{other:?}"),
        }
    }

    fn path(text: &str) -> String {
        match parse(text).unwrap().node {
            Node::Path(path) => path.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn literals_are_json_and_single_quotes() {
        for (text, expected) in [
            ("1", json!(1)),
            ("-2.5e3", json!(-2500.0)),
            (r#""a\n\u00e9\ud83d\ude00""#, json!("a\né😀")),
            (r"'it\'s \ufe0f'", json!("it's \u{fe0f}")),
            ("true", json!(true)),
            (" null ", json!(null)),
            (r#"[1, "a", [], {"b": {}}]"#, json!([1, "a", [], { "b": {} }])),
        ] {
            assert_eq!(literal(text), expected, "{text}");
        }
    }

    #[test]
    fn paths_have_names_with_hyphens_and_segments() {
        assert_eq!(path("inputs.app-name"), "inputs.app-name");
        assert_eq!(path("steps.create-app.output.items[0].id"), "steps.create-app.output.items[0].id");
        assert_eq!(path("steps.a.items.0"), "steps.a.output.items[0]");
        assert_eq!(path("steps.a.output_x"), "steps.a.output.output_x");
        assert_eq!(path("steps.a[ 1 ]"), "steps.a.output[1]");
        assert_eq!(path("env.HOME"), "env.HOME");
        assert_eq!(path("inputs.a.includes"), "inputs.a.includes");
    }

    #[test]
    fn expressions_paths_and_faults_have_byte_ranges() {
        let text = "!(inputs.é == 1)";
        assert_eq!(parse(text).unwrap_err().at, 9..11);
        let text = " inputs.a == 'x' && steps.b.ok ";
        let expression = parse(text).unwrap();
        assert_eq!(&text[expression.at.clone()], "inputs.a == 'x' && steps.b.ok");
        let mut seen = Vec::new();
        expression.paths(&mut |path, at| seen.push((&text[at.clone()], &text[path.name_at.clone()])));
        assert_eq!(seen, [("inputs.a", "a"), ("steps.b.ok", "b")]);
    }

    #[test]
    fn unsupported_operators_and_calls_are_reported_as_unsupported() {
        for (text, at) in [
            ("inputs.a > 1", 9..10),
            ("inputs.a === 1", 9..12),
            ("1 + 1", 2..3),
            ("inputs.a - 1", 9..10),
            ("inputs.a | upper", 9..10),
            ("length(inputs.a)", 0..6),
            ("inputs.a.toUpperCase()", 9..20),
            ("inputs.a ? 1 : 2", 9..10),
        ] {
            let fault = parse(text).unwrap_err();
            assert_eq!((fault.kind, fault.at), (FaultKind::Unsupported, at), "{text}: {}", fault.message);
        }
    }

    #[test]
    fn a_syntax_error_has_its_position() {
        for (text, start) in [
            ("", 0),
            ("inputs", 6),
            ("inputs.", 7),
            ("app", 0),
            ("(1", 2),
            ("1 2", 2),
            ("'a", 0),
            (r#""\x""#, 1),
            ("[1,]", 3),
            ("[inputs.a]", 1),
            ("{a: 1}", 1),
            ("env.A.b", 5),
            ("steps.a[x]", 8),
            ("steps.a[99999999999999999999999]", 8),
            ("01", 0),
            ("a && ", 0),
            ("1 && ", 5),
            ("1 == 1 == 1", 7),
            ("inputs.a.includes(1", 19),
        ] {
            let fault = parse(text).unwrap_err();
            assert_eq!((fault.kind, fault.at.start), (FaultKind::Syntax, start), "{text}: {}", fault.message);
        }
    }

    #[test]
    fn depth_and_length_are_bounded() {
        assert!(parse(&format!("{}1{}", "(".repeat(20), ")".repeat(20))).is_ok());
        for text in ["(".repeat(5000), "!".repeat(5000), "[".repeat(5000), format!("1{}", " && 1".repeat(2000))] {
            let fault = parse(&text).unwrap_err();
            assert_eq!(fault.kind, FaultKind::Limit, "{}", fault.message);
        }
    }
}
