"""What a job runs: as a released cluster takes it, and as its author means it in the extended protocol."""
