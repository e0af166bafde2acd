//! The conversations of this terminal: their list, the change to another one, and their titles.

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Fuse, FusedFuture};

use super::own::OwnMessages;
use super::rewinding::RewoundChat;
use super::{ChatLoop, ConversationEntry, EarlierMessage, LinkError, ShownCalls, TerminalLink};

/// Conversations in a list.
const MOST: usize = 20;
const BUSY: &str = "An answer is on its way. /stop ends it; then choose another conversation.";
const NO_OTHERS: &str =
    "There is no other conversation yet. `avocet chat --session NAME` begins one.";

/// The wish of the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConversationWish {
    List,
    /// The number in the list, or the name.
    Open(String),
    /// The title of the open one; empty to ask how it is given.
    Title(String),
    /// List the earlier messages of the open one.
    ListMessages,
    /// Say the earlier message of this number differently.
    Rewind(String),
}

/// The answer to a title.
const NAMED: &str = "This conversation is now called";
const HOW_TO_NAME: &str =
    "/title TEXT gives this conversation a title, for lists of conversations.";

/// The answer to a wish.
#[derive(Debug)]
pub(super) enum ConversationAnswer {
    Listed(Vec<ConversationEntry>),
    Opened(String),
    Named(String),
    Messages(Vec<EarlierMessage>),
    Rewound(RewoundChat),
    Failed(LinkError),
}

pub(super) type Choosing = Fuse<BoxFuture<'static, ConversationAnswer>>;

/// Returns the wish that a line states; `None` for other lines.
pub(super) fn read_wish(line: &str) -> Option<ConversationWish> {
    let (word, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match (word, argument.trim()) {
        ("/sessions" | "/resume", "") => Some(ConversationWish::List),
        // The daemon resumes what `/stop all` has stopped.
        ("/resume", "all" | "everything") => None,
        ("/resume", name) => Some(ConversationWish::Open(name.to_owned())),
        ("/title", title) => Some(ConversationWish::Title(title.to_owned())),
        ("/rewind", "") => Some(ConversationWish::ListMessages),
        ("/rewind", number) => Some(ConversationWish::Rewind(number.to_owned())),
        _ => None,
    }
}

impl ChatLoop {
    pub(super) fn is_choosing(&self) -> bool {
        !self.choosing.is_terminated()
    }

    /// Takes a wish of the person. Another conversation opens once the last answer is shown.
    pub(super) fn take_wish(&mut self, wish: ConversationWish) {
        match wish {
            ConversationWish::Open(_) | ConversationWish::Rewind(_) => {}
            ConversationWish::Title(ref title) if title.is_empty() => {
                return self.display.show_remark(HOW_TO_NAME);
            }
            wish => return self.choose_conversation(wish),
        }
        let is_busy = self.is_sending() || !self.to_send.is_empty() || self.own.is_working();
        if is_busy || self.is_choosing() || self.wanted.is_some() {
            return self.display.show_remark(BUSY);
        }
        self.wanted = Some(wish);
    }

    /// Opens the wanted conversation, unless answers of this one are still to come. The daemon would
    /// send an answer that this terminal does not confirm again, with a mark.
    pub(super) fn open_wanted(&mut self) {
        let is_due = self.own.answers_due(self.clock.elapsed()).is_some();
        if !is_due
            && !self.is_reading_calls()
            && let Some(wish) = self.wanted.take()
        {
            self.choose_conversation(wish);
        }
    }

    /// Asks the daemon for what the person wishes.
    fn choose_conversation(&mut self, wanted: ConversationWish) {
        let link = self.link.clone();
        let choose = async move {
            let answer = match wanted {
                ConversationWish::List => {
                    link.conversations().await.map(ConversationAnswer::Listed)
                }
                ConversationWish::Open(given) => open_conversation(link.as_ref(), &given).await,
                ConversationWish::Title(title) => {
                    link.set_title(&title).await.map(|()| ConversationAnswer::Named(title))
                }
                ConversationWish::ListMessages => {
                    link.earlier_messages().await.map(ConversationAnswer::Messages)
                }
                ConversationWish::Rewind(number) => {
                    RewoundChat::open(link.as_ref(), &number).await.map(ConversationAnswer::Rewound)
                }
            };
            answer.unwrap_or_else(ConversationAnswer::Failed)
        };
        self.choosing = choose.boxed().fuse();
    }

    pub(super) fn note_choice(&mut self, found: ConversationAnswer) {
        match found {
            ConversationAnswer::Failed(LinkError(error)) => self.display.show_remark(&error),
            ConversationAnswer::Opened(name) => self.begin_conversation(&name),
            ConversationAnswer::Named(title) => {
                self.display.show_remark(&format!("{NAMED} {title:?}."));
            }
            ConversationAnswer::Messages(messages) => self.offer_messages(&messages),
            ConversationAnswer::Rewound(chat) => self.continue_differently(&chat),
            ConversationAnswer::Listed(listed) if listed.is_empty() => {
                self.display.show_remark(NO_OTHERS);
            }
            ConversationAnswer::Listed(listed) => {
                for (place, entry) in listed.iter().take(MOST).enumerate() {
                    let ConversationEntry { name, summary } = entry;
                    self.display.show_remark(&format!("{:>3}  {name}  {summary}", place + 1));
                }
                self.display.show_remark("/resume 1 opens the first of them.");
            }
        }
    }

    /// Forgets the state of the conversation before, and shows the last exchange of this one.
    pub(super) fn begin_conversation(&mut self, name: &str) {
        self.own = OwnMessages::default();
        self.outcomes.clear();
        self.shown_calls = ShownCalls::default();
        self.choices = None;
        self.display.forget_turns();
        self.display.show_remark(&format!("This is the conversation {name}."));
        self.load_past();
        self.read_figures();
    }
}

/// Opens the conversation with this name, or at this place of the list.
async fn open_conversation(
    link: &dyn TerminalLink,
    given: &str,
) -> Result<ConversationAnswer, LinkError> {
    let listed = link.conversations().await?;
    let number = given.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let by_number = number.and_then(|place| listed.get(place));
    let entry = listed.iter().find(|entry| entry.name == given).or(by_number);
    let Some(entry) = entry else {
        let text = format!("There is no conversation {given:?}; /sessions lists them.");
        return Err(LinkError(text));
    };
    link.open_conversation(&entry.name).await?;
    Ok(ConversationAnswer::Opened(entry.name.clone()))
}
