"""The vocabulary that all layers share: frozen data, no behaviour."""
