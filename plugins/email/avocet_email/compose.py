"""Writes the agent's mails: plain text and simple HTML, in the thread of the question."""

import email.policy
import re
import time
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import formatdate
from html import escape
from typing import Any, NamedTuple

from .addresses import Chat
from .config import Config
from .headers import cleaned
from .mail import own_id

# Bodies are sent as ASCII, so that each server accepts them (RFC 5322, RFC 2045).
POLICY = email.policy.SMTP.clone(cte_type="7bit", max_line_length=76)
REPEATED = "(This message may have reached you before.)"
TAGS = {"bold": "strong", "italic": "em", "strike": "del", "code": "code", "quote": "blockquote"}


class Thread(NamedTuple):
    """The mail to which the next answer of a chat refers."""

    message_id: str
    references: list[str]
    subject: str


class SentFile(NamedTuple):
    """A file of the agent."""

    name: str
    media_type: str
    content: bytes


class Answer(NamedTuple):
    """A message of the agent for a chat."""

    nonce: str
    text: str
    styles: list[Any]
    choices: list[Any]
    is_repeat: bool
    files: list[SentFile]


def compose(config: Config, chat: Chat, thread: Thread | None, answer: Answer) -> bytes:
    """Return the mail."""
    mail = EmailMessage(policy=POLICY)
    local, _, domain = config.address.rpartition("@")
    mail["From"] = Address(config.name, local, domain)
    mail["To"] = Address("", *chat.address.rsplit("@", 1))
    mail["Subject"] = subject_of(thread, config)
    mail["Date"] = formatdate(time.time())
    mail["Auto-Submitted"] = "auto-generated" if thread is None else "auto-replied"
    mail["X-Auto-Response-Suppress"] = "All"
    text, html = plain_body(answer), html_body(answer)
    mail.set_content(text, cte=encoding(text))
    mail.add_alternative(html, subtype="html", cte="quoted-printable")
    for file in answer.files:
        main, _, sub = media_type(file.media_type).partition("/")
        mail.add_attachment(file.content, maintype=main, subtype=sub, filename=cleaned(file.name))
    content = ids(config, chat, thread, answer) + mail.as_bytes()
    return content if content.endswith(b"\r\n") else content + b"\r\n"


def ids(config: Config, chat: Chat, thread: Thread | None, answer: Answer) -> bytes:
    """Return the headers with message ids.

    `EmailMessage` would write a long id as encoded words, which no program reads as an id.
    """
    lines = [f"Message-ID: {own_id(answer.nonce, chat.thread, config)}"]
    if thread is not None and thread.message_id:
        earlier = [name for name in thread.references if name != thread.message_id]
        # The first one names the thread.
        references = [*earlier[:1], *earlier[1:][-10:], thread.message_id]
        # A header has ASCII only. The thread continues by our own id, which an answer refers to.
        if thread.message_id.isascii():
            lines.append(f"In-Reply-To: {thread.message_id}")
        if written := [name for name in references if name.isascii()]:
            lines.append("References: " + "\r\n ".join(written))
    return "".join(f"{line}\r\n" for line in lines).encode("ascii")


def encoding(text: str) -> str:
    """Return the encoding of plain text: none if it consists of short ASCII lines."""
    is_simple = text.isascii() and all(len(line) < 76 for line in text.split("\n"))
    return "7bit" if is_simple else "quoted-printable"


def subject_of(thread: Thread | None, config: Config) -> str:
    """Return the subject with one `Re:`."""
    if thread is None:
        return config.subject
    subject = re.sub(
        r"^(?:\s*(?:re|aw|sv|antw)\s*(?:\[\d+\])?:)+\s*", "", thread.subject, flags=re.IGNORECASE
    )
    return cleaned(f"Re: {subject}").strip()


def media_type(name: str) -> str:
    """Return a media type for a file; mail inside of mail is sent as bytes."""
    if re.fullmatch(r"[\w.+-]{1,60}/[\w.+-]{1,60}", name) and not name.startswith(
        ("multipart/", "message/")
    ):
        return name
    return "application/octet-stream"


