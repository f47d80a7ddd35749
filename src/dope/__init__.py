"""Debiased neural operators."""
