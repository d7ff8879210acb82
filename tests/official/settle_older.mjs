// Calls every tool of a server of 2025-11-25 with the client of the official TypeScript SDK, answers
// what it is asked, and prints, a line each, what became of the call.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { filled } from "./filled.mjs";

const [url] = process.argv.slice(2);
const capabilities = {
  elicitation: { form: {}, url: {} },
  sampling: {},
  roots: {},
  tasks: { list: {}, cancel: {} },
};
const client = new Client({ name: "official-client", version: "1" }, { capabilities });
client.setRequestHandler(ElicitRequestSchema, async ({ params }) =>
  params.mode === "url"
    ? { action: "accept" }
    : { action: "accept", content: filled(params.requestedSchema) },
);
client.setRequestHandler(CreateMessageRequestSchema, async () => ({
  model: "official",
  role: "assistant",
  content: { type: "text", text: "official" },
}));
client.setRequestHandler(ListRootsRequestSchema, async () => ({
  roots: [{ uri: "file:///official" }],
}));
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const { tools } = await client.listTools();
for (const tool of tools) {
  const told = { tool: tool.name, kind: "immediate" };
  const support = tool.execution?.taskSupport ?? "forbidden";
  const options = support === "forbidden" ? {} : { task: { ttl: 60_000 } };
  const call = { name: tool.name, arguments: filled(tool.inputSchema) };
  try {
    const stream = client.experimental.tasks.callToolStream(call, CallToolResultSchema, options);
    for await (const message of stream) {
      if (message.task !== undefined) told.kind = "task";
      if (message.task !== undefined) told.status = message.task.status;
      if (message.type === "result") told.status = "completed";
      if (message.type === "result") told.isError = message.result.isError ?? false;
    }
  } catch (error) {
    told.problem = `${error.name}: ${error.message}`;
  }
  console.log(JSON.stringify(told));
}
await client.close();
