"""The agent of this example: ideas that somebody wrote down, tried one after another, good and bad.

It gets a brief on standard input and edits the surface in place, as an agent with a model would.
"""
import json
import re
import sys
from pathlib import Path

SURFACE = Path("pystache/parser.py")


def put(text, anchor, new):
    """Puts lines before the first line that the anchor matches."""
    found = re.search(anchor, text, re.MULTILINE)
    if not found:
        sys.exit(f"{SURFACE} has no line like {anchor}: another version of pystache?")
    return text[: found.start()] + new + text[found.start() :]


def with_import(text):
    return text if "import functools" in text else put(text, r"^import re$", "import functools\n")


def compile_once(text):
    once = """def _once(function):
    cached = functools.lru_cache(maxsize=64)(function)
    # A tag that changes the delimiters gives them as a list.
    return lambda delimiters: cached(tuple(delimiters))


@_once
"""
    return put(with_import(text), r"^def _compile_template_re\(", once)


def ends_as_text(text):
    return put(text, r"^NON_BLANK_RE", "END_OF_LINE_CHARACTERS = '\\r\\n'\n")


def parse_once(text):
    return put(with_import(text), r"^def parse\(", "@functools.lru_cache(maxsize=256)\n")


def parse_once_per_delimiters(text):
    cached = """    if delimiters is None:
        delimiters = defaults.DELIMITERS
    return _parse(template, tuple(delimiters), raise_on_mismatch)


# A template is rendered many times, and its tree never changes.
@functools.lru_cache(maxsize=256)
def _parse(template, delimiters, raise_on_mismatch):
"""
    return put(with_import(text), r"^    parser = _Parser\(", cached)


IDEAS = {
    "compile the pattern of tags once": compile_once,
    "ends of lines in a text and not in a list": ends_as_text,
    "parse a template once": parse_once,
    "parse a template once per pair of delimiters": parse_once_per_delimiters,
}

brief = json.load(sys.stdin)
tried = {past["description"] for past in brief["recent"] + brief["open"]}
idea = next((idea for idea in IDEAS if idea not in tried), None)
if idea is None:
    sys.exit("no ideas left")
SURFACE.write_text(IDEAS[idea](SURFACE.read_text()))
print(idea)
