//! `/stop all` and `/resume all`: an owner stops everything, and lets it go on.
//!
//! ```text
//! the row           from now on no turn is claimed, and no schedule is due    one transaction
//! end each turn     with its sub-agents, and a notice to its chat             one transaction each
//! signal it         its work is dropped, and with it its tools and programs
//! kill              the programs in the background
//! no consolidation  a running one sees the row, and ends without a change (`memory/consolidator.rs`)
//! ```
//!
//! **The row comes first**, so that nothing begins while the turns are ended. A process that dies in
//! between finds the row at its next start, and ends the turns that are still open.
//!
//! **Messages are kept.** A lane that finds the stop tells each chat once that its messages wait.
//! `/resume all` wakes all lanes, and they answer what waits, in order.

use avocet_protocol::access::{PersonId, Roles};
use avocet_protocol::bus::Deliveries;
use avocet_protocol::chat::notices::{self, readers};
use avocet_protocol::chat::{ChatKind, Content, LoggedInbound, Outcome, SessionId};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::{CommandAction, StopInForce, StoreError};
use avocet_protocol::turn::{TurnEvent, TurnEvents};
use avocet_supervise::Group;

use crate::command_plan::CommandPlan;
use crate::outcomes::note_outcomes;
use crate::status_text::format_span;
use crate::{SessionParts, people};

/// The reply to `/stop all`, also at the command line.
const STOPPED: &str = "Everything is stopped: all answers, tasks, jobs, schedules and programs. \
    Messages are kept and wait. It stays so, also after a restart, until an owner writes /resume all.";

/// Returns `true` if an argument of `/stop` or `/resume` means everything.
pub(crate) fn means_everything(argument: &str) -> bool {
    ["all", "everything"].iter().any(|word| argument.eq_ignore_ascii_case(word))
}

/// Plans `/stop all`.
pub(crate) fn plan_stop(
    parts: &SessionParts,
    command: &LoggedInbound,
    is_owner: bool,
) -> CommandPlan {
    if let Some(refused) = refuse_stop(parts, command, is_owner) {
        return refused;
    }
    let inbound = &command.message.inbound;
    let stop = CommandAction::StopAll {
        by: PersonId::from_inbound(inbound),
        chat: inbound.address.clone(),
    };
    let nothing = match &*parts.stop.current_stop() {
        Some(stop) => describe_stop(stop, inbound.chat, parts.clock.now()),
        None => STOPPED.to_owned(),
    };
    CommandPlan::with_action(stop, STOPPED, &nothing)
}

/// Plans `/resume all`. The caller has checked that an owner asks.
pub(crate) fn plan_resume(
    parts: &SessionParts,
    command: &LoggedInbound,
    argument: &str,
) -> CommandPlan {
    if !means_everything(argument) {
        return CommandPlan::with_text(
            "Write /resume all to let everything go on that /stop all has stopped.",
        );
    }
    if let Some(refused) = refuse_stop(parts, command, true) {
        return refused;
    }
    let by = PersonId::from_inbound(&command.message.inbound);
    let done = "I go on. I answer the messages that waited, in their order.";
    CommandPlan::with_action(
        CommandAction::ResumeAll { by },
        done,
        "Nothing is stopped, so there is nothing to resume.",
    )
}

/// Refuses everybody who may not decide about all chats; `None` if the sender may.
fn refuse_stop(
    parts: &SessionParts,
    command: &LoggedInbound,
    is_owner: bool,
) -> Option<CommandPlan> {
    if !is_owner {
        let refusal = "/stop all is for my owner. /stop stops what I do here.";
        return Some(CommandPlan::with_text(refusal));
    }
    let here = &command.message.inbound.address;
    let what = "It concerns chats of other accounts, too";
    let may_decide = parts.bus.may_decide_for(here, None);
    (!may_decide).then(|| CommandPlan::with_text(people::refuse_elsewhere(what, here)))
}

/// The sentences about the stop in force for an owner. In a group, others read along, so that the
/// ids of the owner and of their chat are left out.
pub(crate) fn describe_stop(stop: &StopInForce, read_in: ChatKind, now: Timestamp) -> String {
    let StopInForce { at, by, chat } = stop;
    let since = format_span(at.until(now).as_secs());
    let place = match chat {
        Some(_) if read_in == ChatKind::Group => "an owner".to_owned(),
        Some(chat) => format!("{by} in {chat}"),
        None => "a command on this machine".to_owned(),
    };
    format!(
        "Everything is stopped since {since}, by {place}. Messages wait. /resume all lets me go on."
    )
}

/// Ends all open turns, and kills the programs in the background.
pub(crate) async fn end_open_work(parts: &SessionParts, group: &Group) -> Result<(), StoreError> {
    parts.running.stop_compactions();
    let open = parts.with_retry(|| parts.stop.open_work()).await?;
    for work in &open {
        let stopped = |asker: &LoggedInbound| {
            parts.plan_message(asker, &notice_for(parts, asker, StoppedPart::Work))
        };
        let notice = work.asker.as_ref().and_then(stopped);
        let end = || parts.stop.end_work(work.turn, notice.as_ref());
        let ended = parts.with_retry(end).await?;
        parts.running.signal_ends(&ended);
        for turn in &ended {
            let of = open.iter().find(|other| other.turn == *turn).unwrap_or(work);
            let (turn, outcome) = (Some(*turn), Outcome::Stopped);
            let event = TurnEvent::Ended { turn, messages: Vec::new(), outcome };
            parts.events.emit(&of.session, event);
        }
        note_outcomes(parts, group, ended);
    }
    parts.programs.kill_all();
    tracing::warn!(
        turns = open.len(),
        "an owner has stopped everything; `avocet resume --all` or \
        /resume all lets it go on"
    );
    parts.with_retry(|| parts.deliverer.start()).await
}

/// Tells the chats whose messages wait in a session that everything is stopped, each chat once.
pub(crate) async fn tell_waiting(
    parts: &SessionParts,
    session: &SessionId,
) -> Result<(), StoreError> {
    // Nobody waits in front of a job or a schedule.
    if session.job().is_some() || session.schedule().is_some() {
        return Ok(());
    }
    for message in parts.with_retry(|| parts.stop.untold_messages(session)).await? {
        let content = notice_for(parts, &message, StoppedPart::Message);
        let Some(notice) = parts.plan_message(&message, &content) else { continue };
        if parts.with_retry(|| parts.stop.tell_chat(&notice)).await? {
            parts.deliverer.wake(&notice.address);
        }
    }
    Ok(())
}

/// The part of a chat that the stop concerns.
#[derive(Clone, Copy)]
enum StoppedPart {
    /// Work that has begun.
    Work,
    /// A message that waits.
    Message,
}

fn notice_for(parts: &SessionParts, to: &LoggedInbound, part: StoppedPart) -> Content {
    let inbound = &to.message.inbound;
    let kept = match part {
        StoppedPart::Work => "I do not finish what I was doing here. New messages wait",
        StoppedPart::Message => "Your message is kept and waits, as later ones do",
    };
    if inbound.chat == ChatKind::Private && parts.bus.is_owners_chat(&inbound.address) {
        let text = format!(
            "Everything is stopped by an owner. {kept} until /resume all; /status says since when."
        );
        return notices::EverythingStopped.for_reader(readers::Owner, text);
    }
    let text =
        format!("My owner has stopped everything I do. {kept} until my owner lets me go on.");
    notices::EverythingStopped.for_reader(readers::OTHERS, text)
}
