//! Chooses the tools whose schemas a request contains: the core, and the groups that the
//! conversation has loaded. The description of `use_tools` names the other tools by group.
//!
//! The loaded groups follow from the calls in the log. A group stays loaded while one of these
//! calls is in the request. So only a compaction, which changes the request anyway, removes
//! schemas.

use std::sync::Arc;

use avocet_protocol::access::Trust;
use avocet_protocol::model::{ModelFacts, ToolCall};
use avocet_protocol::tool::{
    SkillLimit, ToolSpec, Toolbox, UPDATE_PLAN, USE_SKILL, USE_TOOLS, groups_to_load,
};
use avocet_protocol::turn::{CallResult, LoggedCall, ResultKind, TurnRecord};
use avocet_text::fits_pattern;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::truncate::READ_RESULT;

/// The core of an agent without its own list.
const CORE: [&str; 12] = [
    "ask_user",
    "edit_file",
    "exec_shell",
    "list_directory",
    "memory_search",
    "memory_write",
    "message",
    "read_file",
    UPDATE_PLAN,
    USE_SKILL,
    "web_fetch",
    "write_file",
];
/// The core for a model with a small window.
const SMALL_CORE: [&str; 6] =
    ["edit_file", "exec_shell", "memory_write", "read_file", USE_SKILL, "write_file"];
/// The largest small window, in tokens.
const SMALL_WINDOW: u64 = 16_384;
/// The least number of tools outside of the core for which `use_tools` is worth its own bytes.
const LEAST_DEFERRED: usize = 3;
/// The most offers that are kept.
const MAX_OFFERS: usize = 32;

/// The tools whose schemas each request of an agent contains.
#[derive(Debug, Clone)]
pub struct CoreTools {
    large: Arc<[String]>,
    small: Arc<[String]>,
    /// The latest offers, so that a request does not copy schemas.
    offers: Arc<Mutex<Vec<KnownOffer>>>,
    /// The latest list of tools of which all descriptions have the full trust.
    trusted: Arc<Mutex<Option<Arc<[ToolSpec]>>>>,
}

/// The built-in core, by the model's window.
impl Default for CoreTools {
    fn default() -> Self {
        Self::by_window(CORE.map(str::to_owned).into())
    }
}

impl CoreTools {
    /// Returns a core of the tools that match a pattern, in which `*` stands for any characters.
    /// It is the same for every window.
    #[must_use]
    pub fn fixed(patterns: Vec<String>) -> Self {
        let large: Arc<[String]> = patterns.into();
        Self { small: large.clone(), large, ..Self::none() }
    }

    /// Returns a core of the tools that match a pattern, and the built-in core for a small window.
    #[must_use]
    pub fn by_window(patterns: Vec<String>) -> Self {
        Self { large: patterns.into(), small: SMALL_CORE.map(str::to_owned).into(), ..Self::none() }
    }

    fn none() -> Self {
        let (offers, trusted) = (Arc::default(), Arc::default());
        Self { large: [].into(), small: [].into(), offers, trusted }
    }

    /// Returns `true` if the descriptions of all these tools have the full trust.
    pub(crate) fn are_trusted(&self, specs: &Arc<[ToolSpec]>) -> bool {
        let mut trusted = self.trusted.lock();
        if trusted.as_ref().is_some_and(|known| Arc::ptr_eq(known, specs)) {
            return true;
        }
        let are_trusted = specs.iter().all(|spec| spec.trust() == Trust::Full);
        if are_trusted {
            *trusted = Some(specs.clone());
        }
        are_trusted
    }

    /// Returns the patterns for a model with this window and this limit of tokens.
    pub(crate) fn patterns_for(&self, facts: ModelFacts, context_tokens: u64) -> &Arc<[String]> {
        let window = facts.context.unwrap_or(u64::MAX).min(context_tokens);
        if window <= SMALL_WINDOW { &self.small } else { &self.large }
    }

    /// Returns the offer of these tools, from memory if it was made before. `use_skill` is part of
    /// it only if the agent has skills.
    pub(crate) fn offer_tools(
        &self,
        specs: &Arc<[ToolSpec]>,
        core: &Arc<[String]>,
        loaded: Vec<String>,
        have_skills: bool,
    ) -> Arc<ToolOffer> {
        let mut offers = self.offers.lock();
        let is_same = |known: &&KnownOffer| {
            let KnownOffer { core: known_core, loaded: known_loaded, .. } = known;
            Arc::ptr_eq(&known.specs, specs)
                && (known_core, known_loaded, known.have_skills) == (core, &loaded, have_skills)
        };
        if let Some(known) = offers.iter().find(is_same) {
            return known.offer.clone();
        }
        let offer = ToolOffer::new(specs, core, &loaded);
        let offer = Arc::new(if have_skills { offer } else { offer.without(USE_SKILL) });
        if offers.len() == MAX_OFFERS {
            offers.remove(0);
        }
        let (specs, core) = (specs.clone(), core.clone());
        offers.push(KnownOffer { specs, core, loaded, have_skills, offer: offer.clone() });
        offer
    }
}

