//! Files between the agent and other programs: channels, and clients that ask.

use std::fs::{self, File};
use std::process::{Child, Command};

use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_results, last_user_text};
use avocet_testkit::socket::SocketClient;
use avocet_tests::{Home, child, program};
use serde_json::{Value, json};

use crate::model::config;
use crate::patience::{stop, until, with_timeout};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/e2e/channel.py");

/// A running channel, which is killed when this is dropped.
pub(crate) struct RunningChannel(Child);

impl RunningChannel {
    /// Starts the program beside the daemon in this home.
    pub(crate) fn start(home: &Home) -> Self {
        let mut python = Command::new("python3");
        python
            .arg(PROGRAM)
            .arg(home.socket())
            .arg("files")
            .args(child::FILES.map(|file| home.path(file)));
        Self(python.spawn().unwrap())
    }
}

impl Drop for RunningChannel {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A model that sends the file that the person names.
fn sends_files(request: &Value) -> ModelAnswer {
    let text = last_user_text(request);
    match (&last_results(request)[..], text.strip_prefix("send ")) {
        ([], Some(file)) => ModelAnswer::call("message", json!({ "files": [file] })),
        _ => ModelAnswer::says("I see."),
    }
}

/// Bytes of a file that is larger than a piece, and whose end is no whole piece.
fn bytes() -> Vec<u8> {
    (0..1_500_000_u32).map(|number| (number % 251) as u8).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_larger_than_a_line_pass_from_and_to_a_program() {
    files_pass(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_larger_than_a_line_pass_from_and_to_a_child() {
    files_pass(true).await;
}

/// A person and the agent send each other a file, on a channel over the socket or as a child.
async fn files_pass(is_child: bool) {
    let model = OpenAiFake::start(sends_files).await;
    let home = Home::new(program!());
    let keys = if is_child { child::keys_of_channel_py(&home) } else { String::new() };
    let channel = format!("[channels.external.files]\nowners = [\"bob\"]\n{keys}");
    let home = home.with_config(&config(&model, &channel));
    let [inbox, outbox] = child::FILES.map(|file| home.path(file));
    fs::create_dir(home.path(child::PLATFORM)).unwrap();
    File::create(&outbox).unwrap();
    fs::write(inbox.with_file_name("photo.raw"), bytes()).unwrap();
    let attachment = json!({"reference": "photo.raw", "name": "photo.raw", "bytes": 1_500_000});
    let messages = [
        json!({"chat": "bob", "sender": "bob", "key": "1", "attachments": [attachment]}),
        json!({"chat": "bob", "sender": "bob", "key": "2", "text": "send report.bin"}),
    ];
    let lines: Vec<String> = messages.iter().map(|message| format!("{message}\n")).collect();
    fs::write(&inbox, lines.concat()).unwrap();
    let daemon = home.daemon();
    fs::write(home.workspace().join("report.bin"), bytes()).unwrap();
    let channel = (!is_child).then(|| RunningChannel::start(&home));

    let answers = async || fs::read_to_string(&outbox).unwrap().matches("I see.").count();
    until("both answers", async || answers().await == 2).await;
    let received = home.workspace().join("inbox/m1-0.raw");
    assert!(fs::read(&received).is_ok_and(|read| read == bytes()), "{received:?}");
    assert!(fs::read(outbox.with_file_name("sent-report.bin")).unwrap() == bytes());
    let sent = fs::read_to_string(&outbox).unwrap();
    assert_eq!(sent.matches(r#""files": ["report.bin"]"#).count(), 1, "{sent}");
    drop(channel);
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ask_passes_a_file_of_an_attached_client_to_the_agent() {
    let model = OpenAiFake::start(sends_files).await;
    let home = Home::new(program!()).with_config(&config(&model, ""));
    let daemon = home.daemon();
    let client = SocketClient::connect(&home.socket()).await.unwrap();
    let chat = "terminal:local:me";
    client.call("attach", json!({ "chat": chat })).await.unwrap();
    let file = json!({ "reference": "f1", "name": "notes.txt", "bytes": 5 });
    let ask = json!({ "session": chat, "text": "Read this.", "attachments": [file] });
    client.call("ask", ask).await.unwrap();
    let answering = async {
        loop {
            let request = client.incoming.recv_async().await.unwrap();
            match request["method"].as_str().unwrap() {
                "file.read" => {
                    assert_eq!(request["params"]["reference"], "f1");
                    let is_start = request["params"]["offset"] == 0;
                    let data = if is_start { "aGVsbG8=" } else { "" };
                    client.respond_with(&request["id"], json!({ "data": data })).await.unwrap();
                }
                "deliver" => return request["params"]["text"].clone(),
                _ => {}
            }
        }
    };
    assert_eq!(with_timeout("the answer", answering).await, "I see.");
    assert_eq!(fs::read_to_string(home.workspace().join("inbox/m1-0.txt")).unwrap(), "hello");
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
}
