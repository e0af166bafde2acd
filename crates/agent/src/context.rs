//! What the requests of a turn carry beside the turn itself, and how they are made to fit into the
//! model's window: the log keeps everything.

use avocet_protocol::{
    Condensed, Message, Past, StoreError, TurnEvent, TurnRecord, estimated_tokens,
};

use crate::AgentLoop;
use crate::budgets::{Bill, NoAnswer};
use crate::history::{Trim, beginning, conversation};
use crate::instructions::Instructions;
use crate::note::note;
use crate::window::{enough, goal, if_it_fits, shortened_to, tokens, trims, turns_to_go};

/// What the requests of a turn carry beside the turn itself.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) instructions: Instructions,
    pub(crate) past: Past,
    pub(crate) note: String,
}

/// Bytes of text that are read of a session's past for each token that a request may have: more than
/// fits, since what does not is condensed.
const BYTES_A_TOKEN: usize = 8;

impl Context {
    pub(crate) fn messages(&self, turn: &TurnRecord, trim: Trim) -> Vec<Message> {
        conversation(&self.instructions.text(), &self.past, turn, &self.note, trim)
    }
}

impl AgentLoop {
    /// The context of a turn: the instructions as they are now, the past as it is in the log.
    pub(crate) async fn open_context(&self, turn: &TurnRecord) -> Result<Context, StoreError> {
        let instructions = Instructions::read(&self.system, self.files.as_ref()).await;
        let past = self.log.history(&turn.session, turn.id, self.history_budget()).await?;
        Ok(Context { instructions, past, note: note(turn, &self.zone) })
    }

    pub(crate) fn history_budget(&self) -> usize {
        let tokens = usize::try_from(self.limits.context_tokens).unwrap_or(usize::MAX);
        tokens.saturating_mul(BYTES_A_TOKEN)
    }

    /// The messages of the next request, valid and with at most `room` tokens. Where they have more,
    /// old results are shortened, then old turns condensed, then the turn itself is shortened.
    pub(crate) async fn fit(
        &self,
        context: &mut Context,
        turn: &TurnRecord,
        room: u64,
        bill: Bill<'_>,
    ) -> Result<Vec<Message>, NoAnswer> {
        if !context.past.has_gap
            && let Ok(messages) = if_it_fits(context.messages(turn, Trim::default()), room)
        {
            return Ok(messages);
        }
        self.make_room(context, turn, room, bill).await?;
        let mut shortest = match if_it_fits(context.messages(turn, Trim::default()), room) {
            Ok(messages) => return Ok(messages),
            Err(tokens) => tokens,
        };
        for trim in trims(turn, room) {
            match if_it_fits(context.messages(turn, trim), room) {
                Ok(messages) => return Ok(messages),
                Err(tokens) => shortest = tokens,
            }
        }
        Err(NoAnswer::Limit(self.too_long(context, shortest, room)))
    }

    /// Condenses the past so that a request has far less than `room` tokens, as far as that is
    /// possible: first the results, then whole turns.
    async fn make_room(
        &self,
        context: &mut Context,
        turn: &TurnRecord,
        room: u64,
        bill: Bill<'_>,
    ) -> Result<(), NoAnswer> {
        if context.past.turns.is_empty() && !context.past.has_gap {
            return Ok(());
        }
        if let Some(last) = shortened_to(&context.past) {
            context.past.condensed.shortened_to = Some(last);
            let size = tokens(&context.messages(turn, Trim::default()));
            if size <= enough(room) && !context.past.has_gap {
                self.log.condense(&turn.session, &context.past.condensed).await?;
                return Ok(());
            }
        }
        let condensed = context.past.condensed.clone();
        let no_turns = Past { condensed, ..Past::default() };
        let rest = conversation(
            &context.instructions.text(),
            &no_turns,
            turn,
            &context.note,
            Trim::default(),
        );
        let allowed = goal(room).saturating_sub(tokens(&rest));
        self.events.emit(&turn.session, TurnEvent::Condensing);
        let turns = turns_to_go(&context.past, allowed);
        self.condense(&mut context.past, turns, room, bill).await?;
        self.log.condense(&turn.session, &context.past.condensed).await?;
        Ok(())
    }

    /// Puts a summary in the place of the oldest turns; where there is none, they are left out.
    async fn condense(
        &self,
        past: &mut Past,
        turns: usize,
        room: u64,
        bill: Bill<'_>,
    ) -> Result<(), NoAnswer> {
        let gone: Vec<TurnRecord> = past.turns.drain(..turns).collect();
        let summary = self.summarise(past, &gone, room, bill).await?;
        if summary.is_none() {
            tracing::warn!(turns, "old turns are left out without a summary");
        }
        let summary_to = gone.last().map(|turn| turn.id).or(past.condensed.summary_to);
        past.condensed = Condensed { summary, summary_to, ..past.condensed.clone() };
        past.has_gap = false;
        Ok(())
    }

    fn too_long(&self, context: &Context, tokens: u64, room: u64) -> String {
        let model = self.model.name();
        let fixed = estimated_tokens(&context.instructions.text());
        if fixed > room / 2 {
            return format!(
                "I could not answer: my instructions alone take about {fixed} tokens, and {model} \
                 has room for {room}. Shorten AGENTS.md, SOUL.md, USER.md or TOOLS.md in the \
                 workspace, or choose a model with a larger window."
            );
        }
        let said = beginning(&context.past).map_or("", |_| " and what was said before");
        format!(
            "I could not answer: your message with my instructions{said} takes about {tokens} \
             tokens, and {model} has room for {room}. Send it in parts, or as a file."
        )
    }
}

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;
