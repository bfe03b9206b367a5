"""Hand out sheets without solutions, and score the returned sheets.

handing_out  the notebooks without solutions and without outputs
returned     a returned sheet: whose it is, and which of its cells to run
solutions    the answers of the folded solutions
cells        inside the sandbox: run the cells of a sheet, within limits
answering    there: the process of a sheet, whose `check` hands each answer to the judge
judging      in another process: judge the answers, report line by line
remote       functions that run in another process, and their gradients
plain        values as texts and plain numbers
drawn        an answer against the solution, for inputs that are drawn anew in each run
together     for answers that no other process can judge: run the cells and judge in one process
system_calls what the sandbox refuses because no limit counts it
sandbox      isolated processes, stopped if they use too much
scoring      score every exercise of a sheet, and write all scores as a table
"""
