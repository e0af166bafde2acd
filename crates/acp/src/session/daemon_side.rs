//! Events and texts of the chat.

use avocet_gateway::{Client, ClientError, DeliveryChunk, ListApprovals, MOST_ROWS, ShowSession};
use avocet_protocol::access::OpenApproval;
use avocet_protocol::tool::WaitKind;
use avocet_protocol::turn::{StartedMessage, TurnEvent, TurnRecord};
use futures_util::FutureExt;

use super::{Done, EditorSession};
use crate::approval::{ask_approval, ask_choice, call_of};
use crate::question;

/// The most pages of open approvals that are read.
const MOST_PAGES: u32 = 100;

impl EditorSession {
    pub(super) async fn take_event(&mut self, event: TurnEvent) {
        match event {
            TurnEvent::Started { turn, messages } => {
                self.forget_turn();
                self.turn = Some(turn);
                self.text.begin_step();
                self.show_messages(&messages).await;
            }
            TurnEvent::Compacting => self.editor.think("Summarising the earlier conversation."),
            TurnEvent::Thinking { .. } => {
                self.resume();
                // A call that a person answered ends without its own event.
                if self.calls.has_open() {
                    self.show_calls().await;
                }
                self.text.begin_step();
            }
            TurnEvent::Thought { delta } => self.editor.think(&delta),
            TurnEvent::Text { delta } => {
                if self.text.add_delta(&delta) {
                    self.editor.say(&delta);
                }
            }
            TurnEvent::Restarted => {
                if !self.text.is_empty() {
                    self.editor.say("\n\n(The model starts over.)\n\n");
                }
                self.text.begin_step();
            }
            TurnEvent::ToolStarted { .. } | TurnEvent::ToolFinished { .. } => {
                self.resume();
                self.show_calls().await;
            }
            TurnEvent::ToolProgress { .. } => {}
            TurnEvent::Waiting { kind } => {
                self.wait = Some(kind);
                self.ask_person().await;
            }
            TurnEvent::Resumed => self.resume(),
            TurnEvent::Ended { turn: Some(_), .. } => {
                self.show_calls().await;
                self.forget_turn();
                self.show_title().await;
                self.follow_options().await;
            }
            // A command of the chat may have changed a setting.
            TurnEvent::Ended { turn: None, .. } => self.follow_options().await,
        }
    }

    fn resume(&mut self) {
        (self.wait, self.question) = (None, None);
    }

    /// Shows messages from elsewhere. A cancelled prompt may have waited for its turn.
    async fn show_messages(&mut self, messages: &[StartedMessage]) {
        for message in messages.iter().filter(|message| !self.own.contains(&message.id)) {
            self.editor.quote(&message.text);
        }
        for message in messages {
            self.own.put(message.id, ());
        }
        let cancelled = self.prompt.as_ref().filter(|prompt| prompt.is_cancelled);
        if cancelled.is_some_and(|prompt| messages.iter().any(|one| one.id == prompt.message)) {
            self.stop_turn().await;
        }
    }

    /// Shows new calls and new states of calls. Returns the turn.
    pub(super) async fn show_calls(&mut self) -> Option<TurnRecord> {
        let client = self.client.clone()?;
        let show = ShowSession { session: self.place.session.clone(), turns: 1, before: None };
        match self.call::<ShowSession>(&client, &show).await {
            Ok(mut turns) => {
                let turn = turns.pop()?;
                for update in self.calls.updates(&turn, &self.place) {
                    self.editor.update(update);
                }
                Some(turn)
            }
            // The loss of the connection ends the prompt.
            Err(ClientError::Lost) => None,
            Err(error) => {
                tracing::warn!(%error, session = %self.place.session, "cannot read the turn");
                None
            }
        }
    }

