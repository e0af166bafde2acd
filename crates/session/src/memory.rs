//! `/memory`: shows and forgets the memories that this chat may read, and adds one.

use avocet_protocol::access::{Asker, PersonId, Role, Roles, Trust};
use avocet_protocol::chat::Inbound;
use avocet_protocol::ids::MemoryId;
use avocet_protocol::store::{
    CommandAction, MAX_MEMORY_BYTES, Memory, MemoryScope, NewMemory, ScopeFilter, StoreError,
};

use crate::SessionParts;
use crate::command_plan::CommandPlan;

/// The most memories that are shown at once.
const SHOWN: u32 = 20;

/// Plans `/memory`, `/memory WORDS`, `/memory add TEXT` or `/memory forget m12`.
pub(crate) async fn plan_memory(
    parts: &SessionParts,
    command: &Inbound,
    role: Role,
    argument: &str,
) -> Result<CommandPlan, StoreError> {
    let asker = parts.bus.asker(command);
    let scopes = ScopeFilter::Only(MemoryScope::readable(asker.as_ref()));
    let memories = &parts.memories;
    let (verb, rest) = argument.split_once(char::is_whitespace).unwrap_or((argument, ""));
    if verb.eq_ignore_ascii_case("add") {
        return Ok(plan_addition(command, asker.as_ref(), role, rest.trim()));
    }
    if verb.eq_ignore_ascii_case("forget") {
        let Ok(id) = rest.trim().parse::<MemoryId>() else {
            return Ok(CommandPlan::with_text(
                "Write /memory forget m12, with the id of a memory.",
            ));
        };
        let nothing = format!("There is no memory {id} here.");
        let found = parts.with_retry(|| memories.memory(id)).await?;
        let Some(found) = found.filter(|one| !one.forgotten && scopes.includes_scope(&one.scope))
        else {
            return Ok(CommandPlan::with_text(nothing));
        };
        if let Err(refused) = found.scope.check_change(asker.as_ref(), role) {
            return Ok(CommandPlan::with_text(format!("I keep {id}: {refused}.")));
        }
        let by = PersonId::from_inbound(command);
        let done = format!("I have forgotten {id}: {}", found.text);
        return Ok(CommandPlan::with_action(
            CommandAction::ForgetMemory { id, by },
            &done,
            &nothing,
        ));
    }
    let search = || memories.search_memories(&scopes, argument, SHOWN);
    let found = parts.with_retry(search).await?;
    let lines: Vec<String> = found.iter().map(|found| memory_line(&found.memory)).collect();
    Ok(CommandPlan::with_text(match lines[..] {
        [] if argument.is_empty() => "I remember nothing here.".to_owned(),
        [] => format!("I remember nothing about {argument:?} here."),
        _ => lines.join("\n\n"),
    }))
}

/// Plans `/memory add TEXT`: for the person in a private chat, for the chat in a group.
fn plan_addition(command: &Inbound, asker: Option<&Asker>, role: Role, text: &str) -> CommandPlan {
    if text.is_empty() {
        return CommandPlan::with_text(
            "Write /memory add and the text, for example: /memory add I like tea.",
        );
    }
    if text.len() > MAX_MEMORY_BYTES {
        let length = text.len();
        return CommandPlan::with_text(format!(
            "The text has {length} bytes; a memory has at most {MAX_MEMORY_BYTES}."
        ));
    }
    let scope = match MemoryScope::writable(asker, role, None) {
        Ok(scope) => scope,
        Err(refused) => return CommandPlan::with_text(format!("I cannot remember it: {refused}.")),
    };
    let by = PersonId::from_inbound(command);
    let done = format!("I remember it ({}): {text}", scope.kind().as_str());
    let memory = NewMemory {
        scope,
        text: text.to_owned(),
        trust: Trust::from(role),
        session: asker.map(|asker| asker.session.clone()),
        said_by: Some(by.clone()),
    };
    CommandPlan::with_action(
        CommandAction::WriteMemory { memory, by },
        &done,
        "I know that already.",
    )
}

fn memory_line(memory: &Memory) -> String {
    let at = jiff::Timestamp::from_millisecond(memory.source.written_at.0).unwrap_or_default();
    let (scope, date) = (memory.scope.kind().as_str(), at.strftime("%F"));
    format!("{} ({scope}, {date}): {}", memory.id, memory.text)
}
