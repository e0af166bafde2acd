//! Decisions about calls that need approval, from owners in the chat and from the command line.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::access::{ApprovalDecision, Approvals, OpenApproval, Roles};
use avocet_protocol::chat::{ChatKind, Inbound, LoggedInbound};
use avocet_protocol::ids::WaitId;
use avocet_protocol::store::{CommandAction, CommandEffect, Query, Resolution, StoreError, Turns};
use avocet_protocol::tool::{Place, WaitKind};

use crate::command_plan::CommandPlan;
use crate::lane::Lanes;
use crate::{SessionParts, people};

/// Reply to `/trust`.
pub(crate) const TRUSTED: &str = "I now trust what I have read in this conversation so far as if \
    you had written it. What I read from now on is untrusted again.";

const NOTHING: &str = "No call waits for approval here, or it is decided already.";
/// The same for a command without an id.
const NOT_ONE: &str = "No call waits for approval here.";
/// The same if calls wait in another chat, or I asked after the command was written.
const NAME_ONE: &str = "I asked elsewhere, or after you wrote. Name the call, for example";
/// Calls that are listed.
const MAX_LISTED: usize = 10;
/// Open calls that are read to find those of a chat.
const OPEN_READ: u32 = 200;

/// Lists the open calls that a command without an id can mean: those of its chat, and for an owner in
/// private those of all chats. Empty if there are none. `word` is the command's word, without `/`.
pub(crate) async fn open_calls(
    parts: &SessionParts,
    command: &LoggedInbound,
    word: &str,
) -> Result<String, StoreError> {
    let Inbound { address, chat, .. } = &command.message.inbound;
    let is_theirs = |open: &OpenApproval| {
        is_of_chat(open, command)
            || (*chat == ChatKind::Private && parts.bus.may_decide_for(address, open.chat.as_ref()))
    };
    let open = parts.query.open_approvals(OPEN_READ, None).await?;
    let open: Vec<&OpenApproval> = open.iter().filter(|open| is_theirs(open)).collect();
    let Some(first) = open.first() else { return Ok(String::new()) };
    // The arguments may have secrets, and the question shows them without.
    let lines =
        open.iter().take(MAX_LISTED).map(|OpenApproval { id, tool, chat, .. }| match chat {
            Some(chat) if chat != address => format!("- {id}: {tool}, asked in {chat}"),
            _ => format!("- {id}: {tool}"),
        });
    let mut text = format!("{NAME_ONE} /{word} {}:\n\n", first.id);
    text.push_str(&lines.collect::<Vec<_>>().join("\n"));
    if let more @ 1.. = open.len().saturating_sub(MAX_LISTED) {
        text.push_str(&format!("\n- and {more} more"));
    }
    Ok(text)
}

/// Returns `true` for a call of the command's own conversation or chat.
fn is_of_chat(open: &OpenApproval, command: &LoggedInbound) -> bool {
    open.session == command.message.session
        || open.chat.as_ref() == Some(&command.message.inbound.address)
}

/// Replaces the plan of a decision that the author may not make in this chat: about a call of another
/// chat, for which this account has no say, or for a tool that this channel does not have.
pub(crate) async fn refuse_elsewhere(
    parts: &SessionParts,
    command: &LoggedInbound,
    plan: CommandPlan,
) -> Result<CommandPlan, StoreError> {
    let CommandAction::Resolve { wait: Some(wait), .. } = &plan.action else { return Ok(plan) };
    let found = parts.query.open_approvals(1, Some(WaitId(wait.0.saturating_sub(1)))).await?;
    let Some(open) = found.first().filter(|open| open.id == *wait) else { return Ok(plan) };
    if is_of_chat(open, command) {
        return Ok(plan);
    }
    let Inbound { address, chat, .. } = &command.message.inbound;
    if !parts.bus.may_decide_for(address, open.chat.as_ref()) {
        let what = match &open.chat {
            Some(chat) => format!("{wait} is a question of `{chat}`"),
            None => format!("{wait} is a question of no chat"),
        };
        return Ok(CommandPlan::with_text(people::refuse_elsewhere(&what, address)));
    }
    let status = parts.query.session_status(&open.session).await?;
    let agent = parts.agents.now().for_session(&open.session, &status);
    let channel = Some(address.channel.clone());
    let place = Place { channel, chat: *chat, is_editor: false, within: Vec::new() };
    Ok(match agent.toolbox.refusal_in(&open.tool, &open.session, &place) {
        None => plan,
        Some(why) => CommandPlan::with_text(format!(
            "`{}` {why}, so {wait} cannot be decided in this chat. Decide in another chat or on the \
             command line.",
            open.tool
        )),
    })
}

