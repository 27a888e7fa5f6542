"""MCP servers: other programs that offer tools, resources and prompts."""
