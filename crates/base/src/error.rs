//! Defines [`Error`] with its [`Code`], and the one table that says how each code appears on each interface.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use crate::redact::redacted;

/// A result whose error is [`Error`] unless another type is given.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The cause of a failure. It decides how much of the error's message users and agents see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The caller. Users and agents see the same message.
    Caller,
    /// The machine, for example a full disk or a damaged file. Users and agents see the same message.
    Machine,
    /// mcpkg itself: a bug. Agents see no internals; the shell shows the cause with `-v`.
    Us,
}

macro_rules! codes {
    ($($variant:ident $name:literal $exit:literal $rpc:literal $smctl:literal $blame:ident $reason:literal [$($action:literal)*] $about:literal;)*) => {
        /// A stable name for a kind of failure. The table in this file lists all codes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $(#[doc = $about] $variant,)*
        }

        impl Code {
            /// All codes, in the order of the table in this file.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// Returns the name that users and agents see: `E_NOT_FOUND`.
            pub const fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            /// Returns the exit status of the shell command.
            pub const fn exit(self) -> u8 {
                match self { $(Code::$variant => $exit,)* }
            }

            /// Returns the JSON-RPC code for a failed MCP method other than `tools/call`.
            pub const fn rpc(self) -> i32 {
                match self { $(Code::$variant => $rpc,)* }
            }

            /// Returns the JSON-RPC code for a failed tool or resource of contract 003 (smctl).
            pub const fn smctl(self) -> i32 {
                match self { $(Code::$variant => $smctl,)* }
            }

            pub const fn blame(self) -> Blame {
                match self { $(Code::$variant => Blame::$blame,)* }
            }

            /// Returns the `reason_code` of contract 000 (agentpack), which tells programs why the call failed.
            pub const fn reason(self) -> &'static str {
                match self { $(Code::$variant => $reason,)* }
            }

            /// Returns the `next_actions` of contract 000 (agentpack): what a program can do next. An error's details
            /// may list other actions instead.
            pub const fn next_actions(self) -> &'static [&'static str] {
                match self { $(Code::$variant => &[$($action),*],)* }
            }

            /// Returns the description for the reference page.
            pub const fn about(self) -> &'static str {
                match self { $(Code::$variant => $about,)* }
            }
        }
    };
}

