"""Commands on the pages that the tests do not run, each with the reason.

A key is the beginning of a command, word by word. `test_docs.py` fails on an entry that no page
uses any more.
"""

# Never run.
EXCUSED = {
    "source .venv/bin/activate": "the environment that `make demo` makes; the tests run in one",
    "ray start": "starts daemons of a cluster, which outlive the test",
    "piste run reviews.jsonl --model my-org/my-classifier --out results --engine ray --workers 16"
    " --device cuda": "needs a cluster with GPUs",
    "piste run reviews.jsonl --model my-org/my-classifier --out results --to-hub": (
        "contacts the hub; tests/runs/test_hub.py runs it against one on loopback"
    ),
    "jupyter execute": "writes into the notebook; tests/test_examples.py runs copies",
    "python -m papers theory --questions": "minutes; tests/papers/theory measures the same",
}

# Run by `make test-slow` only.
SLOW = {
    "piste run reviews.jsonl --model my-org/my-classifier --out results --engine ray": (
        "a Ray of its own takes most of a minute"
    ),
}

# Blocks of libraries that the test environment does not hold: they are compiled, not run.
COMPILED = {
    "mlflow": "a tracking server's client: some 100 MB for one page",
    "wandb": "a tracking service's client: some 100 MB for one page",
    "interpreto": "a peer of the benchmark only; `make bench` makes an environment for it",
}
