"""Hand out sheets without solutions, and score the sheets that come back.

handing_out  the notebooks without solutions and without outputs
returned     a sheet that came back: whose it is, and which of its cells to run
judging      inside the sandbox: run the cells, judge the answers, report line by line
sandbox      a process that has no network and a place of its own, and is watched
scoring      every exercise of a sheet, and all sheets as a table
"""
