"""A module for each notation of layouts, with a `read` that gives a `ForeignLayout`, or None for texts of others."""
