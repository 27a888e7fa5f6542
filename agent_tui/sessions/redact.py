"""Takes secrets out of everything that is written down."""

import base64
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, quote_plus

MARK = "[redacted]"
MIN_SECRET_CHARS = 8


@dataclass(frozen=True)
class _Shape:
    """A kind of secret known by its looks; `hint` is cheap to search and always part of it."""

    hint: str
    pattern: re.Pattern[str]
    replacement: str = MARK


_SHAPES = tuple(
    _Shape(hint, re.compile(pattern, re.DOTALL), replacement)
    for hint, pattern, replacement in (
        ("sk-", r"\bsk-[A-Za-z0-9_-]{20,}", MARK),
        ("gh", r"\bgh[pousr]_[A-Za-z0-9]{36,}", MARK),
        ("github_pat_", r"\bgithub_pat_[A-Za-z0-9_]{40,}", MARK),
        ("glpat-", r"\bglpat-[A-Za-z0-9_-]{20,}", MARK),
        ("AKIA", r"\bAKIA[0-9A-Z]{16}\b", MARK),
        ("ASIA", r"\bASIA[0-9A-Z]{16}\b", MARK),
        ("xox", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}", MARK),
        ("AIza", r"\bAIza[0-9A-Za-z_-]{35}", MARK),
        ("hf_", r"\bhf_[A-Za-z0-9]{30,}", MARK),
        ("npm_", r"\bnpm_[A-Za-z0-9]{36}\b", MARK),
        ("pypi-", r"\bpypi-AgE[A-Za-z0-9_-]{50,}", MARK),
        ("eyJ", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}", MARK),
        ("PRIVATE KEY", r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", MARK),
        ("earer ", r"([Bb]earer )[A-Za-z0-9._~+/=-]{20,}", rf"\g<1>{MARK}"),
        ("://", r"(://[^\s/:@\"\\]{1,64}:)[^\s/:@\"\\]{4,}(?=@)", rf"\g<1>{MARK}"),
    )
)


class Redactor:
    """Replaces known secrets, in plain, JSON, base64, hex and URL form, and what looks like one.

    Works on JSON text as well as on plain text: no replacement can break a string. Secrets shorter than
    8 characters are ignored, since they would take ordinary words with them.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: set[str] = set()
        self._known: re.Pattern[str] | None = None
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str) -> None:
        """Know one more secret, such as a key that was typed in."""
        if len(secret) < MIN_SECRET_CHARS or secret in self._secrets:
            return
        self._secrets.add(secret)
        forms = {form for known in self._secrets for form in _forms(known)}
        longest_first = sorted(forms, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, longest_first)))

    def known(self, text: str) -> str:
        """Give `text` without the secrets that were named."""
        return text if self._known is None else self._known.sub(MARK, text)

    def __call__(self, text: str) -> str:
        """Give `text` without secrets."""
        text = self.known(text)
        for shape in _SHAPES:
            if shape.hint in text:
                text = shape.pattern.sub(shape.replacement, text)
        return text


def _forms(secret: str) -> set[str]:
    """Give the ways in which a secret may stand in a text."""
    raw = secret.encode("utf-8", "replace")
    forms = {
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        quote(secret, safe=""),
        quote(secret),
        quote_plus(secret),
        raw.hex(),
    }
    for offset in range(3):  # a secret inside a longer text has three base64 spellings
        encoded = base64.b64encode(b"\0" * offset + raw).decode()
        start = 0 if offset == 0 else offset + 1
        stop = len(encoded.rstrip("=")) - (1 if encoded.endswith("=") else 0)
        middle = encoded[start:stop]
        forms.add(middle)
        forms.add(middle.replace("+", "-").replace("/", "_"))
    return {form for form in forms if len(form) >= MIN_SECRET_CHARS}
