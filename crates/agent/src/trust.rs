//! Computes the trust level of a request: the lowest of all its parts.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

use avocet_protocol::access::{Roles, Trust};
use avocet_protocol::bus::ProgramRequest;
use avocet_protocol::chat::{Content, Inbound, LoggedInbound};
use avocet_protocol::store::Past;
use avocet_protocol::tool::{Seen, SeenCall};
use avocet_protocol::turn::{CallResult, LoggedCall, Origin, ResultKind, Step, TurnRecord};

use crate::answers;
use crate::block_trust::PastTrust;
use crate::history::result_text;
use crate::images;
use crate::rendered::{BLOCK_TURNS, KeptBlock, RenderedTurns};

/// The past of a session's requests, with its trust and the turns that have calls, which are looked
/// up once until the past changes.
#[derive(Debug)]
pub(crate) struct TrustedPast {
    past: Past,
    /// Has the blocks of the past.
    rendered: RenderedTurns,
    trust: OnceLock<PastTrust>,
    called: OnceLock<Vec<Arc<TurnRecord>>>,
}

impl Deref for TrustedPast {
    type Target = Past;

    fn deref(&self) -> &Past {
        &self.past
    }
}

/// Forgets the trust and the turns with calls.
impl DerefMut for TrustedPast {
    fn deref_mut(&mut self) -> &mut Past {
        self.trust.take();
        self.called.take();
        &mut self.past
    }
}

impl TrustedPast {
    pub(crate) fn new(past: Past, rendered: RenderedTurns) -> Self {
        Self { past, rendered, trust: OnceLock::new(), called: OnceLock::new() }
    }

    /// Returns the lowest trust of the next request of a turn: of the summary, the past turns, the
    /// messages of this turn, and the results of its closed steps. Content that an owner has
    /// declared trusted does not lower it.
    pub(crate) fn of_request(&self, turn: &TurnRecord, roles: &dyn Roles) -> Trust {
        let past = self.trust.get_or_init(|| self.past_trust());
        with_roles(past.trust, &past.senders, roles).min(of_turn(&self.past, turn, roles))
    }

    fn past_trust(&self) -> PastTrust {
        let (blocks, rest) = self.blocks_and_rest();
        let of_blocks = blocks.iter().zip(self.past.turns.chunks_exact(BLOCK_TURNS));
        let of_blocks = of_blocks.map(|(block, turns)| {
            block.trust.get_or_compute(self.past.trusted_to, || {
                let lasts = !turns.iter().any(|turn| quotes_agent(turn));
                (trust_of_turns(&self.past, turns), lasts)
            })
        });
        let of_blocks: Vec<Arc<PastTrust>> = of_blocks.collect();
        let of_rest = trust_of_turns(&self.past, rest);
        let all = of_blocks.iter().map(Arc::as_ref).chain([&of_rest]);
        let (trust, senders) = (self.past.compacted.trust, TurnSenders::default());
        let trust = all.clone().fold(trust, |least, part| least.min(part.trust));
        all.flat_map(|part| &part.senders).for_each(|sender| senders.add(sender));
        PastTrust { trust, senders: senders.into_owned() }
    }

    /// Returns the past turns that may have calls, oldest first.
    pub(crate) fn turns_with_calls(&self) -> &[Arc<TurnRecord>] {
        self.called.get_or_init(|| {
            let (blocks, rest) = self.blocks_and_rest();
            let of_blocks = blocks.iter().zip(self.past.turns.chunks_exact(BLOCK_TURNS));
            let of_blocks = of_blocks.filter(|(block, _)| block.has_calls());
            let turns = of_blocks.flat_map(|(_, turns)| turns).chain(rest);
            turns
                .filter(|turn| turn.steps.iter().any(|step| !step.calls.is_empty()))
                .cloned()
                .collect()
        })
    }

    /// Returns the kept blocks with which the past begins, and the turns behind them.
    fn blocks_and_rest(&self) -> (Vec<Arc<KeptBlock>>, &[Arc<TurnRecord>]) {
        let blocks = self.rendered.kept_blocks(&self.past);
        let rest = &self.past.turns[blocks.len() * BLOCK_TURNS..];
        (blocks, rest)
    }
}

