//! Tests of features that only Discord has, from end to end: responses to slash commands, threads,
//! roles and reactions.

use std::time::Duration;

use avocet_testkit::discord::{DiscordFake, Route, UserMessage};
use avocet_testkit::openai::{ModelAnswer, OpenAiFake};
use avocet_tests::{DaemonProcess, Home, now, program};
use serde_json::json;

use crate::model::config;
use crate::patience::{stop, with_timeout};

const TOKEN: &str = "discord.secret";
const ANN: u64 = 7;
const BOB: u64 = 8;
const MEMBERS: u64 = 5001;

/// A bot in a channel of a server.
struct ServerChat {
    platform: DiscordFake,
    channel: u64,
    home: Home,
}

impl ServerChat {
    async fn new(model: &OpenAiFake, keys: &str) -> Self {
        let platform = DiscordFake::start(TOKEN).await;
        platform.limit_rates(false);
        platform.set_now(now());
        platform.dm(ANN);
        let guild = platform.guild("Birds");
        platform.grant(guild, BOB, MEMBERS);
        let channel = platform.channel(guild, "general");
        let discord = format!(
            "[channels.discord]\ntoken = \"${{TOKEN}}\"\napi_url = \"{}\"\nowners = [{ANN}]\n{keys}\n\
             [channels.discord.servers.\"{guild}\"]\nallow_roles = [{MEMBERS}]\n",
            platform.base_url()
        );
        let home = Home::new(program!()).with_config(&config(model, &discord)).with("TOKEN", TOKEN);
        Self { platform, channel, home }
    }

    /// Starts the daemon, and waits until it is connected.
    async fn daemon(&self) -> DaemonProcess {
        let daemon = self.home.daemon();
        with_timeout("the commands", self.platform.wait_for_calls(Route::SetCommands, 1)).await;
        daemon
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn discord_answers_a_slash_command_in_its_place() {
    let model = OpenAiFake::start(|_| ModelAnswer::says("never")).await;
    let chat = ServerChat::new(&model, "").await;
    let platform = &chat.platform;
    let daemon = chat.daemon().await;
    let asked =
        [(ANN, chat.channel, true), (BOB, chat.channel, true), (ANN, platform.dm(ANN), false)];
    for (number, (user, channel, is_ephemeral)) in (1..).zip(asked) {
        platform.slash(user, channel, "id", &json!([]));
        let sent = with_timeout("the answer", platform.wait_for_sent(number)).await;
        let answer = sent.last().unwrap();
        assert!(answer.text.contains(&format!("You are {user}")), "{answer:?}");
        assert_eq!((answer.channel, answer.is_ephemeral()), (channel, is_ephemeral));
    }
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    // On a busy machine an answer may come as an edit of its acknowledgement.
    assert_eq!([Route::Respond, Route::CreateMessage].map(|route| platform.calls(route)), [3, 0]);
    assert_eq!(platform.refusals(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn discord_answers_a_member_of_a_role_in_a_thread_with_the_earlier_messages() {
    let model = OpenAiFake::start(|_| ModelAnswer::says("# At nine")).await;
    let keys = "threads = \"auto\"\nthread_mention = false\nreaction_received = \"👀\"\n\
                reaction_done = \"✅\"";
    let chat = ServerChat::new(&model, keys).await;
    let (platform, channel) = (&chat.platform, chat.channel);
    let daemon = chat.daemon().await;
    platform.say(channel, ANN, "the boat leaves at nine");
    let task = platform.post(UserMessage::new(channel, BOB, "when does the boat leave?").mention());
    let answer = with_timeout("the answer", platform.wait_for_sent(1)).await.remove(0);
    assert_eq!((answer.channel, answer.reply_to), (task, None));
    with_timeout("the reaction", platform.wait_for_reactions(task, &["✅"])).await;
    let request = model.requests()[0].to_string();
    assert!(request.contains("from earlier messages to others"), "{request}");
    assert!(request.contains("the boat leaves at nine"), "{request}");
    platform.advance(Duration::from_secs(1));
    let more = platform.say(task, BOB, "thanks");
    with_timeout("the second answer", platform.wait_for_sent(2)).await;
    with_timeout("the second reaction", platform.wait_for_reactions(more, &["✅"])).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    let texts: Vec<String> = platform.sent().into_iter().map(|sent| sent.text).collect();
    assert_eq!(texts, ["# At nine"; 2]);
    assert_eq!(platform.refusals(), []);
}
