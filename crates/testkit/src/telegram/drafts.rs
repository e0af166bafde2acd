//! Drafts: texts that a person sees while the bot writes them (`sendMessageDraft`). The method came
//! with Bot API 9.3, and all bots may use it since 9.5. The fake is an older server at first.

use std::time::Duration;

use serde_json::{Value, json};

use super::TelegramFake;
use super::bot::BotState;
use super::chats::describe;
use super::methods::message_text;
use super::wire::{ApiError, MethodCall};

/// Lifetime of a draft (Bot API, sendMessageDraft).
const DRAFT_KEPT: Duration = Duration::from_secs(30);

impl BotState {
    pub(super) fn send_message_draft(&mut self, call: &MethodCall) -> Result<Value, ApiError> {
        let formatted = message_text(call, "message is too long")?;
        let unsent = self.draft(call)?;
        if unsent.chat < 0 {
            return Err(ApiError::bad_request("TEXTDRAFT_PEER_INVALID"));
        }
        let number = call.int("draft_id").filter(|number| *number != 0);
        let number = number.ok_or_else(|| ApiError::bad_request("draft_id must be non-zero"))?;
        let flag = |name: &str| match call.json(name)? {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(ApiError::bad_request(format!("{name} must be a boolean"))),
        };
        let (can_stop, keep_on_stop) = (flag("can_stop")?, flag("keep_on_stop")?);
        let until = self.now.after(DRAFT_KEPT);
        self.drafts.shown.insert(unsent.chat, (number, formatted.text, until));
        self.drafts.stop_buttons.insert(unsent.chat, (can_stop, keep_on_stop));
        Ok(Value::Bool(true))
    }
}

impl TelegramFake {
    /// Makes it a server that knows drafts.
    pub fn learn_drafts(&self) {
        self.change(|bot| bot.drafts.are_known = true);
    }

    /// The user presses the button that stops the shown draft (Bot API 10.3). Returns the id of the
    /// update, if the bot gets it.
    pub fn stop_draft(&self, user: i64) -> Option<i64> {
        self.change(|bot| {
            let (number, ..) = bot.drafts.shown.get(&user).expect("a draft is shown").clone();
            let (can_stop, is_kept) = bot.drafts.stop_buttons[&user];
            assert!(can_stop, "the draft has no button");
            if !is_kept {
                bot.drafts.shown.remove(&user);
            }
            let body = json!({ "chat": describe(user), "draft_id": number });
            bot.push("stopped_message_generation", body)
        })
    }

    /// Returns the draft that a person sees in a private chat.
    #[must_use]
    pub fn draft(&self, chat: i64) -> Option<String> {
        let bot = self.shared.lock();
        let draft = bot.drafts.shown.get(&chat).filter(|(_, _, until)| *until > bot.now);
        draft.map(|(_, text, _)| text.clone())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::client::{GROUP, USER, call, fake, text};
    use super::*;

    fn draft(chat: i64, number: i64, text: &str) -> Value {
        json!({ "chat_id": chat, "draft_id": number, "text": text })
    }

    #[tokio::test]
    async fn send_message_draft_shows_a_text_until_a_message_comes() {
        let fake = fake().await;
        fake.learn_drafts();
        for shown in ["Once", "Once upon"] {
            let answer = call(&fake, "sendMessageDraft", &draft(USER, 7, shown)).await;
            assert_eq!(answer.result(), json!(true));
            assert_eq!(fake.draft(USER).as_deref(), Some(shown));
        }
        let before = fake.sent().len();
        call(&fake, "sendMessage", &text("Once upon a time")).await.result();
        assert_eq!((fake.draft(USER), fake.sent().len()), (None, before + 1));
        call(&fake, "sendMessageDraft", &draft(USER, 8, "Twice")).await.result();
        fake.advance(DRAFT_KEPT);
        assert_eq!(fake.draft(USER), None);
    }

    #[tokio::test]
    async fn send_message_draft_refuses_groups_and_an_older_server_refuses_all() {
        let fake = fake().await;
        let unknown = call(&fake, "sendMessageDraft", &draft(USER, 7, "x")).await.refusal();
        assert_eq!(unknown, (404, "Not Found: method not found".to_owned()));
        assert_eq!(fake.refusals(), [], "the bot cannot know");
        fake.learn_drafts();
        let table = [
            (draft(GROUP, 7, "x"), "TEXTDRAFT_PEER_INVALID"),
            (draft(USER, 0, "x"), "draft_id must be non-zero"),
            (draft(USER, 7, ""), "message text is empty"),
        ];
        for (sent, why) in table {
            let refused = call(&fake, "sendMessageDraft", &sent).await.refusal();
            assert_eq!(refused, (400, format!("Bad Request: {why}")));
        }
    }
}
