"""Pass rates corrected for the errors of a judge: the reference, its vectors, and the simulation of its claims.

    python3 corrected.py vectors > corrected.jsonl
    python3 corrected.py simulate        # takes some minutes

Needs numpy and scipy.
"""
import json
import math
import sys

import numpy as np
from scipy import optimize, special, stats

CONFIDENCE = 0.95


class Refused(Exception):
    pass


def need(condition, kind):
    if not condition:
        raise Refused(kind)


def proportion(k, n, confidence):
    """The ends of Clopper and Pearson's interval."""
    tail = (1 - confidence) / 2
    lower = stats.beta.ppf(tail, k, n - k + 1) if k else 0.0
    upper = stats.beta.isf(tail, k + 1, n - k) if k < n else 1.0
    return float(lower), float(upper)


def corrected(good, good_passed, bad, bad_failed, passed, n, confidence):
    need(0 < confidence < 1, "confidence")
    need(good_passed <= good and bad_failed <= bad, "range")
    need(min(good, bad) >= 20, "too_few_labels")
    tpr, tnr = good_passed / good, bad_failed / bad
    tpr_ends, tnr_ends = proportion(good_passed, good, confidence), proportion(bad_failed, bad, confidence)
    need(tpr + tnr - 1 > math.hypot(tpr - tpr_ends[0], tnr - tnr_ends[0]), "at_chance")
    need(n > 0, "empty")
    need(passed <= n, "range")
    p = passed / n
    p_ends = proportion(passed, n, confidence)
    fpr = 1 - tnr
    fpr_ends = 1 - tnr_ends[1], 1 - tnr_ends[0]

    def end(x, sign):
        near, far = (0, 1) if sign < 0 else (1, 0)
        reach = (p - p_ends[near]) ** 2 + (x * (tpr_ends[far] - tpr)) ** 2 + ((1 - x) * (fpr_ends[far] - fpr)) ** 2
        return p - x * tpr - (1 - x) * fpr + sign * math.sqrt(reach)

    need(end(1, -1) <= 0 <= end(0, 1), "unlike_labels")
    root = lambda sign: optimize.brentq(end, 0, 1, args=(sign,), xtol=1e-15)
    lower = root(-1) if end(0, -1) > 0 else 0.0
    upper = root(1) if end(1, 1) < 0 else 1.0
    estimate = min(max((p - fpr) / (tpr - fpr), 0.0), 1.0)
    return dict(tpr=tpr, tpr_lower=tpr_ends[0], tpr_upper=tpr_ends[1], tnr=tnr, tnr_lower=tnr_ends[0],
                tnr_upper=tnr_ends[1], p=estimate, lower=lower, upper=upper)


def vectors():
    random = np.random.default_rng(0)
    inputs = [(25, 24, 25, 22, 0, 0), (25, 26, 25, 22, 5, 9), (25, 24, 25, 22, 10, 9), (19, 19, 30, 30, 5, 9),
              (30, 30, 19, 19, 5, 9), (25, 13, 25, 12, 5, 9), (20, 13, 20, 13, 50, 90), (25, 25, 25, 25, 100, 100),
              (25, 25, 25, 25, 0, 100), (25, 20, 25, 22, 500, 500), (25, 22, 25, 20, 0, 500), (400, 390, 25, 22, 90, 100)]
    inputs = [(*it, CONFIDENCE) for it in inputs] + [(25, 24, 25, 22, 9, 10, 1.0)]
    for _ in range(60):
        good, bad = random.integers(20, 120, 2)
        tpr, tnr = random.uniform(0.6, 1, 2)
        n = int(math.exp(random.uniform(0, 7.6)))
        truth = random.uniform(0, 1)
        good_passed, bad_failed = random.binomial(good, tpr), random.binomial(bad, tnr)
        passed = random.binomial(n, truth * tpr + (1 - truth) * (1 - tnr))
        inputs.append((*map(int, (good, good_passed, bad, bad_failed, passed)), n, float(random.choice([0.8, 0.95, 0.99]))))
    names = "good good_passed bad bad_failed passed n confidence".split()
    for number, values in enumerate(inputs):
        line = {"id": f"corrected-{number:03}", "f": "corrected", "in": dict(zip(names, values))}
        try:
            line["out"] = corrected(*values)
        except Refused as refused:
            line["error"] = str(refused)
        print(json.dumps(line))


