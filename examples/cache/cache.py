"""What a small web cache keeps and what it lets go.

Newcomers wait in a window. When it is full, the oldest of them meets the oldest page of the main part, and the one
that was asked for more often stays. Pages of the main part that are asked for again are protected. The numbers are
somebody's first guess: they are what `overnight` may change.
"""

from collections import OrderedDict

WINDOW = 0.7  # share of the cache where newcomers wait
PROTECTED = 0.2  # share of the main part for pages that were asked for again
MEMORY = 1.0  # counts are halved after so many requests for each place in the cache
MOST = 3  # no page is remembered to be more popular than this
MARGIN = 1.5  # a newcomer must be asked for this much more often than the page it replaces
HALVING = 0.5  # what is left of a count when it ages


class Cache:
    def __init__(self, capacity):
        self.window_size = max(1, min(capacity - 2, int(capacity * WINDOW)))
        self.main_size = capacity - self.window_size
        self.protected_size = min(self.main_size - 1, int(self.main_size * PROTECTED))
        self.age_after = max(1, int(capacity * MEMORY))
        self.window, self.trial, self.protected = OrderedDict(), OrderedDict(), OrderedDict()
        self.counts, self.requests = {}, 0

    def ask(self, page):
        """Whether the page was there; afterwards it is, where the policy thinks so."""
        self.count(page)
        if page in self.window:
            self.window.move_to_end(page)
        elif page in self.protected:
            self.protected.move_to_end(page)
        elif page in self.trial:
            self.protect(page)
        else:
            self.admit(page)
            return False
        return True

    def pages(self):
        """Everything that is kept right now."""
        return [*self.window, *self.trial, *self.protected]

    def count(self, page):
        self.requests += 1
        self.counts[page] = min(MOST, self.counts.get(page, 0) + 1)
        if self.requests % self.age_after == 0:
            aged = ((page, count * HALVING) for page, count in self.counts.items())
            self.counts = {page: count for page, count in aged if count >= 0.25}

    def protect(self, page):
        del self.trial[page]
        self.protected[page] = None
        if len(self.protected) > self.protected_size:
            oldest, _ = self.protected.popitem(last=False)
            self.trial[oldest] = None

    def admit(self, page):
        self.window[page] = None
        if len(self.window) <= self.window_size:
            return
        newcomer, _ = self.window.popitem(last=False)
        if len(self.trial) + len(self.protected) < self.main_size:
            self.trial[newcomer] = None
            return
        part = self.trial or self.protected
        oldest = next(iter(part))
        if self.counts.get(newcomer, 0) > self.counts.get(oldest, 0) + MARGIN:
            del part[oldest]
            self.trial[newcomer] = None
