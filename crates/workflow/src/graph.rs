//! A dependency graph: topological order and cycles.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Nodes and their dependencies. A node is an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    needs: Vec<BTreeSet<usize>>,
}

impl Graph {
    /// Returns a graph of `nodes` nodes without dependencies.
    pub fn new(nodes: usize) -> Self {
        Self { needs: vec![BTreeSet::new(); nodes] }
    }

    /// Makes `node` depend on `other`.
    pub fn add(&mut self, node: usize, other: usize) {
        self.needs[node].insert(other);
    }

    /// Returns the direct dependencies of `node`.
    pub fn of(&self, node: usize) -> &BTreeSet<usize> {
        &self.needs[node]
    }

    /// Returns whether `node` depends on `other`, directly or indirectly.
    pub fn reaches(&self, node: usize, other: usize) -> bool {
        let (mut seen, mut waiting) = (BTreeSet::new(), vec![node]);
        while let Some(node) = waiting.pop() {
            for next in &self.needs[node] {
                if *next == other {
                    return true;
                }
                if seen.insert(*next) {
                    waiting.push(*next);
                }
            }
        }
        false
    }

    /// Returns the nodes in topological order (Kahn's algorithm), lowest index first among those that are ready. Nodes in
    /// cycles, and nodes that depend on them, are left out.
    pub fn order(&self) -> Vec<usize> {
        let mut open: Vec<usize> = self.needs.iter().map(BTreeSet::len).collect();
        let mut needed_by = vec![Vec::new(); self.needs.len()];
        for (node, needs) in self.needs.iter().enumerate() {
            needs.iter().for_each(|other| needed_by[*other].push(node));
        }
        let free = |open: &[usize]| (0..open.len()).filter(|node| open[*node] == 0).map(Reverse).collect();
        let mut next: BinaryHeap<Reverse<usize>> = free(&open);
        let mut order = Vec::with_capacity(open.len());
        while let Some(Reverse(node)) = next.pop() {
            order.push(node);
            for waiting in &needed_by[node] {
                open[*waiting] -= 1;
                if open[*waiting] == 0 {
                    next.push(Reverse(*waiting));
                }
            }
        }
        order
    }

    /// Returns disjoint cycles that prevent a topological order. Each lists its nodes in dependency order.
    pub fn circles(&self) -> Vec<Vec<usize>> {
        let mut done: Vec<bool> = vec![false; self.needs.len()];
        for node in self.order() {
            done[node] = true;
        }
        let mut circles = Vec::new();
        for start in 0..self.needs.len() {
            // The current path from `start`: each node, with those of its dependencies that are not visited yet.
            let mut way: Vec<(usize, Vec<usize>)> = Vec::new();
            let mut on_way = BTreeSet::new();
            let mut next = (!done[start]).then_some(start);
            loop {
                if let Some(node) = next.take() {
                    on_way.insert(node);
                    way.push((node, self.needs[node].iter().rev().copied().collect()));
                }
                let Some((node, left)) = way.last_mut() else { break };
                let node = *node;
                match left.pop() {
                    None => {
                        done[node] = true;
                        on_way.remove(&node);
                        way.pop();
                    }
                    Some(other) if on_way.contains(&other) && !done[other] => {
                        let begin = way.iter().position(|(node, _)| *node == other).unwrap_or(0);
                        let mut circle: Vec<usize> = way[begin..].iter().map(|(node, _)| *node).collect();
                        let first = circle.iter().enumerate().min_by_key(|(_, node)| **node).map_or(0, |(at, _)| at);
                        circle.rotate_left(first);
                        circle.iter().for_each(|node| done[*node] = true);
                        circles.push(circle);
                    }
                    Some(other) if !done[other] && !on_way.contains(&other) => next = Some(other),
                    Some(_) => {}
                }
            }
        }
        circles
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn graph(nodes: usize, edges: &[(usize, usize)]) -> Graph {
        let mut graph = Graph::new(nodes);
        edges.iter().for_each(|(node, other)| graph.add(*node, *other));
        graph
    }

    #[test]
    fn independent_nodes_keep_the_order_of_the_document() {
        assert_eq!(graph(4, &[(0, 3)]).order(), [1, 2, 3, 0]);
        assert_eq!(graph(3, &[]).order(), [0, 1, 2]);
        assert!(graph(3, &[(0, 1), (1, 2)]).reaches(0, 2));
        assert!(!graph(3, &[(0, 1), (1, 2)]).reaches(2, 0));
    }

    #[test]
    fn circles_are_named_once_and_from_their_first_node() {
        let graph = graph(6, &[(2, 1), (1, 0), (0, 2), (3, 0), (4, 4), (5, 1)]);
        assert_eq!(graph.circles(), [vec![0, 2, 1], vec![4]]);
        assert_eq!(graph.order(), [] as [usize; 0]);
    }

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn a_random_graph_has_a_legal_order_or_a_circle(edges in prop::collection::vec((0_usize..12, 0_usize..12), 0..30)) {
            let graph = graph(12, &edges);
            let order = graph.order();
            for (at, node) in order.iter().enumerate() {
                for other in graph.of(*node) {
                    prop_assert!(order[..at].contains(other), "{node} came before {other}");
                }
            }
            let circles = graph.circles();
            prop_assert_eq!(order.len() == 12, circles.is_empty());
            for circle in circles {
                for (node, next) in circle.iter().zip(circle.iter().cycle().skip(1)) {
                    prop_assert!(graph.of(*node).contains(next), "{circle:?}");
                }
            }
        }
    }
}
