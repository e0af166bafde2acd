//! Collects the content of a turn's requests beside the turn itself, and makes it fit into the
//! model's window. The log keeps everything.

use std::sync::Arc;

use avocet_protocol::access::{OwnerRule, PermissionMode, Roles, RuleCase, Trust};
use avocet_protocol::model::{Messages, ModelFacts, estimated_tokens};
use avocet_protocol::store::{CompactedPast, Past, StoreError};
use avocet_protocol::tool::{Seen, ToolSpec, USE_SKILL};
use avocet_protocol::turn::{TurnEvent, TurnRecord};
use jiff::tz::TimeZone;

use crate::budgets::{NoAnswer, UsageContext};
use crate::history::{Conversation, TurnTrim, conversation};
use crate::history_view::HistoryView;
use crate::instructions::Instructions;
use crate::marks::Marks;
use crate::offer::{self, ToolOffer};
use crate::owner_rules::rules_text;
use crate::program;
use crate::rendered::RenderedTurns;
use crate::summary::{SHARE, cut_to_tokens};
use crate::trust::{self, TrustedPast};
use crate::window::{
    self, compaction_goal, enough_room, if_it_fits, list_trims, old_steps_shortened, shortened_to,
    shortest_trim, turns_to_go,
};
use crate::{AgentLoop, PromptSettings, TurnContext};

/// The content of a turn's requests beside the turn itself.
#[derive(Debug)]
pub(crate) struct RequestContext {
    pub(crate) instructions: Instructions,
    /// The rules of the owners that hold in the turn, as text.
    pub(crate) rules: Option<String>,
    pub(crate) past: TrustedPast,
    zone: TimeZone,
    marks: Marks,
    rendered: RenderedTurns,
    mode: PermissionMode,
    /// Looks up the roles of the past senders.
    roles: Arc<dyn Roles>,
    /// The model that reported a request as too long, and the tokens that it accepts.
    narrow: Option<(String, u64)>,
}

/// The space that a request has to fit into.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestRoom {
    /// Tokens for the request's messages.
    pub(crate) messages: u64,
    /// Tokens of the tools beside them.
    pub(crate) tools: u64,
    /// `true` if the model is shown pictures.
    pub(crate) has_vision: bool,
}

/// Bytes of a session's past that are read for each token of a request. This is more than fits; the
/// surplus is compacted.
const BYTES_A_TOKEN: usize = 8;

impl RequestContext {
    pub(crate) fn conversation(&self, turn: &TurnRecord, trim: TurnTrim) -> Conversation {
        conversation(&self.system_text(), &self.past, turn, self.view(), trim)
    }

    /// Returns the system prompt: the instructions, and behind them the rules.
    fn system_text(&self) -> String {
        let instructions = self.instructions.join_parts();
        match &self.rules {
            Some(rules) => format!("{instructions}\n\n{rules}"),
            None => instructions,
        }
    }

    pub(crate) fn view(&self) -> HistoryView<'_> {
        HistoryView {
            zone: &self.zone,
            marks: self.marks,
            rendered: &self.rendered,
            mode: self.mode,
        }
    }

    /// Returns the lowest trust of the next request's messages.
    pub(crate) fn trust(&self, turn: &TurnRecord) -> Trust {
        self.past.of_request(turn, self.roles.as_ref())
    }

    /// Returns the text that was read and the calls made in the conversation; empty if all is
    /// trusted.
    pub(crate) fn collect_seen(
        &self,
        turn: &TurnRecord,
        turn_context: &TurnContext,
        trust: Trust,
    ) -> Arc<Seen> {
        match trust {
            Trust::Full => Arc::default(),
            Trust::Low | Trust::User => {
                Arc::new(trust::collect_seen(&self.past, turn, &turn_context.asked_by))
            }
        }
    }

    /// Returns the conversation without the turns of the past.
    fn without_past(
        &self,
        turn: &TurnRecord,
        trim: TurnTrim,
        compacted: CompactedPast,
    ) -> Conversation {
        let past = Past { compacted, ..Past::default() };
        conversation(&self.system_text(), &past, turn, self.view(), trim)
    }

    /// Returns the space for a request whose tools have so many tokens, from the model's facts and
    /// its earlier refusals.
    pub(crate) fn compute_room(
        &self,
        facts: ModelFacts,
        limits: crate::TurnLimits,
        tools: u64,
    ) -> RequestRoom {
        let room = self
            .narrow
            .iter()
            .map(|(_, room)| *room)
            .fold(window::request_room(facts, limits), u64::min);
        RequestRoom { messages: room.saturating_sub(tools), tools, has_vision: facts.images }
    }

    /// Records that this model, perhaps a later one in its chain, accepts `room` tokens, tools
    /// included.
    pub(crate) fn record_room(&mut self, model: String, room: u64) {
        self.narrow = Some((model, room));
    }
}

