//! `/usage`: shows the cost of a conversation and, to owners in private, of all conversations.

use avocet_protocol::access::Role;
use avocet_protocol::chat::{ChatKind, SessionId};
use avocet_protocol::model::thousands;
use avocet_protocol::store::{StoreError, Total, UsageBy, UsageRow};
use avocet_text::append_line;

use crate::SessionParts;

/// Rows per read.
const PAGE: u32 = 500;

/// Returns the reply to the command.
pub(crate) async fn usage_reply(
    parts: &SessionParts,
    session: &SessionId,
    role: Role,
    chat: ChatKind,
) -> Result<String, StoreError> {
    let today = parts.clock.now().day_start();
    let list =
        async |by, skip| parts.with_retry(|| parts.query.usage_page(by, today, PAGE, skip)).await;
    let spending = parts.ledger.spent(None, session, today).await?;
    let mut of_today = Total::default();
    for page in 0_u32.. {
        let sessions = list(UsageBy::Session, page * PAGE).await?;
        if let Some(row) = sessions.iter().find(|row| row.of == session.as_str()) {
            of_today = row.total;
            break;
        }
        if sessions.len() < PAGE as usize {
            break;
        }
    }
    let status = parts.with_retry(|| parts.query.session_status(session)).await?;
    let budgets = parts.agents.now().of_session(session, &status).run.limits.budgets;
    let all = spending.day;
    let mut text = String::new();
    let session_budget =
        describe_budget(budgets.session_cost.map(|cost| cost.to_string()), budgets.session_tokens);
    push_total(&mut text, "This conversation since /new", &spending.session, &session_budget);
    push_total(&mut text, "This conversation today", &of_today, "");
    let day = describe_budget(budgets.day_cost.map(|cost| cost.to_string()), budgets.day_tokens);
    if role == Role::Owner && chat == ChatKind::Private {
        push_total(&mut text, "All conversations today", &all, &day);
        push_models(&mut text, &list(UsageBy::Model, 0).await?);
    } else if !day.is_empty() {
        append_line(&mut text, format_args!("All conversations share the budget of a day{day}."));
    }
    Ok(text.trim_end().to_owned())
}

fn push_total(text: &mut String, what: &str, total: &Total, budget: &str) {
    append_line(text, format_args!("{what}: {}{budget}.", describe_total(total)));
}

fn push_models(text: &mut String, rows: &[UsageRow]) {
    for UsageRow { of, total, .. } in rows {
        append_line(text, format_args!("- `{of}`: {}", describe_total(total)));
    }
}

/// Returns, for example, ` (budget: $50.00)`; empty without a budget.
fn describe_budget(cost: Option<String>, tokens: Option<u64>) -> String {
    let tokens = tokens.map(|tokens| format!("{} tokens", thousands(tokens)));
    let limits: Vec<String> = cost.into_iter().chain(tokens).collect();
    if limits.is_empty() { String::new() } else { format!(" (budget: {})", limits.join(", ")) }
}

/// Returns, for example, `12,345 tokens read (83% from the cache), 678 written, $0.12`.
pub(crate) fn describe_total(total: &Total) -> String {
    let usage = total.usage;
    if usage.total() == 0 {
        return "nothing".to_owned();
    }
    let cached = match usage.cached_percent() {
        0 => String::new(),
        percent => format!(" ({percent}% from the cache)"),
    };
    let [read, written] = [usage.input, usage.output].map(thousands);
    format!("{read} tokens read{cached}, {written} written, {}", total.price())
}

#[cfg(test)]
mod tests {
    use avocet_protocol::model::{Money, Usage};

    use super::*;

    #[test]
    fn words_describe_a_total_with_its_price_or_an_unknown_price() {
        let usage = Usage { cached: 10_250, ..Usage::new(12_345, 678) };
        let table = [
            (Total::default(), "nothing"),
            (
                Total { usage, cost: Money::dollars(0.12), unpriced: 0 },
                "12,345 tokens read (83% from the cache), 678 written, $0.12",
            ),
            (
                Total { usage: Usage::new(100, 10), cost: Money::default(), unpriced: 110 },
                "100 tokens read, 10 written, price unknown",
            ),
            (
                Total { usage: Usage::new(1000, 1), cost: Money::dollars(2.0), unpriced: 110 },
                "1,000 tokens read, 1 written, $2.00 + price unknown",
            ),
        ];
        for (total, expected) in table {
            assert_eq!(describe_total(&total), expected);
        }
    }

    #[test]
    fn budget_describes_configured_limits_only() {
        assert_eq!(describe_budget(None, None), "");
        let both = describe_budget(Some("$5.00".to_owned()), Some(1_000_000));
        assert_eq!(both, " (budget: $5.00, 1,000,000 tokens)");
    }
}
