"""Small tools behind the Autograd Surprises notebooks. Import the module that you need:

helpers.functions     operations with a backward of their own: round_ste, clamp, ...
helpers.curves        an elementwise function, its gradient and its true slope, as numbers
helpers.sampling      where such a function jumps or bends
helpers.picture       a figure that shows itself in a notebook
helpers.plotting      those numbers as figures
helpers.derivatives   first and second derivatives of any function, as numbers
helpers.drawings      pictures that follow sliders: Jacobian, field, curvature, descent, saturation
helpers.controls      sliders, menus and checkboxes
helpers.explorer      sliders that change a function or a drawing, and a picture that follows
helpers.graph         the autograd graph behind a tensor, as data
helpers.graph_figure  that graph as a figure
helpers.saved_tensors bytes that a graph keeps alive for backward
helpers.doctor        explain, trace: which line made a gradient None, zero, NaN or wrong
helpers.report_card   what a custom Function supports, and where it is silently wrong
helpers.atlas         measured default gradients of torch's operations, and what versions changed
helpers.quiz          predict the gradients that the atlas holds, and see your score
helpers.atlas_browser that atlas to search, with a picture of each operation to open
helpers.lessons       predict, expect_error, expect_warning, exercise, check
helpers.exercises     the exercises of each notebook and their checks
helpers.symptoms      exact error texts, and the notebook section that explains each
helpers.mistakes      what goes wrong with autograd, made on purpose
helpers.tables        small tables for notebooks and terminals
helpers.installation  is everything here, and if not, what repairs it
"""
