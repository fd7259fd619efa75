//! The styles and the width of help.

use anstyle::Style;
use clap::builder::Styles;

/// The most columns that help takes: longer lines are hard to read.
pub(crate) const WIDEST: u16 = 100;

pub(crate) fn header() -> Style {
    *Styles::styled().get_header()
}

pub(crate) fn literal() -> Style {
    *Styles::styled().get_literal()
}
