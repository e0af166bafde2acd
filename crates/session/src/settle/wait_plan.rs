//! Plans the waits of a turn: the prompt in its chat, and the notices to the owners.

use avocet_protocol::access::{ApprovalCard, Roles};
use avocet_protocol::bus::Destinations;
use avocet_protocol::chat::notices::{self, readers};
use avocet_protocol::chat::{ChatAddress, ChatKind, Content, LoggedInbound, Planned};
use avocet_protocol::ids::CallId;
use avocet_protocol::store::{NewWait, StoreError, task_name};
use avocet_protocol::tool::{WaitKind, WaitRequest};
use avocet_protocol::turn::{Origin, TurnRecord};

use crate::SessionParts;

/// Plans the wait of a call, with its prompts.
pub(super) async fn plan_wait(
    parts: &SessionParts,
    turn: &TurnRecord,
    to: Option<&LoggedInbound>,
    call: CallId,
    request: WaitRequest,
) -> Result<NewWait, StoreError> {
    let id = parts.with_retry(|| parts.turns.reserve_wait()).await?;
    let asked = request.prompt.as_deref().map(|prompt| match request.kind {
        WaitKind::Approval | WaitKind::Choice => of_task(turn, prompt.with_wait(id)),
        // A model wrote this text, so show it unchanged.
        WaitKind::Answer | WaitKind::Child => of_schedule(turn, prompt.clone()),
    });
    let card = asked.as_ref().filter(|_| request.kind == WaitKind::Approval);
    let card = card.map(ApprovalCard::from_prompt);
    let notices = match request.kind {
        WaitKind::Approval => plan_owners_notices(parts, to, asked.as_ref()),
        WaitKind::Answer | WaitKind::Child | WaitKind::Choice => Vec::new(),
    };
    let owner = notices.first().map(|notice| parts.bus.name_of_owner(&notice.address));
    let asked = to.zip(asked).map(|(to, asked)| match request.kind {
        _ if !is_members(parts, to) => asked,
        WaitKind::Approval => owner.as_deref().map_or(asked, owner_asked),
        WaitKind::Choice => Content { choices: asked.choices, ..interrupted_step() },
        WaitKind::Answer | WaitKind::Child => asked,
    });
    let prompt = to.zip(asked.as_ref()).and_then(|(to, asked)| parts.plan_message(to, asked));
    let can_edit = |chat: &&ChatAddress| {
        let channel = parts.channels.channel_of(chat);
        let can_edit = channel.is_some_and(|channel| channel.capabilities().can_edit);
        request.kind != WaitKind::Child && can_edit
    };
    // An outcome shows the call, which a plain question leaves out.
    let is_plain = to.is_some_and(|to| is_members(parts, to))
        && matches!(request.kind, WaitKind::Approval | WaitKind::Choice);
    let shown_in = prompt.iter().filter(|_| !is_plain);
    let asked_in = shown_in.chain(&notices).map(|message| &message.address);
    let editable = asked_in.filter(can_edit).cloned().collect();
    Ok(NewWait {
        id,
        call,
        kind: request.kind,
        expires_at: parts.clock.now().after(request.expires_after),
        prompt,
        notices,
        writes: request.writes,
        grant: request.grant,
        shown: request.shown,
        remark: request.remark,
        card,
        editable,
    })
}

/// Returns `true` for the private chat of a person who is no owner. Such a person can decide nothing
/// about a call, and reads no words of the program.
fn is_members(parts: &SessionParts, to: &LoggedInbound) -> bool {
    let inbound = &to.message.inbound;
    inbound.chat == ChatKind::Private && !parts.bus.is_owners_chat(&inbound.address)
}

/// Says that an owner decides.
fn owner_asked(name: &str) -> Content {
    let text =
        format!("I may do this only with permission. {name} has been asked, and I go on then.");
    notices::OwnerAsked.for_reader(readers::OTHERS, text)
}

/// Asks about an interrupted call without its name and arguments.
fn interrupted_step() -> Content {
    notices::InterruptedPlain.for_reader(
        readers::Member,
        "I was interrupted while I worked for you, and do not know whether my last step took effect. \
         Shall I do it again?",
    )
}

/// Names the task in the prompt of a child.
fn of_task(turn: &TurnRecord, prompt: Content) -> Content {
    match &turn.origin {
        Origin::Child { label, prompt: task, .. } => {
            let task = task_name(label.as_deref(), task);
            Content { text: format!("For the task “{task}”:\n\n{}", prompt.text), ..prompt }
        }
        Origin::Messages(_) => of_schedule(turn, prompt),
    }
}

/// Names the schedule in a question of its run, since the chat may be about something else.
fn of_schedule(turn: &TurnRecord, prompt: Content) -> Content {
    match turn.session.schedule() {
        Some(id) => {
            Content { text: format!("The scheduled task {id} asks:\n\n{}", prompt.text), ..prompt }
        }
        None => prompt,
    }
}

/// Plans notices to the owners' private chats. Empty if the approval was asked for by an owner.
fn plan_owners_notices(
    parts: &SessionParts,
    asked: Option<&LoggedInbound>,
    prompt: Option<&Content>,
) -> Vec<Planned> {
    let roles = &parts.bus;
    let asked = asked.map(|message| &message.message.inbound);
    let Some(prompt) = prompt else { return Vec::new() };
    if asked.is_some_and(|inbound| roles.is_owners(inbound)) {
        return Vec::new();
    }
    let place = asked.map_or_else(
        || "A turn without a chat asks:".to_owned(),
        |inbound| format!("In `{}` I was asked by `{}`:", inbound.address, inbound.sender.id),
    );
    let notice = Content { text: format!("{place}\n\n{}", prompt.text), ..prompt.clone() };
    let asked_in = asked.map(|inbound| &inbound.address);
    let may_decide = |chat: &ChatAddress| roles.may_decide_for(chat, asked_in);
    let chats = roles.owners_chats().into_iter().filter(may_decide);
    chats.filter_map(|chat| parts.channels.plan(&chat, &notice).ok()).collect()
}
