"""A filter for bubblewrap (seccomp) that refuses memory which no limit counts.

memfd_create, memfd_secret, shmget and a mapping that is shared and has no file give memory that
belongs neither to a process nor to a folder; so do message queues (msgget), semaphores (semget) and
sockets, which keep what nobody reads. io_uring_setup is a way around every filter. A new namespace,
from unshare or clone, would allow a sheet to mount folders in memory. A filter cannot read the
flags of clone3; without it, the C library uses clone.
"""

import errno
import platform
import struct

LOAD, AND, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
NUMBER, MACHINE, FIRST_ARGUMENT, FOURTH_ARGUMENT = (
    0,
    4,
    16,
    40,
)  # where `struct seccomp_data` has them
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000 | errno.ENOSYS, 0x80000000
NEW_NAMESPACE = 0x7E020000  # all flags CLONE_NEW…
SHARED_WITHOUT_FILE = 0x21  # MAP_SHARED and MAP_ANONYMOUS
X32 = 0x40000000  # a second set of numbers, on x86_64
# machine -> its mark, and the numbers of clone, of mmap, and of what is refused: memfd_create,
# memfd_secret, shmget, msgget, semget, socket, socketpair, io_uring_setup, unshare, clone3
MACHINES = {
    "x86_64": (0xC000003E, 56, 9, (319, 447, 29, 68, 64, 41, 53, 425, 272, 435)),
    "aarch64": (0xC00000B7, 220, 222, (279, 447, 194, 186, 190, 198, 199, 425, 97, 435)),
}


def system_call_filter() -> bytes:
    """The program of the filter, for a machine of MACHINES."""
    mark, clone, mmap, refused = MACHINES[platform.machine()]
    tests = [(AT_LEAST, X32), *((EQUAL, number) for number in refused)]
    last = len(tests) + 8  # steps from the first test to the last return
    program = [
        (LOAD, 0, 0, MACHINE),
        (EQUAL, 1, 0, mark),
        (RETURN, 0, 0, KILL),  # a 32-bit call, whose numbers mean something else
        (LOAD, 0, 0, NUMBER),
        *((kind, last - i - 1, 0, value) for i, (kind, value) in enumerate(tests)),
        (EQUAL, 3, 0, mmap),
        (EQUAL, 0, 5, clone),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (ANY_BIT, 4, 3, NEW_NAMESPACE),
        (LOAD, 0, 0, FOURTH_ARGUMENT),
        (AND, 0, 0, SHARED_WITHOUT_FILE),
        (EQUAL, 1, 0, SHARED_WITHOUT_FILE),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, REFUSE),
    ]
    return b"".join(struct.pack("<HBBI", *step) for step in program)
