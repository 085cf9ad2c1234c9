"""The memory of many threads: heaps are shared, and what was freed goes back to the system."""

import ctypes
import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="other C libraries have no such heaps"
)

THREADS = """
import ctypes, sys, threading
from piste.threads import few_arenas

if sys.argv[1] == "few":
    few_arenas()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
barrier = threading.Barrier(12)

def work():
    libc.malloc(ctypes.c_size_t(1000))
    barrier.wait()

threads = [threading.Thread(target=work) for _ in range(12)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
"""

FREED = """
import ctypes, re
from pathlib import Path
from piste.threads import give_back

def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
blocks = [libc.malloc(100_000) for _ in range(1000)]
for block in blocks:
    ctypes.memset(block, 1, 100_000)
for place, block in enumerate(blocks):
    if place % 50 != 49:  # those that stay keep the heap from shrinking by itself
        libc.free(block)
before = resident()
give_back()
print(before, resident())
"""


def printed(script: str, *arguments: str) -> str:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def heaps(which: str) -> int:
    return printed(THREADS, which).count("<heap nr=")


def test_threads_share_two_heaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    assert heaps("few") <= 2 < heaps("many")


def test_what_the_user_set_for_heaps_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_ARENA_MAX", "5")
    assert 2 < heaps("few") <= 5


def test_freed_memory_goes_back() -> None:
    before, after = map(int, printed(FREED).split())
    assert before - after > 80  # of 98 MB that were freed


def test_other_systems_lack_these_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    from piste import threads

    monkeypatch.setattr(threads, "_library", lambda: ctypes.CDLL(None))
    threads._glibc("no_such_function_anywhere", 1)
    monkeypatch.setattr(threads, "_library", lambda: None)
    threads.give_back()


def test_a_python_that_finds_no_library_goes_without(monkeypatch: pytest.MonkeyPatch) -> None:
    from piste import threads

    def static(name: str | None) -> ctypes.CDLL:
        raise OSError("Dynamic loading not supported")

    monkeypatch.setattr(ctypes, "CDLL", static)
    monkeypatch.setattr(threads, "_library", threads._library.__wrapped__)
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    threads.few_arenas()
    threads.give_back()
