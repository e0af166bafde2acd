//! Fake tools, which count their runs.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::access::{Asker, Grant, LeastTrust, PermissionMode, Role, Trust};
use avocet_protocol::chat::{ChatKind, Choice, Content, Planned, SessionId};
use avocet_protocol::ids::{CallId, ToolName, TurnId};
use avocet_protocol::model::{Arguments, ToolCall};
use avocet_protocol::store::MemoryScope;
use avocet_protocol::tool::{
    ChildMode, Description, Evidence, HeldForCall, LogWrite, NewChild, Place, PreparedCall,
    ToolClass, ToolContext, ToolError, ToolOutcome, ToolOutput, ToolSpec, Toolbox, Verdict,
    WaitKind, WaitRequest,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;

/// Returns a context for an owner's call in a private chat of the terminal, without untrusted
/// content.
#[must_use]
pub fn tool_context() -> ToolContext {
    ToolContext {
        call: CallId { turn: TurnId(1), step: 0, ordinal: 0 },
        session: SessionId::parse("terminal:local:a").unwrap(),
        chat: None,
        cancel: CancellationToken::new(),
        role: Role::Owner,
        trust: Trust::Full,
        place: private_place(),
        asker: Some(Asker {
            address: "terminal:local:a".parse().unwrap(),
            chat: ChatKind::Private,
            person: "terminal:local:u1".parse().unwrap(),
            session: SessionId::parse("terminal:local:a").unwrap(),
            linked: None,
        }),
        recalled: [].into(),
        grants: [].into(),
        mode: PermissionMode::Default,
        as_text: false,
        seen: Arc::default(),
        read: LeastTrust::default(),
        skills: Vec::new(),
        rules: [].into(),
        skills_above: [].into(),
        bits: None,
    }
}

/// Returns a private chat of the terminal.
#[must_use]
pub fn private_place() -> Place {
    Place {
        channel: Some("terminal".parse().unwrap()),
        chat: ChatKind::Private,
        is_editor: false,
        within: Vec::new(),
    }
}

/// Time limit of the waits in a [`FakeToolbox`].
pub const WAIT: Duration = Duration::from_hours(1);

/// A toolbox with these tools:
///
/// | name | class | behaviour |
/// |---|---|---|
/// | `echo` | pure, parallel | returns its arguments |
/// | `large` | pure, parallel | returns 100,000 bytes |
/// | `together` | pure, parallel | returns when two calls of it run |
/// | `break` | pure | fails |
/// | `panic` | pure | panics |
/// | `hang` | pure | never ends |
/// | `note` | in the log | remembers `remember` for everyone |
/// | `say` | in the log | sends its `text` to the chat, or to the chat `chat` |
/// | `ask` | in the log | waits for an answer to `What colour?`; its button `Blue` sends `blue` |
/// | `wonder` | in the log, parallel | the same as `ask` |
/// | `spawn` | in the log | waits for a child that gets its `prompt`, `label` and `agent`; with `background`, does not wait |
/// | `write` | verifiable | returns its arguments |
/// | `post` | effect | returns its arguments; needs an approval if the call was written as text |
/// | `dangerous` | effect | needs an approval |
/// | `change` | effect | changes a file; a person reviews the change before the answer |
/// | `keys` | pure | is for owners |
/// | `page` | pure, parallel | returns its `text` as untrusted content |
/// | `misread` | pure | reads untrusted content and fails; with `early`, before it runs |
/// | `careful` | effect | needs an approval unless all content so far is the owner's |
/// | `job_branch` | pure | returns its `branch`, begun at `main`; fails for `dirty`, returns no branch for `nowhere` |
/// | `job_commits` | pure | returns one commit |
/// | `job_pull_request` | effect | needs an approval |
///
/// In the mode `read`, calls that are not pure are refused, and in the mode `ask` they need an
/// approval, except for `ask`, `spawn` and `wonder`.
#[derive(Debug)]
pub struct FakeToolbox {
    runs: Mutex<HashMap<String, u32>>,
    offered: Mutex<Vec<Role>>,
    specs: Mutex<Arc<[ToolSpec]>>,
    verdict: Verdict,
    post_hangs: bool,
    together: Barrier,
    /// `true` while a change waits for its review.
    has_changes: AtomicBool,
    /// The ends of reviews: `keep`, `trust` or `undo`.
    reviewed: Mutex<Vec<&'static str>>,
}

impl Default for FakeToolbox {
    fn default() -> Self {
        Self::verifying(Verdict::Unknown)
    }
}

impl FakeToolbox {
    /// Returns a toolbox with this verdict on an interrupted `write`.
    #[must_use]
    pub fn verifying(verdict: Verdict) -> Self {
        let (runs, offered, together) = (Mutex::default(), Mutex::default(), Barrier::new(2));
        let specs = Mutex::new([].into());
        let (has_changes, reviewed) = (AtomicBool::default(), Mutex::default());
        let post_hangs = false;
        Self { runs, offered, specs, verdict, post_hangs, together, has_changes, reviewed }
    }

    /// Returns a toolbox whose `post` takes effect but never returns.
    #[must_use]
    pub fn hanging_post() -> Self {
        Self { post_hangs: true, ..Self::default() }
    }

    /// Offers tools with these names to the model.
    pub fn offer(&self, names: &[&str]) {
        let spec = |name: &&str| ToolSpec {
            name: (*name).to_owned(),
            aliases: Vec::new(),
            group: String::new(),
            description: String::new(),
            parameters: json!({"type": "object"}),
        };
        *self.specs.lock() = names.iter().map(spec).collect();
    }

    /// Offers these tools to the model.
    pub fn offer_specs(&self, specs: Arc<[ToolSpec]>) {
        *self.specs.lock() = specs;
    }

    /// Returns the number of runs of a tool.
    #[must_use]
    pub fn runs(&self, name: &str) -> u32 {
        self.runs.lock().get(name).copied().unwrap_or_default()
    }

    /// Returns the ends of reviews so far: `keep`, `trust` or `undo`.
    #[must_use]
    pub fn reviewed(&self) -> Vec<&'static str> {
        self.reviewed.lock().clone()
    }

    fn end_review(&self, how: &'static str) {
        if self.has_changes.swap(false, Ordering::Relaxed) {
            self.reviewed.lock().push(how);
        }
    }

    /// Returns the roles for which tools were listed, one for each list.
    #[must_use]
    pub fn offered(&self) -> Vec<Role> {
        self.offered.lock().clone()
    }
}

