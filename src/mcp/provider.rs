//! Defines providers of data tools: tools that come from a domain's rows, or from a program that embeds the server.
//!
//! The server for the conformance suite, in `tests/conformance`, is such a program.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, GetPromptRequestParams, GetPromptResponse, JsonObject,
    MetaObject, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::value::RawValue;

use super::tasks::RunningTask;
use mcpkg_base::error::Result;
use mcpkg_core::op::{self, Audience, Effect, Projections, Resource, Validator};
use mcpkg_store::Db;

/// An answer in progress.
pub type Pending<T> = BoxFuture<'static, Result<T, ErrorData>>;

/// A function that answers a request and may talk to the client meanwhile: elicitation, sampling, progress.
pub type Talk<Request, Response> = dyn Fn(Request, RequestContext<RoleServer>) -> Pending<Response> + Send + Sync;

/// A provider of data tools, and of resources and prompts that are not stored.
pub trait Provider: Send + Sync + 'static {
    /// Returns at most `limit` of the provider's tools, sorted by name, starting after the name `after`.
    fn tools(&self, db: &Db<'_>, audience: &Audience<'_>, after: &str, limit: usize) -> Result<Vec<Projected>>;

    /// Returns the provider's tool with this name.
    fn tool(&self, db: &Db<'_>, audience: &Audience<'_>, name: &str) -> Result<Option<Projected>>;

    /// Returns a validator that changes whenever the list of the provider's tools changes.
    fn validator(&self, db: &Db<'_>, audience: &Audience<'_>) -> Result<Validator>;

    fn resources(&self) -> &'static [Resource] {
        &[]
    }

    /// Returns the function that answers prompts/get for this name, instead of a stored prompt.
    fn prompt(&self, _name: &str) -> Option<Arc<Talk<GetPromptRequestParams, GetPromptResponse>>> {
        None
    }
}

/// A data tool, with its entry in tools/list and the way to call it.
#[derive(Clone)]
pub struct Projected {
    /// The tool's entry in tools/list.
    pub listed: Tool,
    /// The tool's effect on existing data.
    pub effect: Effect,
    pub group: &'static str,
    pub answer: Answer,
}

/// The way to answer a call of a data tool.
#[derive(Clone)]
pub enum Answer {
    /// The call runs like an operation, in the caller's context.
    Run(Box<op::Projected>),
    /// A program answers the call, and may talk to the client meanwhile.
    Talk(Arc<Talk<CallToolRequestParams, CallToolResponse>>),
    /// A program answers the call, as a task if the client has the tasks extension.
    Task(Arc<TaskTool>),
}

/// A program's tool that can run as a task.
pub struct TaskTool {
    /// Returns whether a call runs as a task.
    pub support: Box<dyn Fn(&CallToolRequestParams) -> TaskSupport + Send + Sync>,
    /// Answers a call that does not run as a task.
    pub talk: Arc<Talk<CallToolRequestParams, CallToolResponse>>,
    pub run: Box<RunTask>,
}

/// A function that answers a call as a task. The task can be cancelled and can ask the client questions.
pub type RunTask = dyn Fn(CallToolRequestParams, Arc<RunningTask>) -> Pending<CallToolResult> + Send + Sync;

/// Whether a call runs as a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskSupport {
    Never,
    /// The call runs as a task if the client has the tasks extension.
    Optional,
    /// The call always runs as a task. The server refuses the call if the client cannot have tasks.
    Required,
}

impl Projected {
    /// Returns whether the tool runs commands. Such a tool itself asks a person to approve each plan.
    pub(super) fn runs_commands(&self) -> bool {
        matches!(&self.answer, Answer::Run(tool) if tool.runs_commands)
    }
}

