"""Cases that need torch alone: `make test` examines them.

none_*, zero_*, not_*, raised_*, wrong_*   ways to lose a gradient, as short as can be
threads_*          the same, told like the threads of a forum
short_steps        healthy steps, each as short as can be
on_purpose         methods that cut, freeze or round gradients; starts_at_zero: or start at 0
well_known_models  as their authors wrote them
practice*          published methods, each with a habit that could raise a false alarm
"""

from cases.case import CURED, HEALTHY, PATIENTS
from cases.small import (
    none_history_dropped,
    none_no_derivative,
    none_other_tensor,
    not_finite,
    not_trained,
    on_purpose,
    practice,
    practice_of_gradients,
    raised_before_backward,
    raised_by_backward,
    short_steps,
    starts_at_zero,
    threads_errors,
    threads_nan,
    threads_nan_of_losses,
    threads_none,
    threads_none_other,
    threads_not_trained,
    threads_zero,
    well_known_models,
    wrong_number,
    zero_flat,
    zero_on_the_way,
)