/// An offer, and what it was made from.
#[derive(Debug)]
struct KnownOffer {
    specs: Arc<[ToolSpec]>,
    core: Arc<[String]>,
    loaded: Vec<String>,
    have_skills: bool,
    offer: Arc<ToolOffer>,
}

/// The tools of a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolOffer {
    /// The tools whose schemas are sent: the core, `use_tools`, and the loaded ones. A newly loaded
    /// group is appended.
    pub(crate) tools: Arc<[ToolSpec]>,
    /// The other tools.
    pub(crate) deferred: Arc<[ToolSpec]>,
    /// The tokens of `tools` in a request, estimated.
    pub(crate) tokens: u64,
    /// The least trust of the descriptions of `tools`.
    pub(crate) trust: Trust,
}

impl ToolOffer {
    fn new(specs: &Arc<[ToolSpec]>, core: &[String], loaded: &[String]) -> Self {
        let (core, others): (Vec<&ToolSpec>, Vec<&ToolSpec>) =
            specs.iter().partition(|spec| is_core(core, spec));
        if others.len() < LEAST_DEFERRED {
            return Self::with_deferred(specs.iter().map(whole_spec).collect(), [].into());
        }
        let is_loaded = |spec: &ToolSpec| loaded.contains(&spec.name);
        let core = core.into_iter();
        let mut tools: Vec<ToolSpec> = core
            .map(|spec| if is_loaded(spec) { whole_spec(spec) } else { spec.clone() })
            .collect();
        tools.push(use_tools(&others));
        let named = |name: &String| others.iter().find(|spec| spec.name == *name);
        tools.extend(loaded.iter().filter_map(named).map(|spec| whole_spec(spec)));
        let deferred = others.into_iter().filter(|spec| !is_loaded(spec)).cloned().collect();
        Self::with_deferred(tools.into(), deferred)
    }

    fn with_deferred(tools: Arc<[ToolSpec]>, deferred: Arc<[ToolSpec]>) -> Self {
        let tokens = tools.iter().map(ToolSpec::estimated_tokens).sum();
        let trust = tools.iter().map(ToolSpec::trust).fold(Trust::Full, Trust::min);
        Self { tools, deferred, tokens, trust }
    }

    /// Adds the tools of a program. They replace own tools of the same names.
    pub(crate) fn with_program_tools(&self, more: &[ToolSpec]) -> Self {
        let is_other = |spec: &&ToolSpec| more.iter().all(|one| one.name != spec.name);
        let others =
            |specs: &[ToolSpec]| specs.iter().filter(is_other).cloned().collect::<Vec<_>>();
        let tools = [others(&self.tools), more.to_vec()].concat();
        Self::with_deferred(tools.into(), others(&self.deferred).into())
    }

    fn without(&self, name: &str) -> Self {
        let others = |specs: &[ToolSpec]| {
            specs.iter().filter(|spec| spec.name != name).cloned().collect::<Arc<[ToolSpec]>>()
        };
        Self::with_deferred(others(&self.tools), others(&self.deferred))
    }
}

/// Returns the names of the tools that the conversation has loaded, in the order of their loading.
/// `past` are the past turns with calls.
pub(crate) fn loaded_tools(
    toolbox: &dyn Toolbox,
    specs: &[ToolSpec],
    core: &[String],
    past: &[Arc<TurnRecord>],
    turn: &TurnRecord,
) -> Vec<String> {
    let mut loaded: Vec<String> = Vec::new();
    // The names of calls that load the same whatever their arguments.
    let mut known: Vec<&str> = Vec::new();
    let turns = past.iter().map(Arc::as_ref).chain([turn]);
    let calls = turns.flat_map(|turn| &turn.steps).flat_map(|step| &step.calls);
    for call in calls {
        let mut load = |is_wanted: &dyn Fn(&ToolSpec) -> bool| {
            for spec in specs.iter().filter(|spec| is_wanted(spec)) {
                if !loaded.contains(&spec.name) {
                    loaded.push(spec.name.clone());
                }
            }
        };
        if call.result().is_some_and(|result| result.kind == ResultKind::Cut) {
            load(&|spec| spec.name == READ_RESULT);
        }
        if known.contains(&call.call.name.as_str()) {
            continue;
        }
        if call.call.name == USE_TOOLS {
            let groups = groups_to_load(&call.call.arguments.to_object(), specs);
            load(&|spec| groups.contains(&spec.group.as_str()));
            continue;
        }
        let Some(called) = specs.iter().find(|spec| spec.is_called(&call.call.name)) else {
            known.push(&call.call.name);
            continue;
        };
        if !is_core(core, called) {
            load(&|spec| spec.group == called.group);
        }
        if called.name != USE_SKILL && groups_by_argument(called).next().is_none() {
            known.push(&call.call.name);
            continue;
        }
        for group in needed_next(called, &call.call) {
            load(&|spec| spec.group == group);
        }
        if let Some(tools) = tools_of_skill(called, call) {
            load(&|spec| tools.iter().any(|name| toolbox.skill_allows(name, &spec.name)));
        }
    }
    loaded
}

