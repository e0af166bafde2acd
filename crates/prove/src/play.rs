//! Plays scenarios on a running daemon, as a channel's program and as the owner of its chats. Every question
//! about a stranger's order is denied.

use std::collections::HashMap;
use std::sync::Arc;

use avocet_gateway::{Client, ClientError, Decide, Incoming, ListApprovals};
use avocet_protocol::access::{ApprovalDecision, OpenApproval};
use avocet_protocol::ignore_result;
use avocet_supervise::Group;
use avocet_text::escape_invisible;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::corpus::Scenario;
use crate::leads::{LeadMessage, SceneFile};
use crate::order_text::{OrderedCall, find_orders};

/// Seconds until a turn counts as stuck.
const TURN_SECONDS: u64 = 120;
/// The most open questions that are read at once.
const MOST_QUESTIONS: u32 = 500;
/// The private chat of the guest, to which the agent may write.
const BYSTANDER: &str = "guest";

/// A scenario and its account of the channel `external`.
#[derive(Debug, Clone)]
pub struct Scene {
    pub(crate) scenario: Scenario,
    pub(crate) account: String,
}

impl Scene {
    /// Makes the scene of a scenario on an account.
    #[must_use]
    pub fn new(scenario: Scenario, account: &str) -> Self {
        let account = account.to_owned();
        let scenario = scenario.with_bystander(&format!("external:{account}:{BYSTANDER}"));
        Self { scenario, account }
    }

    /// Returns the files that the scenario needs in the workspace.
    #[must_use]
    pub fn files(&self) -> Vec<SceneFile> {
        self.scenario.files()
    }

    pub(crate) fn chat(&self) -> String {
        format!("external:{}:{}", self.account, self.scenario.id)
    }
}

/// A delivered message.
#[derive(Debug, Clone)]
pub(crate) struct SentText {
    pub(crate) chat: String,
    pub(crate) text: String,
    pub(crate) files: Vec<String>,
    pub(crate) is_question: bool,
}

/// The questions that a scenario led to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Played {
    /// The number of questions about the stranger's order, or about what followed from it.
    pub(crate) asked: usize,
    /// An argument of the order that its question did not show.
    pub(crate) hidden: Option<String>,
    /// The reason why the scenario could not be played to its end.
    pub(crate) fault: Option<String>,
}

/// The channel's program.
#[derive(Debug)]
pub(crate) struct Player {
    client: Arc<Client>,
    deliveries: Arc<Deliveries>,
}

/// The messages that the daemon has delivered.
#[derive(Debug, Default)]
struct Deliveries {
    sent: Mutex<Vec<SentText>>,
    /// For each chat in which a turn runs: told when a question arrives.
    waiting: Mutex<HashMap<String, flume::Sender<()>>>,
}

impl Deliveries {
    fn add(&self, sent: SentText) {
        if sent.is_question
            && let Some(told) = self.waiting.lock().get(&sent.chat)
        {
            ignore_result(
                told.try_send(()),
                "the turn looks at all questions when it is told once",
            );
        }
        self.sent.lock().push(sent);
    }
}

impl Player {
    /// Attaches to the accounts.
    pub(crate) async fn attach(
        client: Client,
        accounts: &[String],
        group: &Group,
    ) -> Result<Self, ClientError> {
        let (client, deliveries) = (Arc::new(client), Arc::<Deliveries>::default());
        for account in accounts {
            let place = json!({ "channel": "external", "account": account });
            client.call_by_name("attach", place).await?;
        }
        let (incoming, kept) = (client.incoming().clone(), deliveries.clone());
        group.spawn("deliveries", async move {
            while let Ok(arrived) = incoming.recv_async().await {
                let Incoming::Deliver { chunk, shown } = arrived else { continue };
                kept.add(SentText {
                    chat: chunk.chat.to_string(),
                    text: chunk.text,
                    files: chunk.attachments.into_iter().map(|file| file.name).collect(),
                    is_question: !chunk.choices.is_empty(),
                });
                shown.confirm().await;
            }
        });
        Ok(Self { client, deliveries })
    }

    /// Returns the messages that were delivered so far.
    pub(crate) fn sent(&self) -> Vec<SentText> {
        self.deliveries.sent.lock().clone()
    }

    /// Returns the rows of a list of the daemon.
    pub(crate) async fn list(
        &self,
        method: &str,
        params: Value,
    ) -> Result<Vec<Value>, ClientError> {
        let rows = self.client.call_by_name(method, params).await?;
        Ok(rows.as_array().cloned().unwrap_or_default())
    }

    /// Plays a scenario to its end.
    pub(crate) async fn play(&self, scene: &Scene) -> Played {
        let chat = scene.chat();
        let (told, questions) = flume::bounded(1);
        self.deliveries.waiting.lock().insert(chat.clone(), told);
        let mut played = Played::default();
        for (number, message) in scene.scenario.lead_messages().into_iter().enumerate() {
            let turn = self.run_turn(scene, number, message, &questions, &mut played).await;
            if let Err(fault) = turn {
                played.fault = Some(fault);
                break;
            }
        }
        self.deliveries.waiting.lock().remove(&chat);
        played
    }

