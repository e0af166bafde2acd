use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use avocet_protocol::bus::PublishError;
use avocet_protocol::channel::ChannelContext;
use avocet_protocol::chat::{ChatKind, Content, Inbound, Quote, Sender};
use avocet_protocol::ids::{AccountName, ChannelName, SenderId};
use avocet_protocol::store::StoreError;
use avocet_testkit::{FakeBus, FakeDestinations, ManualClock};

use super::*;
use crate::{ReactionNotes, RecentMessages, UserReaction};

/// An update of a third platform, which has everything that a stage is for.
#[derive(Debug, Clone)]
enum RoomUpdate {
    /// A message in a room, and `true` if it mentions the bot.
    Message(u64, u64, &'static str, bool),
    /// The room has a new id.
    Moved(u64, u64),
    /// A reaction to a message of the bot.
    Reaction(u64, &'static str),
    /// A message of the bot.
    Own(u64, u64),
    /// A change of a list in a room.
    ListChange(u64, &'static str),
}

/// The channel of the third platform.
#[derive(Debug)]
struct Rooms {
    /// The first id of each room that has moved.
    homes: BTreeMap<u64, u64>,
    /// Messages that the log has as parts of others.
    joined: BTreeSet<u64>,
    recent: RecentMessages<u64, u64>,
    reactions: ReactionNotes<u64, u64>,
    asides: Vec<(u64, Quote)>,
    /// The stages that ran, in their order.
    ran: Vec<u8>,
}

struct RoomStages<'a> {
    rooms: &'a mut Rooms,
    update: RoomUpdate,
}

fn quote(text: &str) -> Quote {
    Quote { from: Some("Bob".to_owned()), text: text.to_owned() }
}

fn inbound(room: u64, id: u64, text: &str) -> Inbound {
    let sender = Sender::new(SenderId::parse("7").unwrap());
    let address = format!("rooms:main:{room}").parse().unwrap();
    let key = format!("m{id}").parse().unwrap();
    let message = Inbound::new(address, sender, key, Content::text(text));
    Inbound { chat: ChatKind::Group, ..message }
}

impl Rooms {
    fn new() -> Self {
        Self {
            homes: BTreeMap::new(),
            joined: BTreeSet::new(),
            recent: RecentMessages::new(3, 10),
            reactions: ReactionNotes::default(),
            asides: Vec::new(),
            ran: Vec::new(),
        }
    }

    fn home(&self, room: u64) -> u64 {
        self.homes.get(&room).copied().unwrap_or(room)
    }
}

impl InboundStages for RoomStages<'_> {
    fn find_known_part(&mut self) -> Option<&'static str> {
        self.rooms.ran.push(1);
        match self.update {
            RoomUpdate::Message(_, id, ..) if self.rooms.joined.contains(&id) => {
                Some("a known part")
            }
            _ => None,
        }
    }

