// The `ollama` package for JavaScript, as a client of Ollama's API.
// node ollama.cjs '{"modules": FOLDER, "host": URL, "model": NAME, "tool": ...}' prints what it saw.
const { createRequire } = require("node:module");

const asked = JSON.parse(process.argv[2]);
const { Ollama } = createRequire(asked.modules + "/")("ollama");
const client = new Ollama({ host: asked.host });
const options = { temperature: 0, seed: 1, num_predict: 300 };
const sum = [{ role: "user", content: "12 * 7" }];
const common = { model: asked.model, options };

async function streamed() {
  const parts = [];
  for await (const part of await client.chat({ ...common, messages: sum, think: true, stream: true })) parts.push(part);
  const joined = (name) => parts.map((part) => part.message[name] ?? "").join("");
  return { parts: parts.length, thinking: joined("thinking"), content: joined("content"), last: parts.at(-1) };
}

async function called() {
  const messages = [{ role: "user", content: "What is the weather in Oslo?" }];
  const calling = await client.chat({ ...common, messages, tools: [asked.tool] });
  const result = { role: "tool", content: "sunny, 21 degrees", tool_name: "get_weather" };
  const answer = await client.chat({ ...common, messages: [...messages, calling.message, result], tools: [asked.tool] });
  return { calls: calling.message.tool_calls, thinking: calling.message.thinking, answer: answer.message.content };
}

async function refused() {
  try {
    await client.show({ model: "other" });
  } catch (error) {
    return { status: error.status_code, words: error.message };
  }
}

async function main() {
  const format = { type: "object", properties: { answer: { type: "integer" } }, required: ["answer"] };
  const formed = await client.chat({ ...common, messages: sum, format, think: false });
  console.log(
    JSON.stringify({
      streamed: await streamed(),
      called: await called(),
      formed: formed.message.content,
      listed: (await client.list()).models.map((model) => model.model),
      shown: (await client.show({ model: asked.model })).capabilities,
      refused: await refused(),
    }),
  );
}

main().catch((error) => {
  console.log(JSON.stringify({ error: String(error) }));
  process.exitCode = 1;
});
