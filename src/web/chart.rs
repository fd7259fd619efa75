//! Draws charts as tables whose rows have a bar. The bars are pictures of the numbers in the cells.

use maud::{Markup, html};

use mcpkg_console::chart::{Bar, Chart};
use mcpkg_console::screen::Span;

use super::graph::class;
use super::text::{shown, span};

/// The width of a bar's picture in its own units. The browser stretches the picture to the width of its column.
const WHOLE: u64 = 1000;

/// The shortest bar that can be seen.
const SHORTEST: u64 = 6;

pub fn chart(chart: &Chart) -> Markup {
    let end = chart.end();
    html! {
        figure.chart {
            figcaption { (shown(&chart.title)) }
            table role="table" {
                thead role="rowgroup" {
                    tr role="row" {
                        @for name in chart.columns { th scope="col" role="columnheader" { (name) } }
                        td role="cell" {}
                    }
                }
                tbody role="rowgroup" {
                    @for bar in &chart.rows { (row(bar, chart.columns, end)) }
                }
            }
        }
    }
}

fn row(bar: &Bar, columns: &[&str], end: u64) -> Markup {
    html! {
        tr role="row" {
            @for (at, cell) in bar.cells.iter().enumerate() {
                @let name = columns.get(at).filter(|_| at > 0).map(|name| name.to_lowercase());
                td.what[at == 0].short[at > 0] role="cell" data-name=[name.filter(|_| !cell.text().is_empty())] { (content(cell)) }
            }
            td.length role="cell" { (picture(bar, end)) }
        }
    }
}

fn content(cell: &Span) -> Markup {
    html! { @if !cell.text().is_empty() { (span(cell)) } }
}

fn picture(bar: &Bar, end: u64) -> Markup {
    let at = |value: u64| value.saturating_mul(WHOLE).checked_div(end).unwrap_or(0).min(WHOLE);
    let (left, lead) = (at(bar.begin).min(WHOLE - SHORTEST), at(bar.begin.saturating_sub(bar.lead)));
    let length = at(bar.length).max(SHORTEST).min(WHOLE - left);
    html! {
        @if bar.length > 0 || bar.lead > 0 {
            svg aria-hidden="true" viewBox=(format!("0 0 {WHOLE} 10")) preserveAspectRatio="none" {
                @if bar.lead > 0 { rect.lead x=(lead) y="4" width=(left.saturating_sub(lead)) height="2" {} }
                rect.(class(bar.tone)) x=(left) y="0" width=(length) height="10" {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use mcpkg_console::screen::Tone;

    use super::*;

    #[test]
    fn a_bar_is_in_proportion_and_never_outside() {
        let drawn = |begin, length, lead, end| {
            picture(&Bar { begin, length, lead, tone: Tone::Good, ..Bar::default() }, end).into_string()
        };
        let half = drawn(50, 50, 25, 100);
        assert!(half.contains("<rect class=\"good\" x=\"500\" y=\"0\" width=\"500\""), "{half}");
        assert!(half.contains("<rect class=\"lead\" x=\"250\" y=\"4\" width=\"250\""), "{half}");
        assert!(drawn(100, 1, 0, 101).contains("x=\"990\" y=\"0\" width=\"9\""), "{}", drawn(100, 1, 0, 101));
        assert!(drawn(u64::MAX, u64::MAX, 1, u64::MAX).contains("x=\"1\" y=\"0\" width=\"6\""));
        assert_eq!((drawn(0, 0, 0, 0), drawn(5, 0, 0, 5)), (String::new(), String::new()));
    }
}
