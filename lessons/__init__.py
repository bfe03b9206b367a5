"""What a lesson is made of.

saved_tensors   bytes that a graph keeps alive for backward
two_processes   a function in two processes at once
stairs          a staircase, and a ball that rolls down it by gradient descent
stairs_picture  the ball on its way down, as a figure
choices         four choices with a known gradient, and six ways to estimate it
digits          handwritten digits, and small networks that read them in few bits
installation    is everything installed, and if not, what repairs it
arrow_keys      the arrow keys in the questions of a page
prediction      predict: a question before its answer is shown
expectations    expect_error, expect_warning: the real message, raised by the cell
exercises       the checks of the exercises of each notebook
checking        check: what is wrong with an answer
plain_function  a plain Function, to see what it lacks
plain_questions  questions where torch prints no message
symptoms        the index of symptoms, and the search for one
symptom_text    the index as text
"""

from lessons.checking import check
from lessons.expectations import expect_error, expect_warning
from lessons.prediction import predict

__all__ = ["check", "expect_error", "expect_warning", "predict"]
