use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::access::{Allow, AllowLists, GroupRules, People};
use avocet_protocol::bus::{Publish, PublishError};
use avocet_protocol::chat::{ChatKind, Content, Quote, Receipt, Sender};
use avocet_protocol::store::{Claim, Outbox, Query, SendEnd, Suspects, Turns};
use avocet_store::SqliteStore;
use avocet_store::testing::TempStore;
use avocet_testkit::{FakeDestinations, ManualClock};

use super::*;
use crate::{Admission, BusParts, WakeReceiver};

const MINUTE: Duration = Duration::from_mins(1);

struct AccessHarness {
    bus: Bus,
    clock: Arc<ManualClock>,
    store: Arc<SqliteStore>,
    platforms: Arc<FakeDestinations>,
    log: TempStore,
    _wakes: WakeReceiver,
}

/// On `terminal:main`, Ann is an owner, Bob a user, and there is a group. On `terminal:quiet`,
/// pairing is off. On `terminal:local`, everyone is an owner.
fn admission() -> Admission {
    let ids = |ids: &[&str]| ids.iter().map(|id| id.parse().unwrap()).collect();
    let lists = AllowLists { users: ids(&["bob"]), owners: ids(&["ann"]), ..AllowLists::default() };
    let quiet = Allow::Listed(lists.clone());
    let groups = [("g".parse().unwrap(), GroupRules::default())].into();
    let main = Allow::Listed(AllowLists { pairing: true, groups, ..lists });
    let [channel, name] = ["terminal", "main"];
    Admission::default()
        .with_account(channel.parse().unwrap(), name.parse().unwrap(), main)
        .with_account(channel.parse().unwrap(), "quiet".parse().unwrap(), quiet)
        .with_account(channel.parse().unwrap(), "local".parse().unwrap(), Allow::Local)
}

impl AccessHarness {
    async fn new() -> Self {
        let clock = Arc::new(ManualClock::default());
        Self::on(TempStore::new(), clock).await
    }

    async fn on(log: TempStore, clock: Arc<ManualClock>) -> Self {
        let store = log.open(clock.clone()).await;
        let platforms = Arc::new(FakeDestinations::default());
        let (bus, wakes) = Bus::open(BusParts {
            admission: admission(),
            inbox: store.clone(),
            outbox: store.clone(),
            people: store.clone(),
            destinations: platforms.clone(),
            deliveries: platforms.clone(),
            clock: clock.clone(),
        })
        .await
        .unwrap();
        Self { bus, clock, store, platforms, log, _wakes: wakes }
    }

    async fn restart(self) -> Self {
        let Self { bus, clock, store, log, .. } = self;
        drop((bus, store));
        Self::on(log, clock).await
    }

    /// Publishes a message like a platform.
    async fn publish_from(&self, chat: &str, sender: &str) -> Result<(), PublishError> {
        self.publish(inbound(chat, sender)).await
    }

    async fn publish(&self, inbound: Inbound) -> Result<(), PublishError> {
        let inbound = Inbound { from_platform: true, ..inbound };
        self.bus.publish(inbound, None).await.map(|_| ())
    }

    /// Returns the texts of the messages that an approval has put into a chat's session.
    async fn queued(&self, chat: &str) -> Vec<String> {
        let session = SessionId::from_address(&chat.parse().unwrap()).unwrap();
        let claim = self.store.claim(&session, Suspects::Exclude, Duration::ZERO).await.unwrap();
        let Claim::Turn(claimed) = claim else { return Vec::new() };
        let messages = claimed.turn.origin.messages();
        messages.iter().map(|one| one.message.inbound.content.text.clone()).collect()
    }

    /// Returns the stranger's code.
    fn code(&self) -> String {
        self.bus.pairings()[0].code.to_string()
    }

    /// Sends everything for the chat successfully, and returns the text.
    async fn sent_to(&self, chat: &str) -> String {
        let mut words = Vec::new();
        while let Some(head) = self.store.head(&chat.parse().unwrap()).await.unwrap() {
            let id = head.delivery.id;
            self.store.start(id, false).await.unwrap();
            let end = SendEnd::Sent(Receipt { platform_id: None });
            self.store.finish(id, &end).await.unwrap();
            words.push(head.delivery.content.text);
        }
        words.join(" ")
    }
}

