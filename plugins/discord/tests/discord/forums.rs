//! Messages to a forum, which become posts. The platform takes no nonce with a post.

use std::time::Duration;

use avocet_protocol::channel::{Channel, SendError};
use avocet_protocol::chat::{Content, Delivery, LoadedFile, Poll};
use avocet_protocol::ids::{DeliveryId, PlatformId};
use avocet_testkit::START;
use avocet_testkit::discord::{ApiError, DiscordMessage, InjectedFault, On, Route};

use crate::{World, chat};

const HOUR: Duration = Duration::from_hours(1);
const TEXT: &str = "[post: News; tags: Linux, bug, absent]\n\nIt **works**.";

fn message(forum: u64, row: i64, text: &str) -> Delivery {
    Delivery::new(DeliveryId(row), chat(forum), Content::text(text))
}

impl World {
    /// Adds a forum with the tags `bug` and `linux`.
    fn forum(&self) -> u64 {
        let channel = self.platform.describe_channel(self.channel);
        let guild = channel["guild_id"].as_str().unwrap().parse().unwrap();
        self.platform.forum(guild, "news", &["bug", "linux"])
    }

    /// Returns the title and the first text of each post of the bot, in their order.
    fn posts(&self) -> Vec<(String, String)> {
        let first = |sent: &DiscordMessage| sent.id == sent.channel;
        let sent = self.platform.sent().into_iter().filter(first);
        let title =
            |post| self.platform.describe_channel(post)["name"].as_str().unwrap().to_owned();
        sent.map(|sent| (title(sent.channel), sent.text)).collect()
    }
}

fn post(title: &str, text: &str) -> (String, String) {
    (title.to_owned(), text.to_owned())
}

#[tokio::test]
async fn message_to_a_forum_becomes_a_post_with_title_and_tags() {
    let world = World::new().await;
    let forum = world.forum();
    let _running = world.connected().await;
    let receipt = world.discord.deliver(&message(forum, 1, TEXT)).await.unwrap();
    world.discord.deliver(&message(forum, 2, "# Plans\n\nMore.")).await.unwrap();
    world.discord.deliver(&message(forum, 3, "No heading, only a text.")).await.unwrap();
    assert_eq!(
        world.posts(),
        [
            post("News", "It **works**."),
            post("Plans", "More."),
            post("No heading, only a text.", "No heading, only a text."),
        ]
    );
    let id = world.platform.sent()[0].id;
    assert_eq!(receipt.platform_id, Some(PlatformId::parse(&id.to_string()).unwrap()));
    assert_eq!(world.platform.tags(id), ["linux", "bug"], "an absent tag is left out");
    assert_eq!(world.platform.refusals(), []);
    assert_eq!(world.platform.calls(Route::CreatePost), 3);
    assert_eq!(world.platform.calls(Route::Channel), 1, "only tags need a request more");
}

#[tokio::test]
async fn later_chunks_go_into_the_post_of_the_first_one() {
    let world = World::new().await;
    let forum = world.forum();
    let _running = world.connected().await;
    let text = format!("[post: Long]\n{}", "A sentence of some words. ".repeat(150));
    let chunks = world.discord.plan(&Content::text(text));
    assert!(chunks.len() > 1, "{chunks:?}");
    let mut first_chunk = None;
    for (row, content) in (1..).zip(chunks) {
        let chunk = Delivery::new(DeliveryId(row), chat(forum), content);
        let chunk = Delivery { first_chunk: first_chunk.clone(), ..chunk };
        let receipt = world.discord.deliver(&chunk).await.unwrap();
        first_chunk = first_chunk.or(receipt.platform_id);
    }
    let sent = world.platform.sent();
    assert!(sent.iter().all(|one| one.channel == sent[0].id), "{sent:?}");
    assert_eq!((world.platform.calls(Route::CreatePost), world.posts().len()), (1, 1));
}

#[tokio::test]
async fn files_come_with_the_post() {
    let world = World::new().await;
    let forum = world.forum();
    let _running = world.connected().await;
    let file = LoadedFile { name: "plan.txt".to_owned(), bytes: b"plan"[..].into() };
    let with_file = Delivery { files: vec![file], ..message(forum, 1, "[post: Plan]\nRead it.") };
    world.discord.deliver(&with_file).await.unwrap();
    let sent = world.platform.sent().remove(0);
    assert_eq!((sent.text.as_str(), sent.files[0].name.as_str()), ("Read it.", "plan.txt"));
}

#[tokio::test]
async fn unknown_forum_is_learned_from_the_first_refusal() {
    let world = World::new().await;
    let forum = world.forum();
    let one = message(forum, 1, "[post: One]\nfirst");
    let sent = world.discord.deliver(&one).await;
    assert!(matches!(sent, Err(SendError::Failed(_))), "{sent:?}");
    world.discord.deliver(&one).await.unwrap();
    world.discord.deliver(&message(forum, 2, "[post: Two]\nsecond")).await.unwrap();
    assert_eq!(world.posts(), [post("One", "first"), post("Two", "second")]);
    assert_eq!(world.platform.calls(Route::CreateMessage), 1);
}

