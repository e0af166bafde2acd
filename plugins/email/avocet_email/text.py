"""The text of a mail, by its authors: the sender's own words, without signature and history."""

import re
from typing import NamedTuple

# Characters of text that are read.
MAX_TEXT = 100_000


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


FORWARDED_WORDS = (
    r"forwarded (?:message|by)|weitergeleitete (?:nachricht|e-?mail)|"
    r"message (?:transf[ée]r[ée]|r[ée]exp[ée]di[ée])|"
    r"mensaje reenviado|messaggio inoltrato|doorgestuurd bericht|mensagem (?:re)?encaminhada|"
    r"przekazana wiadomo[śs][ćc]|wiadomo[śs][ćc] przekazana|vidarebefordrat (?:meddelande|brev)|"
    r"videresendt (?:besked|meddelelse|melding)|v[äa]litetty viesti|p[řr]eposlan[áa] zpr[áa]va|"
    r"[İi]letilen [İi]leti|tov[áa]bb[íi]tott [üu]zenet|mesaj redirec[țt]ionat|"
    r"пересылаемое сообщение|перенаправленное сообщение|переслане повідомлення|"
    r"προωθημένο μήνυμα|転送(?:された)?メッセージ|转发的?(?:消息|邮件|信息)|轉寄(?:的)?(?:郵件|訊息)|전달된 (?:메시지|메일)"
)
ORIGINAL_WORDS = (
    r"original (?:message|appointment)|urspr[üu]ngliche (?:nachricht|e-?mail)|message d.origine|"
    r"mensaje original|messaggio originale|oorspronkelijk bericht|mensagem original|"
    r"(?:oryginalna wiadomo[śs][ćc]|wiadomo[śs][ćc] oryginalna)|ursprungligt meddelande|"
    r"oprindelig meddelelse|opprinnelig melding|alkuper[äa]inen viesti|p[ůu]vodn[íi] zpr[áa]va|"
    r"[öo]zg[üu]n [İi]leti|eredeti [üu]zenet|исходное сообщение|αρχικό μήνυμα|"
    r"元のメッセージ|原始邮件|邮件原件|原始郵件|원본 메시지"
)
# What Apple Mail writes.
BEGIN_WORDS = (
    r"begin forwarded message|anfang der weitergeleiteten (?:nachricht|e-?mail)|"
    r"d[ée]but du message (?:r[ée]exp[ée]di[ée]|transf[ée]r[ée])|inicio del mensaje reenviado|"
    r"inizio (?:del )?messaggio inoltrato|begin doorgestuurd bericht|"
    r"in[íi]cio da mensagem (?:re)?encaminhada|pocz[ąa]tek przekazywanej wiadomo[śs]ci|"
    r"(?:p[åa]b[öo]rjat? )?vidarebefordrat (?:brev|meddelande)|"
    r"(?:start p[åa] )?videresendt (?:besked|melding)|"
    r"v[äa]litetty viesti alkaa|начало (?:переадресованного|пересылаемого) сообщения|"
    r"転送されたメッセージ|开始转发的(?:信息|邮件)|下面是被转发的邮件|開始轉寄(?:的)?(?:郵件|訊息)|전달된 메시지 시작"
)
FORWARDED = re.compile(
    rf"^(?:[-_=]{{2,}} ?(?:{FORWARDED_WORDS})\b.*|(?:{BEGIN_WORDS}) ?[:：]?)$", re.IGNORECASE
)
ORIGINAL = re.compile(
    rf"^(?:[-_=]{{2,}} ?(?:{ORIGINAL_WORDS}) ?[-_=]{{2,}}|_{{20,}})$", re.IGNORECASE
)
# The block of Outlook: `From:`, then `Sent:` or `Date:` within the next lines.
FIELD_FROM = re.compile(
    r"^\*?(?:from|von|de|da|van|od|fr[åa]n|fra|l[äa]hett[äa]j[äa]|felad[óo]|kimden|от|від|από|"
    r"差出人|发件人|寄件者|보낸 사람)\*?\s?[:：]\*? ?.*\S",
    re.IGNORECASE,
)
FIELD_DATE = re.compile(
    r"^\*?(?:sent|date|gesendet|datum|envoy[ée]|enviado|fecha|data|inviato|verzonden|wys[łl]ano|"
    r"skickat|sendt|dato|l[äa]hetetty|odesl[áa]no|elk[üu]ldve|g[öo]nderildi|tarih|отправлено|дата|"
    r"送信日時|发送时间|寄件日期|日期|보낸 날짜)\*?\s?[:：]",
    re.IGNORECASE,
)
ATTRIBUTION = re.compile(
    r"^(?:(?:on|am|le|el|il|op|em|den|dnia|w dniu|a|pe|ma|dne|kl)\b.{5,300}"
    r"(?:wrote|writes|schrieb\b.*|a [ée]crit|escribi[óo]|ha scritto|schreef\b.*|escreveu|skrev\b.*|"
    r"napisa[łl]\b.*|kirjoitti|napsal\b.*|[íi]rta\b.*|scris)|"
    r"\d.{5,300}(?:пишет|написал.*|писал.*|yazdı|写道|寫道|のメール|作成))\s?[:：]$",
    re.IGNORECASE | re.DOTALL,
)
# The subject of a mail that answers or forwards another one.
OF_ANOTHER = re.compile(
    r"^\s*(?:re|aw|wg|fwd?|tr|rv|enc|i|r|sv|vs|vl|vb|antw|doorst|odp|pd|ynt|ilt|ответ|на|"
    r"转发|回复|轉寄|回覆|답장|전달)"
    r"(?:\[\d+\])?\s?[:：]",
    re.IGNORECASE,
)
FORWARDING = re.compile(
    r"^\s*(?:wg|fwd?|tr|rv|enc|i|vl|vb|doorst|pd|ilt|转发|轉寄|전달)\s?[:：]", re.IGNORECASE
)


