//! The words of a request that tell something about its subject.

use std::collections::HashSet;
use std::sync::LazyLock;

use avocet_text::index_text;

/// The most words of a request that count. Longer requests are pasted texts.
const MOST: usize = 40;

/// Frequent words without a subject, in the form of [`index_text`]: greetings, articles, pronouns,
/// auxiliary verbs and question words of several languages, one language a line.
const COMMON: &[&str] = &[
    "a about again all also am an and any are as at be been but by can could day did do does for from get give go \
     good got had has have hello help her here hey hi him his how i if in into is it its just know let like make \
     may me more much my need no not now of ok okay on one or our out please say shall she should show so some \
     tell than thank thanks that the their them then there these they thing this those to today too up us use \
     user very want was we were what when where which who whose why will with would yes you your",
    "aber alle als am an auch auf aus bei bin bist bitte da danke das dass dem den der des die dies doch du ein eine \
     einem einen einer er es fur gibt guten habe haben hallo hat ich ihr im in ist ja kann kannst kein konnen mal \
     man mein meine meinem meinen meiner mich mir mit nach nein nicht noch nur oder sag sein sich sie sind so tag \
     uber um und uns von vor wann war warum was weiss welche wenn wer wie wieder wird wo zu zum zur",
    "ai alors au aux avec avoir bien bonjour bonsoir ce cela ces cet cette comment dans de des dis donc du elle en \
     est et etre fait il ils je la le les leur lui ma mais me merci mes moi mon ne non nos notre nous on ou oui par \
     pas peux peut plait pour pourquoi qu quand que quel quelle qui quoi sa salut se ses sont son sur ta te tes toi \
     ton tu un une va vas vos votre vous",
    "al algo como con cual cuando de del dime donde el ella ellos en eres es esta estan estas este esto gracias ha hay \
     hola la las le lo los me mi mis muy no nos o para pero por porque puede puedes que quien se si sin sobre son soy \
     su sus te tengo tiene tu tus un una y ya yo",
    "anche che chi ci ciao cosa da dal dalla del della di dove e gli grazie ho hai ha i il io lo mi mia mio nel \
     nella non ogni per perche piu puoi qual quale quando quanto se sei si sono su suo ti un uno",
    "ao as com da das dia do dos ela ele em essa esse esta eu foi isso mas meu minha na nao nas no nos num ola os ou \
     para pela pelo por quais qual quando quem sao se seu sua tem um uma voce",
    "а бы в вас вот все вы где да для его ее если есть еще же за и из или их к как какая какие какой когда кто ли \
     меня мне мои мой моя мы на не нет но о об он она они от по пожалуиста почему привет про с сеичас скажи со \
     спасибо так там то тоже ты у уже что чтобы это я",
    "你好 您好 什么 怎么 我们 你们 他们 可以 为什 今天 请问 一个 这个 那个 谢谢 多少 是什 是谁 我的 你的 哪里 吗 了",
    "안녕 하세 세요 니다 습니 입니 나요 내가 나의 무엇 어디 언제 누구 있어 있나 인가",
];

static COMMON_WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| COMMON.iter().flat_map(|words| words.split_whitespace()).collect());

/// Returns the telling words of a text, each once, as an index has them.
pub(crate) fn telling_words(text: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let tells = |word: &&str| {
        word.chars().nth(1).is_some()
            && !word.chars().all(is_hiragana)
            && !COMMON_WORDS.contains(word)
            && seen.insert((*word).to_owned())
    };
    index_text(text).split_whitespace().filter(tells).take(MOST).map(str::to_owned).collect()
}

/// Japanese writes its particles and endings in hiragana.
fn is_hiragana(c: char) -> bool {
    ('\u{3040}'..='\u{309f}').contains(&c)
}

/// Returns `true` if the words contain this one, perhaps in another inflection.
pub(crate) fn is_in(word: &str, words: &[&str]) -> bool {
    let length = word.chars().count();
    let ending = match length {
        ..=4 => 0,
        5..=7 => 1,
        8..=10 => 2,
        _ => 3,
    };
    let stem: String = word.chars().take(length - ending).collect();
    let begins = |other: &&str| length >= 4 && other.starts_with(&stem);
    // The other way round: `keys` in the request, `key` in the memory.
    let shorter = |other: &&str| {
        let rest = word.strip_prefix(other);
        rest.is_some_and(|rest| rest.chars().count() <= 2) && other.chars().count() >= 3
    };
    words.iter().any(|other| *other == word || begins(other) || shorter(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn telling_leaves_out_greetings_and_function_words() {
        let table: [(&str, &[&str]); 9] = [
            ("hi", &[]),
            ("Hello there, how are you?", &[]),
            ("Was ist das?", &[]),
            ("Merci, et toi ?", &[]),
            ("¿Qué es esto?", &[]),
            ("ありがとう", &[]),
            ("Where does my sister live?", &["sister", "live"]),
            ("Wann hat Zoë Geburtstag, Zoë?", &["zoe", "geburtstag"]),
            ("東京", &["東京"]),
        ];
        for (text, expected) in table {
            assert_eq!(telling_words(text), expected, "{text}");
        }
    }

    #[test]
    fn is_in_accepts_other_inflections_only() {
        let words = ["the", "keys", "lives", "meeting", "key", "cat"];
        for (word, expected) in [
            ("key", true),
            ("keys", true),
            ("living", false),
            ("live", true),
            ("meetings", true),
            ("cats", true),
            ("category", false),
            ("meat", false),
        ] {
            assert_eq!(is_in(word, &words), expected, "{word}");
        }
    }
}
