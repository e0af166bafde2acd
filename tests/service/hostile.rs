//! Tests of hostile platforms, row by row: each fault is reported once in a visible place, the
//! process continues, other people are answered meanwhile, and every accepted message gets an
//! outcome.

mod discord;
mod telegram;

use avocet_testkit::discord::GatewayFault;
use avocet_testkit::telegram::TelegramFake;
use serde_json::json;

use crate::chat::AttachedChat;
use crate::model::{asked, held};
use crate::patience::{logged, stop};
use crate::rows::{
    Discord, HELD, TOKEN, TestedPlatform, check, home, is_answered, is_settled, parrot, status,
    told, trouble,
};

/// The size of a file that the bot does not fetch.
const LARGE: u64 = 100 * 1024 * 1024;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_telegram_is_reported_once_and_stops_nothing() {
    for row in telegram::rows() {
        check(&TelegramFake::start(TOKEN).await, row).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_discord_is_reported_once_and_stops_nothing() {
    for row in discord::rows() {
        check(&Discord::start().await, row).await;
    }
}

/// The time at which a token becomes invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenFails {
    BeforeTheStart,
    /// While a person waits for an answer.
    InFlight,
}

/// An invalid token on a platform.
struct TokenRow<P> {
    name: &'static str,
    fails: TokenFails,
    breaks: fn(&P),
    mends: fn(&P),
    /// Words of the one line in the log, and of the status.
    says: &'static [&'static str],
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn discord_token_that_is_refused_stops_only_its_channel() {
    let row = |name, fails, breaks| TokenRow {
        name,
        fails,
        breaks,
        mends: |platform: &Discord| platform.fake.reinstate(),
        says: &["does not know the token of [channels.discord]", "Reset Token"],
    };
    let revoke: fn(&Discord) = |platform| platform.fake.revoke();
    let refuse: fn(&Discord) =
        |platform| platform.fake.inject_gateway(1, GatewayFault::Close(4004));
    let rows = [
        row("a wrong token", TokenFails::BeforeTheStart, revoke),
        row("a token that only the gateway does not take", TokenFails::BeforeTheStart, refuse),
        row("a token that is revoked in flight", TokenFails::InFlight, revoke),
    ];
    for row in rows {
        check_token(&Discord::start().await, &row).await;
    }
}

async fn check_token<P: TestedPlatform>(platform: &P, row: &TokenRow<P>) {
    eprintln!("{}", row.name);
    let permits = held();
    let model = parrot(&permits).await;
    let home = home(platform, &model);
    if row.fails == TokenFails::BeforeTheStart {
        (row.breaks)(platform);
    }
    let mut daemon = home.daemon();
    if row.fails == TokenFails::InFlight {
        platform.ask(HELD);
        asked(&model, 1).await;
        (row.breaks)(platform);
    }
    logged(&mut daemon, "Discord refuses the bot", 1).await;
    permits.add_permits(1);
    // The other channel still works.
    let terminal = AttachedChat::join(&home, "ann").await;
    terminal.ask("Are you there?").await;
    assert_eq!(terminal.reply().await.text, "Are you there?");
    let shown = home.run(&["status"]).out;
    assert!(shown.contains("down: "), "{shown}");
    assert!(row.says.iter().all(|words| shown.contains(words)), "{shown}");
    assert_eq!((daemon.ended(), &status(&home)["pid"]), (None, &json!(daemon.pid())));
    let (ended, log) = stop(daemon).await;
    assert!(ended.success() && !log.contains("secret"), "{log}");
    // The log also has the delivery that waits for the new token.
    let mut trouble = trouble(&log);
    trouble.retain(|line| !line.contains("delivery failed; retrying"));
    let [line] = &trouble[..] else { panic!("{trouble:#?}") };
    assert!(row.says.iter().all(|words| line.contains(words)), "{line}");

    (row.mends)(platform);
    let daemon = home.daemon();
    is_answered(platform, "After.").await;
    is_settled(&home).await;
    if row.fails == TokenFails::InFlight {
        told(platform, HELD).await;
    }
    let expected: &[&str] = match row.fails {
        TokenFails::BeforeTheStart => &["After."],
        TokenFails::InFlight => &[HELD, "After."],
    };
    assert_eq!(platform.told(), expected);
    assert!(stop(daemon).await.0.success());
}

/// The step of a row that changes nothing.
fn nothing<P>(_: &P) {}
