//! The chat commands, in one list for all channels. They bypass the lane, and their effect is
//! committed together with their reply.

mod find;
mod list;

use std::sync::Arc;

use avocet_protocol::access::{PermissionMode, Role, Roles, Trust};
use avocet_protocol::bus::{Deliveries, QueueMode};
use avocet_protocol::chat::notices::{self, readers};
use avocet_protocol::chat::{Content, Inbound, LoggedInbound, NewInbound, Outcome};
use avocet_protocol::store::{CommandAction, CommandEffect, SessionStatus, StoreError};
use avocet_protocol::turn::{TurnEvent, TurnEvents};
use avocet_supervise::{CaughtPanic, catch_panic};
use avocet_text::append_text;

pub use self::list::commands;
use self::list::{CommandVerb, list_commands};
use crate::choice_bits::describe_used_bits;
use crate::command_plan::CommandPlan;
use crate::lane::Lanes;
use crate::outcomes::note_outcomes;
use crate::status_text::StatusFacts;
use crate::stopped::{HeldAnswer, keep_answer};
use crate::usage::usage_reply;
use crate::{
    SessionParts, answer_command, approvals, job_command, memory, mode, model, people, retry,
    rule_command, stop_all, tasks, think, voice_command, welcome,
};

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
        let is_owner = lanes.parts.bus.is_owners_chat(&command.message.inbound.address);
        let notice = if is_owner {
            let text = format!("I dropped a command: an internal error: {bug}.");
            notices::CommandFailed.for_reader(readers::Owner, text)
        } else {
            let text = "Something went wrong inside me, so your command did nothing.";
            notices::CommandFailed.for_reader(readers::OTHERS, text)
        };
        drop_command(lanes, &command, &notice).await?;
    }
    Ok(())
}

/// Ends a refused or failed command, so that later commands and its session go on.
async fn drop_command(
    lanes: &Arc<Lanes>,
    command: &LoggedInbound,
    notice: &Content,
) -> Result<(), StoreError> {
    let address = &command.message.inbound.address;
    let notice = lanes.parts.plan_message(command, notice);
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
        Err(refusal) => {
            tracing::warn!(command = %command.id, %refusal, "dropped a command: its sender may no \
                longer speak");
            let text = "You may no longer speak with me here, so your command did nothing.";
            let notice = notices::CommandFailed.for_reader(readers::EVERYBODY, text);
            return drop_command(lanes, command, &notice).await;
        }
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
    match effect {
        CommandEffect::StoppedAll => {
            stop_all::end_open_work(&lanes.parts, lanes.group()).await?;
        }
        CommandEffect::ResumedAll => lanes.wake_open_sessions().await?,
        _ => {}
    }
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
    if let CommandAction::Decide(settled) = action {
        let messages = settled.notice.iter().chain(&settled.outcomes);
        messages.for_each(|message| parts.deliverer.wake(&message.address));
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
            let plan = approvals::plan_approval(argument, &open);
            approvals::refuse_elsewhere(parts, command, plan).await?
        }
        CommandVerb::Deny => {
            let open = approvals::open_calls(parts, command, "deny").await?;
            let plan = approvals::plan_denial(argument, &open);
            approvals::refuse_elsewhere(parts, command, plan).await?
        }
        CommandVerb::Help => {
            CommandPlan::with_text(list_commands(is_owner, role >= Role::Owner, *chat))
        }
        CommandVerb::Id => CommandPlan::with_text(format!(
            "This chat is {address}. Its session is {}. You are {}.",
            message.session, sender.id
        )),
        CommandVerb::Job => job_command::plan_job(lanes, command, argument).await?,
        CommandVerb::Link => people::plan_link(parts, address, argument),
        CommandVerb::Memory => memory::plan_memory(parts, &message.inbound, role, argument).await?,
        CommandVerb::Pair => people::plan_pairing(parts, &message.inbound, argument),
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
        CommandVerb::Rule => rule_command::plan_rule(parts, command, argument),
        CommandVerb::Rules => rule_command::plan_list(parts, command, is_owner).await?,
        CommandVerb::Skip => retry::plan_skip(argument),
        CommandVerb::Status => {
            let status = parts.query.session_status(&message.session).await?;
            let bits = describe_used_bits(parts, &message.session, &status).await?;
            let mut text = status_text(parts, message, &status, is_owner);
            if let Some(bits) = bits {
                append_text(&mut text, format_args!(" {bits}"));
            }
            CommandPlan::with_text(text)
        }
        CommandVerb::Resume => stop_all::plan_resume(parts, command, argument),
        CommandVerb::Stop if stop_all::means_everything(argument) => {
            stop_all::plan_stop(parts, command, is_owner)
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

fn plan_queue_mode(argument: &str, current: QueueMode) -> CommandPlan {
    if argument.is_empty() {
        let word = current.as_str();
        return CommandPlan::with_text(format!(
            "The queue mode is {word}: {}.",
            mode_help(current)
        ));
    }
    let wanted =
        QueueMode::ALL.into_iter().find(|mode| mode.as_str().eq_ignore_ascii_case(argument));
    match wanted {
        Some(mode) => {
            let done = format!("The queue mode is {} now: {}.", mode.as_str(), mode_help(mode));
            CommandPlan::with_action(CommandAction::SetMode(mode), done, "")
        }
        None => {
            let modes = QueueMode::ALL.map(QueueMode::as_str).join(", ");
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

fn status_text(
    parts: &SessionParts,
    message: &NewInbound,
    status: &SessionStatus,
    is_owner: bool,
) -> String {
    let session = &message.session;
    let facts = StatusFacts {
        status,
        is_compacting: parts.running.is_compacting(session),
        now: parts.clock.now(),
    };
    let mut text = facts.sentences();
    match &*parts.stop.current_stop() {
        Some(stop) if is_owner => {
            let stopped = stop_all::describe_stop(stop, message.inbound.chat, parts.clock.now());
            append_text(&mut text, format_args!(" {stopped}"));
        }
        Some(_) => text.push_str(" My owner has stopped everything I do; messages wait."),
        None => {}
    }
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
}
