"""One file a backend: what turns token ids into logits."""
