//! Rules of the model chosen for a session.

use avocet_protocol::access::PermissionMode;
use avocet_protocol::chat::SessionId;
use avocet_protocol::model::{Effort, VoiceMode};
use avocet_protocol::session::SessionSetting;
use avocet_protocol::store::{CommandAction, CommandEffect, CommandReply};

use super::Backend;
use super::waits::spawn;
use super::world::{World, session, taken};

const CHOSEN: &str = "local/qwen3";

async fn act(world: &World<'_>, text: &str, action: CommandAction) {
    let command = world.command(&session("a"), text).await;
    let reply = CommandReply::default();
    let effect = world.ports.inbox.settle_command(command, &action, &reply).await.unwrap();
    assert!(matches!(effect, CommandEffect::Done | CommandEffect::Nothing), "{effect:?}");
}

async fn choose(world: &World<'_>, text: &str, model: Option<&str>) {
    act(world, text, CommandAction::Choose(SessionSetting::Model(model.map(str::to_owned)))).await;
}

/// Returns the model in the status of a session.
async fn named(world: &World<'_>, session: &SessionId) -> Option<String> {
    world.ports.query.session_status(session).await.unwrap().model
}

/// Returns the model of the next turn.
async fn claimed(world: &World<'_>, session: &SessionId) -> Option<String> {
    let claimed = taken(world.claim(session).await);
    world.reply(claimed.turn.id, "ok").await;
    claimed.model
}

/// A chosen model stays until the next choice, through `/new` and restarts.
pub async fn set_model_applies_until_the_next_choice(backend: &impl Backend) {
    let world = World::new(backend).await;
    let (a, b) = (session("a"), session("b"));
    assert_eq!(named(&world, &a).await, None, "it has never been used");
    choose(&world, "/model local/qwen3", Some(CHOSEN)).await;
    act(&world, "/new", CommandAction::Forget).await;
    let world = world.restart().await;
    world.say(&a, "1").await;
    world.say(&b, "2").await;
    assert_eq!(named(&world, &a).await.as_deref(), Some(CHOSEN));
    assert_eq!(claimed(&world, &a).await.as_deref(), Some(CHOSEN));
    assert_eq!(claimed(&world, &b).await, None, "it is that session's alone");

    choose(&world, "/model default", None).await;
    world.say(&a, "3").await;
    assert_eq!(named(&world, &a).await, None);
    assert_eq!(claimed(&world, &a).await, None);
}

/// A chosen effort stays until the next choice, through `/new` and restarts, and applies to
/// children.
pub async fn set_effort_applies_until_the_next_choice(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let effort = |effort| CommandAction::Choose(SessionSetting::Effort(effort));
    act(&world, "/think high", effort(Some(Effort::High))).await;
    act(&world, "/new", CommandAction::Forget).await;
    let world = world.restart().await;
    world.say(&a, "0").await;
    let claimed = taken(world.claim(&a).await);
    assert_eq!(claimed.effort, Some(Effort::High));
    world.reply(claimed.turn.id, "ok").await;
    let (_, _, child) = spawn(&world).await;
    act(&world, "/think default", effort(None)).await;
    let effort = async |session| world.ports.query.session_status(session).await.unwrap().effort;
    assert_eq!(effort(&a).await, None);
    assert_eq!(effort(&child.session).await, Some(Effort::High));
    assert_eq!(effort(&session("b")).await, None, "it has never been used");
}

/// A chosen mode stays until the next choice, through `/new` and restarts. The lineage of a child has
/// the mode of each conversation.
pub async fn set_permission_mode_applies_until_the_next_choice(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let choose = |mode| CommandAction::Choose(SessionSetting::Permissions(mode));
    act(&world, "/mode read", choose(PermissionMode::Read)).await;
    act(&world, "/new", CommandAction::Forget).await;
    let world = world.restart().await;
    world.say(&a, "0").await;
    let claimed = taken(world.claim(&a).await);
    assert_eq!(claimed.lineage[0].permission_mode, PermissionMode::Read);
    world.reply(claimed.turn.id, "ok").await;
    let (_, _, child) = spawn(&world).await;
    act(&world, "/mode ask", choose(PermissionMode::Ask)).await;
    let lineage = world.ports.turns.lineage(child.id).await.unwrap();
    let modes: Vec<_> = lineage.iter().map(|turn| turn.permission_mode).collect();
    assert_eq!(modes, [PermissionMode::Default, PermissionMode::Ask]);
    act(&world, "/mode default", choose(PermissionMode::Default)).await;
    let mode =
        async |session| world.ports.query.session_status(session).await.unwrap().permission_mode;
    assert_eq!(mode(&a).await, PermissionMode::Default);
    assert_eq!(mode(&session("b")).await, PermissionMode::Default, "it has never been used");
}

/// A setting can be chosen without a command, also for a session without messages.
pub async fn choose_setting_applies_to_a_new_session(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    let choose = async |setting| world.ports.inbox.choose_setting(&a, &setting).await.unwrap();
    choose(SessionSetting::Effort(Some(Effort::Low))).await;
    choose(SessionSetting::Model(Some(CHOSEN.to_owned()))).await;
    let status = world.ports.query.session_status(&a).await.unwrap();
    assert_eq!((status.model.as_deref(), status.effort), (Some(CHOSEN), Some(Effort::Low)));
    choose(SessionSetting::Model(None)).await;
    world.say(&a, "1").await;
    let claimed = taken(world.claim(&a).await);
    assert_eq!((claimed.model, claimed.effort), (None, Some(Effort::Low)));
}

/// Chosen spoken answers stay until the next choice, through `/new` and restarts.
pub async fn set_voice_applies_until_the_next_choice(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a = session("a");
    act(&world, "/voice on", CommandAction::SetVoice(VoiceMode::On)).await;
    act(&world, "/new", CommandAction::Forget).await;
    let world = world.restart().await;
    let voice = async |session| world.ports.query.session_status(session).await.unwrap().voice;
    assert_eq!(voice(&a).await, Some(VoiceMode::On));
    act(&world, "/voice off", CommandAction::SetVoice(VoiceMode::Off)).await;
    assert_eq!(voice(&a).await, Some(VoiceMode::Off));
    assert_eq!(voice(&session("b")).await, None, "it has never been used");
}

/// A child's session keeps the model that its parent's session had at the spawn.
pub async fn spawn_gives_a_child_the_model_of_its_parent(backend: &impl Backend) {
    let world = World::new(backend).await;
    choose(&world, "/model local/qwen3", Some(CHOSEN)).await;
    let (_, _, child) = spawn(&world).await;
    choose(&world, "/model default", None).await;
    assert_eq!(named(&world, &child.session).await.as_deref(), Some(CHOSEN));
}