#[async_trait]
impl Toolbox for FakeToolbox {
    fn specs(&self, role: Role, _place: &Place) -> Arc<[ToolSpec]> {
        self.offered.lock().push(role);
        self.specs.lock().clone()
    }

    async fn prepare(
        &self,
        call: &ToolCall,
        allowed: Option<&str>,
        context: &ToolContext,
    ) -> Result<PreparedCall, ToolError> {
        refuse_guests(call, context)?;
        let (class, parallel) = match call.name.as_str() {
            "echo" | "large" | "together" => (ToolClass::Pure, true),
            "misread" if call.arguments.to_object().contains_key("early") => {
                return misread(context);
            }
            "break" | "panic" | "hang" | "keys" | "misread" | "job_branch" | "job_commits" => {
                (ToolClass::Pure, false)
            }
            "note" | "say" | "ask" | "spawn" => (ToolClass::InLog, false),
            "wonder" => (ToolClass::InLog, true),
            "write" => (ToolClass::Verifiable, false),
            "page" => (ToolClass::Pure, true),
            "post" | "dangerous" | "careful" | "change" | "job_pull_request" => {
                (ToolClass::Effect, false)
            }
            name => return Err(ToolError::NotFound(name.to_owned())),
        };
        let has_effect =
            class != ToolClass::Pure && !["ask", "spawn", "wonder"].contains(&call.name.as_str());
        if has_effect && context.mode == PermissionMode::Read {
            return Err(ToolError::PermissionDenied("the mode is read".to_owned()));
        }
        if let Arguments::Malformed(text) = &call.arguments {
            return Err(ToolError::InvalidArgs(format!("not an object: {text}")));
        }
        let subject = "file.txt".to_owned();
        let evidence = Evidence { subject, before: None, after: "x".to_owned() };
        let evidence = (class == ToolClass::Verifiable).then_some(evidence);
        let approval = wait(WaitKind::Approval, "May I?", Vec::new());
        let grant = Grant { tool: ToolName::parse(&call.name).unwrap(), scope: String::new() };
        let asks = match call.name.as_str() {
            "dangerous" | "job_pull_request" => !context.grants.contains(&grant),
            "careful" => context.trust < Trust::Full,
            "post" => context.as_text,
            _ => false,
        };
        let asks = asks || has_effect && context.mode == PermissionMode::Ask;
        let shown = Some(format!("{call:?}"));
        let approval = WaitRequest { grant: Some(grant), shown, ..approval };
        let approval = (asks && !approval.is_allowed(allowed)).then_some(approval);
        let trust = if call.name == "page" { Trust::Low } else { Trust::Full };
        let output = call.arguments.to_object().get("output").and_then(Value::as_u64);
        let output = output.map_or(Description::MOST_OUTPUT, |bytes| bytes.try_into().unwrap());
        let held = HeldForCall::default();
        Ok(PreparedCall { class, parallel, evidence, trust, output, approval, held })
    }

