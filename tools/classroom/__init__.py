"""Hand out sheets without solutions, and score the returned sheets.

handing_out  the notebooks without solutions and without outputs
returned     a returned sheet: whose it is, and which of its cells to run
judging      inside the sandbox: run the cells, judge the answers, report line by line
system_calls what the sandbox refuses because no limit counts it
sandbox      an isolated process, stopped if it uses too much
scoring      score every exercise of a sheet, and write all scores as a table
"""
