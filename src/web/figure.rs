//! Draws the text of a screen with its figures.

use maud::{Markup, html};

use mcpkg_console::figure::{Figure, Shows};
use mcpkg_console::screen::Line;

use super::text::lines;
use super::{chart, graph, markdown};

/// Draws a text. Each figure replaces the lines that say the same.
pub fn text(text: &[Line], figures: &[Figure]) -> Markup {
    let ends = std::iter::once(0).chain(figures.iter().map(|figure| figure.instead_of.end));
    let last = figures.last().map_or(0, |figure| figure.instead_of.end);
    html! {
        @for (figure, begin) in figures.iter().zip(ends) {
            (part(&text[begin..figure.instead_of.start]))
            @match &figure.shows {
                Shows::Graph(shown) => (graph::graph(shown)),
                Shows::Chart(shown) => (chart::chart(shown)),
                Shows::Markdown(pieces) => (markdown::markdown(pieces)),
            }
        }
        (part(&text[last..]))
    }
}

fn part(text: &[Line]) -> Markup {
    html! { @if !text.is_empty() { (lines(text)) } }
}
