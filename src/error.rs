//! What can go wrong: one [`Error`] with a [`Code`], and the one table that says what each code means to each face.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use crate::redact::redacted;

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Whose fault a failure is, which decides how much of it is told and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The caller's: the message names the thing and says what to do.
    Caller,
    /// The machine's (disk full, file damaged): every face tells it in the same words.
    Machine,
    /// Ours: a bug. Agents see no internals; the shell shows the chain with `-v`.
    Us,
}

macro_rules! codes {
    ($($variant:ident $name:literal $exit:literal $rpc:literal $smctl:literal $blame:ident $reason:literal [$($action:literal)*] $about:literal;)*) => {
        /// A stable name for a kind of failure. The table in this file is the only place that lists them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $(#[doc = $about] $variant,)*
        }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// The name that users and agents see, such as `E_NOT_FOUND`.
            pub const fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            /// The exit status of the shell command.
            pub const fn exit(self) -> u8 {
                match self { $(Code::$variant => $exit,)* }
            }

            /// The JSON-RPC code when an MCP method other than `tools/call` fails.
            pub const fn rpc(self) -> i32 {
                match self { $(Code::$variant => $rpc,)* }
            }

            /// The JSON-RPC code when a tool or a resource of contract 003 fails.
            pub const fn smctl(self) -> i32 {
                match self { $(Code::$variant => $smctl,)* }
            }

            /// Whose fault it is.
            pub const fn blame(self) -> Blame {
                match self { $(Code::$variant => Blame::$blame,)* }
            }

            /// Contract 000's `reason_code`: why, for programs.
            pub const fn reason(self) -> &'static str {
                match self { $(Code::$variant => $reason,)* }
            }

            /// Contract 000's `next_actions`: what a program may do about it; the details may name others.
            pub const fn next_actions(self) -> &'static [&'static str] {
                match self { $(Code::$variant => &[$($action),*],)* }
            }

            /// One line for the reference page.
            pub const fn about(self) -> &'static str {
                match self { $(Code::$variant => $about,)* }
            }
        }
    };
}

