"""The subcommands beside the program itself: config, auth, models, doctor, completion."""
