"""What a released cluster runs of a job that is submitted as it is."""
