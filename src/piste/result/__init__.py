"""The result of an explanation: what it holds, what its scores mean, how it is written and read."""
