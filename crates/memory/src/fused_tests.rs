use avocet_protocol::access::Trust;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::store::MemorySource;
use avocet_store::SqliteStore;
use avocet_store::testing::TempStore;
use avocet_testkit::ManualClock;
use avocet_testkit::embeddings::FakeEmbedder;

use super::*;
use crate::tests::remember;

struct Fused {
    memories: FusedMemories,
    store: Arc<SqliteStore>,
    embedder: Arc<FakeEmbedder>,
    clock: Arc<ManualClock>,
    _log: TempStore,
}

/// Creates memories for everyone, with the vectors of a fake embedder.
async fn fused(texts: &[&str]) -> Fused {
    let (log, clock) = (TempStore::new(), Arc::<ManualClock>::default());
    let store = log.open(clock.clone()).await;
    let all: Vec<_> =
        texts.iter().map(|text| (MemoryScope::Everyone, (*text).to_owned())).collect();
    remember(&store, &all).await;
    let embedder = Arc::<FakeEmbedder>::default();
    let memories =
        FusedMemories::new(store.clone(), store.clone(), embedder.clone(), clock.clone());
    Fused { memories, store, embedder, clock, _log: log }
}

async fn texts(memories: &dyn Memories, query: &str, limit: u32) -> Vec<String> {
    let found = memories.search_memories(&ScopeFilter::All, query, limit).await.unwrap();
    found.into_iter().map(|found| found.memory.text).collect()
}

#[tokio::test]
async fn search_finds_related_words_of_other_languages_by_vectors() {
    let all = ["Der Zahnarzt hat montags offen", "Das Auto ist blau", "The invoice is paid"];
    let fused = fused(&all).await;
    assert_eq!(texts(fused.store.as_ref(), "dentist", 3).await, [""; 0], "words alone");
    assert_eq!(texts(&fused.memories, "dentist", 3).await[0], all[0]);
    assert_eq!(texts(&fused.memories, "歯医者の予約", 1).await, [all[0]]);
    let found = fused.memories.search_memories(&ScopeFilter::All, "dentist", 1).await.unwrap();
    assert!(found[0].similarity > Some(0.5) && found[0].score == 0.0, "{found:?}");
    let requests = fused.embedder.requests();
    assert_eq!(requests.iter().map(Vec::len).collect::<Vec<_>>(), [4, 1, 1], "vectors are kept");
    assert_eq!(texts(&fused.memories, "?", 1).await.len(), 1, "the newest");
    assert_eq!(fused.embedder.requests().len(), 3, "no request without a word");
}

