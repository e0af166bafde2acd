//! The control tokens that separate visible from hidden text, as model families write them. Reasoning
//! tags count as control tokens.

use super::tokens::{TokenStart, match_token};

/// The meaning of a control token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ControlToken {
    /// Start of reasoning.
    Think,
    /// End of reasoning.
    ThinkEnd,
    /// Start of the final channel.
    Final,
    /// Start of reasoning in a section of its own. Other tokens than the closing one end it, too.
    Thoughts,
    /// Start of another channel or another role.
    Aside,
    /// Start of the assistant's text.
    Assistant,
    /// Start of the user's text.
    User,
    /// End of a message.
    End,
    /// Start of a tag around the answer, which is removed if it stands where an answer begins.
    Wrap,
    /// End of a tag around the answer.
    WrapEnd,
    /// A token without effect on the visibility.
    Word,
}

/// A control token at the start of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ControlTokenMatch {
    /// A token and its length in bytes.
    Token(usize, ControlToken),
    /// The text can still become a token.
    Open,
    Nothing,
}

/// Maximum bytes of a tag; longer text is treated as plain text.
const LONGEST: usize = 256;
/// Maximum bytes of the name in a token.
const LONGEST_NAME: usize = 40;

/// Names of reasoning tags, in lower case. They may have a prefix that ends in a colon.
const TAGS: [&str; 11] = [
    "antthinking",
    "inner_monologue",
    "longcat_think",
    "reasoning",
    "reflection",
    "scratchpad",
    "think",
    "thinking",
    "thought",
    "thoughts",
    "unused94",
];

/// Names of tags around an answer.
const WRAPS: [&str; 3] = ["answer", "final_answer", "response"];

/// Tokens with a single spelling.
const FIXED: [(&str, ControlToken); 23] = [
    ("[THINK]", ControlToken::Think),
    ("[/THINK]", ControlToken::ThinkEnd),
    ("◁think▷", ControlToken::Think),
    ("◁/think▷", ControlToken::ThinkEnd),
    ("[INST]", ControlToken::Word),
    ("[/INST]", ControlToken::Word),
    ("<<SYS>>", ControlToken::Word),
    ("<</SYS>>", ControlToken::Word),
    ("<s>", ControlToken::Word),
    ("</s>", ControlToken::Word),
    ("<bos>", ControlToken::Word),
    ("<eos>", ControlToken::Word),
    ("<pad>", ControlToken::Word),
    ("<unk>", ControlToken::Word),
    ("<end_of_turn>", ControlToken::End),
    ("]<]minimax[>[", ControlToken::Word),
    ("<]minimax[>[", ControlToken::Word),
    ("]~!b[", ControlToken::Word),
    ("]~b]ai", ControlToken::Assistant),
    ("]~b]system", ControlToken::Aside),
    ("]~b]tool", ControlToken::Aside),
    ("]~b]user", ControlToken::User),
    ("[e~[", ControlToken::End),
];
/// Tokens with a bar on one side, as [`match_token`] takes them.
const HALF: [(&str, ControlToken); 5] = [
    ("<|channel>", ControlToken::Thoughts),
    ("<channel|>", ControlToken::ThinkEnd),
    ("<|tool_response>", ControlToken::Aside),
    ("<tool_response|>", ControlToken::End),
    ("<turn|>", ControlToken::End),
];

