//! The ports of the durable log, one per role. They state transactions without SQL: an
//! implementation commits each method as a whole or not at all.

mod audit;
mod consolidations;
mod dead_letters;
mod deletion;
mod error;
mod event_log;
mod history;
mod inbox;
mod jobs;
mod ledger;
mod memories;
mod memory_files;
mod memory_scope;
mod memory_vectors;
mod outbox;
mod query;
mod rules;
mod schedules;
mod session_branches;
mod session_labels;
mod session_work;
mod stop_all;
mod tasks;
mod turn_log;
mod turns;

pub use audit::{
    Actor, Audit, AuditCheck, AuditFault, AuditFilter, AuditHead, AuditKind, AuditRow, NoHead,
};
pub use consolidations::{
    Backlog, ChangedMemory, Consolidation, ConsolidationEnd, ConsolidationState, Consolidations,
    EditRefused, MemoryEdit, MemoryVersion, NewConsolidation,
};
pub use dead_letters::{DeadId, DeadLetter, DeadLetters, DeadPage, DeadReason, RetriedLetter};
pub use deletion::{DeletedSession, SessionDeletion};
pub use error::StoreError;
pub use event_log::{
    EventAnswer, EventDelivery, EventDetail, EventFailedRequest, EventFilter, EventHistory,
    EventKind, EventLog, EventMemory, EventMessage, EventPage, EventRange, EventSchedule, EventSeq,
    EventTool, EventTurn, EventUsage, LogEvent, Subscriber, event_kinds,
};
pub use history::{
    History, HistoryAuthor, HistoryHit, HistoryQuery, SessionFilter, WideHistoryQuery,
};
pub use inbox::{
    Accepted, AcceptedAs, CommandAction, CommandEffect, CommandReply, Correction, Inbox,
    NoCorrection, OpenQuestion, StoppedAnswer, UnansweredMessage, Withdrawn,
};
pub use jobs::{JobChat, JobLimits, JobRules, JobState, JobStatus, Jobs, NewJob, SubmittedJob};
pub use ledger::{
    Ledger, Purpose, RequestOutcome, Spending, Total, UpkeepBudget, UpkeepLedger, UsageEntry,
};
pub use memories::{
    BadAuthor, FoundMemory, MAX_MEMORY_BYTES, Memories, Memory, MemoryAuthor, MemoryChange,
    MemoryChangeKind, MemorySource, MemoryText, NewMemory, UndoneChange, WordCounts, WrittenMemory,
};
pub use memory_files::{
    ChangedScopes, EditedFile, FileEntry, MemoryFiles, ScopeMemories, ShownChange, ShownMemory,
    TakenEdit, TakenEditKind, conflict_text, conflicts_with, visible_text,
};
pub use memory_scope::{BadScope, MemoryScope, ScopeFilter, ScopeKind, ScopeRefused};
pub use memory_vectors::{MemoryVector, MemoryVectors};
pub use outbox::{Enqueued, Head, Outbox, Preview, SendEnd, Showing};
pub use query::{
    DeliveredText, MessageStatus, OpenTurn, Query, SentState, SessionRow, SessionStatus,
    SessionSummary, TranscriptPage, UsageBy, UsageRow,
};
pub use rules::OwnerRules;
pub use schedules::{DueClaim, DueRun, DueWork, EndedSchedules, Schedules};
pub use session_branches::{BranchSession, BranchedSession, SessionBranches};
pub use session_labels::{ChangeSession, SessionGroup, SessionLabels};
pub use session_work::{SessionWork, SessionsAtWork};
pub use stop_all::{OpenWork, StopAll, StopControl, StopInForce};
pub use tasks::{CancelledTask, TaskPage, TaskView, Tasks, task_name};
pub use turn_log::{CompactedPast, Family, KeptResult, KeptResults, NewStep, Past, TurnLog};
pub use turns::{
    Answer, Claim, Claimed, EndedMessage, LineageTurn, NewWait, OpenPrompt, OpenWait, Resolution,
    SettledTurn, Settlement, Suspects, Turns, UsageAtClaim,
};

use error::Result;
