//! A plan as contract 000 writes it.

use serde_json::{Value, json};

use super::{Change, Op};

/// The changes as contract 000 writes them.
pub fn changes_json(changes: &[Change]) -> Vec<Value> {
    changes.iter().map(Change::json).collect()
}

/// How many changes of each kind there are.
pub fn summary(changes: &[Change]) -> Value {
    let count = |op: Op| changes.iter().filter(|change| change.op == op).count();
    json!({ "create": count(Op::Create), "update": count(Op::Update), "delete": count(Op::Delete) })
}