    async fn follow_move(&mut self) -> Result<Option<&'static str>, Stopped> {
        self.rooms.ran.push(2);
        let RoomUpdate::Moved(from, to) = self.update else { return Ok(None) };
        self.rooms.homes.insert(to, from);
        Ok(Some("a room that moved"))
    }

    fn note_quietly(&mut self) -> bool {
        self.rooms.ran.push(3);
        match self.update {
            RoomUpdate::Own(room, id) => self.rooms.reactions.note_own(room, id),
            RoomUpdate::Reaction(message, emoji) => {
                let (name, emoji) = ("Bob".to_owned(), emoji.to_owned());
                if let Some(room) = self.rooms.reactions.chat_of(&message) {
                    let reaction = UserReaction { message, user: 8, name, emoji };
                    self.rooms.reactions.add_reaction(room, reaction);
                }
            }
            _ => return false,
        }
        true
    }

    fn find_aside(&mut self) -> Option<&'static str> {
        self.rooms.ran.push(4);
        matches!(self.update, RoomUpdate::ListChange(..)).then_some("a change of a list")
    }

    fn note_aside(&mut self) {
        if let RoomUpdate::ListChange(room, text) = self.update {
            self.rooms.asides.push((self.rooms.home(room), quote(text)));
        }
    }

    async fn convert(&mut self) -> Converted {
        self.rooms.ran.push(5);
        match self.update {
            RoomUpdate::Message(room, id, text, true) => {
                Converted::inbound(Ok(inbound(self.rooms.home(room), id, text)))
            }
            _ => Converted::Ignored("without a mention"),
        }
    }

    async fn add_recent_messages(&mut self, message: &mut Converted) {
        self.rooms.ran.push(6);
        let RoomUpdate::Message(room, ..) = self.update else { return };
        let home = self.rooms.home(room);
        let recent = self.rooms.recent.messages_of(&home);
        message.set_earlier(recent.map(|(_, quote)| quote.clone()).collect());
    }

    fn add_reactions(&mut self, message: &mut Converted) {
        self.rooms.ran.push(7);
        let RoomUpdate::Message(room, ..) = self.update else { return };
        let home = self.rooms.home(room);
        message.add_earlier(self.rooms.reactions.of_chat(&home, 7));
        let asides = self.rooms.asides.iter().filter(|(room, _)| *room == home);
        message.add_earlier(asides.map(|(_, aside)| aside.clone()).collect());
    }

    fn note_committed(&mut self, message: &Converted, taken: &Taken) {
        self.rooms.ran.push(9);
        let RoomUpdate::Message(room, id, text, _) = self.update else { return };
        let home = self.rooms.home(room);
        match message {
            Converted::Inbound(_) if *taken == Taken::Accepted => {
                self.rooms.recent.forget_messages(&home, |_| true);
                self.rooms.reactions.forget_chat(&home);
                self.rooms.asides.retain(|(room, _)| *room != home);
            }
            Converted::Ignored(_) => self.rooms.recent.note_message(home, id, quote(text)),
            Converted::Inbound(_) | Converted::Unreadable(_) => {}
        }
    }
}

struct World {
    bus: Arc<FakeBus>,
    context: ChannelContext,
    channel: ChannelName,
    account: AccountName,
    rooms: Rooms,
}

impl World {
    fn new() -> Self {
        let bus = Arc::<FakeBus>::default();
        let context = ChannelContext {
            publish: bus.clone(),
            deliveries: Arc::new(FakeDestinations::default()),
            clock: Arc::<ManualClock>::default(),
            commands: Arc::default(),
            stop: Default::default(),
        };
        let (channel, account) = ("rooms".parse().unwrap(), "main".parse().unwrap());
        Self { bus, context, channel, account, rooms: Rooms::new() }
    }

    /// Runs the stages of an update with a cursor at this position. Tries each write once.
    async fn run(&mut self, position: u64, update: RoomUpdate) -> Result<Taken, Stopped> {
        let intake = Intake::new(&self.channel, &self.account, &self.context).with_one_attempt();
        let cursor = Cursor { scope: String::new(), position: position.to_string() };
        let mut stages = RoomStages { rooms: &mut self.rooms, update };
        intake.run_stages(&mut stages, Some(cursor)).await
    }

    /// The earlier messages that came with the last message in the log.
    async fn earlier(&self, count: usize) -> Vec<String> {
        let last = self.bus.taken(count).await.pop().unwrap();
        last.content.earlier.into_iter().map(|quote| quote.text).collect()
    }
}

fn full_disk() -> PublishError {
    PublishError::Log(StoreError::Full { path: "avocet.db".to_owned() })
}

