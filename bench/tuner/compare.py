"""From stored runs to regrets, and who is best."""

import statistics

from statistic import LEVEL, median_interval, wilcoxon
from trials import AGAIN, LOOKS

# Shares of the start's regret below this are equal: nobody would see the difference.
FLOOR = 0.001
# With fewer seeds nearly everything is tied.
ENOUGH = 10


class Results:
    """Regrets by objective, method and seed: 1 is the start, 0 the best there is."""

    def __init__(self, rows, floor=FLOOR):
        self.rows, self.floor, self.by_key = rows, floor, {}
        best = {}
        for row in rows:
            key = row["objective"], row["seed"]
            seen = [value for value in (*row["true"], row["start"]) if value is not None]
            best[key] = min(seen + [best.get(key, row["start"])])
        for row in rows:
            optimum = row["optimum"] if row["optimum"] is not None else best[row["objective"], row["seed"]]
            self.by_key.setdefault((row["objective"], row["method"]), {})[row["seed"]] = (row, optimum)

    def objectives(self):
        return list(dict.fromkeys(row["objective"] for row in self.rows))

    def methods(self, objective):
        return [method for (of, method) in self.by_key if of == objective]

    def missing(self, objective, wanted, after):
        """Those of the wanted methods that have not run on enough seeds."""
        return [method for method in wanted if len(self.by_key.get((objective, method), {})) < ENOUGH]

    def regrets(self, objective, method, after, rule="true"):
        """By seed. Where the start is already the best that anybody saw, there is no regret to speak of."""
        at = (LOOKS if rule == "true" else AGAIN).index(after)
        found = {}
        for seed, (row, optimum) in self.by_key.get((objective, method), {}).items():
            values = row[rule] or row["true"]
            at_here = at if row[rule] else LOOKS.index(after)
            if at_here < len(values) and row["start"] > optimum:
                value = values[at_here]
                # What fails now and then is worse than the start, and no number says by how much.
                regret = 1.0 + 1e-6 if value is None else (value - optimum) / (row["start"] - optimum)
                found[seed] = max(regret, self.floor)
        return found

    def standing(self, objective, after, rule="true"):
        """For each method its median with interval, and whether it is best or cannot be told from the best."""
        regrets = {method: self.regrets(objective, method, after, rule) for method in self.methods(objective)}
        regrets = {method: found for method, found in regrets.items() if found}
        if not regrets:
            return {}
        # Pairs want the same seeds: those that all have which have enough.
        most = max(map(len, regrets.values()))
        regrets = {method: found for method, found in regrets.items() if len(found) > most / 2}
        seeds = sorted(set.intersection(*(set(found) for found in regrets.values())))
        if not seeds:
            return {}
        lists = {method: [found[seed] for seed in seeds] for method, found in regrets.items()}
        best = min(lists, key=lambda method: (statistics.median(lists[method]), statistics.mean(lists[method])))
        return {
            method: {
                "interval": median_interval(values),
                "seeds": len(seeds),
                "tied": method == best or wilcoxon(values, lists[best]) > LEVEL,
                "best": method == best,
                "worse_than_start": sum(value > 1.0 + 1e-9 for value in values),
            }
            for method, values in lists.items()
        }
