"""Write the embedded model as a graph that OpenVINO reads, so that it starts without torch.

    python scripts/embedded_graph.py

The graph takes its weights out of model.safetensors, where torch reads them too; only its small
constants have a file of their own. Run it after the embedded model was trained anew; a test fails
where the graph is not of the model beside it.
"""

from __future__ import annotations

import json
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from piste.models.backends import facts, graph_cache, openvino_runtime
from piste.models.backends.compiled import compile_classifier
from piste.models.backends.conversion import convert
from piste.models.backends.huggingface import load_huggingface
from piste.models.backends.stored import SHIPPED, described
from piste.models.loading_errors import model_source
from piste.models.model_files import files_digest

ALIGNED = 64  # bytes
OWN = 8192  # bytes: the largest constant that is no weight, the positions


def main() -> None:
    folder = Path(model_source("demo"))
    place = folder / SHIPPED
    place.mkdir(exist_ok=True)
    classifier = load_huggingface("demo")
    write_graph(classifier.model, folder / "model.safetensors", place)
    found = described(compile_classifier(classifier), {"files": files_digest(folder)})
    if found is None:
        raise SystemExit("What stands in for the tokenizer does not read as transformers does.")
    rules = (folder / facts.RULES).read_bytes().decode("utf-8")
    facts.write(place, found[0], rules, with_rules=False)
    for file in sorted(place.iterdir()):
        print(f"{file.name:>12} {file.stat().st_size:>8,} bytes")


def write_graph(model: object, weights: Path, place: Path) -> None:
    """The graph with offsets into its own constants, followed by the file of the weights."""
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / graph_cache.GRAPH
        openvino_runtime.library().save_model(convert(model, 3), whole, compress_to_fp16=True)
        graph, data = ElementTree.parse(whole), whole.with_suffix(".bin").read_bytes()
    known, constants = tensors(weights), bytearray()
    places: list[tuple[ElementTree.Element, int | None, int]] = []
    for node in graph.iter("data"):
        if "offset" not in node.attrib:
            continue
        content = data[int(node.attrib["offset"]) :][: int(node.attrib["size"])]
        inside = known.get(content)
        if inside is None:
            if len(content) > OWN:
                raise SystemExit(f"{len(content):,} bytes of the graph are not among the weights.")
            places.append((node, None, _added(constants, content)))
        else:
            places.append((node, inside, 0))
    constants += bytes(-len(constants) % ALIGNED)
    for node, inside, own in places:
        node.set("offset", str(own if inside is None else len(constants) + inside))
    graph.write(place / graph_cache.GRAPH, encoding="utf-8", xml_declaration=True)
    (place / graph_cache.WEIGHTS).write_bytes(constants)


def tensors(file: Path) -> dict[bytes, int]:
    """Where the content of every tensor begins in a safetensors file."""
    data = file.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    ranges = [tensor["data_offsets"] for tensor in header.values()]
    return {data[start + begin : start + end]: start + begin for begin, end in ranges}


def _added(constants: bytearray, content: bytes) -> int:
    """Where a constant stands among the graph's own, once it is there."""
    place = constants.find(content)
    while place >= 0 and place % ALIGNED:
        place = constants.find(content, place + 1)
    if place < 0:
        constants += bytes(-len(constants) % ALIGNED)
        place = len(constants)
        constants += content
    return place


if __name__ == "__main__":
    main()