QUOTE_MARK = re.compile(r"\[(?:\.\.\.|quote \d+)\]")


class Part(NamedTuple):
    """Words of another author in a mail."""

    author: str | None
    text: str


class MailText(NamedTuple):
    """The text of a mail, by its authors."""

    # The words of the sender.
    own: str
    forwarded: list[Part]
    quotes: list[Part]


def split_text(
    text: str, most_quoted: int, *, is_forward: bool = False, is_answer: bool = False
) -> MailText:
    """Cut the signature and the history, and take the words of others out of the text.

    A quote of more than `most_quoted` characters is left out, unless the sender has added nothing.
    `is_forward` tells that the subject is that of a forwarded mail. In an answer to the agent
    (`is_answer`), the quotes at the end are left out: they are its own words.
    """
    lines = text.split("\n")
    end, begin = end_of_own(lines)
    own, quotes, inner = without_quotes(lines[:end], most_quoted)
    own, last = without_last_marks(own)
    if is_answer and own:
        quotes = quotes[: len(quotes) - last]
    forwarded = [forwarded_part(one) for one in inner]
    if not own and not forwarded and begin is None:
        # The sender has only quoted.
        return MailText("", [], [Part(None, text.strip())] if text.strip() else [])
    # An answer may end with the mail that it answers.
    if begin is not None and (is_forward or not own or FORWARDED.match(lines[begin].strip())):
        forwarded.append(forwarded_part("\n".join(lines[begin:]).strip()))
    return MailText(own, forwarded, quotes)


def forwarded_part(text: str) -> Part:
    """Return a forwarded mail with its author, if its head names one."""
    for line in text.split("\n")[:6]:
        if FIELD_FROM.match(line.strip()):
            author = re.split("[:：]", line, maxsplit=1)[1].strip(" *")
            return Part(author[:200] or None, text)
    return Part(None, text)


