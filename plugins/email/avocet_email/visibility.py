"""Tells which text of an HTML mail its reader can see, from styles, classes and attributes.

The rules err towards showing text where the look is unknown: a picture as the background, a colour
in a form that is not read. Rules for some screens only (`@media`) are left out.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

# Characters and rules of style sheets that are read.
MAX_SHEETS = 100_000
MAX_RULES = 2000
MAX_CLASSES = 20
# Pixels of the largest text that nobody can read, and of the largest box that shows nothing.
MAX_UNREADABLE = 1.5
# Pixels beyond the edge of the page.
OFF_SCREEN = -100
# The largest difference of each part of two colours that look the same.
SAME = 16

Colour = tuple[int, int, int]
Declarations = dict[str, tuple[str, bool]]

COLOURS: dict[str, Colour] = {
    "white": (255, 255, 255),
    "black": (0, 0, 0),
    "snow": (255, 250, 250),
    "ivory": (255, 255, 240),
    "azure": (240, 255, 255),
    "mintcream": (245, 255, 250),
    "ghostwhite": (248, 248, 255),
    "whitesmoke": (245, 245, 245),
    "floralwhite": (255, 250, 240),
    "red": (255, 0, 0),
    "green": (0, 128, 0),
    "blue": (0, 0, 255),
    "yellow": (255, 255, 0),
    "gray": (128, 128, 128),
    "grey": (128, 128, 128),
    "silver": (192, 192, 192),
    "lightgray": (211, 211, 211),
    "lightgrey": (211, 211, 211),
    "navy": (0, 0, 128),
}
UNITS = {"px": 1.0, "pt": 4 / 3, "em": 16.0, "rem": 16.0, "%": 0.16, "in": 96.0, "cm": 38.0}
SIZES = {"xx-small": 9.0, "x-small": 10.0, "small": 13.0, "medium": 16.0, "large": 18.0}

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
LENGTH = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(px|pt|em|rem|%|in|cm)?")
NUMBER = re.compile(r"\d+\.?\d*%?|\.\d+%?")
COLOUR_WORD = re.compile(r"#\w+|rgba?\([^)]*\)|hsla?\([^)]*\)|[a-z]+")
SIMPLE = re.compile(r"([.#]?)([a-z0-9_-]+)")


class Look(NamedTuple):
    """The look of text. An element inherits it."""

    colour: Colour | None = (0, 0, 0)
    # `None` if it is unknown.
    background: Colour | None = (255, 255, 255)
    # Pixels.
    size: float = 16.0
    is_clear: bool = False
    is_visible: bool = True

    @property
    def hides(self) -> bool:
        """`True` if nobody can read text that looks like this."""
        if not self.is_visible or self.is_clear or self.size <= MAX_UNREADABLE:
            return True
        if self.colour is None or self.background is None:
            return False
        pairs = zip(self.colour, self.background, strict=True)
        return all(abs(one - other) <= SAME for one, other in pairs)


class StyleSheet:
    """The style sheets of a mail."""

    def __init__(self, html: str) -> None:
        self._rules: dict[str, list[tuple[list[str], Declarations]]] = {}
        count = 0
        for sheet in style_elements(html):
            for selectors, body in style_rules(COMMENT.sub("", sheet.lower())):
                count += 1
                if count > MAX_RULES:
                    return
                declared = declarations(body)
                for selector in selectors.split(",")[:50]:
                    self._add(selector, declared)

    def _add(self, selector: str, declared: Declarations) -> None:
        # The element itself is the last part. Rules for a pointer and generated text do not count.
        last = re.split(r"[\s>+~]+", selector.strip())[-1]
        if ":" in last and re.search(r":(?:hover|focus|active|visited|:|before|after)", last):
            return
        found = SIMPLE.findall(last.partition(":")[0].partition("[")[0])
        names = [mark + name for mark, name in found]
        if names:
            self._rules.setdefault(names[-1], []).append((names, declared))

    def declared(self, tag: str, values: dict[str, str]) -> Declarations:
        """Return the declarations for an element; those of its own `style` come last."""
        classes = values.get("class", "").lower().split()[:MAX_CLASSES]
        own = [tag, *("." + name for name in classes)]
        if "id" in values:
            own.append("#" + values["id"].strip().lower())
        merged: Declarations = {}
        for name in own:
            for names, rule in self._rules.get(name, ()):
                if all(needed in own for needed in names):
                    merge(merged, rule)
        merge(merged, declarations(COMMENT.sub("", values.get("style", "").lower())))
        return merged


def style_elements(html: str) -> Iterator[str]:
    """Iterate over the contents of the `style` elements."""
    lower, place, read = html.lower(), 0, 0
    while (begin := lower.find("<style", place)) >= 0 and read < MAX_SHEETS:
        start = lower.find(">", begin)
        end = lower.find("</style", start)
        if start < 0:
            return
        content = html[start + 1 : end if end >= 0 else len(html)][: MAX_SHEETS - read]
        read += len(content)
        yield content
        if end < 0:
            return
        place = end


def style_rules(sheet: str) -> Iterator[tuple[str, str]]:
    """Iterate over the selectors and declarations of rules that hold for every screen."""
    depth, start, head = 0, 0, ""
    for found in re.finditer(r"[{}]", sheet):
        if found[0] == "{":
            if depth == 0:
                head = sheet[start : found.start()].rpartition(";")[2].strip()
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0 and not head.startswith("@"):
                yield head, sheet[start : found.start()]
        start = found.end()


def declarations(style: str) -> Declarations:
    """Parse declarations in lower case. The second value tells that one is `!important`."""
    found: Declarations = {}
    for one in style.split(";")[:200]:
        name, colon, value = one.partition(":")
        if colon:
            value, important, _ = value.partition("!")
            merge(found, {name.strip(): (value.strip(), bool(important))})
    return found


def merge(merged: Declarations, rule: Declarations) -> None:
    """Add the declarations of a later rule."""
    for name, (value, is_important) in rule.items():
        if is_important or not merged.get(name, ("", False))[1]:
            merged[name] = (value, is_important)


def hides_all(values: dict[str, str], declared: Declarations) -> bool:
    """Return `True` if an element hides everything in it, whatever its children say."""

    def get(name: str) -> str:
        return declared.get(name, ("", False))[0]

    def pixels(name: str) -> float | None:
        return length(get(name))

    if "hidden" in values or get("display") == "none" or get("mso-hide") not in ("", "none"):
        return True
    opacity = [get("opacity"), *re.findall(r"opacity\(([^)]*)\)", get("filter"))]
    if any(NUMBER.fullmatch(one) and fraction(one) <= 0.05 for one in opacity):
        return True
    overflows = [get(name) for name in ("overflow", "overflow-y", "overflow-x")]
    is_cut = any(overflow in ("hidden", "clip") for overflow in overflows)
    boxes = [pixels(name) for name in ("width", "height", "max-width", "max-height")]
    if is_cut and any(size is not None and 0 <= size <= MAX_UNREADABLE for size in boxes):
        return True
    edges = ["text-indent", "margin-left", "margin-top"]
    if get("position") in ("absolute", "fixed", "relative"):
        edges += ["left", "top", "right", "bottom"]
    if any((place := pixels(name)) is not None and place <= OFF_SCREEN for name in edges):
        return True
    clip = get("clip-path") + " " + get("clip")
    if re.search(r"rect\((?:0(?:px)?|1px)[, ]+(?:0(?:px)?|1px)|inset\((?:50|100)%|circle\(0", clip):
        return True
    moved = get("transform")
    return re.search(r"scale[xy]?\(0(?:\.0*)?[,)]|translate[xy]?\([^)]*-\d{3,}", moved) is not None


def changed(look: Look, tag: str, values: dict[str, str], declared: Declarations) -> Look:
    """Return the look of an element, from that of the one around it."""

    def get(name: str) -> str:
        return declared.get(name, ("", False))[0]

    colour = get("color") or values.get("text" if tag == "body" else "color", "").lower()
    if colour and colour != "inherit":
        look = look._replace(colour=parse_colour(colour), is_clear=is_transparent(colour))
    filled = get("background-color") or values.get("bgcolor", "").lower()
    whole = get("background")
    if "url(" in whole + get("background-image") or "gradient" in whole + get("background-image"):
        look = look._replace(background=None)
    elif filled or whole:
        words = [filled] if filled else COLOUR_WORD.findall(whole)
        found = [one for word in words if (one := parse_colour(word)) is not None]
        is_none = any(is_transparent(word) or word in ("none", "inherit") for word in words)
        if not is_none or found:
            look = look._replace(background=found[0] if found else None)
    if "background" in values:
        look = look._replace(background=None)
    size = get("font-size") or font_size(get("font"))
    if (named := SIZES.get(size)) is not None:
        look = look._replace(size=named)
    elif (measured := relative(size, look.size)) is not None:
        look = look._replace(size=measured)
    if (visibility := get("visibility")) in ("hidden", "collapse", "visible"):
        look = look._replace(is_visible=visibility == "visible")
    return look


def font_size(font: str) -> str:
    """Return the size in the short form `font`; empty if there is none."""
    found = re.search(r"(?:^|\s)((?:\d+\.?\d*|\.\d+)(?:px|pt|em|rem|%)|0)(?:[\s/]|$)", font)
    return found[1] if found else ""


def relative(size: str, outer: float) -> float | None:
    """Return a size of text in pixels; `None` if it cannot be read."""
    found = LENGTH.fullmatch(size)
    if found is None:
        return None
    factor = {"em": outer, "%": outer / 100}.get(found[2] or "px", UNITS[found[2] or "px"])
    return float(found[1]) * factor


def length(text: str) -> float | None:
    """Return a length in pixels; `None` if it cannot be read, or is a share of an unknown one."""
    found = LENGTH.fullmatch(text)
    if found is None or found[2] == "%" and float(found[1]) > 0:
        return None
    return float(found[1]) * UNITS[found[2] or "px"]


def fraction(text: str) -> float:
    """Return a number from 0 to 1, or a share in percent."""
    return float(text.rstrip("%")) / (100 if text.endswith("%") else 1)


def is_transparent(colour: str) -> bool:
    """Return `True` for a colour that shows nothing."""
    if colour == "transparent":
        return True
    if colour.startswith("#") and len(colour) in (5, 9):
        return set(colour[4:] if len(colour) == 5 else colour[7:]) == {"0"}
    parts = NUMBER.findall(colour)
    return colour.startswith(("rgb", "hsl")) and len(parts) == 4 and fraction(parts[3]) <= 0.05


def parse_colour(text: str) -> Colour | None:
    """Parse a colour; `None` if its form is not read."""
    text = text.strip()
    if text in COLOURS:
        return COLOURS[text]
    digits = text.removeprefix("#")
    if re.fullmatch(r"[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8}", digits):
        if len(digits) < 6:
            digits = "".join(2 * digit for digit in digits)
        return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)
    parts = NUMBER.findall(text)
    if text.startswith("rgb") and len(parts) >= 3:
        red, green, blue = (
            round(fraction(part) * 255) if part.endswith("%") else round(float(part))
            for part in parts[:3]
        )
        return red, green, blue
    if text.startswith("hsl") and len(parts) >= 3 and parts[2] in ("0%", "100%"):
        level = 255 if parts[2] == "100%" else 0
        return level, level, level
    return None
