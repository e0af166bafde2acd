//! The list of all methods. It is the only one: descriptions, rights, the dispatch of the gateway and the
//! schemas of clients are made from it.

use crate::MethodDescription;

/// Calls a macro with every method, sorted by name. `anywhere` marks a method that every server of the
/// methods answers, and `on_a_connection` one that needs a connection of the socket.
#[macro_export]
macro_rules! with_all_methods {
    ($callback:ident) => {
        $callback! {
            ListAgents: anywhere,
            Decide: anywhere,
            ListApprovals: anywhere,
            Ask: anywhere,
            JsonQuestion: anywhere,
            AttachParams: on_a_connection,
            CheckConfig: anywhere,
            DiffConfig: anywhere,
            FormConfig: anywhere,
            SaveConfig: anywhere,
            ShowConfig: anywhere,
            MoveCursor: anywhere,
            DropDeadLetter: anywhere,
            ListDeadLetters: anywhere,
            RetryDeadLetter: anywhere,
            ShowDeadLetter: anywhere,
            Doctor: anywhere,
            AttachEditor: on_a_connection,
            ListEvents: anywhere,
            GetFile: on_a_connection,
            Hello: anywhere,
            CancelJob: anywhere,
            ListJobs: anywhere,
            ShowJob: anywhere,
            SubmitJob: anywhere,
            AddLink: anywhere,
            ListLinks: anywhere,
            RemoveLink: anywhere,
            ApproveMcpTools: anywhere,
            ListMcpServers: anywhere,
            ListMcpTools: anywhere,
            AddMemory: anywhere,
            ConsolidateRequest: anywhere,
            ForgetMemory: anywhere,
            ListMemories: anywhere,
            ListMemoryChanges: anywhere,
            ShowMemory: anywhere,
            SyncMemories: anywhere,
            UndoMemoryChange: anywhere,
            WithdrawMessage: anywhere,
            Approve: anywhere,
            Deny: anywhere,
            ListPairings: anywhere,
            ListPeople: anywhere,
            Remove: anywhere,
            Ping: anywhere,
            PublishParams: anywhere,
            ResumeEverything: anywhere,
            AddRule: anywhere,
            ListRules: anywhere,
            RemoveRule: anywhere,
            AddSchedule: anywhere,
            ChangeSchedule: anywhere,
            ListSchedules: anywhere,
            ShowSchedule: anywhere,
            Send: anywhere,
            GiveServers: on_a_connection,
            BranchSession: anywhere,
            ChangeSession: anywhere,
            DeleteSession: anywhere,
            ListSessions: anywhere,
            ShowOptions: anywhere,
            SearchSessions: anywhere,
            ListSent: anywhere,
            SetSessionOption: anywhere,
            ShowSession: anywhere,
            ShowStatus: anywhere,
            StopEverything: anywhere,
            Subscribe: on_a_connection,
            ListSubscribers: anywhere,
            RemoveSubscriber: anywhere,
            CancelTask: anywhere,
            ListTasks: anywhere,
            ShowTask: anywhere,
            Trace: anywhere,
            ListUsage: anywhere,
            Wait: anywhere,
            ListBrowsers: anywhere,
            OpenWeb: anywhere,
            SignOutWeb: anywhere,
        }
    };
}

macro_rules! descriptions {
    ($($method:ident: $place:ident,)*) => {
        &[$(MethodDescription::new::<$crate::$method>()),*]
    };
}

/// Every method of the socket, by name.
pub const METHODS: &[MethodDescription] = with_all_methods!(descriptions);

/// Returns the place of a method in [`METHODS`]; `None` for an unknown name.
#[must_use]
pub fn method_index(name: &str) -> Option<usize> {
    METHODS.binary_search_by_key(&name, |method| method.name).ok()
}

/// Finds a method by its name.
#[must_use]
pub fn find_method(name: &str) -> Option<&'static MethodDescription> {
    METHODS.get(method_index(name)?)
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;
