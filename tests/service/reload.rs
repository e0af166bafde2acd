//! Tests of changes to the configuration of a running daemon: each is in use at once, waits for a
//! restart, or is refused.

use std::fs;

use avocet_testkit::openai::{KEY, ModelAnswer, OpenAiFake};
use avocet_testkit::telegram::TelegramFake;
use avocet_tests::{DaemonProcess, Home, now, program};
use rustix::process::Signal;
use serde_json::json;

use crate::chat::{AttachedChat, connect};
use crate::model::{asked, held, held_back};
use crate::patience::{logged, stop, until, with_timeout};

const PAGE: &str = include_str!("../../docs/src/operate/reload.md");
const TOKEN: &str = "4711:AA-secret";
const OTHER_KEY: &str = "sk-other-0123456789";
const ANN: i64 = 7;

const IN_USE: &str = "changed keys of the configuration are in use";
const WAITING: &str = "changed keys of the configuration need a restart";
const REFUSED: &str = "cannot use the changed configuration";
const UNCHANGED: &str = "the configuration is unchanged";

/// The effect of a change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// The keys are in use at once.
    Live,
    /// The keys wait for a restart.
    Restart,
    /// The whole file is refused, for a reason with this text.
    Refused,
}

impl Effect {
    /// The text in the table of the page.
    fn shown(self) -> &'static str {
        match self {
            Self::Live => "in use at once",
            Self::Restart => "needs a restart",
            Self::Refused => "refused; the last good file stays in use",
        }
    }

    fn logged(self) -> &'static str {
        match self {
            Self::Live => IN_USE,
            Self::Restart => WAITING,
            Self::Refused => REFUSED,
        }
    }
}

/// A change of [`base`].
struct Change {
    /// The description in the table of the page.
    what: &'static str,
    /// A text of the configuration, and its replacement. An empty text means the end of the file.
    edit: (&'static str, &'static str),
    effect: Effect,
    /// The keys in the log, or the reason of the refusal.
    named: &'static str,
}

const fn change(
    what: &'static str,
    edit: (&'static str, &'static str),
    effect: Effect,
    named: &'static str,
) -> Change {
    Change { what, edit, effect, named }
}

use Effect::{Live, Refused, Restart};

