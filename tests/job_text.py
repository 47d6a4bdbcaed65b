"""Jobs that many tests begin with."""

from __future__ import annotations

# The beginning of a job, up to its first prerequisite.
HEAD = """\
protocolVersion: 2
name: train
type: job
prerequisites:
  - {type: dockerimage, name: image, uri: "ubuntu:20.04"}
"""
# The same with an image of any version, as the tests of clusters have it.
ON_CLUSTER = """\
protocolVersion: 2
name: train
type: job
prerequisites:
  - {name: image, type: dockerimage, uri: ubuntu}
"""
# A job without `instances` and `prerequisites` of its only task role.
SMALL = f"""{HEAD}taskRoles:
  worker:
    dockerImage: image
    resourcePerInstance: {{cpu: 1, memoryMB: 1024, gpu: 0}}
    commands: [echo hi]
"""
