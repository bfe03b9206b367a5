"""Ways to lose a gradient, each with the line that is to blame and a cured twin.

Most are as short as can be; those in threads_*.py are told like the threads of a forum.
"""

from patients import (  # noqa: F401 (importing them fills PATIENTS and CURED)
    none_history_dropped,
    none_no_derivative,
    none_other_tensor,
    not_finite,
    not_trained,
    raised_before_backward,
    raised_by_backward,
    threads_errors,
    threads_nan,
    threads_nan_of_losses,
    threads_none,
    threads_none_other,
    threads_not_trained,
    threads_zero,
    wrong_number,
    zero_flat,
    zero_on_the_way,
)
from patients.patient import CURED, PATIENTS, Patient, Visit

__all__ = ["CURED", "PATIENTS", "Patient", "Visit"]
