"""Tests in a real browser; a package, so that they can import lab.py."""
