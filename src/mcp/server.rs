//! rmcp's handler: everything that the front does not answer itself.

#![allow(deprecated, reason = "the newest revision gave up logging and resources/subscribe; the others have them")]

use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use rmcp::model::*;
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::error::error_data;
use super::front::{HandlerGuard, Ticket};
use super::methods::{LEGACY_ONLY, no_method, only_page, refuse};
use super::notes::Notes;
use super::one_at_a_time::OneAtATime;
use super::reads::{self, Era, Read};
use super::session::Session;
use super::subscriptions::{Hub, LONGEST_URI, MAX_URIS, Subscriber, accepted};
use super::tools::Lists;
use super::{Config, Identity, completion, limited, reads_at_once, skills, templates, tools};
use crate::clock::Clock;
use crate::error::{Code, Error, Result};
use crate::op::Context;
use crate::store::Store;

/// What a client is told about this server when it connects.
const INSTRUCTIONS: &str = "mcpkg serves the prompts, documents, images and skills that the user keeps for the \
    selected project. Read them with prompts/get and resources/read, or with the tools get_prompt, read_resource \
    and search_content; a skill stands at skill://NAME/SKILL.md, and list_skills names them. Keep what is worth reusing \
    with create_prompt and create_resource; every change keeps a revision. The user selects the project with `mcpkg project select NAME`.";

/// What a client of the deploy tools alone is told.
const DEPLOY_INSTRUCTIONS: &str = "mcpkg deploys prompts, skills and instructions to where Codex, Claude Code, Cursor and VS \
    Code read them. Look with plan, diff, preview, status, doctor and explain. To write, call deploy, show the plan to the \
    user, and pass its confirm_token to deploy_apply with yes=true; rollback takes it back. evolve_propose takes changes \
    made on disk back to their source.";

/// The tools, the templates and what discover says stay as they are while a server runs.
const LASTING: u64 = 3_600_000;

/// A server of one database; cheap to clone.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) store: Store,
    pub(super) config: Arc<Config>,
    pub(super) hub: Arc<Hub>,
    session: Arc<Session>,
    /// Made when they are first asked for: making them would double the time to the first answer.
    tools: Arc<Lists>,
    reading: Arc<LazyLock<Arc<Semaphore>>>,
    searching: Arc<OneAtATime>,
    /// Cancelled when the process is about to end: calls that still run give up.
    pub(super) ending: CancellationToken,
}

impl Server {
    pub(super) fn new(store: Store, config: Config) -> Self {
        let hub = Arc::new(Hub::new(store.clone()));
        let reading: LazyLock<_> = LazyLock::new(|| Arc::new(Semaphore::new(reads_at_once())));
        Self {
            store,
            config: Arc::new(config),
            hub,
            session: Arc::default(),
            tools: Arc::default(),
            reading: Arc::new(reading),
            searching: Arc::default(),
            ending: CancellationToken::new(),
        }
    }

    /// Returns a server of the same database for one more session.
    pub(super) fn for_session(&self) -> Self {
        Self { session: Arc::default(), ..self.clone() }
    }

    /// Returns a server for one more session, which reaches what `config` says.
    pub(super) fn for_config(&self, config: Arc<Config>) -> Self {
        Self { config, ..self.for_session() }
    }

    /// Returns what a request may reach: what its transport says, else what the server was started with.
    fn config(&self, extensions: &Extensions) -> Arc<Config> {
        let of_transport = extensions.get::<http::request::Parts>().and_then(|parts| parts.extensions.get());
        of_transport.unwrap_or(&self.config).clone()
    }

    /// Returns the least level of what the client of a request is logged.
    fn level(&self, request: &RequestContext<RoleServer>) -> Option<LoggingLevel> {
        match era(request) {
            Era::Modern => request.meta.log_level(),
            Era::Legacy => Some(self.session.level().unwrap_or(LoggingLevel::Info)),
        }
    }

    /// Returns who hears of changes on behalf of this session.
    fn subscriber(&self, extensions: &Extensions) -> &Arc<Subscriber> {
        let subscribe = || Arc::new(self.hub.subscribe(&self.config(extensions).selection));
        self.session.subscriber.get_or_init(subscribe)
    }

    /// Runs `f` on the blocking pool in one read transaction, after the client's earlier writes.
    async fn read<T: Send + 'static>(
        &self,
        request: &RequestContext<RoleServer>,
        f: impl FnOnce(&crate::store::Db<'_>, &Config) -> Result<T> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let ticket = wait_for_earlier_writes(request).await;
        let cancelled = CancellationToken::new();
        let (store, config) = (limited(&self.store, cancelled.clone()), self.config(&request.extensions));
        let working = async {
            let _permit = self.reading.acquire().await;
            blocking(move || {
                let _turn = ticket;
                store.read(|db| f(db, &config))
            })
            .await
        };
        let value = or_cancelled(request, &self.ending, &cancelled, working).await?;
        value.map_err(|error| error_data(&error))
    }