/// Plans `/approve`. `open` lists the open calls.
pub(crate) fn plan_approval(argument: &str, open: &str) -> CommandPlan {
    let mut words = argument.split_whitespace();
    let mut wait = None;
    let mut decision = ApprovalDecision::Once;
    for word in words.by_ref() {
        if word.eq_ignore_ascii_case("session") {
            decision = ApprovalDecision::ForSession;
            continue;
        }
        match word.to_ascii_lowercase().parse::<WaitId>() {
            Ok(id) if wait.is_none() => wait = Some(id),
            _ => {
                return CommandPlan::with_text(
                    "Write /approve, /approve w7, or /approve w7 session.",
                );
            }
        }
    }
    let done = match decision {
        ApprovalDecision::ForSession => "Allowed, and similar calls too for this session.",
        _ => "Allowed.",
    };
    plan_decision(wait, &decision, done, open)
}

/// Plans `/deny`. `open` lists the open calls.
pub(crate) fn plan_denial(argument: &str, open: &str) -> CommandPlan {
    let (first, rest) = argument.split_once(char::is_whitespace).unwrap_or((argument, ""));
    let (wait, why) = match first.to_ascii_lowercase().parse::<WaitId>() {
        Ok(wait) => (Some(wait), rest.trim()),
        Err(_) => (None, argument),
    };
    let why = (!why.is_empty()).then(|| why.to_owned());
    plan_decision(wait, &ApprovalDecision::Denied { why }, "Denied.", open)
}

fn plan_decision(
    wait: Option<WaitId>,
    decision: &ApprovalDecision,
    done: &str,
    open: &str,
) -> CommandPlan {
    let action = CommandAction::Resolve {
        wait,
        kind: WaitKind::Approval,
        // A person with the id was asked, in this chat or another one.
        anywhere: true,
        resolution: Resolution::from(decision),
    };
    let nothing = match (wait, open) {
        (Some(_), _) => NOTHING,
        (None, "") => NOT_ONE,
        (None, open) => open,
    };
    CommandPlan::with_action(action, done, nothing)
}

/// Decisions from the command line.
#[derive(Debug)]
pub struct Decisions {
    turns: Arc<dyn Turns>,
    query: Arc<dyn Query>,
    lanes: Option<Arc<Lanes>>,
}

impl Decisions {
    /// Decides in the log without a daemon; the turn continues at the next start.
    #[must_use]
    pub fn in_log(turns: Arc<dyn Turns>, query: Arc<dyn Query>) -> Self {
        Self { turns, query, lanes: None }
    }

    pub(crate) fn from_lanes(lanes: &Arc<Lanes>) -> Self {
        let (turns, query) = (lanes.parts.turns.clone(), lanes.parts.query.clone());
        Self { turns, query, lanes: Some(lanes.clone()) }
    }
}

#[async_trait]
impl Approvals for Decisions {
    async fn open(
        &self,
        limit: u32,
        after: Option<WaitId>,
    ) -> Result<Vec<OpenApproval>, StoreError> {
        self.query.open_approvals(limit, after).await
    }

    async fn decide(&self, wait: WaitId, decision: ApprovalDecision) -> Result<bool, StoreError> {
        let open = self.turns.open_waits().await?;
        if !open.iter().any(|open| open.id == wait && open.kind == WaitKind::Approval) {
            return Ok(false);
        }
        let resumed = self.turns.resolve(wait, &Resolution::from(&decision)).await?;
        if let (Some(session), Some(lanes)) = (&resumed, &self.lanes) {
            lanes.wake(session.clone());
            deliver_all(&lanes.parts).await;
        }
        Ok(resumed.is_some())
    }
}

/// Delivers the outcomes that a command has left in the chats that were asked.
pub(crate) async fn deliver_outcomes(parts: &SessionParts, effect: &CommandEffect) {
    match effect {
        CommandEffect::Resolved(_) | CommandEffect::Stopped(_) | CommandEffect::Cancelled(_) => {
            deliver_all(parts).await;
        }
        CommandEffect::Done
        | CommandEffect::Nothing
        | CommandEffect::Queued(_)
        | CommandEffect::StoppedAll
        | CommandEffect::ResumedAll
        | CommandEffect::Resent(_) => {}
    }
}

/// Starts the deliveries of all chats with pending messages.
pub(crate) async fn deliver_all(parts: &SessionParts) {
    if let Err(error) = parts.deliverer.start().await {
        tracing::warn!(%error, "cannot read the pending messages; they are sent with the next one");
    }
}