const CHANGES: [Change; 39] = [
    change(
        "another model of the default agent",
        ("model = \"fake/one\"", "model = \"fake/three\""),
        Live,
        "agents.defaults.model",
    ),
    change(
        "another fallback",
        ("fallbacks = [\"fake/two\"]", "fallbacks = []"),
        Live,
        "agents.defaults.fallbacks",
    ),
    change(
        "another prompt",
        ("prompt = \"Be brief.\"", "prompt = \"Be kind.\""),
        Live,
        "agents.defaults.prompt",
    ),
    change(
        "a new agent in the workspace of the default agent",
        ("", "[agents.extra]\nmodel = \"fake/two\"\n"),
        Live,
        "agents.extra.model",
    ),
    change(
        "an agent is removed",
        ("[agents.work]\nmodel = \"fake/two\"\n", ""),
        Live,
        "agents.work.model",
    ),
    change(
        "a new agent with a workspace of its own",
        ("", "[agents.extra]\nworkspace = \"~/extra\"\n"),
        Restart,
        "agents.extra.workspace",
    ),
    change(
        "another workspace",
        ("prompt = ", "workspace = \"~/other\"\nprompt = "),
        Restart,
        "agents.defaults.workspace",
    ),
    change(
        "another price of a model",
        ("context = 65_536", "context = 32_768"),
        Live,
        "models.fake/*.context",
    ),
    change(
        "another key of a provider",
        ("\"${FAKE_KEY}\"", "\"${OTHER_KEY}\""),
        Live,
        "providers.fake.api_key",
    ),
    change(
        "a new provider",
        ("", "[providers.more]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\n"),
        Live,
        "providers.more.base_url, providers.more.kind",
    ),
    change("another budget", ("day_usd = 20", "day_usd = 10"), Live, "budgets.day_usd"),
    change(
        "another rule for a tool",
        ("", "[tools.policy]\nweb_fetch = \"ask\"\n"),
        Live,
        "tools.policy.web_fetch",
    ),
    change(
        "a tool for all users",
        ("users = []", "users = [\"list_directory\"]"),
        Live,
        "tools.users",
    ),
    change(
        "another time for approvals",
        ("approval_minutes = 30", "approval_minutes = 5"),
        Live,
        "tools.approval_minutes",
    ),
    change(
        "a directory for file tools",
        ("users = []", "users = []\nread = [\"~/more\"]"),
        Restart,
        "tools.read",
    ),
    change("a new owner", ("owners = [7]", "owners = [7, 8]"), Live, "channels.telegram.owners"),
    change(
        "an owner is removed",
        ("owners = [7]", "owners = []"),
        Live,
        "channels.telegram.owners",
    ),
    change(
        "a person is added to `allow`",
        ("pairing = false", "pairing = false\nallow = [9]"),
        Live,
        "channels.telegram.allow",
    ),
    change(
        "pairing is turned on",
        ("pairing = false", "pairing = true"),
        Live,
        "channels.telegram.pairing",
    ),
    change(
        "another setting of an account, which stops and starts",
        ("pairing = false", "pairing = false\nnumbered = true"),
        Live,
        "channels.telegram.numbered",
    ),
    change(
        "a group in which the bot answers without a mention; its account stops and starts",
        ("pairing = false", "pairing = false\n[channels.telegram.groups.-5]\nmention = false"),
        Live,
        "channels.telegram.groups.-5.mention",
    ),
    change(
        "an account for programs that connect to the socket",
        ("", "[channels.external]\nowners = [\"ann\"]\n"),
        Restart,
        "channels.external.owners",
    ),
    change(
        "another level of the log",
        ("level = \"info\"", "level = \"debug\""),
        Live,
        "log.level",
    ),
    change(
        "another format of the log",
        ("level = \"info\"", "level = \"info\"\nformat = \"json\""),
        Restart,
        "log.format",
    ),
    change(
        "another time to stop",
        ("", "[daemon]\ndrain_seconds = 5\n"),
        Live,
        "daemon.drain_seconds",
    ),
    change(
        "another data directory",
        ("[log]", "data_dir = \"~/data\"\n[log]"),
        Restart,
        "data_dir",
    ),
    change(
        "another socket",
        ("", "[gateway]\nsocket = \"~/avocet.sock\"\n"),
        Restart,
        "gateway.socket",
    ),
    change(
        "the shipped skills are turned off",
        ("", "[skills]\nshipped = false\n"),
        Restart,
        "skills.shipped",
    ),
    change(
        "another limit of the sandbox",
        ("", "[sandbox]\ntimeout_seconds = 5\n"),
        Restart,
        "sandbox.timeout_seconds",
    ),
    change(
        "another queue mode",
        ("", "[sessions]\nqueue_mode = \"collect\"\n"),
        Restart,
        "sessions.queue_mode",
    ),
    change(
        "another limit of consolidation",
        ("", "[memory.consolidation]\nmax_tokens = 900\n"),
        Live,
        "memory.consolidation.max_tokens",
    ),
    change("files of the memory", ("", "[memory]\nmirror = true\n"), Restart, "memory.mirror"),
    change(
        "another rule of the owners",
        ("", "[rules]\neveryone = [\"be kind\"]\n"),
        Live,
        "rules.everyone",
    ),
    change("an unknown key", ("day_usd = 20", "day_usdd = 20"), Refused, "unknown key `day_usdd`"),
    change("a syntax error", ("[log]", "[log"), Refused, "config.toml:1:"),
    change(
        "a value of the wrong type",
        ("day_usd = 20", "day_usd = \"much\""),
        Refused,
        "`budgets.day_usd`",
    ),
    change(
        "a reference without a value",
        ("\"${FAKE_KEY}\"", "\"${NO_SUCH_KEY}\""),
        Refused,
        "the environment variable NO_SUCH_KEY is not set",
    ),
    change(
        "a model of an unknown provider",
        ("model = \"fake/one\"", "model = \"fakee/one\""),
        Refused,
        "there is no provider",
    ),
    change(
        "the name of an unknown tool",
        ("users = []", "users = [\"list_directry\"]"),
        Refused,
        "there is no tool",
    ),
];

