"""The languages inside the texts of a job."""
