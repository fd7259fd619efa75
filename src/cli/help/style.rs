//! Defines the styles and the maximum width of help texts.

use anstyle::Style;
use clap::builder::Styles;

/// The maximum width of help texts. Longer lines are hard to read.
pub(crate) const WIDEST: u16 = 100;

pub(crate) fn header() -> Style {
    *Styles::styled().get_header()
}

pub(crate) fn literal() -> Style {
    *Styles::styled().get_literal()
}
