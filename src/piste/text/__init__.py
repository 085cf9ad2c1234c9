"""Text into players: the units that get a score."""
