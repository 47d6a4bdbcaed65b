"""What a job runs: as a released cluster takes it, and as its author means it in the extended protocol.

* `as_is.released_run`: what a released cluster runs for a file as it is
* `effective.effective_job`: what each task role means to run, with where it is written
* `write.expanded`: the released job that runs just that
* `script.effective_parts`, `script.script`: the same as text for a person
"""