fn inbound(chat: &str, sender: &str) -> Inbound {
    let key = uuid::Uuid::new_v4().to_string();
    let sender = Sender::new(sender.parse().unwrap());
    Inbound::new(chat.parse().unwrap(), sender, key.parse().unwrap(), Content::text("hi"))
}

fn refused(result: &Result<(), PublishError>) -> bool {
    matches!(result, Err(PublishError::NotAllowed { .. }))
}

#[tokio::test]
async fn f14_pairing_gives_a_stranger_a_code_and_admits_them_after_approval() {
    let harness = AccessHarness::new().await;
    assert!(refused(&harness.publish_from("terminal:main:c", "cid").await));
    let code = harness.code();
    assert_eq!(
        harness.sent_to("terminal:main:c").await,
        format!(
            "I do not know you yet. Please ask my owner to run: `avocet pair approve {code}` \
                (within 10 minutes). I will answer your message after that."
        )
    );
    assert!(
        refused(&harness.publish_from("terminal:main:c", "cid").await),
        "a code is not a permission"
    );
    assert_eq!(harness.sent_to("terminal:main:c").await, "", "one hint for one code");

    let person =
        harness.bus.approve(&code.to_lowercase().replace('-', ""), Role::User).await.unwrap();
    assert_eq!((person.id.to_string().as_str(), person.role), ("terminal:main:cid", Role::User));
    assert_eq!(
        harness.sent_to("terminal:main:c").await,
        "You may speak with me now. I am reading your message."
    );
    assert!(harness.platforms.woken().contains(&"terminal:main:c".parse().unwrap()));
    assert_eq!(harness.publish_from("terminal:main:c", "cid").await, Ok(()));
    assert!(
        refused(&harness.publish_from("terminal:quiet:c", "cid").await),
        "on that account alone"
    );
    let harness = harness.restart().await;
    assert_eq!(
        harness.publish_from("terminal:main:c", "cid").await,
        Ok(()),
        "also after a restart"
    );
}

/// Makes a text with this key.
fn text(key: &str, text: &str) -> Inbound {
    let inbound = inbound("terminal:main:c", "cid");
    Inbound { key: key.parse().unwrap(), content: Content::text(text), ..inbound }
}

#[tokio::test]
async fn pairing_answers_the_first_text_of_a_stranger_after_the_approval() {
    let harness = AccessHarness::new().await;
    let long = "x".repeat(16 * 1024);
    let mut quoting = text("q", "a short text with a long quote");
    quoting.content.quote = Some(Quote { from: None, text: long.clone() });
    let edit = Inbound { corrects: Some("2".parse().unwrap()), ..text("2e", "one, better") };
    let mut group = text("g", "in a group");
    (group.chat, group.address) = (ChatKind::Group, "terminal:main:g".parse().unwrap());
    let messages = [text("0", "/start"), text("1", &long), quoting, group, text("2", "one"), edit];
    for message in messages.into_iter().chain([text("3", "two")]) {
        assert!(refused(&harness.publish(message).await));
    }
    let hint = harness.sent_to("terminal:main:c").await;
    assert!(hint.ends_with("Write your message now, and I will answer it after that."), "{hint}");
    let harness = harness.restart().await;
    assert_eq!(harness.queued("terminal:main:c").await, [""; 0], "before the approval");
    harness.bus.approve(&harness.code(), Role::User).await.unwrap();
    let welcome = harness.sent_to("terminal:main:c").await;
    assert_eq!(welcome, "You may speak with me now. I am reading your message.");
    assert_eq!(harness.queued("terminal:main:c").await, ["one, better"]);
}

