"""The pairs of the benchmark `similarity` by the libraries that its measures are named after.

Usage: python3 similarity.py FILE [COUNT]. FILE is written by the benchmark. With COUNT, the first pairs only; the time is that of
all pairs in proportion.
"""

import json
import sys
import time

from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from nltk.translate.gleu_score import sentence_gleu
from rapidfuzz import fuzz
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

with open(sys.argv[1]) as file:
    measured = json.load(file)
pairs = measured["pairs"]
count = int(sys.argv[2]) if len(sys.argv) > 2 else len(pairs)
tokenizer = Tokenizer13a()
# The fastest of these counts, as in the benchmark.
PASSES = 3
method = SmoothingFunction().method4


def tokens(text):
    return tokenizer(text).split()


def rouge(name):
    scorer = RougeScorer([name], use_stemmer=False)
    return lambda a, b: scorer.score(b, a)[name].fmeasure


measures = {
    "fuzzy_match": lambda a, b: fuzz.ratio(a, b) / 100,
    "bleu": lambda a, b: sentence_bleu([tokens(b)], tokens(a), smoothing_function=method, auto_reweigh=True),
    "gleu": lambda a, b: sentence_gleu([tokens(b)], tokens(a)),
    **{f"rouge_{n}": rouge(f"rouge{n.upper()}") for n in ["1", "2", "3", "4", "5", "l"]},
}
if "meteor" in measured["seconds"]:
    from nltk.corpus import wordnet
    from nltk.translate.meteor_score import single_meteor_score

    measures["meteor"] = lambda a, b: single_meteor_score(tokens(b), tokens(a), wordnet=wordnet)

ours = theirs = 0.0
for name, measure in measures.items():
    measure("a", "b")
    fastest = float("inf")
    for _ in range(PASSES):
        started = time.perf_counter()
        for a, b in pairs[:count]:
            measure(a, b)
        fastest = min(fastest, time.perf_counter() - started)
    seconds = fastest * len(pairs) / count
    own = measured["seconds"][name]
    ours, theirs = ours + own, theirs + seconds
    print(f"{name:12} {seconds:8.3f} s here, {own:8.3f} s in Rust: {seconds / own:7.1f} times")
print(f"{'all':12} {theirs:8.3f} s here, {ours:8.3f} s in Rust: {theirs / ours:7.1f} times")
