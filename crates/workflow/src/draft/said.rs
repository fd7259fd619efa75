//! The content of a draft: its text, findings and plan.

use serde_json::{Value, json};

use crate::finding::Finding;
use crate::saved::model::{self, Model};
use mcpkg_base::error::{Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::drafts::{self, Base};

/// A text with its findings and its plan.
pub(super) struct Said {
    pub(super) model: Model,
    pub(super) text: String,
    pub(super) findings: Vec<Finding>,
    columns: (String, Option<String>),
}

impl Said {
    /// Checks a text. The check makes no network requests, starts no process and writes nothing.
    ///
    /// # Errors
    /// `E_WORKFLOW_INVALID` with the findings, if the text is not a workflow or contains a secret.
    pub(super) fn of(context: &Context, text: String) -> Result<Self> {
        let (model, checked) = Model::checked(context, &text)?;
        model::without_secrets(&checked.findings)?;
        let plan = checked.sound.is_some().then(|| model::plan(context, &checked)).transpose()?;
        let findings = checked.findings;
        let columns = (written(&json!(findings))?, plan.as_ref().map(written).transpose()?);
        Ok(Self { model, text, findings, columns })
    }

    /// Returns the columns to store.
    pub(super) fn stored(&self, base: Option<Base>) -> drafts::Said<'_> {
        let (findings, plan) = &self.columns;
        drafts::Said { name: &self.model.name, text: &self.text, findings, plan: plan.as_deref(), base }
    }
}

fn written(value: &Value) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|error| Error::internal("a draft cannot be written as JSON").with_source(error))
}
