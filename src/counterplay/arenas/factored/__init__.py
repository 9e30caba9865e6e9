"""Generated arenas: own trees and exact gradients of games whose histories nobody could store."""
