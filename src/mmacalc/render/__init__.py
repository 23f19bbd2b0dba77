"""Answers as text, JSON and pictures: an answer goes in, nothing is computed here that a user might ask for."""
