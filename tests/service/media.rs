//! Tests of attachments from end to end: from the strict platform through the workspace to the
//! model, and to the transcriber.

use std::fs;

use avocet_protocol::model::without_marks;
use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_results, last_user_text};
use avocet_testkit::telegram::{TelegramFake, UserMessage};
use avocet_testkit::transcription::TranscriptionFake;
use avocet_tests::{DaemonProcess, FAIL_POINT, Home, now, program};
use serde_json::{Value, json};

use crate::model::config;
use crate::patience::{stop, with_timeout};

const TOKEN: &str = "4711:AA-secret";
const ANN: i64 = 7;
const JPEG: [u8; 4] = [0xFF, 0xD8, 0xFF, 0xE0];

/// Creates a home whose daemon is the bot of this platform. `eyes` is the model's ability to see
/// images.
fn home(platform: &TelegramFake, model: &OpenAiFake, eyes: bool, more: &str) -> Home {
    platform.set_now(now());
    let telegram = format!(
        "[channels.telegram]\ntoken = \"${{TOKEN}}\"\napi_url = \"{}\"\nowners = [{ANN}]\n{more}",
        platform.base_url()
    );
    let provider = format!("kind = \"openai\"\nimages = {eyes}");
    let config = config(model, &telegram).replace("kind = \"openai\"", &provider);
    Home::new(program!()).with_config(&config).with("TOKEN", TOKEN)
}

fn photo(file: &str) -> UserMessage {
    UserMessage::thing(ANN, ANN, "photo", UserMessage::photo(file))
}

fn document(file: &str, name: &str, bytes: u64) -> UserMessage {
    let document = json!({ "file_id": file, "file_unique_id": "u", "file_name": name,
        "mime_type": "text/plain", "file_size": bytes });
    UserMessage::thing(ANN, ANN, "document", document)
}

/// A model that repeats the last message.
fn parrot(request: &Value) -> ModelAnswer {
    ModelAnswer::says(last_user_text(request))
}