impl From<op::Projected> for Projected {
    fn from(tool: op::Projected) -> Self {
        let mut listed = Tool::new(tool.name.clone(), tool.description.clone(), Arc::clone(&tool.input_schema));
        listed.title.clone_from(&tool.title);
        listed.output_schema.clone_from(&tool.output_schema);
        listed.annotations = Some(annotations(&tool));
        listed.meta =
            tool.meta.clone().map(|(key, value)| MetaObject(JsonObject::from_iter([(key.to_owned(), value)])));
        Self { listed, effect: tool.effect, group: tool.group, answer: Answer::Run(Box::new(tool)) }
    }
}

/// Returns the annotations of a data tool: those in its manifest, or else those that follow from its effect.
fn annotations(tool: &op::Projected) -> ToolAnnotations {
    let mut hints = hints(tool.effect, tool.open_world);
    let said = tool.hints;
    hints.read_only_hint = said.read_only.or(hints.read_only_hint);
    hints.destructive_hint = said.destructive.or(hints.destructive_hint);
    hints.idempotent_hint = said.idempotent.or(hints.idempotent_hint);
    hints.open_world_hint = said.open_world.or(hints.open_world_hint);
    hints
}

/// Returns the annotations that follow from a tool's effect.
pub(super) fn hints(effect: Effect, open_world: bool) -> ToolAnnotations {
    let hints = ToolAnnotations::new().read_only(!effect.changes()).open_world(open_world);
    if !effect.changes() {
        return hints;
    }
    // Both hints apply only to tools that change something. Repeating a `Write` or a `Destroy` has no further effect.
    let changes = matches!(effect, Effect::Write | Effect::Destroy);
    hints.destructive(changes).idempotent(changes)
}

impl Provider for Projections {
    fn tools(&self, db: &Db<'_>, audience: &Audience<'_>, after: &str, limit: usize) -> Result<Vec<Projected>> {
        Ok((self.list)(db, audience, after, limit)?.into_iter().map(Into::into).collect())
    }

    fn tool(&self, db: &Db<'_>, audience: &Audience<'_>, name: &str) -> Result<Option<Projected>> {
        Ok((self.find)(db, audience, name)?.map(Into::into))
    }

    fn validator(&self, db: &Db<'_>, audience: &Audience<'_>) -> Result<Validator> {
        (self.validator)(db, audience)
    }
}

/// The providers that an embedding program adds to those of the domains.
#[derive(Clone, Default)]
pub struct Providers(pub Vec<Arc<dyn Provider>>);

impl Providers {
    /// Returns the providers of the domains, followed by those of the embedding program.
    pub(super) fn all(&self) -> impl Iterator<Item = &dyn Provider> {
        let domains = crate::DOMAINS.iter().filter_map(|domain| domain.tools.as_ref());
        let domains = domains.map(|projections| -> &dyn Provider { projections });
        domains.chain(self.0.iter().map(AsRef::as_ref))
    }

    /// Returns every resource that is not stored: those of the domains, followed by those of these providers.
    pub(super) fn resources(&self) -> impl Iterator<Item = &'static Resource> {
        crate::DOMAINS.resources().chain(self.0.iter().flat_map(|provider| provider.resources()))
    }

    /// Returns whether there are no additional providers.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the function that answers prompts/get for this name, instead of a stored prompt.
    pub(super) fn prompt(&self, name: &str) -> Option<Arc<Talk<GetPromptRequestParams, GetPromptResponse>>> {
        self.0.iter().find_map(|provider| provider.prompt(name))
    }

    /// Returns whether one of these providers answers a request. The fast path (`front`) must then leave the request to
    /// that provider.
    pub(super) fn takes(&self, method: &str, parameters: Option<&RawValue>) -> bool {
        #[derive(serde::Deserialize)]
        struct Named {
            name: String,
        }
        if self.0.is_empty() || method != "prompts/get" {
            return false;
        }
        let named = parameters.and_then(|raw| serde_json::from_str::<Named>(raw.get()).ok());
        named.is_some_and(|named| self.prompt(&named.name).is_some())
    }
}

impl fmt::Debug for Providers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} providers", self.0.len())
    }
}
