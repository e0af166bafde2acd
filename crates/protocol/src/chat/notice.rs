//! All texts that the program itself sends into chats, with their readers. The page `notices.md` of
//! the book lists them, and a test keeps both equal. Answers of models and replies to commands are
//! no notices.

use crate::chat::Content;

/// The reader of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// A person without access.
    Stranger,
    /// A person with access who is no owner, in their private chat.
    Member,
    /// The members of a group, whatever their roles.
    Group,
    /// An owner, in a private chat.
    Owner,
}

impl Reader {
    /// The word in the book.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stranger => "stranger",
            Self::Member => "member",
            Self::Group => "group",
            Self::Owner => "owner",
        }
    }
}

/// Declares the notices, with their names in the book and their readers.
macro_rules! notices {
    ($($(#[$doc:meta])* $notice:ident = $name:literal for $($reader:ident)+;)+) => {
        /// A text of the program.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Notice {
            $($(#[$doc])* $notice,)+
        }

        impl Notice {
            /// All notices, in the order of the page.
            pub const ALL: &[Self] = &[$(Self::$notice),+];

            /// The name in the book.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$notice => $name,)+
                }
            }

            /// The people who read this text. Each other reader gets another notice, or none.
            #[must_use]
            pub fn readers(self) -> &'static [Reader] {
                match self {
                    $(Self::$notice => &[$(Reader::$reader),+],)+
                }
            }
        }
    };
}

notices! {
    /// A turn has no answer, with the cause and the next step.
    NoAnswer = "no answer, with its cause" for Owner;
    /// A turn has no answer, in a sentence without words of the program.
    NoAnswerPlain = "no answer" for Member Group;
    /// A turn of other people has no answer for a cause that an owner can remove.
    NoAnswerOfOthers = "no answer for another person" for Owner;
    /// The work for a turn was dropped.
    Dropped = "a dropped message" for Member Group Owner;
    /// A command has failed.
    CommandFailed = "a failed command" for Member Group Owner;
    /// The way to answer a question behind which a message waits.
    HowToAnswer = "a message waits behind a question" for Member Group Owner;
    /// The question of a call that needs approval.
    Approval = "a question for approval" for Group Owner;
    /// An owner was asked for approval.
    OwnerAsked = "an owner was asked" for Member Group;
    /// An answer that may leak data, for approval.
    Withheld = "a withheld answer" for Group Owner;
    /// A call with an unknown outcome, shown as it is.
    Interrupted = "an interrupted call" for Group Owner;
    /// A call with an unknown outcome, without the call.
    InterruptedPlain = "an interrupted step" for Member;
    /// The question of a server.
    ServerQuestion = "a question of a server" for Group Owner;
    /// A question is asked again after a restart.
    Repeated = "a question that is asked again" for Member Group Owner;
    /// The end of a summary.
    Summarised = "the end of a summary" for Member Group Owner;
    /// A message could not be sent.
    NotSent = "a message that could not be sent" for Member Group Owner;
    /// A message may not have arrived.
    Unconfirmed = "a message that may not have arrived" for Member Group Owner;
    /// The bot may not write in a chat.
    ClosedChat = "a closed chat" for Owner;
    /// The program cannot read this kind of message.
    Unreadable = "an unreadable message" for Member Group Owner;
    /// The bot was added to a group by a person with access.
    Greeting = "the greeting in a group" for Group;
    /// A group or a channel, as which a person writes, has no access.
    HowToAdmit = "how to admit a channel" for Owner;
    /// The hint to a stranger.
    StrangerHint = "the reply to a stranger" for Stranger;
    /// A stranger wants to speak.
    StrangerAsks = "a stranger wants to speak" for Owner;
    /// A stranger was let in.
    Welcome = "the welcome after the approval" for Member Owner;
    /// A part of the log is lost.
    LostLog = "a part of the log is lost" for Member Group Owner;
    /// A long answer, of which the chat shows the beginning.
    LongAnswer = "the beginning of a long answer" for Member Group Owner;
    /// A private answer that can no longer be shown in its place.
    LateAnswer = "an answer that came too late" for Member Group Owner;
}

impl Notice {
    /// Makes the content of this notice.
    #[must_use]
    pub fn with_text(self, text: impl Into<String>) -> Content {
        Content::text(text)
    }
}
