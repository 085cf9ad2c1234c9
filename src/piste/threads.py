"""Locks for shared objects, and a switch for process-wide settings."""

import threading
from collections.abc import Callable
from contextlib import ContextDecorator
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


class Switch(ContextDecorator):
    """A setting of the whole process, changed while any thread is inside; also a decorator.

    The first thread to enter changes it and the last to leave restores it. If every thread kept its
    own copy, the last one could restore what another thread had set.

    change: makes the change and returns the function that undoes it.
    """

    def __init__(self, change: Callable[[], Callable[[], object]]) -> None:
        self._change, self._lock, self._inside = change, threading.Lock(), 0
        self._undo: Callable[[], object] = change  # replaced by the first to enter

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._undo = self._change()
            self._inside += 1

    def __exit__(self, *problem: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._undo()
