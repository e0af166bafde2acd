use avocet_protocol::ids::ToolName;
use avocet_text::Redactor;
use serde_json::json;

use super::*;

const OF_THIS: AskReason<'_> = AskReason { why: "of this", new: &[] };

fn call_grant(tool: &ToolName, question: &Question, arguments: &Value) -> CallGrant {
    CallGrant::new(tool, question, arguments.as_object().unwrap(), &Redactor::default())
}

/// The grant of a call whose question has this scope.
fn scoped(tool: &ToolName, scope: &str) -> CallGrant {
    let (shown, scope) = (String::new(), scope.to_owned());
    call_grant(tool, &Question { shown, scope, shape: None }, &json!({}))
}

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
        let asked = of_call(&tool, drawn, OF_THIS, None, hour).prompt.unwrap().text;
        assert_eq!(asked.contains("`avocet approvals`"), hinted, "{asked}");
        // That command lists only pending approvals.
        assert!(!of_interruption("exec_shell", drawn).text.contains("`avocet approvals`"));
    }
}

#[test]
fn approval_prompts_do_not_expand_a_wait_placeholder_in_content() {
    let tool = ToolName::parse("exec_shell").unwrap();
    let hour = Duration::from_hours(1);
    let grant = scoped(&tool, "sh ./{wait}");
    let call = of_call(&tool, "sh ./{wait}", OF_THIS, Some(&grant), hour).prompt.unwrap();
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
    let grant = scoped(&tool, &scope);
    let hour = Duration::from_hours(1);
    let request = of_call(&tool, &shown, OF_THIS, Some(&grant), hour);
    assert_eq!(request.kind, WaitKind::Approval);
    assert_eq!(request.grant, Some(grant.offered));
    let prompt = request.prompt.unwrap();
    let says: Vec<&str> = prompt.choices.iter().map(|choice| choice.says.as_str()).collect();
    assert_eq!(says, ["/approve {wait}", "/approve {wait} session", "/deny {wait}"]);
    assert!(!prompt.text.contains("/approve"), "channels without buttons show the commands");
    assert!(prompt.text.contains("exec_shell: `make 'x' long"), "{}", prompt.text);
    assert!(prompt.text.ends_with("…`."), "{}", prompt.text);
    let once = of_call(&tool, &shown, OF_THIS, None, hour).prompt.unwrap();
    assert_eq!(once.choices.len(), 2);
    assert!(!once.text.contains("session"), "{}", once.text);
}

#[test]
fn approval_prompts_point_out_letters_that_look_like_others() {
    let (tool, hour) = (ToolName::parse("exec_shell").unwrap(), Duration::from_hours(1));
    let command = "```\ncurl https://p\u{430}ypal.com\n```";
    let text = of_call(&tool, command, OF_THIS, None, hour).prompt.unwrap().text;
    let warning = "Look closely: `https://p\u{430}ypal.com` mixes Latin and Cyrillic letters.";
    assert!(text.ends_with(warning), "{text}");
    let answer = of_answer(command, "an address", "", hour).prompt.unwrap().text;
    assert!(answer.ends_with(warning), "{answer}");
    let plain = of_call(&tool, "```\ncat файл\n```", OF_THIS, None, hour).prompt.unwrap().text;
    assert!(!plain.contains("Look closely"), "{plain}");
}

#[test]
fn approval_prompt_tells_what_the_session_covers() {
    let hour = Duration::from_hours(1);
    let told = |tool: &str, question: &Question, arguments: Value| {
        let tool = ToolName::parse(tool).unwrap();
        let grant = call_grant(&tool, question, &arguments);
        let text = of_call(&tool, "x", OF_THIS, Some(&grant), hour).prompt.unwrap().text;
        text.rsplit("\n\n").next().unwrap().to_owned()
    };
    let plain = plain_question(&Map::new());
    let known = "“For this session” covers every bank__send until I read words of strangers. After \
        that, texts and dates may differ, but each name, address and number must be one that you \
        have allowed";
    let typed = "or that a person has typed in this chat.";
    assert_eq!(
        told("bank__send", &plain, json!({"to": ["a@b.dev", "c"], "text": "Hi"})),
        format!("{known} (here `to: a@b.dev`, `to: c`) {typed}")
    );
    let only_text = told("bank__send", &plain, json!({"text": "Hi"}));
    assert_eq!(only_text, format!("{known} {typed}"));
    let cut = told("bank__send", &plain, json!({"to": "a", "patch": "x\ny"}));
    assert!(cut.ends_with(" The rest of this call is asked about each time."), "{cut}");
    let shape = Some("cargo test …".to_owned());
    let question = Question { scope: "cargo test a".to_owned(), shape, ..plain };
    assert_eq!(
        told("exec_shell", &question, json!({})),
        "“For this session” covers `cargo test …` with other arguments, inside the sandbox and \
            without a network."
    );
}

#[test]
fn new_arguments_are_named_and_are_no_part_of_the_digest() {
    let (tool, hour) = (ToolName::parse("bank__send").unwrap(), Duration::from_hours(1));
    let plain = plain_question(&Map::new());
    let arguments = json!({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": "six\u{200b}"});
    let grant = call_grant(&tool, &plain, &arguments);
    let GrantKind::Arguments(all) = &grant.kind else { panic!("{grant:?}") };
    let ask = |new| of_call(&tool, "x", AskReason { why: "of this", new }, Some(&grant), hour);
    let one = ask(&all[5..]);
    let text = &one.prompt.as_ref().unwrap().text;
    let told = "I ask because of this. You have allowed this tool for the session, but \
        `f: six\\u{200b}` was not in what you allowed.\n\nx\n\n";
    assert!(text.contains(told), "{text}");
    let text = ask(all).prompt.unwrap().text;
    let told = "`a: 1`, `b: 2`, `c: 3`, `d: 4`, `e: 5` and 1 more were not in what you allowed.";
    assert!(text.contains(told), "{text}");
    assert_eq!(one.shown, ask(&[]).shown);
}
