"""Screens about MCP servers: the panel, signing in, accepting changed tools."""
