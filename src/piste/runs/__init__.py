"""Whole data sets: what was asked for, what is done already, what came out."""
