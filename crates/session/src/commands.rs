//! The chat commands, in one list for all channels. They bypass the lane, and their effect is
//! committed together with their reply.

mod find;

use std::sync::Arc;

use avocet_protocol::access::{PermissionMode, Role, Roles, Trust};
use avocet_protocol::bus::{Deliveries, QueueMode};
use avocet_protocol::channel::CommandHelp;
use avocet_protocol::chat::{ChatKind, Content, Inbound, LoggedInbound, Outcome, SessionId};
use avocet_protocol::store::{CommandAction, CommandEffect, SessionStatus, StoreError};
use avocet_protocol::turn::{TurnEvent, TurnEvents};
use avocet_supervise::{CaughtPanic, catch_panic};
use avocet_text::append_text;

use crate::command_plan::CommandPlan;
use crate::lane::Lanes;
use crate::outcomes::note_outcomes;
use crate::status_text::StatusFacts;
use crate::stopped::{HeldAnswer, keep_answer};
use crate::usage::usage_reply;
use crate::{
    SessionParts, answer_command, approvals, job_command, memory, mode, model, people, retry,
    tasks, think, voice_command, welcome,
};

/// A command: its help text, action and access rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ChatCommand {
    shown: CommandHelp,
    verb: CommandVerb,
    access: CommandAccess,
}

/// The people and chats that may use a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandAccess {
    /// Everyone with access, in any of their chats.
    Everybody,
    /// Owners, in any of their chats.
    Owners,
    /// Owners, in private chats.
    OwnersInPrivate,
}

impl ChatCommand {
    const fn new(
        verb: CommandVerb,
        name: &'static str,
        argument: &'static str,
        help: &'static str,
    ) -> Self {
        Self { shown: CommandHelp { name, argument, help }, verb, access: CommandAccess::Everybody }
    }

    const fn for_owners_in_private(self) -> Self {
        Self { access: CommandAccess::OwnersInPrivate, ..self }
    }

    const fn for_owners(self) -> Self {
        Self { access: CommandAccess::Owners, ..self }
    }