def plain_body(answer: Answer) -> str:
    """Return the text. Targets of links stand behind them."""
    content = answer.text.encode()
    for place in sorted(answer.styles, key=lambda style: style["end"], reverse=True):
        style = place["style"]
        shown = content[place["start"] : place["end"]].decode("utf-8", "replace")
        if isinstance(style, dict) and "link" in style:
            target = style["link"]["url"]
            if shown.strip() not in (target, target.removeprefix("mailto:")):
                end = place["end"]
                content = content[:end] + f" <{target}>".encode() + content[end:]
        elif style == "quote":
            quoted = "\n".join(f"> {line}" for line in shown.split("\n"))
            # Offsets further left stay valid, because the parts are done from right to left.
            if not any(inside(other, place) for other in answer.styles):
                content = content[: place["start"]] + quoted.encode() + content[place["end"] :]
    lines = [content.decode("utf-8", "replace")]
    if answer.is_repeat:
        lines.insert(0, REPEATED)
    if answer.choices:
        lines.append("\n".join(choice_lines(answer)))
    return "\n\n".join(line for line in lines if line.strip()) + "\n"


def inside(inner: Any, outer: Any) -> bool:
    """Return `True` if one style is a part of another."""
    is_part = outer["start"] <= inner["start"] and inner["end"] <= outer["end"]
    return is_part and inner is not outer


def choice_lines(answer: Answer) -> list[str]:
    """Return the buttons as numbered lines. A person answers with the number."""
    numbered = enumerate(answer.choices, 1)
    return [
        "Answer with a number:",
        *(f"{number}. {choice['label']}" for number, choice in numbered),
    ]


def html_body(answer: Answer) -> str:
    """Return the text as HTML. Line breaks are kept."""
    repeated = f"<p><em>{escape(REPEATED)}</em></p>\n" if answer.is_repeat else ""
    styled = html_of(answer.text.encode(), answer.styles)
    choices = (
        "".join(f"<p>{escape(line)}</p>\n" for line in choice_lines(answer))
        if answer.choices
        else ""
    )
    return (
        "<!DOCTYPE html>\n<html><body>\n"
        f'{repeated}<div style="white-space: pre-wrap">{styled}</div>\n{choices}</body></html>\n'
    )


def html_of(content: bytes, styles: list[Any]) -> str:
    """Return text with its styles as HTML. Tags are closed and opened again where styles cross."""
    edges = {0, len(content)}
    for style in styles:
        edges |= {
            min(max(style["start"], 0), len(content)),
            min(max(style["end"], 0), len(content)),
        }
    # The longest style is the outermost one.
    ordered = sorted(styles, key=lambda style: (style["start"], -style["end"]))
    places = sorted(edges)
    html, open_now = "", list[Any]()
    for begin, end in zip(places, places[1:], strict=False):
        wanted = [style for style in ordered if style["start"] <= begin and end <= style["end"]]
        same = 0
        while same < min(len(open_now), len(wanted)) and open_now[same] is wanted[same]:
            same += 1
        html += "".join(tags(style["style"])[1] for style in reversed(open_now[same:]))
        html += "".join(tags(style["style"])[0] for style in wanted[same:])
        html += escape(content[begin:end].decode("utf-8", "replace"))
        open_now = wanted
    return html + "".join(tags(style["style"])[1] for style in reversed(open_now))


def tags(style: Any) -> tuple[str, str]:
    """Return the tags around a styled part."""
    if isinstance(style, dict) and "link" in style:
        return f'<a href="{escape(style["link"]["url"])}">', "</a>"
    if isinstance(style, dict) and "pre" in style:
        return "<pre>", "</pre>"
    # A spoiler has no counterpart in mail; its text is shown in brackets.
    if style == "spoiler":
        return "[", "]"
    name = TAGS.get(style) if isinstance(style, str) else None
    return (f"<{name}>", f"</{name}>") if name else ("", "")
