"""Healthy training steps, one module per family of models."""
