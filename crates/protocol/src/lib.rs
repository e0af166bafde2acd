//! The vocabulary of Avocet (ids, messages, tool calls) and its ports, one file each. Free of I/O.

mod access;
mod address;
mod address_file;
mod allow;
mod approvals;
mod ask_json;
mod ask_person;
mod asker;
mod attach;
mod audio_error;
mod bot_setup;
mod bus;
mod calendar;
mod channel;
mod channel_capabilities;
mod channel_config;
mod client_role;
mod clock;
mod config_file;
mod consolidate;
mod content;
mod decode_json;
mod draft;
mod editor;
mod effort;
mod embed;
mod events;
mod evidence;
mod failure;
mod fetch_attachments;
mod files;
mod grant;
mod health;
mod ids;
mod ignore_result;
mod inbound;
mod job_calls;
mod job_control;
mod live;
mod mcp;
mod message;
mod messages;
mod meter;
mod mirror;
mod model;
mod model_error;
mod models;
mod money;
mod outbound;
mod outside_tool;
mod people;
mod permission_mode;
mod picture;
mod policy;
mod poll;
mod program_file;
mod program_request;
mod protected;
mod provider_names;
mod publish_order;
mod query;
mod queue_mode;
mod recall;
mod recording;
mod role;
mod sample_model;
mod schedule;
mod seen;
mod session_options;
mod session_servers;
mod signs_of_life;
mod skills;
mod speak;
mod status;
mod store;
mod tokens;
mod tool;
mod tool_groups;
mod tool_outcome;
mod toolbox;
mod trace;
mod trace_subject;
mod transcribe;
mod trust;
mod turn;
mod usage;
mod web_console;
mod webhook;