#[tokio::test]
async fn pairing_drops_the_message_of_a_denied_or_an_expired_code() {
    let harness = AccessHarness::new().await;
    assert!(refused(&harness.publish(text("1", "one")).await));
    harness.clock.advance(10 * MINUTE);
    assert!(refused(&harness.publish(text("2", "/start")).await));
    harness.bus.approve(&harness.code(), Role::User).await.unwrap();
    assert_eq!(harness.queued("terminal:main:c").await, [""; 0], "it was kept for the first code");

    let other = |key| Inbound { sender: Sender::new("dan".parse().unwrap()), ..text(key, "one") };
    let other = |key| Inbound { address: "terminal:main:d".parse().unwrap(), ..other(key) };
    assert!(refused(&harness.publish(other("1")).await));
    harness.bus.deny(&harness.code()).await.unwrap();
    assert!(refused(&harness.publish(other("1")).await), "the platform sends it again");
    assert_eq!(harness.queued("terminal:main:d").await, [""; 0]);
    let stored = harness.store.stored_access().await.unwrap();
    assert_eq!((stored.kept, stored.pairings.len()), (vec![], 3));
}

#[tokio::test]
async fn f14_pairing_gives_no_code_to_a_sender_who_would_not_see_it() {
    let harness = AccessHarness::new().await;
    let mut group = inbound("terminal:main:g", "cid");
    group.chat = ChatKind::Group;
    let mut bot = inbound("terminal:main:c", "cid");
    bot.sender.is_bot = true;
    assert_eq!(harness.publish_from("terminal:main:a", "ann").await, Ok(()));
    let in_anns_chat = inbound("terminal:main:a", "cid");
    for unseen in [group, bot, inbound("terminal:quiet:c", "cid"), in_anns_chat] {
        assert!(refused(&harness.publish(unseen).await));
    }
    let over_the_socket = harness.bus.publish(inbound("terminal:main:c", "uid:1"), None).await;
    assert!(refused(&over_the_socket.map(|_| ())), "no platform brought it");
    assert_eq!(harness.bus.pairings(), []);
    assert_eq!(harness.platforms.woken(), []);
}

#[tokio::test]
async fn owner_is_told_once_how_to_admit_those_who_write_as_a_channel() {
    let harness = AccessHarness::new().await;
    assert!(!refused(&harness.publish_from("terminal:main:own", "ann").await));
    let as_channel = || {
        let one = inbound("terminal:main:g", "-100");
        let sender = Sender { name: Some("News".to_owned()), ..one.sender };
        Inbound { sender, chat: ChatKind::Group, ..one }
    };
    for _ in 0..2 {
        assert!(refused(&harness.publish(as_channel()).await));
    }
    let told = harness.sent_to("terminal:main:own").await;
    let text = "Somebody who writes as `News` has written to me in `terminal:main:g`, and I did not \
                read it. To admit everybody who writes so, add -100 to `allow` in [channels.terminal]";
    assert!(told.starts_with(text), "{told}");
    assert_eq!(told.matches("News").count(), 1, "once: {told}");
    assert_eq!(harness.sent_to("terminal:main:g").await, "", "nothing in the group");
}

#[tokio::test]
async fn stranger_is_told_that_the_owner_was_asked() {
    let harness = AccessHarness::new().await;
    assert!(!refused(&harness.publish_from("terminal:main:own", "ann").await));
    assert!(refused(&harness.publish_from("terminal:main:c", "cid").await));
    let hint =
        "I do not know you yet, so I have asked my owner. I will answer your message after that.";
    assert_eq!(harness.sent_to("terminal:main:c").await, hint);
    assert!(harness.sent_to("terminal:main:own").await.contains("wants to speak with me"));
}

#[tokio::test]
async fn decline_answers_an_unreadable_message_once_and_not_to_strangers() {
    let harness = AccessHarness::new().await;
    let unreadable = Inbound { from_platform: true, ..inbound("terminal:main:c", "cid") };
    let decline = || harness.bus.decline(unreadable.clone(), Content::text("I cannot read this."));
    assert!(refused(&decline().await));
    let hint = harness.sent_to("terminal:main:c").await;
    assert!(hint.starts_with("I do not know you yet."), "{hint}");
    harness.bus.approve(&harness.code(), Role::User).await.unwrap();
    harness.sent_to("terminal:main:c").await;
    for said in ["I cannot read this.", ""] {
        assert_eq!(decline().await, Ok(()));
        assert_eq!(harness.sent_to("terminal:main:c").await, said);
    }
}

