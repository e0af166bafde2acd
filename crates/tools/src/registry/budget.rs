//! The budget of a turn: the bits that its choices may tell after untrusted text, without a question.
//!
//! The author of a page can list 26 links and have the model spell a secret with them. Each link was
//! read word for word, so none of them carries data by itself; the choice does. `leaks/choices.rs`
//! counts it. A call or an answer that would go above the budget is asked about, and the question
//! lists what the turn has fetched.
//!
//! # What is counted
//!
//! ```text
//! web_fetch               each address that no question was asked about
//!   the same once more    nothing: the page is in the cache. Another `format` is another request,
//!                         and counts again
//!   a host that is
//!   allowed for the
//!   session               nothing: the person has allowed each page of it
//! an answer, a message to
//! this chat, ask_user     the links that were read, except those of fetched pages
//! links in other data     each, like a fetch: nobody stands between it and the request
//! the words of a search   each word that no person has typed, once in a turn
//!   an engine that is
//!   allowed for the
//!   session               nothing
//! hosts of the
//! configuration           the choice among them; of a `*.` each character
//! ```
//!
//! # What is not, and why
//!
//! - **Calls that are asked about**, because a person sees them: files and messages to other chats,
//!   tasks of sub-agents, schedules, commands, effects of MCP servers, all tools of untrusted MCP
//!   servers, addresses that carry data, hosts that nobody has named. A grant for the session is such
//!   a decision, too, and so is `low_trust = "allow"` of the operator.
//! - **Arguments of tools that a trusted MCP server calls `readOnly`**: the operator has said that the
//!   server only reads, and no author of a page sees them. Links in them count. The words of a search
//!   count, because owners of sites learn for which words their pages were shown.
//! - **The name of a whole site in an answer**, which cannot be chosen anew for each piece of data.
//! - **Times, the order of words and of repeated requests, and the choice to stop.** Each is small beside the rest.
//!
//! # Which turn
//!
//! Each turn has a budget, and the next one has it anew. Untrusted text that stays in the context
//! counts there, too.
//!
//! **A turn and its sub-agents have one budget.** A sub-agent gets half of what its parent has left
//! when it starts it, and the parent counts that half as told:
//!
//! ```text
//! parent          24 bits; tells 4                        20 left
//!   1st child     gets 10                                 10 left
//!   2nd child     gets 5, beside the first                 5 left
//!     grandchild  gets 2.5 of the 5 of the second child
//! ```
//!
//! So nobody has to know what the others have told meanwhile, and the text of an open question never
//! changes because another agent went on. The bits that a sub-agent did not use are lost.
//!
//! The count is not stored. It follows from the calls in the log, so a turn that goes on after a
//! restart has told what it had told, and its open question stays the same. A call that a person or a
//! rule has refused does not count.

use std::collections::BTreeSet;

use avocet_protocol::access::Grant;
use avocet_protocol::ids::CallId;
use avocet_protocol::model::ToolCall;
use avocet_protocol::tool::{ChoiceBits, Leaving, SeenCall, ToolContext, UsedBits};

use super::ToolRegistry;
use crate::approval::fence_text;
use crate::leaks::{self, KnownHosts, ReadTexts};
use crate::registered::RegisteredTool;

/// The budget of a turn by default.
pub(super) const DEFAULT_BUDGET: ChoiceBits = ChoiceBits::from_bits(24);
/// The key of the configuration.
const SETTING: &str = "choice_bits in [tools]";
/// The tool that starts a sub-agent.
const SPAWN: &str = "spawn";

/// The question about a choice that would go above the budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OverBudget {
    /// The reason, after "I ask because".
    pub(super) why: String,
    /// The reason for withholding an answer, after "it would carry".
    pub(super) carries: String,
    /// The addresses that the turn has fetched, for the question.
    pub(super) fetched: String,
    /// The sums, for the audit table.
    pub(super) remark: String,
}

/// The choices of a turn before a call or an answer.
struct TurnChoices<'a> {
    context: &'a ToolContext,
    known: KnownHosts<'a>,
    texts: ReadTexts<'a>,
    /// The requests that were made, by [`request_of`].
    made: BTreeSet<(String, String)>,
    /// The words that were searched for.
    searched: BTreeSet<String>,
    used: UsedBits,
    /// One line for each address.
    fetched: Vec<String>,
}

