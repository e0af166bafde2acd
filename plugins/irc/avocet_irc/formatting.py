"""Control codes of IRC clients (mIRC): removed from incoming texts, written for styles."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

BOLD, ITALIC, STRIKE, MONOSPACE = "\x02", "\x1d", "\x1e", "\x11"
# Black on black, until the reader selects the text.
SPOILER, SPOILER_END = "\x0301,01", "\x03"
_TOGGLES = (("bold", BOLD), ("italic", ITALIC), ("strike", STRIKE), ("code", MONOSPACE))

_COLOURS = re.compile(r"\x03(?:\d{1,2}(?:,\d{1,2})?)?|\x04(?:[0-9A-Fa-f]{6}(?:,[0-9A-Fa-f]{6})?)?")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

# A character and the names of its styles.
Styled = tuple[str, frozenset[str]]


def strip(text: str) -> str:
    """Return a text without colours and control characters."""
    return _CONTROLS.sub("", _COLOURS.sub("", text))


def lines(text: str, styles: Iterable[Any], room: int, *, is_plain: bool = False) -> list[str]:
    """Cut a text into lines of at most `room` bytes with their codes. Empty lines are left out.

    `styles` are those of the socket, with offsets in bytes. With `is_plain`, no codes are written.
    """
    cut: list[str] = []
    for row in _rows(_styled(text, styles)):
        cut += _cut(row, room, is_plain)
    return cut


def _styled(text: str, styles: Iterable[Any]) -> list[Styled]:
    """Give each character its styles, and put the address of a link behind its text."""
    named: list[tuple[int, int, str]] = []
    links: dict[int, str] = {}
    content = text.encode("utf-8", "replace")
    for each in styles:
        start, end, style = each["start"], each["end"], each["style"]
        if isinstance(style, str):
            named.append((start, end, style))
        elif "pre" in style:
            named.append((start, end, "code"))
        elif "link" in style:
            url = style["link"]["url"]
            shown = content[start:end].decode("utf-8", "ignore").strip()
            if url.removeprefix("mailto:").rstrip("/") != shown.rstrip("/"):
                links[end] = f" <{url}>"
    styled: list[Styled] = []
    offset = 0
    for char in text:
        styled += [(extra, frozenset()) for extra in links.pop(offset, "")]
        names = frozenset(name for start, end, name in named if start <= offset < end)
        styled.append((char, names))
        offset += len(char.encode("utf-8", "replace"))
    for _, link in sorted(links.items()):
        styled += [(extra, frozenset()) for extra in link]
    return styled


def _rows(styled: list[Styled]) -> list[list[Styled]]:
    """Split at ends of lines. Other control characters are removed: no text adds commands."""
    rows: list[list[Styled]] = [[]]
    for char, names in styled:
        if char in "\n\x85\u2028\u2029":
            rows.append([])
        elif char == "\t":
            rows[-1] += [(" ", names)] * 4
        elif not _CONTROLS.match(char):
            rows[-1].append((char, names))
    quoted = []
    for row in rows:
        while row and row[-1][0].isspace():
            row.pop()
        if row:
            mark: list[Styled] = [(char, frozenset()) for char in "> "]
            quoted.append(mark + row if "quote" in row[0][1] else row)
    return quoted


def _codes(names: frozenset[str], before: frozenset[str]) -> str:
    codes = "".join(code for name, code in _TOGGLES if (name in names) != (name in before))
    if ("spoiler" in names) != ("spoiler" in before):
        codes += SPOILER if "spoiler" in names else SPOILER_END
    return codes


def _cut(row: list[Styled], room: int, is_plain: bool) -> list[str]:
    """Cut a row, at a space if there is one in the last half, otherwise before a character."""
    if is_plain:
        row = [(char, frozenset()) for char, _ in row]
    pieces = []
    while row:
        count = _fitting(row, room)
        if count < len(row):
            spaces = [place for place in range(count // 2, count + 1) if row[place][0] == " "]
            count = spaces[-1] if spaces else _before_marks(row, count)
        pieces.append(_written(row[:count]))
        row = row[count:]
        while row and pieces and row[0][0] == " ":
            row = row[1:]
    return pieces


def _fitting(row: list[Styled], room: int) -> int:
    """Return the number of characters that fit, at least one."""
    size, before = 0, frozenset[str]()
    for place, (char, names) in enumerate(row):
        size += len((_codes(names, before) + char).encode("utf-8", "replace"))
        # A digit behind the end of a colour would be read as another colour.
        size += 2 if "spoiler" in before and "spoiler" not in names else 0
        if size > room:
            return max(place, 1)
        before = names
    return len(row)


def _before_marks(row: list[Styled], count: int) -> int:
    """Move a cut to the front of a character with combining marks, if it is near."""
    for place in range(count, max(count - 20, 1), -1):
        char = row[place][0]
        joins = (
            unicodedata.combining(char) or char in "\u200d\ufe0f" or row[place - 1][0] == "\u200d"
        )
        if not joins:
            return place
    return count


def _written(piece: list[Styled]) -> str:
    out, before = [], frozenset[str]()
    for char, names in piece:
        codes = _codes(names, before)
        if codes.endswith(SPOILER_END) and char in "0123456789,":
            # Bold twice has no effect, and ends the code of the colour.
            codes += BOLD + BOLD
        out.append(codes + char)
        before = names
    return "".join(out)
