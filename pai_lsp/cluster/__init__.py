"""Facts of a cluster, and what follows from them for a job: does it fit, why did it fail, what would run."""
