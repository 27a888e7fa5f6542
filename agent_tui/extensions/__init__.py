"""What people plug in: tools found by path, servers, skills, hooks."""
