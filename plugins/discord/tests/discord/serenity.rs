//! serenity's own client, unmodified, at the same fake: it takes it for Discord, so what our gateway is
//! tested against is no invention of ours. And one of the reasons why it is not what we connect with.

use ::serenity::all::{
    ClientBuilder, Context, EventHandler, GatewayIntents, Message as Heard, async_trait,
};
use ::serenity::http::HttpBuilder;

use crate::{ANN, TOKEN, World};

struct Listener(flume::Sender<String>);

#[async_trait]
impl EventHandler for Listener {
    async fn message(&self, _: Context, heard: Heard) {
        self.0.send_async(heard.content).await.unwrap();
    }
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the test runs the client")]
async fn serenitys_own_client_gets_along_with_the_fake_but_resumes_elsewhere() {
    let world = World::new().await;
    let http =
        HttpBuilder::new(TOKEN).proxy(world.platform.base_url()).ratelimiter_disabled(true).build();
    let intents = GatewayIntents::GUILDS | GatewayIntents::DIRECT_MESSAGES;
    let (sender, heard) = flume::bounded(8);
    let listener = ClientBuilder::new_with_http(http, intents).event_handler(Listener(sender));
    let mut client = listener.await.unwrap();
    let running = tokio::spawn(async move { client.start().await });
    world.platform.wait_for_connected().await;
    world.platform.say(world.dm, ANN, "hello");
    assert_eq!(heard.recv_async().await.unwrap(), "hello");

    world.platform.request_reconnect();
    let resumes = world.platform.wait_for_resumes(1).await;
    assert!(resumes[0].taken && !resumes[0].at_resume_url, "{resumes:?}");
    world.platform.say(world.dm, ANN, "again");
    assert_eq!(heard.recv_async().await.unwrap(), "again");
    running.abort();
}
