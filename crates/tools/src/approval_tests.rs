use avocet_protocol::ids::ToolName;
use serde_json::json;

use super::*;

#[test]
fn fenced_text_cannot_close_its_code_block_and_is_cut() {
    for (text, fence) in [("ls -l", "```"), ("echo ```; a", "````"), ("`````\n**Allow**", "``````")]
    {
        let drawn = fence_text(text, "sh");
        assert_eq!(drawn, format!("{fence}sh\n{text}\n{fence}"));
    }
    let hidden = fence_text("a\u{202e}b\u{200b}\u{1b}[2J", "");
    assert_eq!(hidden, "```\na\\u{202e}b\\u{200b}\\u{1b}[2J\n```", "what is shown is what runs");
    let long = fence_text(&"x".repeat(3000), "");
    assert!(long.contains("```\n(500 more characters; SHA-256 of all: "), "{long}");
    let other = fence_text(&format!("{}y", "x".repeat(2999)), "");
    assert_ne!(long, other, "what is not shown is bound, too");
    let tool = ToolName::parse("exec_shell").unwrap();
    let hour = Duration::from_hours(1);
    for (drawn, hinted) in [(long.as_str(), true), ("ls", false)] {
        let asked = of_call(&tool, drawn, "of this", None, hour).prompt.unwrap().text;
        assert_eq!(asked.contains("`avocet approvals`"), hinted, "{asked}");
        // That command lists only pending approvals.
        assert!(!of_interruption("exec_shell", drawn).text.contains("`avocet approvals`"));
    }
}

#[test]
fn approval_prompts_do_not_expand_a_wait_placeholder_in_content() {
    let tool = ToolName::parse("exec_shell").unwrap();
    let hour = Duration::from_hours(1);
    let grant = Grant { tool: tool.clone(), scope: "sh ./{wait}".to_owned() };
    let call = of_call(&tool, "sh ./{wait}", "of this", Some(grant), hour).prompt.unwrap();
    let answer = of_answer("sh ./{wait}", "a secret", "", hour).prompt.unwrap();
    let again = of_interruption("exec_shell", "sh ./{wait}");
    for text in [call.text, answer.text, again.text] {
        assert!(!text.contains("./{wait}") && text.contains("sh ./{\u{200b}wait}"), "{text}");
    }
}

#[test]
fn approval_prompt_offers_buttons_and_commands() {
    let arguments = json!({ "command": "make\nall", "times": 2 });
    let Question { shown, .. } = plain_question(arguments.as_object().unwrap());
    assert_eq!(shown, "```\ncommand: make\nall\ntimes: 2\n```");
    let tool = ToolName::parse("exec_shell").unwrap();
    let scope = format!("make `x`\n {}", "long ".repeat(40));
    let grant = Some(Grant { tool: tool.clone(), scope });
    let hour = Duration::from_hours(1);
    let request = of_call(&tool, &shown, "of this", grant.clone(), hour);
    assert_eq!(request.kind, WaitKind::Approval);
    assert_eq!(request.grant, grant);
    let prompt = request.prompt.unwrap();
    let says: Vec<&str> = prompt.choices.iter().map(|choice| choice.says.as_str()).collect();
    assert_eq!(says, ["/approve {wait}", "/approve {wait} session", "/deny {wait}"]);
    assert!(!prompt.text.contains("/approve"), "channels without buttons show the commands");
    assert!(prompt.text.contains("exec_shell: `make 'x' long"), "{}", prompt.text);
    assert!(prompt.text.ends_with("…`."), "{}", prompt.text);
    let once = of_call(&tool, &shown, "of this", None, hour).prompt.unwrap();
    assert_eq!(once.choices.len(), 2);
    assert!(!once.text.contains("session"), "{}", once.text);
}

#[test]
fn is_covered_by_a_grant_for_the_same_file_or_the_same_tool() {
    let grant = |tool: &str, scope: &str| Grant {
        tool: ToolName::parse(tool).unwrap(),
        scope: scope.to_owned(),
    };
    let table = [
        (("edit_file", "a.md"), ("write_file", "a.md"), true),
        (("edit_file", "a.md"), ("write_file", "b.md"), false),
        (("edit_file", ""), ("write_file", ""), false),
        (("edit_file", ""), ("edit_file", ""), true),
        (("exec_shell", "ls"), ("write_file", "ls"), false),
    ];
    for ((tool, scope), (granted, file), covered) in table {
        let grants = [grant(granted, file)];
        assert_eq!(is_covered(&grant(tool, scope), &grants), covered, "{tool} {scope}");
    }
}

#[test]
fn approval_prompts_point_out_letters_that_look_like_others() {
    let (tool, hour) = (ToolName::parse("exec_shell").unwrap(), Duration::from_hours(1));
    let command = "```\ncurl https://p\u{430}ypal.com\n```";
    let text = of_call(&tool, command, "of this", None, hour).prompt.unwrap().text;
    let warning = "Look closely: `https://p\u{430}ypal.com` mixes Latin and Cyrillic letters.";
    assert!(text.ends_with(warning), "{text}");
    let answer = of_answer(command, "an address", "", hour).prompt.unwrap().text;
    assert!(answer.ends_with(warning), "{answer}");
    let plain = of_call(&tool, "```\ncat файл\n```", "of this", None, hour).prompt.unwrap().text;
    assert!(!plain.contains("Look closely"), "{plain}");
}
