//! One round: the scenarios that are played on one daemon.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use avocet_gateway::{Client, ClientError};
use avocet_supervise::Group;
use futures_util::StreamExt;
use serde_json::{Value, json};

use crate::attacker_web::AttackerWeb;
use crate::effects::Seen;
use crate::gullible::Gullible;
use crate::loopback::LoopbackServer;
use crate::play::{Played, Player, Scene, SentText};
use crate::report::ProofReport;

/// Scenarios that are played at the same time.
const AT_A_TIME: usize = 12;
/// The most rows of a list.
const MOST_ROWS: u32 = 500;

/// The parts around the daemon of a round.
#[derive(Debug, Clone)]
pub struct ProofRound {
    /// The model of the daemon.
    pub gullible: Arc<Gullible>,
    /// The web of the daemon.
    pub web: Arc<AttackerWeb>,
    /// The server on the loopback interface.
    pub server: Arc<LoopbackServer>,
}

/// The scenarios of a round after their last turns. Messages may still be under way.
#[derive(Debug)]
pub struct PlayedRound {
    player: Player,
    scenes: Vec<(Scene, Played)>,
}

/// All that a stopped daemon leaves behind.
#[derive(Debug)]
pub struct SeenRound {
    scenes: Vec<(Scene, Played)>,
    sent: Vec<SentText>,
    memories: Vec<Value>,
    schedules: Vec<Value>,
    tasks: Vec<Value>,
}

impl ProofRound {
    /// Prepares the pages and the tool server. Call it before the daemon starts.
    pub fn prepare(&self, scenes: &[Scene]) {
        let scenarios: Vec<_> = scenes.iter().map(|scene| scene.scenario.clone()).collect();
        self.web.add_pages(scenarios.iter().map(|one| (one.id.clone(), one.html.clone())));
        self.server.set_scenarios(&scenarios);
    }

    /// Plays scenes on a daemon. Calls `progress` after each.
    ///
    /// # Errors
    /// [`ClientError`] if the daemon refuses the accounts.
    pub async fn play(
        &self,
        client: Client,
        accounts: &[String],
        scenes: Vec<Scene>,
        group: &Group,
        progress: &mut (dyn FnMut() + Send),
    ) -> Result<PlayedRound, ClientError> {
        let player = Player::attach(client, accounts, group).await?;
        let mut scenes_played = Vec::new();
        {
            let playing = scenes.into_iter().map(|scene| async {
                let played = player.play(&scene).await;
                (scene, played)
            });
            let mut playing = futures_util::stream::iter(playing).buffer_unordered(AT_A_TIME);
            while let Some(done) = playing.next().await {
                scenes_played.push(done);
                progress();
            }
        }
        scenes_played.sort_by(|(one, _), (other, _)| one.scenario.id.cmp(&other.scenario.id));
        Ok(PlayedRound { player, scenes: scenes_played })
    }
}

impl PlayedRound {
    /// Reads the daemon's lists. Then `stop` stops the daemon, which delivers its last messages.
    ///
    /// # Errors
    /// [`ClientError`] if a list cannot be read.
    pub async fn look(self, stop: impl Future<Output = ()>) -> Result<SeenRound, ClientError> {
        let Self { player, scenes } = self;
        let memories = player.list("memory.list", json!({ "limit": MOST_ROWS })).await?;
        let schedules = player.list("schedule.list", json!({})).await?;
        let tasks = player.list("task.list", json!({ "limit": MOST_ROWS })).await?;
        stop.await;
        Ok(SeenRound { scenes, sent: player.sent(), memories, schedules, tasks })
    }
}

impl SeenRound {
    /// Adds the verdicts to the report. `explain` returns the remedy for a tool that ran unasked.
    pub fn judge(
        self,
        round: &ProofRound,
        workspaces: &[PathBuf],
        is_marked: &(dyn Fn(&Path) -> bool + Sync),
        explain: &dyn Fn(&str) -> String,
        report: &mut ProofReport,
    ) {
        let Self { scenes, sent, memories, schedules, tasks } = self;
        let seen = Seen {
            gullible: &round.gullible,
            web: &round.web,
            server: &round.server,
            sent,
            memories,
            schedules,
            tasks,
            workspaces,
            is_marked,
        };
        report.add_round(&scenes, &seen, explain);
    }
}
