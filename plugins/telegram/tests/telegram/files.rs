//! Sent files: the platform's view of them, and reactions to refusals.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::channel::{Channel, SendError};
use avocet_protocol::chat::{
    Attachment, AttachmentKind, AttachmentSource, Choice, Content, Delivery, LoadedFile,
    REPEAT_MARK,
};
use avocet_testkit::telegram::{
    ApiError, CAPTION_LIMIT, InjectedFault, On, SentMessage, UserMessage, png,
};

use crate::{ANN, World, chat, delivery, telegram};

const SECOND: Duration = Duration::from_secs(1);

impl World {
    /// Delivers a message with files as the outbox does.
    pub(crate) async fn post(
        &self,
        text: &str,
        files: &[(&str, &[u8])],
        choices: &[Choice],
    ) -> Vec<Result<(), SendError>> {
        let attachments = files.iter().map(|(path, _)| attachment(path)).collect();
        let reply = Content { attachments, choices: choices.to_vec(), ..Content::text(text) };
        let mut sent = Vec::new();
        for chunk in self.telegram.plan(&reply) {
            self.clock.advance(SECOND);
            let delivery = loaded(chunk, files, false);
            sent.push(self.telegram.deliver(&delivery).await.map(|_| ()));
        }
        sent
    }
}

pub(crate) fn attachment(path: &str) -> Attachment {
    let is_picture = [".png", ".jpg"].iter().any(|end| path.ends_with(end));
    let kind = if is_picture { AttachmentKind::Image } else { AttachmentKind::Document };
    Attachment::new(kind, AttachmentSource::Workspace(path.to_owned()))
}

/// A chunk with the bytes of its files.
pub(crate) fn loaded(chunk: Content, files: &[(&str, &[u8])], repeat: bool) -> Delivery {
    let load = |attachment: &Attachment| {
        let AttachmentSource::Workspace(path) = &attachment.source else { panic!("elsewhere") };
        let (_, bytes) = files.iter().find(|(known, _)| known == path).unwrap();
        LoadedFile { name: path.rsplit('/').next().unwrap().to_owned(), bytes: Arc::from(*bytes) }
    };
    let files = chunk.attachments.iter().map(load).collect();
    Delivery { files, repeat, ..delivery(ANN, chunk) }
}

/// The file's name and bytes, and `true` if it is shown as a photo.
fn file(sent: &SentMessage) -> (&str, &[u8], bool) {
    let file = sent.file.as_ref().unwrap();
    let upload = file.upload.as_ref().unwrap();
    (&upload.name, &upload.bytes, file.is_photo)
}

#[tokio::test]
async fn file_alone_has_the_text_as_caption_and_the_buttons() {
    let world = World::new().await;
    let choices = [Choice::new("Again", "/retry w1")];
    let sent = world.post("**Done**, see here.", &[("out/Übersicht.pdf", b"%PDF")], &choices).await;
    assert_eq!(sent, [Ok(())]);
    let [message] = &world.platform.sent()[..] else { panic!("not one message") };
    assert_eq!(file(message), ("Übersicht.pdf", &b"%PDF"[..], false));
    assert_eq!(message.text, "Done, see here.");
    assert_eq!((&message.entities[0]["type"], message.buttons().len()), (&"bold".into(), 1));
}

