"""Rows of data, whatever holds them: files, data sets, and objects of a program."""
