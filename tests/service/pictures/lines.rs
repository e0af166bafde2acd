//! The lines of a message, from the entities of Telegram and from the Markdown of Discord.

use avocet_testkit::telegram::SentMessage;
use regex::Regex;

use super::draw::{LineKind, PictureLine, PictureStyle};

/// The lines of a text without styles.
pub(super) fn plain(text: &str) -> Vec<PictureLine> {
    let line = |line: &str| PictureLine {
        kind: LineKind::Plain,
        spans: vec![(line.to_owned(), PictureStyle::default())],
    };
    text.lines().map(line).collect()
}

/// The lines of a message as Telegram's clients show them.
pub(super) fn of_telegram(message: &SentMessage) -> Vec<PictureLine> {
    let styled: Vec<(char, PictureStyle, LineKind)> = styled(message).collect();
    let lines = styled.split(|(c, ..)| *c == '\n');
    lines
        .map(|line| {
            let mut spans: Vec<(String, PictureStyle)> = Vec::new();
            for (c, style, _) in line {
                match spans.last_mut() {
                    Some((text, before)) if before == style => text.push(*c),
                    _ => spans.push((c.to_string(), *style)),
                }
            }
            PictureLine { kind: line.first().map_or(LineKind::Plain, |(.., kind)| *kind), spans }
        })
        .collect()
}

fn styled(message: &SentMessage) -> impl Iterator<Item = (char, PictureStyle, LineKind)> {
    let mut place = 0;
    message.text.chars().map(move |c| {
        let (mut style, mut kind) = (PictureStyle::default(), LineKind::Plain);
        for entity in &message.entities {
            let at = |key: &str| entity[key].as_u64().unwrap() as usize;
            if !(at("offset")..at("offset") + at("length")).contains(&place) {
                continue;
            }
            match entity["type"].as_str().unwrap() {
                "bold" => style.bold = true,
                "italic" => style.italic = true,
                "code" => style.code = true,
                "pre" => (style.code, kind) = (true, LineKind::Code),
                "blockquote" => kind = LineKind::Quote,
                "text_link" | "url" => style.link = true,
                other => panic!("the picture has no form for {other}"),
            }
        }
        place += c.len_utf16();
        (c, style, kind)
    })
}

/// The lines of a text as Discord's clients show them.
pub(super) fn of_discord(text: &str) -> Vec<PictureLine> {
    let mut is_code = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            let style = PictureStyle { code: true, ..PictureStyle::default() };
            lines.push(PictureLine { kind: LineKind::Code, spans: vec![(line.to_owned(), style)] });
        } else {
            lines.push(discord_line(line));
        }
    }
    lines
}

fn discord_line(line: &str) -> PictureLine {
    let level = line.chars().take_while(|c| *c == '#').count();
    let (kind, rest) = match (level, line.strip_prefix("> ")) {
        (1..=3, _) if line[level..].starts_with(' ') => {
            (LineKind::Heading(level), &line[level + 1..])
        }
        (_, Some(quoted)) => (LineKind::Quote, quoted),
        _ => (LineKind::Plain, line),
    };
    let bullet = Regex::new(r"^(\s*)- ").unwrap();
    let mut spans = spans(&bullet.replace(rest, "$1• "));
    if let LineKind::Heading(_) = kind {
        spans.iter_mut().for_each(|(_, style)| style.bold = true);
    }
    PictureLine { kind, spans }
}

/// Separates bold, italic and monospaced text, and links.
fn spans(text: &str) -> Vec<(String, PictureStyle)> {
    let marked = Regex::new(
        r"\*\*(?<bold>.+?)\*\*|_(?<italic>.+?)_|`(?<code>.+?)`|\[(?<link>[^\]]+?)\]\(.+?\)|\\(?<escaped>[[:punct:]])",
    )
    .unwrap();
    let (mut spans, mut end) = (Vec::new(), 0);
    for found in marked.captures_iter(text) {
        let whole = found.get(0).unwrap();
        spans.push((text[end..whole.start()].to_owned(), PictureStyle::default()));
        end = whole.end();
        let (name, inner) = ["bold", "italic", "code", "link", "escaped"]
            .into_iter()
            .find_map(|name| Some((name, found.name(name)?.as_str())))
            .unwrap();
        spans.extend(
            match name {
                "code" | "escaped" => vec![(inner.to_owned(), PictureStyle::default())],
                _ => self::spans(inner),
            }
            .into_iter()
            .map(|(text, mut style)| {
                match name {
                    "bold" => style.bold = true,
                    "italic" => style.italic = true,
                    "code" => style.code = true,
                    "link" => style.link = true,
                    _ => {}
                }
                (text, style)
            }),
        );
    }
    spans.push((text[end..].to_owned(), PictureStyle::default()));
    spans.retain(|(text, _)| !text.is_empty());
    spans
}