codes! {
    // Columns: variant, name, exit, rpc, smctl, blame, reason_code, next_actions, about
    InvalidArgument      "E_INVALID_ARGUMENT"              2 -32602 -32602 Caller  "invalid_argument" ["fix_arguments" "retry_command"] "An argument is missing, malformed, or in conflict with another argument.";
    NoProject            "E_NO_PROJECT"                    1 -32602 -32000 Caller  "no_project" ["select_project" "retry_command"] "The call needs a project, but no project is selected.";
    NotFound             "E_NOT_FOUND"                     1 -32602 -32000 Caller  "not_found" [] "The named project, prompt, resource, revision or file does not exist.";
    AlreadyExists        "E_ALREADY_EXISTS"                1 -32602 -32000 Caller  "already_exists" [] "The name or URI is already in use.";
    ConfirmRequired      "E_CONFIRM_REQUIRED"              1 -32602 -32000 Caller  "confirm_required" ["retry_with_yes"] "The operation cannot be undone and was not confirmed.";
    ImportConflict       "E_IMPORT_CONFLICT"               1 -32602 -32000 Caller  "import_conflict" ["resolve_import_conflict"] "An import would overwrite existing items that differ, or two files would get the same name; nothing was imported.";
    Cancelled            "E_CANCELLED"                   130 -32603 -32000 Caller  "cancelled" [] "The user cancelled \
     before anything was changed.";
    Timeout              "E_TIMEOUT"                       1 -32603 -32000 Machine "timeout" ["retry_command"] "A client was too slow to read, an API was too slow to respond, or the caller stopped waiting for the response.";
    TooLarge             "E_TOO_LARGE"                     1 -32602 -32000 Caller  "too_large" [] "The content is too large for one response.";
    TemplateFailed       "E_TEMPLATE_FAILED"               1 -32602 -32000 Caller  "template_failed" [] "A prompt template cannot be parsed, or cannot be rendered with these arguments.";
    EditorFailed         "E_EDITOR_FAILED"                 1 -32602 -32000 Caller  "editor_failed" [] "The editor could not be started, the editor exited with an error, or the item was changed by someone else while you edited it. Your edit was not saved.";
    ConfirmTokenRequired "E_CONFIRM_TOKEN_REQUIRED"        1 -32602 -32000 Caller  "confirm_token_required" ["call_deploy" "retry_deploy_apply"] "deploy_apply was called without the confirm token returned by deploy.";
    ConfirmTokenExpired  "E_CONFIRM_TOKEN_EXPIRED"         1 -32602 -32000 Caller  "confirm_token_expired" ["call_deploy" "retry_deploy_apply"] "The confirm token is older than ten minutes, or the clock was set back to a time before the token was issued.";
    ConfirmTokenMismatch "E_CONFIRM_TOKEN_MISMATCH"        1 -32602 -32000 Caller  "confirm_token_mismatch" ["call_deploy" "retry_deploy_apply"] "The confirm token is unknown, was already used, or was issued for other inputs or another plan; details.mismatch_kind says which of these applies.";
    ConsentRequired      "E_CONSENT_REQUIRED"              1 -32602 -32000 Caller  "consent_required" ["ask_user" "retry_command"] "A person must consent first; details.consent is the id of the stored request, and details.command is the command for the person to run.";
    ConsentDenied        "E_CONSENT_DENIED"                1 -32602 -32000 Caller  "consent_denied" [] "The user denied this request, or the client refused to ask the user; the message says which of the two happened.";
    ConsentExpired       "E_CONSENT_EXPIRED"               1 -32602 -32000 Caller  "consent_expired" ["retry_command"] "The request for consent has expired or was already used.";
    TooMany              "E_TOO_MANY"                      1 -32602 -32000 Caller  "too_many" ["ask_user" "retry_command"] "Too many consent requests or drafts are already waiting for a person; nothing was changed.";
    ConsentPending       "E_CONSENT_PENDING"               1 -32602 -32000 Caller  "consent_pending" ["ask_user" "retry_command"] "The consent request that the nonce belongs to is still waiting for a person's decision; nothing was changed.";
    ConsentMismatch      "E_CONSENT_MISMATCH"              1 -32602 -32000 Caller  "consent_mismatch" ["retry_command"] "The nonce is unknown, was already used, or was issued to another requester or for another plan; details.mismatch_kind says which of these applies.";
    ExecuteDenied        "E_EXECUTE_DENIED"                1 -32602 -32000 Caller  "execute_denied" ["ask_user"] "The project's policy, the server (--no-execute) or the access key does not allow running commands.";
    InputsRequired       "E_INPUTS_REQUIRED"               1 -32602 -32000 Caller  "inputs_required" ["fix_arguments" "retry_command"] "Some inputs of a workflow have no value; details.inputs_required names these inputs.";
    StepFailed           "E_STEP_FAILED"                   1 -32603 -32000 Machine "step_failed" ["retry_command"] "A step failed, so its run failed too; details.run and details.step name the run and the step, and details.code is the step's error code.";
    StepUncertain        "E_STEP_UNCERTAIN"                1 -32602 -32000 Caller  "step_uncertain" ["ask_user"] "It is unknown whether the last attempt at a step took effect, and a retry is not safe. A person must make the decision with `mcpkg workflow resume RUN --step ID=retry|skip|done`.";
    RunBusy              "E_RUN_BUSY"                      1 -32602 -32000 Caller  "run_busy" ["retry_command"] "Another process or another call is working on the run.";
    RunState             "E_RUN_STATE"                     1 -32602 -32000 Caller  "run_state" [] "The requested action is not possible in the run's current state; details.state names the state.";
    SecretLost           "E_SECRET_LOST"                   1 -32602 -32000 Caller  "secret_lost" ["ask_user"] "A step needs a secret from an earlier step, but the process that held the secret has ended; secrets are kept only in memory.";
    TerminalRequired     "E_TERMINAL_REQUIRED"             1 -32602 -32000 Caller  "terminal_required" ["ask_user"] "Only a person at a terminal can do this; --yes cannot skip the confirmation.";
    WorkflowInvalid      "E_WORKFLOW_INVALID"              1 -32602 -32000 Caller  "workflow_invalid" ["fix_workflow" "retry_command"] "A workflow has errors; details.errors and details.warnings list each finding with its location.";
    DraftStale           "E_DRAFT_STALE"                   1 -32602 -32000 Caller  "draft_stale" ["ask_user"] "The draft is out of date: its workflow has changed, or somebody has already decided on the draft or edited it. details.diff shows the change. This call changed nothing.";
    AdoptConfirmRequired "E_ADOPT_CONFIRM_REQUIRED"        1 -32602 -32000 Caller  "adopt_confirm_required" ["retry_with_adopt"] "The operation would change or delete files that mcpkg did not write, or that have changed since mcpkg wrote them.";
    DeployInProgress     "E_DEPLOY_IN_PROGRESS"            1 -32602 -32000 Caller  "deploy_in_progress" ["retry_command"] "Another process is running a deploy on this database.";
    DeployUndone         "E_DEPLOY_UNDONE"                 1 -32603 -32000 Machine "deploy_undone" ["fix_permissions" "retry_command"] "A deploy failed partway, and mcpkg undid its changes. details.kept lists files that something else changed in the meantime; mcpkg did not restore these files.";
    DeployedFiles        "E_DEPLOYED_FILES"                1 -32602 -32000 Caller  "deployed_files" ["rollback_to_pristine" "retry_command"] "The project still has deployed files; roll back these files before you delete the project.";
    RootRequired         "E_ROOT_REQUIRED"                 1 -32602 -32000 Caller  "root_required" ["bind_folder" "retry_with_root"] "Cannot choose a deploy root: the current folder is the home folder or an agent's own folder.";
    PlanChanged          "E_PLAN_CHANGED"                  1 -32602 -32000 Caller  "plan_changed" ["retry_command"] "The plan changed after it was shown; nothing was written.";
    Unapproved           "E_UNAPPROVED"                    1 -32602 -32000 Caller  "unapproved" ["ask_user"] "The database requests something that you have not approved on this machine, such as writing below a folder that you have never deployed to. A person can approve the request at a terminal.";
    SnapshotNotFound     "E_SNAPSHOT_NOT_FOUND"            1 -32602 -32000 Caller  "snapshot_not_found" ["list_snapshots" "retry_command"] "No snapshot has this id, or the snapshot belongs to another source, machine or root.";
    SnapshotUnusable     "E_SNAPSHOT_UNUSABLE"             1 -32602 -32000 Caller  "snapshot_unusable" ["list_snapshots" "retry_command"] "You cannot roll back to this snapshot: the snapshot was undone or pruned, or is still being applied.";
    ConfigMissing        "E_CONFIG_MISSING"                1 -32602 -32000 Caller  "config_missing" ["retry_with_repo" "retry_command"] "The config repo has no agentpack.yaml.";
    SkillInvalid         "E_SKILL_INVALID"                 1 -32602 -32000 Caller  "skill_invalid" ["fix_skill" "retry_command"] "A skill violates a rule; details name each file and line.";
    ConfigInvalid        "E_CONFIG_INVALID"                1 -32602 -32000 Caller  "config_invalid" ["fix_config" "retry_command"] "The config repo, a module or an overlay violates a rule; details describe the violation.";
    ConfigVersion        "E_CONFIG_UNSUPPORTED_VERSION"    1 -32602 -32000 Caller  "config_unsupported_version" ["fix_config_version" "retry_command"] "agentpack.yaml has an unsupported version.";
    LockfileMissing      "E_LOCKFILE_MISSING"              1 -32602 -32000 Caller  "lockfile_missing" ["fix_config" "retry_command"] "agentpack.lock.json is required but missing.";
    LockfileInvalid      "E_LOCKFILE_INVALID"              1 -32602 -32000 Caller  "lockfile_invalid_json" ["regenerate_lockfile" "retry_command"] "agentpack.lock.json is damaged, or a module differs from its pinned version.";
    LockfileVersion      "E_LOCKFILE_UNSUPPORTED_VERSION"  1 -32602 -32000 Caller  "lockfile_unsupported_version" ["regenerate_lockfile" "retry_command"] "agentpack.lock.json has an unsupported version.";
    TargetUnsupported    "E_TARGET_UNSUPPORTED"            1 -32602 -32000 Caller  "target_filter_unsupported" ["inspect_help_json" "retry_with_supported_target"] "No target has this name.";
    DesiredStateConflict "E_DESIRED_STATE_CONFLICT"        1 -32602 -32000 Caller  "desired_state_conflict" ["resolve_desired_state_conflict" "retry_command"] "Two modules would write different content to the same file.";
    OverlayPatchFailed   "E_OVERLAY_PATCH_APPLY_FAILED"    1 -32602 -32000 Caller  "overlay_patch_apply_failed" ["regenerate_patch" "switch_to_dir_overlay" "retry_command"] "A patch in an overlay cannot be applied.";
    GitNotFound          "E_GIT_NOT_FOUND"                 1 -32602 -32002 Caller  "git_not_found" ["install_git" "retry_command"] "git is required but not installed.";
    GitFailed            "E_GIT_FAILED"                    1 -32602 -32002 Caller  "git_failed" ["retry_command"] "git failed; the message is git's own error message.";
    GitTooOld            "E_GIT_TOO_OLD"                   1 -32602 -32002 Caller  "git_too_old" ["install_git" "retry_command"] "The installed git is too old to merge without touching the work tree; details name the installed version and the required version.";
    GitLocked            "E_GIT_LOCKED"                    1 -32602 -32002 Caller  "git_locked" ["retry_command"] "Another git process holds a lock and did not finish in time; nothing was changed.";
    GitRepoRequired      "E_GIT_REPO_REQUIRED"             1 -32602 -32002 Caller  "git_repo_required" ["init_git_repo" "retry_command"] "The config repo is not a git repository.";
    GitDirty             "E_GIT_WORKTREE_DIRTY"            1 -32602 -32002 Caller  "git_worktree_dirty" ["commit_or_stash" "retry_command"] "The config repo has uncommitted changes.";
    GitDetached          "E_GIT_DETACHED_HEAD"             1 -32602 -32002 Caller  "git_detached_head" ["checkout_branch" "retry_command"] "The config repo is not on a branch (detached HEAD).";
    SecretMissing        "E_SECRET_MISSING"                1 -32602 -32000 Caller  "secret_missing" ["ask_user" "retry_command"] "A secret cannot be read from its reference: the variable or file does not exist, other users can read the file, or the program failed.";
    RunnerUnavailable    "E_RUNNER_UNAVAILABLE"            1 -32603 -32000 Machine "runner_unavailable" ["ask_user"] "Nothing on this machine can run the tool in a sandbox; details.runners gives the reason for each runner. mcpkg does not run the tool without a sandbox instead.";
    ImageMissing         "E_IMAGE_MISSING"                 1 -32603 -32000 Machine "image_missing" ["ask_user" "retry_command"] "The container image that a tool runs in is not on this machine. mcpkg never downloads images; details.pull is the command that downloads the missing image.";
    ToolInput            "E_TOOL_INPUT"                    1 -32602 -32000 Caller  "tool_input" ["fix_arguments" "retry_command"] "The arguments do not match the tool's input schema; details.errors lists each error with its path.";
    ToolEnv              "E_TOOL_ENV"                      1 -32602 -32000 Caller  "tool_env" ["ask_user" "retry_command"] "Variables that the tool needs are not set, cannot be read, or are secrets shorter than four bytes; details.names lists these variables.";
    ToolFailed           "E_TOOL_FAILED"                   1 -32602 -32000 Caller  "tool_failed" ["fix_arguments" "retry_command"] "The tool exited with a nonzero status or was killed by a signal; details.stderr has the last part of the tool's error output.";
    ToolTimeout          "E_TOOL_TIMEOUT"                  1 -32602 -32000 Caller  "tool_timeout" ["retry_command"] "The tool exceeded its time limit and was stopped.";
    ToolLimit            "E_TOOL_LIMIT"                    1 -32602 -32000 Caller  "tool_limit" ["retry_command"] "The tool exceeded a limit and was stopped, or too many runs are already waiting to start; details.limit names the limit.";
    ToolOutput           "E_TOOL_OUTPUT"                   1 -32602 -32000 Caller  "tool_output" ["ask_user"] "The tool's output is not a single JSON value that matches the tool's output schema.";
    ClientInvalid        "E_CLIENT_CONFIG_INVALID"         1 -32602 -32000 Caller  "client_config_invalid" ["fix_config" "retry_command"] "An agent's configuration file is malformed, or the entry cannot be added to the file; mcpkg left the file unchanged.";
    ManifestInvalid      "E_MANIFEST_INVALID"              1 -32602 -32000 Caller  "manifest_invalid" ["fix_manifest" "retry_command"] "A tool's manifest is missing, malformed or violates a rule; details.errors lists each error with its location.";
    ArchiveInvalid       "E_ARCHIVE_INVALID"               1 -32602 -32000 Caller  "archive_invalid" [] "A package contains, or would contain, an entry that is not allowed in archives; details.entry names the entry, and details.rule names the rule.";
    SourceChanged        "E_SOURCE_CHANGED"                1 -32602 -32000 Caller  "source_changed" ["ask_user" "retry_command"] "A source changed unexpectedly: its history was rewritten, a tag was moved, or a file differs from the lock; nothing was written.";
    TrustRequired        "E_TRUST_REQUIRED"                1 -32602 -32000 Caller  "trust_required" ["ask_user"] "Your trust policy requires verified tools, but this tool is not verified; details.attestations says for each attestation whether it counts, and why.";
    TrustFailed          "E_TRUST_FAILED"                  1 -32602 -32000 Caller  "trust_failed" ["ask_user"] "A signer you trust has rejected this tool: either its audit failed, or the signer signed a different archive. No trust policy can override this.";
    TrustUnsupported     "E_TRUST_UNSUPPORTED"             1 -32602 -32000 Caller  "trust_unsupported" ["ask_user"] "This version of mcpkg cannot check this kind of attestation or identity, such as a Sigstore bundle.";
    KeyInvalid           "E_KEY_INVALID"                   1 -32602 -32000 Caller  "key_invalid" ["ask_user" "retry_command"] "A key file is missing, is not an ed25519 key in OpenSSH format, or can be read by other users.";
    ToolNotFound         "E_TOOL_NOT_FOUND"                1 -32602 -32000 Caller  "tool_not_found" ["enact__search" "retry_command"] "No registry has a tool with this name.";
    VersionNotFound      "E_VERSION_NOT_FOUND"             1 -32602 -32000 Caller  "version_not_found" ["choose_version" "retry_command"] "The tool does not have this version, or it has only yanked versions and pre-releases; details.versions lists the tool's versions.";
    VersionYanked        "E_VERSION_YANKED"                1 -32602 -32000 Caller  "version_yanked" ["ask_user" "retry_command"] "The publisher yanked this version of the tool; details.reason says why, and details.replacement names the version to use instead.";
    DigestMismatch       "E_DIGEST_MISMATCH"               1 -32602 -32000 Caller  "digest_mismatch" ["ask_user"] "The archive's SHA-256 differs from the SHA-256 in its registry; mcpkg did not use the archive.";
    DigestChanged        "E_DIGEST_CHANGED"                1 -32602 -32000 Caller  "digest_changed" ["ask_user"] "A registry has replaced the archive of a published version; mcpkg did not use the new archive.";
    RegistryUnreachable  "E_REGISTRY_UNREACHABLE"          1 -32603 -32000 Machine "registry_unreachable" ["retry_command"] "A registry cannot be reached, or did not respond in time.";
    RegistryRefused      "E_REGISTRY_REFUSED"              1 -32602 -32000 Caller  "registry_refused" ["ask_user"] "A registry refused the request; details.status and details.code come from the registry.";
    RegistryAnswer       "E_REGISTRY_ANSWER"               1 -32603 -32000 Machine "registry_answer" [] "A registry's response is invalid or exceeds a limit.";
    NamespaceMismatch    "E_NAMESPACE_MISMATCH"            1 -32602 -32000 Caller  "namespace_mismatch" ["ask_user"] "The key or token is not allowed to publish in this namespace.";
    PermissionDenied     "E_IO_PERMISSION_DENIED"          1 -32603 -32000 Machine "io_permission_denied" ["fix_permissions" "retry_command"] "One of the user's files or folders is not writable.";
    InvalidPath          "E_IO_INVALID_PATH"               1 -32603 -32000 Machine "io_invalid_path" ["fix_path" "retry_command"] "A path leads outside its folder, or the file system does not support the path.";
    PathTooLong          "E_IO_PATH_TOO_LONG"              1 -32603 -32000 Machine "io_path_too_long" ["shorten_path" "retry_command"] "A path is too long for the file system.";
    FileFailed           "E_FILE_FAILED"                   1 -32603 -32000 Machine "file_failed" ["fix_permissions" "retry_command"] "One of the user's files could not be read or written.";
    NotDatabase          "E_DB_CORRUPT"                    1 -32603 -32000 Machine "db_corrupt" [] "The file is not a database, is empty, or is damaged; mcpkg left the file unchanged.";
    ForeignDatabase      "E_DB_FOREIGN"                    1 -32603 -32000 Machine "db_foreign" [] "The file is another application's SQLite database, or contains objects that mcpkg did not create; mcpkg left the file unchanged.";
    NewerDatabase        "E_DB_NEWER"                      1 -32603 -32000 Machine "db_newer" [] "The database was written by a newer version of mcpkg; this version left the database unchanged.";
    MigrationDiverged    "E_MIGRATION_DIVERGED"            1 -32603 -32000 Machine "migration_diverged" [] "The database's migration history does not match this version of mcpkg; mcpkg left the database unchanged.";
    Unavailable          "E_DB_UNAVAILABLE"                1 -32603 -32000 Machine "db_unavailable" [] "The database cannot be opened: its folder is missing, unreadable or not writable.";
    AuditFailed          "E_AUDIT_FAILED"                  1 -32603 -32000 Machine "audit_failed" ["ask_user" "retry_command"] "The server was started with --audit-required and cannot write its audit log, so it refused the call.";
    ReadOnly             "E_READ_ONLY"                     1 -32603 -32000 Machine "read_only" [] "The database or its disk is read-only. Reads still work, but mcpkg refused the write.";
    DiskFull             "E_DISK_FULL"                     1 -32603 -32000 Machine "disk_full" ["free_disk_space" "retry_command"] "The disk is full. Reads still work, but the write failed and changed nothing.";
    Busy                 "E_DB_BUSY"                       1 -32603 -32000 Machine "db_busy" ["retry_command"] "The database was locked by another process for too long.";
    Replaced             "E_DB_REPLACED"                   1 -32603 -32000 Machine "db_replaced" [] "The database file was removed or replaced while it was in use.";
    InUse                "E_DB_IN_USE"                     1 -32603 -32000 Machine "db_in_use" [] "The operation cannot change the database while servers are connected to it.";
    Damaged              "E_DAMAGED"                       1 -32603 -32000 Machine "damaged" [] "Stored content does not match its SHA-256, or a row does not match its checksum; mcpkg did not return the damaged data.";
    OutcomeUnknown       "E_OUTCOME_UNKNOWN"               1 -32603 -32000 Machine "outcome_unknown" [] "The connection to the database server was lost during a commit; it is unknown whether the change was saved.";
    Storage              "E_STORAGE"                       1 -32603 -32000 Machine "storage" [] "The disk reported an I/O error; the write may not have been saved.";
    KeyRequired          "E_KEY_REQUIRED"                  1 -32602 -32000 Caller  "key_required" ["create_access_key" "retry_command"] "The server would accept connections from other machines, but no access key exists yet.";
    MayOnlyRead          "E_MAY_ONLY_READ"                 1 -32602 -32000 Caller  "may_only_read" ["use_writing_key" "retry_command"] "The caller's access key is read-only; nothing was changed.";
    Address              "E_ADDRESS"                       1 -32603 -32000 Machine "address_unavailable" ["retry_with_port"] "Cannot listen on the address: another server is using the address, or the address does not belong to this machine.";
    Internal             "E_INTERNAL"                     70 -32603 -32603 Us      "internal" [] "A bug in mcpkg.";
    AuditCritical        "E_AUDIT_CRITICAL"                3 -32602 -32000 Caller  "audit_critical" ["ask_user"] "A text that would be stored has something hidden or dangerous in it, which only a person at a terminal can accept; details.findings lists it, and nothing was changed.";
    PublisherChanged     "E_PUBLISHER_CHANGED"             1 -32602 -32000 Caller  "publisher_changed" ["ask_user" "retry_command"] "This version and the previous one have different publishers; nothing was installed.";
    NotInToolset         "E_NOT_IN_TOOLSET"                1 -32602 -32000 Caller  "not_in_toolset" ["ask_user"] "The tool is not in the toolset that limits which tools agents see.";
    WorkspaceNotFound    "E_WORKSPACE_NOT_FOUND"           4 -32602 -32001 Caller  "workspace_not_found" ["init_workspace" "retry_command"] "The folder is not in a workspace: there is no .smctl/workspace.toml in it or in any folder above it.";
    WorkspaceInvalid     "E_WORKSPACE_INVALID"             4 -32602 -32000 Caller  "workspace_invalid" ["fix_config" "retry_command"] "A workspace's manifest is malformed or violates a rule; details.findings lists each finding with its location.";
    WorkspaceExists      "E_WORKSPACE_EXISTS"              4 -32602 -32000 Caller  "workspace_exists" [] "A workspace already exists in this folder or a folder above it, or a folder that the command would create already exists; nothing was changed.";
    WorkspaceBusy        "E_WORKSPACE_BUSY"                1 -32603 -32000 Caller  "workspace_busy" ["retry_command"] "Another process is working in the workspace, or a process with another database was killed while it worked in the workspace; details.holder names the process.";
    FlowConflict         "E_FLOW_CONFLICT"                 1 -32602 -32002 Caller  "flow_conflict" ["resolve_conflicts" "retry_command"] "Branches have merge conflicts that a person must resolve; details.conflicts lists the conflicting paths in each repository. mcpkg moved no branch.";
    FlowDirty            "E_FLOW_DIRTY"                    1 -32602 -32002 Caller  "flow_dirty" ["commit_changes" "retry_command"] "A work tree has uncommitted changes, or a git operation is in progress in a work tree; mcpkg moved no branch.";
    FlowMoved            "E_FLOW_MOVED"                    1 -32602 -32002 Caller  "flow_moved" ["retry_command"] "A branch, tag or work tree has moved since the change was planned or made; mcpkg moved nothing.";
    FlowPushed           "E_FLOW_PUSHED"                   1 -32602 -32002 Caller  "flow_pushed" [] "The run's changes were already pushed, so they cannot be undone.";
    FlowUndone           "E_FLOW_UNDONE"                   1 -32603 -32002 Machine "flow_undone" ["retry_command"] "A change failed partway, and mcpkg undid it in all repositories. details.kept lists what something else moved in the meantime; mcpkg did not move these back.";
    BranchInUse          "E_BRANCH_IN_USE"                 1 -32602 -32002 Caller  "branch_in_use" ["retry_command"] "A branch is checked out in another work tree, or a branch with this name already exists.";
    BranchNotFound       "E_BRANCH_NOT_FOUND"              1 -32602 -32000 Caller  "branch_not_found" ["retry_command"] "No repository in the workspace has this branch.";
    TagExists            "E_TAG_EXISTS"                    1 -32602 -32002 Caller  "tag_exists" [] "The tag already exists in the repositories listed in details.repos; mcpkg moved no branch or tag.";
    WorktreeDirty        "E_WORKTREE_DIRTY"                1 -32602 -32002 Caller  "worktree_dirty" ["commit_changes" "retry_with_force"] "A worktree to be removed has uncommitted changes; mcpkg removed no worktree of the set.";
    RemoteFailed         "E_REMOTE_FAILED"                 7 -32603 -32002 Machine "remote_failed" ["retry_command"] "A remote repository could not be cloned, fetched from or pushed to; details name the repository and the reason.";
    SpecInvalid          "E_SPEC_INVALID"                  5 -32602 -32003 Caller  "spec_invalid" ["fix_spec" "retry_command"] "A spec is incomplete; details list each finding with its file and line.";
    GateFailed           "E_GATE_FAILED"                   1 -32602 -32000 Caller  "gate_failed" ["fix_model" "retry_command"] "The gate rejected or stopped a model, an input or a test; details.kind says why.";
    GateUnreachable      "E_GATE_UNREACHABLE"              7 -32603 -32005 Machine "gate_unreachable" ["retry_command"] "A remote model gate cannot be reached, or the gate sent an invalid response; details have the gate's URL and the reason.";
    GateEngineMissing    "E_GATE_ENGINE_MISSING"           7 -32603 -32005 Machine "gate_engine_missing" ["ask_user"] "This mcpkg was built without the engine that runs models. To build mcpkg with the engine, run `cargo install --path . --features full`.";
    BuildFailed          "E_BUILD_FAILED"                  6 -32602 -32004 Caller  "build_failed" ["fix_build" "retry_command"] "A command of a build failed; details have the repository, the step, and the last lines of the command's output.";
    RateLimited          "E_RATE_LIMITED"                  1 -32602 -32000 Caller  "rate_limited" ["wait" "retry_command"] "The requester is calling a tool more often than the server allows; retry_after_ms says how long to wait.";
    Ambiguous            "E_AMBIGUOUS"                     1 -32602 -32000 Caller  "ambiguous" ["fix_arguments" "retry_command"] "The input matches several commands; details.ids lists the commands.";
    SchemaVersion        "E_SCHEMA_VERSION"                1 -32602 -32000 Caller  "schema_version" ["fix_arguments" "retry_command"] "The input has an unsupported major version; details.supported lists the supported versions.";
    CatalogInvalid       "E_CATALOG_INVALID"               1 -32602 -32000 Caller  "catalog_invalid" ["fix_document" "retry_command"] "A document is not an OpenAPI description that mcpkg can turn into commands; details.violations lists each finding with its location.";
    HttpRefused          "E_HTTP_REFUSED"                  1 -32602 -32000 Caller  "http_refused" ["ask_user"] "A request was not sent, or a redirect was not followed, because the catalog does not allow the host; the message names the host.";
    PluginUnavailable    "E_PLUGIN_UNAVAILABLE"            1 -32603 -32000 Machine "plugin_unavailable" ["wait" "retry_command"] "A plugin cannot be started or reached, so it was not called; if it has failed before, retry_after_ms says when mcpkg will try again.";
    PluginFailed         "E_PLUGIN_FAILED"                 1 -32603 -32000 Machine "plugin_failed" ["retry_command"] "A plugin's tool failed, or the plugin exited or violated the protocol during the call; details have the plugin's output.";
    AgentFailed          "E_AGENT_FAILED"                  1 -32603 -32000 Machine "agent_failed" ["retry_command"] "The agent that `mcpkg ask` runs could not be started, or it failed; details.drafts lists the drafts that it proposed before.";
    HttpFailed           "E_HTTP_FAILED"                   1 -32603 -32000 Machine "http_failed" ["retry_command"] "An API cannot be reached, returned a status other than 2xx, or sent an unreadable response; details have the status and the start of the response.";
}

