"""The studio: a local web application to watch runs, explore trees and policies, and play.

`server` reads run folders and answers requests; it imports no solver. `worker` is a process per
game that builds trees, solves and evaluates. `static` has the pages.
"""
