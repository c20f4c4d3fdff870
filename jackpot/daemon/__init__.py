"""The running controller: batch processor, leadership, background tasks, assembly of the service."""
