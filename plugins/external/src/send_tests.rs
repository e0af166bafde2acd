use std::time::Duration;

use avocet_protocol::chat::Style;
use avocet_protocol::ids::DeliveryId;

use super::*;

fn chat(name: &str) -> ChatAddress {
    format!("external:irc:{name}").parse().unwrap()
}

fn channel() -> External {
    External::new("external".parse().unwrap(), "irc".parse().unwrap(), 100)
}

fn to(chat: ChatAddress) -> Delivery {
    Delivery::new(DeliveryId(1), chat, Content::text("hello"))
}

/// Delivers to this chat, and answers the client's chunk with this outcome.
async fn deliver(
    channel: &External,
    chat: ChatAddress,
    client: &flume::Receiver<ForClient>,
    outcome: Result<Receipt, SendError>,
) -> Result<Receipt, SendError> {
    let delivery = to(chat);
    let answer = async {
        let ForClient::Chunk(handover) = client.recv_async().await.unwrap() else { panic!() };
        assert_eq!(handover.delivery, delivery);
        handover.receipt.send(outcome).unwrap();
    };
    tokio::join!(channel.deliver(&delivery), answer).0
}

#[tokio::test]
async fn deliver_prefers_the_client_of_the_topic_then_of_the_chat_then_the_last_of_all() {
    let channel = channel();
    assert!(!channel.reachable(&chat("a")));
    assert!(matches!(channel.health(), Health::Down(_)));
    assert_eq!(channel.deliver(&to(chat("a"))).await, Err(SendError::Unreachable));

    let posted = || Ok(Receipt { platform_id: Some("p1".parse().unwrap()) });
    let (old, all) = (channel.attach_all(), channel.attach_all());
    let (of_chat, of_topic) = (channel.attach(&chat("a")), channel.attach(&chat("a:7")));
    assert_eq!(channel.health(), Health::Up);
    for (name, client) in [("a:7", &of_topic), ("a:8", &of_chat), ("a", &of_chat), ("b", &all)] {
        assert_eq!(deliver(&channel, chat(name), client, posted()).await, posted(), "{name}");
    }
    drop((all, of_chat));
    for (name, client) in [("a", &old), ("b", &old), ("a:7", &of_topic)] {
        assert_eq!(deliver(&channel, chat(name), client, posted()).await, posted(), "{name}");
    }
    drop((old, of_topic));
    assert!(!channel.reachable(&chat("a:7")));
}

#[tokio::test]
async fn health_and_probe_have_the_reports_about_the_program() {
    let channel = channel();
    assert_eq!(channel.probe().await, []);
    let down = |why: &str| Health::Down(why.to_owned());
    channel.explain_absence("it ended with code 3");
    assert_eq!(channel.health(), down("it ended with code 3"));
    let client = channel.attach_all();
    assert_eq!(channel.health(), Health::Up);
    assert_eq!(channel.probe().await, []);
    channel.report(down("the server is away"));
    assert_eq!(channel.health(), down("the server is away"));
    assert_eq!(channel.probe().await[0].says, "the server is away");
    let next = channel.attach_all();
    assert_eq!(channel.health(), Health::Up);
    drop((client, next));
    assert_eq!(channel.health(), down("it ended with code 3"));
}

#[tokio::test]
async fn deliver_returns_the_outcome_that_the_client_reports() {
    let channel = channel();
    let client = channel.attach_all();
    for outcome in [
        Err(SendError::Failed("busy".to_owned())),
        Err(SendError::Refused("too rude".to_owned())),
        Err(SendError::RetryAfter(Duration::from_secs(3))),
        Ok(Receipt { platform_id: None }),
    ] {
        assert_eq!(deliver(&channel, chat("a"), &client, outcome.clone()).await, outcome);
    }
    let delivery = to(chat("a"));
    let (delivered, ()) = tokio::join!(channel.deliver(&delivery), async {
        drop(client.recv_async().await.unwrap());
    });
    assert!(matches!(delivered, Err(SendError::Unknown(_))), "{delivered:?}");
}

#[tokio::test]
async fn typing_reaches_the_client_of_the_chat() {
    let channel = channel();
    channel.typing(&chat("a")).await;
    let client = channel.attach_all();
    channel.typing(&chat("a")).await;
    let item = client.try_recv().unwrap();
    assert!(matches!(&item, ForClient::Typing(of) if *of == chat("a")), "{item:?}");
}

#[test]
fn plan_cuts_plain_text_with_styles_to_the_length_that_the_program_sets() {
    let channel = channel();
    let text = format!("**{}** tail", "word ".repeat(30).trim_end());
    let lengths = |channel: &External| -> Vec<usize> {
        channel.plan(&Content::text(&text)).iter().map(|chunk| chunk.text.chars().count()).collect()
    };
    assert!(lengths(&channel).iter().all(|length| *length <= 100));
    assert!(channel.set_max_text(99).is_err() && channel.set_max_text(100_001).is_err());
    channel.set_max_text(1000).unwrap();
    let [chunk] = &channel.plan(&Content::text(&text))[..] else { panic!() };
    assert!(chunk.text.starts_with("word word"), "{}", chunk.text);
    assert_eq!(chunk.styles.as_ref().unwrap()[0].style, Style::Bold);
}

#[tokio::test]
async fn fetch_reads_a_file_of_a_client_that_serves_the_chat() {
    let channel = channel();
    let reference = ClientFile { chat: chat("a"), name: "f1".to_owned() }.to_reference();
    for (reference, gone) in [(reference.as_str(), false), ("f1", true)] {
        let fetched = channel.fetch(reference, 10).await;
        assert_eq!(matches!(fetched, Err(FetchError::Gone(_))), gone, "{fetched:?}");
    }
    let client = channel.attach_all();
    let serve = async {
        for piece in [b"hello".to_vec(), Vec::new()] {
            let ForClient::Piece(request) = client.recv_async().await.unwrap() else { panic!() };
            assert_eq!(request.reference, "f1");
            request.piece.send(Ok(piece)).unwrap();
        }
    };
    let (fetched, ()) = tokio::join!(channel.fetch(&reference, 10), serve);
    assert_eq!(fetched, Ok(b"hello".to_vec()));
}
