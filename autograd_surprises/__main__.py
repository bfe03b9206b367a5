"""python -m autograd_surprises card module:function --shape 4,3"""

import sys


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["card"]:
        from autograd_surprises.report_card.terminal import main

        return main(arguments[1:])
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
