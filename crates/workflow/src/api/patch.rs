//! A person's corrections to a command. They are stored separately, so that a refresh keeps them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::import::call;
use super::output;
use crate::spec::{CommandEffect, CommandSpec, Idempotency};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Patch {
    /// Id to use for the command, instead of the generated id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Effect of the command on existing data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<CommandEffect>,
    /// Effect of repeating a call with the same arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency: Option<Idempotency>,
    /// Path of the list in the response; empty if the response is not a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// How the command paginates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pagination: Option<Map<String, Value>>,
    /// Tags for the values of response fields, keyed by field name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, Vec<String>>,
}

impl Patch {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn apply(&self, spec: &mut CommandSpec) {
        if let Some(id) = &self.id {
            call(spec, id);
        }
        spec.effect = self.effect.unwrap_or(spec.effect);
        spec.idempotency = self.idempotency.unwrap_or(spec.idempotency);
        let output = &mut spec.output_contract;
        if let Some(list) = &self.list {
            let list = Some(list.clone()).filter(|list| !list.is_empty());
            if output.list != list {
                let known: BTreeMap<String, Vec<String>> =
                    output.fields.drain(..).map(|field| (field.name, field.tags)).collect();
                let more_fields = output.more_fields;
                *output = output::described(output.schema.take().unwrap_or_default(), list);
                output.more_fields = more_fields;
                for field in output.fields.iter_mut().filter(|field| field.tags.is_empty()) {
                    field.tags = known.get(&field.name).cloned().unwrap_or_default();
                }
            }
        }
        if self.pagination.is_some() {
            output.pagination.clone_from(&self.pagination);
        }
        for field in &mut output.fields {
            if let Some(tags) = self.tags.get(&field.name) {
                field.tags.clone_from(tags);
            }
        }
    }
}
