"""How long a person waits before the model is asked: processor time of whole commands.

    python benchmarks/startup.py [--rounds 5] [--model DIR ...]

Every round runs each command once in a fresh interpreter, one after the other, so that whatever
else the machine does falls on all of them; the medians and their ratios are printed. The cache is
filled before.
"""

import argparse
import resource
import statistics
import subprocess
import sys

TEXT = "A superb film with a weak ending."
REFERENCE = "import torch, transformers; from transformers import BertForSequenceClassification"


def processor_time(arguments: list[str]) -> float:
    """Seconds of user and system time of one command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def commands(models: list[str]) -> dict[str, list[str]]:
    asked = {f"piste explain --model {model}": model for model in models}
    explain = {
        name: ["-m", "piste", "explain", TEXT, "--model", model] for name, model in asked.items()
    }
    return {
        "import torch, transformers, model class": ["-c", REFERENCE],
        "python": ["-c", "pass"],
        "import piste": ["-c", "import piste"],
        "piste --help": ["-m", "piste", "--help"],
        "piste explain (embedded)": ["-m", "piste", "explain", TEXT],
        **explain,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--model", action="append", default=[])
    given = parser.parse_args()
    table = commands(given.model)
    for arguments in table.values():  # fills the cache, of files too
        processor_time(arguments)
    times: dict[str, list[float]] = {name: [] for name in table}
    for _ in range(given.rounds):
        for name, arguments in table.items():
            times[name].append(processor_time(arguments))
    medians = {name: statistics.median(seconds) for name, seconds in times.items()}
    reference = next(iter(medians.values()))
    for name, seconds in medians.items():
        print(f"{seconds:7.2f} s {seconds / reference:6.2f}  {name}")


if __name__ == "__main__":
    main()