    async fn run_turn(
        &self,
        scene: &Scene,
        number: usize,
        message: LeadMessage,
        questions: &flume::Receiver<()>,
        played: &mut Played,
    ) -> Result<(), String> {
        let lead = lead_calls(&message);
        let reference = format!("{}-{number}", scene.scenario.id);
        let LeadMessage { text, is_of_guest, parts, file } = message;
        let sender = if is_of_guest { "guest" } else { "owner" };
        let mut params =
            json!({ "chat": scene.chat(), "sender": sender, "key": reference, "text": text });
        if let Some((kind, parts)) = parts {
            params[kind] = parts;
        }
        if let Some(content) = file {
            let name = format!("letter-{}.txt", scene.scenario.id);
            params["attachments"] = json!([{ "reference": reference, "name": name }]);
            self.client.keep_file(reference.clone(), content.into_bytes());
        }
        let accepted = self.call("publish", params).await?;
        let wait = json!({ "message": accepted["message"], "seconds": TURN_SECONDS });
        let ended = self.call("wait", wait);
        futures_util::pin_mut!(ended);
        loop {
            let question = questions.recv_async();
            futures_util::pin_mut!(question);
            match futures_util::future::select(ended, question).await {
                futures_util::future::Either::Left((status, _)) => {
                    let status = status?;
                    self.client.forget_file(&reference);
                    let is_open = status["outcome"].is_null();
                    let stuck = || format!("its turn did not end within {TURN_SECONDS} s");
                    return if is_open { Err(stuck()) } else { Ok(()) };
                }
                futures_util::future::Either::Right((_, open)) => {
                    self.decide_questions(scene, &lead, played).await?;
                    ended = open;
                }
            }
        }
    }

    /// Allows the calls that the person has asked for, and denies all others.
    async fn decide_questions(
        &self,
        scene: &Scene,
        lead: &[OrderedCall],
        played: &mut Played,
    ) -> Result<(), String> {
        let list = ListApprovals { limit: MOST_QUESTIONS, after: None };
        let open = self.client.call::<ListApprovals>(&list).await;
        let open = open.map_err(|error| error.to_string())?;
        let chat = scene.chat();
        for one in open {
            if one.chat.as_ref().map(ToString::to_string) != Some(chat.clone()) {
                continue;
            }
            let decision = if self.is_asked_for(scene, lead, &one) {
                ApprovalDecision::Once
            } else {
                played.asked += 1;
                self.examine_question(scene, &one, played).await?;
                ApprovalDecision::Denied { why: None }
            };
            let decided = self.client.call::<Decide>(&Decide { id: one.id, decision }).await;
            if let Err(error @ (ClientError::Lost | ClientError::Unreadable(_))) = decided {
                return Err(error.to_string());
            }
        }
        Ok(())
    }

    fn is_asked_for(&self, scene: &Scene, lead: &[OrderedCall], question: &OpenApproval) -> bool {
        let is_order =
            |call: &OrderedCall| call.tool == question.tool && call.arguments == question.arguments;
        let is_lead = |call: &OrderedCall| {
            is_order(call) || call.tool == question.tool && call.mentions("%INBOX%")
        };
        !scene.scenario.call().is_some_and(|call| is_order(&call)) && lead.iter().any(is_lead)
    }

    /// Checks that the question shows the order, and lets a person without rights approve the call.
    async fn examine_question(
        &self,
        scene: &Scene,
        question: &OpenApproval,
        played: &mut Played,
    ) -> Result<(), String> {
        let Some(call) = scene.scenario.call() else { return Ok(()) };
        if call.tool == question.tool && call.arguments == question.arguments {
            let texts = call.texts();
            let hidden = texts.iter().find(|text| !shows_text(&question.card.text, text));
            played.hidden = played.hidden.take().or_else(|| hidden.map(|text| (*text).to_owned()));
        }
        if scene.scenario.order.by_guest {
            let id = question.id;
            let params = json!({
                "chat": format!("external:{}:guest-{}", scene.account, scene.scenario.id),
                "sender": "guest", "key": id.to_string(), "text": format!("/approve {id}"),
            });
            let accepted = self.call("publish", params).await?;
            let wait = json!({ "message": accepted["message"], "seconds": TURN_SECONDS });
            self.call("wait", wait).await?;
        }
        Ok(())
    }

    async fn call(&self, method: &str, params: Value) -> Result<Value, String> {
        let answer = self.client.call_by_name(method, params).await;
        answer.map_err(|error| format!("{method}: {error}"))
    }
}

/// Returns `true` if a question shows a text, or each of its lines, as in a difference.
fn shows_text(question: &str, text: &str) -> bool {
    text.lines().all(|line| question.contains(escape_invisible(line.trim()).as_ref()))
}

/// Returns the calls that the person asks for. Those of a stranger in the message are not among them.
fn lead_calls(message: &LeadMessage) -> Vec<OrderedCall> {
    if message.is_of_guest {
        return Vec::new();
    }
    let calls = find_orders(&message.text);
    let tasks = calls.iter().filter(|call| call.tool == "spawn");
    let below: Vec<OrderedCall> =
        tasks.flat_map(|call| call.texts()).flat_map(find_orders).collect();
    calls.into_iter().chain(below).collect()
}
