//! The text of a server's progress report, for people.

use rmcp::model::ProgressNotificationParam;

use crate::form::cut_text;

/// Characters of a report that are shown.
const SHOWN: usize = 80;
/// A larger number is left out.
const LARGEST: f64 = 1e12;

/// Returns the report on one line; `None` if it has neither a message nor a total.
pub(crate) fn text_of(report: &ProgressNotificationParam) -> Option<String> {
    let message = report.message.as_deref().unwrap_or_default();
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let count = report.total.and_then(|total| {
        Some(format!("{} of {}", format_number(report.progress)?, format_number(total)?))
    });
    let message = Some(cut_text(&message, SHOWN)).filter(|message| !message.is_empty());
    let parts: Vec<String> = message.into_iter().chain(count).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn format_number(number: f64) -> Option<String> {
    (number.abs() <= LARGEST).then(|| ((number * 10.0).round() / 10.0).to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_of_shows_message_and_count_on_one_short_line() {
        let long = "x".repeat(500);
        for (message, total, text) in [
            (json!("reading\u{202e}\n the index"), json!(10), Some("reading the index, 3.5 of 10")),
            (json!(null), json!(10), Some("3.5 of 10")),
            (json!("reading"), json!(null), Some("reading")),
            (json!("  "), json!(1e300), None),
            (json!(null), json!(null), None),
            (json!(long), json!(null), Some(&*format!("{}…", "x".repeat(80)))),
        ] {
            let report = json!({
                "progressToken": 1, "progress": 3.46, "message": message, "total": total,
            });
            let report = serde_json::from_value(report).unwrap();
            assert_eq!(text_of(&report).as_deref(), text, "{message}");
        }
    }
}
