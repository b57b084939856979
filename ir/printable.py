"""Text from a file, made safe for a terminal."""


def printable(text: str) -> str:
    """Text from a file, its control characters escaped: a terminal would act on them."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(letter: str) -> str:
    return letter if letter.isprintable() else letter.encode("unicode_escape").decode()
