//! The earlier conversation of a session, replayed to the editor.

use avocet_gateway::{Client, ClientError, MOST_ROWS, ShowSession};
use avocet_protocol::chat::{LoggedInbound, SessionId};
use avocet_protocol::turn::{Origin, TurnRecord};

use crate::editor::Editor;
use crate::place::SessionPlace;
use crate::tool_calls::ShownCalls;

/// Reads all turns of a session, oldest first.
pub(crate) async fn turns(
    client: &Client,
    session: &SessionId,
) -> Result<Vec<TurnRecord>, ClientError> {
    let mut pages: Vec<Vec<TurnRecord>> = Vec::new();
    loop {
        let before = pages.last().and_then(|page| page.first()).map(|turn| turn.id);
        let show = ShowSession { session: session.clone(), turns: MOST_ROWS, before };
        let page: Vec<TurnRecord> = client.call::<ShowSession>(&show).await?;
        if page.is_empty() {
            return Ok(pages.into_iter().rev().flatten().collect());
        }
        pages.push(page);
    }
}

/// Shows a turn. The text of a running step is left out, since its events follow.
pub(crate) fn replay(
    turn: &TurnRecord,
    editor: &Editor,
    calls: &mut ShownCalls,
    place: &SessionPlace,
) {
    match &turn.origin {
        Origin::Messages(messages) => quote_all(messages, editor),
        Origin::Child { prompt, .. } => editor.quote(prompt),
    }
    for step in &turn.steps {
        editor.say(&step.text);
        for call in &step.calls {
            calls.updates_of(call, place).into_iter().for_each(|update| editor.update(update));
        }
        quote_all(&step.steered, editor);
    }
    if let Some(notice) = &turn.notice {
        editor.say(notice);
    }
}

fn quote_all(messages: &[LoggedInbound], editor: &Editor) {
    for logged in messages {
        editor.quote(&logged.message.inbound.content.as_text());
    }
}
