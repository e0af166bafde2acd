//! Recordings as voice messages.

use std::time::Duration;

use avocet_protocol::channel::{Channel, SendError};
use avocet_protocol::chat::{
    Attachment, AttachmentKind, AttachmentSource, Content, Delivery, LoadedFile,
};
use avocet_testkit::discord::{ApiError, InjectedFault, On, Route};
use serde_json::Value;

use crate::{ANN, World, delivery};

const IS_VOICE_MESSAGE: u64 = 1 << 13;

/// Returns a recording of a second: two packets of headers, then two of sound.
fn opus() -> Vec<u8> {
    let page = |samples: i64, packets: &[&[u8]]| {
        let mut page = b"OggS\0\0".to_vec();
        page.extend(samples.to_le_bytes());
        page.extend([0; 12]);
        page.push(packets.len() as u8);
        page.extend(packets.iter().map(|packet| packet.len() as u8));
        page.extend(packets.concat());
        page
    };
    let head = b"OpusHead\x01\x01\0\0\x80\xbb\0\0\0\0\0";
    let sound = page(48_000, &[&[7; 40], &[7; 80]]);
    [page(0, &[head]), page(0, &[b"OpusTags\0\0\0\0\0\0\0\0"]), sound].concat()
}

fn spoken(world: &World, text: &str, kind: AttachmentKind, bytes: &[u8]) -> Delivery {
    let source = AttachmentSource::Workspace("answers/t1.ogg".to_owned());
    let attachments = vec![Attachment::new(kind, source)];
    let content = Content { attachments, ..Content::text(text) };
    let files = vec![LoadedFile { name: "voice.ogg".to_owned(), bytes: bytes.into() }];
    Delivery { files, ..delivery(world.dm, content) }
}

fn flags(world: &World) -> Vec<u64> {
    world.platform.sent().iter().map(|message| message.flags & IS_VOICE_MESSAGE).collect()
}

#[tokio::test]
async fn recording_alone_is_a_voice_message_and_is_made_once() {
    let world = World::new().await;
    let delivery = spoken(&world, "", AttachmentKind::Voice, &opus());
    for _ in 0..2 {
        world.discord.deliver(&delivery).await.unwrap();
    }
    assert_eq!(flags(&world), [IS_VOICE_MESSAGE]);
    let body: Value = world.platform.requests(Route::CreateMessage)[0].body.clone();
    let described = &body["attachments"][0];
    assert_eq!(described["duration_secs"], 1.0);
    assert_eq!(described["waveform"], "f/8=");
    assert_eq!(described["filename"], "voice.ogg");
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn file_with_a_text_or_of_another_kind_or_format_is_no_voice_message() {
    let world = World::new().await;
    let table = [
        ("listen", AttachmentKind::Voice, opus()),
        ("", AttachmentKind::Audio, opus()),
        ("", AttachmentKind::Voice, b"ID3 sound".to_vec()),
        ("", AttachmentKind::Voice, opus()[..100].to_vec()),
    ];
    for (row, (text, kind, bytes)) in (1..).zip(table) {
        let mut delivery = spoken(&world, text, kind, &bytes);
        delivery.nonce = format!("n{row}");
        world.discord.deliver(&delivery).await.unwrap();
    }
    assert_eq!(flags(&world), [0; 4]);
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn refused_voice_message_becomes_one_file() {
    for refusal in [ApiError::missing_permissions(), ApiError::new(400, 50_173, "No voice here")] {
        let world = World::new().await;
        let sends = On::route(Route::CreateMessage);
        world.platform.inject(sends, 1, InjectedFault::Refuse(refusal));
        let delivery = spoken(&world, "", AttachmentKind::Voice, &opus());
        for _ in 0..2 {
            world.discord.deliver(&delivery).await.unwrap();
        }
        assert_eq!(flags(&world), [0]);
        assert_eq!(world.platform.sent()[0].files[0].name, "voice.ogg");
        let calls = world.platform.calls(Route::CreateMessage);
        let next = Delivery { nonce: "next".to_owned(), ..delivery };
        world.discord.deliver(&next).await.unwrap();
        assert_eq!(flags(&world), [0, 0], "the channel is not asked again");
        assert_eq!(world.platform.calls(Route::CreateMessage), calls + 1);
    }
}

#[tokio::test]
async fn chat_that_refuses_every_message_gets_no_second_upload() {
    let world = World::new().await;
    world.platform.block(ANN);
    let delivery = spoken(&world, "", AttachmentKind::Voice, &opus());
    let sent = world.discord.deliver(&delivery).await;
    assert!(matches!(sent, Err(SendError::Refused(_))), "{sent:?}");
    assert_eq!(world.platform.calls(Route::CreateMessage), 1);
}

/// Recordings have no text that tells them apart.
#[tokio::test]
async fn f5_earlier_recording_is_not_taken_for_a_lost_one() {
    let world = World::new().await;
    let _running = world.connected().await;
    let first = spoken(&world, "", AttachmentKind::Voice, &opus());
    world.discord.deliver(&first).await.unwrap();
    world.pass(Duration::from_secs(40));
    let lost_at = world.platform.now();
    world.platform.inject(On::route(Route::CreateMessage), 1, InjectedFault::ResetBefore);
    let second = Delivery { nonce: "second".to_owned(), ..first };
    world.discord.deliver(&second).await.unwrap_err();
    world.pass(Duration::from_mins(10));
    let again = Delivery { first_sent_at: Some(lost_at), ..second };
    for _ in 0..2 {
        world.discord.deliver(&again).await.unwrap();
        assert_eq!(flags(&world), [IS_VOICE_MESSAGE; 2]);
    }
}

#[tokio::test]
async fn voice_message_with_a_lost_answer_is_made_once() {
    let world = World::new().await;
    world.platform.inject(On::route(Route::CreateMessage), 1, InjectedFault::ResetAfter);
    let delivery = spoken(&world, "", AttachmentKind::Voice, &opus());
    let lost = world.discord.deliver(&delivery).await;
    assert!(matches!(lost, Err(SendError::Unknown(_))), "{lost:?}");
    world.discord.deliver(&delivery).await.unwrap();
    assert_eq!(flags(&world), [IS_VOICE_MESSAGE]);
}