codes! {
    // variant, name, exit, rpc, smctl, blame, reason_code, next_actions, about
    InvalidArgument      "E_INVALID_ARGUMENT"              2 -32602 -32602 Caller  "invalid_argument" ["fix_arguments" "retry_command"] "An argument is missing, malformed, or does not fit the others.";
    NoProject            "E_NO_PROJECT"                    1 -32602 -32000 Caller  "no_project" ["select_project" "retry_command"] "No project is selected and the call needs one.";
    NotFound             "E_NOT_FOUND"                     1 -32602 -32000 Caller  "not_found" [] "The project, prompt, resource, revision or file named does not exist.";
    AlreadyExists        "E_ALREADY_EXISTS"                1 -32602 -32000 Caller  "already_exists" [] "The name or URI is taken.";
    ConfirmRequired      "E_CONFIRM_REQUIRED"              1 -32602 -32000 Caller  "confirm_required" ["retry_with_yes"] "The operation cannot be undone and was not confirmed.";
    ImportConflict       "E_IMPORT_CONFLICT"               1 -32602 -32000 Caller  "import_conflict" ["resolve_import_conflict"] "An import would overwrite what differs, or two files want one name; nothing was imported.";
    Cancelled            "E_CANCELLED"                   130 -32603 -32000 Caller  "cancelled" [] "The user gave up before anything was changed.";
    Timeout              "E_TIMEOUT"                       1 -32603 -32000 Machine "timeout" ["retry_command"] "A read for a client, or the answer of an API, took longer than it may, or nobody waited for it any more.";
    TooLarge             "E_TOO_LARGE"                     1 -32602 -32000 Caller  "too_large" [] "The content is larger than one answer may be.";
    TemplateFailed       "E_TEMPLATE_FAILED"               1 -32602 -32000 Caller  "template_failed" [] "A prompt template does not parse or does not render with these arguments.";
    EditorFailed         "E_EDITOR_FAILED"                 1 -32602 -32000 Caller  "editor_failed" [] "The editor could not be started, ended with an error, or what it edited was changed meanwhile; nothing was changed.";
    ConfirmTokenRequired "E_CONFIRM_TOKEN_REQUIRED"        1 -32602 -32000 Caller  "confirm_token_required" ["call_deploy" "retry_deploy_apply"] "An apply was confirmed without the token that a deploy gives.";
    ConfirmTokenExpired  "E_CONFIRM_TOKEN_EXPIRED"         1 -32602 -32000 Caller  "confirm_token_expired" ["call_deploy" "retry_deploy_apply"] "The confirm token is older than ten minutes, or the clock went back behind it.";
    ConfirmTokenMismatch "E_CONFIRM_TOKEN_MISMATCH"        1 -32602 -32000 Caller  "confirm_token_mismatch" ["call_deploy" "retry_deploy_apply"] "The confirm token is unknown, used, or of other inputs or another plan; details.mismatch_kind says which.";
    ConsentRequired      "E_CONSENT_REQUIRED"              1 -32602 -32000 Caller  "consent_required" ["ask_user" "retry_command"] "A person has to consent first; details.consent is the id of the request that was stored, details.command what the person runs.";
    ConsentDenied        "E_CONSENT_DENIED"                1 -32602 -32000 Caller  "consent_denied" [] "The user denied the same request, or the client declined to ask its user; the message says which.";
    ConsentExpired       "E_CONSENT_EXPIRED"               1 -32602 -32000 Caller  "consent_expired" ["retry_command"] "The request for consent is past its time, or was used already.";
    TooMany              "E_TOO_MANY"                      1 -32602 -32000 Caller  "too_many" ["ask_user" "retry_command"] "So many requests for consent, or drafts, wait for a person already that no other is stored; nothing was changed.";
    ConsentPending       "E_CONSENT_PENDING"               1 -32602 -32000 Caller  "consent_pending" ["ask_user" "retry_command"] "No person has decided yet on what the nonce was given for; nothing was changed.";
    ConsentMismatch      "E_CONSENT_MISMATCH"              1 -32602 -32000 Caller  "consent_mismatch" ["retry_command"] "The nonce is unknown, used, of another asker, or of another plan; details.mismatch_kind says which.";
    ExecuteDenied        "E_EXECUTE_DENIED"                1 -32602 -32000 Caller  "execute_denied" ["ask_user"] "Running commands is denied here: by the project's policy, by the server (--no-execute), or by the access key.";
    InputsRequired       "E_INPUTS_REQUIRED"               1 -32602 -32000 Caller  "inputs_required" ["fix_arguments" "retry_command"] "A workflow has inputs without a value; details.inputs_required names them.";
    StepFailed           "E_STEP_FAILED"                   1 -32603 -32000 Machine "step_failed" ["retry_command"] "A step of a run failed, and so did the run; details.run and details.step name them, details.code is that of the step.";
    StepUncertain        "E_STEP_UNCERTAIN"                1 -32602 -32000 Caller  "step_uncertain" ["ask_user"] "Whether the last attempt at a step did its work is not known, and it is not safe to try again; a person decides with `mcpkg workflow resume RUN --step ID=retry|skip|done`.";
    RunBusy              "E_RUN_BUSY"                      1 -32602 -32000 Caller  "run_busy" ["retry_command"] "Another process, or another call, works on the run.";
    RunState             "E_RUN_STATE"                     1 -32602 -32000 Caller  "run_state" [] "The run is not in a state in which this can be done to it; details.state is the one it is in.";
    SecretLost           "E_SECRET_LOST"                   1 -32602 -32000 Caller  "secret_lost" ["ask_user"] "A step needs a secret that an earlier step answered before the process ended; secrets are kept in memory alone.";
    TerminalRequired     "E_TERMINAL_REQUIRED"             1 -32602 -32000 Caller  "terminal_required" ["ask_user"] "Only a person at a terminal may do this; there is no --yes for it.";
    WorkflowInvalid      "E_WORKFLOW_INVALID"              1 -32602 -32000 Caller  "workflow_invalid" ["fix_workflow" "retry_command"] "A workflow has errors; details.errors and details.warnings have each finding with its place.";
    DraftStale           "E_DRAFT_STALE"                   1 -32602 -32000 Caller  "draft_stale" ["ask_user"] "What a draft was made from was changed since, or the draft was decided or edited meanwhile; details.diff has the change. Nothing was changed.";
    AdoptConfirmRequired "E_ADOPT_CONFIRM_REQUIRED"        1 -32602 -32000 Caller  "adopt_confirm_required" ["retry_with_adopt"] "Files that mcpkg did not write, or that were changed since, would be changed or deleted.";
    DeployInProgress     "E_DEPLOY_IN_PROGRESS"            1 -32602 -32000 Caller  "deploy_in_progress" ["retry_command"] "Another process is applying a deploy with this database.";
    DeployUndone         "E_DEPLOY_UNDONE"                 1 -32603 -32000 Machine "deploy_undone" ["fix_permissions" "retry_command"] "An apply failed in the middle, and what it had written was put back; details.kept names what was changed meanwhile and left.";
    DeployedFiles        "E_DEPLOYED_FILES"                1 -32602 -32000 Caller  "deployed_files" ["rollback_to_pristine" "retry_command"] "The project has deployed files; they are rolled back before it is deleted.";
    RootRequired         "E_ROOT_REQUIRED"                 1 -32602 -32000 Caller  "root_required" ["bind_folder" "retry_with_root"] "No deploy root is known: the folder is the home folder or an agent's own.";
    PlanChanged          "E_PLAN_CHANGED"                  1 -32602 -32000 Caller  "plan_changed" ["retry_command"] "What would be written is no longer what was shown; nothing was written.";
    Unapproved           "E_UNAPPROVED"                    1 -32602 -32000 Caller  "unapproved" ["ask_user"] "The database asks for something that this user never approved on this machine, such as writing below a folder that was never deployed to; a person at a terminal can.";
    SnapshotNotFound     "E_SNAPSHOT_NOT_FOUND"            1 -32602 -32000 Caller  "snapshot_not_found" ["list_snapshots" "retry_command"] "No snapshot has this id, or it is of another source, machine or root.";
    SnapshotUnusable     "E_SNAPSHOT_UNUSABLE"             1 -32602 -32000 Caller  "snapshot_unusable" ["list_snapshots" "retry_command"] "The snapshot cannot be rolled back to: it was undone or pruned, or is being applied.";
    ConfigMissing        "E_CONFIG_MISSING"                1 -32602 -32000 Caller  "config_missing" ["retry_with_repo" "retry_command"] "The config repo has no agentpack.yaml.";
    SkillInvalid         "E_SKILL_INVALID"                 1 -32602 -32000 Caller  "skill_invalid" ["fix_skill" "retry_command"] "A skill breaks a rule; details name each file and line.";
    ConfigInvalid        "E_CONFIG_INVALID"                1 -32602 -32000 Caller  "config_invalid" ["fix_config" "retry_command"] "The config repo, a module or an overlay breaks a rule; details name it.";
    ConfigVersion        "E_CONFIG_UNSUPPORTED_VERSION"    1 -32602 -32000 Caller  "config_unsupported_version" ["fix_config_version" "retry_command"] "agentpack.yaml is of a version that mcpkg does not know.";
    LockfileMissing      "E_LOCKFILE_MISSING"              1 -32602 -32000 Caller  "lockfile_missing" ["fix_config" "retry_command"] "agentpack.lock.json is needed and missing.";
    LockfileInvalid      "E_LOCKFILE_INVALID"              1 -32602 -32000 Caller  "lockfile_invalid_json" ["regenerate_lockfile" "retry_command"] "agentpack.lock.json is damaged, or a module differs from what it pins.";
    LockfileVersion      "E_LOCKFILE_UNSUPPORTED_VERSION"  1 -32602 -32000 Caller  "lockfile_unsupported_version" ["regenerate_lockfile" "retry_command"] "agentpack.lock.json is of a version that mcpkg does not know.";
    TargetUnsupported    "E_TARGET_UNSUPPORTED"            1 -32602 -32000 Caller  "target_filter_unsupported" ["inspect_help_json" "retry_with_supported_target"] "No target has this name.";
    DesiredStateConflict "E_DESIRED_STATE_CONFLICT"        1 -32602 -32000 Caller  "desired_state_conflict" ["resolve_desired_state_conflict" "retry_command"] "Two modules want different bytes in one file.";
    OverlayPatchFailed   "E_OVERLAY_PATCH_APPLY_FAILED"    1 -32602 -32000 Caller  "overlay_patch_apply_failed" ["regenerate_patch" "switch_to_dir_overlay" "retry_command"] "A patch of an overlay does not apply.";
    GitNotFound          "E_GIT_NOT_FOUND"                 1 -32602 -32002 Caller  "git_not_found" ["install_git" "retry_command"] "git is needed and not installed.";
    GitFailed            "E_GIT_FAILED"                    1 -32602 -32002 Caller  "git_failed" ["retry_command"] "git answered with an error; the message is its own.";
    GitTooOld            "E_GIT_TOO_OLD"                   1 -32602 -32002 Caller  "git_too_old" ["install_git" "retry_command"] "The installed git is older than what merges without moving anything; details name both versions.";
    GitLocked            "E_GIT_LOCKED"                    1 -32602 -32002 Caller  "git_locked" ["retry_command"] "Another git has locked what was to be changed, and did not end in time; nothing was changed.";
    GitRepoRequired      "E_GIT_REPO_REQUIRED"             1 -32602 -32002 Caller  "git_repo_required" ["init_git_repo" "retry_command"] "The config repo is not a git repository.";
    GitDirty             "E_GIT_WORKTREE_DIRTY"            1 -32602 -32002 Caller  "git_worktree_dirty" ["commit_or_stash" "retry_command"] "The config repo has changes that are not committed.";
    GitDetached          "E_GIT_DETACHED_HEAD"             1 -32602 -32002 Caller  "git_detached_head" ["checkout_branch" "retry_command"] "The config repo is on no branch.";
    SecretMissing        "E_SECRET_MISSING"                1 -32602 -32000 Caller  "secret_missing" ["ask_user" "retry_command"] "A secret is not where its reference says: no such variable or file, a file that others may read, or a program that failed.";
    RunnerUnavailable    "E_RUNNER_UNAVAILABLE"            1 -32603 -32000 Machine "runner_unavailable" ["ask_user"] "Nothing on this machine can run a tool in a sandbox; details.runners say why. Nothing is run without one.";
    ImageMissing         "E_IMAGE_MISSING"                 1 -32603 -32000 Machine "image_missing" ["ask_user" "retry_command"] "The image that a tool runs in is not on this machine, and is not fetched; details.pull is the command that brings it.";
    ToolInput            "E_TOOL_INPUT"                    1 -32602 -32000 Caller  "tool_input" ["fix_arguments" "retry_command"] "Arguments do not fit what the tool takes; details.errors has each with its path.";
    ToolEnv              "E_TOOL_ENV"                      1 -32602 -32000 Caller  "tool_env" ["ask_user" "retry_command"] "A variable that the tool needs is not set, its value cannot be read, or is a secret of less than four bytes; details.names names them.";
    ToolFailed           "E_TOOL_FAILED"                   1 -32602 -32000 Caller  "tool_failed" ["fix_arguments" "retry_command"] "The tool ended with a status other than 0, or by a signal; details.stderr is the end of what it said.";
    ToolTimeout          "E_TOOL_TIMEOUT"                  1 -32602 -32000 Caller  "tool_timeout" ["retry_command"] "The tool ran for longer than it may, and was ended.";
    ToolLimit            "E_TOOL_LIMIT"                    1 -32602 -32000 Caller  "tool_limit" ["retry_command"] "The tool reached a limit and was ended, or so many runs wait that no other may; details.limit names it.";
    ToolOutput           "E_TOOL_OUTPUT"                   1 -32602 -32000 Caller  "tool_output" ["ask_user"] "What the tool printed is not the one JSON value that its output schema says.";
    ClientInvalid        "E_CLIENT_CONFIG_INVALID"         1 -32602 -32000 Caller  "client_config_invalid" ["fix_config" "retry_command"] "An agent's configuration file is malformed, or cannot take the entry; it was left untouched.";
    ManifestInvalid      "E_MANIFEST_INVALID"              1 -32602 -32000 Caller  "manifest_invalid" ["fix_manifest" "retry_command"] "A tool's manifest is missing, malformed or breaks a rule; details.errors has each error with its place.";
    ArchiveInvalid       "E_ARCHIVE_INVALID"               1 -32602 -32000 Caller  "archive_invalid" [] "A package holds, or would hold, what no archive may; details.entry and details.rule name it.";
    SourceChanged        "E_SOURCE_CHANGED"                1 -32602 -32000 Caller  "source_changed" ["ask_user" "retry_command"] "A source is not what it was: its history was rewritten, a tag was moved, or a file is not the one that was locked; nothing was written.";
    TrustRequired        "E_TRUST_REQUIRED"                1 -32602 -32000 Caller  "trust_required" ["ask_user"] "A tool is not verified, and the policy asks for it; details.attestations say of each why it counts or not.";
    TrustFailed          "E_TRUST_FAILED"                  1 -32602 -32000 Caller  "trust_failed" ["ask_user"] "Somebody whom this user trusts speaks against a tool: an audit failed, or what they signed is another archive; no policy lets it through.";
    TrustUnsupported     "E_TRUST_UNSUPPORTED"             1 -32602 -32000 Caller  "trust_unsupported" ["ask_user"] "An attestation or identity is of a kind that this mcpkg does not check, such as a bundle of Sigstore's.";
    KeyInvalid           "E_KEY_INVALID"                   1 -32602 -32000 Caller  "key_invalid" ["ask_user" "retry_command"] "A key file is missing, is not an ed25519 key as OpenSSH writes it, or others may read it.";
    ToolNotFound         "E_TOOL_NOT_FOUND"                1 -32602 -32000 Caller  "tool_not_found" ["enact__search" "retry_command"] "No registry has a tool of this name.";
    VersionNotFound      "E_VERSION_NOT_FOUND"             1 -32602 -32000 Caller  "version_not_found" ["choose_version" "retry_command"] "The tool has no such version, or none but yanked and pre-releases; details.versions names those there are.";
    VersionYanked        "E_VERSION_YANKED"                1 -32602 -32000 Caller  "version_yanked" ["ask_user" "retry_command"] "Its publisher took the version back; details.reason says why, details.replacement which one to use instead.";
    DigestMismatch       "E_DIGEST_MISMATCH"               1 -32602 -32000 Caller  "digest_mismatch" ["ask_user"] "The archive is not the one that its registry named: its SHA-256 is another; nothing of it was used.";
    DigestChanged        "E_DIGEST_CHANGED"                1 -32602 -32000 Caller  "digest_changed" ["ask_user"] "A registry has another archive as a version than it had before; nothing of it was used.";
    RegistryUnreachable  "E_REGISTRY_UNREACHABLE"          1 -32603 -32000 Machine "registry_unreachable" ["retry_command"] "A registry cannot be reached, or did not answer in time.";
    RegistryRefused      "E_REGISTRY_REFUSED"              1 -32602 -32000 Caller  "registry_refused" ["ask_user"] "A registry refused the request; details.status and details.code are its own.";
    RegistryAnswer       "E_REGISTRY_ANSWER"               1 -32603 -32000 Machine "registry_answer" [] "A registry answered something that is not an answer of a registry, or that breaks a limit.";
    NamespaceMismatch    "E_NAMESPACE_MISMATCH"            1 -32602 -32000 Caller  "namespace_mismatch" ["ask_user"] "The key or token may not publish in this namespace.";
    PermissionDenied     "E_IO_PERMISSION_DENIED"          1 -32603 -32000 Machine "io_permission_denied" ["fix_permissions" "retry_command"] "A file or folder of the user's may not be written.";
    InvalidPath          "E_IO_INVALID_PATH"               1 -32603 -32000 Machine "io_invalid_path" ["fix_path" "retry_command"] "A path leaves its folder, or the disk does not take it.";
    PathTooLong          "E_IO_PATH_TOO_LONG"              1 -32603 -32000 Machine "io_path_too_long" ["shorten_path" "retry_command"] "A path is longer than the disk takes.";
    FileFailed           "E_FILE_FAILED"                   1 -32603 -32000 Machine "file_failed" ["fix_permissions" "retry_command"] "A file of the user's could not be read or written.";
    NotDatabase          "E_DB_CORRUPT"                    1 -32603 -32000 Machine "db_corrupt" [] "The file is not a database, is empty, or is damaged; it was left untouched.";
    ForeignDatabase      "E_DB_FOREIGN"                    1 -32603 -32000 Machine "db_foreign" [] "The file is another application's SQLite database, or holds objects that mcpkg does not make; it was left untouched.";
    NewerDatabase        "E_DB_NEWER"                      1 -32603 -32000 Machine "db_newer" [] "The database was written by a newer mcpkg; it was left untouched.";
    MigrationDiverged    "E_MIGRATION_DIVERGED"            1 -32603 -32000 Machine "migration_diverged" [] "The database's migration history is not this program's; it was left untouched.";
    Unavailable          "E_DB_UNAVAILABLE"                1 -32603 -32000 Machine "db_unavailable" [] "The database cannot be opened: its folder is missing, unreadable or not writable.";
    ReadOnly             "E_READ_ONLY"                     1 -32603 -32000 Machine "read_only" [] "The database or its disk is read-only; reads go on, the write was refused.";
    DiskFull             "E_DISK_FULL"                     1 -32603 -32000 Machine "disk_full" ["free_disk_space" "retry_command"] "The disk is full; reads go on, the write was refused and changed nothing.";
    Busy                 "E_DB_BUSY"                       1 -32603 -32000 Machine "db_busy" ["retry_command"] "Another process held the database for longer than the busy time.";
    Replaced             "E_DB_REPLACED"                   1 -32603 -32000 Machine "db_replaced" [] "The database file was removed or replaced while it was in use.";
    InUse                "E_DB_IN_USE"                     1 -32603 -32000 Machine "db_in_use" [] "Servers are connected to the database, and the operation would change it under them.";
    Damaged              "E_DAMAGED"                       1 -32603 -32000 Machine "damaged" [] "Stored content does not match its SHA-256, or a row its checksum; it was not served.";
    OutcomeUnknown       "E_OUTCOME_UNKNOWN"               1 -32603 -32000 Machine "outcome_unknown" [] "The connection to the database server was lost while a change was committed; whether it was is not known.";
    Storage              "E_STORAGE"                       1 -32603 -32000 Machine "storage" [] "The disk answered with an I/O error; the write is not acknowledged.";
    KeyRequired          "E_KEY_REQUIRED"                  1 -32602 -32000 Caller  "key_required" ["create_access_key" "retry_command"] "Others than this machine could come in, and there is no access key yet.";
    MayOnlyRead          "E_MAY_ONLY_READ"                 1 -32602 -32000 Caller  "may_only_read" ["use_writing_key" "retry_command"] "The caller's access key may only read; nothing was changed.";
    Address              "E_ADDRESS"                       1 -32603 -32000 Machine "address_unavailable" ["retry_with_port"] "The address cannot be listened at: another server is there, or the machine does not have it.";
    Internal             "E_INTERNAL"                     70 -32603 -32603 Us      "internal" [] "A bug in mcpkg.";
    PublisherChanged     "E_PUBLISHER_CHANGED"             1 -32602 -32000 Caller  "publisher_changed" ["ask_user" "retry_command"] "Somebody else published this version than the one before; nothing was installed.";
    NotInToolset         "E_NOT_IN_TOOLSET"                1 -32602 -32000 Caller  "not_in_toolset" ["ask_user"] "The toolset that narrows what agents see has no such tool.";
    WorkspaceNotFound    "E_WORKSPACE_NOT_FOUND"           4 -32602 -32001 Caller  "workspace_not_found" ["init_workspace" "retry_command"] "The folder lies in no workspace: neither it nor a folder above it has .smctl/workspace.toml.";
    WorkspaceInvalid     "E_WORKSPACE_INVALID"             4 -32602 -32000 Caller  "workspace_invalid" ["fix_config" "retry_command"] "A workspace's manifest is malformed or breaks a rule; details.findings has each finding with its place.";
    WorkspaceExists      "E_WORKSPACE_EXISTS"              4 -32602 -32000 Caller  "workspace_exists" [] "A workspace is there already, in the folder or above it, or a folder that it would make; nothing was changed.";
    WorkspaceBusy        "E_WORKSPACE_BUSY"                1 -32603 -32000 Caller  "workspace_busy" ["retry_command"] "Another process works in the workspace, or one with another database was killed in the middle; details.holder names it.";
    FlowConflict         "E_FLOW_CONFLICT"                 1 -32602 -32002 Caller  "flow_conflict" ["resolve_conflicts" "retry_command"] "Branches cannot be merged without a person; details.conflicts has the paths of every repository. Nothing was moved.";
    FlowDirty            "E_FLOW_DIRTY"                    1 -32602 -32002 Caller  "flow_dirty" ["commit_changes" "retry_command"] "A work tree has changes, or an operation of git's is in progress there; nothing was moved.";
    FlowMoved            "E_FLOW_MOVED"                    1 -32602 -32002 Caller  "flow_moved" ["retry_command"] "A branch, tag or work tree is not where it was when the change was planned, or left; nothing was moved.";
    FlowPushed           "E_FLOW_PUSHED"                   1 -32602 -32002 Caller  "flow_pushed" [] "What a run made was pushed, so that it is not taken back.";
    FlowUndone           "E_FLOW_UNDONE"                   1 -32603 -32002 Machine "flow_undone" ["retry_command"] "A change failed in the middle, and all repositories were put back; details.kept names what was moved meanwhile and left.";
    BranchInUse          "E_BRANCH_IN_USE"                 1 -32602 -32002 Caller  "branch_in_use" ["retry_command"] "A branch is checked out in another work tree, or is there already.";
    BranchNotFound       "E_BRANCH_NOT_FOUND"              1 -32602 -32000 Caller  "branch_not_found" ["retry_command"] "No repository of the workspace has the branch.";
    TagExists            "E_TAG_EXISTS"                    1 -32602 -32002 Caller  "tag_exists" [] "The tag is there already, in the repositories that details.repos name; nothing was moved.";
    WorktreeDirty        "E_WORKTREE_DIRTY"                1 -32602 -32002 Caller  "worktree_dirty" ["commit_changes" "retry_with_force"] "A worktree that would be removed has what is not committed; no worktree of the set was touched.";
    RemoteFailed         "E_REMOTE_FAILED"                 7 -32603 -32002 Machine "remote_failed" ["retry_command"] "Another repository could not be cloned, fetched from or pushed to; details say which and why.";
    SpecInvalid          "E_SPEC_INVALID"                  5 -32602 -32003 Caller  "spec_invalid" ["fix_spec" "retry_command"] "A spec is not complete; details have each finding with its file and line.";
    GateFailed           "E_GATE_FAILED"                   1 -32602 -32000 Caller  "gate_failed" ["fix_model" "retry_command"] "A model, an input or a test of it was refused, or stopped; details.kind says why.";
    GateUnreachable      "E_GATE_UNREACHABLE"              7 -32603 -32005 Machine "gate_unreachable" ["retry_command"] "A model gate elsewhere cannot be reached, or did not answer as one does; details have its URL, and why.";
    GateEngineMissing    "E_GATE_ENGINE_MISSING"           7 -32603 -32005 Machine "gate_engine_missing" ["ask_user"] "This mcpkg was built without the engine that runs models: `cargo install --path . --features full` builds one with it.";
    BuildFailed          "E_BUILD_FAILED"                  6 -32602 -32004 Caller  "build_failed" ["fix_build" "retry_command"] "A command of a build failed; details name the repository and the step, with the last lines of its output.";
    RateLimited          "E_RATE_LIMITED"                  1 -32602 -32000 Caller  "rate_limited" ["wait" "retry_command"] "One asker calls one tool more often than a server takes it; retry_after_ms says how long to wait.";
    Ambiguous            "E_AMBIGUOUS"                     1 -32602 -32000 Caller  "ambiguous" ["fix_arguments" "retry_command"] "What was typed stands for several commands; details.ids lists them.";
    SchemaVersion        "E_SCHEMA_VERSION"                1 -32602 -32000 Caller  "schema_version" ["fix_arguments" "retry_command"] "The input is of a major version that mcpkg does not know; details.supported lists those that it does.";
    CatalogInvalid       "E_CATALOG_INVALID"               1 -32602 -32000 Caller  "catalog_invalid" ["fix_document" "retry_command"] "A document is not an OpenAPI description that commands can be made of; details.violations has each finding with its place.";
    HttpRefused          "E_HTTP_REFUSED"                  1 -32602 -32000 Caller  "http_refused" ["ask_user"] "A request was not sent, or its redirect not followed: it would have gone where the catalog does not allow; the message names the host.";
    PluginUnavailable    "E_PLUGIN_UNAVAILABLE"            1 -32603 -32000 Machine "plugin_unavailable" ["wait" "retry_command"] "A plugin cannot be started or reached, so that nothing was asked of it; retry_after_ms says when it is tried again, where it failed before.";
    PluginFailed         "E_PLUGIN_FAILED"                 1 -32603 -32000 Machine "plugin_failed" ["retry_command"] "A plugin's tool failed, or the plugin ended or broke the protocol while it was called; details have what it said.";
    HttpFailed           "E_HTTP_FAILED"                   1 -32603 -32000 Machine "http_failed" ["retry_command"] "An API cannot be reached, answered with another status than 2xx, or with what cannot be read; details have the status and the beginning of the answer.";
}

