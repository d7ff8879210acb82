"""Sequences of requests that nobody thought of: planned by Hypothesis, done on the live server,
judged by the same rules, and made as small as they can be.

``planning`` is the state machine: it makes plans, which are plain data (``steps``) and never
depend on an answer. ``performing`` does a plan on fresh tasks; ``model`` keeps what each task may
be meanwhile; ``judging`` runs the rules over what came. ``shrinking`` looks for the shortest plan
that shows the same, ``finds`` are its files, and ``script`` tells it in lines of curl.
"""
