"""The studio: a local web page to see runs, trees and policies, and to play against them.

The server (`server`, `pages`, `watching`, `launching`) reads folders and imports no solver; heavy
work happens at desks (`desks` on this side of the pipe, `desk` and what it imports on the other).
"""
