"""The visible text of an HTML mail."""

import re
from html import unescape
from typing import NamedTuple

from .visibility import Look, StyleSheet, changed, hides_all

# Characters of HTML that are read.
MAX_HTML = 300_000
MAX_QUOTES = 5
MAX_OPEN = 100

BLOCKS = {
    *("address", "article", "aside", "blockquote", "center", "dd", "div", "dl", "dt", "fieldset"),
    *("figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr"),
    *("li", "main", "nav", "ol", "p", "pre", "section", "table", "tr", "ul"),
}
PARAGRAPHS = {"p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table", "blockquote"}
# Elements without text for a reader.
UNREAD = {"head", "script", "style", "template", "title", "noscript", "svg", "object"}
VOID = {
    *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"),
}
# An element of these kinds ends with the next one of its kind.
SELF_CLOSING = {"p", "li", "dt", "dd", "tr", "td", "th", "option"}
# The elements into which mail programs put the mail that is answered or forwarded.
QUOTING = re.compile(
    r"(?:^|\s)(?:gmail_quote\S*|yahoo_quoted|protonmail_quote|tutanota_quote|zmail_extra|"
    r"moz-forward-container|divrplyfwdmsg|x?_?applemailquote)(?:\s|$)"
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


class OpenElement(NamedTuple):
    """An element whose end has not come yet."""

    tag: str
    # The look around it.
    outer: Look
    is_unread: bool
    hides: bool
    quotes: bool


class HtmlText:
    """Collects the visible text of HTML. Quoted mail becomes lines that begin with `> `."""

    def __init__(self, sheet: StyleSheet) -> None:
        self.lines: list[str] = []
        # Passages that a reader cannot see.
        self.hidden_passages = 0
        self._is_in_passage = False
        self._sheet = sheet
        self._line = ""
        self._open: list[OpenElement] = []
        self._look = Look()
        self._unread = 0
        self._hidden = 0
        self._quotes = 0
        self._links: list[tuple[str, int]] = []

    def handle_starttag(self, tag: str, values: dict[str, str]) -> None:
        """Take the start tag of an element with its attributes."""
        if tag in SELF_CLOSING and self._open and self._open[-1].tag == tag:
            self.handle_endtag(tag)
        if tag in BLOCKS:
            self._end_line(tag in PARAGRAPHS)
        if tag == "br":
            self._end_line(False, is_forced=True)
        if tag in VOID:
            return
        declared = self._sheet.declared(tag, values)
        hides = hides_all(values, declared)
        marks = f"{values.get('class', '')} {values.get('id', '')}".lower()
        quotes = tag == "blockquote" or QUOTING.search(marks) is not None
        # People do not nest this deep. Deeper elements are read as if they were flat, and one that
        # hides its content hides the rest.
        if len(self._open) < MAX_OPEN:
            self._open.append(OpenElement(tag, self._look, tag in UNREAD, hides, quotes))
            self._unread += tag in UNREAD
            self._quotes += quotes
            self._hidden += hides
        else:
            self._hidden += hides or changed(self._look, tag, values, declared).hides
        self._look = changed(self._look, tag, values, declared)
        if tag == "li":
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
        for place in range(len(self._open) - 1, -1, -1):
            if self._open[place].tag == tag:
                ended = self._open[place:]
                self._unread -= sum(one.is_unread for one in ended)
                self._hidden -= sum(one.hides for one in ended)
                self._quotes -= sum(one.quotes for one in ended)
                self._look = ended[0].outer
                del self._open[place:]
                return

    def handle_data(self, data: str) -> None:
        """Take text."""
        if self._unread:
            return
        hides = self._hidden > 0 or self._look.hides
        if data.strip():
            self.hidden_passages += hides and not self._is_in_passage
            self._is_in_passage = hides
        if hides:
            return
        if any(one.tag == "pre" for one in self._open[-5:]):
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
        is_hidden = self._hidden > 0 or self._look.hides
        is_new = target.startswith(("http://", "https://")) and not is_hidden
        if is_new and shown and shown.rstrip("/") not in target:
            self._line += f" ({target[:500]})"

    def _end_line(self, is_paragraph: bool, is_forced: bool = False) -> None:
        mark = "> " * min(self._quotes, MAX_QUOTES)
        if self._line.strip() or (is_forced and not self._hidden and not self._unread):
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


class VisibleText(NamedTuple):
    """The text that a reader of HTML sees, and the number of passages that nobody sees."""

    text: str
    hidden: int


def html_text(html: str) -> VisibleText:
    """Return the visible text of HTML."""
    # Python's own lower case of a few letters has another length, so that offsets would be wrong.
    html = html[:MAX_HTML].replace("\u0130", "I")
    parser = HtmlText(StyleSheet(html))
    feed(html, parser)
    return VisibleText(parser.text(), parser.hidden_passages)
