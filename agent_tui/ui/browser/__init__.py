"""The program in a browser on the same machine; needs the extra `serve`."""
