//! Tests of spoken answers from end to end: from the platform through the strict speech server to a
//! voice message.

use std::fs;
use std::path::Path;

use avocet_testkit::discord::DiscordFake;
use avocet_testkit::http::whole;
use avocet_testkit::openai::{KEY, ModelAnswer, OpenAiFake};
use avocet_testkit::speech::{SpeechFake, opus};
use avocet_testkit::telegram::{SentMessage, TelegramFake, UserMessage};
use avocet_testkit::transcription::TranscriptionFake;
use avocet_tests::{DaemonProcess, FAIL_POINT, Home, now, program};
use serde_json::{Value, json};

use crate::model::config;
use crate::patience::{logged, stop, until, with_timeout};

const TOKEN: &str = "4711:AA-secret";
const ANN: i64 = 7;
const ANSWER: &str = "Bread is on the **list**:\n\n```\nbread\n```";
const SPOKEN: &str = "Bread is on the list:";

/// Ann's private chat with a bot that listens and speaks.
struct VoiceChat {
    platform: TelegramFake,
    model: OpenAiFake,
    ear: TranscriptionFake,
    speech: SpeechFake,
    home: Home,
}

impl VoiceChat {
    async fn new(speech: SpeechFake) -> Self {
        let platform = TelegramFake::start(TOKEN).await;
        platform.set_now(now());
        platform.add_file("voice", Some(4), b"OggS");
        let model = OpenAiFake::start(|_| ModelAnswer::says(ANSWER)).await;
        let ear = TranscriptionFake::saying("Buy bread.").await;
        let tables = format!(
            "[channels.telegram]\ntoken = \"${{TOKEN}}\"\napi_url = \"{}\"\nowners = [{ANN}]\n\
             [transcription]\nbase_url = \"{}\"\n{}",
            platform.base_url(),
            ear.base_url(),
            speech_table(&speech)
        );
        let home = Home::new(program!()).with_config(&config(&model, &tables));
        let home = home.with("TOKEN", TOKEN).with("SPEECH_KEY", KEY);
        Self { platform, model, ear, speech, home }
    }

    /// Lets Ann send a voice message.
    fn speak(&self) {
        let voice = json!({ "file_id": "voice", "file_unique_id": "u", "duration": 12,
            "mime_type": "audio/ogg", "file_size": 4 });
        self.platform.say(UserMessage::thing(ANN, ANN, "voice", voice));
    }

    async fn sent(&self, count: usize) -> Vec<SentMessage> {
        with_timeout("the answer", self.platform.wait_for_sent(count)).await
    }

    fn spoken(&self) -> Vec<String> {
        self.speech.spoken().into_iter().map(|call| call.input).collect()
    }
}

fn speech_table(speech: &SpeechFake) -> String {
    format!(
        "[speech]\nbase_url = \"{}\"\napi_key = \"${{SPEECH_KEY}}\"\n\
         dollars_per_million_characters = 1000.0\n",
        speech.base_url()
    )
}

/// Returns the form in which a message shows its file, and the content of the file.
fn file(message: &SentMessage) -> (&str, &[u8]) {
    let file = message.file.as_ref().unwrap();
    (&file.shown_as, &file.upload.as_ref().unwrap().bytes)
}

/// Returns the answers and the cost in dollars of spoken answers.
fn usage(home: &Home) -> (u64, f64) {
    let ran = home.run(&["usage", "--by", "purpose", "--json"]);
    let usage: Value = serde_json::from_str(&ran.out).unwrap();
    let rows = usage["rows"].as_array().unwrap();
    let speech = rows.iter().find(|row| row["purpose"] == "speech").unwrap();
    (speech["answers"].as_u64().unwrap(), speech["cost_usd"].as_f64().unwrap())
}

/// Returns the number of complete recordings in a directory.
fn recordings(directory: &Path) -> usize {
    let Ok(files) = fs::read_dir(directory) else { return 0 };
    let names = files.map(|file| file.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().ends_with(".ogg")).count()
}

