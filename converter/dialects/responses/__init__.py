"""OpenAI's Responses API: spoken by Codex, the Agents SDK and newer OpenAI clients."""
