//! Tests of `ask_user` in the real program: a question waits across a restart, and is answered.

use avocet_tests::{Home, program};

use crate::support::{Listener, log_status, printed, stop, until};

const CHAT: &str = "terminal:local:me";

#[tokio::test]
async fn ask_user_takes_the_next_message_as_answer_even_after_a_restart() {
    let home = Home::new(program!());
    let daemon = home.daemon();
    let listener = Listener::attach(&home, CHAT).await;
    let question = r#"ask_user {"question": "Which colour?", "options": ["red", "light blue"]}"#;
    printed(&home, &["ask", "me", question]);
    let asked = listener.hear().await;
    assert_eq!(asked["text"], "Which colour?", "{asked}");
    assert_eq!(asked["choices"][1]["says"], "light blue", "{asked}");
    until("the turn that waits", || (log_status(&home)["waiting"] == 1).then_some(()));
    stop(daemon);

    let daemon = home.daemon();
    assert_eq!(log_status(&home)["waiting"], 1);
    let listener = Listener::attach(&home, CHAT).await;
    printed(&home, &["ask", "me", "light blue"]);
    let answer = listener.hear_text().await;
    assert!(answer.contains("light blue"), "{answer}");
    assert_eq!(log_status(&home)["waiting"], 0);
    stop(daemon);
}
