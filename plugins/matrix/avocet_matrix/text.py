"""Texts in both directions: styles to HTML, and a person's text without quotes and addresses."""

import html
import re
from itertools import pairwise
from typing import Any

# Prefixes of links that the specification allows.
_SCHEMES = ("https://", "http://", "ftp://", "mailto:", "magnet:")
_TAGS = {
    "bold": ("<strong>", "</strong>"),
    "italic": ("<em>", "</em>"),
    "strike": ("<del>", "</del>"),
    "spoiler": ("<span data-mx-spoiler>", "</span>"),
    "code": ("<code>", "</code>"),
    "quote": ("<blockquote>", "</blockquote>"),
}
REPEAT_MARK = "(sent again; it may have arrived before)"


def plain(text: str, most: int) -> str:
    """Return a short text for a log line or a name: one line, without control characters."""
    text = "".join(char if char.isprintable() else " " for char in text[: most * 4])
    return " ".join(text.split())[:most]


def valid(text: str) -> str:
    """Return the text with a `?` for each half of a surrogate pair, which UTF-8 cannot express."""
    return text.encode("utf-8", "replace").decode()


def without_fallback(body: str) -> str:
    """Return the body of a reply without the quoted lines that old clients put above it."""
    lines = body.split("\n")
    quoted = 0
    while quoted < len(lines) and lines[quoted].startswith("> "):
        quoted += 1
    if quoted and quoted < len(lines) and not lines[quoted].strip():
        return "\n".join(lines[quoted + 1 :])
    return body


def contains_name(text: str, names: set[str]) -> bool:
    """Return `True` if the text contains one of the names as a word."""
    found = (rf"(?<!\w){re.escape(name)}(?!\w)" for name in names if name)
    return any(re.search(pattern, text, re.IGNORECASE) for pattern in found)


def addresses(text: str, names: set[str]) -> bool:
    """Return `True` if the text begins with a name of the agent: `Avocet: hi` or `@avocet hi`."""
    found = (rf"\s*(?:@{re.escape(name)}(?!\w)|{re.escape(name)}\s*[:,])" for name in names if name)
    return any(re.match(pattern, text, re.IGNORECASE) for pattern in found)


def is_command(text: str) -> bool:
    """Return `True` for a command such as `/stop`. A path is not a command."""
    return re.match(r"\s*/[A-Za-z_]+(?:\s|$)", text) is not None


def without_address(text: str, names: set[str]) -> str:
    """Return the text without a name of the agent at its start: `Avocet: hi` is `hi`."""
    for name in sorted(filter(None, names), key=len, reverse=True):
        match = re.match(rf"\s*@?{re.escape(name)}(?:\s*[:,]\s*|\s+(?=\S))", text, re.IGNORECASE)
        if match:
            return text[match.end() :]
    return text


def to_html(text: str, styles: list[Any]) -> str:
    """Return the text with its styles as `org.matrix.custom.html`. Offsets are bytes in UTF-8."""
    data = text.encode()
    ranges = [(style["start"], style["end"], style["style"]) for style in styles]
    ranges = [(start, min(end, len(data)), style) for start, end, style in ranges if start < end]
    # An outer range comes before the ranges in it.
    ranges.sort(key=lambda one: (one[0], -one[1]))
    cuts = {0, len(data), *(one[0] for one in ranges), *(one[1] for one in ranges)}
    written: list[str] = []
    stack: list[Any] = []
    for start, end in pairwise(sorted(cut for cut in cuts if cut <= len(data))):
        active = [one for one in ranges if one[0] <= start and end <= one[1]]
        same = 0
        while same < min(len(stack), len(active)) and stack[same] is active[same]:
            same += 1
        written += [_tags(style)[1] for _, _, style in reversed(stack[same:])]
        written += [_tags(style)[0] for _, _, style in active[same:]]
        stack = active
        piece = html.escape(data[start:end].decode("utf-8", "replace"))
        is_code = any(isinstance(style, dict) and "pre" in style for _, _, style in active)
        written.append(piece if is_code else piece.replace("\n", "<br>"))
    written += [_tags(style)[1] for _, _, style in reversed(stack)]
    return "".join(written)


def _tags(style: Any) -> tuple[str, str]:
    if isinstance(style, str):
        return _TAGS.get(style, ("", ""))
    if "pre" in style:
        language = (style["pre"] or {}).get("language") or ""
        known = re.fullmatch(r"[0-9A-Za-z+#._-]{1,30}", language)
        attribute = f' class="language-{language}"' if known else ""
        return f"<pre><code{attribute}>", "</code></pre>"
    url = (style.get("link") or {}).get("url", "")
    if url.lower().startswith(_SCHEMES):
        return f'<a href="{html.escape(url)}">', "</a>"
    return "", ""
