"""The text of a mail as a person has written it: from HTML, without signature and history."""

import re
from html import unescape

# Characters of HTML and text that are read.
MAX_HTML = 300_000
MAX_TEXT = 100_000
MAX_QUOTES = 5
MAX_OPEN = 100

BLOCKS = {
    *("address", "article", "aside", "blockquote", "center", "dd", "div", "dl", "dt", "fieldset"),
    *("figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr"),
    *("li", "main", "nav", "ol", "p", "pre", "section", "table", "tr", "ul"),
}
PARAGRAPHS = {"p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table", "blockquote"}
HIDDEN = {"head", "script", "style", "template", "title", "noscript", "svg", "object"}
VOID = {
    *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"),
}
INVISIBLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d]*[1-9])"
)


# Elements whose content has no tags.
RAW = {"script", "style", "title", "textarea"}
# Possessive, so that hostile input takes time in proportion to its length.
TAG = re.compile(
    r"""<(?P<end>/?)(?P<name>[a-zA-Z][^\s/>]*+)(?P<attributes>(?:[^>"']|"[^"]*+"|'[^']*+')*+)>"""
)
ATTRIBUTE = re.compile(r"""([^\s=/"']++)(?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s"']++))?""")
MAX_ATTRIBUTES = 4000


def feed(html: str, to: "HtmlText") -> None:
    """Split HTML into tags and text. What follows an unclosed tag or comment is dropped.

    `html.parser` of Python 3.11 needs minutes for some hostile mails of 300 KB.
    """
    lower, place = html.lower(), 0
    while (begin := html.find("<", place)) >= 0:
        to.handle_data(unescaped(html[place:begin]))
        if html.startswith(("<!", "<?"), begin):
            mark = "-->" if html.startswith("<!--", begin) else ">"
            end = html.find(mark, begin + 2)
            if end < 0:
                return
            place = end + len(mark)
            continue
        if not html[begin + 1 : begin + 3].lstrip("/")[:1].isalpha():
            to.handle_data("<")
            place = begin + 1
            continue
        if (tag := TAG.match(html, begin)) is None:
            return
        name, place = tag["name"].lower(), tag.end()
        if tag["end"]:
            to.handle_endtag(name)
            continue
        found = ATTRIBUTE.findall(tag["attributes"][:MAX_ATTRIBUTES])
        to.handle_starttag(
            name, {key.lower(): unescaped(value.strip("\"'")) for key, value in found}
        )
        if name in RAW:
            place = lower.find(f"</{name}", place)
            if place < 0:
                return
    to.handle_data(unescaped(html[place:]))


def unescaped(text: str) -> str:
    """Return text with its character references replaced."""
    try:
        return unescape(text)
    except ValueError:
        # A reference with thousands of digits.
        return text