def simulate(rounds=20_000):
    """Prints the worst rates of false claims of several intervals, nominal 2.5 % each way, and their mean width."""
    random = np.random.default_rng(1)
    z = stats.norm.ppf((1 + CONFIDENCE) / 2)
    tail = (1 - CONFIDENCE) / 2

    def exact(n):
        k = np.arange(n + 1.0)
        lower = np.where(k > 0, special.betaincinv(np.maximum(k, 1e-9), n - k + 1, tail), 0)
        return lower, np.where(k < n, special.betaincinv(k + 1, np.maximum(n - k, 1e-9), 1 - tail), 1)

    def jeffreys(n):
        k = np.arange(n + 1.0)
        lower, upper = (special.betaincinv(k + 0.5, n - k + 0.5, it) for it in (tail, 1 - tail))
        return np.where(k > 0, lower, 0), np.where(k < n, upper, 1)

    def wilson(n):
        p = np.arange(n + 1.0) / n
        middle, half = (p + z * z / 2 / n) / (1 + z * z / n), z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + (z / 2 / n) ** 2)
        return np.maximum(middle - half, 0), np.minimum(middle + half, 1)

    def inverted(p, p_ends, tpr, tpr_ends, fpr, fpr_ends):
        def end(x, sign):
            near, far = (0, 1) if sign < 0 else (1, 0)
            reach = (p - p_ends[near]) ** 2 + (x * (tpr_ends[far] - tpr)) ** 2 + ((1 - x) * (fpr_ends[far] - fpr)) ** 2
            return p - x * tpr - (1 - x) * fpr + sign * np.sqrt(reach)

        def root(sign):
            low, high = np.zeros_like(p), np.ones_like(p)
            for _ in range(40):
                middle = (low + high) / 2
                is_below = end(middle, sign) > 0
                low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
            return low

        lower, upper = np.where(end(0, -1) > 0, root(-1), 0), np.where(end(1, 1) < 0, root(1), 1)
        return lower, upper, (end(1, -1) > 0) | (end(0, 1) < 0)

    def lang_reiczigel(k, n, a, good, b, bad):
        """Lang and Reiczigel 2014, with the added observations of Agresti and Coull."""
        tpr, tnr, p = (a + 1) / (good + 2), (b + 1) / (bad + 2), (k + z * z / 2) / (n + z * z)
        above_chance = np.maximum(tpr + tnr - 1, 1e-9)
        truth = (p + tnr - 1) / above_chance
        of_tpr, of_tnr = tpr * (1 - tpr) / (good + 2), tnr * (1 - tnr) / (bad + 2)
        middle = truth + 2 * z * z * (truth * of_tpr - (1 - truth) * of_tnr)
        half = z * np.sqrt(p * (1 - p) / (n + z * z) + of_tpr * truth**2 + of_tnr * (1 - truth) ** 2) / above_chance
        return np.clip(middle - half, 0, 1), np.clip(middle + half, 0, 1), np.zeros_like(p, bool)

    worst = {}
    for good, bad in ((25, 25), (20, 20), (20, 30), (30, 20), (40, 20), (100, 20), (100, 100)):
        for n in (30, 100, 400, 2000):
            tables = {rule: [rule(size) for size in (n, good, bad)] for rule in (exact, jeffreys, wilson)}
            for tpr in (0.75, 0.85, 0.92, 0.98):
                for tnr in (0.75, 0.85, 0.92, 0.98):
                    for truth in (0.7, 0.8, 0.9, 0.95, 0.99):
                        k = random.binomial(n, truth * tpr + (1 - truth) * (1 - tnr), rounds)
                        a, b = random.binomial(good, tpr, rounds), random.binomial(bad, tnr, rounds)
                        found = {"Lang and Reiczigel": lang_reiczigel(k, n, a, good, b, bad)}
                        for rule, (of_p, of_tpr, of_tnr) in tables.items():
                            ends = lambda table, at: (table[0][at], table[1][at])
                            tnr_ends = ends(of_tnr, b)
                            fpr_ends = 1 - tnr_ends[1], 1 - tnr_ends[0]
                            found[rule.__name__] = inverted(k / n, ends(of_p, k), a / good, ends(of_tpr, a), 1 - b / bad, fpr_ends)
                        for name, (lower, upper, refused) in found.items():
                            above, below = (~refused & (lower > truth)).mean(), (~refused & (upper < truth)).mean()
                            rates = above, below, above + below, refused.mean()
                            worst.setdefault(name, []).append((*rates, (upper - lower).mean()))
    for name, rows in worst.items():
        above, below, either, refused, _ = 100 * np.max(rows, axis=0)
        print(f"{name}: above {above:.1f} %, below {below:.1f} %, coverage {100 - either:.1f} %, refused {refused:.1f} %, "
              f"mean width {np.mean(rows, axis=0)[4]:.3f}")


if __name__ == "__main__":
    {"vectors": vectors, "simulate": simulate}[sys.argv[1]]()
