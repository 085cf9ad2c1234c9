"""Tests of what Windows has not: signals to other processes, permissions, links, pipes, sh."""

import os

import pytest

posix_only = pytest.mark.skipif(os.name == "nt", reason="Windows has no such thing")
