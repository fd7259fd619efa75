//! Restricts templates to the part of Jinja whose cost is bounded by the size of the template and its values.
//!
//! Two checks run before anything is compiled. [`measure`] counts tokens: minijinja's parser recurses for each `not`,
//! chained `if` and `elif`, so its input must be bounded first. [`Walk`] then refuses every node that can make a value
//! larger than its inputs. `docs/reference/templates.md` documents this for users.

use std::collections::HashSet;

use minijinja::machinery::ast::{BinOpKind, CallArg, Expr, Stmt, UnaryOpKind};
use minijinja::machinery::{Span, Token, parse, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::ValueKind;

use super::failure::failed;
use super::filters;
use mcpkg_base::error::{Code, Error, Result};

/// The maximum size of a template in bytes.
const MAX_SOURCE: u64 = 256 << 10;

/// The maximum length of one tag in bytes.
const MAX_TAG: usize = 4 << 10;

/// The maximum number of words, operators and brackets in one tag. Each may make the parser recurse.
const MAX_TOKENS: usize = 256;

/// The maximum nesting depth of `if`, `elif` and `for`.
const MAX_DEPTH: usize = 64;

/// Checks that a template parses and uses only the subset. The error names the line.
pub fn check(source: &str, syntax: &SyntaxConfig) -> Result<()> {
    measure(source, syntax)?;
    walk(source, syntax).map(drop)
}

/// Returns the names for which a template has a fallback, through the filter `default` or the test `defined`.
pub fn provided(source: &str, syntax: &SyntaxConfig) -> Result<HashSet<String>> {
    measure(source, syntax)?;
    Ok(walk(source, syntax)?.provided)
}

fn walk<'s>(source: &'s str, syntax: &SyntaxConfig) -> Result<Walk<'s>> {
    let template = parse(source, "<string>", syntax.clone()).map_err(|error| failed("does not parse", &error))?;
    let mut walk = Walk { source, provided: HashSet::new() };
    walk.statement(&template)?;
    Ok(walk)
}

/// Returns whether a template parses, even with unsupported syntax.
pub fn parses(source: &str, syntax: &SyntaxConfig) -> bool {
    measure(source, syntax).is_ok() && parse(source, "<string>", syntax.clone()).is_ok()
}

/// Checks the size of a template in bytes.
pub fn check_size(bytes: u64) -> Result<()> {
    if bytes <= MAX_SOURCE {
        return Ok(());
    }
    let why = format!("The prompt template is {bytes} bytes long, but the limit is {MAX_SOURCE} bytes");
    Err(Error::new(Code::TemplateFailed, why)
        .hint("store the text as a plain prompt or as a resource; neither has this limit"))
}

/// Refuses input that is too long or too deeply nested for minijinja's parser.
fn measure(source: &str, syntax: &SyntaxConfig) -> Result<()> {
    check_size(source.len() as u64)?;
    let (mut opened, mut tokens) = (0, 0);
    // For each open statement, the number of its branches.
    let mut open: Vec<usize> = Vec::new();
    let mut begins = false;
    for token in tokenize(source, false, syntax.clone()) {
        let (token, span) = token.map_err(|error| failed("does not parse", &error))?;
        let at = span.start_offset as usize;
        match token {
            Token::TemplateData(_) => continue,
            Token::VariableStart | Token::BlockStart => (opened, tokens) = (at, 0),
            Token::Ident("if" | "for") if begins => open.push(1),
            Token::Ident("elif") if begins => open.last_mut().into_iter().for_each(|branches| *branches += 1),
            Token::Ident("endif" | "endfor") if begins => drop(open.pop()),
            _ => {}
        }
        begins = matches!(token, Token::BlockStart);
        tokens += 1;
        let limit = match () {
            () if tokens > MAX_TOKENS => format!("a tag has more than {MAX_TOKENS} tokens"),
            () if span.end_offset as usize - opened > MAX_TAG => format!("a tag is larger than {MAX_TAG} bytes"),
            () if open.iter().sum::<usize>() > MAX_DEPTH => {
                format!("more than {MAX_DEPTH} `if`, `elif` and `for` tags are nested")
            }
            () => continue,
        };
        return Err(refusal(source, span, &limit));
    }
    Ok(())
}

