"""Each symptom of a gradient: the search for its reason, and the rules that say what it is.

which_symptom   what the gradient of a tensor has; it calls one of these five searches
none            it is None; detached: where it lost its history, where_it_went: on which way
nonfinite       it is inf or NaN; nonfinite_forward, forward_rules: the forward pass had these
zero            it is 0; zero_rules, flat_rules: what a step of backward did to it
tiny, partial   it is nearly 0, or 0 in part
wrong           it is probably not the intended one; terms: a term trains nothing
untrained       nothing is done with it
loss            the loss itself

A search ends at the first rule that fits (rule), which makes a Finding (finding). What is known
about the loss and its graph stands in examination.
"""