    pub(super) async fn take_chunk(&mut self, chunk: DeliveryChunk) {
        if self.shown.contains(&chunk.id) {
            return;
        }
        self.shown.put(chunk.id, ());
        let is_cancelled = self.prompt.as_ref().is_some_and(|prompt| prompt.is_cancelled);
        let says = |start: &str| chunk.choices.iter().any(|one| one.says.starts_with(start));
        // The event of the wait may have come before this connection.
        let request = if says("/approve") {
            Some(WaitKind::Approval)
        } else {
            (says("/retry") || says("/skip")).then_some(WaitKind::Choice)
        };
        if request.is_none()
            && !is_cancelled
            && let Some(text) = self.text.take_delivery(chunk.turn, &chunk.text)
        {
            self.editor.say(&text);
        }
        // A call of the turn waits for the answer, and the turn goes on meanwhile.
        if says("/answer") && self.prompt.is_some() && !is_cancelled {
            self.ask_for_choice(chunk.clone());
        }
        self.wait = self.wait.or(request);
        if chunk.turn.is_some() {
            self.question = Some(chunk);
            self.ask_person().await;
        }
    }

    /// Asks the person, if the turn waits and its question has arrived.
    async fn ask_person(&mut self) {
        let Some(client) = self.client.clone() else { return };
        match (self.wait, self.question.clone()) {
            (Some(WaitKind::Approval), question) => {
                if let Err(error) = self.ask_approvals(&client, question).await {
                    tracing::warn!(%error, "cannot read the waiting approvals");
                }
            }
            (Some(WaitKind::Choice), Some(question)) if !question.choices.is_empty() => {
                self.question = None;
                self.ask_for_choice(question);
            }
            (Some(WaitKind::Answer), Some(question)) => {
                self.question = None;
                self.ask_question(question);
            }
            _ => {}
        }
    }

    /// Asks the editor for one of the buttons of a question.
    fn ask_for_choice(&self, question: DeliveryChunk) {
        let (editor, choices) = (self.editor.clone(), question.choices.clone());
        let asking =
            async move { Done::Choice { choices, answer: ask_choice(editor, question).await } };
        self.work.push(asking.boxed());
    }

    /// Reads all open approvals, page by page.
    async fn open_approvals(&mut self, client: &Client) -> Result<Vec<OpenApproval>, ClientError> {
        let mut all: Vec<OpenApproval> = Vec::new();
        for _ in 0..MOST_PAGES {
            let list = ListApprovals { limit: MOST_ROWS, after: all.last().map(|one| one.id) };
            let page: Vec<OpenApproval> = self.call::<ListApprovals>(client, &list).await?;
            let is_last = page.len() < MOST_ROWS as usize;
            all.extend(page);
            if is_last {
                break;
            }
        }
        Ok(all)
    }

    /// Asks the editor for each new approval of the session.
    async fn ask_approvals(
        &mut self,
        client: &Client,
        question: Option<DeliveryChunk>,
    ) -> Result<(), ClientError> {
        let open = self.open_approvals(client).await?;
        let (session, chat) = (&self.place.session, self.place.session.address());
        let ours = |one: &OpenApproval| one.session == *session || one.chat.as_ref() == Some(&chat);
        let mut open: Vec<OpenApproval> = open.into_iter().filter(ours).collect();
        open.retain(|one| self.requested.insert(one.id));
        if open.is_empty() {
            return Ok(());
        }
        let turn = self.show_calls().await;
        for approval in open {
            let call = call_of(&approval, turn.as_ref(), &self.place);
            let (editor, question) = (self.editor.clone(), question.clone().map(Box::new));
            let asking = async move {
                let answer = ask_approval(editor, call, &approval.card.choices).await;
                Done::Approval { wait: approval.id, answer, question }
            };
            self.work.push(asking.boxed());
        }
        Ok(())
    }

    /// Asks with a form. Without forms, the prompt ends, and the next prompt is the answer.
    fn ask_question(&mut self, question: DeliveryChunk) {
        if self.editor.has_forms() {
            let editor = self.editor.clone();
            let asking = async move { Done::Form(question::ask(editor, question).await) };
            self.work.push(asking.boxed());
            return;
        }
        let options = question.choices.iter().map(|choice| format!("\n- {}", choice.label));
        self.editor.say(&options.collect::<String>());
        self.end_with_question();
    }
}
