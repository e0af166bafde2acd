//! The chat commands, in one list for all channels. They bypass the lane, and their effect is
//! committed together with their reply.

use std::fmt::Write;
use std::sync::Arc;

use avocet_protocol::{
    ChatKind, CommandAction, CommandEffect, CommandHelp, Content, Deliveries, Inbound,
    LoggedInbound, Outcome, PermissionMode, QueueMode, Role, Roles, SessionId, SessionStatus,
    StoreError, Trust, TurnEvent, TurnEvents,
};
use avocet_supervise::{CaughtPanic, catch_panic};

use crate::command_plan::CommandPlan;
use crate::lane::Lanes;
use crate::outcomes::note_outcomes;
use crate::status_text::StatusFacts;
use crate::usage::usage;
use crate::{
    SessionParts, answer_command, approvals, job_command, memory, mode, model, people, retry,
    tasks, think, voice_command, welcome,
};

/// A command: its help text, action and access rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ChatCommand {
    shown: CommandHelp,
    verb: Verb,
    access: Access,
}

/// The people and chats that may use a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Everyone with access, in any of their chats.
    Everybody,
    /// Owners, in any of their chats.
    Owners,
    /// Owners, in private chats.
    OwnersInPrivate,
}

impl ChatCommand {
    const fn new(
        verb: Verb,
        name: &'static str,
        argument: &'static str,
        help: &'static str,
    ) -> Self {
        Self { shown: CommandHelp { name, argument, help }, verb, access: Access::Everybody }
    }

    const fn for_owners_in_private(self) -> Self {
        Self { access: Access::OwnersInPrivate, ..self }
    }

    const fn for_owners(self) -> Self {
        Self { access: Access::Owners, ..self }
    }