fn refusal(source: &str, span: Span, why: &str) -> Error {
    let before = source.as_bytes().iter().take(span.start_offset as usize);
    let line = 1 + before.filter(|byte| **byte == b'\n').count();
    Error::new(Code::TemplateFailed, format!("The prompt template is invalid: {why} (line {line})"))
        .with_details(serde_json::json!({ "line": line }))
        .hint("see `mcpkg help templates` for what a template can use; `{% raw %}` keeps braces unchanged")
}

struct Walk<'s> {
    source: &'s str,
    /// The names for which the template has a fallback.
    provided: HashSet<String>,
}

impl Walk<'_> {
    fn statements(&mut self, statements: &[Stmt<'_>]) -> Result<()> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Stmt<'_>) -> Result<()> {
        let (span, what) = match statement {
            Stmt::Template(template) => return self.statements(&template.children),
            Stmt::EmitRaw(_) => return Ok(()),
            Stmt::EmitExpr(emit) => return self.expression(&emit.expr),
            Stmt::IfCond(condition) => {
                self.expression(&condition.expr)?;
                self.statements(&condition.true_body)?;
                return self.statements(&condition.false_body);
            }
            Stmt::ForLoop(repeat) if repeat.recursive => (repeat.span(), "`for` with `recursive`"),
            Stmt::ForLoop(repeat) => {
                match &repeat.iter {
                    Expr::Call(call) if is_range(&call.expr) => self.arguments(&call.args, call.span())?,
                    iterated => self.expression(iterated)?,
                }
                repeat.filter_expr.iter().try_for_each(|condition| self.expression(condition))?;
                self.statements(&repeat.body)?;
                return self.statements(&repeat.else_body);
            }
            Stmt::Set(set) if matches!(set.target, Expr::Var(_)) => return self.expression(&set.expr),
            Stmt::Set(set) => (set.span(), "`set` with anything but a single name"),
            Stmt::SetBlock(set) => (set.span(), "`set` of a block"),
            Stmt::WithBlock(with) => (with.span(), "`with`"),
            Stmt::AutoEscape(escape) => (escape.span(), "`autoescape`"),
            Stmt::FilterBlock(filter) => (filter.span(), "`filter` of a block"),
            Stmt::Do(call) => (call.span(), "`do`"),
        };
        Err(self.refuse(span, what))
    }

    fn expressions<'e, 's: 'e>(&mut self, expressions: impl IntoIterator<Item = &'e Expr<'s>>) -> Result<()> {
        expressions.into_iter().try_for_each(|expression| self.expression(expression))
    }

    fn expression(&mut self, expression: &Expr<'_>) -> Result<()> {
        match expression {
            Expr::Var(_) | Expr::Const(_) => Ok(()),
            Expr::UnaryOp(operation) => match operation.op {
                UnaryOpKind::Not => self.expression(&operation.expr),
                UnaryOpKind::Neg if is_literal(expression) => Ok(()),
                UnaryOpKind::Neg => Err(self.refuse(operation.span(), "`-`")),
            },
            Expr::BinOp(operation) => match sign(operation.op) {
                Some(sign) => Err(self.refuse(operation.span(), &format!("`{sign}`"))),
                None => self.expressions([&operation.left, &operation.right]),
            },
            Expr::Compare(compare) => {
                self.expression(&compare.expr)?;
                self.expressions(compare.ops.iter().map(|operation| &operation.expr))
            }
            Expr::IfExpr(condition) => {
                self.expressions([&condition.test_expr, &condition.true_expr])?;
                self.expressions(&condition.false_expr)
            }
            Expr::GetAttr(get) => self.expression(&get.expr),
            Expr::GetItem(get) => self.expressions([&get.expr, &get.subscript_expr]),
            Expr::Filter(filter) if !filters::FILTERS.contains(&filter.name) => {
                Err(self.refuse(filter.span(), &format!("the filter `{}`", filter.name)))
            }
            Expr::Filter(filter) => {
                if let ("default" | "d", Some(Expr::Var(name))) = (filter.name, &filter.expr) {
                    self.provided.insert(name.id.to_owned());
                }
                self.expressions(&filter.expr)?;
                self.arguments(&filter.args, filter.span())
            }
            Expr::Test(test) if !filters::TESTS.contains(&test.name) => {
                Err(self.refuse(test.span(), &format!("the test `{}`", test.name)))
            }
            Expr::Test(test) => {
                if let ("defined" | "undefined", Expr::Var(name)) = (test.name, &test.expr) {
                    self.provided.insert(name.id.to_owned());
                }
                self.expression(&test.expr)?;
                self.arguments(&test.args, test.span())
            }
            Expr::Call(call) if is_range(&call.expr) => {
                Err(self.refuse(call.span(), "`range` outside of `for x in range(n)`"))
            }
            Expr::Call(call) => Err(self.refuse(call.span(), "calls other than `range`")),
            // A list of variables could multiply a value: `{% set a = [a, a] %}` doubles `a`.
            Expr::List(_) | Expr::Tuple(_) | Expr::Map(_) if is_literal(expression) => Ok(()),
            Expr::List(_) | Expr::Tuple(_) | Expr::Map(_) => {
                Err(self.refuse(expression.span(), "lists or maps that contain anything but strings and numbers"))
            }
            Expr::Slice(slice) => Err(self.refuse(slice.span(), "a slice (`[a:b]`)")),
        }
    }

    fn arguments(&mut self, arguments: &[CallArg<'_>], span: Span) -> Result<()> {
        arguments.iter().try_for_each(|argument| match argument {
            CallArg::Pos(value) | CallArg::Kwarg(_, value) => self.expression(value),
            CallArg::PosSplat(_) | CallArg::KwargSplat(_) => Err(self.refuse(span, "`*` before an argument")),
        })
    }

    fn refuse(&self, span: Span, what: &str) -> Error {
        refusal(self.source, span, &format!("templates do not support {what}"))
    }
}

