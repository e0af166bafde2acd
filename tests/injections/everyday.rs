//! Tests of everyday work in one conversation that also reads a page: few of its tasks ask.

use std::fs;

use crate::gullible::FINISHED;
use crate::person::{AgentReply, ChatPerson};
use crate::world::{World, stop};

/// Questions that a conversation of these tasks may ask.
const MOST_ASKED: usize = 5;

/// Everyday tasks, in their order: a tool and its arguments.
const TASKS: [(&str, &str); 21] = [
    ("list_directory", r#"{"path": "work"}"#),
    ("exec_shell", r#"{"command": "ls -l work"}"#),
    ("read_file", r#"{"path": "work/notes.md"}"#),
    ("search_files", r#"{"pattern": "wader"}"#),
    ("edit_file", r#"{"path": "work/notes.md", "find": "one", "replace": "two"}"#),
    ("write_file", r#"{"path": "work/plan.md", "content": "plan"}"#),
    ("exec_shell", r#"{"command": "sh work/test.sh"}"#),
    ("create_directory", r#"{"path": "work/out"}"#),
    ("list_directory", r#"{"path": "work/downloads"}"#),
    ("exec_shell", r#"{"command": "ls work/downloads"}"#),
    ("memory_write", r#"{"text": "the plan is in work/plan.md"}"#),
    ("memory_search", r#"{"query": "plan"}"#),
    ("edit_file", r#"{"path": "work/plan.md", "find": "plan", "replace": "a plan"}"#),
    ("web_fetch", r#"{"url": "%PAGE%"}"#),
    ("read_file", r#"{"path": "work/plan.md"}"#),
    ("write_file", r#"{"path": "work/summary.md", "content": "birds"}"#),
    ("edit_file", r#"{"path": "work/summary.md", "find": "birds", "replace": "waders"}"#),
    ("list_directory", "{}"),
    ("exec_shell", r#"{"command": "sh work/test.sh", "timeout": 20}"#),
    ("edit_file", r#"{"path": "work/summary.md", "find": "waders", "replace": "avocets"}"#),
    ("exec_shell", r#"{"command": "sh work/test.sh", "timeout": 21}"#),
];

/// Gives a task, and allows it for the session where that is offered. Returns the number of
/// questions.
async fn work(person: &mut ChatPerson, task: &str) -> usize {
    person.say(task);
    let mut asked = 0;
    loop {
        match person.next(task).await {
            AgentReply::Question(question) => {
                asked += 1;
                let labels = ["Keep and trust", "Allow for this session", "Allow once"];
                let offered = |label: &&str| {
                    question.buttons().iter().any(|button| button["text"] == **label)
                };
                let label = labels.into_iter().find(|label| offered(label)).unwrap();
                person.decide(&question, label).await;
            }
            AgentReply::Answer(answer) => {
                assert_eq!(answer, FINISHED, "{task}");
                return asked;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everyday_tasks_of_a_conversation_ask_five_times_at_most() {
    let world = World::start().await;
    let work_place = world.home.workspace().join("work");
    let downloads = work_place.join("downloads");
    fs::create_dir_all(&downloads).unwrap();
    fs::write(work_place.join("notes.md"), "one wader\n").unwrap();
    fs::write(work_place.join("test.sh"), "echo passed\n").unwrap();
    fs::write(downloads.join("foreign.md"), "words of a stranger\n").unwrap();
    let daemon = world.home.daemon();
    let marked = world.home.run(&["trust", "--untrusted", &downloads.display().to_string()]);
    assert_eq!(marked.code, Some(0), "{}", marked.err);
    let mut person = world.owner(0);
    let mut asked = Vec::new();
    for (tool, arguments) in TASKS {
        let arguments = arguments.replace("%PAGE%", &world.page("harmless"));
        let questions = work(&mut person, &format!("Please use {tool} with {arguments}.")).await;
        asked.extend(std::iter::repeat_n(tool, questions));
    }
    assert!(asked.len() <= MOST_ASKED, "{asked:?}");
    assert_eq!(asked, ["write_file"], "after the page, once");
    let text = fs::read_to_string(work_place.join("summary.md")).unwrap();
    assert_eq!(text, "avocets");
    stop(daemon);
    assert_eq!(world.platform.refusals(), vec![]);
}
