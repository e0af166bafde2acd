//! Plans the waits of a turn: the prompt in its chat, and the notices to the owners.

use avocet_protocol::access::Roles;
use avocet_protocol::bus::Destinations;
use avocet_protocol::chat::{ChatAddress, Content, LoggedInbound, Planned};
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
        WaitKind::Approval | WaitKind::Choice => of_task(turn, prompt.naming(id)),
        // A model wrote this text, so show it unchanged.
        WaitKind::Answer | WaitKind::Child => of_schedule(turn, prompt.clone()),
    });
    let prompt = to.zip(asked.as_ref()).and_then(|(to, asked)| parts.plan_message(to, asked));
    let notices = match request.kind {
        WaitKind::Approval => plan_owners_notices(parts, to, asked.as_ref()),
        WaitKind::Answer | WaitKind::Child | WaitKind::Choice => Vec::new(),
    };
    let can_edit = |chat: &&ChatAddress| {
        let channel = parts.channels.channel_of(chat);
        let can_edit = channel.is_some_and(|channel| channel.capabilities().can_edit);
        request.kind != WaitKind::Child && can_edit
    };
    let asked_in = prompt.iter().chain(&notices).map(|message| &message.address);
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
        editable,
    })
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
    let chats = roles.owners_chats().into_iter();
    chats.filter_map(|chat| parts.channels.plan(&chat, &notice).ok()).collect()
}
