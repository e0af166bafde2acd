use super::*;

#[test]
fn is_frame_finds_examples_and_questions_and_no_announcement() {
    let frames = [
        "Here is an example:",
        "(e.g. with a path)",
        "It **could** be called with",
        "The \"format\" of a call:",
        "Zum Beispiel:",
        "Das geht z.B. mit",
        "Das sähe so aus:",
        "Voici un exemple :",
        "Por ejemplo",
        "Ad esempio:",
        "Na przykład",
        "Например:",
        "例如：",
        "예를 들어",
        "Shall I run it?",
        "Soll ich? Ich würde",
        "要我运行它吗？",
        "هل أنفذ هذا؟",
        "Is that right (?)",
    ];
    for lead in frames {
        assert!(is_frame(lead), "{lead}");
    }
    let announcements = [
        "",
        "I look.",
        "I'll read src/example.rs first.",
        "Let me fetch https://example.com/search?q=1 for you.",
        "One moment: the file is read.",
        "Ich sehe in der Datei nach.",
        "Je regarde le fichier.",
        "Сейчас посмотрю.",
        "看一下这个文件。",
    ];
    for lead in announcements {
        assert!(!is_frame(lead), "{lead}");
    }
}
