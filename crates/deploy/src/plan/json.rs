//! Converts a plan to contract 000's JSON.

use serde_json::{Value, json};

use super::{Change, Op};

pub fn changes_json(changes: &[Change]) -> Vec<Value> {
    changes.iter().map(Change::json).collect()
}

/// Counts the changes of each kind.
pub fn summary(changes: &[Change]) -> Value {
    let count = |op: Op| changes.iter().filter(|change| change.op == op).count();
    json!({ "create": count(Op::Create), "update": count(Op::Update), "delete": count(Op::Delete) })
}
