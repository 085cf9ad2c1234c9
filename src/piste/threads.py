"""Locks for shared objects, a switch for process-wide settings, and the memory of many threads."""

import ctypes
import functools
import os
import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any
from weakref import WeakKeyDictionary

_locks: "WeakKeyDictionary[Any, threading.RLock]" = WeakKeyDictionary()
_registry = threading.Lock()

M_ARENA_MAX = -8  # glibc's number of that setting
ARENAS = 2  # heaps; explanations take turns, so that they do not wait for one


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


def few_arenas() -> None:
    """Have all threads of this process share two heaps, where the C library is glibc.

    It gives each thread a heap of its own, and what one has freed no other uses: a run, of sixteen
    threads, would hold three times the memory that it needs. That cannot be undone, so it is for
    processes of piste's own.
    """
    if "MALLOC_ARENA_MAX" not in os.environ:
        _glibc("mallopt", M_ARENA_MAX, ARENAS)


def give_back() -> None:
    """Give memory that was freed back to the system, where the C library is glibc."""
    _glibc("malloc_trim", 0)


def _glibc(name: str, *arguments: int) -> None:
    function = getattr(_library(), name, None)
    if function is not None:
        function(*arguments)


@functools.cache
def _library() -> ctypes.CDLL | None:
    """The C library of this process; other systems have none that is known by nothing, and a Python
    that was linked statically cannot look for it.
    """
    try:
        return ctypes.CDLL(None) if os.name == "posix" else None
    except OSError:
        return None
