//! `/answer`: take the answer to a question of a running call.

use crate::Questions;
use crate::command_plan::CommandPlan;
use crate::questions::USAGE;

/// Plans `/answer`.
pub(crate) fn plan(questions: &Questions, argument: &str) -> CommandPlan {
    let Some((code, text)) = argument.split_once(char::is_whitespace) else {
        return CommandPlan::say(USAGE);
    };
    match questions.take_answer(code, text.trim()) {
        Ok(taken) => CommandPlan::say(taken.reply()).giving(taken),
        Err(problem) => CommandPlan::say(problem),
    }
}