async fn stops_well(daemon: DaemonProcess) {
    let (status, log) = stop(daemon).await;
    assert!(status.success() && !log.contains("secret") && !log.contains(KEY), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn voice_message_on_telegram_is_answered_with_text_and_a_voice_message() {
    let chat = VoiceChat::new(SpeechFake::start().await).await;
    let daemon = chat.home.daemon();
    chat.speak();
    let sent = chat.sent(2).await;
    assert!(sent[0].text.starts_with("Bread is on the list:"), "{sent:?}");
    assert_eq!((file(&sent[1]), sent[1].text.as_str()), (("voice", &opus()[..]), ""));
    assert_eq!(chat.spoken(), [SPOKEN]);
    chat.platform.private_text(ANN, "And butter?");
    let sent = chat.sent(3).await;
    assert!(sent[2].file.is_none(), "a text is answered with text");
    assert_eq!(usage(&chat.home), (1, 0.021));
    stops_well(daemon).await;
    assert_eq!((chat.platform.sent().len(), chat.ear.heard().len()), (3, 1));
    assert_eq!((chat.platform.refusals(), chat.speech.refusals()), (vec![], vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn voice_command_on_discord_adds_a_file_to_each_answer() {
    const BOB: u64 = 8;
    let platform = DiscordFake::start("discord.secret").await;
    platform.limit_rates(false);
    platform.set_now(now());
    let model = OpenAiFake::start(|_| ModelAnswer::says(ANSWER)).await;
    let speech = SpeechFake::start().await;
    let tables = format!(
        "[channels.discord]\ntoken = \"${{TOKEN}}\"\napi_url = \"{}\"\nowners = [{BOB}]\n{}",
        platform.base_url(),
        speech_table(&speech)
    );
    let home = Home::new(program!()).with_config(&config(&model, &tables));
    let home = home.with("TOKEN", "discord.secret").with("SPEECH_KEY", KEY);
    let dm = platform.dm(BOB);
    let daemon = home.daemon();
    platform.say(dm, BOB, "/voice on");
    with_timeout("the reply", platform.wait_for_sent(1)).await;
    platform.say(dm, BOB, "What do we need?");
    let sent = with_timeout("the answer", platform.wait_for_sent(3)).await;
    assert!(sent[0].text.starts_with("Voice is on from now on"), "{sent:?}");
    assert!(sent[1].text.starts_with("Bread is on the **list**:"), "{sent:?}");
    let files: Vec<_> = sent[2].files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!((files, sent[2].text.as_str()), (vec!["voice.ogg"], ""));
    stops_well(daemon).await;
    assert_eq!((platform.refusals(), speech.refusals()), (vec![], vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn voice_failure_of_the_server_leaves_the_text_and_one_warning() {
    let chat = VoiceChat::new(SpeechFake::answering(whole(503, &[], "overloaded")).await).await;
    let mut daemon = chat.home.daemon();
    chat.speak();
    let sent = chat.sent(1).await;
    assert!(sent[0].text.starts_with("Bread is on the list:"), "{sent:?}");
    logged(&mut daemon, "an answer is not spoken; the chat gets its text", 1).await;
    assert!(daemon.logged("503: overloaded") > 0);
    let doctor = chat.home.run(&["doctor"]).out;
    for says in ["it answers; its key is untested", "503: overloaded"] {
        assert!(doctor.contains(says), "{doctor}");
    }
    stops_well(daemon).await;
    assert_eq!((chat.platform.sent().len(), chat.spoken().len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn voice_requests_are_in_the_doctor_instead_of_untested_keys() {
    let chat = VoiceChat::new(SpeechFake::start().await).await;
    let daemon = chat.home.daemon();
    let lines = |part: &str| {
        let doctor = chat.home.run(&["doctor"]).out;
        let of_audio = |line: &&str| line.contains("speech") || line.contains("transcription");
        doctor.lines().filter(of_audio).filter(|line| line.contains(part)).count()
    };
    assert_eq!(lines("! "), 2);
    assert_eq!(lines("its key is untested, because it has no list of models"), 2);
    chat.speak();
    chat.sent(2).await;
    assert_eq!((lines("it answers"), lines("last success "), lines("! ")), (2, 2, 0));
    stops_well(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn voice_is_spoken_once_and_sent_once_after_a_kill_before_the_end_of_the_turn() {
    let chat = VoiceChat::new(SpeechFake::start().await).await;
    let answers = chat.home.workspace().join("answers");
    let stuck = "speak:after:1:hang";
    let mut daemon = DaemonProcess::spawn(chat.home.command(&["run"]).env(FAIL_POINT, stuck));
    daemon.wait_until_ready();
    chat.speak();
    until("the recording", async || recordings(&answers) == 1).await;
    daemon.kill();
    with_timeout("the end of the poll", chat.platform.wait_for_no_poll()).await;

    let daemon = chat.home.daemon();
    let is_voice = |message: &SentMessage| message.file.is_some();
    let sent =
        with_timeout("the voice message", chat.platform.wait_for(|sent| sent.iter().any(is_voice)))
            .await;
    let files: Vec<_> = sent.iter().filter(|message| is_voice(message)).map(file).collect();
    assert_eq!(files, [("voice", &opus()[..])]);
    assert_eq!(usage(&chat.home), (1, 0.021));
    stops_well(daemon).await;
    assert_eq!((chat.spoken().len(), chat.model.requests().len()), (1, 2));
    assert_eq!(chat.platform.look(|sent| sent.iter().filter(|one| is_voice(one)).count()), 1);
    assert_eq!(recordings(&answers), 0, "the platform has a copy");
}
