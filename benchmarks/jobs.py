"""Job files of any length for the measurements: valid, and of the shape that real ones have."""

from __future__ import annotations

_HEAD = """\
protocolVersion: 2
name: bench-job
type: job
prerequisites:
  - type: dockerimage
    name: image
    uri: openpai/standard:python_3.6-pytorch_1.2.0-gpu
  - type: data
    name: cifar
    uri: [https://example.com/cifar.tar.gz]
parameters:
  epochs: 10
taskRoles:
"""

_ROLE = """\
  role{number}:
    instances: 2
    completion:
      minFailedInstances: 1
      minSucceededInstances: 2
    dockerImage: image
    data: cifar
    extraContainerOptions:
      shmMB: 64
    resourcePerInstance:
      cpu: 4
      memoryMB: 8192
      gpu: 1
      ports:
        sync: 1
    commands:
      - cd /root && git clone https://example.com/repo.git
      - python train.py --epochs <% $parameters.epochs %> --data <% $data.uri[0] %>
      - echo "listening on $PAI_PORT_LIST_role{number}_0_sync"
"""


def job(lines: int) -> str:
    """A job without a finding worse than a hint, of at least one role and about `lines` lines."""
    roles = max(1, (lines - _HEAD.count("\n")) // _ROLE.count("\n"))
    return _HEAD + "".join(_ROLE.format(number=number) for number in range(roles))
