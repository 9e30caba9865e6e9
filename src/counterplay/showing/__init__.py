"""Looking at solutions: infosets by what is lost there, grids, outlines and drawings of trees."""
