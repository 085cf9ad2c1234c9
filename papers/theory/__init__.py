"""The papers' claims as running code."""
