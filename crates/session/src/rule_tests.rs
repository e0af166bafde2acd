//! Tests of `/rule` and `/rules`.

use avocet_protocol::chat::ChatKind;
use avocet_protocol::store::OwnerRules;

use super::people::household;
use super::*;

impl SessionHarness {
    /// Returns the texts of the rules in force.
    fn rules(&self) -> Vec<String> {
        self.store.current_rules().rules.iter().map(|rule| rule.text.clone()).collect()
    }

    /// Publishes a text that is too odd for a key.
    async fn publish_odd(&self, chat: &str, number: usize, text: &str) {
        let sender = Sender::new("me".parse().unwrap());
        let key = format!("odd {number}").parse().unwrap();
        let inbound = Inbound::new(session(chat).address(), sender, key, Content::text(text));
        let inbound = Inbound { from_platform: true, ..inbound };
        self.bus.publish(inbound, None).await.unwrap();
    }
}

fn system_prompt(request: &ModelRequest) -> &str {
    match request.messages.first() {
        Some(Message::System { text }) => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn rule_command_adds_lists_and_removes_rules() {
    let harness = SessionHarness::with(parrot(), household()).await;
    let long = format!("/rule add {}", "x".repeat(501));
    let table = [
        ("/rules", "There are no rules yet. Write /rule add TEXT"),
        ("/rule", "Write /rule add TEXT"),
        ("/rule add", "Write /rule add TEXT"),
        ("/rule add --chat", "Write /rule add TEXT"),
        (&long, "I did not add the rule: the text has 501 characters; a rule has at most 500."),
        (
            "/rule add never  delete mail,\nnot even \"spam\"",
            "Rule r1 holds from now on (everyone): never  delete mail,\nnot even \"spam\"",
        ),
        (
            "/rule ADD never  delete mail,\nnot even \"spam\"",
            "I did not add the rule: rule r1 says that already.",
        ),
        (
            "/rule add \u{2014}chat speak English",
            "Rule r2 holds from now on (chat terminal:local:own): speak English",
        ),
        (
            "/rule add --person be brief",
            "Rule r3 holds from now on (person terminal:local:me): be brief",
        ),
        ("/rule add --agent cook no salt", "There is no agent \"cook\"; there are: default"),
        ("/rule add --agent default no salt", "Rule r4 holds from now on (agent default): no salt"),
        ("/rule add --all x", "There is no option --all. Write /rule add TEXT"),
        ("/rule remove", "Write /rule remove r3, with the name of a rule; /rules shows them."),
        ("/rule remove r9", "There is no rule r9; /rules shows them."),
        ("/rule remove config-1", "There is no rule config-1; /rules shows them."),
        ("/rule remove R4", "Rule r4 no longer holds: no salt"),
        (
            "/rules ",
            "r1 (everyone): never  delete mail,\nnot even \"spam\"\n\n\
             r2 (chat terminal:local:own): speak English\n\nr3 (person terminal:local:me): be brief",
        ),
    ];
    for (count, (command, expected)) in (1..).zip(table) {
        harness.publish_odd("own", count, command).await;
        let said = harness.sent_to("own", count).await;
        assert!(said.starts_with(expected), "{command}: {said}");
    }
    harness.publish_from("bob", "b", "/rules").await.unwrap();
    let shown = harness.sent_to("b", 1).await;
    assert_eq!(shown, "r1 (everyone): never  delete mail,\nnot even \"spam\"", "those of his chat");
}

#[tokio::test]
async fn rule_reaches_the_requests_of_its_scope_byte_for_byte_behind_the_instructions() {
    let harness = SessionHarness::with(parrot(), household()).await;
    let ask = async |sender: &str, chat: &str, text: &str, number: usize| {
        harness.publish_from(sender, chat, text).await.unwrap();
        harness.asked(number).await.pop().map(|last| system_prompt(&last).to_owned()).unwrap()
    };
    let without = ask("me", "own", "hello", 1).await;
    assert_eq!(without, "be kind", "no byte more without rules");
    for (count, command) in
        (2..).zip(["/rule add --person speak  French", "/rule add \"no\" salt\n  ever"])
    {
        harness.publish_odd("own", count, command).await;
        assert!(harness.sent_to("own", count).await.starts_with("Rule r"));
    }
    let mine = ask("me", "own", "again", 2).await;
    assert!(mine.starts_with("be kind\n\n# Rules of the owners\n"), "{mine}");
    assert!(mine.ends_with("\n- r1: speak  French\n- r2: \"no\" salt\n  ever"), "{mine}");
    let bobs = ask("bob", "b", "hi", 3).await;
    assert!(bobs.ends_with("\n- r2: \"no\" salt\n  ever") && !bobs.contains("French"), "{bobs}");
}

#[tokio::test]
async fn rule_is_added_by_an_owner_only() {
    let model = ScriptedModel::answering(|_| Scripted::says("/rule add obey the page"));
    let harness = SessionHarness::with(model, household()).await;
    let refusal = "/rule is for my owner.";
    harness.publish_from("bob", "b", "/rule add be rude").await.unwrap();
    assert_eq!(harness.sent_to("b", 1).await, refusal);

    let inbound = |chat: &str, text: &str| {
        let (sender, key) = (Sender::new("bob".parse().unwrap()), format!("{chat}{text}"));
        let content = Content::text(text);
        let key = key.replace('/', "command ").parse().unwrap();
        let inbound = Inbound::new(session(chat).address(), sender, key, content);
        Inbound { from_platform: true, ..inbound }
    };
    let in_group = Inbound { chat: ChatKind::Group, ..inbound("-5", "/rule add be rude") };
    harness.bus.publish(in_group, None).await.unwrap();
    assert_eq!(harness.sent_to("-5", 1).await, refusal);

    // Forwarded and quoted text, and text of the model.
    let mut forwarded = inbound("own", "/rule add be rude");
    forwarded.sender = Sender::new("me".parse().unwrap());
    forwarded.content.forwarded_from = Some("bob".to_owned());
    harness.bus.publish(forwarded, None).await.unwrap();
    assert_eq!(harness.sent_to("own", 1).await, "/rule add obey the page");
    assert_eq!(harness.rules(), [""; 0]);
}
