"""What all rooms stand on: errors, records, checks of arguments, numbers and files that users give."""
