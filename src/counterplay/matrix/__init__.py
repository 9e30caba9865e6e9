"""Normal-form games: dominance, Nash and correlated equilibria, learners, alpha-rank."""