#[tokio::test]
async fn publish_waits_while_access_control_changes() {
    let harness = AccessHarness::new().await;
    assert_eq!(harness.publish_from("terminal:main:a", "ann").await, Ok(()));
    let messages = async || harness.store.log_status().await.unwrap().messages;
    let changing = harness.bus.block_publishing().await;
    let mut publishing = std::pin::pin!(harness.publish_from("terminal:main:a", "ann"));
    tokio::select! {
        biased;
        published = &mut publishing => panic!("{published:?}"),
        () = std::future::ready(()) => {}
    }
    // A message queued before this write would be in the log after it.
    let (channel, account) = ("terminal".parse().unwrap(), "main".parse().unwrap());
    harness.bus.ignore(&channel, &account, "of no use", None).await.unwrap();
    assert_eq!(messages().await, 1);
    drop(changing);
    assert_eq!(publishing.await, Ok(()));
    assert_eq!(messages().await, 2);
}

#[tokio::test]
async fn may_write_allows_chats_of_admitted_people_and_named_groups() {
    let harness = AccessHarness::new().await;
    let may_write = |chat: &str| harness.bus.may_write(&chat.parse().unwrap());
    let before =
        ["bob", "a", "c", "g", "h"].map(|chat| may_write(&format!("terminal:main:{chat}")));
    assert_eq!(before, [true, false, false, true, false]);
    assert!(may_write("terminal:local:anywhere") && !may_write("terminal:none:bob"));
    assert_eq!(harness.publish_from("terminal:main:a", "ann").await, Ok(()));
    assert!(may_write("terminal:main:a"), "a private chat with another id than its person");
    assert!(refused(&harness.publish_from("terminal:main:c", "cid").await));
    assert!(!may_write("terminal:main:c"));
    harness.bus.approve(&harness.code(), Role::User).await.unwrap();
    assert!(may_write("terminal:main:c"), "also before they wrote again");
    harness.bus.remove_person(&"terminal:main:cid".parse().unwrap()).await.unwrap();
    assert!(!may_write("terminal:main:c"));
}

#[tokio::test]
async fn f14_approve_accepts_a_code_once_within_ten_minutes_and_explains_refusals() {
    let harness = AccessHarness::new().await;
    assert!(refused(&harness.publish_from("terminal:main:c", "cid").await));
    let code = harness.code();
    harness.clock.advance(10 * MINUTE);
    let why = |result: Result<Person, AccessError>| result.unwrap_err().to_string();
    assert_eq!(
        why(harness.bus.approve(&code, Role::Owner).await),
        format!("the code {code} has expired; the stranger gets a new one by writing again")
    );
    assert_eq!(harness.bus.pairings(), []);

    assert!(refused(&harness.publish_from("terminal:main:c", "cid").await));
    let next = harness.code();
    assert_ne!(next, code);
    harness.bus.approve(&next, Role::Owner).await.unwrap();
    assert_eq!(
        why(harness.bus.approve(&next, Role::Owner).await),
        format!("the code {next} was approved before; a code can be used once")
    );
    assert_eq!(
        why(harness.bus.approve("2222-2222", Role::User).await),
        "the code 2222-2222 was given to no person in the last day; see the list of codes"
    );
    assert!(why(harness.bus.approve("please", Role::User).await).contains("8 characters"));
    let inbound = inbound("terminal:main:c", "cid");
    assert_eq!(harness.bus.role(&inbound), Role::Owner);
}

#[tokio::test]
async fn deny_invalidates_a_code_without_a_message_to_the_stranger() {
    let harness = AccessHarness::new().await;
    assert!(refused(&harness.publish_from("terminal:main:c", "cid").await));
    let code = harness.code();
    harness.sent_to("terminal:main:c").await;
    harness.bus.deny(&code).await.unwrap();
    assert_eq!(harness.sent_to("terminal:main:c").await, "");
    let again = harness.bus.approve(&code, Role::User).await.unwrap_err();
    assert_eq!(
        again.to_string(),
        format!("the code {code} was denied before; a code can be used once")
    );
    assert!(refused(&harness.publish_from("terminal:main:c", "cid").await));
    assert_eq!(harness.bus.pairings(), [], "denied is not the way to a new code");
}

