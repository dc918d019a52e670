"""The lab: real model servers, which are installed, started and tried through the addon."""
