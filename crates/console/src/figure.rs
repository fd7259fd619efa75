//! Figures that a page shows instead of some lines of a text. A terminal shows the lines, which say the same.

use std::ops::Range;

use crate::chart::Chart;
use crate::graph::Graph;
use crate::markdown::Piece;

/// A figure in a text.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The lines that a page leaves out because the figure says the same. An empty range only places the figure.
    pub instead_of: Range<usize>,
    pub shows: Shows,
}

#[derive(Clone, Debug)]
pub enum Shows {
    Graph(Graph),
    Chart(Chart),
    Markdown(Vec<Piece>),
}

impl Figure {
    /// Returns a figure in front of the line `at`. It replaces no lines.
    pub fn before(at: usize, shows: Shows) -> Self {
        Self { instead_of: at..at, shows }
    }

    /// Returns a graph's figure in front of the line `at`. `None` if the graph has no steps.
    pub fn of_graph(graph: Graph, at: usize) -> Option<Self> {
        (!graph.steps.is_empty()).then(|| Self::before(at, Shows::Graph(graph)))
    }
}
