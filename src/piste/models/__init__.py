"""Classifiers behind one protocol. Torch and its kin live in this room only."""
