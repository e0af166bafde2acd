//! The quality of the search: 200 notes and 60 questions in five languages, by words alone and with
//! the vectors of a fake that knows translations. Prints the table; asserts only a floor.

use avocet_store::SqliteStore;
use avocet_store::testing::TempStore;
use avocet_testkit::ManualClock;
use avocet_testkit::embeddings::{CONCEPTS, FakeEmbedder};

use super::*;
use crate::tests::remember;

const LANGUAGES: [&str; 5] = ["en", "de", "es", "ru", "ja"];
const NOTES: [(&str, &str); 5] = [
    ("About the ", ": it costs 120 euros."),
    ("Zum Thema ", ": Anna kümmert sich darum."),
    ("Sobre ", ": está en la calle Mayor."),
    ("Про ", ": открыто по пятницам."),
    ("", "については赤いものが好きです。"),
];
/// The endings make other inflections of the words in the notes.
const QUESTIONS: [(&str, &str); 5] = [
    ("What did I say about ", "s?"),
    ("Was weißt du noch über ", "e?"),
    ("¿Qué te dije de ", "s?"),
    ("Что ты помнишь про ", "ы?"),
    ("", "のことを覚えていますか"),
];
const MOST_SHOWN: u32 = 5;

/// A question in one language about a note in another or the same one.
struct Case {
    question: String,
    note: String,
    same_language: bool,
}

fn note(concept: usize, language: usize) -> String {
    let (before, after) = NOTES[language];
    format!("{before}{}{after}", CONCEPTS[concept][language])
}

/// 60 questions, 24 of them in the language of the note.
fn cases() -> Vec<Case> {
    let case = |number: usize| {
        let (concept, asked) = (number * 7 % CONCEPTS.len(), number % LANGUAGES.len());
        let same_language = number % 5 < 2;
        let told = if same_language { asked } else { (asked + 1 + number / 5 % 4) % 5 };
        // Each question asks for another note.
        let concept = (concept + number / CONCEPTS.len()) % CONCEPTS.len();
        let asked = (asked + number / 5) % LANGUAGES.len();
        let told = if same_language { asked } else { told };
        let told = if !same_language && told == asked { (asked + 1) % 5 } else { told };
        let (before, after) = QUESTIONS[asked];
        let question = format!("{before}{}{after}", CONCEPTS[concept][asked]);
        Case { question, note: note(concept, told), same_language }
    };
    (0..60).map(case).collect()
}

/// The number of questions whose note is among the first five results.
async fn recalled(memories: &dyn Memories, cases: &[Case]) -> usize {
    let mut recalled = 0;
    for case in cases {
        let found = memories.search_memories(&ScopeFilter::All, &case.question, MOST_SHOWN).await;
        recalled += usize::from(found.unwrap().iter().any(|found| found.memory.text == case.note));
    }
    recalled
}

#[tokio::test]
async fn search_finds_notes_in_five_languages() {
    let (log, clock) = (TempStore::new(), Arc::<ManualClock>::default());
    let store: Arc<SqliteStore> = log.open(clock.clone()).await;
    let notes: Vec<_> = (0..CONCEPTS.len())
        .flat_map(|concept| (0..LANGUAGES.len()).map(move |language| note(concept, language)))
        .map(|text| (MemoryScope::Everyone, text))
        .collect();
    assert_eq!(notes.len(), 200);
    remember(&store, &notes).await;
    let embedder = Arc::<FakeEmbedder>::default();
    let fused = FusedMemories::new(store.clone(), store.clone(), embedder, clock);
    let (same, other): (Vec<_>, Vec<_>) = cases().into_iter().partition(|case| case.same_language);
    assert_eq!((same.len(), other.len()), (24, 36));

    let words = (recalled(store.as_ref(), &same).await, recalled(store.as_ref(), &other).await);
    let both = (recalled(&fused, &same).await, recalled(&fused, &other).await);
    println!("recall at 5 of 60 questions   same language (24)   another language (36)");
    println!("words alone                   {:18}   {:21}", words.0, words.1);
    println!("words and vectors             {:18}   {:21}", both.0, both.1);
    assert!(words.0 >= 22, "words alone, same language: {}", words.0);
    assert!(both.0 >= 24, "words and vectors, same language: {}", both.0);
    assert!(both.1 >= 34, "words and vectors, another language: {}", both.1);
    assert!(both.1 > words.1);
}