#[tokio::test]
async fn pairing_notifies_owners_who_have_written_in_private() {
    let harness = AccessHarness::new().await;
    for (chat, sender) in [("terminal:main:a", "ann"), ("terminal:main:b", "bob")] {
        assert_eq!(harness.publish_from(chat, sender).await, Ok(()));
    }
    let harness = harness.restart().await;
    assert!(refused(&harness.publish_from("terminal:main:c", "cid").await));
    let code = harness.code();
    let told = harness.sent_to("terminal:main:a").await;
    assert!(told.ends_with(&format!("Otherwise: /pair deny {code}.")), "{told}");
    assert_eq!(harness.sent_to("terminal:main:b").await, "", "Bob is no owner");
}

#[tokio::test]
async fn remove_person_makes_the_person_a_stranger_again() {
    let harness = AccessHarness::new().await;
    assert!(refused(&harness.publish_from("terminal:main:c", "cid").await));
    harness.bus.approve(&harness.code(), Role::User).await.unwrap();
    assert_eq!(harness.publish_from("terminal:main:c", "cid").await, Ok(()));
    let (into, chat) = ("terminal:local:me".parse().unwrap(), "terminal:main:c".parse().unwrap());
    harness.bus.link(&into, &chat).await.unwrap();
    let person = "terminal:main:cid".parse().unwrap();
    harness.bus.remove_person(&person).await.unwrap();
    assert!(refused(&harness.publish_from("terminal:main:c", "cid").await));
    assert_eq!(
        harness.bus.links(),
        [],
        "admitted again, a person does not join the session of another"
    );
    let why = |result: Result<(), AccessError>| result.unwrap_err().to_string();
    assert_eq!(
        why(harness.bus.remove_person(&person).await),
        "terminal:main:cid has no access; `avocet people list` shows who has"
    );
    assert_eq!(
        why(harness.bus.remove_person(&"terminal:main:bob".parse().unwrap()).await),
        "terminal:main:bob is named by the configuration; remove the id from [channels.terminal] \
         there"
    );
}

#[tokio::test]
async fn people_lists_configured_and_approved_people() {
    let harness = AccessHarness::new().await;
    assert!(refused(&harness.publish_from("terminal:main:c", "cid").await));
    harness.bus.approve(&harness.code(), Role::User).await.unwrap();
    let list = harness.bus.people().into_iter();
    let list: Vec<_> =
        list.map(|one| (one.id.to_string(), one.role, one.since.is_some())).collect();
    let expected = [
        ("terminal:main:ann", Role::Owner, false),
        ("terminal:main:bob", Role::User, false),
        ("terminal:main:cid", Role::User, true),
        ("terminal:quiet:ann", Role::Owner, false),
        ("terminal:quiet:bob", Role::User, false),
    ];
    assert_eq!(list, expected.map(|(id, role, since)| (id.to_owned(), role, since)));
}

