//! Implements rmcp's handler trait: each method calls the module of its family.

#![expect(
    deprecated,
    reason = "the newest protocol revision has no logging and no resources/subscribe, but older revisions do"
)]

use std::future::ready;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, DiscoverResult, GetPromptRequestParams, GetPromptResponse, GetSkillRequestParams, GetSkillResult,
    GetTaskParams, GetTaskResult, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult, ReadResourceRequestParams, ReadResourceResponse,
    ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
    UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::{Server, lifecycle, prompts, resources, skills, subscriptions, tasks, tools};
use crate::mcp::call_log::recorded::{self, record, recorded, recorded_as};

type Request = RequestContext<RoleServer>;
type Page = Option<PaginatedRequestParams>;
type Result<T, E = ErrorData> = std::result::Result<T, E>;

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        lifecycle::info(self)
    }

    async fn initialize(&self, params: InitializeRequestParams, request: Request) -> Result<InitializeResult> {
        let answered = lifecycle::initialize(self, &params, &request);
        // When a request wakes a resting session, rmcp calls `initialize` again with the record of that request. The
        // outcome of `initialize` must not be recorded there.
        let record = record(&request.extensions).filter(|record| record.is_of("initialize"));
        recorded(record, ready(answered)).await
    }

    async fn discover(&self, request: Request) -> Result<DiscoverResult> {
        let answered = lifecycle::refuse_self(self, request.client_capabilities().as_ref())
            .map(|()| lifecycle::discover(self, &self.config(&request.extensions)));
        recorded(record(&request.extensions), ready(answered)).await
    }

    async fn on_initialized(&self, notification: NotificationContext<RoleServer>) {
        lifecycle::initialized(self, notification);
    }

    async fn set_level(&self, params: SetLevelRequestParams, request: Request) -> Result<()> {
        recorded(record(&request.extensions), ready(lifecycle::set_level(self, &params, &request))).await
    }

    async fn on_custom_request(&self, custom: CustomRequest, request: Request) -> Result<CustomResult> {
        recorded(record(&request.extensions), ready(Err(lifecycle::unreadable(&custom, &request)))).await
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        subscriptions::accepted_filter(requested)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<()> {
        subscriptions::listen(self, context).await
    }

    async fn subscribe(&self, params: SubscribeRequestParams, request: Request) -> Result<()> {
        recorded(record(&request.extensions), subscriptions::subscribe(self, &params, &request)).await
    }

    async fn unsubscribe(&self, params: UnsubscribeRequestParams, request: Request) -> Result<()> {
        recorded(record(&request.extensions), ready(subscriptions::unsubscribe(self, &params, &request))).await
    }

    async fn list_prompts(&self, page: Page, request: Request) -> Result<ListPromptsResult> {
        recorded(record(&request.extensions), prompts::list(self, page, &request)).await
    }

    async fn get_prompt(&self, params: GetPromptRequestParams, request: Request) -> Result<GetPromptResponse> {
        recorded_as(record(&request.extensions), prompts::get(self, params, request), recorded::prompt).await
    }

    async fn complete(&self, params: CompleteRequestParams, request: Request) -> Result<CompleteResult> {
        recorded(record(&request.extensions), prompts::complete(self, params, &request)).await
    }

    async fn list_resources(&self, page: Page, request: Request) -> Result<ListResourcesResult> {
        recorded(record(&request.extensions), resources::list(self, page, &request)).await
    }

    async fn list_resource_templates(&self, page: Page, request: Request) -> Result<ListResourceTemplatesResult> {
        recorded(record(&request.extensions), resources::list_templates(self, page, &request)).await
    }

    async fn read_resource(&self, params: ReadResourceRequestParams, request: Request) -> Result<ReadResourceResponse> {
        recorded_as(record(&request.extensions), resources::read(self, params, &request), recorded::resource).await
    }

    async fn list_skills(&self, page: Page, request: Request) -> Result<ListSkillsResult> {
        recorded(record(&request.extensions), skills::list(self, page, &request)).await
    }

    async fn get_skill(&self, params: GetSkillRequestParams, request: Request) -> Result<GetSkillResult> {
        recorded(record(&request.extensions), skills::get(self, params, &request)).await
    }

    async fn read_resource_directory(
        &self,
        params: ReadResourceDirectoryRequestParams,
        request: Request,
    ) -> Result<ReadResourceDirectoryResult> {
        recorded(record(&request.extensions), skills::read_directory(self, params, &request)).await
    }

    async fn list_tools(&self, page: Page, request: Request) -> Result<ListToolsResult> {
        recorded(record(&request.extensions), tools::list(self, page, &request)).await
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::get(self, name)
    }

    async fn get_task(&self, params: GetTaskParams, request: Request) -> Result<GetTaskResult> {
        recorded(record(&request.extensions), tasks::get(self, params, &request)).await
    }

    async fn update_task(&self, params: UpdateTaskParams, request: Request) -> Result<()> {
        recorded(record(&request.extensions), tasks::update(self, params, &request)).await
    }

    async fn cancel_task(&self, params: CancelTaskParams, request: Request) -> Result<()> {
        recorded(record(&request.extensions), tasks::cancel(self, params, &request)).await
    }

    async fn call_tool(&self, params: CallToolRequestParams, request: Request) -> Result<CallToolResponse> {
        recorded_as(record(&request.extensions), tools::dispatch(self, params, request), recorded::call).await
    }
}
