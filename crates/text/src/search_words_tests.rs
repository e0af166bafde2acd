use proptest::prelude::*;

use super::*;

/// The comparison that FTS5 makes, without its ranking: does a text hold a term of the query?
fn finds(query: &str, text: &str) -> bool {
    let text = index_text(text);
    let words: Vec<&str> = text.split(' ').collect();
    let Some(expression) = match_query(query) else { return false };
    expression.split(" OR ").any(|term| match term.strip_suffix('*') {
        Some(start) => words.iter().any(|word| word.starts_with(start.trim_matches('"'))),
        None => words.contains(&term.trim_matches('"')),
    })
}

#[test]
fn index_text_splits_by_script() {
    let table = [
        ("", ""),
        (" -- !", ""),
        ("Hello, World!", "hello world"),
        ("e-mail: a_b@c.de", "e mail a b c de"),
        ("Straße ÉTÉ Ελλάς ёлка", "strasse ete ελλασ елка"),
        ("ﬁne ＡＢＣ ①", "fine abc 1"),
        ("東京", "東京 東 京"),
        ("東京都 猫", "東京 京都 東 京 都 猫"),
        ("Pixel8を買う", "pixel8 を買 買う を 買 う"),
        ("ｺｰﾋｰ", "コー ーヒ ヒー コ ー ヒ ー"),
        ("2026年3月", "2026 年 3 月"),
        ("회의는", "회의 의는 회 의 는"),
        ("ที่", "ที ี่ ท"),
        ("الموعد غدا", "موعد الموعد غدا"),
        ("हिन्दी में", "हिन्दी में"),
    ];
    for (text, words) in table {
        assert_eq!(index_text(text), words, "{text:?}");
    }
}

#[test]
fn match_query_quotes_terms_and_cuts_inflections() {
    let table = [
        ("", None),
        ("?! -- \"*", None),
        ("cat", Some("\"cat\"")),
        ("cats", Some("\"cats\"* OR \"cat\"")),
        ("mail", Some("\"mail\"*")),
        ("Hunde", Some("\"hunde\"* OR \"hund\"")),
        ("Termine", Some("\"termine\" OR \"termin\"* OR \"termi\"")),
        ("meetings", Some("\"meetings\" OR \"meetin\"*")),
        ("appointments", Some("\"appointments\" OR \"appointme\"*")),
        ("20261123", Some("\"20261123\"*")),
        ("a OR NEAR(\"b\" c) NOT col:d*", {
            Some("\"a\" OR \"or\" OR \"near\"* OR \"b\" OR \"c\" OR \"not\" OR \"col\" OR \"d\"")
        }),
        ("the the THE", Some("\"the\"")),
        ("会議室", Some("\"会議\" OR \"議室\"")),
        ("猫", Some("\"猫\"")),
        ("猫の家族", Some("\"猫の\" OR \"の家\" OR \"家族\" OR \"猫\"")),
    ];
    for (query, expression) in table {
        assert_eq!(match_query(query).as_deref(), expression, "{query:?}");
    }
}

#[test]
fn match_query_finds_inflected_words_in_many_languages() {
    let table = [
        ("en", "appointments", "An appointment with the dentist"),
        ("en", "the dogs", "Our dog is called Bello"),
        ("de", "Termine", "Der Termin ist am Montag"),
        ("de", "Häuser", "Das Haus am See"),
        ("de", "STRASSE", "Die Hauptpost, Lange Straße 3"),
        ("fr", "réunions", "La reunion de lundi"),
        ("es", "gatos", "El gato negro"),
        ("it", "riunione", "Le riunioni del martedì"),
        ("ru", "встречи", "Встреча с Анной в пятницу"),
        ("el", "ΡΑΝΤΕΒΟΎ", "το ραντεβού με τον γιατρό"),
        ("ja", "明日の会議", "会議は十時です"),
        ("ja", "コーヒー", "ｺｰﾋｰを飲む"),
        ("zh", "生日", "她的生日是五月三日"),
        ("ko", "회의", "회의는 세 시에 시작한다"),
        ("th", "ประชุม", "การประชุมวันจันทร์"),
        ("ar", "موعد", "الموعد يوم الاثنين"),
        ("ar", "الموعد", "عندي موعد غدا"),
        ("hi", "बैठक", "सोमवार को बैठक है"),
        ("he", "פגישה", "יש לי פגישה ביום שני"),
        ("tr", "toplantı", "Toplantılar salı günü"),
    ];
    for (language, query, text) in table {
        assert!(finds(query, text), "{language}: {query:?} in {text:?}");
    }
}

#[test]
fn match_query_leaves_other_words_alone() {
    let table = [
        ("cat", "the category list"),
        ("mars", "a market"),
        ("会議", "会社の議題"),
        ("ประชุม", "วันหยุด"),
        ("letter", "let it be"),
    ];
    for (query, text) in table {
        assert!(!finds(query, text), "{query:?} in {text:?}");
    }
}

#[test]
fn match_query_of_a_long_text_is_bounded() {
    let text: String = (0..10_000).map(|number| format!("word{number} ")).collect();
    assert_eq!(match_query(&text).unwrap().split(" OR ").count(), MAX_TERMS);
    assert_eq!(index_text(&"x".repeat(1000)), "x".repeat(MAX_WORD_CHARS));
}

#[test]
fn snippet_shows_the_part_with_the_most_terms() {
    let filler = "lorem ipsum dolor sit amet ".repeat(20);
    let text =
        format!("{filler}a dentist somewhere. {filler}The dentist moved to Lisbon. {filler}");
    let shown = snippet(&text, "dentists in Lisbon", 100);
    assert!(shown.contains("The dentist moved to Lisbon."), "{shown}");
    assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
    assert!(shown.chars().count() <= 100, "{shown}");
    let japanese =
        format!("{}歯医者は金曜日です。{}", "あいうえお".repeat(50), "かきくけこ".repeat(50));
    let shown = snippet(&japanese, "歯医者", 40);
    assert!(shown.contains("歯医者は金曜日"), "{shown}");
    let table = [
        ("short  text\n\nhere", "text", "short text here"),
        ("", "text", ""),
        ("one two three four five", "nothing", "one two three…"),
    ];
    for (text, query, expected) in table {
        assert_eq!(snippet(text, query, 15.min(text.len().max(10))), expected, "{text:?}");
    }
}

proptest! {
    #[test]
    fn snippet_is_at_most_as_long_as_asked(text in "\\PC{0,400}", query in "\\PC{0,20}") {
        prop_assert!(snippet(&text, &query, 60).chars().count() <= 60);
    }

    #[test]
    fn index_text_holds_word_characters_only(text in "\\PC{0,80}") {
        let indexed = index_text(&text);
        prop_assert!(indexed.chars().all(|c| c == ' ' || is_word_character(c)), "{indexed:?}");
    }

    #[test]
    fn match_query_finds_the_text_itself(text in "\\PC{0,80}") {
        prop_assert_eq!(match_query(&text).is_some(), finds(&text, &text), "{:?}", match_query(&text));
    }
}