def without_quotes(lines: list[str], most_quoted: int) -> tuple[str, list[Part], list[str]]:
    """Return the lines of the sender, the quotes between them, and quoted forwarded mails."""
    kept: list[str] = []
    quotes: list[Part] = []
    forwarded: list[str] = []
    place = 0
    while place < len(lines):
        if not is_quoted(lines[place]):
            kept.append(lines[place])
            place += 1
            if attribution_lines(kept) and not is_quote_next(lines, place):
                # Some programs do not mark the lines that they quote.
                rest = "\n".join(lines[place:]).strip()
                author = drop_attribution(kept)
                add_quote(quotes, kept, author, rest, len(rest))
                break
            continue
        end = place
        while end < len(lines) and (is_quoted(lines[end]) or is_gap(lines, end)):
            end += 1
        bare = [line.strip().lstrip("> ") for line in lines[place:end]]
        author = drop_attribution(kept)
        if any(FORWARDED.match(line) for line in bare):
            forwarded.append("\n".join(bare))
        else:
            add_quote(quotes, kept, author, "\n".join(bare), most_quoted)
        place = end
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip(), quotes, forwarded


def without_last_marks(own: str) -> tuple[str, int]:
    """Remove the lines in place of quotes at the end, which have no information there.

    Return the number of these quotes, without those that were left out.
    """
    lines, count = own.split("\n"), 0
    while lines and (not lines[-1].strip() or QUOTE_MARK.fullmatch(lines[-1])):
        count += lines.pop().startswith("[quote")
    return "\n".join(lines), count


def add_quote(
    quotes: list[Part], kept: list[str], author: str | None, text: str, most_quoted: int
) -> None:
    """Add a quote, and a line in its place."""
    if not text.strip():
        return
    if len(text) > most_quoted:
        kept.append("[...]")
        return
    number = len(quotes) + 1
    quotes.append(Part(f"quote {number}" + (f", {author}" if author else ""), text))
    kept.append(f"[quote {number}]")


def is_quoted(line: str) -> bool:
    """Return `True` for a line that a mail program has quoted."""
    return line.lstrip().startswith((">", "\uff1e"))


def is_gap(lines: list[str], place: int) -> bool:
    """Return `True` for an empty line between two quoted ones."""
    return not lines[place].strip() and place + 1 < len(lines) and is_quoted(lines[place + 1])


def is_quote_next(lines: list[str], place: int) -> bool:
    """Return `True` if the next line with text is quoted, or there is none."""
    following = (line for line in lines[place:] if line.strip())
    return is_quoted(next(following, ">"))


def end_of_own(lines: list[str]) -> tuple[int, int | None]:
    """Return the number of lines before the signature or another mail, and the line of that mail."""
    begin = next((place for place in range(len(lines)) if begins_mail(lines, place)), None)
    own = lines[:begin]
    signature = (place for place, line in enumerate(own) if line in ("-- ", "--") and place)
    return next(signature, len(own)), begin


def begins_mail(lines: list[str], place: int) -> bool:
    """Return `True` for the first line of another mail below the own text."""
    stripped = lines[place].strip()
    if FORWARDED.match(stripped) or ORIGINAL.match(stripped):
        return True
    following = [later.strip() for later in lines[place + 1 : place + 4]]
    return bool(FIELD_FROM.match(stripped)) and any(FIELD_DATE.match(later) for later in following)


def attribution_lines(kept: list[str]) -> int:
    """Return the number of lines of `On ... wrote:` at the end, which may be wrapped."""
    for count in (1, 2, 3):
        if len(kept) >= count and ATTRIBUTION.match("\n".join(kept[-count:]).strip()):
            return count
    return 0


def drop_attribution(kept: list[str]) -> str | None:
    """Remove the line `On ... wrote:` at the end, and return its author in one line."""
    end = len(kept)
    while end and not kept[end - 1].strip():
        end -= 1
    count = attribution_lines(kept[:end])
    if not count:
        return None
    author = " ".join(kept[end - count : end]).strip(" :：")
    del kept[end - count :]
    return author[:200]
