"""Text that every reader of a page, and every font, can take."""

from __future__ import annotations

import re

# Control characters and lone surrogates may stand in a user's names, but neither in XML nor in a UTF-8 file.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def clean(text: object) -> str:
    return _UNPRINTABLE.sub("\ufffd", str(text))
