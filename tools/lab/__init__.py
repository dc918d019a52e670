"""Real model servers in front of which the addon is tried: installed, started, asked, told of."""
