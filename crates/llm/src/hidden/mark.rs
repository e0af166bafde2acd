//! The marks that separate visible from hidden text: reasoning tags and control tokens, as model
//! families write them.

/// The meaning of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// Start of reasoning.
    Think,
    /// End of reasoning.
    ThinkEnd,
    /// Start of the final channel.
    Final,
    /// Start of another channel or another role.
    Aside,
    /// Start of the assistant's text.
    Assistant,
    /// Start of the user's text.
    User,
    /// End of a message.
    End,
    /// A control token without effect on the visibility.
    Word,
}

/// A mark at the start of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkMatch {
    /// A mark and its length in bytes.
    Mark(usize, Mark),
    /// The text can still become a mark.
    Open,
    Nothing,
}

/// Maximum bytes of a tag; longer text is treated as plain text.
const LONGEST: usize = 256;
/// Maximum bytes of the name in a mark.
const LONGEST_NAME: usize = 40;

/// Names of reasoning tags, in lower case. They may have a prefix that ends in a colon.
const TAGS: [&str; 10] = [
    "antthinking",
    "inner_monologue",
    "reasoning",
    "reflection",
    "scratchpad",
    "think",
    "thinking",
    "thought",
    "thoughts",
    "unused94",
];

/// Marks with a single spelling.
const FIXED: [(&str, Mark); 15] = [
    ("[THINK]", Mark::Think),
    ("[/THINK]", Mark::ThinkEnd),
    ("◁think▷", Mark::Think),
    ("◁/think▷", Mark::ThinkEnd),
    ("[INST]", Mark::Word),
    ("[/INST]", Mark::Word),
    ("<<SYS>>", Mark::Word),
    ("<</SYS>>", Mark::Word),
    ("<s>", Mark::Word),
    ("</s>", Mark::Word),
    ("<bos>", Mark::Word),
    ("<eos>", Mark::Word),
    ("<pad>", Mark::Word),
    ("<unk>", Mark::Word),
    ("<end_of_turn>", Mark::End),
];

/// The one control token without bars that a role follows.
const START_OF_TURN: &str = "<start_of_turn>";
/// Control tokens that a role follows.
const STARTS: [&str; 4] = ["im_start", "start", "start_header_id", "start_of_turn"];
/// Control tokens that end a message.
const ENDS: [&str; 6] = ["call", "end", "end_of_turn", "eot_id", "im_end", "return"];
/// Roles and the effect of a change to them.
const ROLES: [(&str, Mark); 8] = [
    ("assistant", Mark::Assistant),
    ("developer", Mark::Aside),
    ("function", Mark::Aside),
    ("ipython", Mark::Aside),
    ("model", Mark::Assistant),
    ("system", Mark::Aside),
    ("tool", Mark::Aside),
    ("user", Mark::User),
];
const FINAL: &str = "final";

/// The index of the first character that can begin a mark.
pub(super) fn find(text: &str) -> Option<usize> {
    text.find(['<', '[', '◁'])
}

