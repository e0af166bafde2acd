use parking_lot::Mutex;
use proptest::prelude::*;

use super::*;

/// The visible text of an answer in these pieces, and the text that was shown.
fn read(pieces: &[&str]) -> (String, String) {
    read_by(VisibleText::default(), pieces)
}

fn read_by(mut visible: VisibleText, pieces: &[&str]) -> (String, String) {
    let shown = Mutex::new(String::new());
    let show = |delta: Delta<'_>| match delta {
        Delta::Text(text) => shown.lock().push_str(text),
        Delta::Restart => shown.lock().clear(),
        Delta::Thought(_) | Delta::Retry(_) | Delta::Lost(_) => {}
    };
    pieces.iter().for_each(|piece| visible.push(piece, show));
    let text = visible.finish_text(show);
    (text, shown.into_inner())
}

/// Checks every division of a text into up to three pieces, and into single characters.
fn check(whole: &str, expected: &str) {
    let places: Vec<usize> =
        whole.char_indices().map(|(place, _)| place).chain([whole.len()]).collect();
    for (number, &first) in places.iter().enumerate() {
        for &second in &places[number..] {
            let pieces = [&whole[..first], &whole[first..second], &whole[second..]];
            let read = read(&pieces);
            assert_eq!(read, (expected.to_owned(), expected.to_owned()), "{pieces:?}");
        }
    }
    let pieces: Vec<&str> = whole.split("").collect();
    assert_eq!(read(&pieces), (expected.to_owned(), expected.to_owned()), "{whole:?} by character");
}

#[test]
fn f22_visible_hides_reasoning_in_any_tag_and_any_pieces() {
    let table = [
        ("<think>why</think>yes", "yes"),
        ("<think>why</think>\n\nyes", "yes"),
        ("<THINKING depth=\"2\">why</Thinking >yes", "yes"),
        ("<reasoning\n a='b'>why</reasoning>yes", "yes"),
        ("<reflection>hm</reflection>yes", "yes"),
        ("<seed:think>why</seed:think>yes", "yes"),
        ("<antThinking>why</antThinking>yes", "yes"),
        ("[THINK]why[/THINK]yes", "yes"),
        ("◁think▷why◁/think▷yes", "yes"),
        ("well, <think>why</think>yes", "well, yes"),
        ("<think/>yes", "yes"),
        ("<think>never closed", ""),
        ("yes<think>never closed", "yes"),
        ("why</think>yes", "yes"),
        ("a `b` <i>c</i></think>\nyes", "yes"),
        ("so <think>a<think>b</think>c</think>yes", "so yes"),
        ("<think>a `<think>` tag</think>yes", "yes"),
        ("<think>a</think>b</think>yes", "yes"),
        ("<think>a</think>yes<think>b</think>, no", "yes, no"),
        ("<think>it's `x</think>yes `y`", "yes `y`"),
        ("yes <think", "yes "),
        ("yes </think", "yes "),
        ("<mm:think>why</mm:think>yes", "yes"),
        ("<think:6124c78e>why</think:6124c78e>yes", "yes"),
    ];
    table.iter().for_each(|(whole, expected)| check(whole, expected));
}

#[test]
fn f22_visible_hides_reasoning_in_the_tokens_of_families() {
    // The start of reasoning, its end, and the end of the answer.
    let families = [
        ("<|channel>thought\n", "<channel|>", "<turn|>"),
        ("<|inner_prefix|>", "<|inner_suffix|>", "<|assistant_end|>"),
        ("<|START_THINKING|>", "<|END_THINKING|>", "<|END_OF_TURN_TOKEN|>"),
        ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>", "<|END_RESPONSE|>"),
        ("<|open|>think<|sep|>", "<|close|>think<|sep|>", "<|close|>message<|sep|>"),
        (
            "<|open|>think<|sep|>",
            "<|close|>think<|sep|><|open|>response<|sep|>",
            "<|close|>response<|sep|>",
        ),
        (
            "<|message_model|><|content_thinking|>",
            "<|end_message|><|message_model|><|content_text|>",
            "<|end_message|><|content_model_end_sampling|>",
        ),
        ("<|think|>", "<|end|><|begin|>assistant<|content|>", "<|end|>"),
        ("<|begin_of_thought|>", "<|end_of_thought|><|begin_of_solution|>", "<|end_of_solution|>"),
        ("<mm:think>", "</mm:think>", "[e~["),
    ];
    for (start, end, stop) in families {
        check(&format!("{start}why{end}yes{stop}"), "yes");
        check(&format!("why{end}yes{stop}"), "yes");
        check(&format!("{start}{end}yes"), "yes");
        check(&format!("{start}never closed"), "");
        check(&format!("well, {start}never closed"), "well, ");
    }
}

