//! Templates: text that contains expressions between `${{` and `}}`.

use super::ast::Expression;
use super::fault::{Fault, FaultKind};
use super::parse::{inside, parse};
use crate::limits::MAX_EXPRESSION;

/// A parsed template.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Literal text.
    Text(String),
    Expression(Expression),
}

impl Template {
    /// Returns whether a text contains an expression, or whether its author probably meant to write one.
    pub fn may_be(text: &str) -> bool {
        text.contains("{{")
    }

    /// Parses a template. Returns the valid parts, and all errors.
    pub fn read(text: &str) -> (Self, Vec<Fault>) {
        let (mut parts, mut faults) = (Vec::new(), Vec::new());
        let mut plain = String::new();
        let mut at = 0;
        while let Some(found) = text[at..].find("{{") {
            let braces = at + found;
            let has_dollar = text[..braces].ends_with('$') && braces > at;
            if !has_dollar {
                let end = text[braces..].find("}}").map_or(text.len(), |end| braces + end + 2);
                if end <= text.len() && text[braces..end].ends_with("}}") {
                    let message = "a template begins with `${{`".to_owned();
                    faults.push(Fault { kind: FaultKind::WithoutDollar, at: braces..end, message });
                }
                plain.push_str(&text[at..end]);
                at = end;
                continue;
            }
            plain.push_str(&text[at..braces - 1]);
            match inside(text, braces + 2..text.len()) {
                Ok((expression, end)) => {
                    if !plain.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut plain)));
                    }
                    parts.push(Part::Expression(expression));
                    at = end;
                }
                Err(fault) => {
                    // Continue after the end of the broken expression.
                    let end = text[braces..].find("}}").map(|end| braces + end + 2);
                    faults.push(match end {
                        Some(_) => fault,
                        None => {
                            let message = "`${{` has no `}}`".to_owned();
                            let kind =
                                if text.len() - braces > MAX_EXPRESSION { fault.kind } else { FaultKind::Syntax };
                            Fault { kind, at: braces - 1..braces + 2, message }
                        }
                    });
                    at = end.unwrap_or(text.len());
                }
            }
        }
        plain.push_str(&text[at..]);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        (Self { parts }, faults)
    }

    /// Parses a condition: an expression, with or without `${{ }}` around it. Returns all errors.
    pub fn read_condition(text: &str) -> Result<Expression, Vec<Fault>> {
        // No expression begins with two braces, so a text that does was meant as a template.
        if !text.trim_start().trim_start_matches('$').starts_with("{{") {
            return parse(text).map_err(|fault| vec![fault]);
        }
        let (template, mut faults) = Self::read(text);
        if !faults.is_empty() {
            return Err(faults);
        }
        let mut expressions = Vec::new();
        for part in template.parts {
            match part {
                Part::Expression(expression) => expressions.push(expression),
                Part::Text(text) if text.trim().is_empty() => {}
                Part::Text(_) => faults.push(Fault::syntax(
                    0..text.len(),
                    "a condition must be a single expression; put all of it between `${{` and `}}`",
                )),
            }
        }
        match (faults.is_empty(), expressions.len()) {
            (true, 1) => Ok(expressions.remove(0)),
            (true, _) => Err(vec![Fault::syntax(0..text.len(), "a condition must be a single expression")]),
            (false, _) => Err(faults),
        }
    }

    /// Returns the expression if the template contains nothing else. The template then has the value of the expression, with its
    /// type.
    pub fn alone(&self) -> Option<&Expression> {
        match &*self.parts {
            [Part::Expression(expression)] => Some(expression),
            _ => None,
        }
    }

    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.parts.iter().filter_map(|part| match part {
            Part::Expression(expression) => Some(expression),
            Part::Text(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    fn faults(text: &str) -> Vec<(FaultKind, Range<usize>)> {
        Template::read(text).1.into_iter().map(|fault| (fault.kind, fault.at)).collect()
    }

    #[test]
    fn a_template_has_text_and_expressions() {
        let (template, faults) = Template::read("a ${{ inputs.b }}-${{ 'x}}' }} {\"}");
        assert_eq!(faults, []);
        assert_eq!(template.parts.len(), 5);
        assert!(template.alone().is_none());
        assert!(Template::read("${{ {\"a\": {}} }}").0.alone().is_some());
        assert_eq!(Template::read("plain { }").0.parts, [Part::Text("plain { }".to_owned())]);
        assert_eq!(Template::read("").0.parts, []);
    }

    #[test]
    fn all_faults_of_a_template_are_reported() {
        assert_eq!(
            faults("${{ inputs. }} and ${{ 1 > 2 }}"),
            [(FaultKind::Syntax, 11..12), (FaultKind::Unsupported, 25..26),]
        );
        assert_eq!(faults("x ${{ inputs.a"), [(FaultKind::Syntax, 2..5)]);
        assert_eq!(faults("{{ inputs.a }} ${{ inputs.b }}"), [(FaultKind::WithoutDollar, 0..14)]);
        assert_eq!(faults("a {{ b"), []);
        assert_eq!(faults("é ${{ § }}"), [(FaultKind::Syntax, 7..9)]);
    }

    #[test]
    fn a_condition_is_one_expression_with_or_without_braces() {
        for text in ["inputs.a", "${{ inputs.a }}", "  ${{ inputs.a && (inputs.b == 1) }} "] {
            assert!(Template::read_condition(text).is_ok(), "{text}");
        }
        for text in ["${{ inputs.a }} == 1", "${{ inputs.a }}${{ inputs.b }}", "${{ }}", ""] {
            assert!(Template::read_condition(text).is_err(), "{text}");
        }
    }
}
