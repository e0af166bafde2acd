"""The rules for accepting a mail: its sender is proven, and no program has written it."""

import re
from email.message import Message
from typing import NamedTuple

from .addresses import Author, domain_of
from .config import AuthenticationConfig
from .headers import raw_value, raw_values


class Result(NamedTuple):
    """One result of an `Authentication-Results` header (RFC 8601)."""

    method: str
    outcome: str
    properties: dict[str, str]


def unproven(message: Message, author: Author, config: AuthenticationConfig) -> str | None:
    """Return the reason for which the `From` may be forged; `None` if it is proven."""
    if config.mode == "none":
        return None
    results = trusted_results(message, config)
    if results is None:
        return (
            f"it has no Authentication-Results header of {config.authserv_id}; check "
            "`authentication.authserv_id`"
        )
    domain = domain_of(author.address)
    dmarc = [result for result in results if result.method == "dmarc"]
    for result in dmarc:
        about = result.properties.get("header.from", domain)
        if about != domain:
            return f"DMARC is about {about}, and the sender is of {domain}"
        if result.outcome not in ("pass", "none", "bestguesspass"):
            return f"DMARC of {domain}: {result.outcome}"
    if any(result.outcome == "pass" for result in dmarc):
        return None
    if config.mode == "dmarc":
        return f"DMARC has not passed for {domain}"
    if any(is_aligned(result, domain) for result in results):
        return None
    return f"neither DMARC nor an aligned DKIM or SPF has passed for {domain}"


def is_aligned(result: Result, domain: str) -> bool:
    """Return `True` if DKIM or SPF has passed for the domain or one above it.

    A domain below the sender's proves less than in DMARC: other people may own it.
    """
    if result.outcome != "pass":
        return False
    if result.method == "dkim":
        properties = result.properties
        proven = properties.get("header.d") or domain_of(properties.get("header.i", ""))
    elif result.method == "spf":
        proven = domain_of(result.properties.get("smtp.mailfrom", ""))
    else:
        return False
    is_above = "." in proven and domain.endswith(f".{proven}")
    return bool(proven) and (proven == domain or is_above)


def trusted_results(message: Message, config: AuthenticationConfig) -> list[Result] | None:
    """Return the results of the topmost headers of the trusted server; `None` without a header.

    The server writes its headers on top. Those further below may come from the sender.
    """
    parsed = (parse_results(value) for value in raw_values(message, "Authentication-Results"))
    own = [results for name, results in parsed if name == config.authserv_id.lower()]
    if not own:
        return None
    return [result for results in own[: config.headers] for result in results]


def parse_results(value: str) -> tuple[str, list[Result]]:
    """Parse an `Authentication-Results` header into the name of the server and its results."""
    first, *rest = clauses(value)
    name = (first.split() or [""])[0].strip('"').lower()
    results = []
    for part in rest:
        pairs = re.findall(r'([\w.-]+)\s*=\s*("[^"]*"|[^\s;]+)', part)
        if pairs:
            (method, outcome), *more = pairs
            properties = {key.lower(): unquoted(text) for key, text in reversed(more)}
            results.append(Result(method.lower(), outcome.lower(), properties))
    return name, results


def unquoted(text: str) -> str:
    """Return a value in lower case, without the quotes."""
    return text.strip('"').lower()


def clauses(value: str) -> list[str]:
    """Split at semicolons, and remove comments in parentheses. Quoted texts are not changed."""
    found, depth, is_quoted, is_escaped = [""], 0, False, False
    for char in value:
        kept = "" if depth else char
        if is_escaped:
            is_escaped = False
        elif char == "\\":
            is_escaped = True
        elif char == '"' and not depth:
            is_quoted = not is_quoted
        elif char == "(" and not is_quoted:
            depth += 1
            kept = ""
        elif char == ")" and depth:
            depth -= 1
            kept = "" if depth else " "
        elif char == ";" and not depth and not is_quoted:
            found.append("")
            kept = ""
        found[-1] += kept
    return found


PROGRAMS = re.compile(
    r"(?:mailer-daemon|postmaster|no-?reply|do-?not-?reply|bounces?|noreply-.*|bounce[+-].*)@.*"
)


def automatic(message: Message, author: Author) -> str | None:
    """Return the sign that a program has written the mail; `None` for the mail of a person.

    Answers to such mail could run in a loop (RFC 3834).
    """
    submitted = raw_value(message, "Auto-Submitted").split(";")[0].strip().lower()
    if submitted not in ("", "no"):
        return f"Auto-Submitted: {submitted}"
    precedence = raw_value(message, "Precedence").lower()
    if precedence in ("bulk", "junk", "list", "auto_reply"):
        return f"Precedence: {precedence}"
    names = [name.lower() for name in message.keys()]
    for name in names:
        if name.startswith("list-") or name in (
            "x-auto-response-suppress",
            "x-autoreply",
            "x-loop",
        ):
            return f"the header {name}"
    if any(value.replace(" ", "") == "<>" for value in raw_values(message, "Return-Path")):
        return "an empty return path"
    if PROGRAMS.fullmatch(author.address):
        return "the address of a program"
    if message.get_content_type() in ("multipart/report", "message/delivery-status"):
        return "it is a report"
    return None
