//! Holds a file of a module that is being composed.

use super::tree::Content;
use crate::module::Layer;

#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) content: Content,
    pub(super) layer: Layer,
}
