//! Limits a client to its own chats: finds the chat that a call touches, and leaves the rows of other
//! chats out of lists.

use std::fmt;
use std::sync::Arc;

use avocet_methods::{CallTarget, ChatPatterns, ListRows, MOST_ROWS, MethodDescription, Touches};
use avocet_protocol::access::ChatLink;
use avocet_protocol::bus::OrderHold;
use avocet_protocol::chat::{ChatAddress, SessionId};
use avocet_protocol::ids::{
    AccountName, ChannelName, JobId, MessageId, ScheduleId, TurnId, WaitId,
};
use avocet_protocol::schedule::ScheduleError;
use avocet_protocol::store::{DeadId, EventDetail, EventKind, LogEvent, SessionFilter};
use serde_json::Value;

use crate::caller::Caller;
use crate::parts::GatewayParts;
use crate::run::{MethodCall, RunnableMethod};
use crate::values::{fitting, or_empty, params_error, unavailable};
use crate::wire::RpcError;

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
            Touches::Target(target) => {
                let target = (target.read)(or_empty(params.clone()));
                self.check_target(name, target.map_err(|error| params_error(name, &error))?).await
            }
        }
    }

    /// Refuses a call of the method whose target belongs to a chat of others.
    pub(crate) async fn check_target(
        &self,
        method: &str,
        target: CallTarget,
    ) -> Result<(), RpcError> {
        if self.caller.chats.are_all() {
            return Ok(());
        }
        match target {
            CallTarget::Chat(chat) => self.check_chat(&chat),
            CallTarget::Account(channel, account) => self.check_account(&channel, &account),
            CallTarget::Session(session) => self.check_session(&session),
            CallTarget::Message(id) => self.check_message(id).await,
            CallTarget::Approval(id) => self.check_approval(id).await,
            CallTarget::DeadLetter(id) => self.check_dead_letter(id).await,
            CallTarget::Job(id) => self.check_job(id).await,
            CallTarget::Task(id) => self.check_task(id).await,
            CallTarget::Schedule(id) => self.check_schedule(id).await,
            CallTarget::Unnamed => {
                let message =
                    format!("{method}: the parameters name neither a chat nor an account");
                Err(RpcError::new(RpcError::PARAMS, message))
            }
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
        let limit = (list.page_limit)(params.clone());
        let limit = limit.map_err(|error| params_error(method.description.name, &error))?;
        // A list of one page is never full.
        let limit = limit.and_then(|rows| usize::try_from(rows).ok()).unwrap_or(usize::MAX);
        let (mut own, hold) = (Vec::new(), OrderHold::default());
        let call = MethodCall { parts: self.parts, caller: self.caller, hold: &hold };
        loop {
            let page = method.run(call, params.clone()).await?;
            let Value::Array(rows) = page else { return Err(unavailable("not a list")) };
            let last = rows.last().filter(|_| rows.len() >= limit);
            let next = last.and_then(|last| (list.next_page)(params, last));
            own.extend(rows.into_iter().filter(|row| self.owns(list, row)));
            own.truncate(limit);
            match next {
                Some(next) if own.len() < limit => params = next,
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
            || chat.is_some_and(|chat| self.caller.chats.includes_chat(chat))
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
        let Some(chats) = (list.chats)(row) else { return false };
        chats.iter().any(|chat| {
            chat.parse::<ChatAddress>().is_ok_and(|chat| self.caller.chats.includes_chat(&chat))
                || SessionId::parse(chat).is_ok_and(|session| self.reaches(&session))
        })
    }

    fn reaches(&self, session: &SessionId) -> bool {
        reaches(&self.caller.chats, &self.parts.access.links(), session)
    }

    fn check_chat(&self, chat: &ChatAddress) -> Result<(), RpcError> {
        if self.caller.chats.includes_chat(chat) {
            Ok(())
        } else {
            Err(self.foreign_chat_error(chat))
        }
    }

    fn check_session(&self, session: &SessionId) -> Result<(), RpcError> {
        if self.reaches(session) { Ok(()) } else { Err(self.foreign_chat_error(session)) }
    }

    fn foreign_chat_error(&self, chat: &impl fmt::Display) -> RpcError {
        self.caller.refusal(&format!("{chat} is not one of its chats"), "chats")
    }

    fn check_account(&self, channel: &ChannelName, account: &AccountName) -> Result<(), RpcError> {
        if self.caller.chats.reach_account(channel.as_str(), account.as_str()) {
            return Ok(());
        }
        let all = format!("{channel}:{account}:*");
        Err(self.caller.refusal(&format!("not all of {all} are its chats"), "chats"))
    }

    /// Refuses the id of a row that is not the caller's. An unknown id gets the same answer, so that
    /// the caller learns nothing of the chats of others.
    pub(crate) fn check_row(&self, id: impl fmt::Display, is_own: bool) -> Result<(), RpcError> {
        self.check_own(is_own, || format!("{id} is unknown"))
    }

    /// Works as [`Self::check_row`], for an approval. Only pending ones are known.
    fn check_pending(&self, id: WaitId, is_own: bool) -> Result<(), RpcError> {
        self.check_own(is_own, || format!("{id} is not pending"))
    }

    fn check_own(&self, is_own: bool, missing: impl FnOnce() -> String) -> Result<(), RpcError> {
        if is_own || self.caller.chats.are_all() {
            return Ok(());
        }
        let reason = format!("{}, or belongs to none of its chats", missing());
        Err(self.caller.refusal(&reason, "chats"))
    }

    async fn check_message(&self, id: MessageId) -> Result<(), RpcError> {
        let found = self.parts.query.message(id).await.map_err(unavailable)?;
        self.check_row(id, found.is_some_and(|message| self.reaches(&message.session)))
    }

    async fn check_approval(&self, id: WaitId) -> Result<(), RpcError> {
        let mut after = None;
        loop {
            let page = self.parts.approvals.open(MOST_ROWS, after).await.map_err(unavailable)?;
            let Some(last) = page.last().map(|approval| approval.id) else {
                return self.check_pending(id, false);
            };
            if let Some(open) = page.iter().find(|approval| approval.id == id) {
                let is_own_chat = |chat| self.caller.chats.includes_chat(chat);
                // A program has no say in the other chats of a session.
                let is_own = open.chat.as_ref().is_some_and(is_own_chat)
                    || (!self.caller.is_program() && self.reaches(&open.session));
                return self.check_pending(id, is_own);
            }
            after = Some(last);
        }
    }

    async fn check_dead_letter(&self, id: DeadId) -> Result<(), RpcError> {
        let found = self.parts.dead_letters.dead_letter(id).await.map_err(unavailable)?;
        self.check_row(
            id,
            found.is_some_and(|letter| self.caller.chats.includes_chat(&letter.chat)),
        )
    }

    async fn check_job(&self, id: JobId) -> Result<(), RpcError> {
        let found = self.parts.jobs.find_job(id).await.map_err(unavailable)?;
        self.check_row(id, found.is_some_and(|job| self.caller.chats.includes_chat(&job.chat)))
    }

    async fn check_task(&self, id: TurnId) -> Result<(), RpcError> {
        let found = self.parts.tasks.task(id).await.map_err(unavailable)?;
        self.check_row(id, found.is_some_and(|task| self.reaches(&task.session)))
    }

    async fn check_schedule(&self, id: ScheduleId) -> Result<(), RpcError> {
        match self.parts.schedules.show(id).await {
            Ok(shown) => {
                let owner = &shown.schedule.owner.address;
                self.check_row(id, self.caller.chats.includes_chat(owner))
            }
            Err(ScheduleError::Refused(_)) => self.check_row(id, false),
            Err(ScheduleError::Log(error)) => Err(unavailable(error)),
        }
    }
}

/// Returns `true` if the conversation belongs to a chat of the caller, or is linked to such a chat.
fn reaches(chats: &ChatPatterns, links: &[ChatLink], session: &SessionId) -> bool {
    chats.includes_chat(&session.address())
        || links.iter().any(|link| link.session == *session && chats.includes_chat(&link.chat))
}