/// Control tokens that a role follows, with their own brackets.
const TURNS: [&str; 2] = ["<start_of_turn>", "<|turn>"];
/// Names of control tokens that a role follows.
const STARTS: [&str; 5] = ["begin", "im_start", "start", "start_header_id", "start_of_turn"];
/// Roles and the effect of a change to them.
const ROLES: [(&str, ControlToken); 8] = [
    ("assistant", ControlToken::Assistant),
    ("developer", ControlToken::Aside),
    ("function", ControlToken::Aside),
    ("ipython", ControlToken::Aside),
    ("model", ControlToken::Assistant),
    ("system", ControlToken::Aside),
    ("tool", ControlToken::Aside),
    ("user", ControlToken::User),
];
const FINAL: &str = "final";
/// The effect of control tokens with two bars, by their names in lower case with `_`. Other names
/// have none. A name can also be a role, or begin or end with one: `message_user`, `user_start`.
const NAMES: [(&str, ControlToken); 32] = [
    ("assistant_end", ControlToken::End),
    ("begin_of_solution", ControlToken::Final),
    ("begin_of_thought", ControlToken::Thoughts),
    ("call", ControlToken::End),
    ("chatbot_token", ControlToken::Assistant),
    ("content", ControlToken::Final),
    ("content_model_end_sampling", ControlToken::End),
    ("content_text", ControlToken::Final),
    ("content_thinking", ControlToken::Thoughts),
    ("end", ControlToken::End),
    ("end_message", ControlToken::End),
    ("end_of_solution", ControlToken::End),
    ("end_of_thought", ControlToken::ThinkEnd),
    ("end_of_turn", ControlToken::End),
    ("end_of_turn_token", ControlToken::End),
    ("end_response", ControlToken::End),
    ("end_text", ControlToken::End),
    ("end_thinking", ControlToken::ThinkEnd),
    ("eot_id", ControlToken::End),
    ("im_end", ControlToken::End),
    ("im_system", ControlToken::Aside),
    ("inner_prefix", ControlToken::Thoughts),
    ("inner_suffix", ControlToken::ThinkEnd),
    ("observation", ControlToken::Aside),
    ("return", ControlToken::End),
    ("start_response", ControlToken::Final),
    ("start_text", ControlToken::Final),
    ("start_thinking", ControlToken::Thoughts),
    ("start_tool_result", ControlToken::Aside),
    ("think", ControlToken::Thoughts),
    ("tool_output_begin", ControlToken::Aside),
    ("tool_outputs_begin", ControlToken::Aside),
];
/// Parts of the name of a control token around a role.
const AROUND_ROLES: [&str; 3] = ["message_", "_start", "_token"];
/// The name of the control token between a tag of Kimi K3 and its content.
const SEPARATOR: &str = "<|sep|>";
/// The tags of Kimi K3.
const ELEMENTS: [&str; 6] = ["argument", "call", "message", "response", "think", "tools"];

/// The index of the first character that can begin a token.
pub(super) fn find_token_start(text: &str) -> Option<usize> {
    text.find(['<', '[', ']', '◁'])
}