#[tokio::test]
async fn forum_that_requires_a_tag_names_its_tags_in_the_error() {
    let world = World::new().await;
    let forum = world.forum();
    world.platform.require_tag(forum);
    let _running = world.connected().await;
    let sent = world.discord.deliver(&message(forum, 1, "no tag")).await;
    let Err(SendError::Refused(error)) = sent else { panic!("{sent:?}") };
    assert!(error.contains("the forum's tags are bug, linux"), "{error}");
    world.discord.deliver(&message(forum, 1, "[post: A; tags: BUG]\ntagged")).await.unwrap();
    assert_eq!(world.posts(), [post("A", "tagged")]);
}

#[tokio::test]
async fn poll_to_a_forum_is_refused_with_the_reason() {
    let world = World::new().await;
    let forum = world.forum();
    let _running = world.connected().await;
    let answers = vec!["a".to_owned(), "b".to_owned()];
    let poll = Some(Poll { answers, multiple: false, hours: 1 });
    let content = Content { poll, ..Content::text("Which?") };
    let sent = world.discord.deliver(&Delivery::new(DeliveryId(1), chat(forum), content)).await;
    let Err(SendError::Refused(error)) = sent else { panic!("{sent:?}") };
    assert!(error.contains("takes no poll"), "{error}");
    assert_eq!(world.platform.calls(Route::CreatePost), 0);
}

/// The post of a send whose answer was lost is found again: open or closed, by this daemon or the
/// next one.
#[tokio::test]
async fn f5_post_with_an_unknown_outcome_is_made_once() {
    for (restarts, closes) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut world = World::new().await;
        let forum = world.forum();
        let running = world.connected().await;
        world.platform.inject(On::route(Route::CreatePost), 1, InjectedFault::ResetAfter);
        let news = message(forum, 1, TEXT);
        let sent = world.discord.deliver(&news).await;
        assert!(matches!(sent, Err(SendError::Unknown(_))), "{sent:?}");
        let made = world.platform.sent()[0].id;
        // Newer posts with the same title, and one with the same text.
        for (row, text) in [(2, "[post: News]\nother"), (3, "[post: Other]\nIt **works**.")] {
            world.pass(HOUR);
            world.discord.deliver(&message(forum, row, text)).await.unwrap();
        }
        if closes {
            world.platform.archive(made);
            world.pass(HOUR);
        }
        if restarts {
            world.stop.cancel();
            running.await.unwrap().unwrap();
            world = world.restarted();
        }
        let again = Delivery { first_sent_at: Some(START), ..news };
        let receipt = world.discord.deliver(&again).await.unwrap();
        assert_eq!(receipt.platform_id, Some(PlatformId::parse(&made.to_string()).unwrap()));
        assert_eq!(world.posts().len(), 3, "restart {restarts}, closed {closes}");
        assert_eq!(world.platform.refusals(), []);
    }
}

#[tokio::test]
async fn f5_post_is_found_behind_a_page_of_closed_ones() {
    let world = World::new().await;
    let forum = world.forum();
    let _running = world.connected().await;
    world.platform.inject(On::route(Route::CreatePost), 1, InjectedFault::ResetAfter);
    let news = message(forum, 1, TEXT);
    world.discord.deliver(&news).await.unwrap_err();
    world.pass(HOUR);
    world.platform.archive(world.platform.sent()[0].id);
    for number in 0..120 {
        world.pass(Duration::from_secs(1));
        let post = world.platform.thread(forum, &format!("of a person {number}"));
        world.platform.archive(post);
    }
    let again = Delivery { first_sent_at: Some(START), ..news };
    world.discord.deliver(&again).await.unwrap();
    assert_eq!(world.platform.calls(Route::CreatePost), 1);
    assert_eq!(world.platform.calls(Route::ArchivedThreads), 2);
}

#[tokio::test]
async fn post_is_not_made_while_the_closed_ones_cannot_be_searched() {
    let world = World::new().await;
    let forum = world.forum();
    let _running = world.connected().await;
    let news = message(forum, 1, TEXT);
    let again = Delivery { first_sent_at: Some(START), ..news };
    world.platform.inject(
        On::route(Route::ArchivedThreads),
        1,
        InjectedFault::Refuse(ApiError::missing_access()),
    );
    let sent = world.discord.deliver(&again).await;
    assert!(matches!(sent, Err(SendError::Unknown(_))), "{sent:?}");
    assert_eq!(world.posts(), []);
    world.discord.deliver(&again).await.unwrap();
    assert_eq!(world.posts(), [post("News", "It **works**.")]);
}