    /// Answers a hot read as the front does, in rmcp's types.
    async fn answer<T: DeserializeOwned>(
        &self,
        request: &RequestContext<RoleServer>,
        read: Read<'static>,
    ) -> Result<T, ErrorData> {
        let era = era(request);
        let json = self
            .read(request, move |db, config| {
                let mut out = Vec::new();
                reads::answer(db, config, &read, era, &mut out)?;
                Ok(out)
            })
            .await?;
        serde_json::from_slice(&json)
            .map_err(|error| error_data(&Error::internal("an answer does not fit rmcp's type").with_source(error)))
    }
}

fn era(request: &RequestContext<RoleServer>) -> Era {
    match request.protocol_version() {
        Some(version) if version >= ProtocolVersion::V_2026_07_28 => Era::Modern,
        _ => Era::Legacy,
    }
}

/// Says for how long what does not change may be kept, to peers that know the word.
macro_rules! lasting {
    ($request:expr, $result:expr) => {
        match era($request) {
            Era::Modern => $result.with_ttl_ms(LASTING).with_cache_scope(CacheScope::Private),
            Era::Legacy => $result,
        }
    };
}

/// Waits until the client's earlier writes have ended and few enough answers wait for it, and returns the guard that
/// later reads wait for.
async fn wait_for_earlier_writes(request: &RequestContext<RoleServer>) -> Option<Arc<Ticket>> {
    let ticket = request.extensions.get::<Arc<Ticket>>().cloned();
    if let Some(ticket) = &ticket {
        ticket.wait().await;
    }
    if let Some(guard) = request.extensions.get::<Arc<HandlerGuard>>() {
        guard.wait_for_room().await;
    }
    ticket
}

