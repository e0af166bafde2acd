//! Tests of `avocet init`, in a terminal and with options, against the fakes of the platforms.

mod options;
mod refused_answers;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use avocet_testkit::discord::DiscordFake;
use avocet_testkit::model_lists::{self, ModelListFake};
use avocet_testkit::openai::{KEY, ModelAnswer, OpenAiFake};
use avocet_testkit::telegram::TelegramFake;
use avocet_tests::{Home, now, program};

use crate::support::{assert_fails, end, run, soon, start};
use crate::terminal::pty::{Terminal, TerminalOptions};

const TOKEN: &str = "4711:AA-secretabcdefghijklmnopqrstuvwxyz";
const WRONG_TOKEN: &str = "12:AA-wrong0123456789abcdefghijklmnopq";
const ANN: i64 = 7;
/// A port on which nothing listens.
const NOWHERE: &str = "http://127.0.0.1:9";
const NO_SERVERS: &str = "9,9,9";
const ASKS_KEY: &str = "API key of your model provider";
const ASKS_DAEMON: &str = "Start the daemon now, in this terminal? [y/n]";
const LAST_LINE: &str = "Test all of it: avocet doctor";
const ASKS_MODEL: &str = "Model (a number, a name, or a part of it; Enter: gpt-5.1):";
const ASKS_TOKEN: &str = "Token of your bot";
const ASKS_OWNER: &str = "Is this you, the owner of the bot? [y/n]";
const INVITES: &str = "write any message to the bot: https://t.me/avocet_bot";

/// The platforms, and an empty home.
struct FirstRun {
    model: OpenAiFake,
    telegram: TelegramFake,
    home: Home,
    addresses: [String; 2],
}

impl FirstRun {
    async fn new() -> Self {
        let says = |_: &_| ModelAnswer::says("Good morning.");
        let model = OpenAiFake::start_listing(&["gpt-5.1", "gpt-5", "whisper-1"], says).await;
        let telegram = TelegramFake::start(TOKEN).await;
        telegram.set_now(now());
        let addresses = [model.base_url(), telegram.base_url()];
        Self { model, telegram, home: Home::new(program!()), addresses }
    }

    fn arguments(&self) -> Vec<&str> {
        let [model, telegram] = &self.addresses;
        vec!["init", "--base-url", model, "--telegram-api-url", telegram]
    }

    fn terminal(&self) -> Terminal {
        open(&self.home, &self.arguments())
    }

    fn text(&self) -> String {
        text(&self.home)
    }
}

fn open(home: &Home, arguments: &[&str]) -> Terminal {
    TerminalOptions::new(home).size(180, 40).with_command(arguments).open()
}

fn text(home: &Home) -> String {
    fs::read_to_string(home.path(".config/avocet/config.toml")).unwrap()
}

/// Waits for a question, and answers it.
#[track_caller]
fn answer(terminal: &mut Terminal, question: &str, answer: &str) {
    terminal.wait_until(question, |shown| {
        shown.trim_end().lines().last().is_some_and(|last| last.contains(question))
    });
    terminal.press(&format!("{answer}\r"));
}

