//! Places the boxes and lines of a graph in a picture.
//!
//! A line from one layer to a later one passes the layers between them in a gap of its own, so that no box hides it. All
//! lines of one step share these gaps.

use mcpkg_console::graph::Graph;

/// The width of a box.
pub const WIDTH: usize = 248;

/// The width of a gap for a line.
const GAP: usize = 16;

/// The space between the items of a layer, between layers, and at the edges.
const BESIDE: usize = 16;
const BELOW: usize = 44;
const EDGE: usize = 4;

/// The maximum number of boxes and of lines. A larger picture helps nobody.
const MOST_BOXES: usize = 200;
const MOST_LINES: usize = 2_000;

pub struct Spot {
    pub x: usize,
    pub y: usize,
    pub height: usize,
}

#[derive(Default)]
pub struct Layout {
    pub width: usize,
    pub height: usize,
    /// The place of each step.
    pub boxes: Vec<Spot>,
    /// The lines and the tips of the arrows, as paths.
    pub lines: Vec<String>,
    pub tips: Vec<String>,
}

/// An item of a layer: a box, or a gap through which lines from a step of an earlier layer pass.
#[derive(Clone, Copy)]
struct Item {
    step: usize,
    is_gap: bool,
    x: usize,
}

impl Item {
    fn width(&self) -> usize {
        if self.is_gap { GAP } else { WIDTH }
    }

    fn middle(&self) -> usize {
        self.x + self.width() / 2
    }
}

impl Layout {
    /// Places a graph whose boxes have these heights. Returns `None` if it is too large.
    pub fn of(graph: &Graph, heights: &[usize]) -> Option<Self> {
        if graph.steps.len() > MOST_BOXES {
            return None;
        }
        let rows = rows(graph)?;
        let width = rows.iter().map(|row| width(row)).max().unwrap_or(0);
        let mut layout = Self { width: width + 2 * EDGE, ..Self::default() };
        let empty = || Spot { x: 0, y: 0, height: 0 };
        layout.boxes = graph.steps.iter().map(|_| empty()).collect();
        let (mut top, mut above) = (EDGE, (0, Vec::new()));
        for row in rows {
            let tallest = row.iter().filter(|item| !item.is_gap).map(|item| heights[item.step]).max().unwrap_or(0);
            let left = EDGE + (width - self::width(&row)) / 2;
            let row: Vec<Item> = row.into_iter().map(|item| Item { x: item.x + left, ..item }).collect();
            for item in &row {
                if item.is_gap {
                    layout.lines.push(format!("M{} {top}V{}", item.middle(), top + tallest));
                } else {
                    layout.boxes[item.step] = Spot { x: item.x, y: top, height: tallest };
                }
                for from in sources(graph, item, &above.1) {
                    layout.join(from.middle(), above.0, item, top);
                }
            }
            above = (top + tallest, row);
            top += tallest + BELOW;
        }
        layout.height = above.0 + EDGE;
        (layout.lines.len() <= MOST_LINES).then_some(layout)
    }

    /// Draws a line from the lower end of an item to the upper end of another one.
    fn join(&mut self, from: usize, bottom: usize, to: &Item, top: usize) {
        let (x, half) = (to.middle(), (bottom + top) / 2);
        let end = if to.is_gap { top } else { top - 6 };
        self.lines.push(format!("M{from} {bottom}C{from} {half} {x} {half} {x} {end}"));
        if !to.is_gap {
            self.tips.push(format!("M{} {}H{}L{x} {top}Z", x - 5, top - 9, x + 5));
        }
    }
}

