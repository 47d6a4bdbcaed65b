"""What a job runs: on a released cluster, and as its author means it in the extended protocol.

* `released_run.released_run`: what a released cluster runs for a file as it is
* `effective.effective_job`: what each task role is meant to run, with its places in the files
* `released_form.released_form`: the names, lists and commands that this needs on a released cluster
* `released_job.expanded`: the released job that runs the same; `proof.proven` reads it again
* `script.effective_parts`, `script.script`: the same as text for a person
"""
