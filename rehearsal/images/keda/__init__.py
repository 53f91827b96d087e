"""KEDA's programs, played from their source."""