#[tokio::test]
async fn search_makes_missing_vectors_in_several_requests() {
    let all: Vec<String> = (0..150).map(|number| format!("fact number {number}")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let fused = fused(&all).await;
    texts(&fused.memories, "fact", 1).await;
    let sizes: Vec<_> = fused.embedder.requests().iter().map(Vec::len).collect();
    assert_eq!(sizes, [64, 63, 24]);
    assert_eq!(fused.store.without_vector("fake", 9).await.unwrap(), []);
}

#[tokio::test]
async fn search_uses_words_alone_for_a_minute_after_a_failure() {
    let fused = fused(&["the dentist is kind", "der Zahnarzt"]).await;
    fused.embedder.fail(true);
    assert_eq!(texts(&fused.memories, "dentist", 3).await, ["the dentist is kind"]);
    fused.embedder.fail(false);
    assert_eq!(texts(&fused.memories, "dentist", 3).await.len(), 1);
    assert_eq!(fused.embedder.requests().len(), 1, "no request in the pause");
    fused.clock.advance(PAUSE);
    assert_eq!(texts(&fused.memories, "dentist", 3).await.len(), 2);
}

#[tokio::test]
async fn search_uses_words_alone_if_the_vectors_are_late() {
    let fused = fused(&["the dentist is kind", "der Zahnarzt"]).await;
    fused.embedder.hang(true);
    let (found, ()) = tokio::join!(texts(&fused.memories, "dentist", 3), async {
        fused.clock.sleeper(PATIENCE).await;
        fused.clock.advance(PATIENCE);
    });
    assert_eq!(found, ["the dentist is kind"]);
}

fn found(id: i64, similarity: Option<f64>) -> FoundMemory {
    let source = MemorySource {
        session: None,
        turn: None,
        message: None,
        said_by: None,
        written_at: Timestamp(0),
    };
    let memory = Memory {
        id: MemoryId(id),
        scope: MemoryScope::Everyone,
        text: String::new(),
        trust: Trust::Full,
        source,
        revision: 1,
        forgotten: false,
    };
    let score = if similarity.is_none() { 1.0 } else { 0.0 };
    FoundMemory { memory, score, similarity }
}

#[test]
fn fuse_prefers_memories_of_both_lists() {
    let table: [(&[i64], &[i64], &[i64]); 6] = [
        (&[], &[], &[]),
        (&[1, 2], &[], &[1, 2]),
        (&[], &[1, 2], &[1, 2]),
        (&[1, 2], &[3, 2], &[2, 1, 3]),
        (&[1, 2, 3], &[3], &[3, 1, 2]),
        (&[1], &[2], &[1, 2]),
    ];
    for (words, near, expected) in table {
        let words = words.iter().map(|id| found(*id, None)).collect();
        let near = near.iter().map(|id| found(*id, Some(0.9))).collect();
        let fused: Vec<i64> =
            fuse_by_rank(words, near, 9).iter().map(|found| found.memory.id.0).collect();
        assert_eq!(fused, expected);
    }
    let both = fuse_by_rank(vec![found(1, None)], vec![found(1, Some(0.9))], 9);
    assert_eq!((both[0].score, both[0].similarity), (1.0, Some(0.9)));
    assert_eq!(fuse_by_rank(vec![found(1, None), found(2, None)], Vec::new(), 1).len(), 1);
}

/// A budget that is used up after this number of requests.
#[derive(Debug)]
struct RequestBudget {
    store: Arc<SqliteStore>,
    left: Mutex<u32>,
}

#[async_trait]
impl avocet_protocol::store::UpkeepBudget for RequestBudget {
    async fn used_up(
        &self,
        _: Option<avocet_protocol::model::Price>,
    ) -> Result<Option<String>, StoreError> {
        let mut left = self.left.lock();
        let is_over = *left == 0;
        *left = left.saturating_sub(1);
        Ok(is_over.then(|| "the budget is spent".to_owned()))
    }

    async fn record(
        &self,
        purpose: avocet_protocol::store::Purpose,
        spent: &[avocet_protocol::model::Spent],
    ) -> Result<(), StoreError> {
        use avocet_protocol::store::UpkeepLedger as _;
        self.store.record_upkeep(purpose, spent).await
    }
}

#[tokio::test]
async fn f19_embeddings_count_as_their_own_line_and_stop_with_the_budget() {
    use avocet_protocol::store::Query as _;
    let fused = fused(&["Der Zahnarzt hat montags offen"]).await;
    let budget = RequestBudget { store: fused.store.clone(), left: Mutex::new(1) };
    let embedder = crate::MeteredEmbedder::new(fused.embedder.clone(), Arc::new(budget));
    let (store, clock) = (fused.store.clone(), fused.clock.clone());
    let memories =
        FusedMemories::new(store.clone(), store.clone(), Arc::new(embedder), clock.clone());
    fused.clock.advance(Duration::from_hours(24));
    assert_eq!(fused.embedder.requests().len(), 0, "no request without a search");
    assert_eq!(texts(&memories, "dentist", 3).await.len(), 1);
    let usage = async || {
        let by = avocet_protocol::store::UsageBy::Purpose;
        let rows = fused.store.usage(by, Timestamp(0)).await.unwrap();
        rows.into_iter().map(|row| (row.of, row.total.usage.input)).collect::<Vec<_>>()
    };
    assert_eq!(usage().await, [("embedding".to_owned(), 20)]);
    assert_eq!(texts(&memories, "dentist", 3).await, [""; 0], "words alone");
    assert_eq!(fused.embedder.requests().len(), 1, "the budget is asked before the request");
    assert_eq!(usage().await, [("embedding".to_owned(), 20)]);
}
