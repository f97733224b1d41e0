"""Makes data/train.txt and data/val.txt from the source of the Python standard library.

The split is by file: nothing of a file is in both. Which file goes where is drawn by lot, and in every file words are
swapped for others of the same length, each for the same one throughout that file. Otherwise the text that is scored
would lie readable on every machine that has Python, in the library itself.
"""

import keyword
import os
import random
import re
import sys
import sysconfig

TRAIN_BYTES = 1_000_000
VAL_BYTES = 48_000
SMALLEST, LARGEST = 1_000, 60_000
LARGEST_VAL = 12_000
LEFT_OUT = {"test", "tests", "idle_test", "encodings", "pydoc_data", "site-packages", "dist-packages", "__pycache__"}
KEPT = {*keyword.kwlist, "self"}
WORD = re.compile(r"[A-Za-z_]{3,}")


def main():
    library = sysconfig.get_path("stdlib")
    lot = random.SystemRandom()
    paths = sorted(sources(library))
    lot.shuffle(paths)
    val, train, used = [], [], 0
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError):
            continue
        if not text.isascii():
            continue
        is_val = len(text) < LARGEST_VAL and sum(map(len, val)) < VAL_BYTES
        (val if is_val else train).append(text)
        used += len(text)
        if used > TRAIN_BYTES + 2 * VAL_BYTES:
            break
    # A Python without most of its library has too little to learn from.
    if sum(map(len, train)) < 10 * VAL_BYTES:
        sys.exit(f"there is too little Python source in {library}: is the whole standard library installed?")
    words = {}
    for word in WORD.findall("".join(train + val)):
        if word not in KEPT:
            words.setdefault(len(word), []).append(word)
    os.makedirs("data", exist_ok=True)
    for name, texts, size in (("train", train, TRAIN_BYTES), ("val", val, VAL_BYTES)):
        text = "".join(swapped(text, words, lot) for text in texts)[:size]
        with open(f"data/{name}.txt", "w", encoding="ascii") as file:
            file.write(text)
        print(f"data/{name}.txt: {len(text):,} bytes of {len(texts)} files")


def sources(library):
    for folder, folders, names in os.walk(library):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".py") and SMALLEST <= os.path.getsize(path) <= LARGEST:
                yield path


def swapped(text, words, lot):
    """The text with other words of the same length. Frequent ones are drawn more often; keywords stay."""
    other = {word: word for word in KEPT}

    def swap(found):
        word = found.group()
        if word not in other:
            of_this_length = words[len(word)]
            other[word] = of_this_length[int(lot.random() * len(of_this_length))]
        return other[word]

    return WORD.sub(swap, text)


if __name__ == "__main__":
    main()
