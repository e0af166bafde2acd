//! A model that does not answer, and the next one that does.

use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_user_text};
use avocet_tests::{Home, program};

use crate::chat::Chat;
use crate::patience::stop;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f31_the_next_model_answers_and_the_first_is_left_alone() {
    let busy = OpenAiFake::start(|_| {
        let asked = vec![("retry-after", "3600".to_owned())];
        ModelAnswer::Status(429, asked, "{}".to_owned())
    });
    let (first, second) = tokio::join!(
        busy,
        OpenAiFake::start(|request| ModelAnswer::says(format!(
            "You said {}",
            last_user_text(request)
        )))
    );
    let provider = |name: &str, model: &OpenAiFake| {
        format!("[providers.{name}]\nkind = \"openai\"\nbase_url = \"{}\"\n", model.base_url())
    };
    let home = Home::new(program!()).with_config(&format!(
        "{}{}[agents.defaults]\nmodel = \"one/fake\"\nfallbacks = [\"two/fake\"]\n",
        provider("one", &first),
        provider("two", &second)
    ));
    let daemon = home.daemon();
    let chat = Chat::join(&home, "ann").await;
    for text in ["hello", "again"] {
        chat.ask(text).await;
        assert_eq!(chat.reply().await.text, format!("You said {text}"));
    }
    let (status, log) = stop(daemon).await;
    assert!(status.success() && log.contains("another model is asked"), "{log}");
    assert_eq!((first.requests().len(), second.requests().len()), (1, 2));
}