/// Bytes of the character that can begin a token.
pub(super) fn opener_bytes(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

/// Returns `true` if a tag after this character is only quoted.
pub(super) fn is_quoted(before: Option<char>) -> bool {
    before == Some('`')
}

/// The token at the start of a text; `is_all` means that the text is complete.
pub(super) fn at_start(text: &str, is_all: bool) -> ControlTokenMatch {
    let candidates = [
        match_fixed(text),
        match_half(text),
        match_tag(text),
        control_word(text, is_all),
        match_turn(text, is_all),
    ];
    let found = |wanted: fn(&ControlTokenMatch) -> bool| candidates.iter().copied().find(wanted);
    if let Some(token) = found(|candidate| matches!(candidate, ControlTokenMatch::Token(..))) {
        return token;
    }
    match found(|candidate| *candidate == ControlTokenMatch::Open) {
        None => ControlTokenMatch::Nothing,
        Some(open) if !is_all => open,
        Some(_) => cut_off(text),
    }
}

/// A token that is incomplete because the answer was cut off in it.
fn cut_off(text: &str) -> ControlTokenMatch {
    let is_token = |end: &str| match at_start(&format!("{text}{end}"), true) {
        ControlTokenMatch::Token(_, token) => {
            !matches!(token, ControlToken::Wrap | ControlToken::WrapEnd)
        }
        ControlTokenMatch::Open | ControlTokenMatch::Nothing => false,
    };
    if [">", "|>", "｜>"].into_iter().any(is_token) {
        ControlTokenMatch::Token(text.len(), ControlToken::Word)
    } else {
        ControlTokenMatch::Nothing
    }
}

fn match_fixed(text: &str) -> ControlTokenMatch {
    let found = FIXED.iter().find(|(word, _)| text.starts_with(word));
    match found {
        Some((word, token)) => ControlTokenMatch::Token(word.len(), *token),
        None if FIXED.iter().any(|(word, _)| word.starts_with(text)) => ControlTokenMatch::Open,
        None => ControlTokenMatch::Nothing,
    }
}

fn match_half(text: &str) -> ControlTokenMatch {
    let mut is_open = false;
    for (word, control) in HALF {
        match match_token(text, word) {
            TokenStart::Whole(bytes) => return ControlTokenMatch::Token(bytes, control),
            TokenStart::Part => is_open = true,
            TokenStart::Nothing => {}
        }
    }
    if is_open { ControlTokenMatch::Open } else { ControlTokenMatch::Nothing }
}

/// Matches `<think>`, `</Thinking>`, `<reasoning effort="high">`, `<think/>`, `<seed:think>`.
fn match_tag(text: &str) -> ControlTokenMatch {
    let Some(inner) = text.strip_prefix('<') else { return ControlTokenMatch::Nothing };
    let (inner, closes) = match inner.strip_prefix('/') {
        Some(inner) => (inner.trim_start(), true),
        None => (inner, false),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
    let (name, rest) = inner.split_at(inner.find(|c| !is_name(c)).unwrap_or(inner.len()));
    if rest.is_empty() {
        return if name.len() <= LONGEST_NAME {
            ControlTokenMatch::Open
        } else {
            ControlTokenMatch::Nothing
        };
    }
    if WRAPS.iter().any(|wrap| wrap.eq_ignore_ascii_case(name)) && rest.starts_with('>') {
        let token = if closes { ControlToken::WrapEnd } else { ControlToken::Wrap };
        return ControlTokenMatch::Token(text.len() - rest.len() + 1, token);
    }
    if !is_tag(name) || !rest.starts_with([' ', '\t', '\n', '/', '>']) {
        return ControlTokenMatch::Nothing;
    }
    let before = text.len() - rest.len();
    match rest.find(['<', '>']) {
        None if text.len() <= LONGEST => ControlTokenMatch::Open,
        Some(end) if before + end <= LONGEST && rest[end..].starts_with('>') => {
            let token = match (closes, rest[..end].ends_with('/')) {
                (true, _) => ControlToken::ThinkEnd,
                (false, true) => ControlToken::Word,
                (false, false) => ControlToken::Think,
            };
            ControlTokenMatch::Token(before + end + 1, token)
        }
        _ => ControlTokenMatch::Nothing,
    }
}

/// Returns `true` for the name of a reasoning tag, also with a prefix or a suffix.
fn is_tag(name: &str) -> bool {
    let is_one = |name: &str| TAGS.iter().any(|tag| tag.eq_ignore_ascii_case(name));
    is_one(name) || name.split_once(':').is_some_and(|(a, b)| is_one(a) || is_one(b))
}

/// Matches `<|im_end|>`, `<|channel|>analysis`, `<|im_start|>user`, `<｜end▁of▁sentence｜>`.
fn control_word(text: &str, is_all: bool) -> ControlTokenMatch {
    let Some(inner) = text.strip_prefix('<') else { return ControlTokenMatch::Nothing };
    // Only well-known names are tokens with a blank beside the bar, which text may have, too.
    let (inner, has_blank) = match inner.strip_prefix(' ') {
        Some(inner) => (inner, true),
        None => (inner, false),
    };
    let Some(bar) = inner.chars().next() else { return ControlTokenMatch::Open };
    if !matches!(bar, '|' | '｜') {
        return ControlTokenMatch::Nothing;
    }
    let inner = &inner[bar.len_utf8()..];
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ' | '▁');
    let (name, rest) = inner.split_at(inner.find(|c| !is_name(c)).unwrap_or(inner.len()));
    if name.len() > LONGEST_NAME || (name.trim().is_empty() && !rest.is_empty()) {
        return ControlTokenMatch::Nothing;
    }
    let has_blank = has_blank || name.starts_with(' ');
    let name = name.trim().to_ascii_lowercase().replace('▁', "_");
    match match_token(rest, "|>") {
        TokenStart::Whole(end) => {
            let after = &rest[end..];
            match with_header(&name, text.len() - after.len(), after, is_all) {
                ControlTokenMatch::Token(_, ControlToken::Word) if has_blank => {
                    ControlTokenMatch::Nothing
                }
                found => found,
            }
        }
        TokenStart::Part => ControlTokenMatch::Open,
        TokenStart::Nothing => ControlTokenMatch::Nothing,
    }
}

/// Matches `<start_of_turn>model`.
fn match_turn(text: &str, is_all: bool) -> ControlTokenMatch {
    let mut is_open = false;
    for turn in TURNS {
        match match_token(text, turn) {
            TokenStart::Whole(bytes) => {
                return with_header("start_of_turn", bytes, &text[bytes..], is_all);
            }
            TokenStart::Part => is_open = true,
            TokenStart::Nothing => {}
        }
    }
    if is_open { ControlTokenMatch::Open } else { ControlTokenMatch::Nothing }
}

/// Extends a control token of this many bytes by the role or channel name that belongs to it.
fn with_header(name: &str, bytes: usize, rest: &str, is_all: bool) -> ControlTokenMatch {
    let header = rest.trim_start_matches(' ');
    let blanks = rest.len() - header.len();
    let with = |word: &str, token| ControlTokenMatch::Token(bytes + blanks + word.len(), token);
    let open = || if is_all { with(header, ControlToken::Word) } else { ControlTokenMatch::Open };
    let starts = |role: &str| role.starts_with(header);
    if STARTS.contains(&name) {
        return match ROLES.iter().find(|(role, _)| header.starts_with(role)) {
            Some((role, token)) => with(role, *token),
            None if ROLES.iter().any(|(role, _)| starts(role)) => open(),
            None => ControlTokenMatch::Token(bytes, ControlToken::Word),
        };
    }
    if name == "channel" {
        return match header.strip_prefix(FINAL) {
            Some(_) => with(FINAL, ControlToken::Final),
            None if starts(FINAL) => open(),
            None => ControlTokenMatch::Token(bytes, ControlToken::Aside),
        };
    }
    if matches!(name, "open" | "close") {
        return match_element(name == "close", bytes, rest, is_all);
    }
    let is_role = |role: &str| {
        name == role
            || AROUND_ROLES.iter().any(|part| {
                let bare = name.strip_prefix(part).or_else(|| name.strip_suffix(part));
                bare == Some(role)
            })
    };
    let role = ROLES.iter().find(|(role, _)| is_role(role));
    let effect = NAMES.iter().find(|(one, _)| *one == name).or(role);
    ControlTokenMatch::Token(bytes, effect.map_or(ControlToken::Word, |(_, token)| *token))
}

/// Matches a tag of Kimi K3 behind `<|open|>` or `<|close|>`: `think<|sep|>`,
/// `message role="user"<|sep|>`.
fn match_element(closes: bool, bytes: usize, rest: &str, is_all: bool) -> ControlTokenMatch {
    let near = &rest[..rest.floor_char_boundary(LONGEST)];
    let head = near.split('<').next().unwrap_or_default();
    let (name, attributes) = head.trim().split_once(' ').unwrap_or((head.trim(), ""));
    if !ELEMENTS.iter().any(|element| element.starts_with(name)) {
        return ControlTokenMatch::Token(bytes, ControlToken::Word);
    }
    let end = match match_token(&rest[head.len()..], SEPARATOR) {
        TokenStart::Whole(end) => bytes + head.len() + end,
        TokenStart::Part if head.len() < LONGEST && !is_all => return ControlTokenMatch::Open,
        TokenStart::Part if is_all => bytes + rest.len(),
        TokenStart::Part | TokenStart::Nothing => {
            return ControlTokenMatch::Token(bytes, ControlToken::Word);
        }
    };
    let role = || ROLES.iter().find(|(role, _)| attributes.contains(&format!("\"{role}\"")));
    let token = match (name, closes) {
        ("think", false) => ControlToken::Thoughts,
        ("think", true) => ControlToken::ThinkEnd,
        ("response", false) => ControlToken::Final,
        ("message", false) => role().map_or(ControlToken::Word, |(_, token)| *token),
        _ => ControlToken::Word,
    };
    ControlTokenMatch::Token(end, token)
}