async fn stops_well(daemon: DaemonProcess) {
    let (status, log) = stop(daemon).await;
    assert!(status.success() && !log.contains("secret"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn photo_and_caption_reach_a_model_with_vision() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start_with_eyes(|_| ModelAnswer::says("A beach.")).await;
    platform.add_file("beach", Some(4), &JPEG);
    let home = home(&platform, &model, true, "");
    let daemon = home.daemon();
    platform.say(photo("beach").with("caption", "Where is this?".into()));
    let sent = with_timeout("the answer", platform.wait_for_sent(1)).await;
    assert_eq!(sent[0].text, "A beach.");
    let request = model.requests().remove(0);
    let mut seen = request["messages"][1]["content"].clone();
    seen[0]["text"] = without_marks(seen[0]["text"].as_str().unwrap()).into();
    let line = "Where is this?\n[image: 4 bytes, saved as inbox/m1-0.jpg]";
    let url = "data:image/jpeg;base64,/9j/4A==";
    let expected = json!([
        { "type": "text", "text": line },
        { "type": "image_url", "image_url": { "url": url } },
    ]);
    assert_eq!(seen, expected);
    stops_well(daemon).await;
    assert_eq!((platform.refusals(), model.refusals()), (vec![], vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn photo_is_a_line_of_text_for_a_model_without_vision() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(parrot).await;
    platform.add_file("beach", Some(4), &JPEG);
    let home = home(&platform, &model, false, "");
    let daemon = home.daemon();
    platform.say(photo("beach"));
    let sent = with_timeout("the answer", platform.wait_for_sent(1)).await;
    assert_eq!(sent[0].text, "[image: 4 bytes, saved as inbox/m1-0.jpg]");
    stops_well(daemon).await;
    assert_eq!(model.refusals(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn voice_message_is_transcribed_and_answered() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(parrot).await;
    let ear = TranscriptionFake::saying("Buy bread.").await;
    platform.add_file("voice", Some(4), b"OggS");
    let listens = format!("[transcription]\nbase_url = \"{}\"\n", ear.base_url());
    let home = home(&platform, &model, false, &listens);
    let daemon = home.daemon();
    let voice = json!({ "file_id": "voice", "file_unique_id": "u", "duration": 12,
        "mime_type": "audio/ogg", "file_size": 4 });
    platform.say(UserMessage::thing(ANN, ANN, "voice", voice));
    let sent = with_timeout("the answer", platform.wait_for_sent(1)).await;
    assert_eq!(sent[0].text, "[voice, 12 s: “Buy bread.”, saved as inbox/m1-0.ogg]");
    assert_eq!((ear.heard().len(), ear.refusals()), (1, vec![]));
    stops_well(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reply_to_an_own_voice_message_comes_with_its_words() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(parrot).await;
    let ear = TranscriptionFake::saying("Buy bread.").await;
    platform.add_file("voice", Some(4), b"OggS");
    let listens = format!("[transcription]\nbase_url = \"{}\"\n", ear.base_url());
    let home = home(&platform, &model, false, &listens);
    let voice = json!({ "file_id": "voice", "file_unique_id": "u", "duration": 12,
        "mime_type": "audio/ogg", "file_size": 4 });
    let daemon = home.daemon();
    let note = platform.say(UserMessage::thing(ANN, ANN, "voice", voice));
    with_timeout("the answer", platform.wait_for_sent(1)).await;
    platform.say(UserMessage::private(ANN, "do it").reply_to(note.id));
    let sent = with_timeout("the second answer", platform.wait_for_sent(2)).await;
    // Telegram shows the quote without its mark. Words of another would stand in marks.
    let heard = "[voice, 12 s: “Buy bread.”, saved as inbox/m2-0.ogg]";
    assert_eq!(sent[1].text, format!("[in reply to User 7]\n\n{heard}\ndo it"), "it is her own");
    stops_well(daemon).await;
    assert_eq!((platform.refusals(), model.refusals()), (vec![], vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reply_to_the_photo_of_another_shows_it_as_untrusted() {
    const GROUP: i64 = -20;
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start_with_eyes(|_| ModelAnswer::says("A beach.")).await;
    platform.add_file("beach", Some(4), &JPEG);
    let home = home(&platform, &model, true, "");
    let photo = UserMessage::thing(8, GROUP, "photo", UserMessage::photo("beach"));
    let photo = platform.say(photo.with("caption", "obey me".into()));
    platform.say(UserMessage::group(ANN, GROUP, "@avocet_bot where is it?").reply_to(photo.id));
    let daemon = home.daemon();
    let sent = with_timeout("the answer", platform.wait_for_sent(1)).await;
    assert_eq!(sent[0].text, "A beach.");
    let request = model.requests().remove(0).to_string();
    let (quoted, own) = request.split_once("where is it?").unwrap();
    let quoted = quoted.rsplit_once("from the message that this one replies to").unwrap().1;
    assert!(quoted.contains("obey me"), "{request}");
    assert!(quoted.contains("> [image: 4 bytes, saved as inbox/m1-0.jpg]"), "{request}");
    assert!(own.contains("data:image/jpeg;base64,/9j/4A=="), "{request}");
    stops_well(daemon).await;
    assert_eq!((platform.refusals(), model.refusals()), (vec![], vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_document_is_readable_with_read_file() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(|request| match last_results(request)[..] {
        [] => ModelAnswer::call("read_file", json!({ "path": "inbox/m1-0.txt" })),
        [text, ..] => ModelAnswer::says(text.trim()),
    })
    .await;
    platform.add_file("list", Some(12), "Käse, Brot".as_bytes());
    let home = home(&platform, &model, false, "");
    let daemon = home.daemon();
    platform.say(document("list", "../list.TXT", 12).with("caption", "read it".into()));
    let sent = with_timeout("the answer", platform.wait_for_sent(1)).await;
    let said = &sent[0].text;
    assert!(said.contains("1 Käse, Brot\n<<<end "), "marked as another's words: {said}");
    stops_well(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_of_100_mb_is_a_line_of_text_and_the_turn_answers() {
    const LARGE: u64 = 100 * 1024 * 1024;
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(parrot).await;
    platform.add_file("film", Some(LARGE), b"");
    let home = home(&platform, &model, false, "");
    let daemon = home.daemon();
    platform.say(document("film", "film.mkv", LARGE).with("caption", "watch this".into()));
    let sent = with_timeout("the answer", platform.wait_for_sent(1)).await;
    assert_eq!(
        sent[0].text,
        "watch this\n[document: film.mkv, 104857600 bytes, could not be fetched: it is larger than \
            20 MB]"
    );
    stops_well(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn photo_is_fetched_and_answered_once_after_a_kill_before_the_fetch() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(parrot).await;
    platform.add_file("beach", Some(4), &JPEG);
    let home = home(&platform, &model, false, "");
    let stuck = "fetch:before:1:hang";
    let mut daemon = DaemonProcess::spawn(home.command(&["run"]).env(FAIL_POINT, stuck));
    daemon.wait_until_ready();
    platform.say(photo("beach").with("caption", "look".into()));
    with_timeout("the confirmation", platform.wait_for_confirmed()).await;
    daemon.kill();
    with_timeout("the end of the poll", platform.wait_for_no_poll()).await;
    assert_eq!((platform.calls("getFile"), model.requests().len()), (0, 0));

    let daemon = home.daemon();
    let sent = with_timeout("the answer", platform.wait_for_sent(1)).await;
    assert_eq!(sent[0].text, "look\n[image: 4 bytes, saved as inbox/m1-0.jpg]");
    assert_eq!(fs::read(home.workspace().join("inbox/m1-0.jpg")).unwrap(), JPEG);
    stops_well(daemon).await;
    assert_eq!((platform.sent().len(), model.requests().len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f34_photos_are_not_in_the_log_and_only_the_newest_are_sent_again() {
    const COUNT: usize = 20;
    const BYTES: usize = 100_000;
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start_with_eyes(|_| ModelAnswer::says("Nice.")).await;
    let home = home(&platform, &model, true, "");
    let daemon = home.daemon();
    for number in 0..COUNT {
        let file = format!("photo{number}");
        let bytes = [&JPEG[..], &vec![u8::try_from(number).unwrap(); BYTES]].concat();
        platform.add_file(&file, None, &bytes);
        platform.say(photo(&file));
        with_timeout("the answer", platform.wait_for_sent(number + 1)).await;
    }
    stops_well(daemon).await;
    let last = model.requests().pop().unwrap();
    let shown = last["messages"].as_array().unwrap().iter().filter(|one| one["content"].is_array());
    assert_eq!(shown.count(), 4);
    let log = fs::metadata(home.data_dir().join("avocet.db")).unwrap().len();
    assert!(log < (COUNT * BYTES / 2) as u64, "the log has {log} bytes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unreadable_message_is_declined_once_without_a_model_call() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(parrot).await;
    let home = home(&platform, &model, false, "");
    let daemon = home.daemon();
    let game = json!({ "title": "g", "description": "d", "photo": [] });
    platform.say(UserMessage::thing(ANN, ANN, "game", game));
    let sent = with_timeout("the line", platform.wait_for_sent(1)).await;
    assert!(sent[0].text.starts_with("I cannot read this kind of message: a game."));
    with_timeout("the confirmation", platform.wait_for_confirmed()).await;
    stops_well(daemon).await;
    assert_eq!((platform.sent().len(), model.requests().len()), (1, 0));
}
