//! The list of all chat commands, and the texts of `/help`.

use avocet_protocol::channel::{CommandAccess, CommandHelp};
use avocet_protocol::chat::ChatKind;
use avocet_text::append_text;

/// A command: its help text, action and access rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChatCommand {
    pub(super) shown: CommandHelp,
    pub(super) verb: CommandVerb,
    /// The ways to write it, as `/help` shows them.
    forms: &'static str,
    /// The help for people who may only look, not choose.
    looks_only: Option<&'static str>,
}

impl ChatCommand {
    const fn new(
        name: &'static str,
        verb: CommandVerb,
        forms: &'static str,
        help: &'static str,
    ) -> Self {
        Self { shown: CommandHelp::new(name, "", help), verb, forms, looks_only: None }
    }

    /// Describes the argument, for platforms that complete it.
    const fn with_argument(self, argument: &'static str) -> Self {
        Self { shown: CommandHelp { argument, ..self.shown }, ..self }
    }

    /// Lists the words that the argument can be.
    const fn with_choices(self, choices: &'static [&'static str]) -> Self {
        let shown = CommandHelp { argument: "one of these words", choices, ..self.shown };
        Self { shown, ..self }
    }

    /// Lets only owners give an argument.
    const fn owners_choose(self, help: &'static str) -> Self {
        Self { looks_only: Some(help), ..self }
    }

    const fn for_owners_in_private(self) -> Self {
        self.with_access(CommandAccess::OwnersInPrivate)
    }

    const fn for_owners(self) -> Self {
        self.with_access(CommandAccess::Owners)
    }

    const fn with_access(self, access: CommandAccess) -> Self {
        Self { shown: CommandHelp { access, ..self.shown }, ..self }
    }

    pub(super) fn is_for(&self, is_owner: bool, chat: ChatKind) -> bool {
        match self.shown.access {
            CommandAccess::Everybody => true,
            CommandAccess::Owners => is_owner,
            CommandAccess::OwnersInPrivate => is_owner && chat == ChatKind::Private,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandVerb {
    Answer,
    Approve,
    Compact,
    Deny,
    Help,
    Id,
    Job,
    Link,
    Memory,
    Mode,
    Model,
    New,
    Pair,
    Queue,
    Resend,
    Resume,
    Retry,
    Rule,
    Rules,
    Skip,
    Status,
    Stop,
    Tasks,
    Think,
    Trust,
    Usage,
    Voice,
}

/// Returns every command, as `/help` and the platforms show them.
pub fn commands() -> impl Iterator<Item = CommandHelp> {
    COMMANDS.iter().map(|command| command.shown)
}

#[rustfmt::skip]
pub(super) const COMMANDS: &[ChatCommand] = &[
    ChatCommand::new("answer", CommandVerb::Answer, "/answer CODE TEXT, /answer CODE decline", "answer the question of a server, or decline it").with_argument("the code of the question, and the answer or decline").for_owners(),
    ChatCommand::new("approve", CommandVerb::Approve, "/approve, /approve w7, /approve w7 session", "let me do what I asked for, once or for this session").with_argument("the number of the question, such as w7; then session to allow it for this session").for_owners(),
    ChatCommand::new("compact", CommandVerb::Compact, "/compact", "replace the earlier conversation with a summary"),
    ChatCommand::new("deny", CommandVerb::Deny, "/deny, /deny w7, /deny w7 REASON", "do not let me do what I asked for").with_argument("the number of the question, such as w7; then the reason").for_owners(),
    ChatCommand::new("help", CommandVerb::Help, "/help", "show what I understand"),
    ChatCommand::new("id", CommandVerb::Id, "/id", "show the ids of this chat and of yourself"),
    ChatCommand::new("job", CommandVerb::Job, "/job, /job AGENT TASK, /job show j5, /job logs j5, /job cancel j5", "give an agent a job, or show or cancel jobs").with_argument("an agent and its task; or show, logs or cancel with the number of a job, such as j5").for_owners(),
    ChatCommand::new("link", CommandVerb::Link, "/link, /link CHAT, /link remove CHAT", "let another private chat join this conversation").with_argument("the chat; remove and the chat takes it out").for_owners_in_private(),
    ChatCommand::new("memory", CommandVerb::Memory, "/memory, /memory WORDS, /memory add TEXT, /memory forget m12", "show, add or forget what I remember here").with_argument("words to look for; add and a text; forget and a number, such as m12"),
    ChatCommand::new("mode", CommandVerb::Mode, "/mode, /mode default, /mode ask, /mode read", "show or choose what I may do without asking").with_choices(&["default", "ask", "read"]).owners_choose("show what I may do without asking"),
    ChatCommand::new("model", CommandVerb::Model, "/model, /model PROVIDER/MODEL, /model default", "show or choose which model answers here").with_argument("a model, as provider/model; or default").owners_choose("show which model answers here"),
    ChatCommand::new("new", CommandVerb::New, "/new", "start a new conversation: forget this one"),
    ChatCommand::new("pair", CommandVerb::Pair, "/pair, /pair approve CODE, /pair deny CODE", "let strangers speak with me").with_argument("approve or deny, and the code").for_owners_in_private(),
    ChatCommand::new("queue", CommandVerb::Queue, "/queue, /queue queue, /queue collect, /queue steer, /queue interrupt", "show or choose what happens to messages that arrive while I work").with_choices(&["queue", "collect", "steer", "interrupt"]),
    ChatCommand::new("resend", CommandVerb::Resend, "/resend", "resend what did not arrive"),
    ChatCommand::new("resume", CommandVerb::Resume, "/resume all", "let everything go on after a stop of everything").with_choices(&["all"]).for_owners(),
    ChatCommand::new("retry", CommandVerb::Retry, "/retry", "repeat what was interrupted or failed").with_argument("the number of the question, such as w7"),
    ChatCommand::new("rule", CommandVerb::Rule, "/rule add TEXT, /rule remove r3", "add a rule that I must always follow, or remove one").with_argument("add and the text, after --chat, --person or --agent NAME if it is only for that; remove and a number, such as r3").for_owners(),
    ChatCommand::new("rules", CommandVerb::Rules, "/rules", "show the rules of my owners"),
    ChatCommand::new("skip", CommandVerb::Skip, "/skip", "continue without what was interrupted").with_argument("the number of the question, such as w7"),
    ChatCommand::new("status", CommandVerb::Status, "/status", "show what I am doing"),
    ChatCommand::new("stop", CommandVerb::Stop, "/stop, /stop all", "stop the current work, keep its text; or all work, until /resume all").with_choices(&["all"]).owners_choose("stop the current work, keep its text; background programs continue"),
    ChatCommand::new("tasks", CommandVerb::Tasks, "/tasks, /tasks t12, /tasks cancel t12", "show or cancel the tasks that I have given to sub-agents").with_argument("the number of a task, such as t12; cancel before it ends the task"),
    ChatCommand::new("think", CommandVerb::Think, "/think, /think off, /think low, /think medium, /think high, /think default", "show or choose how much I think").with_choices(&["off", "low", "medium", "high", "default"]).owners_choose("show how much I think"),
    ChatCommand::new("trust", CommandVerb::Trust, "/trust", "trust what I have read in this conversation so far").for_owners(),
    ChatCommand::new("usage", CommandVerb::Usage, "/usage", "show what this conversation has cost"),
    ChatCommand::new("voice", CommandVerb::Voice, "/voice, /voice on, /voice off, /voice auto", "show or choose which answers I also speak").with_choices(&["on", "off", "auto"]),
];

/// Lists the commands that their reader may use, and only in the ways that they may write them.
pub(super) fn list_commands(is_owner: bool, chooses: bool, chat: ChatKind) -> String {
    let mut text =
        String::from("Write to me as you would to a person. I also know these commands:\n");
    for command in COMMANDS.iter().filter(|command| command.is_for(is_owner, chat)) {
        let ChatCommand { shown: CommandHelp { name, help, .. }, forms, looks_only, .. } = command;
        match looks_only.filter(|_| !chooses) {
            Some(help) => append_text(&mut text, format_args!("\n/{name}: {help}")),
            None => append_text(&mut text, format_args!("\n{forms}: {help}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_lists_the_sorted_commands_for_role_and_chat() {
        assert!(COMMANDS.is_sorted_by_key(|command| command.shown.name));
        let all = list_commands(true, true, ChatKind::Private);
        for command in commands() {
            assert!(all.contains(&format!("/{}", command.name)), "{}", command.name);
        }
        for (is_owner, chat) in [(false, ChatKind::Private), (true, ChatKind::Group)] {
            let help = list_commands(is_owner, false, chat);
            assert!(help.contains("/stop") && !help.contains("/pair"), "{help}");
            assert_eq!(help.contains("/approve"), is_owner, "{help}");
            assert!(!help.contains("/mode ask") && help.contains("\n/skip: "), "{help}");
        }
    }
}
