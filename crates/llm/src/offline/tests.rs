//! Checks the tool calls and answers for commands.

use avocet_protocol::model::{Arguments, SentCall, ToolCall};
use avocet_testkit::ManualClock;
use parking_lot::Mutex;
use serde_json::{Map, json};

use super::*;

fn tool(name: &str, properties: &Value, required: &[&str]) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        aliases: Vec::new(),
        group: String::new(),
        description: String::new(),
        parameters: json!({ "type": "object", "properties": properties, "required": required }),
    }
}

fn tools() -> Arc<[ToolSpec]> {
    let (text, number, flag) =
        (json!({"type": "string"}), json!({"type": "integer"}), json!({"type": "boolean"}));
    let read = json!({"path": text, "start_line": number, "end_line": number});
    let edit = json!({"path": text, "find": text, "replace": text, "replace_all": flag});
    Arc::new([
        tool("edit_file", &edit, &["path", "find", "replace"]),
        tool("list_directory", &json!({"path": text}), &[]),
        tool("memory_search", &json!({"limit": number, "query": text}), &["query"]),
        tool("memory_write", &json!({"text": text}), &["text"]),
        tool("read_file", &read, &["path"]),
        tool("write_file", &json!({"path": text, "content": text}), &["path", "content"]),
    ])
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "it is written where it is passed")]
fn calls(text: &str, name: &str, arguments: Value) {
    let arguments = Arguments::parse(&arguments.to_string());
    let call = ToolCall { name: name.to_owned(), arguments };
    assert_eq!(OfflineCommand::parse_command(text, &tools()), OfflineCommand::Call(call), "{text}");
}

#[test]
fn offline_command_parses_tool_calls() {
    calls("read_file README.md", "read_file", json!({"path": "README.md"}));
    calls(
        "read_file README.md --start_line 3 --end_line 9",
        "read_file",
        json!({"path": "README.md", "start_line": 3, "end_line": 9}),
    );
    calls(
        "read_file --start_line 3 a b.txt",
        "read_file",
        json!({"path": "a b.txt", "start_line": 3}),
    );
    calls("read_file \"a b.txt\"", "read_file", json!({"path": "a b.txt"}));
    calls("read_file", "read_file", json!({}));
    calls("list_directory", "list_directory", json!({}));
    calls("list_directory src", "list_directory", json!({"path": "src"}));
    calls("memory_search key --limit 3", "memory_search", json!({"query": "key", "limit": 3}));
    calls(
        "write_file a.txt Bob's  two\nlines",
        "write_file",
        json!({"path": "a.txt", "content": "Bob's  two\nlines"}),
    );
    calls("write_file a.txt 17", "write_file", json!({"path": "a.txt", "content": "17"}));
    calls(
        "edit_file x.rs 'let a' \"let b\" --replace_all",
        "edit_file",
        json!({"path": "x.rs", "find": "let a", "replace": "let b", "replace_all": true}),
    );
    calls(
        r#"read_file {"path": "x", "start_line": 2}"#,
        "read_file",
        json!({"path": "x", "start_line": 2}),
    );
}

#[test]
fn offline_command_parses_memory_phrases() {
    calls(
        "remember the key is under the mat",
        "memory_write",
        json!({"text": "the key is under the mat"}),
    );
    calls("What do you know about the KEY?", "memory_search", json!({"query": "the KEY"}));
    calls("what do you remember about key", "memory_search", json!({"query": "key"}));
}

#[test]
fn offline_command_parses_reminders() {
    let add = |key: &str, time: &str, text: &str| json!({"action": "add", key: time, "text": text});
    calls("remind me in 2m to stretch", "schedule", add("in", "2m", "stretch"));
    calls("Remind me in 1h 30m to Go to bed", "schedule", add("in", "1h 30m", "Go to bed"));
    calls("remind me at 08:00 to get up", "schedule", add("at", "08:00", "get up"));
}

#[tokio::test]
async fn offline_does_the_task_of_a_scheduled_run() {
    let run = "[Scheduled task s3, due Monday (UTC). Answer.]\nread_file a.md";
    let asked = ask(&Arc::default(), vec![user(run)]).await;
    assert_eq!(asked.reply.calls[0].name, "read_file");
}

