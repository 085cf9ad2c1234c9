"""Simple models fitted to a classifier's answers."""