/// What a call holds that others wait for.
struct Held {
    /// Its place in its client's order.
    ticket: Option<Arc<Ticket>>,
    /// Its right to read, of a limited number.
    permit: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Held {
    fn permit(&self) -> MutexGuard<'_, Option<OwnedSemaphorePermit>> {
        self.permit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give_back(&self) {
        self.permit().take();
        if let Some(ticket) = &self.ticket {
            ticket.end();
        }
    }
}

/// Waits for `working`; says in `cancelled` when the client gave up or the server ends, and then waits for its end.
async fn or_cancelled<T>(
    request: &RequestContext<RoleServer>,
    ending: &CancellationToken,
    cancelled: &CancellationToken,
    working: impl Future<Output = T>,
) -> T {
    let mut working = std::pin::pin!(working);
    tokio::select! {
        done = &mut working => return done,
        () = request.ct.cancelled() => {}
        () = ending.cancelled() => {}
    }
    cancelled.cancel();
    working.await
}

async fn blocking<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> Result<T, ErrorData> {
    tokio::task::spawn_blocking(f).await.map_err(|error| {
        tracing::error!(%error, "a handler ended abnormally");
        error_data(&Error::internal("a handler ended abnormally"))
    })
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let identity = self.config.identity;
        if identity == Identity::Agentpack {
            let capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
            return ServerConfig::new(capabilities)
                .with_protocol_version(ProtocolVersion::V_2025_06_18)
                .with_server_info(Implementation::new(identity.name(), env!("CARGO_PKG_VERSION")))
                .with_instructions(DEPLOY_INSTRUCTIONS);
        }
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_logging()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_skills_with_directory_read()
            .build();
        ServerConfig::new(capabilities)
            // What an unsupported version is answered with (contract 000).
            .with_protocol_version(ProtocolVersion::V_2025_06_18)
            .with_server_info(Implementation::new(identity.name(), env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn discover(&self, _context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        Ok(DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), self.get_info())
            .with_ttl_ms(LASTING)
            .with_cache_scope(CacheScope::Private))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if !self.session.told.swap(true, Ordering::Relaxed) {
            let subscriber = Arc::clone(self.subscriber(&context.extensions));
            self.hub.tell(context.peer, subscriber, self.session.ended.clone());
        }
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(accepted(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let config = self.config(&context.request_context().extensions);
        self.hub.listen(context, &config.selection).await;
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if self.subscriber(&context.extensions).want(&self.store, &request.uri) {
            return Ok(());
        }
        let why =
            format!("A client may subscribe to {MAX_URIS} resources at once, of {LONGEST_URI} bytes each at most");
        Err(error_data(&Error::new(Code::InvalidArgument, why)))
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriber(&context.extensions).unwant(&request.uri);
        Ok(())
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if era(&context) == Era::Modern {
            return Err(no_method("logging/setLevel"));
        }
        *self.session.level() = Some(request.level);
        Ok(())
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor).map(Into::into);
        self.answer(&context, Read::Prompts { cursor }).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let config = self.config(&context.extensions);
        if let Some(extension) = config.extended.for_what("prompts/get", &request.name) {
            return extension.prompt(request, context).await;
        }
        let mut arguments = std::collections::BTreeMap::new();
        for (name, value) in request.arguments.unwrap_or_default() {
            let serde_json::Value::String(value) = value else {
                let why = format!("Invalid params for prompts/get: `arguments.{name}` must be a string");
                return Err(error_data(&Error::new(Code::InvalidArgument, why)));
            };
            arguments.insert(name, value);
        }
        let read = Read::Prompt { name: request.name.into(), arguments };
        self.answer::<GetPromptResult>(&context, read).await.map(Into::into)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor).map(Into::into);
        self.answer(&context, Read::Resources { cursor }).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        only_page(request.and_then(|request| request.cursor))?;
        let mut templates = templates::list();
        let config = self.config(&context.extensions);
        templates.extend(config.extended.0.iter().flat_map(|extension| extension.templates()));
        Ok(lasting!(&context, ListResourceTemplatesResult::with_all_items(templates)))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let config = self.config(&context.extensions);
        if let Some(extension) = config.extended.for_what("resources/read", &request.uri) {
            return extension.read(request, context).await;
        }
        let read = Read::Resource { uri: request.uri.into() };
        self.answer::<ReadResourceResult>(&context, read).await.map(Into::into)
    }

    async fn list_skills(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        self.read(&context, move |db, config| skills::list(db, config, cursor.as_deref())).await
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        self.read(&context, move |db, config| skills::get(db, config, &request.uri)).await
    }

    async fn read_resource_directory(
        &self,
        request: ReadResourceDirectoryRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceDirectoryResult, ErrorData> {
        only_page(request.cursor)?;
        self.read(&context, move |db, config| skills::directory(db, config, &request.uri)).await
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        only_page(request.and_then(|request| request.cursor))?;
        let tools = self.tools.of(&self.config(&context.extensions));
        Ok(lasting!(&context, ListToolsResult::with_all_items(tools)))
    }

    /// Returns a tool whose arguments stand in headers too; the operations have none of those.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let extension = self.config.extended.for_what("tools/call", name)?;
        extension.tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let config = self.config(&context.extensions);
        if let Some(extension) = config.extended.for_what("tools/call", &request.name) {
            return extension.call(request, context).await;
        }
        let Some(entry) = tools::find(&request.name, &config) else {
            return Err(unknown_tool(&request.name, &config));
        };
        let held = Arc::new(Held { ticket: wait_for_earlier_writes(&context).await, permit: Mutex::default() });
        let client = context.client_info().map(|client| client.name.clone());
        let (notes, sending) = Notes::to(&context, self.level(&context));
        let cancelled = CancellationToken::new();
        // A write reads what it needs to the end, or to put back what it changed.
        let store = match entry.effect.reads() {
            true => limited(&self.store, cancelled.clone()),
            false => self.store.clone(),
        };
        // Whatever an operation says of itself, it writes nothing for who may only read.
        let store = if config.read_only { store.reading() } else { store };
        let operation = Context {
            clock: Clock::system(),
            actor: actor(&config, client.as_deref()),
            max_answer: config.max_answer,
            identity: Some(config.identity.name().to_owned()),
            progress: notes.progress(&context),
            cancelled: cancelled.clone(),
            step_aside: Arc::new({
                let held = Arc::clone(&held);
                move || held.give_back()
            }),
            allow_outside: config.allow_outside.clone(),
            ..Context::shell(store, config.selection.clone())
        };
        let asker = config.grant.as_ref().map(|grant| grant.key.as_str());
        let working = async {
            let _seat = if entry.one_at_a_time { self.searching.take(asker).await } else { None };
            // A write waits for the one before it in the database, where nothing else waits for it.
            if entry.effect.reads() {
                *held.permit() = Arc::clone(&**self.reading).acquire_owned().await.ok();
            }
            blocking(move || {
                let result = tools::call(entry, request.arguments, &operation, &notes);
                // Later reads wait until the handler has ended, also where nobody waits for its reply.
                held.give_back();
                result
            })
            .await
        };
        let result = or_cancelled(&context, &self.ending, &cancelled, working).await?;
        sending.end().await;
        Ok(result.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.read(&context, move |db, config| completion::complete(db, config, &request)).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if era(&context) == Era::Modern && LEGACY_ONLY.contains(&request.method.as_str()) {
            return Err(no_method(&request.method));
        }
        Err(refuse(&request.method, request.params.as_ref()))
    }
}

/// Who calls, for the trail: the key where there is one, since a client's own name is what it says of itself.
fn actor(config: &Config, client: Option<&str>) -> String {
    let client = client.unwrap_or("unknown");
    match &config.grant {
        Some(grant) => format!("key:{}:{client}", grant.key),
        None => format!("mcp:{client}"),
    }
}

fn unknown_tool(name: &str, config: &Config) -> ErrorData {
    let tools = tools::list(config);
    let near = crate::error::nearest(name, tools.iter().map(|tool| tool.name.as_ref()));
    let hint = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
    ErrorData::invalid_params(
        format!("Unknown tool '{}'{hint}", name.escape_debug()),
        Some(serde_json::json!({ "name": name })),
    )
}
