//! Decides if an answer is withheld, and what people see of it while it is written.

use avocet_protocol::access::{EXPIRED, Trust};
use avocet_protocol::ids::CallId;
use avocet_protocol::tool::ToolContext;
use avocet_protocol::turn::TurnRecord;

use crate::answer_view::AnswerView;
use crate::calls::StepContext;
use crate::context::RequestContext;
use crate::{AgentLoop, TurnContext, withheld};

impl AgentLoop {
    /// Returns `true` if an answer is withheld until a person approves it.
    pub(crate) fn is_withheld(
        &self,
        turn: &TurnRecord,
        text: &str,
        step_context: &StepContext<'_>,
    ) -> bool {
        self.toolbox.hold(text, &self.answer_context(turn, step_context)).is_some()
    }

    /// Returns `true` if an answer waits until a person has reviewed the changes of files.
    pub(crate) async fn needs_review(
        &self,
        turn: &TurnRecord,
        text: &str,
        step_context: &StepContext<'_>,
    ) -> bool {
        if !self.toolbox.has_changes(&turn.session) {
            return false;
        }
        let context = self.answer_context(turn, step_context);
        self.toolbox.review_changes(text, &context).await.is_some()
    }

    /// Undoes the changes of a review that was denied, or keeps those of one that has expired.
    pub(crate) async fn end_unapproved_review(
        &self,
        turn: &TurnRecord,
        context: &RequestContext,
        turn_context: &TurnContext,
        trust: Trust,
    ) {
        let Some(result) = withheld::unapproved_review(turn) else { return };
        if !self.toolbox.has_changes(&turn.session) {
            return;
        }
        let seen = context.collect_seen(turn, turn_context, trust);
        let step_context = StepContext { turn_context, trust, seen };
        let call_context = self.answer_context(turn, &step_context);
        if result.value["error"] == EXPIRED {
            self.toolbox.keep_changes(&call_context).await;
        } else {
            self.toolbox.undo_changes(&call_context).await;
        }
    }

    /// Returns the view of the answer to a request of this trust level. An answer that may be
    /// withheld is checked while it is written.
    pub(crate) fn answer_view(
        &self,
        context: &RequestContext,
        turn: &TurnRecord,
        turn_context: &TurnContext,
        trust: Trust,
    ) -> AnswerView<'_> {
        if trust.suffices_for(turn_context.role(turn)) {
            return AnswerView::Whole;
        }
        let seen = context.collect_seen(turn, turn_context, trust);
        let step_context = StepContext { turn_context, trust, seen };
        AnswerView::checked(self.toolbox.as_ref(), self.answer_context(turn, &step_context))
    }

    fn answer_context(&self, turn: &TurnRecord, step_context: &StepContext<'_>) -> ToolContext {
        let id = CallId { turn: turn.id, step: 0, ordinal: 0 };
        self.context(turn, id, step_context)
    }
}
