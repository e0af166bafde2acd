//! `/answer`: take the answer to a question of a running call.

use crate::Questions;
use crate::command_plan::CommandPlan;
use crate::questions::USAGE;

/// Plans `/answer`.
pub(crate) fn plan_answer(questions: &Questions, argument: &str) -> CommandPlan {
    let Some((code, text)) = argument.split_once(char::is_whitespace) else {
        return CommandPlan::with_text(USAGE);
    };
    match questions.take_answer(code, text.trim()) {
        Ok(taken) => CommandPlan::with_text(taken.reply_text()).with_answer(taken),
        Err(problem) => CommandPlan::with_text(problem),
    }
}