/// Checks that nothing was written, not even a temporary file.
#[track_caller]
fn assert_nothing_written(home: &Home) {
    assert!(!home.path(".config").exists() && !home.data_dir().exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn init_takes_four_answers_from_an_empty_home_to_the_first_answer_on_telegram() {
    let run = FirstRun::new().await;
    let mut terminal = run.terminal();
    let answers = [(ASKS_KEY, KEY), (ASKS_MODEL, ""), (ASKS_TOKEN, TOKEN)];
    for (question, given) in answers {
        answer(&mut terminal, question, given);
    }
    terminal.wait_for(INVITES);
    terminal.wait_for("privacy mode is on: in groups it reads only commands, mentions and replies");
    run.telegram.private_text(ANN, "good morning");
    terminal.wait_for("id 7, wrote \"good morning\".");
    answer(&mut terminal, ASKS_OWNER, "y");
    assert_eq!(answers.len() + 1, 4, "the answers of a person");
    terminal.wait_for("The configuration is in ~/.config/avocet/config.toml.");
    let mode = fs::metadata(run.home.path(".config/avocet/config.toml")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    let shown = String::from_utf8_lossy(&terminal.written).into_owned();
    assert!(!shown.contains(KEY) && !shown.contains(TOKEN), "{shown}");

    // The message of the setup is still unread, and the daemon answers it.
    soon("the end of the poll", run.telegram.wait_for_no_poll()).await;
    answer(&mut terminal, ASKS_DAEMON, "y");
    terminal.wait_for("Write to your bot @avocet_bot on Telegram.");
    terminal.wait_for("The daemon runs here until Ctrl-C.");
    let sent = soon("the answer", run.telegram.wait_for_sent(1)).await;
    assert_eq!((sent[0].chat, sent[0].text.as_str()), (ANN, "Good morning."));
    assert_eq!(run.model.requests()[0]["model"], "gpt-5.1");
    assert_eq!(terminal.leave("\x03"), Some(0));
    assert_eq!((run.telegram.refusals(), run.model.refusals()), (vec![], vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f36_init_names_each_wrong_answer_and_asks_again() {
    let run = FirstRun::new().await;
    let mut terminal = run.terminal();
    let table = [
        (ASKS_KEY, "sk-wrong-1234567890", "; copy the key again."),
        (ASKS_KEY, KEY, "Model (a number"),
        ("Model (a number", "gtp", "There is no model \"gtp\"."),
        ("Model (a number", "1", "The model is openai/gpt-5.\n"),
        (ASKS_TOKEN, WRONG_TOKEN, "get the right one from @BotFather (/mybots) and paste it here."),
        (ASKS_TOKEN, "12:a b", "neither a Telegram token (123456:ABC...) nor a Discord token"),
        (ASKS_TOKEN, TOKEN, INVITES),
    ];
    for (question, given, shown) in table {
        answer(&mut terminal, question, given);
        terminal.wait_for(shown);
    }
    run.telegram.private_text(8, "let me in");
    terminal.wait_for("id 8, wrote \"let me in\".");
    answer(&mut terminal, ASKS_OWNER, "perhaps");
    answer(&mut terminal, ASKS_OWNER, "n");
    run.telegram.private_text(ANN, "good morning");
    terminal.wait_for("id 7, wrote \"good morning\".");
    answer(&mut terminal, ASKS_OWNER, "y");
    answer(&mut terminal, ASKS_DAEMON, "n");
    terminal.wait_for("Start the daemon: avocet run");
    assert_eq!(terminal.leave(""), Some(0));
    assert!(run.text().contains("owners = [7]") && run.text().contains("openai/gpt-5\""));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn init_without_a_network_says_so_and_asks_again() {
    let run = FirstRun::new().await;
    let server = format!("{NOWHERE}/v1");
    let arguments = ["init", "--base-url", &server, "--telegram-api-url", NOWHERE];
    let mut terminal = open(&run.home, &arguments);
    answer(&mut terminal, ASKS_KEY, KEY);
    terminal.wait_for("cannot ask openai at http://127.0.0.1:9/v1 for its models: ");
    terminal.wait_for("check the network");
    answer(&mut terminal, ASKS_KEY, KEY);
    assert_eq!(terminal.leave("\x03"), Some(1));
    assert_nothing_written(&run.home);

    let arguments = ["init", "--base-url", &run.addresses[0], "--telegram-api-url", NOWHERE];
    let mut terminal = open(&run.home, &arguments);
    answer(&mut terminal, ASKS_KEY, KEY);
    answer(&mut terminal, ASKS_MODEL, "");
    answer(&mut terminal, ASKS_TOKEN, TOKEN);
    terminal.wait_for("no connection to the Bot API at 127.0.0.1; check api_url and the network.");
    answer(&mut terminal, "Enter tests the last one again, - for none", "-");
    answer(&mut terminal, ASKS_DAEMON, "n");
    terminal.wait_for(LAST_LINE);
    assert_eq!(terminal.leave(""), Some(0));
    assert!(!run.text().contains("channels"), "{}", run.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f35_init_left_at_any_question_writes_nothing() {
    let run = FirstRun::new().await;
    let answers = [(ASKS_KEY, KEY), (ASKS_MODEL, ""), (ASKS_TOKEN, TOKEN)];
    // The last two places are the wait for the owner, and the question whether it is the owner.
    for place in 0..answers.len() + 2 {
        let mut terminal = run.terminal();
        for (question, given) in answers.iter().take(place) {
            answer(&mut terminal, question, given);
        }
        match place {
            0..3 => terminal.wait_for(answers[place].0),
            3 => terminal.wait_for(INVITES),
            _ => {
                run.telegram.private_text(ANN, "good morning");
                terminal.wait_for(ASKS_OWNER);
            }
        }
        terminal.press("\x03");
        terminal.wait_for("error: left before the end; nothing was written");
        assert_eq!(terminal.leave(""), Some(1), "{place}");
        assert_nothing_written(&run.home);
        soon("the end of the poll", run.telegram.wait_for_no_poll()).await;
    }
    let mut terminal = run.terminal();
    terminal.wait_for(ASKS_KEY);
    terminal.press("\x04");
    terminal.wait_for("error: the input has ended");
    assert_eq!(terminal.leave(""), Some(1));
    assert_nothing_written(&run.home);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn init_with_a_configuration_shows_it_and_adds_a_bot() {
    let run = FirstRun::new().await;
    let before = format!(
        "# mine\n[providers.local]\nkind = \"openai\"\nbase_url = {:?}\n\n[agents.defaults]\n\
         model = \"local/gpt-5\" # keep\n",
        run.addresses[0]
    );
    let home = run.home.with_config(&before);
    let file = home.path(".config/avocet/config.toml");
    assert_fails(&end(start(home.command(&["init", "--yes"]), b"")), 78, &["chmod 600"]);
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    let telegram = ["init", "--telegram-api-url", &run.addresses[1]];
    let mut terminal = open(&home, &telegram);
    terminal.wait_for("config.toml has these providers: local; channels: none.");
    answer(&mut terminal, "Add a provider (p) or a bot (b)? Enter leaves.", "b");
    answer(&mut terminal, ASKS_TOKEN, TOKEN);
    terminal.wait_for(INVITES);
    // The owner is left out.
    answer(&mut terminal, "Waiting for the message; Enter skips this.", "");
    answer(&mut terminal, ASKS_DAEMON, "n");
    terminal.wait_for("avocet pair approve CODE --owner");
    assert_eq!(terminal.leave(""), Some(0));
    let after = text(&home);
    assert!(after.starts_with(&before) && after.contains("[channels.telegram]"), "{after}");

    let mut terminal = open(&home, &telegram);
    answer(&mut terminal, "Add a provider (p) or a bot (b)? Enter leaves.", "");
    terminal.wait_for("Nothing was changed.");
    assert_eq!(terminal.leave(""), Some(0));
    assert_eq!(text(&home), after);
}

#[test]
fn init_begins_with_its_questions_and_wraps_at_words() {
    let home = Home::new(program!());
    let arguments = ["init", "--local-ports", NO_SERVERS];
    let mut terminal = TerminalOptions::new(&home).size(50, 40).with_command(&arguments).open();
    let joined = |shown: &str| shown.replace('\n', " ");
    terminal.wait_until("the head and the question", |shown| {
        let shown = joined(shown);
        shown.starts_with(
            "4 questions: the key of your model provider, the model, your bot, its owner. Each answer is \
             tested. Ctrl-C writes nothing. The answers go into ~/.config/avocet/config.toml. API key",
        ) && shown.ends_with("(it stays invisible; Enter for none):")
    });
    terminal.press("unknown-key\r");
    terminal.wait_for("(11 characters)");
    terminal.wait_until("the next question", |shown| {
        joined(shown).ends_with("mistral, ollama, openai, openrouter, xai; Enter: another key):")
    });
    terminal.press("\x03");
    assert_eq!(terminal.leave(""), Some(1));
}

#[test]
fn f29_init_refuses_a_faulty_configuration_before_the_first_question() {
    let home = Home::new(program!()).with_config("[channels.telegran]\n");
    assert_fails(&run(&home, &["init", "--yes"]), 78, &["config.toml:1:", "telegram"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn init_offers_a_model_server_of_this_machine() {
    let ollama = ModelListFake::start(&["llama3:8b", "qwen3:8b"]).await;
    let port = ollama.url().rsplit(':').next().unwrap().to_owned();
    let ports = format!("{port},9,9");
    let home = Home::new(program!());
    let mut terminal = open(&home, &["init", "--local-ports", &ports]);
    terminal.wait_for(&format!("1  Ollama on this machine, port {port}, 2 models"));
    answer(&mut terminal, "(it stays invisible), or Enter for Ollama:", "");
    answer(&mut terminal, "Enter: llama3:8b", "qwen");
    terminal.wait_for("Testing qwen3:8b with a short question... It may have to be loaded first.");
    answer(&mut terminal, ASKS_TOKEN, "");
    answer(&mut terminal, ASKS_DAEMON, "n");
    terminal.wait_for(LAST_LINE);
    assert_eq!(terminal.leave(""), Some(0));
    let written = text(&home);
    for part in ["[providers.ollama]", "kind = \"ollama\"", "model = \"ollama/qwen3:8b\""] {
        assert!(written.contains(part), "{part:?} is not in {written}");
    }
    let asked = ollama.asked();
    assert_eq!(asked.iter().filter(|asked| *asked == "POST /api/chat").count(), 1, "{asked:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn init_asks_for_the_provider_of_a_key_without_a_known_form() {
    let lists = ModelListFake::start(&["claude-haiku-4-5", "claude-sonnet-4-5"]).await;
    let home = Home::new(program!());
    let url = lists.url();
    fs::write(home.path("key"), model_lists::KEY).unwrap();
    // Without a terminal, the provider has to be given.
    let ran = run(&home, &["init", "--api-key-file", "key"]);
    assert_fails_after_output(&ran, 2, "the key has no known form; give --provider: anthropic");
    let anthropic = ["--provider", "anthropic", "--base-url", &url, "--api-key-file", "key"];
    let ran = run(&home, &[&["init"], &anthropic[..]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(text(&home).contains("model = \"anthropic/claude-sonnet-4-5\""), "{}", text(&home));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn init_of_a_discord_bot_shows_the_invite_link_and_knows_the_owner() {
    let discord = DiscordFake::start("MTIz.secret.token").await;
    let url = discord.base_url();
    let home = Home::new(program!());
    let arguments = ["init", "--discord-api-url", &url, "--local-ports", NO_SERVERS];
    let mut terminal = open(&home, &arguments);
    answer(&mut terminal, "(it stays invisible; Enter for none):", "");
    terminal.wait_for("Without a provider, the model is offline/commands");
    answer(&mut terminal, ASKS_TOKEN, "MTIz.wrong.token");
    terminal.wait_for("Discord does not know the token");
    answer(&mut terminal, ASKS_TOKEN, "MTIz.secret.token");
    let link =
        format!("https://discord.com/oauth2/authorize?client_id={}&scope=bot", discord.bot());
    terminal.wait_for(&link);
    terminal.wait_for("id 1, owns the application.");
    answer(&mut terminal, ASKS_OWNER, "y");
    answer(&mut terminal, ASKS_DAEMON, "n");
    terminal.wait_for("Start the daemon: avocet run");
    assert_eq!(terminal.leave(""), Some(0));
    assert!(text(&home).contains("[channels.discord]") && text(&home).contains("owners = [1]"));
}

/// A home whose user has services, with fakes of systemd's programs. Returns its `PATH`.
fn with_systemd(home: &Home) -> String {
    fs::create_dir_all(home.path("run/systemd")).unwrap();
    fs::create_dir(home.path("bin")).unwrap();
    for (name, line) in [("systemctl", "exit 0"), ("loginctl", "echo yes")] {
        let script = format!("#!/bin/sh\necho {name} \"$@\" >>{}\n{line}\n", calls(home));
        let file = home.path("bin").join(name);
        // A file that a test has open for writing cannot be run by another.
        fs::write(file.with_extension("new"), script).unwrap();
        fs::set_permissions(file.with_extension("new"), PermissionsExt::from_mode(0o755)).unwrap();
        fs::rename(file.with_extension("new"), file).unwrap();
    }
    format!("{}:/usr/bin:/bin", home.path("bin").display())
}

fn calls(home: &Home) -> String {
    home.path("calls").display().to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn init_installs_the_service_after_a_yes_or_with_its_option() {
    const ASKS_SERVICE: &str = "Install the daemon as a service, and start it now? [y/n]";
    let run_of = FirstRun::new().await;
    let home = &run_of.home;
    let path = with_systemd(home);
    let runtime = home.path("run").display().to_string();
    let unit = home.path(".config/systemd/user/avocet.service");
    for (given, is_installed) in [("n", false), ("\x03", false), ("y", true)] {
        let mut terminal = TerminalOptions::new(home)
            .size(180, 40)
            .with_command(&run_of.arguments())
            .with_variable("PATH", &path)
            .with_variable("XDG_RUNTIME_DIR", &runtime)
            .open();
        answer(&mut terminal, ASKS_KEY, KEY);
        answer(&mut terminal, ASKS_MODEL, "");
        answer(&mut terminal, ASKS_TOKEN, "");
        answer(&mut terminal, ASKS_SERVICE, given);
        if given == "n" {
            answer(&mut terminal, ASKS_DAEMON, "n");
        }
        terminal.wait_for(LAST_LINE);
        assert_eq!(terminal.leave(""), Some(0));
        assert_eq!(unit.exists(), is_installed, "{given:?}");
        fs::remove_file(home.path(".config/avocet/config.toml")).unwrap();
    }
    let called = fs::read_to_string(calls(home)).unwrap();
    assert!(called.contains("systemctl --user enable --now avocet.service"), "{called}");

    fs::remove_file(&unit).unwrap();
    fs::write(home.path("key"), KEY).unwrap();
    let option = [&run_of.arguments()[..], &["--api-key-file", "key", "--service"]].concat();
    let mut command = home.command(&option);
    command.env("PATH", &path);
    let ran = end(start(command, b""));
    assert!(ran.code == Some(0) && unit.exists(), "{ran:?}");
}

#[track_caller]
fn assert_fails_after_output(ran: &avocet_tests::ProgramOutput, code: i32, word: &str) {
    assert_eq!(ran.code, Some(code), "{ran:?}");
    assert!(ran.err.starts_with("error: ") && ran.err.contains(word), "{ran:?}");
}