#[test]
fn f22_visible_removes_the_tags_around_an_answer() {
    let table = [
        ("<answer>yes</answer>", "yes"),
        ("<think>why</think>\n<answer>\nyes\n</answer>", "yes\n"),
        ("why\n</think>\n\n<response>\nyes\n</response>\n", "yes\n\n"),
        ("<think>why</think>Well.\n<answer>yes</answer>", "Well.\nyes"),
        ("yes</answer>", "yes"),
        ("A <response> tag, and a </response> tag.", "A <response> tag, and a </response> tag."),
        ("Write `<answer>`, `</answer>`.", "Write `<answer>`, `</answer>`."),
        ("yes <answ", "yes <answ"),
        ("yes <answer", "yes <answer"),
        ("<answers>yes</answers>", "<answers>yes</answers>"),
        ("0 < |x| > 1, a[b]<c>, [1]<2>, a <| b |> c", "0 < |x| > 1, a[b]<c>, [1]<2>, a <| b |> c"),
    ];
    table.iter().for_each(|(whole, expected)| check(whole, expected));
}

#[test]
fn f22_visible_hides_control_words() {
    let table = [
        ("yes<|im_end|>", "yes"),
        ("yes<|eot_id|>\n", "yes\n"),
        ("<|im_start|>assistant\nyes<|im_end|>", "yes"),
        ("yes<|im_end|>\n<|im_start|>user\nand?<|im_end|>\n<|im_start|>assistant\nno", "yes\n"),
        ("<|start_header_id|>assistant<|end_header_id|>\n\nyes", "yes"),
        (
            "<|channel|>analysis<|message|>why<|end|><|start|>assistant<|channel|>final<|message|>yes\
          <|return|>",
            "yes",
        ),
        ("<|channel|>analysis why", ""),
        ("<|channel|>commentary to=f<|message|>{}<|call|>yes", "yes"),
        ("<|start|>functions.f to=assistant<|channel|>commentary<|message|>{}<|end|>yes", "yes"),
        ("<|channel|>fin", ""),
        ("[INST] hi [/INST] yes</s>", "hi  yes"),
        ("<s>yes</s>", "yes"),
        ("<<SYS>>a<</SYS>>", "a"),
        ("<start_of_turn>model\nyes<end_of_turn>", "yes"),
        ("yes<end_of_turn>\n<start_of_turn>user\nmore", "yes\n"),
        ("yes<｜end▁of▁sentence｜>", "yes"),
        ("<｜Assistant｜>yes<｜User｜>more", "yes"),
        ("yes<|im_en", "yes"),
    ];
    table.iter().for_each(|(whole, expected)| check(whole, expected));
}

#[test]
fn visible_shows_tags_in_code_and_text_that_only_resembles_tags() {
    let table = [
        "Write `<think>` and `</think>`, not ``<|im_end|>``.",
        "```xml\n<think>why</think>\n\n<|im_end|> [/INST]\n```\ndone",
        "~~~\n</think>\n~~~~\ndone",
        "- ```\n  </think>\n\n  </s>\n  ```\n- b",
        "> ```\n> </think>\n> ```",
        "```\nnot closed </think>",
        "a < b, a <b> c, x << y, <3, <thinker>, <rethink>, <think-tank>, [a](b), [think]",
        "1 <| 2, <||>, <|a b? c|>, a | b |> c, <|",
        "  indented\n\n`a",
        "<",
        "ends with [",
        "",
    ];
    table.iter().for_each(|whole| check(whole, whole));
    check("a ` b </s>\n\nc ` d", "a ` b \n\nc ` d");
    check("``` a </s>` b", "``` a ` b");
}

