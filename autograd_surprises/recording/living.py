"""The objects of some classes that exist now."""

import gc


def living(*kinds: type) -> list[list]:
    """All objects of each of these classes, and of classes derived from it.

    >>> class Kind: pass
    >>> one = Kind()
    >>> living(Kind) == [[one]]
    True
    """
    families = [_family(kind) for kind in kinds]
    some = set().union(*families)
    # A list of all objects is read once: that takes the time, and not what is done with a few.
    things = [thing for thing in gc.get_objects() if type(thing) in some]
    return [[thing for thing in things if type(thing) in family] for family in families]


def _family(kind):
    family, waiting = {kind}, [kind]
    while waiting:
        derived = set(type.__subclasses__(waiting.pop())) - family
        family |= derived
        waiting += derived
    return family
