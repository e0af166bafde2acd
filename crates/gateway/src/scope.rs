//! Limits a client to its own chats: finds the chat that a call touches, and leaves the rows of other
//! chats out of lists.

use std::sync::Arc;

use avocet_methods::{ChatPatterns, ListRows, MOST_ROWS, MethodDescription, RowScope, Touches};
use avocet_protocol::{
    ChatAddress, ChatLink, DeadId, EventDetail, EventKind, JobId, LogEvent, MessageId, OrderHold,
    ScheduleError, ScheduleId, SessionFilter, SessionId, TurnId, WaitId,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::caller::Caller;
use crate::parts::GatewayParts;
use crate::run::{MethodCall, RunnableMethod};
use crate::values::{fitting, or_empty, read, unavailable};
use crate::wire::RpcError;

/// The rows of a page if the request has no `limit`. All lists have the same default.
const DEFAULT_ROWS: u64 = 50;

/// The rights of a caller, and what is needed to check them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChatScope<'a> {
    pub(crate) parts: &'a GatewayParts,
    pub(crate) caller: &'a Caller,
}

impl ChatScope<'_> {
    /// Refuses a call that touches a chat of others.
    pub(crate) async fn check(
        &self,
        method: &MethodDescription,
        params: &Value,
    ) -> Result<(), RpcError> {
        if self.caller.chats.are_all() {
            return Ok(());
        }
        let name = method.name;
        match method.touches {
            Touches::Nothing | Touches::Rows(_) | Touches::Events => Ok(()),
            Touches::Everything => {
                let reason = format!("{name} is not limited to a chat");
                Err(self.caller.refusal(&reason, "chats = [\"*\"]"))
            }
            Touches::Chat(key) => self.check_chat(&param(name, params, key)?),
            Touches::Session => self.check_session(&param(name, params, "session")?),
            Touches::ChatOrAccount => self.check_attached(name, params),
            Touches::Message => self.check_message(param(name, params, "message")?).await,
            Touches::Approval => self.check_approval(param(name, params, "id")?).await,
            Touches::DeadLetter => self.check_dead_letter(param(name, params, "id")?).await,
            Touches::Job => self.check_job(param(name, params, "id")?).await,
            Touches::Task => self.check_task(param(name, params, "id")?).await,
            Touches::Schedule => self.check_schedule(param(name, params, "id")?).await,
        }
    }

    /// Answers a list with the caller's own rows. Reads further pages until the page is full, so that
    /// a short page is still the last one.
    pub(crate) async fn own_rows(
        &self,
        method: RunnableMethod,
        list: ListRows,
        params: Value,
    ) -> Result<Value, RpcError> {
        let mut params = or_empty(params);
        let limit = params.get("limit").and_then(Value::as_u64).unwrap_or(DEFAULT_ROWS);
        let limit = usize::try_from(limit.min(MOST_ROWS.into())).unwrap_or_default();
        let (mut own, hold) = (Vec::new(), OrderHold::default());
        let call = MethodCall { parts: self.parts, caller: self.caller, hold: &hold };
        loop {
            let page = method.run(call, params.clone()).await?;
            let Value::Array(rows) = page else { return Err(unavailable("not a list")) };
            let last = rows.last().filter(|_| rows.len() >= limit).and_then(list.read);
            let next = last.and_then(|last| last.next_page);
            own.extend(rows.into_iter().filter(|row| self.owns(list, row)));
            if list.has_pages {
                own.truncate(limit);
            }
            match next {
                Some((key, value)) if own.len() < limit => params[key] = value,
                _ => return Ok(fitting(Value::Array(own))),
            }
        }
    }

    /// Returns `true` if the caller may see an event: one of its chats, or one of the whole daemon.
    pub(crate) fn owns_event(&self, event: &LogEvent) -> bool {
        let chat = match &event.detail {
            Some(EventDetail::Message(message)) => Some(&message.chat),
            Some(EventDetail::Delivery(delivery)) => Some(&delivery.chat),
            Some(EventDetail::Schedule(schedule)) => Some(&schedule.chat),
            _ => None,
        };
        matches!(event.kind, EventKind::DaemonStarted | EventKind::LogRolledBack)
            || self.caller.chats.are_all()
            || chat.is_some_and(|chat| self.caller.chats.reach(chat))
            || event.session.as_ref().is_some_and(|session| self.reaches(session))
    }

    /// Returns the conversations that the caller may read; `None` for all.
    pub(crate) fn filter(&self) -> Option<SessionFilter> {
        let chats = self.caller.chats.clone();
        if chats.are_all() {
            return None;
        }
        let links = self.parts.access.links();
        Some(SessionFilter(Arc::new(move |session| reaches(&chats, &links, session))))
    }

    fn owns(&self, list: ListRows, row: &Value) -> bool {
        let Some(RowScope { chats, .. }) = (list.read)(row) else { return false };
        chats.iter().any(|chat| {
            chat.parse::<ChatAddress>().is_ok_and(|chat| self.caller.chats.reach(&chat))
                || SessionId::parse(chat).is_ok_and(|session| self.reaches(&session))
        })
    }

    fn reaches(&self, session: &SessionId) -> bool {
        reaches(&self.caller.chats, &self.parts.access.links(), session)
    }

    fn check_chat(&self, chat: &ChatAddress) -> Result<(), RpcError> {
        if self.caller.chats.reach(chat) { Ok(()) } else { Err(self.foreign(chat)) }
    }

    fn check_session(&self, session: &SessionId) -> Result<(), RpcError> {
        if self.reaches(session) { Ok(()) } else { Err(self.foreign(session)) }
    }

    /// Returns the error of a call that touches a chat of others.
    pub(crate) fn foreign(&self, chat: &impl std::fmt::Display) -> RpcError {
        self.caller.refusal(&format!("{chat} is not one of its chats"), "chats")
    }

    fn check_attached(&self, method: &str, params: &Value) -> Result<(), RpcError> {
        if params.get("chat").is_some() {
            return self.check_chat(&param(method, params, "chat")?);
        }
        let channel: String = param(method, params, "channel")?;
        let account: String = param(method, params, "account")?;
        if self.caller.chats.reach_account(&channel, &account) {
            return Ok(());
        }
        let all = format!("{channel}:{account}:*");
        Err(self.caller.refusal(&format!("not all of {all} are its chats"), "chats"))
    }

    // An unknown id is left to the method, which reports that it does not exist.

    async fn check_message(&self, id: MessageId) -> Result<(), RpcError> {
        let found = self.parts.query.message(id).await.map_err(unavailable)?;
        found.map_or(Ok(()), |message| self.check_session(&message.session))
    }

    async fn check_approval(&self, id: WaitId) -> Result<(), RpcError> {
        let mut after = None;
        loop {
            let page = self.parts.approvals.open(MOST_ROWS, after).await.map_err(unavailable)?;
            let Some(last) = page.last().map(|approval| approval.id) else { return Ok(()) };
            if let Some(open) = page.iter().find(|approval| approval.id == id) {
                let own_chat = open.chat.as_ref().map(|chat| self.check_chat(chat));
                return match own_chat {
                    Some(Ok(())) => Ok(()),
                    _ => self.check_session(&open.session),
                };
            }
            after = Some(last);
        }
    }

    async fn check_dead_letter(&self, id: DeadId) -> Result<(), RpcError> {
        let found = self.parts.dead_letters.dead_letter(id).await.map_err(unavailable)?;
        found.map_or(Ok(()), |letter| self.check_chat(&letter.chat))
    }

    async fn check_job(&self, id: JobId) -> Result<(), RpcError> {
        let found = self.parts.jobs.find_job(id).await.map_err(unavailable)?;
        found.map_or(Ok(()), |job| self.check_chat(&job.chat))
    }

    async fn check_task(&self, id: TurnId) -> Result<(), RpcError> {
        let found = self.parts.tasks.task(id).await.map_err(unavailable)?;
        found.map_or(Ok(()), |task| self.check_session(&task.session))
    }

    async fn check_schedule(&self, id: ScheduleId) -> Result<(), RpcError> {
        match self.parts.schedules.show(id).await {
            Ok(shown) => self.check_chat(&shown.schedule.owner.address),
            Err(ScheduleError::Refused(_)) => Ok(()),
            Err(ScheduleError::Log(error)) => Err(unavailable(error)),
        }
    }
}

/// Returns `true` if the conversation belongs to a chat of the caller, or is linked to such a chat.
fn reaches(chats: &ChatPatterns, links: &[ChatLink], session: &SessionId) -> bool {
    chats.reach(&session.address())
        || links.iter().any(|link| link.session == *session && chats.reach(&link.chat))
}

/// Reads one parameter of a method.
fn param<T: DeserializeOwned>(method: &str, params: &Value, key: &str) -> Result<T, RpcError> {
    match params.get(key) {
        Some(value) => read(method, value.clone()),
        None => Err(RpcError::new(RpcError::PARAMS, format!("{method}: `{key}` is missing"))),
    }
}
