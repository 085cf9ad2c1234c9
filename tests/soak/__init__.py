"""The soak: long, bounded trials of what piste promises under kills, load and odd input."""
