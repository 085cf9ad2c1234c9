"""SLALOM itself: the model, its fits, its standard errors."""
