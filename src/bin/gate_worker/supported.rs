//! Refuses, before a run, models with operators that tract would run with wrong results.
//!
//! tract looks up an operator only by its name and ignores its domain and version. So it would run somebody's custom
//! operator as the ONNX operator of the same name, and an old version of an operator as the current one. The list of
//! wrong operators comes from running the backend tests of ONNX 1.23 (operator set 28).

use std::collections::BTreeSet;

use mcpkg_workspace::gate_engine::{Dtype, Element, Stopped, Tensor};
use tract_onnx::pb::{GraphProto, ModelProto, NodeProto};

/// The newest ONNX operator set that tract was tested with.
const NEWEST: i64 = 28;

/// The domains of the standard ONNX operators. The empty domain means `ai.onnx`.
const DOMAINS: [&str; 2] = ["", "ai.onnx"];

/// The domain of the ONNX operators for classical machine learning.
const ML: &str = "ai.onnx.ml";

/// The operators of the `ai.onnx.ml` domain that tract implements.
const ML_OPERATORS: [&str; 6] = [
    "CategoryMapper",
    "LinearClassifier",
    "LinearRegressor",
    "Normalizer",
    "TreeEnsembleClassifier",
    "TreeEnsembleRegressor",
];

/// The properties of a model and its inputs that decide which operators tract computes correctly.
struct Graph<'m> {
    version: i64,
    /// Whether any input, weight or cast uses 16-bit floating-point numbers.
    has_half: bool,
    inputs: &'m [(String, Tensor)],
}

/// ONNX's number for the 16-bit floating-point type.
const HALF: i32 = 10;

/// Refuses a model whose results in tract would differ from those that ONNX defines.
///
/// # Errors
/// Returns `unsupported_operator` with the names of all refused operators.
pub fn check(model: &ModelProto, inputs: &[(String, Tensor)]) -> Result<(), Stopped> {
    let mut refused = BTreeSet::new();
    let versions = model.opset_import.iter().filter(|set| DOMAINS.contains(&&*set.domain)).map(|set| set.version);
    let version = versions.max().unwrap_or(1);
    if version > NEWEST {
        refused.insert(format!("version {version} of the ONNX operators (the newest supported version is {NEWEST})"));
    }
    // tract would run its own operator of that name instead of the function that the model defines.
    for function in &model.functions {
        let (domain, name) = (function.domain(), function.name());
        if DOMAINS.contains(&domain) || domain == ML {
            refused.insert(format!("the operator {name}, which the model itself defines"));
        }
    }
    if let Some(graph) = &model.graph {
        let mut has_half = inputs.iter().any(|(_, tensor)| tensor.dtype == Dtype::Float16)
            || graph.initializer.iter().any(|weight| weight.data_type == HALF);
        nodes(graph, &mut |node| {
            has_half |=
                node.op_type == "Cast" && node.attribute.iter().any(|to| to.name == "to" && to.i == i64::from(HALF));
        });
        let of = Graph { version, has_half, inputs };
        nodes(graph, &mut |node| refused.extend(reason(node, &of)));
    }
    if refused.is_empty() {
        return Ok(());
    }
    let all = refused.into_iter().collect::<Vec<_>>().join(", ");
    Err(Stopped::new("unsupported_operator", format!("the engine does not support {all}")))
}

/// Calls a function with each node of a graph, including nested graphs.
fn nodes(graph: &GraphProto, each: &mut impl FnMut(&NodeProto)) {
    for node in &graph.node {
        each(node);
        for attribute in &node.attribute {
            attribute.g.iter().chain(&attribute.graphs).for_each(|graph| nodes(graph, each));
        }
    }
}

/// Returns the part of a node that tract does not support, if there is one.
fn reason(node: &NodeProto, graph: &Graph<'_>) -> Option<String> {
    let (domain, operator) = (&*node.domain, &*node.op_type);
    let is_known = match domain {
        ML => ML_OPERATORS.contains(&operator),
        domain => DOMAINS.contains(&domain) && !ML_OPERATORS.contains(&operator),
    };
    if !is_known {
        let domain = if DOMAINS.contains(&domain) { String::new() } else { format!("{domain}:") };
        return Some(format!("the operator {domain}{operator}"));
    }
    let attribute = |name: &str| node.attribute.iter().find(|attribute| attribute.name == name);
    let is = |name: &str, text: &str| attribute(name).is_some_and(|attribute| attribute.s == text.as_bytes());
    let with = match operator {
        "RNN" | "GRU" | "LSTM" if is("direction", "reverse") => "direction \"reverse\"",
        "SpaceToDepth" if is("mode", "CRD") => "mode \"CRD\"",
        "Swish" if attribute("alpha").is_some_and(|alpha| alpha.f != 1.0) => "an alpha other than 1",
        "Celu" if graph.has_half => "16-bit numbers",
        "BitShift" if graph.version >= 28 && !shifts_inside(node, graph) => {
            "shift counts that can be as large as the numbers' bit width"
        }
        _ => return None,
    };
    Some(format!("the operator {operator} with {with}"))
}

/// Returns whether the shift counts of a node come from an input of the model, and each is at least 0 and smaller than the
/// bit width. For other counts, tract's result differs from the one that ONNX defines since operator set 28.
fn shifts_inside(node: &NodeProto, graph: &Graph<'_>) -> bool {
    let Some(counts) = node.input.get(1) else { return false };
    let Some((_, counts)) = graph.inputs.iter().find(|(name, _)| name == counts) else { return false };
    let bits = 8 * counts.dtype.size() as i128;
    counts.elements().all(|count| matches!(count, Element::Whole(count) if (0..bits).contains(&count)))
}
