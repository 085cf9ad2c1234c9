"""The two papers behind piste, reproduced: their tables and figures, and their claims as checks.

From a clone: `python -m papers list`, `python -m papers run NAME --out DIR`,
`python -m papers theory`. Not part of the installed package, and built on its public names only.
"""