    fn is_for(&self, is_owner: bool, chat: ChatKind) -> bool {
        match self.access {
            Access::Everybody => true,
            Access::Owners => is_owner,
            Access::OwnersInPrivate => is_owner && chat == ChatKind::Private,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
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
    ChatCommand::new(Verb::Answer, "answer", "code [text | decline]", "answer the question of a server, or decline it").for_owners(),
    ChatCommand::new(Verb::Approve, "approve", "[w… [session]]", "let me do what I asked for, once or for this session").for_owners(),
    ChatCommand::new(Verb::Compact, "compact", "", "replace the earlier conversation with a summary"),
    ChatCommand::new(Verb::Deny, "deny", "[w…] [why]", "do not let me do what I asked for").for_owners(),
    ChatCommand::new(Verb::Help, "help", "", "show what I understand"),
    ChatCommand::new(Verb::Id, "id", "", "show the ids of this chat and of yourself"),
    ChatCommand::new(Verb::Job, "job", "[agent task | show j… | logs j… | cancel j…]", "give an agent a job, or show or cancel jobs").for_owners(),
    ChatCommand::new(Verb::Link, "link", "[chat | remove chat]", "let another private chat join this conversation").for_owners_in_private(),
    ChatCommand::new(Verb::Memory, "memory", "[words | add … | forget m…]", "show, add or forget what I remember here"),
    ChatCommand::new(Verb::Mode, "mode", "[default|ask|read]", "show what I may do without asking; owners choose it"),
    ChatCommand::new(Verb::Model, "model", "[provider/model | default]", "which model answers here; owners choose it"),
    ChatCommand::new(Verb::New, "new", "", "start a new conversation: forget this one"),
    ChatCommand::new(Verb::Pair, "pair", "[approve|deny code]", "let strangers speak with me").for_owners_in_private(),
    ChatCommand::new(Verb::Queue, "queue", "[queue|collect|steer|interrupt]", "show or choose what happens to messages that arrive while I work"),
    ChatCommand::new(Verb::Resend, "resend", "", "resend what did not arrive"),
    ChatCommand::new(Verb::Retry, "retry", "[w…]", "repeat what was interrupted or failed"),
    ChatCommand::new(Verb::Skip, "skip", "[w…]", "continue without what was interrupted"),
    ChatCommand::new(Verb::Status, "status", "", "show what I am doing"),
    ChatCommand::new(Verb::Stop, "stop", "", "stop the current work; background programs continue"),
    ChatCommand::new(Verb::Tasks, "tasks", "[t… | cancel t…]", "show or cancel the tasks that I have given to sub-agents"),
    ChatCommand::new(Verb::Think, "think", "[off|low|medium|high|default]", "show how much I think; owners choose it"),
    ChatCommand::new(Verb::Trust, "trust", "", "trust what I have read in this conversation so far").for_owners(),
    ChatCommand::new(Verb::Usage, "usage", "", "show what this conversation has cost"),
    ChatCommand::new(Verb::Voice, "voice", "[on|off|auto]", "show or choose which answers I also speak"),
];

/// Runs every accepted command, in order.
pub(crate) async fn act_on_all(lanes: &Arc<Lanes>) -> Result<(), StoreError> {
    for command in lanes.parts.with_retry(|| lanes.parts.inbox.open_commands()).await? {
        let bug = match catch_panic(act(lanes, &command)).await {
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

async fn act(lanes: &Arc<Lanes>, command: &LoggedInbound) -> Result<(), StoreError> {
    let address = &command.message.inbound.address;
    let session = &command.message.session;
    let role = match lanes.parts.bus.readmit_message(command.clone()) {
        Ok(admitted) => admitted.role(),
        Err(refusal) => return drop_command(lanes, command, &refusal.to_string()).await,
    };
    let plan = plan(lanes, command, role).await?;
    let reply = plan.reply(&lanes.parts, command);
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
        answer.give();
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
        lanes.parts.running.end(turns);
        lanes.parts.running.stop_compaction(session);
        turns.iter().for_each(|turn| emit(Some(*turn), Vec::new(), Outcome::Stopped));
        note_outcomes(&lanes.parts, lanes.group(), turns.clone());
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

async fn plan(
    lanes: &Arc<Lanes>,
    command: &LoggedInbound,
    role: Role,
) -> Result<CommandPlan, StoreError> {
    let parts = &lanes.parts;
    let message = &command.message;
    let (word, argument) = split(&message.inbound.content.text);
    let Inbound { address, sender, chat, .. } = &message.inbound;
    let is_owner = parts.bus.is_owners(&message.inbound);
    if word.eq_ignore_ascii_case(welcome::START) {
        return Ok(CommandPlan::say(welcome::text(is_owner)));
    }
    let verb = match permitted(word, is_owner, *chat) {
        Ok(verb) => verb,
        Err(refusal) => return Ok(CommandPlan::say(refusal)),
    };
    Ok(match verb {
        Verb::Compact => {
            let already = "A summary of the earlier conversation is already planned.";
            CommandPlan::act(
                CommandAction::Compact,
                "I am summarising the earlier conversation.",
                already,
            )
        }
        Verb::Answer => answer_command::plan(&parts.questions, argument),
        Verb::Approve => {
            let open = approvals::open_calls(parts, command, "approve").await?;
            approvals::approve(argument, &open)
        }
        Verb::Deny => {
            let open = approvals::open_calls(parts, command, "deny").await?;
            approvals::deny(argument, &open)
        }
        Verb::Help => CommandPlan::say(help(is_owner, *chat)),
        Verb::Id => CommandPlan::say(format!(
            "This chat is {address}. Its session is {}. You are {}.",
            message.session, sender.id
        )),
        Verb::Job => job_command::plan(lanes, command, argument).await?,
        Verb::Link => people::link(parts, address, argument),
        Verb::Memory => memory::memory(parts, &message.inbound, role, argument).await?,
        Verb::Pair => people::pair(parts, argument),
        Verb::Mode => mode::plan(parts, &message.session, argument, role).await?,
        Verb::Model => model::plan(parts, command, argument, role).await?,
        Verb::New => {
            let done = "This is a new conversation: I have forgotten the earlier one in this chat.";
            CommandPlan::act(CommandAction::Forget, done, done)
        }
        Verb::Queue => {
            let status = parts.query.session_status(&message.session).await?;
            queue(argument, status.mode)
        }
        Verb::Resend => CommandPlan::act(
            CommandAction::Resend,
            "I send it again.",
            "There is nothing to send again.",
        ),
        Verb::Trust => CommandPlan::act(CommandAction::TrustPast, approvals::TRUSTED, ""),
        Verb::Retry => retry::retry(argument, (!is_owner).then_some(&sender.id)),
        Verb::Skip => retry::skip(argument),
        Verb::Status => {
            let status = parts.query.session_status(&message.session).await?;
            CommandPlan::say(status_text(parts, &message.session, &status))
        }
        Verb::Stop => {
            CommandPlan::act(CommandAction::Stop, "Stopped.", "There was nothing to stop.")
        }
        Verb::Tasks => tasks::plan(parts, &message.session, argument).await?,
        Verb::Think => think::plan(parts, &message.session, argument, role).await?,
        Verb::Usage => CommandPlan::say(usage(parts, &message.session, role, *chat).await?),
        Verb::Voice => voice_command::plan(parts, &message.session, argument).await?,
    })
}

/// Finds the command with this name. The error is the refusal for the sender.
fn permitted(word: &str, is_owner: bool, chat: ChatKind) -> Result<Verb, String> {
    let named = |known: &&ChatCommand| known.shown.name.eq_ignore_ascii_case(word);
    let known = COMMANDS
        .iter()
        .find(named)
        .ok_or_else(|| format!("I do not know the command /{word}. /help shows them all."))?;
    if known.is_for(is_owner, chat) {
        return Ok(known.verb);
    }
    let only = match known.access {
        Access::OwnersInPrivate => ", and only in a private chat",
        Access::Owners | Access::Everybody => "",
    };
    Err(format!("/{} is for my owner{only}.", known.shown.name))
}

/// Splits a command into the word after the slash, without the bot's name, and its argument.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim().trim_start_matches('/');
    let (word, argument) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word.split('@').next().unwrap_or(word), argument.trim())
}

fn help(is_owner: bool, chat: ChatKind) -> String {
    let mut text =
        String::from("Write to me as you would to a person. I also know these commands:\n");
    let usable = COMMANDS.iter().filter(|command| command.is_for(is_owner, chat));
    for CommandHelp { name, argument, help } in usable.map(|command| command.shown) {
        let space = if argument.is_empty() { "" } else { " " };
        // Writing to a `String` cannot fail.
        write!(text, "\n/{name}{space}{argument}: {help}").unwrap_or_default();
    }
    text
}

fn queue(argument: &str, current: QueueMode) -> CommandPlan {
    if argument.is_empty() {
        let word = current.word();
        return CommandPlan::say(format!("The queue mode is {word}: {}.", mode_help(current)));
    }
    let wanted = QueueMode::ALL.into_iter().find(|mode| mode.word().eq_ignore_ascii_case(argument));
    match wanted {
        Some(mode) => {
            let done = format!("The queue mode is {} now: {}.", mode.word(), mode_help(mode));
            CommandPlan::act(CommandAction::SetMode(mode), done, "")
        }
        None => {
            let modes = QueueMode::ALL.map(QueueMode::word).join(", ");
            CommandPlan::say(format!("There is no queue mode {argument:?}; there are {modes}."))
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
        // Writing to a `String` cannot fail.
        write!(text, " {}.", think::shown(status.effort, configured)).unwrap_or_default();
    }
    if status.permission_mode != PermissionMode::Default {
        write!(text, " {}.", mode::describe_mode(status.permission_mode)).unwrap_or_default();
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
        assert_eq!(split("/queue  collect \n"), ("queue", "collect"));
        assert_eq!(split(" /stop@avocet_bot now"), ("stop", "now"));
        assert_eq!(split("/new"), ("new", ""));
    }

    #[test]
    fn help_lists_the_sorted_commands_for_role_and_chat() {
        assert!(COMMANDS.is_sorted_by_key(|command| command.shown.name));
        let all = help(true, ChatKind::Private);
        for command in commands() {
            assert!(all.contains(&format!("/{}", command.name)), "{}", command.name);
        }
        for (is_owner, chat) in [(false, ChatKind::Private), (true, ChatKind::Group)] {
            let help = help(is_owner, chat);
            assert!(help.contains("/stop") && !help.contains("/pair"), "{help}");
            assert_eq!(help.contains("/approve"), is_owner, "{help}");
        }
    }
}
