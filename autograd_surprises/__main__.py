"""python -m autograd_surprises train.py: run a training script, and say which gradients are bad."""

import sys

from autograd_surprises.command.parser import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
