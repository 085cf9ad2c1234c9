"""`python -m tests.web.topics_server serve ...`: the command with a model of three labels."""

import piste
from piste.cli import main
from tests.test_contrast import TOPICS, topics

if __name__ == "__main__":
    piste.load = lambda *_, **__: piste.from_function(topics, TOPICS)  # type: ignore[assignment]
    main()
