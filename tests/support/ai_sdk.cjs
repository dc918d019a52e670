// Vercel's AI SDK, as a client of each API: one question with a tool, streamed and whole.
// node ai_sdk.cjs '{"modules": FOLDER, "base": URL, "api": ..., "question": ..., "tool": ..., "steps": ...}' prints what it saw.
const { createRequire } = require("node:module");

const asked = JSON.parse(process.argv[2]);
const modules = createRequire(asked.modules + "/");
const { generateText, jsonSchema, stepCountIs, streamText, tool } = modules("ai");
const { createAnthropic } = modules("@ai-sdk/anthropic");
const { createOpenAI } = modules("@ai-sdk/openai");
const { createOpenAICompatible } = modules("@ai-sdk/openai-compatible");

const at = { baseURL: asked.base + "/v1", apiKey: "none", name: "local", includeUsage: true };
const providers = {
  responses: () => createOpenAI(at).responses,
  chat: () => createOpenAICompatible(at),
  messages: () => createAnthropic(at),
};

const cities = [];
const weather = tool({
  description: asked.tool?.description,
  inputSchema: jsonSchema(asked.tool?.parameters ?? {}),
  execute: async ({ city }) => {
    cities.push(city);
    return "sunny, 21 degrees";
  },
});
const options = {
  model: providers[asked.api]()("tiny-think"),
  ...(asked.messages ? { messages: asked.messages } : { prompt: asked.question }),
  ...(asked.tool ? { tools: { [asked.tool.name]: weather } } : {}),
  maxOutputTokens: 200,
  temperature: 0,
  maxRetries: 0,
  stopWhen: stepCountIs(asked.steps ?? 1),
  providerOptions: { openai: asked.options ?? {} },
};

async function streamed() {
  const kinds = [];
  const result = streamText({ ...options, onError: () => {} });
  for await (const part of result.fullStream) {
    if (part.type === "error") throw part.error;
    if (kinds.at(-1) !== part.type) kinds.push(part.type);
  }
  return [await result.steps, kinds];
}

async function whole() {
  return [(await generateText(options)).steps, []];
}

async function main() {
  const [steps, kinds] = await (asked.streamed ? streamed() : whole());
  const said = steps.map((step) => ({
    text: step.text,
    reasoning: step.reasoningText ?? "",
    finish: step.finishReason,
    usage: step.usage,
    warnings: step.warnings ?? [],
  }));
  console.log(JSON.stringify({ steps: said, kinds, cities }));
}

main().catch((error) => {
  console.log(JSON.stringify({ error: String(error), body: error.responseBody ?? null }));
  process.exitCode = 1;
});
