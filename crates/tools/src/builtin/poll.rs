//! Reads the poll of a message: its answers, and settings that begin with a colon.

use avocet_protocol::chat::Poll;
use avocet_protocol::tool::ToolError;

const MULTIPLE: &str = ":multiple";

/// Returns the poll with `text` as its question; `None` without entries.
///
/// # Errors
/// [`ToolError::InvalidArgs`] if a platform would refuse it.
pub(super) fn read(
    text: &str,
    files: &[String],
    entries: &[String],
) -> Result<Option<Poll>, ToolError> {
    if entries.is_empty() {
        return Ok(None);
    }
    let (settings, answers): (Vec<&str>, Vec<&str>) =
        entries.iter().map(|entry| entry.trim()).partition(|entry| entry.starts_with(':'));
    let answers: Vec<String> = answers.into_iter().map(ToOwned::to_owned).collect();
    let mut poll = Poll { answers, multiple: false, hours: Poll::DEFAULT_HOURS };
    for setting in settings {
        match (setting, parse_hours(setting)) {
            (MULTIPLE, _) => poll.multiple = true,
            (_, Some(hours)) => poll.hours = hours,
            _ => {
                let known = format!("{MULTIPLE} and :48h (at most {} hours)", Poll::MAX_HOURS);
                return Err(invalid_poll(&format!("{setting} is no setting; there are {known}")));
            }
        }
    }
    if !files.is_empty() {
        return Err(invalid_poll("it takes no files; send them in another message"));
    }
    let length = text.trim().chars().count();
    if !(1..=Poll::MAX_QUESTION).contains(&length) {
        let most = Poll::MAX_QUESTION;
        return Err(invalid_poll(&format!("its question is text, with 1 to {most} characters")));
    }
    check_answers(&poll.answers)?;
    Ok(Some(poll))
}

fn check_answers(answers: &[String]) -> Result<(), ToolError> {
    if !(2..=Poll::MAX_ANSWERS).contains(&answers.len()) {
        return Err(invalid_poll(&format!("it has 2 to {} answers", Poll::MAX_ANSWERS)));
    }
    for (place, answer) in answers.iter().enumerate() {
        if !(1..=Poll::MAX_ANSWER).contains(&answer.chars().count()) {
            let most = Poll::MAX_ANSWER;
            return Err(invalid_poll(&format!(
                "an answer has 1 to {most} characters, unlike {answer:?}"
            )));
        }
        if answers[..place].contains(answer) {
            return Err(invalid_poll(&format!("it has the answer {answer:?} twice")));
        }
    }
    Ok(())
}

/// Returns the hours of a setting such as `:48h`.
fn parse_hours(setting: &str) -> Option<u16> {
    let hours = setting.strip_prefix(':')?.strip_suffix('h')?.parse().ok()?;
    (1..=Poll::MAX_HOURS).contains(&hours).then_some(hours)
}

fn invalid_poll(why: &str) -> ToolError {
    ToolError::InvalidArgs(format!("poll: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(text: &str, entries: &[&str]) -> Result<Option<Poll>, String> {
        let entries: Vec<String> = entries.iter().map(|entry| (*entry).to_owned()).collect();
        read(text, &[], &entries).map_err(|error| error.to_string())
    }

    #[test]
    fn read_separates_answers_from_settings() {
        assert_eq!(poll("What?", &[]), Ok(None));
        let read = poll("What?", &["tea", ":48h", " coffee ", ":multiple"]).unwrap().unwrap();
        assert_eq!(
            (&read.answers[..], read.multiple, read.hours),
            (&["tea".to_owned(), "coffee".to_owned()][..], true, 48)
        );
        let read = poll("What?", &["tea", "coffee"]).unwrap().unwrap();
        assert_eq!((read.multiple, read.hours), (false, 24));
    }

    #[test]
    fn read_refuses_what_a_platform_would_refuse() {
        let long = "x".repeat(Poll::MAX_ANSWER + 1);
        let eleven: Vec<String> = (0..11).map(|number| number.to_string()).collect();
        let eleven: Vec<&str> = eleven.iter().map(String::as_str).collect();
        let table: [(&str, &[&str], &str); 8] = [
            ("", &["a", "b"], "1 to 200 characters"),
            (&"x".repeat(201), &["a", "b"], "1 to 200 characters"),
            ("What?", &["a"], "2 to 10 answers"),
            ("What?", &eleven, "2 to 10 answers"),
            ("What?", &["a", &long], "1 to 55 characters"),
            ("What?", &["a", ""], "1 to 55 characters"),
            ("What?", &["a", "a"], "twice"),
            ("What?", &["a", "b", ":769h"], "no setting; there are :multiple and :48h"),
        ];
        for (text, entries, why) in table {
            let refused = poll(text, entries).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        let files = read("What?", &["a.txt".to_owned()], &["a".to_owned(), "b".to_owned()]);
        assert!(files.unwrap_err().to_string().contains("takes no files"));
    }
}