/// A failure: a code for programs, a message for people, and hints about what to do next.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    code: Code,
    message: String,
    details: Option<Value>,
    hints: Vec<String>,
    /// Hints for agents, each with the index of the hint that it replaces.
    for_agents: Vec<(usize, String)>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// Hides the secrets in a text, as [`redacted`] does. Callers sometimes pass a URL with a password where a name is
/// expected.
fn safe(text: String) -> String {
    let safe = match redacted(&text) {
        Cow::Borrowed(_) => None,
        Cow::Owned(safe) => Some(safe),
    };
    safe.unwrap_or(text)
}

fn safe_value(value: Value) -> Value {
    match value {
        Value::String(text) => safe(text).into(),
        Value::Array(values) => values.into_iter().map(safe_value).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, safe_value(value))).collect(),
        other => other,
    }
}

impl Error {
    /// Creates an error. The message names the thing that failed and has no final period.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            code,
            message: safe(message.into()),
            details: None,
            hints: Vec::new(),
            for_agents: Vec::new(),
            source: None,
        }))
    }

    /// Creates an internal error. `what` describes what should never happen, such as `row 7 has no blob`.
    pub fn internal(what: impl Into<String>) -> Self {
        Self::new(Code::Internal, what)
    }

    /// Creates the error for failing to read or write a user's file.
    pub fn file(verb: &str, path: &std::path::Path, source: std::io::Error) -> Self {
        let code = match source.kind() {
            std::io::ErrorKind::StorageFull => Code::DiskFull,
            std::io::ErrorKind::NotFound => Code::NotFound,
            _ => Code::FileFailed,
        };
        // Drop the name of the temporary file, which tempfile appends to the reason.
        let said = source.to_string();
        let why = said.split_once(" at path \"").map_or(&*said, |(why, _)| why);
        Self::new(code, format!("Cannot {verb} `{}`: {why}", path.display())).with_source(source)
    }

    /// Adds a line that says what the user can do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hints.push(safe(hint.into()));
        self
    }

    /// Adds a hint with two texts: commands for a person at a shell, tools and arguments for an agent.
    #[must_use]
    pub fn hint_for(mut self, shell: impl Into<String>, agent: impl Into<String>) -> Self {
        self.0.for_agents.push((self.0.hints.len(), safe(agent.into())));
        self.hint(shell)
    }

    /// Switches to the hints for an agent. `said` translates a hint without an agent's version; if it returns `None`,
    /// the hint is dropped.
    #[must_use]
    pub fn for_agent(mut self, said: impl Fn(&str) -> Option<String>) -> Self {
        let own = std::mem::take(&mut self.0.for_agents);
        let of = |n: usize| own.iter().find(|(of, _)| *of == n).map(|(_, hint)| hint.clone());
        self.0.hints = self.0.hints.iter().enumerate().filter_map(|(n, hint)| of(n).or_else(|| said(hint))).collect();
        self
    }

    #[must_use]
    pub fn with_hints(mut self, change: impl Fn(&str) -> String) -> Self {
        self.0.hints.iter_mut().for_each(|hint| *hint = change(hint));
        self
    }

    /// Adds the hint "did you mean" with the closest of `known`. If none is close, adds the hint `otherwise`, unless that is
    /// empty.
    #[must_use]
    pub fn suggest<'a>(
        self,
        wanted: &str,
        known: impl IntoIterator<Item = &'a str>,
        otherwise: impl Into<String>,
    ) -> Self {
        let hint = nearest(wanted, known).map_or_else(|| otherwise.into(), |near| format!("did you mean '{near}'?"));
        if hint.is_empty() { self } else { self.hint(hint) }
    }

    /// Attaches data for programs, such as the name that was not found.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.0.details = Some(safe_value(details));
        self
    }

    /// Attaches the cause, which `-v` and the log show.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    pub fn code(&self) -> Code {
        self.0.code
    }

    /// Returns the full message. Agents get [`Error::public_message`] instead.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    pub fn hints(&self) -> &[String] {
        &self.0.hints
    }

    pub fn details(&self) -> Option<&Value> {
        self.0.details.as_ref()
    }

    /// Returns the message for agents. The internals of a bug are only logged.
    pub fn public_message(&self) -> &str {
        match self.code().blame() {
            Blame::Us => "Internal error; see the server's log",
            Blame::Caller | Blame::Machine => self.message(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

/// Returns the member of `known` that `wanted` probably means, for "did you mean" hints; `None` if none is similar.
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (wanted.to_lowercase(), name.to_lowercase(), name))
        // In a short name, a single different letter lowers the similarity too much.
        .filter(|(wanted, known, _)| {
            let is_short = known.chars().count() == 3 || known.chars().count() == 4;
            strsim::jaro_winkler(wanted, known) > 0.85 || is_short && strsim::damerau_levenshtein(wanted, known) == 1
        })
        .map(|(wanted, known, name)| (strsim::jaro_winkler(&wanted, &known), name))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_exits_follow_the_design() {
        let mut names: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            let expected = match code {
                Code::InvalidArgument => 2,
                Code::Internal => 70,
                Code::Cancelled => 130,
                Code::AuditCritical => 3,
                // The exit statuses of smctl (contract 003).
                Code::WorkspaceNotFound | Code::WorkspaceInvalid | Code::WorkspaceExists => 4,
                Code::SpecInvalid => 5,
                Code::BuildFailed => 6,
                Code::RemoteFailed | Code::GateUnreachable | Code::GateEngineMissing => 7,
                _ => 1,
            };
            assert_eq!(code.exit(), expected, "{}", code.name());
            match code {
                Code::InvalidArgument => assert_eq!(code.smctl(), -32602),
                Code::Internal => assert_eq!(code.smctl(), -32603),
                _ => assert!((-32005..=-32000).contains(&code.smctl()), "{}", code.name()),
            }
        }
    }

    #[test]
    fn a_bug_keeps_its_internals_from_agents() {
        let error = Error::internal("row 7 has no blob");
        assert_eq!(error.public_message(), "Internal error; see the server's log");
        assert_eq!(error.to_string(), "row 7 has no blob");
    }

    #[test]
    fn the_hint_suggests_a_similar_name_or_is_the_other_text() {
        let suggested = |wanted, otherwise: &str| {
            let error = Error::new(Code::NotFound, "gone").suggest(wanted, ["code-review", "deploy"], otherwise);
            error.hints().to_vec()
        };
        assert_eq!(suggested("code-reveiw", "look"), ["did you mean 'code-review'?"]);
        assert_eq!(suggested("zzz", "look"), ["look"]);
        assert!(suggested("zzz", "").is_empty());
    }

    #[test]
    fn nearest_finds_a_typo_and_nothing_far() {
        assert_eq!(nearest("code-reveiw", ["code-review", "deploy"]), Some("code-review"));
        assert_eq!(nearest("zzz", ["code-review", "deploy"]), None);
        assert_eq!(nearest("wep", ["lib", "api", "web"]), Some("web"));
        assert_eq!(nearest("apy", ["lib", "api", "web"]), Some("api"));
    }
}
