//! `/pair` and `/link`: an owner admits people and lets chats share a session. The caller has
//! checked access. These commands make users only, since owners come from the command line.

use avocet_bus::describe_decision;
use avocet_protocol::access::{
    AccessControl, AccessError, ChatLink, Decision, Pairing, Role, Roles,
};
use avocet_protocol::chat::{ChatAddress, Inbound};
use avocet_protocol::store::CommandAction;
use avocet_text::in_one_line;

use crate::SessionParts;
use crate::command_plan::CommandPlan;

/// Characters of a name in the text of a decision.
const MAX_NAME: usize = 40;

/// Plans `/pair`. The card whose button was pressed becomes the decision.
pub(crate) fn plan_pairing(parts: &SessionParts, command: &Inbound, argument: &str) -> CommandPlan {
    const USE: &str = "Write /pair, /pair approve CODE, or /pair deny CODE.";
    let (verb, code) = argument.split_once(char::is_whitespace).unwrap_or((argument, ""));
    let decision = match verb.to_ascii_lowercase().as_str() {
        "" => return CommandPlan::with_text(open_codes(parts)),
        "approve" => Decision::Approved(Role::User),
        "deny" => Decision::Denied,
        _ => return CommandPlan::with_text(USE),
    };
    if code.trim().is_empty() {
        return CommandPlan::with_text(USE);
    }
    let Inbound { address, sender: owner, .. } = command;
    let name = in_one_line(owner.name.as_deref().unwrap_or(owner.id.as_str()), MAX_NAME);
    let by = format!("`{name}`");
    let (pairing, settled) = match parts.bus.prepare_decision(code.trim(), decision, &by) {
        Ok(decided) => decided,
        Err(error) => return CommandPlan::with_text(explain_error(&error)),
    };
    if !parts.bus.may_decide_for(address, Some(&pairing.chat)) {
        let what = format!("{} is a code of `{}`", pairing.code, pairing.chat);
        return CommandPlan::with_text(refuse_elsewhere(&what, address));
    }
    let done = describe_decision(&pairing, decision, &by);
    let nothing = format!("The code {} is no longer open.", pairing.code);
    CommandPlan::with_action(CommandAction::Decide(settled), &done, &nothing).in_place()
}

/// Plans `/link` in a chat.
pub(crate) fn plan_link(parts: &SessionParts, here: &ChatAddress, argument: &str) -> CommandPlan {
    let bus = &parts.bus;
    if argument.is_empty() {
        return CommandPlan::with_text(list_links(&bus.links()));
    }
    let (remove, chat) = match argument.split_once(char::is_whitespace) {
        Some((verb, chat)) if verb.eq_ignore_ascii_case("remove") => (true, chat.trim()),
        _ => (false, argument),
    };
    let chat: ChatAddress = match chat.parse() {
        Ok(chat) => chat,
        Err(error) => return CommandPlan::with_text(explain_error(&AccessError::NoCode(error))),
    };
    if !parts.bus.may_decide_for(here, Some(&chat)) {
        let what = format!("`{chat}` is a chat of another account");
        return CommandPlan::with_text(refuse_elsewhere(&what, here));
    }
    let link = if remove { bus.link_of(&chat) } else { bus.new_link(here, &chat) };
    match link {
        Err(error) => CommandPlan::with_text(explain_error(&error)),
        Ok(ChatLink { chat, .. }) if remove => {
            let done = format!("`{chat}` has its own conversation again.");
            CommandPlan::with_action(CommandAction::Unlink(chat), &done, &done)
        }
        Ok(link) => {
            let done = format!("`{}` is now part of this conversation.", link.chat);
            CommandPlan::with_action(CommandAction::Link(link), &done, "")
        }
    }
}

/// The reply to an owner who would decide about another account in a chat of a program. `what` names
/// the subject.
pub(crate) fn refuse_elsewhere(what: &str, here: &ChatAddress) -> String {
    let ChatAddress { channel, account, .. } = here;
    format!(
        "{what}, and owners of `{channel}:{account}` decide about that account only, since a program says \
         who they are. Decide in another chat or on the command line, or set `approve_others = true` in \
         the table of this channel."
    )
}

fn open_codes(parts: &SessionParts) -> String {
    let now = parts.clock.now();
    let lines = parts.bus.pairings().into_iter().map(|pairing| {
        let Pairing { code, person, expires_at, .. } = pairing;
        let minutes = now.until(expires_at).as_secs().div_ceil(60);
        format!("{code}: `{person}`, for {minutes} min")
    });
    let lines: Vec<String> = lines.collect();
    match lines[..] {
        [] => "No stranger waits for approval.".to_owned(),
        _ => format!(
            "Write /pair approve CODE, or /pair deny CODE. These people wait for approval:\n\n{}",
            lines.join("\n\n")
        ),
    }
}

fn list_links(links: &[ChatLink]) -> String {
    let lines = links.iter().map(|one| format!("`{}` speaks in `{}`", one.chat, one.session));
    match links {
        [] => "No chats are linked. /link CHAT lets another private chat join this conversation."
            .to_owned(),
        _ => lines.collect::<Vec<_>>().join("\n\n"),
    }
}

fn explain_error(error: &AccessError) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str())
}