impl ToolRegistry {
    /// The question about a call whose choices would go above the budget of its turn.
    pub(super) fn over_budget_by_call(
        &self,
        registered: &RegisteredTool,
        call: &ToolCall,
        leaving: &[Leaving],
        context: &ToolContext,
    ) -> Option<OverBudget> {
        if leaving.is_empty() {
            return None;
        }
        let place = (context.call.step, context.call.ordinal);
        let turn = self.turn_choices(context, |id| (id.step, id.ordinal) < place);
        let own = context.seen.calls.iter().find(|seen| seen.id == context.call);
        let read = own.map_or(context.seen.texts.len(), |own| own.read);
        let more = turn.bits_of_call(registered, &format_of(call), leaving, read);
        let is_search = leaving.iter().any(|one| matches!(one, Leaving::Query(_)));
        Self::over_budget(&turn, more?, if is_search { "words" } else { "links" })
    }

    /// The question about an answer whose links would go above the budget of its turn.
    pub(super) fn over_budget_by_answer(
        &self,
        text: &str,
        context: &ToolContext,
    ) -> Option<OverBudget> {
        // Most answers have no such link. A growing answer is checked many times.
        if leaks::read_links(text, true, &self.known_hosts(context)).is_empty() {
            return None;
        }
        let turn = self.turn_choices(context, |_| true);
        let more = turn.bits_of_text(text, true, context.seen.texts.len());
        Self::over_budget(&turn, more?, "links")
    }

    /// The bits that the turn has told before the call of `context`, and its budget.
    pub(super) fn count_used_bits(&self, context: &ToolContext) -> UsedBits {
        let place = (context.call.step, context.call.ordinal);
        self.turn_choices(context, |id| (id.step, id.ordinal) < place).used
    }

    fn over_budget(turn: &TurnChoices<'_>, more: ChoiceBits, among: &str) -> Option<OverBudget> {
        let UsedBits { told, budget } = turn.used;
        let fits = budget > ChoiceBits::ZERO && (more == ChoiceBits::ZERO || told + more <= budget);
        if fits {
            return None;
        }
        let sums = format!("{told} of the {budget} bits of this turn are used ({SETTING})");
        let fetched = match &turn.fetched[..] {
            [] => String::new(),
            fetched => {
                format!("\n\nFetched in this turn:\n{}", fence_text(&fetched.join("\n"), ""))
            }
        };
        Some(OverBudget {
            why: format!(
                "I have read untrusted content, and my choice among its {among} tells {more} bits; {sums}"
            ),
            carries: format!("links whose choice tells {more} bits; {sums}"),
            fetched,
            remark: format!("{more} bits more than {told} of {budget}"),
        })
    }

    /// Collects the choices of the calls of a turn that come before.
    fn turn_choices<'a>(
        &'a self,
        context: &'a ToolContext,
        is_before: impl Fn(CallId) -> bool,
    ) -> TurnChoices<'a> {
        let mut turn = TurnChoices {
            context,
            known: self.known_hosts(context),
            texts: ReadTexts::new(&context.seen),
            made: BTreeSet::new(),
            searched: BTreeSet::new(),
            used: UsedBits { told: ChoiceBits::ZERO, budget: context.bits.unwrap_or(self.budget) },
            fetched: Vec::new(),
        };
        let is_earlier = |seen: &&SeenCall| {
            seen.id.turn == context.call.turn
                && seen.id != context.call
                && is_before(seen.id)
                && !seen.is_refused
        };
        for seen in context.seen.calls.iter().filter(is_earlier) {
            let Some(registered) = self.named_in(&seen.call.name, Some(&context.session)) else {
                continue;
            };
            if registered.name() == SPAWN {
                turn.add_child();
                continue;
            }
            let Ok(leaving) = registered.leaving_data(&seen.call) else { continue };
            turn.add_call(
                &registered,
                seen,
                &leaving,
                self.policy.lets_go(&registered.description.name),
            );
        }
        turn
    }
}