fn is_range(expression: &Expr<'_>) -> bool {
    matches!(expression, Expr::Var(name) if name.id == filters::RANGE)
}

/// Returns whether an expression is a literal: a text, a number, or a list or map of literals.
fn is_literal(expression: &Expr<'_>) -> bool {
    match expression {
        Expr::Const(_) => true,
        Expr::UnaryOp(operation) => {
            matches!(operation.op, UnaryOpKind::Neg)
                && matches!(&operation.expr, Expr::Const(constant) if constant.value.kind() == ValueKind::Number)
        }
        Expr::List(list) => list.items.iter().all(is_literal),
        Expr::Tuple(tuple) => tuple.items.iter().all(is_literal),
        Expr::Map(map) => map.keys.iter().chain(&map.values).all(is_literal),
        _ => false,
    }
}

/// Returns the sign of an operator that computes a value; `None` for comparisons and logic.
fn sign(operator: BinOpKind) -> Option<&'static str> {
    match operator {
        BinOpKind::Eq | BinOpKind::Ne | BinOpKind::Lt | BinOpKind::Lte | BinOpKind::Gt | BinOpKind::Gte => None,
        BinOpKind::ScAnd | BinOpKind::ScOr | BinOpKind::In => None,
        BinOpKind::Add => Some("+"),
        BinOpKind::Sub => Some("-"),
        BinOpKind::Mul => Some("*"),
        BinOpKind::Div => Some("/"),
        BinOpKind::FloorDiv => Some("//"),
        BinOpKind::Rem => Some("%"),
        BinOpKind::Pow => Some("**"),
        BinOpKind::Concat => Some("~"),
    }
}