pub use access::{AccessControl, AccessError, DecisionEffect, People, Roles, StoredAccess};
pub use address::{ChatAddress, SessionId};
pub use address_file::{AddressFile, FetchAddress};
pub use allow::{Allow, AllowLists, GroupRules};
pub use approvals::{ApprovalDecision, Approvals, EXPIRED, OpenApproval};
pub use ask_json::{AskJson, AskJsonError, JsonAnswer, JsonQuestion};
pub use ask_person::{
    AnswerCheck, AnswerOption, AskPerson, PersonAnswer, PersonQuestion, UnansweredQuestion,
};
pub use asker::Asker;
pub use attach::{Attach, AttachPlatform, ClientFile, ForClient, Handover, PieceRequest};
pub use audio_error::AudioError;
pub use bot_setup::{BotForm, BotIntroduction, BotSetup, OwnerCandidate};
pub use bus::{Deliveries, Destinations, NoDestination, Publish, PublishError, WakeLanes};
pub use calendar::Calendar;
pub use channel::{
    Channel, ChannelContext, ChannelError, CommandHelp, FetchError, Health, SendError,
};
pub use channel_capabilities::{ChannelCapabilities, OnUnknown};
pub use channel_config::{ChannelAccounts, ChannelConfig, ProgramConfig};
pub use client_role::ClientRole;
pub use clock::{Clock, Elapsed, Timestamp, or_pending, within};
pub use config_file::{
    ConfigChange, ConfigCheck, ConfigDiff, ConfigFault, ConfigFile, ConfigFileError, ConfigText,
    MAX_CONFIG_BYTES, ShownConfig,
};
pub use consolidate::{
    Consolidate, ConsolidateError, ConsolidateRequest, ConsolidationReport, ReportedEdit,
    ReportedMemory,
};
pub use content::{
    Attachment, AttachmentKind, AttachmentSource, Choice, Content, Quote, Style, StyleRange,
    Transcript, WAIT,
};
pub use decode_json::decode_json;
pub use draft::DraftError;
pub use editor::{EditorError, Editors, NoEditors, SessionEditor};
pub use effort::{Effort, NoEffort};
pub use embed::{EmbedError, EmbeddedTexts, Embedder};
pub use events::{StartedMessage, TurnEvent, TurnEvents};
pub use evidence::Evidence;
pub use failure::{FailedRequest, FailureCode, TurnFailure};
pub use fetch_attachments::FetchAttachments;
pub use files::{DirectoryNames, FileStart, Files, FilesError, PromptFile, Workspaces};
pub use grant::Grant;
pub use health::{Check, CheckState, Checkup, LastExchanges, LastFailure};
pub use ids::{
    AccountName, CallId, ChannelName, ChatId, ConsolidationId, DedupeKey, DeliveryId, IdError,
    IdFault, JobId, MAX_ID_BYTES, MemoryChangeId, MemoryId, MessageId, PlatformId, ScheduleId,
    SenderId, SubscriberName, ToolName, TopicId, TurnId, WaitId,
};
pub use ignore_result::ignore_result;
pub use inbound::{
    ChatKind, Cursor, Inbound, InboundKind, LATE, LoggedInbound, NewInbound, Outcome, Sender,
};
pub use job_calls::{
    JOB_BRANCH, JOB_CALLS, JOB_COMMITS, JOB_PULL_REQUEST, JOB_SUMMARY, JobBranch, JobCommit,
    JobCommits,
};
pub use job_control::{JobControl, JobRequest};
pub use live::Live;
pub use mcp::{
    McpError, McpServerStatus, McpServers, McpState, McpToolForm, McpToolHints, McpToolState,
    McpToolView, McpTransport,
};
pub use message::{
    Arguments, ImageRef, MOMENT, Message, Reasoning, SAID, SentCall, ToolCall, without_marks,
};
pub use messages::{MessageIter, Messages, SharedMessage};
pub use meter::{EventMeter, METRIC_FAMILIES, MetricFamily, MetricForm, MetricLabels, MetricValue};
pub use mirror::{MemoryMirror, MirrorReport};
pub use model::{
    Delta, Deltas, FailedAttempt, Image, Model, ModelFacts, ModelReply, ModelRequest,
    RequestOptions, Retries, Spent,
};
pub use model_error::ModelError;
pub use models::{Models, NoModel};
pub use money::{Money, Price, thousands};
pub use outbound::{
    Delivery, LoadedFile, MAX_SENT_FILE_BYTES, Outbound, Planned, REPEAT_MARK, Receipt,
};
pub use outside_tool::{OutsideTool, ToolSource};
pub use people::{ChatLink, Decision, Pairing, PairingCode, Person, PersonId, SettledPairing};
pub use permission_mode::{NoPermissionMode, PermissionMode};
pub use picture::{ConvertPicture, PictureFormat};
pub use policy::{Rule, ToolList, ToolPolicy};
pub use poll::Poll;
pub use program_file::{ProgramFile, ProgramFiles};
pub use program_request::{
    END_OF_INSTRUCTIONS, ProgramCall, ProgramMessage, ProgramRequest, ProgramTool, SENT_TO_PROGRAM,
};
pub use protected::PROTECTED_PATHS;
pub use provider_names::ProviderNames;
pub use publish_order::{OrderHold, OrderTicket, PublishOrder};
pub use query::{
    DeliveredText, MessageStatus, OpenTurn, Query, SentState, SessionRow, SessionStatus,
    SessionSummary, TranscriptPage, UsageBy, UsageRow,
};
pub use queue_mode::QueueMode;
pub use recall::{Recall, RecalledMemory};
pub use recording::ANSWER_FILES;
pub use role::Role;
pub use sample_model::{NoSample, Sample, SampleModel, SampleRequest};
pub use schedule::{
    AddSchedule, CatchUp, NOTHING_NEW, NewSchedule, Recurrence, RunResult, Schedule,
    ScheduleChange, ScheduleCommand, ScheduleControl, ScheduleError, ScheduleOwner, SchedulePlan,
    ScheduleRule, ScheduleRun, ScheduleState, ScheduleWrite, ScheduledWork, ShownSchedule,
    TimesRequest,
};
pub use seen::{Seen, SeenCall};
pub use session_options::{
    SessionOption, SessionOptionValue, SessionOptions, SessionSetting, SetOptionError,
    SetSessionOption,
};
pub use session_servers::{
    SESSION_SERVER_PREFIX, SessionServer, SessionServerStart, SessionServers,
};
pub use signs_of_life::SignsOfLife;
pub use skills::{Skill, SkillCall, SkillFile, SkillLimit, Skills, USE_SKILL};
pub use speak::{NoVoiceMode, Speak, VoiceMode};
pub use status::{
    ChannelStatus, DaemonStatus, DiskStatus, Ignored, LogCheck, LogStatus, ProviderStatus, Report,
    RolledBack, TelemetryStatus, WaitingChat,
};
pub use store::{
    Accepted, AcceptedAs, Actor, Answer, Audit, AuditCheck, AuditFault, AuditFilter, AuditHead,
    AuditKind, AuditRow, Backlog, BadAuthor, BadScope, CancelledTask, ChangedMemory, ChangedScopes,
    Claim, Claimed, CommandAction, CommandEffect, CommandReply, CompactedPast, Consolidation,
    ConsolidationEnd, ConsolidationState, Consolidations, Correction, DeadId, DeadLetter,
    DeadLetters, DeadPage, DeadReason, DeletedSession, DueClaim, DueRun, DueWork, EditRefused,
    EditedFile, EndedMessage, EndedSchedules, Enqueued, EventAnswer, EventDelivery, EventDetail,
    EventFailedRequest, EventFilter, EventHistory, EventKind, EventLog, EventMemory, EventMessage,
    EventPage, EventRange, EventSchedule, EventSeq, EventTool, EventTurn, EventUsage, Family,
    FileEntry, FoundMemory, Head, History, HistoryAuthor, HistoryHit, HistoryQuery, Inbox, JobChat,
    JobLimits, JobRules, JobState, JobStatus, Jobs, KeptResult, KeptResults, Ledger, LineageTurn,
    LogEvent, MAX_MEMORY_BYTES, Memories, Memory, MemoryAuthor, MemoryChange, MemoryChangeKind,
    MemoryEdit, MemoryFiles, MemoryScope, MemorySource, MemoryText, MemoryVector, MemoryVectors,
    MemoryVersion, NewConsolidation, NewJob, NewMemory, NewStep, NewWait, NoCorrection, NoHead,
    OpenPrompt, OpenQuestion, OpenWait, Outbox, Past, Preview, Purpose, RequestOutcome, Resolution,
    RetriedLetter, Schedules, ScopeFilter, ScopeKind, ScopeMemories, ScopeRefused, SendEnd,
    SessionDeletion, SessionFilter, SettledTurn, Settlement, Showing, ShownChange, ShownMemory,
    Spending, StoreError, SubmittedJob, Subscriber, Suspects, TakenEdit, TakenEditKind, TaskPage,
    TaskView, Tasks, Total, TurnLog, Turns, UndoneChange, UpkeepBudget, UpkeepLedger, UsageAtClaim,
    UsageEntry, WideHistoryQuery, WordCounts, WrittenMemory, conflict_text, conflicts_with,
    event_kinds, task_name, visible_text,
};
pub use tokens::{TOKENS_AN_IMAGE, estimated_tokens};
pub use tool::{
    Caution, Description, Leaving, Place, Question, Tool, ToolClass, ToolContext, Verdict,
};
pub use tool_groups::{UPDATE_PLAN, USE_TOOLS, groups_to_load};
pub use tool_outcome::{
    ChildMode, LogWrite, NewChild, ToolError, ToolOutcome, ToolOutput, WaitKind, WaitRequest,
};
pub use toolbox::{MAX_ABOUT, PreparedCall, ToolSpec, Toolbox, UNTRUSTED_TOOL, is_rare};
pub use trace::{TraceSpan, TraceWork, trace};
pub use trace_subject::TraceSubject;
pub use transcribe::{Recording, Transcribe};
pub use trust::{LeastTrust, Trust};
pub use turn::{
    CUT_OFF, CallResult, CallState, FILTERED, LoggedCall, LostMessage, Origin, SessionReport,
    SessionReports, Step, TurnRecord, TurnState, Undelivered,
};
pub use usage::Usage;
pub use web_console::{
    UploadError, UploadSink, UploadedFile, Uploads, WEB_ACCOUNT, WEB_CHANNEL, WebAsset, WebConsole,
    WebError, WebLink,
};
pub use webhook::{ChannelWebhook, Webhook, WebhookError};
