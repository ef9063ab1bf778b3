// For rows/embed.mjs: what an import costs of which nothing comes.