impl AgentLoop {
    /// Opens the context of a turn: the current instructions, and the past from the log. Without the
    /// file of its profile, an agent does not answer, because the file may set limits.
    pub(crate) async fn open_context(
        &self,
        turn: &TurnRecord,
        turn_context: &TurnContext,
    ) -> Result<RequestContext, NoAnswer> {
        let PromptSettings { system, file, zone, marks } = &self.prompt_settings;
        let instructions = Instructions::read(system, file.as_deref(), self.files.as_ref()).await;
        let mut instructions = instructions.map_err(NoAnswer::Instructions)?;
        if let Some(list) = self.skills.listed().await
            && self.specs(turn, turn_context).iter().any(|spec| spec.name == USE_SKILL)
        {
            instructions.add_skills(list);
        }
        let past = self.logs.turns.history(&turn.session, turn.id, self.history_budget()).await?;
        let (zone, marks, roles) = (zone.clone(), *marks, turn_context.roles.clone());
        let rendered = self.rendered.clone();
        let rules = rules_text(&self.rules_of_turn(turn, turn_context));
        let past = TrustedPast::new(past, rendered.clone());
        let mode = turn_context.mode;
        Ok(RequestContext {
            instructions,
            rules,
            past,
            zone,
            marks,
            rendered,
            mode,
            roles,
            narrow: None,
        })
    }

    /// Returns the rules that hold in a turn now.
    pub(crate) fn rules_of_turn(
        &self,
        turn: &TurnRecord,
        turn_context: &TurnContext,
    ) -> Vec<OwnerRule> {
        let mut rules = self.rules.list_rules();
        if rules.is_empty() {
            return rules;
        }
        let agents: Vec<String> =
            [&turn_context.agent].into_iter().chain(&turn_context.within).cloned().collect();
        let askers = turn_context.list_askers(turn);
        let case = RuleCase { agents: &agents, session: &turn.session, askers: &askers };
        rules.retain(|rule| rule.scope.includes_turn(case));
        rules
    }

    /// Returns the tools of a request to a model with these facts. Skills are loaded only if the
    /// instructions list them.
    pub(crate) fn offered_tools(
        &self,
        context: &RequestContext,
        turn: &TurnRecord,
        turn_context: &TurnContext,
        facts: ModelFacts,
    ) -> Arc<ToolOffer> {
        let specs = self.specs(turn, turn_context);
        let core = self.core_tools.patterns_for(facts, self.limits.turn.context_tokens);
        let called = context.past.turns_with_calls();
        let loaded = offer::loaded_tools(self.toolbox.as_ref(), &specs, core, called, turn);
        let offer =
            self.core_tools.offer_tools(&specs, core, loaded, context.instructions.have_skills());
        match program::request_of(turn).map(|program| &*program.tools) {
            None | Some([]) => offer,
            Some(tools) => Arc::new(offer.with_program_tools(&program::tool_specs(tools))),
        }
    }

    /// Returns the lowest trust of the next request: of its messages, and of the descriptions of its
    /// tools, which other programs may have written.
    pub(crate) async fn request_trust(
        &self,
        context: &RequestContext,
        turn: &TurnRecord,
        turn_context: &TurnContext,
    ) -> Trust {
        let trust = context.trust(turn);
        if self.core_tools.are_trusted(&self.specs(turn, turn_context)) {
            return trust;
        }
        let facts = self.models.main.facts().await;
        trust.min(self.offered_tools(context, turn, turn_context, facts).trust)
    }

    /// Returns every tool that may be called.
    pub(crate) fn specs(&self, turn: &TurnRecord, turn_context: &TurnContext) -> Arc<[ToolSpec]> {
        let (role, place) = (turn_context.role(turn), turn_context.place(turn));
        self.toolbox.specs_in_session(&turn.session, role, &place)
    }

