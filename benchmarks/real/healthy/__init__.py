"""Healthy training steps, one module per family of models."""

from real import libraries as libraries  # comes before a library that needs it