fn base(platform: &TelegramFake, model: &OpenAiFake) -> String {
    platform.set_now(now());
    format!(
        "[log]\nlevel = \"info\"\n[models.\"fake/*\"]\ncontext = 65_536\n\
         price = {{ input = 1.0, output = 2.0 }}\n[providers.fake]\nkind = \"openai\"\nbase_url = \"{}\"\napi_key = \"${{FAKE_KEY}}\"\n\
         max_retries = 0\n[agents.defaults]\nmodel = \"fake/one\"\nfallbacks = [\"fake/two\"]\n\
         prompt = \"Be brief.\"\n[agents.work]\nmodel = \"fake/two\"\n[budgets]\nday_usd = 20\n\
         [tools]\nusers = []\napproval_minutes = 30\n[channels.telegram]\ntoken = \"${{TOKEN}}\"\n\
         api_url = \"{}\"\nowners = [7]\npairing = false\n",
        model.base_url(),
        platform.base_url()
    )
}

fn home(config: &str) -> Home {
    let home = Home::new(program!())
        .with_config(config)
        .with("FAKE_KEY", KEY)
        .with("OTHER_KEY", OTHER_KEY)
        .with("TOKEN", TOKEN);
    fs::create_dir(home.path("more")).unwrap();
    home
}

fn write(home: &Home, config: &str) {
    let new = home.path(".config/avocet/new.toml");
    fs::write(&new, config).unwrap();
    fs::rename(new, home.path(".config/avocet/config.toml")).unwrap();
}

/// Replaces the file, asks for a reload, and waits for one more log line with this text.
async fn reload(home: &Home, daemon: &mut DaemonProcess, config: &str, text: &str) {
    let before = daemon.logged(text);
    write(home, config);
    daemon.signal(Signal::HUP);
    logged(daemon, text, before + 1).await;
}

/// Asks the daemon for its warnings. The command `status` needs a good file to find the daemon.
async fn warnings(home: &Home) -> String {
    let status = connect(home).await.call("status", json!({})).await.unwrap();
    status["warnings"].to_string()
}

