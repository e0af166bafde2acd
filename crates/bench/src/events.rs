//! The measurements of subscribers: their speed, their latency and their memory.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use avocet_testkit::socket::SocketClient;
use futures_util::future::try_join_all;
use serde_json::{Value, json};

use crate::cli::DurabilitySetting;
use crate::clock::{now, soon};
use crate::daemon::HomeSpec;
use crate::figures::FigureLog;
use crate::homes::Bench;
use crate::latencies::Latencies;
use crate::rows;
use crate::units::millis;

/// The subscribers of the second measurement of each kind.
const MANY: usize = 50;
/// Events that each subscriber reads from the log.
const EVENTS: usize = 4000;
/// Messages whose latency is measured.
const MESSAGES: usize = 200;
/// A chat without a client, so that a message to it has one event.
const CHAT: &str = "terminal:local:none";

impl Bench<'_> {
    /// Measures one subscriber, and many.
    pub(crate) async fn events(&self, figures: &mut FigureLog) -> Result<()> {
        let home = self.home(&HomeSpec::new(DurabilitySetting::Process))?;
        let daemon = home.start().await?;
        let socket = home.socket();
        let sender = SocketClient::connect(&socket).await.context("the socket")?;
        let number = self.sizes.scaled(EVENTS);
        for _ in 0..number {
            send(&sender).await?;
        }
        for (subscribers, speed) in [(1, rows::EVENTS_SPEED), (MANY, rows::EVENTS_SPEED_MANY)] {
            let reading = (0..subscribers).map(async |_| {
                let subscriber = EventReader::open(&socket, 0).await?;
                subscriber.read(number).await
            });
            let began = now();
            try_join_all(reading).await?;
            figures.add(speed, (number * subscribers) as f64 / began.elapsed().as_secs_f64());
        }
        daemon.settle().await?;
        let before = daemon.process().memory()?.anonymous;
        let mut readers = vec![EventReader::open(&socket, i64::MAX).await?];
        let latency = self.latency(&sender, &readers[0]).await?;
        figures.add(rows::EVENTS_LATENCY, millis(latency.percentile(50)));
        for _ in 1..MANY {
            readers.push(EventReader::open(&socket, i64::MAX).await?);
        }
        daemon.settle().await?;
        let each = daemon.process().memory()?.anonymous.saturating_sub(before) / MANY as u64;
        figures.add(rows::EVENTS_MEMORY, each as f64 / 1e3);
        daemon.stop().await
    }

    /// Measures the time from the call that adds an event to its arrival.
    async fn latency(&self, sender: &SocketClient, reader: &EventReader) -> Result<Latencies> {
        let mut took = Vec::new();
        for _ in 0..self.sizes.scaled(MESSAGES) {
            let began = now();
            send(sender).await?;
            took.push(reader.next().await?.duration_since(began));
        }
        Ok(Latencies::new(took))
    }
}

async fn send(client: &SocketClient) -> Result<()> {
    let sent = soon("send", client.call("send", json!({ "chat": CHAT, "text": "hello" }))).await?;
    sent.map(drop).map_err(|error| anyhow!("send: {error:?}"))
}

/// A subscriber.
struct EventReader(SocketClient);

impl EventReader {
    /// Subscribes behind an event; behind the newest if there are fewer.
    async fn open(socket: &Path, from: i64) -> Result<Self> {
        let client = SocketClient::connect(socket).await.context("the socket")?;
        let params = if from == i64::MAX { json!({}) } else { json!({ "from": from }) };
        let subscribed = soon("subscribe", client.call("subscribe", params)).await?;
        subscribed.map_err(|error| anyhow!("subscribe: {error:?}"))?;
        Ok(Self(client))
    }

    /// Reads and confirms batches until there were this many events.
    async fn read(&self, events: usize) -> Result<()> {
        let mut read = 0;
        while read < events {
            read += self.batch().await?.0;
        }
        Ok(())
    }

    /// Returns the arrival of the next batch.
    async fn next(&self) -> Result<Instant> {
        Ok(self.batch().await?.1)
    }

    /// Confirms the next batch. Returns the number of its events, and its arrival.
    async fn batch(&self) -> Result<(usize, Instant)> {
        let batch: Value = soon("events", self.0.incoming.recv_async()).await??;
        let arrived = now();
        self.0.respond(&batch["id"]).await.map_err(|error| anyhow!("events: {error:?}"))?;
        let events = batch["params"]["events"].as_array().map_or(0, Vec::len);
        Ok((events, arrived))
    }
}