#[tokio::test]
async fn link_moves_a_private_chat_into_another_session_until_unlink() {
    let harness = AccessHarness::new().await;
    let (into, chat) = ("terminal:local:me".parse().unwrap(), "terminal:main:a".parse().unwrap());
    let unknown = harness.bus.link(&into, &chat).await.unwrap_err();
    assert!(matches!(unknown, AccessError::NotPrivate(_)), "{unknown}");
    assert_eq!(harness.publish_from("terminal:main:a", "ann").await, Ok(()));
    harness.bus.link(&into, &chat).await.unwrap();
    let sessions = || async {
        let open = Turns::open_sessions(harness.store.as_ref()).await.unwrap();
        open.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(harness.publish_from("terminal:main:a", "ann").await, Ok(()));
    assert_eq!(sessions().await, ["terminal:main:a", "terminal:local:me"]);
    let mut group = inbound("terminal:main:a", "ann");
    group.chat = ChatKind::Group;
    let admitted = harness.bus.access.admission.admit_message(group).unwrap().into_inner();
    assert_eq!(admitted.session.as_str(), "terminal:main:a", "only private chats are linked");

    let harness = harness.restart().await;
    let session = |harness: &AccessHarness| {
        let admitted =
            harness.bus.access.admission.admit_message(inbound("terminal:main:a", "ann")).unwrap();
        admitted.into_inner().session.to_string()
    };
    assert_eq!(session(&harness), "terminal:local:me", "also after a restart");
    harness.bus.unlink(&chat).await.unwrap();
    assert_eq!(session(&harness), "terminal:main:a");
}

#[tokio::test]
async fn asker_has_the_present_session_of_the_chat_and_its_person() {
    let harness = AccessHarness::new().await;
    let (into, chat) = ("terminal:main:b".parse().unwrap(), "terminal:main:a".parse().unwrap());
    for (chat, sender) in [("terminal:main:a", "ann"), ("terminal:main:b", "bob")] {
        assert_eq!(harness.publish_from(chat, sender).await, Ok(()));
    }
    let asker = |chat_kind| {
        let inbound = Inbound { chat: chat_kind, ..inbound("terminal:main:a", "ann") };
        let asker = harness.bus.asker(&inbound).unwrap();
        assert_eq!(asker.person.to_string(), "terminal:main:ann");
        (asker.session.to_string(), asker.linked.map(|linked| linked.to_string()))
    };
    let own = ("terminal:main:a".to_owned(), None);
    assert_eq!(asker(ChatKind::Private), own);
    harness.bus.link(&into, &chat).await.unwrap();
    let linked = Some("terminal:main:bob".to_owned());
    assert_eq!(asker(ChatKind::Private), ("terminal:main:b".to_owned(), linked));
    assert_eq!(asker(ChatKind::Group), own);
    harness.bus.unlink(&chat).await.unwrap();
    assert_eq!(asker(ChatKind::Private), own);
}

#[tokio::test]
async fn link_refuses_chains_and_self_links() {
    let harness = AccessHarness::new().await;
    let [a, b, c] = ["terminal:local:a", "terminal:local:b", "terminal:local:c"]
        .map(|chat| chat.parse::<ChatAddress>().unwrap());
    harness.bus.link(&a, &b).await.unwrap();
    let table = [
        (
            &a,
            &b,
            "terminal:local:b speaks in the session terminal:local:a already; unlink it first",
        ),
        (
            &b,
            &c,
            "terminal:local:b speaks in the session terminal:local:a already; unlink it first",
        ),
        (&c, &a, "terminal:local:b is linked to terminal:local:a; unlink it first"),
        (&c, &c, "terminal:local:c cannot be linked to itself"),
    ];
    for (into, chat, refusal) in table {
        assert_eq!(harness.bus.link(into, chat).await.unwrap_err().to_string(), refusal);
    }
    harness.bus.link(&a, &c).await.unwrap();
    assert_eq!(
        harness.bus.unlink(&a).await.unwrap_err().to_string(),
        "terminal:local:a speaks in its own session; there is nothing to unlink"
    );
}

#[tokio::test]
async fn change_rules_admits_new_people_and_refuses_removed_ones_at_once() {
    let harness = AccessHarness::new().await;
    assert!(refused(&harness.publish_from("terminal:main:c", "cid").await));
    harness.bus.approve(&harness.code(), Role::User).await.unwrap();
    assert_eq!(harness.publish_from("terminal:main:b", "bob").await, Ok(()));
    let users = [("eve".parse().unwrap())].into();
    let lists = AllowLists { users, ..AllowLists::default() };
    let main = "main".parse().unwrap();
    let changed =
        Admission::default().with_account("terminal".parse().unwrap(), main, Allow::Listed(lists));
    harness.bus.change_rules(&changed).await;
    assert_eq!(harness.publish_from("terminal:main:e", "eve").await, Ok(()));
    assert_eq!(harness.publish_from("terminal:main:c", "cid").await, Ok(()), "admitted by pairing");
    for (chat, sender) in [("terminal:main:b", "bob"), ("terminal:main:a", "ann")] {
        assert!(refused(&harness.publish_from(chat, sender).await), "{sender}");
    }
    assert!(refused(&harness.publish_from("terminal:quiet:b", "bob").await), "no such account");
}
