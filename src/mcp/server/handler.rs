//! Implements rmcp's handler trait: each method calls the module of its family.

#![expect(
    deprecated,
    reason = "the newest protocol revision has no logging and no resources/subscribe, but older revisions do"
)]

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

type Request = RequestContext<RoleServer>;
type Page = Option<PaginatedRequestParams>;
type Result<T, E = ErrorData> = std::result::Result<T, E>;

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        lifecycle::info(self)
    }

    async fn initialize(&self, params: InitializeRequestParams, request: Request) -> Result<InitializeResult> {
        lifecycle::refuse_self(self, Some(&params.capabilities))?;
        request.peer.set_peer_info(params.clone());
        let config = self.config(&request.extensions);
        self.negotiate_initialize(&params).map(|result| lifecycle::with_instructions(result, &config))
    }

    async fn discover(&self, request: Request) -> Result<DiscoverResult> {
        lifecycle::refuse_self(self, request.client_capabilities().as_ref())?;
        Ok(lifecycle::discover(self, &self.config(&request.extensions)))
    }

    async fn on_initialized(&self, notification: NotificationContext<RoleServer>) {
        lifecycle::initialized(self, notification);
    }

    async fn set_level(&self, params: SetLevelRequestParams, request: Request) -> Result<()> {
        lifecycle::set_level(self, &params, &request)
    }

    async fn on_custom_request(&self, custom: CustomRequest, request: Request) -> Result<CustomResult> {
        Err(lifecycle::unreadable(&custom, &request))
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        subscriptions::accepted_filter(requested)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<()> {
        subscriptions::listen(self, context).await
    }

    async fn subscribe(&self, params: SubscribeRequestParams, request: Request) -> Result<()> {
        subscriptions::subscribe(self, &params, &request).await
    }

    async fn unsubscribe(&self, params: UnsubscribeRequestParams, request: Request) -> Result<()> {
        subscriptions::unsubscribe(self, &params, &request)
    }

    async fn list_prompts(&self, page: Page, request: Request) -> Result<ListPromptsResult> {
        prompts::list(self, page, &request).await
    }

    async fn get_prompt(&self, params: GetPromptRequestParams, request: Request) -> Result<GetPromptResponse> {
        prompts::get(self, params, request).await
    }

    async fn complete(&self, params: CompleteRequestParams, request: Request) -> Result<CompleteResult> {
        prompts::complete(self, params, &request).await
    }

    async fn list_resources(&self, page: Page, request: Request) -> Result<ListResourcesResult> {
        resources::list(self, page, &request).await
    }

    async fn list_resource_templates(&self, page: Page, request: Request) -> Result<ListResourceTemplatesResult> {
        resources::list_templates(self, page, &request).await
    }

    async fn read_resource(&self, params: ReadResourceRequestParams, request: Request) -> Result<ReadResourceResponse> {
        resources::read(self, params, &request).await
    }

    async fn list_skills(&self, page: Page, request: Request) -> Result<ListSkillsResult> {
        skills::list(self, page, &request).await
    }

    async fn get_skill(&self, params: GetSkillRequestParams, request: Request) -> Result<GetSkillResult> {
        skills::get(self, params, &request).await
    }

    async fn read_resource_directory(
        &self,
        params: ReadResourceDirectoryRequestParams,
        request: Request,
    ) -> Result<ReadResourceDirectoryResult> {
        skills::read_directory(self, params, &request).await
    }

    async fn list_tools(&self, page: Page, request: Request) -> Result<ListToolsResult> {
        tools::list(self, page, &request).await
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::get(self, name)
    }

    async fn get_task(&self, params: GetTaskParams, request: Request) -> Result<GetTaskResult> {
        tasks::get(self, params, &request).await
    }

    async fn update_task(&self, params: UpdateTaskParams, request: Request) -> Result<()> {
        tasks::update(self, params, &request).await
    }

    async fn cancel_task(&self, params: CancelTaskParams, request: Request) -> Result<()> {
        tasks::cancel(self, params, &request).await
    }

    async fn call_tool(&self, params: CallToolRequestParams, request: Request) -> Result<CallToolResponse> {
        tools::dispatch(self, params, request).await
    }
}
