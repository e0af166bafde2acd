//! The stages through which each update of a platform passes on its way into the log.
//!
//! A platform reports more than messages: parts of messages, chats that got a new id, reactions,
//! changes of lists. Each of these has a stage of its own, and [`Intake::run_stages`] runs the
//! stages in this order. A channel implements [`InboundStages`]: only [`InboundStages::convert`] is
//! required, and a platform without reactions leaves out their stage.
//!
//! | stage | asks or does | an update that ends here |
//! |---|---|---|
//! | ↓ 1 | a known part of a message? | is ignored |
//! | ↓ 2 | a chat that has moved? | is ignored, after the move is in the log |
//! | ↓ 3 | a reaction, or the bot's own message? | is noted; the cursor moves |
//! | ↓ 4 | an aside for the next message? | is ignored, then noted |
//! | ↓ 5 | converts the message | |
//! | ↓ 6 | adds the recent messages | |
//! | ↓ 7 | adds reactions and asides | |
//! | ↓ 8 | commits the message with the cursor | |
//! | ↓ 9 | forgets what the conversation has now | |
//!
//! The order is a contract, for these reasons:
//!
//! - **1 before all others.** A part of a message that is in the log already must change nothing.
//! - **2 before 5.** The conversion writes the chat's address. An address with the new id would begin
//!   another conversation, so the move is recorded first.
//! - **3 and 4 before 5.** Their updates are no messages, and a conversion would answer them as
//!   unreadable.
//! - **4 notes after its commit.** A platform sends an update again that is not in the log. An aside
//!   that was noted before would then be told twice.
//! - **5 before 6 and 7.** Only a converted message has a chat and an author. Both stages change the
//!   text that the log gets, so they cannot come after 8.
//! - **6 before 7.** Stage 6 sets the earlier messages, and stage 7 appends: reactions are newer.
//! - **9 after 8, and only by its outcome.** Stages 6 and 7 read without removing. Before the commit,
//!   a crash or a refusal would lose what they have read; after it, the conversation has it. A
//!   message for other people is noted there too, so that it never becomes its own context.
//!
//! A stage that fails leaves the cursor in place, and the platform reports the update again.

use avocet_protocol::chat::Cursor;

use crate::{Converted, Intake, Stopped, Taken};

/// The stages of one update, in their order. An update may be several updates of the platform that
/// form one message.
pub trait InboundStages: Send {
    /// Stage 1: returns the reason to ignore an update whose message is in the log already.
    fn find_known_part(&mut self) -> Option<&'static str> {
        None
    }

    /// Stage 2: follows a chat to its new id. Returns the reason under which the update is counted;
    /// `None` if it reports no move.
    ///
    /// # Errors
    /// [`Stopped`]: the move is not in the log.
    fn follow_move(
        &mut self,
    ) -> impl Future<Output = Result<Option<&'static str>, Stopped>> + Send {
        async { Ok(None) }
    }

    /// Stage 3: notes a reaction, or a message of the bot itself. Returns `true` for such an update:
    /// it is not counted, and the cursor moves.
    fn note_quietly(&mut self) -> bool {
        false
    }

    /// Stage 4: returns the reason to count an update that starts no turn, but that the next message
    /// tells the model about.
    fn find_aside(&mut self) -> Option<&'static str> {
        None
    }

    /// The end of stage 4: keeps the update for the next message. The log has counted it.
    fn note_aside(&mut self) {}

    /// Stage 5: makes the message of the update.
    fn convert(&mut self) -> impl Future<Output = Converted> + Send;

    /// Stage 6: sets the recent messages of the chat, as they were before the message.
    fn add_recent_messages(&mut self, message: &mut Converted) -> impl Future<Output = ()> + Send {
        let _ = message;
        async {}
    }

    /// Stage 7: appends people's reactions and the asides of stage 4.
    fn add_reactions(&mut self, message: &mut Converted) {
        let _ = message;
    }

    /// Stage 9: forgets the context that is in the conversation now, and keeps the message if it was
    /// for other people.
    fn note_committed(&mut self, message: &Converted, taken: &Taken) {
        let (_, _) = (message, taken);
    }
}

impl Intake<'_> {
    /// Runs the stages of an update. The cursor covers the update whichever stage ends it.
    ///
    /// # Errors
    /// [`Stopped`]: the update is not in the log.
    pub async fn run_stages(
        &self,
        stages: &mut impl InboundStages,
        cursor: Option<Cursor>,
    ) -> Result<Taken, Stopped> {
        if let Some(reason) = stages.find_known_part() {
            self.ignore(reason, cursor).await?;
            return Ok(Taken::Ignored);
        }
        if let Some(reason) = stages.follow_move().await? {
            self.ignore(reason, cursor).await?;
            return Ok(Taken::Ignored);
        }
        if stages.note_quietly() {
            if let Some(cursor) = cursor {
                self.move_cursor(cursor).await?;
            }
            return Ok(Taken::Ignored);
        }
        if let Some(reason) = stages.find_aside() {
            self.ignore(reason, cursor).await?;
            stages.note_aside();
            return Ok(Taken::Ignored);
        }
        let mut message = stages.convert().await;
        if !matches!(message, Converted::Ignored(_)) {
            stages.add_recent_messages(&mut message).await;
            stages.add_reactions(&mut message);
        }
        let taken = self.commit_update(&message, cursor).await?;
        stages.note_committed(&message, &taken);
        Ok(taken)
    }
}

#[cfg(test)]
#[path = "stages_tests.rs"]
mod tests;