/// Returns the result of a call of `use_tools`; `None` for a call of another tool.
pub(crate) fn use_tools_result(
    call: &ToolCall,
    specs: impl Fn() -> Arc<[ToolSpec]>,
) -> Option<CallResult> {
    if call.name != USE_TOOLS {
        return None;
    }
    let specs = specs();
    let wanted = groups_to_load(&call.arguments.to_object(), &specs);
    let names = |is_wanted: &dyn Fn(&ToolSpec) -> bool| {
        let names = specs.iter().filter(|spec| is_wanted(spec)).map(|spec| spec.name.as_str());
        names.collect::<Vec<_>>().join(", ")
    };
    if wanted.is_empty() {
        let mut groups: Vec<&str> = specs.iter().map(|spec| spec.group.as_str()).collect();
        groups.sort_unstable();
        groups.dedup();
        let groups = groups.join(", ");
        return Some(CallResult::error(&format!(
            "there is no such group; the groups are {groups}"
        )));
    }
    let loaded = names(&|spec| wanted.contains(&spec.group.as_str()));
    Some(CallResult::ok(json!(format!("You can call: {loaded}"))))
}

fn is_core(core: &[String], spec: &ToolSpec) -> bool {
    core.iter().any(|pattern| fits_pattern(pattern, &spec.name))
}

/// Returns the groups that the arguments of a call make necessary.
fn needed_next(called: &ToolSpec, call: &ToolCall) -> Vec<String> {
    let given = call.arguments.to_object();
    let is_given = |name: &str| given.get(name).is_some_and(|value| *value != Value::Bool(false));
    let needed = groups_by_argument(called).filter(|(name, property, _)| {
        let aliases = property["x-aliases"].as_array().into_iter().flatten();
        aliases.filter_map(Value::as_str).chain([*name]).any(is_given)
    });
    needed.map(|(.., group)| group.to_owned()).collect()
}

/// Returns the arguments of a tool that make a group of tools necessary: name, schema and group.
fn groups_by_argument(tool: &ToolSpec) -> impl Iterator<Item = (&str, &Value, &str)> {
    let properties = tool.parameters["properties"].as_object().into_iter().flatten();
    properties.filter_map(|(name, property)| {
        Some((name.as_str(), property, property["x-loads"].as_str()?))
    })
}

/// Returns the tools to which a call has limited the turn, by loading a skill.
fn tools_of_skill(called: &ToolSpec, call: &LoggedCall) -> Option<Vec<String>> {
    let result = call.result().filter(|result| result.ok && called.name == USE_SKILL)?;
    SkillLimit::of_result(&result.value)?.tools
}

/// Returns a tool whose rarely needed arguments are shown, too. The others of the core hide them,
/// but accept them in calls.
fn whole_spec(spec: &ToolSpec) -> ToolSpec {
    let mut spec = spec.clone();
    let properties = spec.parameters["properties"].as_object_mut();
    for property in properties.into_iter().flat_map(|all| all.values_mut()) {
        if let Some(property) = property.as_object_mut() {
            property.remove("x-rare");
        }
    }
    spec
}

/// Returns the tool that loads groups. Its description stays the same when groups are loaded.
fn use_tools(others: &[&ToolSpec]) -> ToolSpec {
    let mut groups: Vec<&str> = others.iter().map(|spec| spec.group.as_str()).collect();
    groups.sort_unstable();
    groups.dedup();
    let listed = |group: &str| {
        let of = others.iter().filter(|spec| spec.group == group);
        // Names by others are not shown before the group is loaded, which lowers the trust.
        if of.clone().all(|spec| spec.trust() < Trust::Full) {
            return format!("{group}({} tools)", of.count());
        }
        let names: Vec<&str> = of.map(|spec| short_name(group, &spec.name)).collect();
        match &names[..] {
            [name] if *name == group => group.to_owned(),
            names => format!("{group}({})", names.join(" ")),
        }
    };
    let list = groups.into_iter().map(listed).collect::<Vec<_>>().join(" ");
    ToolSpec {
        name: USE_TOOLS.to_owned(),
        aliases: Vec::new(),
        group: USE_TOOLS.to_owned(),
        description: format!("Load more tools. Groups: {list}"),
        parameters: json!({
            "type": "object",
            "properties": { "group": { "type": "string" } },
            "required": ["group"],
        }),
    }
}

/// Returns the name of a tool without the name of its group.
fn short_name<'s>(group: &str, name: &'s str) -> &'s str {
    match name.strip_prefix(group).and_then(|rest| rest.strip_prefix('_')) {
        Some(rest) => rest.trim_start_matches('_'),
        None => name,
    }
}

#[cfg(test)]
#[path = "offer_tests.rs"]
mod tests;
