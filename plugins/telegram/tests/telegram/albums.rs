//! Several files, which leave as albums.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::channel::{Channel, SendError};
use avocet_protocol::chat::{Attachment, Choice, Content, REPEAT_MARK};
use avocet_testkit::telegram::{ApiError, CAPTION_LIMIT, InjectedFault, On, SentMessage, png};

use crate::files::{attachment, loaded};
use crate::{World, telegram};

const MP4: &[u8] = b"\0\0\0 ftypisom";

/// The album, the form and the text of each message.
fn shown(world: &World) -> Vec<(String, String, String)> {
    let one = |sent: SentMessage| {
        let form = sent.file.map(|file| file.shown_as).unwrap_or_default();
        (sent.album.unwrap_or_default(), form, sent.text)
    };
    world.platform.sent().into_iter().map(one).collect()
}

fn row(album: &str, form: &str, text: &str) -> (String, String, String) {
    (album.to_owned(), form.to_owned(), text.to_owned())
}

/// Two pictures. Telegram refuses the second as a photo.
fn good_and_long() -> [(&'static str, Vec<u8>); 2] {
    [("a.png", png(10, 10)), ("b.png", png(4000, 10))]
}

#[tokio::test]
async fn photos_leave_as_one_album_with_the_text_as_caption() {
    let world = World::new().await;
    let photo = png(10, 10);
    let files = [("a.png", &photo[..]), ("b.png", &photo[..]), ("c.mp4", MP4)];
    assert_eq!(world.post("**Three** files", &files, &[]).await, [Ok(())]);
    let expected = [
        row("album1", "photo", "Three files"),
        row("album1", "photo", ""),
        row("album1", "video", ""),
    ];
    assert_eq!(shown(&world), expected);
    assert_eq!(world.platform.sent()[0].entities[0]["type"], "bold");
    assert_eq!((world.platform.calls("sendMediaGroup"), world.platform.refusals()), (1, vec![]));
}

#[tokio::test]
async fn receipt_of_an_album_has_the_numbers_of_its_messages() {
    let world = World::new().await;
    let photo = png(10, 10);
    let files = [("a.png", &photo[..]), ("b.png", &photo[..])];
    let attachments = vec![attachment("a.png"), attachment("b.png")];
    let content = Content { attachments, ..Content::default() };
    let chunk = world.telegram.plan(&content).remove(0);
    let receipt = world.telegram.deliver(&loaded(chunk, &files, false)).await.unwrap();
    let [first, second] = &world.platform.sent()[..] else { panic!("not two messages") };
    assert_eq!(receipt.platform_id.unwrap().as_str(), format!("{},{}", first.id, second.id));
}

#[tokio::test]
async fn albums_hold_neighbouring_files_of_one_kind() {
    let world = World::new().await;
    let photo = png(10, 10);
    let files = [
        ("a.png", &photo[..]),
        ("b.mp4", MP4),
        ("c.pdf", b"%PDF"),
        ("d.txt", b"text"),
        ("e.ogg", b"OggS\0\0 vorbis"),
        ("f.mp3", b"ID3"),
        ("g.m4a", b"\0\0\0 ftypM4A "),
    ];
    world.post("All", &files, &[]).await;
    let expected = [
        row("", "", "All"),
        row("album1", "photo", ""),
        row("album1", "video", ""),
        row("album2", "document", ""),
        row("album2", "document", ""),
        row("", "audio", ""),
        row("album3", "audio", ""),
        row("album3", "audio", ""),
    ];
    assert_eq!(shown(&world), expected);
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn album_has_at_most_ten_files_and_fifty_megabytes() {
    let world = World::new().await;
    let sizes = |attachments: Vec<Attachment>| -> Vec<usize> {
        let chunks = world.telegram.plan(&Content { attachments, ..Content::default() });
        chunks.iter().map(|chunk| chunk.attachments.len()).collect()
    };
    let photo = |number| attachment(&format!("{number}.png"));
    assert_eq!(sizes((0..23).map(photo).collect()), [10, 10, 3]);
    let large = |number| Attachment { bytes: Some(20 * 1024 * 1024), ..photo(number) };
    assert_eq!(sizes((0..5).map(large).collect()), [2, 2, 1]);
}

#[tokio::test]
async fn album_follows_a_text_too_long_for_a_caption() {
    let world = World::new().await;
    let photo = png(10, 10);
    let files = [("a.png", &photo[..]), ("b.png", &photo[..])];
    assert_eq!(world.post(&"x".repeat(CAPTION_LIMIT), &files, &[]).await.len(), 2);
    let albums: Vec<String> = shown(&world).into_iter().map(|(album, ..)| album).collect();
    assert_eq!(albums, ["", "album1", "album1"]);
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn buttons_stay_below_a_last_file_of_its_own() {
    let world = World::new().await;
    let photo = png(10, 10);
    let files = [("a.png", &photo[..]), ("b.png", &photo[..]), ("c.png", &photo[..])];
    world.post("", &files, &[Choice::new("Again", "/retry w1")]).await;
    let buttons: Vec<usize> =
        world.platform.sent().iter().map(|message| message.buttons().len()).collect();
    assert_eq!((shown(&world)[2].0.as_str(), buttons), ("", vec![0, 0, 1]));
}

#[tokio::test]
async fn refused_album_is_sent_file_by_file_without_doubling() {
    let world = World::new().await;
    let files = good_and_long();
    let files = [0, 1].map(|place| (files[place].0, &files[place].1[..]));
    assert_eq!(world.post("Look", &files, &[]).await, [Ok(())]);
    assert_eq!(shown(&world), [row("", "photo", "Look"), row("", "document", "")]);
    assert_eq!(world.platform.calls("sendMediaGroup"), 1);
}

#[tokio::test]
async fn files_of_other_forms_than_their_names_are_sent_one_by_one() {
    let world = World::new().await;
    let photo = png(10, 10);
    let files = [("a.png", &photo[..]), ("b.png", &b"not a picture"[..])];
    world.post("Look", &files, &[]).await;
    assert_eq!(shown(&world), [row("", "photo", "Look"), row("", "document", "")]);
    assert_eq!(world.platform.refusals(), []);
}

#[tokio::test]
async fn repeated_delivery_continues_after_the_files_that_have_arrived() {
    let world = World::new().await;
    let files = good_and_long();
    let files = [0, 1].map(|place| (files[place].0, &files[place].1[..]));
    world.platform.inject(On::method("sendDocument"), 1, InjectedFault::flood(3));
    let wait = Duration::from_secs(3);
    let ended = SendError::Partly(Box::new(SendError::RetryAfter(wait)));
    assert_eq!(world.post("Look", &files, &[]).await, [Err(ended)]);
    assert_eq!(shown(&world), [row("", "photo", "Look")]);
    world.clock.advance(wait);
    assert_eq!(world.post("Look", &files, &[]).await, [Ok(())]);
    assert_eq!(shown(&world), [row("", "photo", "Look"), row("", "document", "")]);
    world.clock.advance(wait);
    world.post("Look", &files, &[]).await;
    assert_eq!(shown(&world).len(), 4, "another delivery begins at its first file");
}

#[tokio::test]
async fn refused_file_does_not_hold_up_the_others() {
    let world = World::new().await;
    let files = [("a.pdf", &b""[..]), ("b.pdf", b"%PDF")];
    let sent = world.post("Look", &files, &[]).await;
    let [Err(SendError::Partly(rest))] = &sent[..] else { panic!("{sent:?}") };
    let SendError::Refused(error) = &**rest else { panic!("{sent:?}") };
    assert!(error.starts_with("1 of 2 files: "), "{error}");
    assert_eq!(shown(&world), [row("", "document", "Look")]);
}

#[tokio::test]
async fn f5_album_after_a_lost_answer_is_unknown_and_its_repetition_is_marked() {
    let world = World::new().await;
    let photo = png(10, 10);
    let files = [("a.png", &photo[..]), ("b.png", &photo[..])];
    world.platform.inject(On::method("sendMediaGroup"), 1, InjectedFault::ResetAfter);
    let sent = world.post("look", &files, &[]).await;
    assert!(matches!(sent[..], [Err(SendError::Unknown(_))]), "{sent:?}");
    let attachments = vec![attachment("a.png"), attachment("b.png")];
    let content = Content { attachments, ..Content::text("look") };
    let chunk = world.telegram.plan(&content).remove(0);
    world.clock.advance(Duration::from_secs(1));
    world.telegram.deliver(&loaded(chunk, &files, true)).await.unwrap();
    let texts: Vec<String> = shown(&world).into_iter().map(|(_, _, text)| text).collect();
    let marked = format!("{REPEAT_MARK}\nlook");
    assert_eq!(texts, ["look", "", &marked, ""]);
}

/// Delivers an album with the mark of a repetition.
async fn repeat(world: &World, text: &str, files: &[(&str, &[u8])]) {
    let attachments = files.iter().map(|(name, _)| attachment(name)).collect();
    let content = Content { attachments, ..Content::text(text) };
    let chunk = world.telegram.plan(&content).remove(0);
    world.clock.advance(Duration::from_secs(5));
    world.telegram.deliver(&loaded(chunk, files, true)).await.unwrap();
}

/// The log marks the next send of an album of which some files have arrived.
#[tokio::test]
async fn repetition_of_a_partly_sent_album_is_marked_only_after_a_restart() {
    for is_restarted in [false, true] {
        let mut world = World::new().await;
        let files = good_and_long();
        let files = [0, 1].map(|place| (files[place].0, &files[place].1[..]));
        world.platform.inject(On::method("sendDocument"), 1, InjectedFault::flood(3));
        let sent = world.post("Look", &files, &[]).await;
        assert!(matches!(sent[..], [Err(SendError::Partly(_))]), "{sent:?}");
        if is_restarted {
            world.telegram = Arc::new(telegram(&world.platform.base_url(), &world.clock));
        }
        repeat(&world, "Look", &files).await;
        let marked = format!("{REPEAT_MARK}\nLook");
        let mut expected = vec![row("", "photo", "Look"), row("", "document", "")];
        if is_restarted {
            expected.insert(1, row("", "photo", &marked));
        }
        assert_eq!(shown(&world), expected, "{is_restarted}");
    }
}

#[tokio::test]
async fn repetition_of_a_partly_sent_album_marks_a_file_that_may_have_arrived() {
    let world = World::new().await;
    let files = good_and_long();
    let files = [0, 1].map(|place| (files[place].0, &files[place].1[..]));
    world.platform.inject(On::method("sendDocument"), 1, InjectedFault::ResetAfter);
    let sent = world.post("Look", &files, &[]).await;
    assert!(matches!(sent[..], [Err(SendError::Partly(_))]), "{sent:?}");
    repeat(&world, "Look", &files).await;
    let expected = [("photo", "Look"), ("document", ""), ("document", REPEAT_MARK)];
    assert_eq!(shown(&world), expected.map(|(form, text)| row("", form, text)));
}

#[tokio::test]
async fn repetition_of_a_partly_sent_album_does_not_repeat_its_text() {
    let world = World::new().await;
    let files = [("a.pdf", &b"%PDF"[..]), ("b.pdf", b"%PDF"), ("c.pdf", b"%PDF")];
    let refused = || InjectedFault::Refuse(ApiError::bad_request("no"));
    world.platform.inject(On::method("sendMediaGroup"), 1, refused());
    world.platform.inject(On::method("sendDocument"), 1, refused());
    let sent = world.post("Look", &files, &[]).await;
    assert!(matches!(sent[..], [Err(SendError::Partly(_))]), "{sent:?}");
    repeat(&world, "Look", &files).await;
    let texts: Vec<String> = shown(&world).into_iter().map(|(_, _, text)| text).collect();
    assert_eq!(texts, ["Look", "", ""]);
}

#[tokio::test]
async fn f23_album_with_refused_markup_has_a_plain_caption() {
    let world = World::new().await;
    let photo = png(10, 10);
    let refusal = ApiError::bad_request("can't parse entities: unsupported start tag");
    world.platform.inject(On::method("sendMediaGroup"), 1, InjectedFault::Refuse(refusal));
    let files = [("a.png", &photo[..]), ("b.png", &photo[..])];
    assert_eq!(world.post("**bold**", &files, &[]).await, [Ok(())]);
    let sent = &world.platform.sent()[0];
    assert_eq!((sent.text.as_str(), sent.entities.len()), ("bold", 0));
    assert_eq!(sent.album.as_deref(), Some("album1"));
}
