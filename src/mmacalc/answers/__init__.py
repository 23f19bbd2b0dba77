"""Answers: one immutable object per question, computed without any text."""
