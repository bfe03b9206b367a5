"""Every cause: when it applies, what happened, what helps, and which section teaches it."""