    async fn execute(
        &self,
        call: &ToolCall,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        refuse_guests(call, context)?;
        *self.runs.lock().entry(call.name.clone()).or_default() += 1;
        let arguments = call.arguments.to_object();
        let text = |name: &str| arguments[name].as_str().unwrap().to_owned();
        let noted = |write| {
            let value = json!("noted");
            Ok(ToolOutcome::Finished(ToolOutput::with_writes(value, vec![write])))
        };
        match call.name.as_str() {
            "break" if arguments.contains_key("long") => {
                Err(ToolError::ExecutionFailed("é".repeat(50_000)))
            }
            "break" => Err(ToolError::ExecutionFailed("it \"broke\"\n".to_owned())),
            "misread" => misread(context),
            "panic" => panic!("a bug in the tool"),
            "hang" => std::future::pending().await,
            "post" if self.post_hangs => std::future::pending().await,
            "page" => Ok(json!(text("text")).into()),
            "change" => {
                self.has_changes.store(true, Ordering::Relaxed);
                Ok(json!("changed").into())
            }
            "job_branch" => match text("branch").as_str() {
                "dirty" => Err(ToolError::ExecutionFailed("there are changes".to_owned())),
                "nowhere" => Ok(json!({ "branch": null, "note": "no repository" }).into()),
                branch => {
                    Ok(json!({ "branch": branch, "from": "main", "base": "b1", "note": "" }).into())
                }
            },
            "job_commits" => {
                let commits = [json!({ "commit": "c1", "subject": "add tests" })];
                Ok(json!({ "commits": commits, "uncommitted": 0 }).into())
            }
            "large" => Ok(json!("x".repeat(100_000)).into()),
            "together" => {
                self.together.wait().await;
                Ok(json!("together").into())
            }
            "note" => noted(LogWrite::Remember {
                scope: MemoryScope::Everyone,
                text: "remember".to_owned(),
            }),
            "say" => noted(LogWrite::Message(Planned {
                address: match arguments.get("chat") {
                    None => context.chat.clone().unwrap(),
                    Some(chat) => chat.as_str().unwrap().parse().unwrap(),
                },
                chunks: vec![Content::text(text("text"))],
            })),
            "ask" | "wonder" => {
                let mut question = wait(WaitKind::Answer, "What colour?", Vec::new());
                let buttons = question.prompt.iter_mut().map(|prompt| &mut prompt.choices);
                buttons.for_each(|choices| choices.push(Choice::new("Blue", "blue")));
                Ok(ToolOutcome::Waiting(question))
            }
            "spawn" => {
                let given = |name: &str| arguments.contains_key(name).then(|| text(name));
                let (label, agent) = (given("label"), given("agent"));
                let child = NewChild { label, agent, ..NewChild::awaited_child(text("prompt")) };
                if arguments.contains_key("background") {
                    return noted(LogWrite::Spawn(NewChild {
                        mode: ChildMode::Background,
                        ..child
                    }));
                }
                let writes = vec![LogWrite::Spawn(child)];
                Ok(ToolOutcome::Waiting(wait(WaitKind::Child, "", writes)))
            }
            _ => Ok(Value::Object(arguments).into()),
        }
    }

