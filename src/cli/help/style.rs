//! The styles and the width of help.

use anstyle::Style;
use clap::builder::Styles;

/// The most columns that help takes: longer lines are hard to read.
pub(in crate::cli) const WIDEST: u16 = 100;

pub(in crate::cli) fn header() -> Style {
    *Styles::styled().get_header()
}

pub(in crate::cli) fn literal() -> Style {
    *Styles::styled().get_literal()
}