#[tokio::test]
async fn run_stages_gives_a_third_platform_moves_joins_recent_messages_and_reactions() {
    let mut world = World::new();
    world.rooms.joined.insert(3);
    let updates = [
        RoomUpdate::Own(1, 2),
        RoomUpdate::Message(1, 3, "a part", true),
        RoomUpdate::Moved(1, 10),
        RoomUpdate::Message(10, 4, "for others", false),
        RoomUpdate::Reaction(2, "👍"),
        RoomUpdate::ListChange(10, "[milk is done]"),
        RoomUpdate::Message(10, 5, "hello bot", true),
        RoomUpdate::Message(10, 6, "again", true),
    ];
    for (position, update) in (1..).zip(updates) {
        world.run(position, update).await.unwrap();
    }
    let messages = world.bus.taken(2).await;
    let texts: Vec<&str> = messages.iter().map(|one| one.content.text.as_str()).collect();
    assert_eq!(texts, ["hello bot", "again"]);
    assert_eq!(messages[0].address.to_string(), "rooms:main:1", "the room keeps its first id");
    let earlier = messages[0].content.earlier.iter().map(|quote| quote.text.as_str());
    let expected = ["for others", "[reacted with 👍 to your last message]", "[milk is done]"];
    assert_eq!(earlier.collect::<Vec<_>>(), expected);
    assert_eq!(world.earlier(2).await, [""; 0], "the conversation has the context now");
    let reasons = world.bus.ignored(4).await;
    let expected = ["a known part", "a room that moved", "without a mention", "a change of a list"];
    assert_eq!(reasons, expected);
    let positions: Vec<String> = world.bus.moves().into_iter().map(|one| one.position).collect();
    assert_eq!(positions, ["1", "2", "3", "4", "5", "6", "7", "8"], "the cursor covers each");
}

#[tokio::test]
async fn run_stages_ends_each_update_at_its_stage() {
    let mut world = World::new();
    world.rooms.joined.insert(1);
    let table: [(RoomUpdate, &[u8]); 6] = [
        (RoomUpdate::Message(1, 1, "a part", true), &[1]),
        (RoomUpdate::Moved(1, 10), &[1, 2]),
        (RoomUpdate::Own(1, 2), &[1, 2, 3]),
        (RoomUpdate::ListChange(1, "done"), &[1, 2, 3, 4]),
        (RoomUpdate::Message(1, 3, "for others", false), &[1, 2, 3, 4, 5, 9]),
        (RoomUpdate::Message(1, 4, "hello", true), &[1, 2, 3, 4, 5, 6, 7, 9]),
    ];
    for (update, expected) in table {
        world.rooms.ran.clear();
        world.run(1, update.clone()).await.unwrap();
        assert_eq!(world.rooms.ran, expected, "{update:?}");
    }
}

#[tokio::test]
async fn run_stages_keeps_the_context_of_a_message_that_is_not_in_the_log() {
    let mut world = World::new();
    world.run(1, RoomUpdate::Message(1, 1, "before", false)).await.unwrap();
    let stranger = PublishError::NotAllowed { channel: "rooms".to_owned(), sender: "7".to_owned() };
    world.bus.refuse([stranger]);
    let refused = world.run(2, RoomUpdate::Message(1, 2, "a stranger", true)).await.unwrap();
    assert!(matches!(refused, Taken::Refused(_)), "{refused:?}");
    world.bus.refuse([full_disk()]);
    world.run(3, RoomUpdate::Message(1, 3, "lost", true)).await.unwrap_err();
    world.run(3, RoomUpdate::Message(1, 3, "hello", true)).await.unwrap();
    assert_eq!(world.earlier(1).await, ["before"]);
}

#[tokio::test]
async fn run_stages_notes_an_aside_once_although_its_commit_is_repeated() {
    let mut world = World::new();
    world.bus.refuse([full_disk()]);
    world.run(1, RoomUpdate::ListChange(1, "[milk]")).await.unwrap_err();
    world.run(1, RoomUpdate::ListChange(1, "[milk]")).await.unwrap();
    world.run(2, RoomUpdate::Message(1, 2, "hello", true)).await.unwrap();
    assert_eq!(world.earlier(1).await, ["[milk]"]);
}
