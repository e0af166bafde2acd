//! `avocet init` without a terminal: all answers are options.

use std::fs;

use avocet_testkit::openai::KEY;

use super::{
    FirstRun, NO_SERVERS, NOWHERE, TOKEN, WRONG_TOKEN, assert_fails_after_output,
    assert_nothing_written,
};
use crate::support::{run, run_with};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn init_without_a_terminal_takes_everything_from_options() {
    let run_of = FirstRun::new().await;
    let home = &run_of.home;
    fs::write(home.path("key"), format!("{KEY}\n")).unwrap();
    fs::write(home.path("token"), TOKEN).unwrap();
    let bot = ["--telegram-token-file", "token", "--owner", "7"];
    let arguments = [&run_of.arguments()[..], &["--api-key-file", "key"], &bot].concat();
    let ran = run(home, &arguments);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    let written = run_of.text();
    let [model, telegram] = &run_of.addresses;
    let written = written.replace(model, "MODEL").replace(telegram, "TELEGRAM");
    insta::assert_snapshot!(written);
    assert_eq!(run(home, &["config", "check"]).code, Some(0));

    // A file that `--config` names may be missing.
    let elsewhere = [&arguments[..], &["--config", "new/avocet.toml"]].concat();
    assert_eq!(run(home, &elsewhere).code, Some(0));
    assert_eq!(fs::read_to_string(home.path("new/avocet.toml")).unwrap(), run_of.text());

    // A second run adds, and never replaces.
    let before = run_of.text();
    assert_fails_after_output(&run(home, &arguments), 78, "it already has [channels.telegram]");
    assert_eq!(run_of.text(), before);
    let key = [&run_of.arguments()[..], &["--api-key-file", "-"]].concat();
    let ran = run_with(home, &key, KEY.as_bytes());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let after = run_of.text();
    assert!(after.contains("[providers.openai2]"), "{after}");
    assert!(before.lines().all(|line| after.contains(line)), "{after}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn init_without_a_terminal_fails_with_a_sentence_and_writes_nothing() {
    let run_of = FirstRun::new().await;
    let home = &run_of.home;
    fs::write(home.path("key"), KEY).unwrap();
    fs::write(home.path("wrong"), "sk-wrong-1234567890").unwrap();
    fs::write(home.path("empty"), "").unwrap();
    fs::write(home.path("token"), WRONG_TOKEN).unwrap();
    let [model, telegram] = &run_of.addresses;
    let nowhere = format!("{NOWHERE}/v1");
    let table: [(&[&str], i32, &str); 10] = [
        (&["--local-ports", NO_SERVERS], 2, "there is nothing to set up"),
        (
            &["--local-ports", NO_SERVERS, "--discord-token-file", "key"],
            2,
            "key does not contain a token of Discord (three parts with dots); nothing was sent",
        ),
        (&["--local-ports", NO_SERVERS, "--service"], 2, "there is nothing to set up"),
        (&["--api-key-file", "none"], 2, "cannot read none: "),
        (&["--api-key-file", "empty"], 2, "empty is empty"),
        (&["--base-url", model, "--api-key-file", "wrong"], 1, "refuses the key"),
        (&["--base-url", &nowhere, "--api-key-file", "key"], 75, "check the network"),
        (
            &["--base-url", model, "--api-key-file", "key", "--model", "gpt-6"],
            2,
            "openai has no model \"gpt-6\"; did you mean gpt-5?",
        ),
        (
            &["--provider", "opnai", "--api-key-file", "key"],
            2,
            "there is no provider \"opnai\"; did you mean openai?",
        ),
        (
            &[
                "--telegram-token-file",
                "token",
                "--telegram-api-url",
                telegram,
                "--provider",
                "openai",
                "--base-url",
                model,
                "--api-key-file",
                "key",
            ],
            1,
            "Telegram does not know the token",
        ),
    ];
    for (more, code, word) in table {
        let ran = run(home, &[&["init"], more].concat());
        assert_fails_after_output(&ran, code, word);
        assert_nothing_written(home);
    }
}