/// Returns `true` if the trust of a message of the turn depends on the texts of the past.
fn quotes_agent(turn: &TurnRecord) -> bool {
    let steered = turn.steps.iter().flat_map(|step| &step.steered);
    let mut messages = turn.origin.messages().iter().chain(steered);
    messages.any(|message| answers::depends_on_past(&message.message.inbound.content))
}

/// Returns the lowest trust of a turn. Of a running turn, only the closed steps count.
pub(crate) fn of_turn(past: &Past, turn: &TurnRecord, roles: &dyn Roles) -> Trust {
    let senders = TurnSenders::default();
    let trust = of_one_turn(past, turn, &senders);
    with_roles(trust, senders.0.into_inner(), roles)
}

/// Returns the lowest of this trust and that of the senders' roles.
fn with_roles<'s>(
    trust: Trust,
    senders: impl IntoIterator<Item = &'s Inbound>,
    roles: &dyn Roles,
) -> Trust {
    senders.into_iter().map(|sender| Trust::from(roles.role(sender))).fold(trust, Trust::min)
}

fn trust_of_turns(past: &Past, turns: &[Arc<TurnRecord>]) -> PastTrust {
    let senders = TurnSenders::default();
    let trust = turns.iter().map(|turn| of_one_turn(past, turn, &senders));
    let trust = trust.fold(Trust::Full, Trust::min);
    PastTrust { trust, senders: senders.into_owned() }
}

/// A message of each sender whose role counts, the latest sender last.
#[derive(Default)]
struct TurnSenders<'r>(RefCell<Vec<&'r Inbound>>);

impl<'r> TurnSenders<'r> {
    fn add(&self, inbound: &'r Inbound) {
        let is_same = |other: &&Inbound| {
            (&other.address, &other.sender.id, other.chat)
                == (&inbound.address, &inbound.sender.id, inbound.chat)
        };
        let mut senders = self.0.borrow_mut();
        match senders.iter().rposition(is_same) {
            Some(place) => {
                let last = senders.len() - 1;
                senders.swap(place, last);
            }
            None => senders.push(inbound),
        }
    }

    /// Returns the messages without their content.
    fn into_owned(self) -> Vec<Inbound> {
        let without_content =
            |one: &Inbound| Inbound { content: Content::default(), ..one.clone() };
        self.0.into_inner().into_iter().map(without_content).collect()
    }
}

/// Returns the lowest trust of a turn, except for the roles of its senders, which are added.
fn of_one_turn<'r>(past: &Past, turn: &'r TurnRecord, senders: &TurnSenders<'r>) -> Trust {
    let recalled = turn.recalled.iter().map(|memory| memory.trust);
    let asked = match &turn.origin {
        _ if is_trusted(past, turn, None) => Trust::Full,
        Origin::Messages(messages) => {
            let lost = turn.undelivered.messages.iter().map(|lost| lost.trust);
            let reports = turn.reports.texts.iter().map(|report| report.trust);
            let of_messages = of_messages(past, turn, messages, senders);
            lost.chain(reports).chain(recalled).fold(of_messages, Trust::min)
        }
        Origin::Child { trust, .. } => recalled.fold(*trust, Trust::min),
    };
    let read = turn.steps.iter().map(|step| {
        let request = of_step(past, turn, step);
        // The results of an open step are in no request yet.
        if !step.closed || is_trusted(past, turn, Some(step.number)) {
            return request;
        }
        let results = step.calls.iter().filter_map(|call| Some(call.result()?.trust));
        let steered = of_messages(past, turn, &step.steered, senders);
        results.chain([steered]).fold(request, Trust::min)
    });
    read.fold(asked, Trust::min)
}

/// Returns `true` if an owner has declared the content up to a step trusted; `None` means the
/// messages.
fn is_trusted(past: &Past, turn: &TurnRecord, step: Option<u32>) -> bool {
    Some((turn.id, step)) <= past.trusted_to
}

