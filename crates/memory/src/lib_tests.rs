use avocet_protocol::access::Trust;
use avocet_protocol::chat::{
    Content, Inbound, InboundKind, NewInbound, Outcome, Sender, SessionId,
};
use avocet_protocol::ids::CallId;
use avocet_protocol::model::Arguments;
use avocet_protocol::model::{ToolCall, Usage};
use avocet_protocol::store::{Claim, Inbox, NewStep, Settlement, Suspects, TurnLog, Turns};
use avocet_protocol::tool::LogWrite;
use avocet_protocol::tool::ToolClass;
use avocet_protocol::turn::{AnswerEnding, CallResult};
use avocet_store::SqliteStore;
use avocet_store::testing::TempStore;
use avocet_testkit::ManualClock;

use super::*;

/// Writes these memories by the calls of one turn.
pub(crate) async fn remember(store: &SqliteStore, memories: &[(MemoryScope, String)]) {
    remember_with(store, Trust::Full, memories).await;
}

/// Writes these memories by the calls of one turn with this trust.
pub(crate) async fn remember_with(
    store: &SqliteStore,
    trust: Trust,
    memories: &[(MemoryScope, String)],
) {
    let session = SessionId::parse("terminal:local:a").unwrap();
    let sender = Sender::new("me".parse().unwrap());
    let key: String = memories[0].1.chars().filter(|c| c.is_alphanumeric()).take(60).collect();
    let key = key.parse().unwrap();
    let inbound = Inbound::new(session.address(), sender, key, Content::text("hi"));
    let kind = InboundKind::Text;
    let message =
        NewInbound { session: session.clone(), kind, inbound, removed: 0, trust: Trust::Full };
    store.accept(&message, None).await.unwrap();
    let claimed = store.claim(&session, Suspects::Exclude, std::time::Duration::ZERO).await;
    let Claim::Turn(claimed) = claimed.unwrap() else { panic!("a message waits") };
    let turn = claimed.turn.id;
    let arguments = Arguments::parse("{}");
    let step = NewStep {
        number: 0,
        text: String::new(),
        ending: AnswerEnding::Complete,
        calls: vec![ToolCall { name: "memory_write".to_owned(), arguments }],
        written: None,
        reasoning: None,
        usage: Usage::default(),
        trust,
        spent: Vec::new(),
    };
    store.record_step(turn, &step).await.unwrap();
    let call = CallId { turn, step: 0, ordinal: 0 };
    store.start_call(call, ToolClass::InLog, None).await.unwrap();
    let writes = memories
        .iter()
        .map(|(scope, text)| LogWrite::Remember { scope: scope.clone(), text: text.clone() });
    let writes: Vec<_> = writes.collect();
    store.finish_call(call, &CallResult::ok("ok".into()), None, &writes).await.unwrap();
    let notice = Some("the end".to_owned());
    let end = Settlement { notice, ..Settlement::new(Outcome::Error) };
    store.settle(turn, &end).await.unwrap();
}

async fn recall_of(memories: &[&str]) -> (WordRecall, TempStore) {
    let log = TempStore::new();
    let store = log.open(Arc::new(ManualClock::default())).await;
    let all: Vec<_> =
        memories.iter().map(|text| (MemoryScope::Everyone, (*text).to_owned())).collect();
    remember(&store, &all).await;
    (WordRecall::new(store), log)
}

async fn texts(recall: &WordRecall, query: &str, budget: u64) -> Vec<String> {
    let recalled = recall.recall(&[MemoryScope::Everyone], query, budget).await.unwrap();
    recalled.into_iter().map(|recalled| recalled.text).collect()
}

#[tokio::test]
async fn recall_returns_relevant_memories_and_nothing_for_small_talk() {
    let memories = [
        "The user's sister Anna lives in Lisbon.",
        "The user is allergic to peanuts.",
        "Der Zahnarzt hat am Dienstag geschlossen.",
        "妻の誕生日は五月三日です。",
        "The backup disk is in the blue drawer.",
    ];
    let (recall, _log) = recall_of(&memories).await;
    let table = [
        ("Where does my sister live?", Some(0)),
        ("anna", Some(0)),
        ("Can I eat this peanut bar?", Some(1)),
        ("Wann ist der Zahnarzt offen?", Some(2)),
        ("誕生日はいつですか", Some(3)),
        ("where is my backup?", Some(4)),
        ("hi", None),
        ("What is the time?", None),
        ("Thank you, that is all for the user today", None),
        ("こんにちは", None),
        ("", None),
        ("!!", None),
    ];
    for (query, expected) in table {
        let expected: Vec<&str> =
            expected.map(|number: usize| memories[number]).into_iter().collect();
        assert_eq!(texts(&recall, query, 600).await, expected, "{query}");
    }
}

