"""A day of requests to a small website, and the share of them that the cache could not answer.

Locked: nobody who edits cache.py can change what is measured. Readers follow fashions, and a crawler comes by and asks
for pages that nobody else wants. Each seed is another day, so the number moves a little by itself.
"""

import os
import random
from itertools import accumulate

from cache import Cache

PAGES = 20_000
CAPACITY = 400
REQUESTS = 250_000
FASHION = 2_000  # so many requests until other pages are popular
CRAWLED = 0.15  # the crawler's share of all requests
INSPECTED = 101  # one request in so many is looked at closely


def requests(seed):
    day = random.Random(seed)
    popularity = list(accumulate(1 / rank**0.95 for rank in range(1, PAGES + 1)))
    pages = list(range(PAGES))
    day.shuffle(pages)
    crawler = PAGES
    for start in range(0, REQUESTS, FASHION):
        for rank in day.sample(range(500), 25):  # some of the popular pages change places with others
            other = day.randrange(PAGES)
            pages[rank], pages[other] = pages[other], pages[rank]
        for rank in day.choices(range(PAGES), cum_weights=popularity, k=FASHION):
            if day.random() < CRAWLED:
                crawler += 1
                yield crawler
            else:
                yield pages[rank]


def inspect(kept, page, was_there):
    """A cache that always says yes would win."""
    if len(set(kept)) > CAPACITY:
        raise SystemExit("the cache keeps more than it has room for")
    if was_there != (page in kept):
        raise SystemExit("the cache says that it had a page, or not, and that is not so")


def main():
    cache = Cache(CAPACITY)
    missed = 0
    for number, page in enumerate(requests(int(os.environ.get("OVERNIGHT_SEED", "1")))):
        kept = cache.pages() if number % INSPECTED == 0 else None
        was_there = cache.ask(page)
        missed += not was_there
        if kept is not None:
            inspect(kept, page, was_there)
    print(f"miss_percent: {100 * missed / REQUESTS:.3f}")


if __name__ == "__main__":
    main()
