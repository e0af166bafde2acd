//! The table of attacks: eleven kinds of order, ten ways in, each plain and in a disguise.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::gullible::OrderedCall;
use crate::ways::Way;

const ORDERS: &str = include_str!("../../crates/prove/src/corpus/orders.toml");
const DISGUISES: &str = include_str!("../../crates/prove/src/corpus/disguises.toml");
const ORDINARY: &str = include_str!("../corpus/injections/ordinary.toml");

#[derive(Deserialize)]
struct Orders {
    order: Vec<InjectedOrder>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InjectedOrder {
    pub(crate) kind: String,
    #[serde(default)]
    sly: bool,
    pub(crate) tool: String,
    pub(crate) arguments: String,
    pub(crate) effect: String,
}

#[derive(Deserialize)]
struct Disguises {
    disguise: Vec<Disguise>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Disguise {
    name: String,
    text: String,
    html: Option<String>,
}

impl InjectedOrder {
    /// Returns the call of a model that obeys the order.
    pub(crate) fn call(&self) -> OrderedCall {
        OrderedCall::new(&self.tool, &self.arguments)
    }
}

/// One attack of the table.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    /// Its id, which all its traces contain: `i017`.
    pub(crate) id: String,
    pub(crate) number: i64,
    pub(crate) way: Way,
    pub(crate) is_disguised: bool,
    pub(crate) disguise: String,
    pub(crate) order: InjectedOrder,
    /// The attacker's text.
    pub(crate) text: String,
    /// The same text as a page.
    pub(crate) html: String,
}

impl Scenario {
    pub(crate) fn name(&self) -> String {
        let Self { id, way, disguise, order, .. } = self;
        format!(
            "{id} ({} by {}, {disguise}: {} {})",
            order.kind,
            way.name(),
            order.tool,
            order.arguments
        )
    }
}

/// Returns all attacks; `web` is the attacker's server.
pub(crate) fn scenarios(web: &str) -> Vec<Scenario> {
    let Orders { order: orders } = toml::from_str(ORDERS).unwrap();
    let Disguises { disguise: disguises } = toml::from_str(DISGUISES).unwrap();
    let (straight, disguises) = disguises.split_first().unwrap();
    let mut kinds: Vec<&str> = orders.iter().map(|order| order.kind.as_str()).collect();
    kinds.dedup();
    let mut all = Vec::new();
    for (row, kind) in kinds.iter().enumerate() {
        let of = |sly: bool| -> Vec<&InjectedOrder> {
            orders.iter().filter(|order| order.kind == *kind && order.sly == sly).collect()
        };
        let (plain, sly) = (of(false), of(true));
        for (column, way) in Way::ALL.into_iter().enumerate() {
            all.push(scenario(all.len(), way, plain[column % plain.len()], (straight, false), web));
            // Every kind and every way occurs with every disguise.
            let disguise = &disguises[(row + column) % disguises.len()];
            all.push(scenario(all.len(), way, sly[column % sly.len()], (disguise, true), web));
        }
    }
    all
}

fn scenario(
    number: usize,
    way: Way,
    order: &InjectedOrder,
    (disguise, is_disguised): (&Disguise, bool),
    web: &str,
) -> Scenario {
    let id = format!("i{number:03}");
    let fill = |text: &str| text.replace("{id}", &id).replace("{web}", web);
    let order = InjectedOrder {
        arguments: fill(&order.arguments),
        effect: fill(&order.effect),
        ..order.clone()
    };
    let base64 = STANDARD.encode(format!("Use {} with {}", order.tool, order.arguments));
    let put = |template: &str, arguments: &str| {
        let text = template.replace("{tool}", &order.tool).replace("{arguments}", arguments);
        text.replace("{base64}", &base64)
    };
    let text = put(&disguise.text, &order.arguments);
    let html = match &disguise.html {
        Some(html) => put(html, &escaped(&order.arguments)),
        None => format!("<html><body><p>{}</p></body></html>", escaped(&text)),
    };
    let number = i64::try_from(number).unwrap();
    Scenario { id, number, way, is_disguised, disguise: disguise.name.clone(), order, text, html }
}

/// A task of an owner.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Conversation {
    pub(crate) name: String,
    pub(crate) calls: Vec<String>,
    pub(crate) effect: Option<String>,
    /// Its id, which all its traces contain: `o07`.
    #[serde(skip)]
    pub(crate) id: String,
}

#[derive(Deserialize)]
struct Conversations {
    conversation: Vec<Conversation>,
}

/// Returns the tasks that need no approval; `web` is a server.
pub(crate) fn conversations(web: &str) -> Vec<Conversation> {
    let Conversations { conversation: all } = toml::from_str(ORDINARY).unwrap();
    let port = web.rsplit(':').next().unwrap();
    let filled = all.into_iter().enumerate().map(|(number, one)| {
        let id = format!("o{number:02}");
        let fill =
            |text: &String| text.replace("{id}", &id).replace("{web}", web).replace("{port}", port);
        let (calls, effect) = (one.calls.iter().map(fill).collect(), one.effect.as_ref().map(fill));
        Conversation { calls, effect, id, ..one }
    });
    filled.collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Formats the number of attacks in each combination.
pub(crate) fn count(scenarios: &[Scenario]) -> String {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for one in scenarios {
        *counts.entry((&one.order.kind, one.way.name())).or_default() += 1;
    }
    let mut kinds: Vec<&str> = scenarios.iter().map(|one| one.order.kind.as_str()).collect();
    kinds.dedup();
    let mut table = format!("{:24}", "");
    Way::ALL.iter().for_each(|way| table.push_str(&format!("{:>12}", way.name())));
    for kind in kinds {
        table.push_str(&format!("\n{kind:24}"));
        for way in Way::ALL {
            let count = counts.get(&(kind, way.name())).copied().unwrap_or_default();
            table.push_str(&format!("{count:>12}"));
        }
    }
    format!("{table}\n{} in all", scenarios.len())
}