/// Returns the items of each layer from left to right. Each is near the items of the layer above that lead to it. Their `x`
/// counts from the left end of the layer. Returns `None` if there are too many items.
fn rows(graph: &Graph) -> Option<Vec<Vec<Item>>> {
    let mut depth = vec![0; graph.steps.len()];
    for (at, layer) in graph.layers.iter().enumerate() {
        layer.iter().for_each(|step| depth[*step] = at);
    }
    // For each step, the last layer with a step that needs it.
    let mut reach = depth.clone();
    for (step, found) in graph.steps.iter().enumerate() {
        found.needs.iter().for_each(|need| reach[*need] = reach[*need].max(depth[step]));
    }
    let mut rows: Vec<Vec<Item>> = Vec::new();
    let mut items = 0;
    for (at, layer) in graph.layers.iter().enumerate() {
        let boxes = layer.iter().map(|step| Item { step: *step, is_gap: false, x: 0 });
        let passes = (0..graph.steps.len()).filter(|step| depth[*step] < at && reach[*step] > at);
        let mut row: Vec<Item> = boxes.chain(passes.map(|step| Item { step, is_gap: true, x: 0 })).collect();
        items += row.len();
        if items > MOST_LINES {
            return None;
        }
        if let Some(above) = rows.last() {
            let offset = width(above);
            row.sort_by_cached_key(|item| {
                let from: Vec<usize> = sources(graph, item, above).map(|from| 2 * from.middle()).collect();
                // Measure from the middle of the layer, because layers are centred.
                let mean = from.iter().sum::<usize>().checked_div(from.len()).unwrap_or(offset);
                mean.cast_signed() - offset.cast_signed()
            });
        }
        let mut x = 0;
        for item in &mut row {
            item.x = x;
            x += item.width() + BESIDE;
        }
        rows.push(row);
    }
    Some(rows)
}

fn width(row: &[Item]) -> usize {
    row.last().map_or(0, |last| last.x + last.width())
}

/// Returns the items of the layer above from which a line leads to an item.
fn sources<'i>(graph: &Graph, item: &Item, above: &'i [Item]) -> impl Iterator<Item = &'i Item> {
    let needs = &graph.steps[item.step].needs;
    let (step, is_gap) = (item.step, item.is_gap);
    above.iter().filter(move |from| if is_gap { from.step == step } else { needs.contains(&from.step) })
}

#[cfg(test)]
mod tests {
    use mcpkg_console::graph::Step;

    use super::*;

    fn laid_out(needs: &[&[usize]], layers: &[&[usize]]) -> Option<Layout> {
        let step = |needs: &&[usize]| Step { needs: needs.to_vec(), ..Step::default() };
        let steps: Vec<Step> = needs.iter().map(step).collect();
        let layers = layers.iter().map(|layer| layer.to_vec()).collect();
        let heights = vec![60; steps.len()];
        Layout::of(&Graph { steps, layers, last_run: None }, &heights)
    }

    #[test]
    fn a_line_that_passes_a_layer_has_a_gap_beside_the_box() {
        let layout = laid_out(&[&[], &[0], &[0, 1]], &[&[0], &[1], &[2]]).expect("a layout");
        let [first, second, third] = &layout.boxes[..] else { panic!("three boxes") };
        assert_eq!((first.y, second.y, third.y), (4, 108, 212));
        assert_eq!(layout.width, WIDTH + GAP + BESIDE + 2 * EDGE);
        assert_eq!((first.x, third.x), (20, 20), "centred");
        assert_eq!(second.x, 4, "the gap is at its right");
        assert_eq!((layout.lines.len(), layout.tips.len()), (5, 3), "{:?}", layout.lines);
        assert!(layout.lines.contains(&"M276 108V168".to_owned()), "{:?}", layout.lines);
    }

    #[test]
    fn boxes_of_a_layer_do_not_overlap() {
        let layer: Vec<usize> = (1..40).collect();
        let needs: Vec<&[usize]> = std::iter::once(&[][..]).chain(layer.iter().map(|_| &[0][..])).collect();
        let layout = laid_out(&needs, &[&[0], &layer]).expect("a layout");
        let mut places: Vec<usize> = layout.boxes[1..].iter().map(|place| place.x).collect();
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] == WIDTH + BESIDE), "{places:?}");
        assert!(places.last().is_some_and(|last| last + WIDTH + EDGE == layout.width));
    }

    #[test]
    fn a_graph_that_is_too_large_is_not_drawn() {
        // Each step needs all earlier ones.
        let whole: Vec<usize> = (0..100).collect();
        let needs: Vec<&[usize]> = (0..100).map(|at| &whole[..at]).collect();
        let layers: Vec<&[usize]> = whole.chunks(1).collect();
        assert!(laid_out(&needs[..20], &layers[..20]).is_some());
        assert!(laid_out(&needs, &layers).is_none());
    }

    #[test]
    fn steps_in_a_cycle_have_boxes_and_no_arrows() {
        let layout = laid_out(&[&[1], &[0]], &[&[0, 1]]).expect("a layout");
        assert_eq!((layout.boxes.len(), layout.lines.len()), (2, 0));
        assert!(layout.boxes[0].x + WIDTH < layout.boxes[1].x);
    }
}
