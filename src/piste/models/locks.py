"""One lock for each object that threads share and that is not made for it."""

import threading
from typing import Any
from weakref import WeakKeyDictionary

_locks: "WeakKeyDictionary[Any, threading.RLock]" = WeakKeyDictionary()
_registry = threading.Lock()


def lock_for(shared: Any) -> Any:
    """The lock of this object, the same for everybody who asks; a thread may take it twice.

    It belongs to the object itself, a torch model or a tokenizer, not to the classifier around it:
    several classifiers may use one model, and classifiers stay free to be copied and pickled.
    """
    with _registry:
        return _locks.setdefault(shared, threading.RLock())
