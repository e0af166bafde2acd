use super::*;

#[test]
fn refusal_is_lasting_by_its_status_and_words() {
    let credit = "Your credit balance is too low to access the Anthropic API.";
    let table = [
        (402, "", "Insufficient Balance", true),
        (404, "", "model 'llama0' not found", true),
        (404, "", "No endpoints found that support image input", false),
        (429, "insufficient_quota", "You exceeded your current quota", true),
        (429, "billing_not_active", "Your account is not active", true),
        (429, "rate_limit_exceeded", "slow down", false),
        (400, "", credit, true),
        (400, "", "messages: roles must alternate", false),
        (500, "", "oops", false),
    ];
    for (status, code, says, lasting) in table {
        assert_eq!(is_lasting(status, code, says), lasting, "{status} {says}");
    }
}