/// Returns the lowest trust of a step's request, whose content was read by the step before.
fn of_step(past: &Past, turn: &TurnRecord, step: &Step) -> Trust {
    if is_trusted(past, turn, step.number.checked_sub(1)) { Trust::Full } else { step.trust }
}

fn of_messages<'r>(
    past: &Past,
    turn: &TurnRecord,
    messages: &'r [LoggedInbound],
    senders: &TurnSenders<'r>,
) -> Trust {
    let of_one = |message: &'r LoggedInbound| {
        let content = &message.message.inbound.content;
        match answers::trust_of_quote(past, turn, content) {
            Trust::Low => Trust::Low,
            quoted => quoted.min(of_message(message, senders)),
        }
    };
    messages.iter().map(of_one).min().unwrap_or_default()
}

/// Returns the upper limit of a message's trust, and adds its sender, whose role decides below it.
/// Forwarded or quoted text and pictures are untrusted.
fn of_message<'r>(message: &'r LoggedInbound, senders: &TurnSenders<'r>) -> Trust {
    let inbound = &message.message.inbound;
    let content = &inbound.content;
    if content.has_untrusted_parts() || !images::stored_images(content).is_empty() {
        Trust::Low
    } else {
        senders.add(inbound);
        message.message.trust
    }
}

/// Returns the text read and the calls made in the conversation, in their order. `asked_by` are the
/// messages of the root turn, if this one is a child. Trusted results are left out: they repeat what
/// the model told the tool.
pub(crate) fn collect_seen(past: &Past, turn: &TurnRecord, asked_by: &[LoggedInbound]) -> Seen {
    let mut seen = Seen::default();
    add_messages(&mut seen, asked_by);
    for turn in past.turns.iter().map(Arc::as_ref).chain([turn]) {
        add_messages(&mut seen, turn.origin.messages());
        let recalled = turn.recalled.iter().filter(|memory| memory.trust == Trust::Low);
        seen.texts.extend(recalled.map(|memory| memory.text.clone()));
        for step in &turn.steps {
            let (trust, read) = (of_step(past, turn, step), seen.texts.len());
            seen.calls.extend(step.calls.iter().map(|call| seen_call(call, trust, read)));
            let results = step.calls.iter().filter_map(LoggedCall::result);
            let untrusted = results.filter(|result| result.ok && result.trust == Trust::Low);
            seen.texts.extend(untrusted.map(result_text));
            add_messages(&mut seen, &step.steered);
        }
    }
    seen
}

fn add_messages(seen: &mut Seen, messages: &[LoggedInbound]) {
    seen.people.extend(messages.iter().filter_map(own_words));
    seen.texts.extend(messages.iter().map(LoggedInbound::model_text));
    seen.texts.extend(messages.iter().flat_map(program_texts));
}

/// Returns the further texts of a program's request.
fn program_texts(message: &LoggedInbound) -> Vec<String> {
    let program = message.message.inbound.content.program.as_deref();
    program.into_iter().flat_map(ProgramRequest::texts).map(str::to_owned).collect()
}

/// Returns the text that a person has typed, without forwarded or quoted parts.
fn own_words(message: &LoggedInbound) -> Option<String> {
    let inbound = &message.message.inbound;
    let is_own = !inbound.sender.is_bot
        && inbound.content.forwarded_from.is_none()
        && message.message.trust > Trust::Low;
    is_own.then(|| inbound.content.text.clone())
}

fn seen_call(logged: &LoggedCall, trust: Trust, read: usize) -> SeenCall {
    let is_refusal = |result: &CallResult| {
        matches!(result.kind, ResultKind::Denied | ResultKind::Refused | ResultKind::Repeated)
    };
    SeenCall {
        id: logged.id,
        call: logged.call.clone(),
        trust,
        read,
        is_allowed: logged.allowed.is_some(),
        is_refused: logged.result().is_some_and(is_refusal),
        result: logged.result().filter(|result| result.ok).cloned(),
    }
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