#[tokio::test]
async fn files_follow_the_text_and_the_last_has_the_buttons() {
    let world = World::new().await;
    let photo = png(640, 480);
    let files = [("a.png", &photo[..]), ("b.txt", b"text"), ("c.png", b"not a picture")];
    let sent = world.post("Three files", &files, &[Choice::new("Again", "/retry w1")]).await;
    assert_eq!(sent, [Ok(()), Ok(()), Ok(()), Ok(())]);
    let messages = world.platform.sent();
    assert_eq!(messages[0].text, "Three files");
    let shown: Vec<_> = messages[1..].iter().map(file).collect();
    let expected = [
        ("a.png", &photo[..], true),
        ("b.txt", &b"text"[..], false),
        ("c.png", b"not a picture", false),
    ];
    assert_eq!(shown, expected);
    let buttons: Vec<usize> = messages.iter().map(|message| message.buttons().len()).collect();
    assert_eq!(buttons, [0, 0, 0, 1]);
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn file_with_sound_or_video_is_shown_as_such_or_as_a_document() {
    let world = World::new().await;
    let opus = [&b"OggS"[..], &[0; 24], b"OpusHead"].concat();
    let files: [(&str, &[u8]); 5] = [
        ("speech.ogg", &opus),
        ("song.ogg", b"OggS\0\0 vorbis"),
        ("film.mp4", b"\0\0\0 ftypisom"),
        ("song.m4a", b"\0\0\0 ftypM4A "),
        ("film.txt", b"\0\0\0 ftypisom"),
    ];
    world.post("", &files, &[]).await;
    let shown = |world: &World| -> Vec<String> {
        let sent = world.platform.sent().into_iter();
        sent.map(|message| message.file.unwrap().shown_as).collect()
    };
    assert_eq!(shown(&world), ["voice", "audio", "video", "audio", "document"]);
    let refusal = ApiError::bad_request("VOICE_MESSAGES_FORBIDDEN");
    world.platform.inject(On::method("sendVoice"), 1, InjectedFault::Refuse(refusal));
    world.post("", &files[..1], &[]).await;
    assert_eq!(shown(&world)[5..], ["document"]);
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn file_follows_a_text_too_long_for_a_caption() {
    let world = World::new().await;
    // Room is reserved for the lines above a repeated message, or one outside its topic.
    let lost_topic = "(This was written in a topic that no longer exists.)";
    let longest = CAPTION_LIMIT - REPEAT_MARK.len() - lost_topic.len() - 2;
    let files: [(&str, &[u8]); 1] = [("a.txt", b"text")];
    for (length, messages) in [(longest, 1), (longest + 1, 2)] {
        let text = "🐦".repeat(length / 2) + &"a".repeat(length % 2);
        assert_eq!(world.post(&text, &files, &[]).await.len(), messages, "{length}");
    }
    assert_eq!(world.platform.refusals(), []);
    let none = world.post("", &files, &[]).await;
    assert_eq!((none.len(), world.platform.sent().last().unwrap().text.as_str()), (1, ""));
}

#[tokio::test]
async fn photo_that_telegram_refuses_is_sent_once_as_a_document() {
    let world = World::new().await;
    let long = png(4000, 10);
    assert_eq!(world.post("look", &[("a.png", &long)], &[]).await, [Ok(())]);
    let refused = world.platform.refusals();
    assert_eq!(refused[0].error.description, "Bad Request: PHOTO_INVALID_DIMENSIONS");
    let photo = png(1, 1);
    let failed = InjectedFault::Refuse(ApiError::bad_request("IMAGE_PROCESS_FAILED"));
    world.platform.inject(On::method("sendPhoto"), 1, failed);
    assert_eq!(world.post("look", &[("a.png", &photo)], &[]).await, [Ok(())]);
    let shown: Vec<bool> = world.platform.sent().iter().map(|sent| file(sent).2).collect();
    assert_eq!(shown, [false, false]);
    let failed = InjectedFault::Refuse(ApiError::bad_request("IMAGE_PROCESS_FAILED"));
    world.platform.inject(On::any(), 2, failed);
    let sent = world.post("look", &[("a.png", &photo)], &[]).await;
    assert!(matches!(sent[..], [Err(SendError::Refused(_))]), "{sent:?}");
}

#[test]
fn max_file_bytes_is_50_mb_at_telegram_and_2000_mb_at_an_own_server() {
    const MEGABYTE: u64 = 1024 * 1024;
    for (url, megabytes) in [("https://api.telegram.org", 50), ("http://localhost:8081", 2000)] {
        let telegram = telegram(url, &Arc::default());
        assert_eq!(telegram.max_file_bytes(&chat(ANN)), Some(megabytes * MEGABYTE), "{url}");
    }
}

#[tokio::test]
async fn file_that_telegram_refuses_fails_for_good_with_its_reason() {
    let world = World::new().await;
    let large = vec![0; 50 * 1024 * 1024 + 1];
    let cases: [(&[u8], &str); 2] =
        [(b"", "file must be non-empty"), (&large, "Request Entity Too Large")];
    for (bytes, why) in cases {
        let sent = world.post("look", &[("a.bin", bytes)], &[]).await;
        let [Err(SendError::Refused(error))] = &sent[..] else { panic!("{sent:?}") };
        assert!(error.contains(why) || error.contains("too large"), "{error}");
    }
    world.clock.advance(SECOND);
    let unloaded =
        delivery(ANN, Content { attachments: vec![attachment("a")], ..Content::text("") });
    let sent = world.telegram.deliver(&unloaded).await;
    assert!(matches!(sent, Err(SendError::Refused(_))), "{sent:?}");
    assert!(world.platform.sent().is_empty());
}

#[tokio::test]
async fn f23_caption_with_refused_markup_is_sent_as_plain_text() {
    let world = World::new().await;
    let refusal = ApiError::bad_request("can't parse entities: unsupported start tag");
    world.platform.inject(On::method("sendDocument"), 1, InjectedFault::Refuse(refusal));
    assert_eq!(world.post("**bold**", &[("a.txt", b"text")], &[]).await, [Ok(())]);
    let sent = &world.platform.sent()[0];
    assert_eq!((sent.text.as_str(), sent.entities.len()), ("bold", 0));
}

#[tokio::test]
async fn file_refers_to_the_replied_message() {
    let world = World::new().await;
    let heard = world.platform.private_text(ANN, "a report, please");
    for path in ["a.txt", "b.png"] {
        let reply = Content { attachments: vec![attachment(path)], ..Content::text("here") };
        let reply_to = Some(format!("m{}", heard.id).parse().unwrap());
        let chunk = Content { reply_to, ..world.telegram.plan(&reply).remove(0) };
        world.clock.advance(SECOND);
        let picture = png(10, 10);
        world.telegram.deliver(&loaded(chunk, &[(path, &picture)], false)).await.unwrap();
        let sent = world.platform.sent();
        assert_eq!(sent.last().unwrap().reply_to, Some(heard.id), "{path}");
    }
}

#[tokio::test]
async fn f5_file_after_a_lost_answer_is_unknown_and_its_repetition_is_marked() {
    for (text, caption) in [("look", format!("{REPEAT_MARK}\nlook")), ("", REPEAT_MARK.to_owned())]
    {
        let world = World::new().await;
        world.platform.inject(On::method("sendDocument"), 1, InjectedFault::ResetAfter);
        let files: [(&str, &[u8]); 1] = [("a.txt", b"text")];
        let sent = world.post(text, &files, &[]).await;
        assert!(matches!(sent[..], [Err(SendError::Unknown(_))]), "{sent:?}");
        assert_eq!(world.platform.sent().len(), 1);
        let reply = Content { attachments: vec![attachment("a.txt")], ..Content::text(text) };
        let chunk = world.telegram.plan(&reply).remove(0);
        world.clock.advance(SECOND);
        world.telegram.deliver(&loaded(chunk, &files, true)).await.unwrap();
        assert_eq!(world.platform.sent()[1].text, caption);
    }
}

#[tokio::test]
async fn file_is_sent_to_the_supergroup_that_a_group_became() {
    const SUPERGROUP: i64 = -1_000_000_000_050;
    let world = World::new().await;
    let heard = world.platform.say(UserMessage::group(ANN, -50, "hello"));
    world.platform.migrate(ANN, -50, SUPERGROUP);
    let reply_to = Some(format!("m{}", heard.id).parse().unwrap());
    let report = Content { attachments: vec![attachment("a.txt")], ..Content::default() };
    let chunk = Content { reply_to, ..world.telegram.plan(&report).remove(0) };
    let file = loaded(chunk, &[("a.txt", b"text")], false);
    let receipt = world.telegram.deliver(&Delivery { address: chat(-50), ..file }).await.unwrap();
    let sent = world.platform.sent().remove(0);
    assert_eq!((sent.chat, sent.reply_to), (SUPERGROUP, None), "the number is another message's");
    assert_eq!(receipt.platform_id, Some(format!("n{}", sent.id).parse().unwrap()));
}