    /// Returns this agent's way of showing the log.
    pub(crate) fn view(&self) -> HistoryView<'_> {
        let PromptSettings { zone, marks, .. } = &self.prompt_settings;
        HistoryView { zone, marks: *marks, rendered: &self.rendered, mode: PermissionMode::Default }
    }

    pub(crate) fn history_budget(&self) -> usize {
        let tokens = usize::try_from(self.limits.turn.context_tokens).unwrap_or(usize::MAX);
        tokens.saturating_mul(BYTES_A_TOKEN)
    }

    /// Returns the messages of the next request, valid and short enough. If needed, old results are
    /// shortened first, then old turns compacted, then the turn itself is shortened.
    pub(crate) async fn fit(
        &self,
        context: &mut RequestContext,
        turn: &TurnRecord,
        room: RequestRoom,
        usage: UsageContext<'_>,
    ) -> Result<Messages, NoAnswer> {
        let fits = |context: &RequestContext, trim: TurnTrim| {
            if_it_fits(context.conversation(turn, trim).messages, room.has_vision, room.messages)
        };
        if !context.past.has_gap
            && let Ok(messages) = fits(context, TurnTrim::default())
        {
            return Ok(messages);
        }
        // Without a budget for the answer, the past stays as it is.
        self.check_budgets(self.models.main.as_ref(), usage).await?;
        self.fits_at_all(context, turn, room)?;
        self.make_room(context, turn, room.messages, usage).await?;
        let mut least = match fits(context, TurnTrim::default()) {
            Ok(messages) => return Ok(messages),
            Err(tokens) => tokens,
        };
        for trim in list_trims(turn, room.messages) {
            match fits(context, trim) {
                Ok(messages) => return Ok(messages),
                Err(tokens) => least = tokens,
            }
        }
        Err(NoAnswer::Unanswerable(self.too_long(context, least, room)))
    }

    /// Fails if the turn alone is too long even in its shortest form. Then the past stays as it is.
    fn fits_at_all(
        &self,
        context: &RequestContext,
        turn: &TurnRecord,
        room: RequestRoom,
    ) -> Result<(), NoAnswer> {
        let trim = shortest_trim(turn, room.messages);
        let alone = context.without_past(turn, trim, CompactedPast::default());
        match if_it_fits(alone.messages, room.has_vision, room.messages) {
            Ok(_) => Ok(()),
            Err(least) => Err(NoAnswer::Unanswerable(self.too_long(context, least, room))),
        }
    }

    /// Compacts the past so that a request is far below `room` tokens, as far as possible: first
    /// the results, then whole turns.
    async fn make_room(
        &self,
        context: &mut RequestContext,
        turn: &TurnRecord,
        room: u64,
        usage: UsageContext<'_>,
    ) -> Result<(), NoAnswer> {
        let old_steps = old_steps_shortened(turn);
        if let Some(last) = shortened_to(&context.past) {
            context.past.compacted.shortened_to = Some(last);
        }
        let size = context.conversation(turn, old_steps).tokens;
        let is_something =
            !context.past.turns.is_empty() || context.past.compacted.summary.is_some();
        if context.past.has_gap || (is_something && size > enough_room(room)) {
            let summary = context.past.compacted.summary.take();
            context.past.compacted.summary = summary.map(|text| cut_to_tokens(text, room / SHARE));
            let compacted = context.past.compacted.clone();
            let rest = context.without_past(turn, old_steps, compacted).tokens;
            let allowed = compaction_goal(room).saturating_sub(rest);
            let turns = turns_to_go(&context.past, context.view(), allowed);
            self.events.emit(&turn.session, TurnEvent::Compacting);
            let roles = context.roles.clone();
            self.record_compaction(&mut context.past, turns, roles.as_ref(), room, usage).await?;
        }
        self.logs.turns.record_compaction(&turn.session, &context.past.compacted).await?;
        Ok(())
    }

    /// Replaces the oldest turns by a summary. If no summary can be made, the turns are left out,
    /// and the earlier summary stays.
    async fn record_compaction(
        &self,
        past: &mut Past,
        turns: usize,
        roles: &dyn Roles,
        room: u64,
        usage: UsageContext<'_>,
    ) -> Result<(), StoreError> {
        let gone: Vec<Arc<TurnRecord>> = past.turns.drain(..turns).collect();
        if gone.is_empty() && !past.has_gap {
            return Ok(());
        }
        let summary = self.summarise(past, &gone, room, usage).await?;
        if let Some(why) = &summary.incomplete {
            tracing::warn!(turns, why, "old turns are left out without a summary");
        }
        let summary_to = gone.last().map(|turn| turn.id).or(past.compacted.summary_to);
        let trust = gone.iter().map(|turn| trust::of_turn(past, turn, roles));
        let trust = trust.fold(past.compacted.trust, Trust::min);
        let compacted = past.compacted.clone();
        past.compacted =
            CompactedPast { summary: summary.with_gap(), summary_to, trust, ..compacted };
        past.has_gap = false;
        Ok(())
    }

    fn too_long(&self, context: &RequestContext, least: u64, room: RequestRoom) -> String {
        let model = context.narrow.as_ref().map_or(self.models.main.name(), |(model, _)| model);
        let instructions = &context.system_text();
        let (tools, of_instructions) = (room.tools, estimated_tokens(instructions));
        let all = room.messages + tools;
        let least = least + tools;
        let what = match () {
            () if tools > all / 2 => format!(
                "my tools alone take about {tools} of them. Choose a model with a larger window, \
                 or raise context_tokens"
            ),
            () if of_instructions > all / 2 => format!(
                "my instructions alone take about {of_instructions} of them. Shorten AGENTS.md, \
                 SOUL.md, USER.md or TOOLS.md in the workspace, or choose a model with a larger \
                 window"
            ),
            () => format!(
                "your message with my instructions and tools takes about {least}. Send it in \
                 parts, or as a file"
            ),
        };
        format!("{model} has room for {all} tokens, and {what}.")
    }
}

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;