class HtmlText:
    """Collects the visible text of HTML. Quoted mail becomes lines that begin with `> `."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._line = ""
        # Open elements: the tag, and `True` if it hides its content.
        self._open: list[tuple[str, bool]] = []
        self._hidden = 0
        self._quotes = 0
        self._links: list[tuple[str, int]] = []

    def handle_starttag(self, tag: str, values: dict[str, str]) -> None:
        """Take the start tag of an element with its attributes."""
        if tag in BLOCKS:
            self._end_line(tag in PARAGRAPHS)
        if tag == "br":
            self._end_line(False, is_forced=True)
        if tag in VOID:
            return
        hides = tag in HIDDEN or "hidden" in values
        hides = hides or INVISIBLE.search(values.get("style", "").lower()) is not None
        # People do not nest this deep. Deeper elements are read as if they were flat.
        if len(self._open) < MAX_OPEN:
            self._open.append((tag, hides))
            self._hidden += hides
        if tag == "blockquote":
            self._quotes += 1
        elif tag == "li":
            self._line = "- "
        elif tag in ("td", "th") and self._line.strip():
            self._line += " | "
        elif tag == "a":
            self._links.append((values.get("href", ""), len(self._line)))

    def handle_endtag(self, tag: str) -> None:
        """Take the end of an element."""
        if tag == "a" and self._links:
            self._end_link()
        if tag in BLOCKS:
            self._end_line(tag in PARAGRAPHS)
        if tag == "blockquote" and self._quotes:
            self._quotes -= 1
        for place in range(len(self._open) - 1, -1, -1):
            if self._open[place][0] == tag:
                self._hidden -= sum(hides for _, hides in self._open[place:])
                del self._open[place:]
                return

    def handle_data(self, data: str) -> None:
        """Take text."""
        if self._hidden:
            return
        if any(tag == "pre" for tag, _ in self._open[-5:]):
            *whole, rest = data.split("\n")
            for line in whole:
                self._line += line
                self._end_line(False, is_forced=True)
            self._line += rest
            return
        text = re.sub(r"\s+", " ", data)
        self._line += text.lstrip() if not self._line or self._line.endswith(" ") else text

    def _end_link(self) -> None:
        target, begin = self._links.pop()
        shown = self._line[begin:].strip()
        is_new = target.startswith(("http://", "https://")) and not self._hidden
        if is_new and shown and shown.rstrip("/") not in target:
            self._line += f" ({target[:500]})"

    def _end_line(self, is_paragraph: bool, is_forced: bool = False) -> None:
        mark = "> " * min(self._quotes, MAX_QUOTES)
        if self._line.strip() or (is_forced and not self._hidden):
            self.lines.append(mark + self._line.rstrip())
        if is_paragraph and self.lines and self.lines[-1].strip("> "):
            self.lines.append(mark.rstrip())
        self._line = ""

    def text(self) -> str:
        """Return the text so far."""
        self._end_line(False)
        while self.lines and not self.lines[-1].strip("> "):
            self.lines.pop()
        return "\n".join(self.lines)


def html_text(html: str) -> str:
    """Return the visible text of HTML."""
    parser = HtmlText()
    # Python's own lower case of a few letters has another length, so that offsets would be wrong.
    feed(html[:MAX_HTML].replace("\u0130", "I"), parser)
    return tidied(parser.text())


def tidied(text: str) -> str:
    """Return text with `\\n` as the line end and without control characters."""
    lines = re.split(r"\r\n|\r|\n", text[:MAX_TEXT].replace("\x00", ""))
    kept = [
        "".join(c for c in line if c == "\t" or c.isprintable() or c in "\u200d\xa0")
        for line in lines
    ]
    joined = "\n".join(
        line.replace("\xa0", " ").rstrip(" \t") if line != "-- " else line for line in kept
    )
    return re.sub(r"\n{3,}", "\n\n", joined).strip("\n")


HISTORY = re.compile(
    r"^(?:-{3,} ?(?:original message|ursprüngliche nachricht|message d'origine|mensaje original)"
    r" ?-{3,}|_{20,})$",
    re.IGNORECASE,
)
# The block of Outlook: `From:`, then `Sent:` or `Date:` within the next lines.
FIELD_FROM = re.compile(r"^\*?(?:from|von|de|da)\*?\s?:\*? .*\S", re.IGNORECASE)
FIELD_DATE = re.compile(
    r"^\*?(?:sent|date|gesendet|datum|envoyé|enviado|inviato)\*?\s?:", re.IGNORECASE
)
ATTRIBUTION = re.compile(
    r"^(?:on|am|le|el|il|op|em)\b.{5,300}"
    r"(?:wrote|writes|schrieb\b.*|a écrit|escribió|ha scritto|schreef\b.*|escreveu) ?:$",
    re.IGNORECASE | re.DOTALL,
)
FORWARDED = re.compile(
    r"^(?:-{3,} ?forwarded message|begin forwarded message|-{3,} ?weitergeleitet)", re.IGNORECASE
)


def own_text(text: str, most_quoted: int) -> str:
    """Cut the signature and the history. A quote of at most `most_quoted` characters stays.

    Text without words of its author, such as a forwarded mail, is returned unchanged.
    """
    lines = text.split("\n")
    lines = lines[: end_of_own(lines)]
    kept: list[str] = []
    place = 0
    while place < len(lines):
        if not lines[place].startswith(">"):
            kept.append(lines[place])
            place += 1
            continue
        end = place
        while end < len(lines) and (lines[end].startswith(">") or is_gap(lines, end)):
            end += 1
        drop_attribution(kept)
        quote = "\n".join(lines[place:end])
        kept.append(quote if len(quote) <= most_quoted else "> [...]")
        place = end
    found = "\n".join(kept).strip()
    written = [line for line in found.split("\n") if line.strip() and not line.startswith(">")]
    if not written:
        return text.strip()
    # A cut quote at the end has no information.
    return re.sub(r"(?:\n+> \[\.\.\.\])+\Z", "", found)


def is_gap(lines: list[str], place: int) -> bool:
    """Return `True` for an empty line between two quoted ones."""
    return not lines[place].strip() and place + 1 < len(lines) and lines[place + 1].startswith(">")


def end_of_own(lines: list[str]) -> int:
    """Return the number of lines before the signature or the history of another program."""
    for place, line in enumerate(lines):
        stripped = line.strip()
        if FORWARDED.match(stripped):
            return len(lines)
        if line in ("-- ", "--") and place:
            return place
        following = [later.strip() for later in lines[place + 1 : place + 4]]
        if HISTORY.match(stripped) and place:
            return place
        if FIELD_FROM.match(stripped) and any(FIELD_DATE.match(later) for later in following):
            return place
    return len(lines)


def drop_attribution(kept: list[str]) -> None:
    """Remove the line `On ... wrote:` at the end, which may be wrapped."""
    end = len(kept)
    while end and not kept[end - 1].strip():
        end -= 1
    for count in (1, 2, 3):
        if end >= count and ATTRIBUTION.match("\n".join(kept[end - count : end]).strip()):
            del kept[end - count :]
            return