/// Bytes of the character that can begin a mark.
pub(super) fn opener_bytes(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

/// Returns `true` if a tag after this character is only quoted.
pub(super) fn is_quoted(before: Option<char>) -> bool {
    before == Some('`')
}

/// The mark at the start of a text; `is_all` means that the text is complete.
pub(super) fn at_start(text: &str, is_all: bool) -> MarkMatch {
    let sights = [fixed(text), tag(text), control_word(text, is_all), turn(text, is_all)];
    let found = |wanted: fn(&MarkMatch) -> bool| sights.iter().copied().find(wanted);
    if let Some(mark) = found(|sight| matches!(sight, MarkMatch::Mark(..))) {
        return mark;
    }
    match found(|sight| *sight == MarkMatch::Open) {
        None => MarkMatch::Nothing,
        Some(open) if !is_all => open,
        Some(_) => cut_off(text),
    }
}

/// A mark that is incomplete because the answer was cut off in it.
fn cut_off(text: &str) -> MarkMatch {
    let is_mark =
        |end: &str| matches!(at_start(&format!("{text}{end}"), true), MarkMatch::Mark(..));
    match [">", "|>", "｜>"].into_iter().any(is_mark) {
        true => MarkMatch::Mark(text.len(), Mark::Word),
        false => MarkMatch::Nothing,
    }
}

fn fixed(text: &str) -> MarkMatch {
    let found = FIXED.iter().find(|(word, _)| text.starts_with(word));
    match found {
        Some((word, mark)) => MarkMatch::Mark(word.len(), *mark),
        None if FIXED.iter().any(|(word, _)| word.starts_with(text)) => MarkMatch::Open,
        None => MarkMatch::Nothing,
    }
}

/// Matches `<think>`, `</Thinking>`, `<reasoning effort="high">`, `<think/>`, `<seed:think>`.
fn tag(text: &str) -> MarkMatch {
    let Some(inner) = text.strip_prefix('<') else { return MarkMatch::Nothing };
    let (inner, closes) = match inner.strip_prefix('/') {
        Some(inner) => (inner.trim_start(), true),
        None => (inner, false),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
    let (name, rest) = inner.split_at(inner.find(|c| !is_name(c)).unwrap_or(inner.len()));
    if rest.is_empty() {
        return if name.len() <= LONGEST_NAME { MarkMatch::Open } else { MarkMatch::Nothing };
    }
    if !is_tag(name) || !rest.starts_with([' ', '\t', '\n', '/', '>']) {
        return MarkMatch::Nothing;
    }
    let before = text.len() - rest.len();
    match rest.find(['<', '>']) {
        None if text.len() <= LONGEST => MarkMatch::Open,
        Some(end) if before + end <= LONGEST && rest[end..].starts_with('>') => {
            let mark = match (closes, rest[..end].ends_with('/')) {
                (true, _) => Mark::ThinkEnd,
                (false, true) => Mark::Word,
                (false, false) => Mark::Think,
            };
            MarkMatch::Mark(before + end + 1, mark)
        }
        _ => MarkMatch::Nothing,
    }
}

fn is_tag(name: &str) -> bool {
    let name = name.rsplit_once(':').map_or(name, |(_, name)| name);
    TAGS.iter().any(|tag| tag.eq_ignore_ascii_case(name))
}

/// Matches `<|im_end|>`, `<|channel|>analysis`, `<|im_start|>user`, `<｜end▁of▁sentence｜>`.
fn control_word(text: &str, is_all: bool) -> MarkMatch {
    let Some(inner) = text.strip_prefix('<') else { return MarkMatch::Nothing };
    let Some(bar) = inner.chars().next() else { return MarkMatch::Open };
    if !matches!(bar, '|' | '｜') {
        return MarkMatch::Nothing;
    }
    let inner = &inner[bar.len_utf8()..];
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ' | '▁');
    let (name, rest) = inner.split_at(inner.find(|c| !is_name(c)).unwrap_or(inner.len()));
    let end = format!("{bar}>");
    if name.len() > LONGEST_NAME || (name.is_empty() && !rest.is_empty()) {
        return MarkMatch::Nothing;
    }
    match rest.strip_prefix(&end) {
        Some(rest) => with_header(name, text.len() - rest.len(), rest, is_all),
        None if end.starts_with(rest) => MarkMatch::Open,
        None => MarkMatch::Nothing,
    }
}

/// Matches `<start_of_turn>model`.
fn turn(text: &str, is_all: bool) -> MarkMatch {
    match text.strip_prefix(START_OF_TURN) {
        Some(rest) => with_header("start_of_turn", START_OF_TURN.len(), rest, is_all),
        None if START_OF_TURN.starts_with(text) => MarkMatch::Open,
        None => MarkMatch::Nothing,
    }
}

/// Extends a control token of this many bytes by the role or channel name that belongs to it.
fn with_header(name: &str, bytes: usize, rest: &str, is_all: bool) -> MarkMatch {
    let header = rest.trim_start_matches(' ');
    let blanks = rest.len() - header.len();
    let with = |word: &str, mark| MarkMatch::Mark(bytes + blanks + word.len(), mark);
    let open = || if is_all { with(header, Mark::Word) } else { MarkMatch::Open };
    let starts = |role: &str| role.starts_with(header);
    if STARTS.contains(&name) {
        return match ROLES.iter().find(|(role, _)| header.starts_with(role)) {
            Some((role, mark)) => with(role, *mark),
            None if ROLES.iter().any(|(role, _)| starts(role)) => open(),
            None => MarkMatch::Mark(bytes, Mark::Word),
        };
    }
    if name == "channel" {
        return match header.strip_prefix(FINAL) {
            Some(_) => with(FINAL, Mark::Final),
            None if starts(FINAL) => open(),
            None => MarkMatch::Mark(bytes, Mark::Aside),
        };
    }
    let name = name.to_ascii_lowercase();
    let role = ROLES.iter().find(|(role, _)| *role == name).map(|(_, mark)| *mark);
    let end = ENDS.contains(&name.as_str()).then_some(Mark::End);
    MarkMatch::Mark(bytes, role.or(end).unwrap_or(Mark::Word))
}