#[test]
fn reload_page_lists_every_tested_change() {
    let rows = CHANGES.iter().map(|Change { what, effect, .. }| {
        let what = what[..1].to_uppercase() + &what[1..];
        format!("| {what} | {} |\n", effect.shown())
    });
    let table = rows.collect::<String>();
    assert!(PAGE.contains(&table), "docs/src/operate/reload.md needs this table:\n{table}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f29_reload_uses_each_change_at_once_or_says_that_it_waits_or_refuses_it() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(|_| ModelAnswer::says("Hello.")).await;
    let base = base(&platform, &model);
    let home = home(&base);
    let mut daemon = home.daemon();
    for Change { what, edit: (old, new), effect, named } in &CHANGES {
        let changed = match *old {
            "" => format!("{base}{new}"),
            old => base.replacen(old, new, 1),
        };
        assert_ne!(changed, base, "{what}");
        let expected = match effect {
            Live | Restart => format!("keys=\"{named}\""),
            Refused => (*named).to_owned(),
        };
        let before = daemon.logged(&expected);
        reload(&home, &mut daemon, &changed, effect.logged()).await;
        assert_eq!(daemon.logged(&expected), before + 1, "{what}: {expected}");
        let again = if *effect == Live { IN_USE } else { UNCHANGED };
        reload(&home, &mut daemon, &base, again).await;
    }
    assert_eq!(warnings(&home).await, "[]");
    let (status, log) = stop(daemon).await;
    assert!(status.success() && !log.contains(OTHER_KEY) && !log.contains(KEY), "{log}");
    assert_eq!(model.requests().len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reload_keeps_the_model_of_a_running_turn() {
    let platform = TelegramFake::start(TOKEN).await;
    let permits = held();
    let hold = permits.clone();
    let model = OpenAiFake::start(move |request| {
        held_back(&hold, &format!("I am {}.", request["model"].as_str().unwrap()))
    })
    .await;
    let base = base(&platform, &model);
    let home = home(&base);
    let mut daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    chat.ask("who are you?").await;
    asked(&model, 1).await;
    reload(&home, &mut daemon, &base.replace("fake/one", "fake/three"), IN_USE).await;
    permits.add_permits(2);
    assert_eq!(chat.reply().await.text, "I am one.");
    chat.ask("and now?").await;
    assert_eq!(chat.reply().await.text, "I am three.");
    let status = home.run(&["status"]).out;
    assert!(status.contains("fake/three"), "{status}");
    stop(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reload_of_a_removed_account_keeps_its_messages_until_it_is_back() {
    let platform = TelegramFake::start(TOKEN).await;
    let permits = held();
    let hold = permits.clone();
    let model = OpenAiFake::start(move |_| held_back(&hold, "Good morning.")).await;
    let base = base(&platform, &model);
    let without = &base[..base.find("[channels.telegram]").unwrap()];
    let home = home(&base);
    let mut daemon = home.daemon();
    platform.private_text(ANN, "good morning");
    permits.add_permits(1);
    with_timeout("the first answer", platform.wait_for_sent(1)).await;
    with_timeout("the confirmation", platform.wait_for_confirmed()).await;
    reload(&home, &mut daemon, without, IN_USE).await;
    with_timeout("the end of the poll", platform.wait_for_no_poll()).await;
    platform.private_text(ANN, "are you there?");
    reload(&home, &mut daemon, &base, IN_USE).await;
    permits.add_permits(1);
    let sent = with_timeout("the second answer", platform.wait_for_sent(2)).await;
    assert_eq!(sent.len(), 2);
    with_timeout("the confirmation", platform.wait_for_confirmed()).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!((platform.sent().len(), model.requests().len()), (2, 2));
    assert!(platform.refusals().is_empty(), "two polls at once: {:?}", platform.refusals());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reload_of_a_changed_account_answers_each_message_once() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(|_| ModelAnswer::says("Good morning.")).await;
    let base = base(&platform, &model);
    let home = home(&base);
    let mut daemon = home.daemon();
    for round in 1..=4 {
        platform.private_text(ANN, &format!("message {round}"));
        let numbered = format!("{base}numbered = {}\n", round % 2 == 1);
        reload(&home, &mut daemon, &numbered, IN_USE).await;
        with_timeout("the answer", platform.wait_for_sent(round)).await;
    }
    with_timeout("the confirmation", platform.wait_for_confirmed()).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!((platform.sent().len(), model.requests().len()), (4, 4));
    assert!(platform.refusals().is_empty(), "{:?}", platform.refusals());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reload_follows_a_change_of_the_file_and_status_shows_what_waits() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(|_| ModelAnswer::says("Hello.")).await;
    let base = base(&platform, &model);
    let home = home(&base);
    let mut daemon = home.daemon();
    write(
        &home,
        &format!("{}[sessions]\nmax_running = 3\n", base.replace("fake/one", "fake/three")),
    );
    logged(&mut daemon, WAITING, 1).await;
    assert_eq!(daemon.logged(IN_USE), 1);
    let waiting = "need a restart of the daemon: sessions.max_running";
    let shown = warnings(&home).await;
    assert!(shown.contains(waiting), "{shown}");
    write(&home, "[agents.defaults]\nmodell = \"fake/one\"\n");
    logged(&mut daemon, REFUSED, 1).await;
    let shown = warnings(&home).await;
    assert!(shown.contains(waiting) && shown.contains("did you mean `model`?"), "{shown}");
    write(&home, &base);
    until("the end of the warnings", async || warnings(&home).await == "[]").await;
    fs::remove_file(home.path(".config/avocet/config.toml")).unwrap();
    logged(&mut daemon, "there is no such file", 1).await;
    let chat = AttachedChat::join(&home, "ann").await;
    chat.ask("hello").await;
    chat.reply().await;
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
}
