"""What is measured beside the functions that need nothing but x: the lines of code of rows.toml.

>>> NOTES["torch.median(x) at x = (1, 1, 1)"].partition(";")[0]
'one alone can move without moving the median'
"""

from autograd_surprises.facts.toml_data import read_toml

_rows = read_toml("atlas/rows.toml")
EXPRESSIONS, KINKS, TIES = _rows["operations"], _rows["kinks"], _rows["ties"]
NOTES = {line: note for line, note in {**EXPRESSIONS, **TIES}.items() if note}