#[tokio::test]
async fn recall_ignores_words_that_most_memories_contain() {
    let memories: Vec<String> =
        (0..20).map(|number| format!("The project needs part{number}.")).collect();
    let memories: Vec<&str> = memories.iter().map(String::as_str).collect();
    let (recall, _log) = recall_of(&memories).await;
    assert_eq!(texts(&recall, "how goes the project?", 600).await, [""; 0]);
    assert_eq!(texts(&recall, "does the project have part7?", 600).await, [memories[7]]);
}

#[tokio::test]
async fn recall_of_a_long_request_needs_two_shared_words() {
    let memories = ["Anna plays the cello on Mondays.", "The harbour closes in winter."];
    let (recall, _log) = recall_of(&memories).await;
    let long = "Please translate: the cello section rehearsed whatever sounded beautiful beside \
        that frozen river, although winter storms delayed every harbour ferry";
    assert_eq!(texts(&recall, long, 600).await, [memories[1]]);
}

#[tokio::test]
async fn recall_stays_within_its_budget_and_its_scopes() {
    let log = TempStore::new();
    let store = log.open(Arc::new(ManualClock::default())).await;
    let scope: MemoryScope = "chat terminal:local:a".parse().unwrap();
    let long = "cello ".repeat(200);
    let mut all = vec![(scope.clone(), "cello here".to_owned()), (MemoryScope::Everyone, long)];
    let short = |number| (MemoryScope::Everyone, format!("cello number{number}"));
    all.extend((0..20).map(short));
    // Other subjects, so that the word is rare enough.
    all.extend((0..40).map(|number| (MemoryScope::Everyone, format!("other{number}"))));
    remember(&store, &all).await;
    let recall = WordRecall::new(store);
    for (budget, most) in [(0, 0), (40, 0), (100, 3), (600, MOST)] {
        let recalled = texts(&recall, "cello", budget).await;
        assert_eq!(recalled.len(), most, "{budget}: {recalled:?}");
        assert!(!recalled.contains(&"cello here".to_owned()), "of another scope");
    }
    let recalled = recall.recall(&[scope], "cello", 600).await.unwrap();
    assert_eq!(recalled.len(), 1);
}

#[test]
fn rarest_words_are_few_memories_unless_all_words_are_frequent() {
    let chosen = |counts: &[(&str, u64)]| {
        let counted = counts
            .iter()
            .map(|&(word, containing)| CountedWord { word: word.to_owned(), containing });
        rarest_words(&counted.collect::<Vec<_>>()).join(" ")
    };
    assert_eq!(chosen(&[("harbour", 3000), ("ferry", 100), ("pier", 100)]), "ferry pier");
    assert_eq!(chosen(&[("ferry", 100), ("pier", 101)]), "ferry");
    assert_eq!(
        chosen(&[("harbour", 3000), ("friday", 0), ("ferry", 2000)]),
        "friday ferry harbour"
    );
    assert_eq!(chosen(&[("a", 30), ("b", 20)]), "b a");
}

#[tokio::test]
async fn recall_prefers_the_memories_with_a_rare_word() {
    let memories: Vec<String> = (0..600)
        .map(|number| match number {
            7 => "The ferry number 7 leaves at nine".to_owned(),
            _ if number % 2 == 0 => format!("The harbour light {number} is old"),
            _ => format!("House {number} is old"),
        })
        .collect();
    let all: Vec<&str> = memories.iter().map(String::as_str).collect();
    let (recall, _log) = recall_of(&all).await;
    assert_eq!(texts(&recall, "ferry in the harbour", 10_000).await, [all[7]]);
    assert_eq!(
        texts(&recall, "harbour", 10_000).await.len(),
        MOST,
        "a frequent word alone is enough"
    );
}