/// A failure: a code for programs, a message for people, hints that say what to do next.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    code: Code,
    message: String,
    details: Option<Value>,
    hints: Vec<String>,
    /// Hints that agents read instead of others, each by the number of the hint that it replaces.
    for_agents: Vec<(usize, String)>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// Returns a text of a failure without the passwords of addresses: callers put them where a name belongs, too.
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
    /// Returns an error of `code` whose message names the thing, without a final period.
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

    /// Returns a bug report: `what` failed although it cannot.
    pub fn internal(what: impl Into<String>) -> Self {
        Self::new(Code::Internal, what)
    }

    /// Returns the failure of reading or writing `path`, a file of the user's.
    pub fn file(verb: &str, path: &std::path::Path, source: std::io::Error) -> Self {
        let code = match source.kind() {
            std::io::ErrorKind::StorageFull => Code::DiskFull,
            std::io::ErrorKind::NotFound => Code::NotFound,
            _ => Code::FileFailed,
        };
        // What makes temporary files names one of its own behind the reason.
        let said = source.to_string();
        let why = said.split_once(" at path \"").map_or(&*said, |(why, _)| why);
        Self::new(code, format!("Cannot {verb} `{}`: {why}", path.display())).with_source(source)
    }

    /// Adds a line that says what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hints.push(safe(hint.into()));
        self
    }

    /// Adds a line that says what to do: to a person at a shell, and to an agent, which has tools and their arguments.
    #[must_use]
    pub fn hint_for(mut self, shell: impl Into<String>, agent: impl Into<String>) -> Self {
        self.0.for_agents.push((self.0.hints.len(), safe(agent.into())));
        self.hint(shell)
    }

    /// Returns it with the hints that an agent reads: its own ones, and what `said` makes of the others.
    #[must_use]
    pub fn for_agent(mut self, said: impl Fn(&str) -> Option<String>) -> Self {
        let own = std::mem::take(&mut self.0.for_agents);
        let of = |n: usize| own.iter().find(|(of, _)| *of == n).map(|(_, hint)| hint.clone());
        self.0.hints = self.0.hints.iter().enumerate().filter_map(|(n, hint)| of(n).or_else(|| said(hint))).collect();
        self
    }

    /// Returns it with what `change` makes of each hint.
    #[must_use]
    pub fn with_hints(mut self, change: impl Fn(&str) -> String) -> Self {
        self.0.hints.iter_mut().for_each(|hint| *hint = change(hint));
        self
    }

    /// Adds a hint: which of `known` was probably meant by `wanted`, else `otherwise`; nothing where that is empty.
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

    /// Attaches data for programs, such as the name or URI that was not found.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.0.details = Some(safe_value(details));
        self
    }

    /// Keeps the cause, which `-v` and the log show.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// What kind of failure it is.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The sentence for people and models.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What to do next, a line each.
    pub fn hints(&self) -> &[String] {
        &self.0.hints
    }

    /// Data for programs.
    pub fn details(&self) -> Option<&Value> {
        self.0.details.as_ref()
    }

    /// The message that an agent may see: a bug's internals stay in the log.
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

/// Returns the member of `known` that `wanted` was probably meant to be, for "did you mean" hints.
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (wanted.to_lowercase(), name.to_lowercase(), name))
        // Of a short name one letter is much.
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
                // Those of contract 003's original.
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
    fn a_suggestion_is_what_is_near_or_the_other_hint() {
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
