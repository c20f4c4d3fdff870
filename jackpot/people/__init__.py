"""People: who they are, what their role lets them do, how they sign in, and the trail of what they did.

It knows nothing of web pages; the console and the command line both stand on it.
"""