#[test]
fn f7_visible_leaves_calls_unchanged_for_the_dialect() {
    let table = [
        (
            "<tool_call>{\"a\": \"</s><think>\"}</tool_call></s>",
            "<tool_call>{\"a\": \"</s><think>\"}</tool_call>",
        ),
        ("<|python_tag|>f(x)<|eom_id|>", "<|python_tag|>f(x)"),
        ("[TOOL_CALLS]f{\"a\": \"[INST]\"}</s>", "[TOOL_CALLS]f{\"a\": \"[INST]\"}"),
        (
            "<|channel|>analysis<|message|>why<|end|><|start|>assistant<|channel|>commentary to=functions.f \
             <|constrain|>json<|message|>{}<|call|>",
            "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}",
        ),
        (
            "<|start|>assistant to=functions.f<|channel|>commentary<|message|>{}<|call|>yes",
            "<|start|>assistant to=functions.f<|channel|>commentary<|message|>{}yes",
        ),
        ("<|start|>functions.f to=assistant<|channel|>commentary<|message|>{}<|end|>yes", "yes"),
        ("<think><tool_call>{}</tool_call></think>yes", "yes"),
        (
            "<think>why<tool_call>{\"name\": \"a\"}</tool_call> and",
            "<tool_call>{\"name\": \"a\"}</tool_call>",
        ),
        ("<think>a <tool_call> tag", ""),
        ("<think>a `<tool_call>` tag</think>yes", "yes"),
        ("<think>a <tool_call> tag</think>yes", "yes"),
        (
            "so <think>a<think>b</think><invoke name=\"a\"></invoke>",
            "so <invoke name=\"a\"></invoke>",
        ),
        ("<think>why<|tool_call_start|>[a()]<|im_end|>", "<|tool_call_start|>[a()]"),
        (
            "<|inner_prefix|>why<|tools_prefix|>[{\"a\": {}}]<|tools_suffix|>",
            "<|tools_prefix|>[{\"a\": {}}]<|tools_suffix|>",
        ),
        ("<|inner_prefix|>why<|tools_prefix|>[]<|tools_suffix|><|inner_suffix|>yes", "yes"),
        ("<|START_THINKING|>a <|START_ACTION|> token<|START_RESPONSE|>yes", "yes"),
        ("<|channel|>analysis why", ""),
        ("<|channel|>final<|message|>yes<|return|>", "yes"),
        ("yes <tool_c", "yes <tool_c"),
    ];
    for (whole, expected) in table {
        let pieces: Vec<&str> = whole.split("").collect();
        for pieces in [&[whole][..], &pieces] {
            let read = read_by(VisibleText::keeping_calls(), pieces);
            assert_eq!(read, (expected.to_owned(), expected.to_owned()), "{whole}");
        }
    }
}

#[test]
fn visible_shows_thoughts_apart_from_the_text_in_any_pieces() {
    let table = [
        ("<think>why</think>yes", "why"),
        ("<think>why not", "why not"),
        ("<|inner_prefix|>why<|inner_suffix|>yes", "why"),
        ("<|START_THINKING|>why<|END_THINKING|>yes", "why"),
        ("<think>one</think>yes<think>two</think>", "onetwo"),
        ("`<think>` yes", ""),
        ("yes", ""),
    ];
    for (whole, expected) in table {
        let pieces: Vec<&str> = whole.split("").collect();
        for pieces in [&[whole][..], &pieces] {
            let thoughts = Mutex::new(String::new());
            let show = |delta: Delta<'_>| {
                if let Delta::Thought(thought) = delta {
                    thoughts.lock().push_str(thought);
                }
            };
            let mut visible = VisibleText::keeping_calls();
            pieces.iter().for_each(|piece| visible.push(piece, show));
            visible.finish_text(show);
            assert_eq!(thoughts.into_inner(), expected, "{pieces:?}");
        }
    }
}

#[test]
fn visible_does_not_withhold_text_after_a_lone_backtick() {
    let long = format!("a ` {}<think>why</think> ` b", "word ".repeat(500));
    let (text, shown) = read(&[&long[..2500], &long[2500..]]);
    assert!(!text.contains("why") && text.ends_with(" ` b"), "{text}");
    assert_eq!(text, shown);
    let shown = Mutex::new(String::new());
    VisibleText::default().push(&long[..2500], |delta| {
        if let Delta::Text(text) = delta {
            shown.lock().push_str(text);
        }
    });
    assert!(shown.into_inner().len() > 2000);
}

proptest! {
    #[test]
    fn f22_visible_gives_the_same_text_wherever_the_answer_is_cut(
        parts in prop::collection::vec(prop::sample::select(vec![
            "<think>", "</think>", "<", ">", "/", "think", "|", "<|", "|>", "im_start", "user", "<|channel|>",
            "final", "analysis", "`", "``", "```", "\n", "\n\n", "~~~", " ", "é", "[", "[/INST]", "</s>", "- ",
            "word", "<|start|>", "assistant", "<tool_call>", "</tool_call>", "[TOOL_CALLS]", "<|python_tag|>",
            "to=", "commentary ", "<|message|>", "<|call|>", "{}", "◁think▷", "◁/think▷", "<start_of_turn>", "model",
            "<|channel>", "<channel|>", "<|inner_prefix|>", "<|inner_suffix|>", "<|start_response|>", "<|end|>",
            "<|open|>", "<|close|>", "<|sep|>", "tools", "<answer>", "</answer>", "]<]minimax[>[", "<|tool_call_start|>",
            "<|tool_call_end|>",
        ]), 0..24),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let whole = parts.concat();
        let mut places: Vec<usize> = cuts.iter()
            .map(|cut| whole.floor_char_boundary(cut.index(whole.len() + 1)))
            .chain([0, whole.len()])
            .collect();
        places.sort_unstable();
        let pieces: Vec<&str> = places.windows(2).map(|ends| &whole[ends[0]..ends[1]]).collect();
        for visible in [VisibleText::default, VisibleText::keeping_calls] {
            let at_once = read_by(visible(), &[&whole]);
            prop_assert_eq!(&at_once.0, &at_once.1);
            prop_assert_eq!(read_by(visible(), &pieces), at_once);
        }
    }
}
