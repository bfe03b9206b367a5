"""Wrong answers to the exercises on default gradients and kinks."""

WRONG = {
    "round_and_clamp.1": {
        "round has gradient 1": ([1, 1, 0, 0, 0], "round at 0.3: yours 1, expected 0: a step"),
        "frac is a staircase": ([0, 0, 0, 0, 0], "frac at 0.3: yours 0, expected 1"),
        "relu takes the middle": ([0, 1, 0.5, 0, 0], "relu at 0: yours 0.5, expected 0"),
        "abs takes the right slope": ([0, 1, 0, 1, 0], "abs at 0: yours 1, expected 0"),
        "hardtanh takes the inner slope": ([0, 1, 0, 0, 1], "hardtanh at 1: yours 1, expected 0"),
        "four numbers": ([0, 1, 0, 0], "needs a list of 5 numbers"),
    },
    "round_and_clamp.2": {
        "the lower bound": (0.0, "at x = 0, at the lower bound, both gradients are 0"),
        "inside": (0.5, "at x = 0.5, inside the range, both gradients are 1"),
        "outside": (2, "at x = 2, outside the range, both gradients are 0"),
    },
}