    /// Withholds an answer with a secret if the turn has read untrusted content.
    fn hold(&self, text: &str, context: &ToolContext) -> Option<WaitRequest> {
        let holds = context.trust == Trust::Low && text.contains("SECRET");
        let asked = || wait(WaitKind::Approval, "May I say that?", Vec::new());
        holds.then(|| WaitRequest { shown: Some(text.to_owned()), ..asked() })
    }

    fn has_changes(&self, _session: &SessionId) -> bool {
        self.has_changes.load(Ordering::Relaxed)
    }

    async fn review_changes(&self, _text: &str, _context: &ToolContext) -> Option<WaitRequest> {
        let asked = wait(WaitKind::Approval, "Shall I keep these changes?", Vec::new());
        let changed = self.has_changes.load(Ordering::Relaxed);
        let (grant, shown) = (Some(review_grant()), Some("the changes".to_owned()));
        changed.then_some(WaitRequest { grant, shown, ..asked })
    }

    async fn keep_changes(&self, context: &ToolContext) {
        let is_trusted = context.grants.contains(&review_grant());
        self.end_review(if is_trusted { "trust" } else { "keep" });
    }

    async fn undo_changes(&self, _context: &ToolContext) {
        self.end_review("undo");
    }

    async fn interrupted(&self, call: &ToolCall, _: &ToolContext) -> Content {
        let choices = ["/retry {wait}", "/skip {wait}"].map(|says| Choice::new("", says)).to_vec();
        let name = &call.name;
        let text =
            format!("I was interrupted while running `{name}`: /retry {{wait}} or /skip {{wait}}?");
        Content { choices, ..Content::text(text) }
    }

    async fn verify(&self, _call: &ToolCall, _evidence: &Evidence) -> Verdict {
        self.verdict.clone()
    }
}

fn misread<T>(context: &ToolContext) -> Result<T, ToolError> {
    context.read.lower_to(Trust::Low);
    Err(ToolError::ExecutionFailed("there stands now: obey".to_owned()))
}

fn refuse_guests(call: &ToolCall, context: &ToolContext) -> Result<(), ToolError> {
    match call.name.as_str() {
        "keys" if context.role < Role::Owner => {
            Err(ToolError::PermissionDenied("keys is for owners".to_owned()))
        }
        _ => Ok(()),
    }
}

fn wait(kind: WaitKind, prompt: &str, writes: Vec<LogWrite>) -> WaitRequest {
    let prompt = (!prompt.is_empty()).then(|| Box::new(Content::text(prompt)));
    WaitRequest {
        kind,
        prompt,
        expires_after: WAIT,
        writes,
        grant: None,
        shown: None,
        remark: None,
    }
}

/// The grant of a person who trusts the changes of `change`.
fn review_grant() -> Grant {
    Grant { tool: ToolName::parse("review_changes").unwrap(), scope: "file.txt".to_owned() }
}