#[test]
fn offline_command_is_unknown_for_any_other_text() {
    for text in
        ["", "hello", "read_files x", "remember", "count to zero", "count to 0", "count to 1001"]
    {
        assert_eq!(
            OfflineCommand::parse_command(text, &tools()),
            OfflineCommand::Unknown,
            "{text}"
        );
    }
    assert_eq!(OfflineCommand::parse_command(" Help ", &tools()), OfflineCommand::Help);
    assert_eq!(OfflineCommand::parse_command("count to 20", &tools()), OfflineCommand::Count(20));
}

struct OfflineAnswer {
    reply: ModelReply,
    shown: String,
}

async fn ask(clock: &Arc<ManualClock>, messages: Vec<Message>) -> OfflineAnswer {
    let shown = Mutex::new(String::new());
    let deltas = |delta: Delta<'_>| match delta {
        Delta::Text(text) => shown.lock().push_str(text),
        Delta::Thought(_) | Delta::Retry(_) | Delta::Restart | Delta::Lost(_) => {
            panic!("nothing is taken back")
        }
    };
    let images = Default::default();
    let request = ModelRequest {
        messages: messages.into(),
        tools: tools(),
        images,
        ..ModelRequest::default()
    };
    let reply = OfflineModel::new(clock.clone()).complete(&request, &deltas).await.unwrap();
    OfflineAnswer { reply, shown: shown.into_inner() }
}

fn user(text: &str) -> Message {
    Message::user(text)
}

#[tokio::test]
async fn offline_streams_its_whole_answer() {
    for text in ["hello", "help"] {
        let asked = ask(&Arc::default(), vec![user(text)]).await;
        assert_eq!(asked.shown, asked.reply.text);
        assert_eq!(asked.reply.calls, []);
    }
}

#[tokio::test]
async fn offline_answers_describe_its_limits() {
    let unknown = ask(&Arc::default(), vec![user("what is the meaning of life?")]).await;
    insta::assert_snapshot!("unknown", unknown.reply.text);
    // A row that a terminal wraps cannot be pasted.
    let (_, table) = unknown.reply.text.split_once("```toml").unwrap();
    assert!(table.lines().all(|line| line.len() < 60), "{table}");
    let help = ask(&Arc::default(), vec![user("help")]).await;
    insta::assert_snapshot!("help", help.reply.text);
}

#[tokio::test]
async fn offline_reports_results_in_plain_text() {
    let table = [
        (json!("     1\thello").to_string(), "\"     1\\thello\""),
        ("plain text".to_owned(), "plain text"),
        (r#"{"error":"file not found: x"}"#.to_owned(), "That did not work: file not found: x"),
        (r#"["one","two"]"#.to_owned(), "- one\n- two"),
        ("[]".to_owned(), "(nothing)"),
        (
            r#"[{"name":"src","type":"directory"},{"name":"x","size":5,"type":"file"}]"#.to_owned(),
            "- name: src, type: directory\n- name: x, size: 5, type: file",
        ),
    ];
    for (result, text) in table {
        let name = "tool".to_owned();
        let call = SentCall { id: "1".to_owned(), name, arguments: Map::new() };
        let messages = vec![
            user("go"),
            Message::assistant("", vec![call]),
            Message::ToolResult { call: "1".to_owned(), ok: true, result },
        ];
        let asked = ask(&Arc::default(), messages).await;
        assert_eq!(asked.reply.text, text);
    }
}

#[tokio::test]
async fn offline_begins_the_task_of_a_job_behind_its_branch() {
    let (name, arguments) = (JOB_BRANCH.to_owned(), Map::new());
    let call = SentCall { id: "1".to_owned(), name, arguments };
    let result = r#"{"branch":"avocet/job-1"}"#.to_owned();
    let messages = vec![
        user("help"),
        Message::assistant("", vec![call]),
        Message::ToolResult { call: "1".to_owned(), ok: true, result },
    ];
    let alone = ask(&Arc::default(), vec![user("help")]).await.reply.text;
    assert_eq!(ask(&Arc::default(), messages).await.reply.text, alone);
}

#[tokio::test]
async fn offline_count_streams_one_number_at_a_time() {
    let clock = Arc::new(ManualClock::default());
    let (asked, ()) = tokio::join!(ask(&clock, vec![user("count to 3")]), async {
        for _ in 0..3 {
            clock.sleeper(BEAT).await;
            clock.advance(BEAT);
        }
    });
    assert_eq!((asked.shown.as_str(), asked.reply.text.as_str()), ("1, 2, 3.", "1, 2, 3."));
}
