"""The lab: install real model servers, start each with a small model, try it through the addon."""
