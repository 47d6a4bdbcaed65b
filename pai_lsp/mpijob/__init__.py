"""MPIJob manifests of the Kubeflow MPI operator: read as Kubernetes reads them, checked, and converted."""