    fn is_for(&self, is_owner: bool, chat: ChatKind) -> bool {
        match self.access {
            CommandAccess::Everybody => true,
            CommandAccess::Owners => is_owner,
            CommandAccess::OwnersInPrivate => is_owner && chat == ChatKind::Private,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandVerb {
    Answer,
    Approve,
    Compact,
    Deny,
    Help,
    Id,
    Job,
    Link,
    Memory,
    Mode,
    Model,
    New,
    Pair,
    Queue,
    Resend,
    Retry,
    Skip,
    Status,
    Stop,
    Tasks,
    Think,
    Trust,
    Usage,
    Voice,
}

/// Returns every command, as `/help` and the platforms show them.
pub fn commands() -> impl Iterator<Item = CommandHelp> {
    COMMANDS.iter().map(|command| command.shown)
}

#[rustfmt::skip]
const COMMANDS: &[ChatCommand] = &[
    ChatCommand::new(CommandVerb::Answer, "answer", "code [text | decline]", "answer the question of a server, or decline it").for_owners(),
    ChatCommand::new(CommandVerb::Approve, "approve", "[w… [session]]", "let me do what I asked for, once or for this session").for_owners(),
    ChatCommand::new(CommandVerb::Compact, "compact", "", "replace the earlier conversation with a summary"),
    ChatCommand::new(CommandVerb::Deny, "deny", "[w…] [why]", "do not let me do what I asked for").for_owners(),
    ChatCommand::new(CommandVerb::Help, "help", "", "show what I understand"),
    ChatCommand::new(CommandVerb::Id, "id", "", "show the ids of this chat and of yourself"),
    ChatCommand::new(CommandVerb::Job, "job", "[agent task | show j… | logs j… | cancel j…]", "give an agent a job, or show or cancel jobs").for_owners(),
    ChatCommand::new(CommandVerb::Link, "link", "[chat | remove chat]", "let another private chat join this conversation").for_owners_in_private(),
    ChatCommand::new(CommandVerb::Memory, "memory", "[words | add … | forget m…]", "show, add or forget what I remember here"),
    ChatCommand::new(CommandVerb::Mode, "mode", "[default|ask|read]", "show what I may do without asking; owners choose it"),
    ChatCommand::new(CommandVerb::Model, "model", "[provider/model | default]", "which model answers here; owners choose it"),
    ChatCommand::new(CommandVerb::New, "new", "", "start a new conversation: forget this one"),
    ChatCommand::new(CommandVerb::Pair, "pair", "[approve|deny code]", "let strangers speak with me").for_owners_in_private(),
    ChatCommand::new(CommandVerb::Queue, "queue", "[queue|collect|steer|interrupt]", "show or choose what happens to messages that arrive while I work"),
    ChatCommand::new(CommandVerb::Resend, "resend", "", "resend what did not arrive"),
    ChatCommand::new(CommandVerb::Retry, "retry", "[w…]", "repeat what was interrupted or failed"),
    ChatCommand::new(CommandVerb::Skip, "skip", "[w…]", "continue without what was interrupted"),
    ChatCommand::new(CommandVerb::Status, "status", "", "show what I am doing"),
    ChatCommand::new(CommandVerb::Stop, "stop", "", "stop the current work, keep its text; background programs continue"),
    ChatCommand::new(CommandVerb::Tasks, "tasks", "[t… | cancel t…]", "show or cancel the tasks that I have given to sub-agents"),
    ChatCommand::new(CommandVerb::Think, "think", "[off|low|medium|high|default]", "show how much I think; owners choose it"),
    ChatCommand::new(CommandVerb::Trust, "trust", "", "trust what I have read in this conversation so far").for_owners(),
    ChatCommand::new(CommandVerb::Usage, "usage", "", "show what this conversation has cost"),
    ChatCommand::new(CommandVerb::Voice, "voice", "[on|off|auto]", "show or choose which answers I also speak"),
];

/// Runs every accepted command, in order.
pub(crate) async fn act_on_all(lanes: &Arc<Lanes>) -> Result<(), StoreError> {
    for command in lanes.parts.with_retry(|| lanes.parts.inbox.open_commands()).await? {
        let bug = match catch_panic(run_command(lanes, &command)).await {
            Ok(Err(StoreError::Internal(bug))) | Err(CaughtPanic(bug)) => bug,
            Ok(acted) => {
                acted?;
                continue;
            }
        };
        tracing::error!(command = %command.id, error = bug, "the command cannot act");
        drop_command(lanes, &command, &format!("an internal error: {bug}")).await?;
    }
    Ok(())
}

/// Ends a refused or failed command, so that later commands and its session go on.
async fn drop_command(
    lanes: &Arc<Lanes>,
    command: &LoggedInbound,
    reason: &str,
) -> Result<(), StoreError> {
    let address = &command.message.inbound.address;
    let notice = Content::text(format!("I dropped a command: {reason}."));
    let notice = lanes.parts.plan_message(command, &notice);
    let drop = || lanes.parts.inbox.drop_message(command.id, notice.as_ref());
    match lanes.parts.with_retry(drop).await {
        Err(StoreError::Stale(_)) => {}
        dropped => dropped?,
    }
    lanes.wake(command.message.session.clone());
    lanes.parts.deliverer.wake(address);
    Ok(())
}

async fn run_command(lanes: &Arc<Lanes>, command: &LoggedInbound) -> Result<(), StoreError> {
    let address = &command.message.inbound.address;
    let session = &command.message.session;
    let role = match lanes.parts.bus.readmit_message(command.clone()) {
        Ok(admitted) => admitted.role(),
        Err(refusal) => return drop_command(lanes, command, &refusal.to_string()).await,
    };
    let mut plan = plan_command(lanes, command, role).await?;
    let held = keep_answer(&lanes.parts, session, &mut plan.action).await;
    let reply = plan.plan_replies(&lanes.parts, command);
    let settle = || lanes.parts.inbox.settle_command(command.id, &plan.action, &reply);
    let _changing = if changes_access(&plan.action) {
        Some(lanes.parts.bus.block_publishing().await)
    } else {
        None
    };
    let effect = match lanes.parts.with_retry(settle).await {
        // The command has acted, and the process died before it could wake others.
        Err(StoreError::Stale(_)) => return Ok(()),
        effect => effect?,
    };
    tracing::debug!(command = %command.id, ?effect, "the command has acted");
    if let Some(answer) = plan.answer {
        answer.resume_call();
    }
    if changes_access(&plan.action) {
        reload_access(&lanes.parts, &plan.action).await?;
    }
    if let CommandEffect::Queued(session) = &effect {
        lanes.wake(session.clone());
    }
    let emit = |turn, messages, outcome| {
        lanes.parts.events.emit(session, TurnEvent::Ended { turn, messages, outcome });
    };
    if let CommandEffect::Resolved(session) = &effect {
        lanes.parts.events.emit(session, TurnEvent::Resumed);
        lanes.wake(session.clone());
    }
    if let CommandEffect::Stopped(turns) = &effect {
        lanes.parts.running.signal_ends(turns);
        lanes.parts.running.stop_compaction(session);
        turns.iter().for_each(|turn| emit(Some(*turn), Vec::new(), Outcome::Stopped));
        note_outcomes(&lanes.parts, lanes.group(), turns.clone());
        held.iter().for_each(HeldAnswer::wake_delivery);
    }
    approvals::deliver_outcomes(&lanes.parts, &effect).await;
    if let CommandEffect::Cancelled(cancelled) = &effect {
        tasks::end_task(lanes, cancelled);
    }
    emit(None, vec![command.id], Outcome::Replied);
    lanes.wake(session.clone());
    lanes.parts.deliverer.wake(address);
    Ok(())
}

/// Returns `true` if an action changes access or links.
fn changes_access(action: &CommandAction) -> bool {
    use CommandAction::{Decide, Link, Unlink};
    matches!(action, Decide(_) | Link(_) | Unlink(_))
}

/// Reloads access control after a change in the log, and delivers the message to an admitted
/// person.
async fn reload_access(parts: &SessionParts, action: &CommandAction) -> Result<(), StoreError> {
    parts.with_retry(|| parts.bus.reload_access()).await?;
    if let CommandAction::Decide(settled) = action
        && let Some(notice) = &settled.notice
    {
        parts.deliverer.wake(&notice.address);
    }
    Ok(())
}

async fn plan_command(
    lanes: &Arc<Lanes>,
    command: &LoggedInbound,
    role: Role,
) -> Result<CommandPlan, StoreError> {
    let parts = &lanes.parts;
    let message = &command.message;
    let (word, argument) = split_command(&message.inbound.content.text);
    let Inbound { address, sender, chat, .. } = &message.inbound;
    let is_owner = parts.bus.is_owners(&message.inbound);
    if word.eq_ignore_ascii_case(welcome::START) {
        return Ok(CommandPlan::with_text(welcome::welcome_text(is_owner)));
    }
    let verb = match find::find_permitted(word, is_owner, *chat) {
        Ok(verb) => verb,
        Err(refusal) => return Ok(CommandPlan::with_text(refusal)),
    };
    Ok(match verb {
        CommandVerb::Compact => {
            let already = "A summary of the earlier conversation is already planned.";
            CommandPlan::with_action(
                CommandAction::Compact,
                "I am summarising the earlier conversation.",
                already,
            )
        }
        CommandVerb::Answer => answer_command::plan_answer(&parts.questions, argument),
        CommandVerb::Approve => {
            let open = approvals::open_calls(parts, command, "approve").await?;
            approvals::plan_approval(argument, &open)
        }
        CommandVerb::Deny => {
            let open = approvals::open_calls(parts, command, "deny").await?;
            approvals::plan_denial(argument, &open)
        }
        CommandVerb::Help => CommandPlan::with_text(list_commands(is_owner, *chat)),
        CommandVerb::Id => CommandPlan::with_text(format!(
            "This chat is {address}. Its session is {}. You are {}.",
            message.session, sender.id
        )),
        CommandVerb::Job => job_command::plan_job(lanes, command, argument).await?,
        CommandVerb::Link => people::plan_link(parts, address, argument),
        CommandVerb::Memory => memory::plan_memory(parts, &message.inbound, role, argument).await?,
        CommandVerb::Pair => people::plan_pairing(parts, sender, argument),
        CommandVerb::Mode => mode::plan_mode(parts, &message.session, argument, role).await?,
        CommandVerb::Model => model::plan_model(parts, command, argument, role).await?,
        CommandVerb::New => {
            let done = "This is a new conversation: I have forgotten the earlier one in this chat.";
            CommandPlan::with_action(CommandAction::Forget, done, done)
        }
        CommandVerb::Queue => {
            let status = parts.query.session_status(&message.session).await?;
            plan_queue_mode(argument, status.mode)
        }
        CommandVerb::Resend => CommandPlan::with_action(
            CommandAction::Resend,
            "I send it again.",
            "There is nothing to send again.",
        ),
        CommandVerb::Trust => {
            CommandPlan::with_action(CommandAction::TrustPast, approvals::TRUSTED, "")
        }
        CommandVerb::Retry => retry::plan_retry(argument, (!is_owner).then_some(&sender.id)),
        CommandVerb::Skip => retry::plan_skip(argument),
        CommandVerb::Status => {
            let status = parts.query.session_status(&message.session).await?;
            CommandPlan::with_text(status_text(parts, &message.session, &status))
        }
        CommandVerb::Stop => {
            let nothing = "There was nothing to stop.";
            CommandPlan::with_action(CommandAction::Stop(None), "Stopped.", nothing)
        }
        CommandVerb::Tasks => tasks::plan_tasks(parts, &message.session, argument).await?,
        CommandVerb::Think => think::plan_think(parts, &message.session, argument, role).await?,
        CommandVerb::Usage => {
            CommandPlan::with_text(usage_reply(parts, &message.session, role, *chat).await?)
        }
        CommandVerb::Voice => voice_command::plan_voice(parts, &message.session, argument).await?,
    })
}

/// Splits a command into the word after the slash, without the bot's name, and its argument.
fn split_command(text: &str) -> (&str, &str) {
    let text = text.trim().trim_start_matches('/');
    let (word, argument) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word.split('@').next().unwrap_or(word), argument.trim())
}

fn list_commands(is_owner: bool, chat: ChatKind) -> String {
    let mut text =
        String::from("Write to me as you would to a person. I also know these commands:\n");
    let usable = COMMANDS.iter().filter(|command| command.is_for(is_owner, chat));
    for CommandHelp { name, argument, help } in usable.map(|command| command.shown) {
        let space = if argument.is_empty() { "" } else { " " };
        append_text(&mut text, format_args!("\n/{name}{space}{argument}: {help}"));
    }
    text
}

fn plan_queue_mode(argument: &str, current: QueueMode) -> CommandPlan {
    if argument.is_empty() {
        let word = current.word();
        return CommandPlan::with_text(format!(
            "The queue mode is {word}: {}.",
            mode_help(current)
        ));
    }
    let wanted = QueueMode::ALL.into_iter().find(|mode| mode.word().eq_ignore_ascii_case(argument));
    match wanted {
        Some(mode) => {
            let done = format!("The queue mode is {} now: {}.", mode.word(), mode_help(mode));
            CommandPlan::with_action(CommandAction::SetMode(mode), done, "")
        }
        None => {
            let modes = QueueMode::ALL.map(QueueMode::word).join(", ");
            CommandPlan::with_text(format!(
                "There is no queue mode {argument:?}; there are {modes}."
            ))
        }
    }
}

fn mode_help(mode: QueueMode) -> &'static str {
    match mode {
        QueueMode::Queue => "messages that arrive while I work are answered one by one afterwards",
        QueueMode::Collect => "messages that arrive while I work are answered together afterwards",
        QueueMode::Steer => "messages that arrive while I work are read at my next step",
        QueueMode::Interrupt => "a message that arrives while I work ends that work",
    }
}

/// Part of the status if untrusted content may influence the next actions.
const READ_OTHERS: &str = " I have read untrusted content, so I ask before I do more than read. An \
    owner can trust it with /trust, and /new forgets it.";

fn status_text(parts: &SessionParts, session: &SessionId, status: &SessionStatus) -> String {
    let facts = StatusFacts {
        status,
        is_compacting: parts.running.is_compacting(session),
        now: parts.clock.now(),
    };
    let mut text = facts.sentences();
    let configured = parts.agents.now().of_session(session, status).run.effort;
    if status.effort.or(configured).is_some() {
        let effort = think::describe_effort(status.effort, configured);
        append_text(&mut text, format_args!(" {effort}."));
    }
    if status.permission_mode != PermissionMode::Default {
        append_text(&mut text, format_args!(" {}.", mode::describe_mode(status.permission_mode)));
    }
    if status.trust == Trust::Low {
        text.push_str(READ_OTHERS);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_separates_a_command_from_its_argument() {
        assert_eq!(split_command("/queue  collect \n"), ("queue", "collect"));
        assert_eq!(split_command(" /stop@avocet_bot now"), ("stop", "now"));
        assert_eq!(split_command("/new"), ("new", ""));
    }

    #[test]
    fn help_lists_the_sorted_commands_for_role_and_chat() {
        assert!(COMMANDS.is_sorted_by_key(|command| command.shown.name));
        let all = list_commands(true, ChatKind::Private);
        for command in commands() {
            assert!(all.contains(&format!("/{}", command.name)), "{}", command.name);
        }
        for (is_owner, chat) in [(false, ChatKind::Private), (true, ChatKind::Group)] {
            let help = list_commands(is_owner, chat);
            assert!(help.contains("/stop") && !help.contains("/pair"), "{help}");
            assert_eq!(help.contains("/approve"), is_owner, "{help}");
        }
    }
}
