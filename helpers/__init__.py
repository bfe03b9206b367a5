"""The tools of the Autograd Surprises notebooks, in four rooms. Each imports only those above it.

functions  operations whose gradient is chosen by hand: round_ste, clamp, step, ...
curves     a function and its gradient, as numbers and as figures
lessons    predict, expect_error, exercise, check, and the data of the lessons
widgets    explore: sliders, and a picture that follows

For your own code, use the package autograd_surprises.
"""
