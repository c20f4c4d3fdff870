"""The same as the pages, for programs: JSON in and out, with a session or a token."""