impl TurnChoices<'_> {
    /// Counts the bits that a sub-agent has got.
    fn add_child(&mut self) {
        let share = self.used.share_of_child();
        self.used.told = self.used.told + share;
        self.fetched.push(format!("what a sub-agent fetches  ({share} bits)"));
    }

    fn add_call(
        &mut self,
        registered: &RegisteredTool,
        seen: &SeenCall,
        leaving: &[Leaving],
        is_free: bool,
    ) {
        let format = &format_of(&seen.call);
        let is_free = is_free || seen.is_allowed || seen.trust.suffices_for(self.context.role);
        let bits = self.bits_of_call(registered, format, leaving, seen.read);
        let bits = bits.filter(|_| !is_free);
        self.used.told = self.used.told + bits.unwrap_or_default();
        let remark = bits.map_or_else(String::new, |bits| format!("  ({bits} bits)"));
        for one in leaving {
            match one {
                Leaving::Url(url) => {
                    self.texts.remove_address(url);
                    if self.made.insert(request_of(url, format)) {
                        self.fetched.push(format!("{url}{remark}"));
                    }
                }
                Leaving::Query(query) => {
                    let words = leaks::words_of_text(query);
                    let (known, all) = (self.searched.len(), &mut self.searched);
                    all.extend(words);
                    if all.len() > known {
                        let query = query.replace(['\r', '\n'], " ");
                        self.fetched.push(format!("the results for: {query}{remark}"));
                    }
                }
                Leaving::Data(_) | Leaving::Text(_) => {}
            }
        }
    }

    /// The bits of the choices of a call; `None` if it has none.
    fn bits_of_call(
        &self,
        registered: &RegisteredTool,
        format: &str,
        leaving: &[Leaving],
        read: usize,
    ) -> Option<ChoiceBits> {
        let bits = leaving.iter().filter_map(|one| match one {
            Leaving::Url(url) => {
                let is_free = self.made.contains(&request_of(url, format))
                    || is_granted(registered, url, self.context);
                (!is_free).then(|| self.bits_of_address(url, read))
            }
            Leaving::Text(text) => self.bits_of_text(text, true, read),
            Leaving::Data(text) => self.bits_of_text(text, false, read),
            Leaving::Query(query) => {
                let links = self.bits_of_text(query, false, read);
                let is_free =
                    self.context.grants.iter().any(|one| one.tool == registered.description.name);
                let words = if is_free {
                    ChoiceBits::ZERO
                } else {
                    self.texts.bits_of_query(query, &self.searched, read)
                };
                (words > ChoiceBits::ZERO || links.is_some())
                    .then(|| words + links.unwrap_or_default())
            }
        });
        bits.reduce(|one, other| one + other)
    }

    fn bits_of_address(&self, url: &str, read: usize) -> ChoiceBits {
        let listed = self.texts.bits_of_address(url, read);
        listed.unwrap_or_else(|| self.known.bits_of_unlisted(url))
    }

    /// The bits of the links in a text; `None` if it has none that was read.
    fn bits_of_text(&self, text: &str, for_people: bool, read: usize) -> Option<ChoiceBits> {
        let mut links = leaks::read_links(text, for_people, &self.known);
        let is_fetched = |link: &String| {
            let link = leaks::without_fragment(link);
            self.made.iter().any(|(url, _)| url == link)
        };
        links.retain(|link| !is_fetched(link));
        if links.is_empty() {
            return None;
        }
        Some(if for_people {
            self.texts.bits_of_links(&links, read)
        } else {
            links.iter().map(|link| self.bits_of_address(link, read)).sum()
        })
    }
}

/// The argument of `web_fetch` with which the cache keeps pages apart.
fn format_of(call: &ToolCall) -> String {
    let arguments = call.arguments.to_object();
    arguments.get("format").and_then(|format| format.as_str()).unwrap_or_default().to_owned()
}

/// A request as its server sees it: the address without its fragment, and the format.
fn request_of(url: &str, format: &str) -> (String, String) {
    (leaks::without_fragment(url).to_owned(), format.to_owned())
}

/// Returns `true` if a person has allowed the tool all pages of a host for the session.
fn is_granted(registered: &RegisteredTool, url: &str, context: &ToolContext) -> bool {
    let host = leaks::host_of_link(url);
    let covers = |grant: &Grant| {
        grant.tool == registered.description.name && Some(&grant.scope) == host.as_ref()
    };
    context.grants.iter().any(covers)
}
