//! All texts that the program itself sends into chats, with their readers. The page `notices.md` of
//! the book lists them, and a test keeps both equal. Answers of models and replies to commands are
//! no notices.
//!
//! Each call names the reader of its text, and a notice that is not for this reader does not compile:
//!
//! ```text
//! use avocet_protocol::chat::notices::{self, readers};
//!
//! let detail = "401: the key has expired";
//! notices::NoAnswer.for_reader(readers::Owner, detail);
//! // Refused by the compiler: notices::NoAnswer.for_reader(readers::Member, detail)
//! ```

use crate::chat::Content;

/// The people who read notices.
pub mod readers {
    /// A person without access.
    #[derive(Debug, Clone, Copy)]
    pub struct Stranger;
    /// A person with access who is no owner, in their private chat.
    #[derive(Debug, Clone, Copy)]
    pub struct Member;
    /// The members of a group, whatever their roles.
    #[derive(Debug, Clone, Copy)]
    pub struct Group;
    /// An owner, in a private chat.
    #[derive(Debug, Clone, Copy)]
    pub struct Owner;

    /// Everybody with access: the text has no words of the program.
    pub const EVERYBODY: (Member, Group, Owner) = (Member, Group, Owner);
    /// Everybody with access who is no owner in a private chat.
    pub const OTHERS: (Member, Group) = (Member, Group);
    /// The people who decide about a call.
    pub const DECIDERS: (Group, Owner) = (Group, Owner);
}

/// Implemented by each notice for its readers.
pub trait IsFor<Reader> {}

impl<N: IsFor<A> + IsFor<B>, A, B> IsFor<(A, B)> for N {}
impl<N: IsFor<A> + IsFor<B> + IsFor<C>, A, B, C> IsFor<(A, B, C)> for N {}

/// A notice, as the book lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedNotice {
    /// The name in the code.
    pub code_name: &'static str,
    /// The name in the book.
    pub name: &'static str,
    /// The names of the readers, in the code. Each other reader gets another notice, or none.
    pub readers: &'static [&'static str],
}

/// Declares the notices, with their names in the book and their readers.
macro_rules! notices {
    ($($(#[$doc:meta])* $notice:ident = $name:literal for $($reader:ident)+;)+) => {
        /// All notices, in the order of the page.
        pub const ALL: &[ListedNotice] = &[$(ListedNotice {
            code_name: stringify!($notice),
            name: $name,
            readers: &[$(stringify!($reader)),+],
        }),+];

        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy)]
            pub struct $notice;

            impl $notice {
                /// Makes the content of this notice in the words for a reader.
                #[must_use]
                pub fn for_reader<R>(self, _reader: R, text: impl Into<String>) -> Content
                where
                    Self: IsFor<R>,
                {
                    Content::text(text)
                }
            }

            $(impl IsFor<readers::$reader> for $notice {})+
        )+
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
    /// An owner has stopped everything, and with it the work or the message of this chat.
    EverythingStopped = "everything is stopped" for Member Group Owner;
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
    /// An owner has decided about a stranger. The card of the question shows it to all owners.
    PairingDecided = "the outcome of a stranger's card" for Owner;
    /// A stranger was let in.
    Welcome = "the welcome after the approval" for Member Owner;
    /// A part of the log is lost.
    LostLog = "a part of the log is lost" for Member Group Owner;
    /// A long answer, of which the chat shows the beginning.
    LongAnswer = "the beginning of a long answer" for Member Group Owner;
    /// A private answer that can no longer be shown in its place.
    LateAnswer = "an answer that came too late" for Member Group Owner;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compiles only if a notice is not for a reader: otherwise both implementations of the trait fit.
    macro_rules! assert_refuses {
        ($notice:ty, $reader:ty) => {{
            trait FitsTwice<Case> {
                fn check() {}
            }
            impl<N> FitsTwice<()> for N {}
            struct ForReader;
            impl<N: IsFor<$reader>> FitsTwice<ForReader> for N {}
            <$notice as FitsTwice<_>>::check();
        }};
    }

    #[test]
    fn notices_refuse_other_readers() {
        assert_refuses!(NoAnswer, readers::Member);
        assert_refuses!(NoAnswer, readers::Group);
        assert_refuses!(NoAnswerPlain, readers::Owner);
        assert_refuses!(Welcome, readers::Stranger);
        assert_refuses!(NoAnswerPlain, (readers::Member, readers::Group, readers::Owner));
        let content = NotSent.for_reader(readers::OTHERS, "I could not send this message.");
        assert_eq!(content.text, "I could not send this message.");
    }
}
