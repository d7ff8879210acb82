// Calls every tool of a server with the official client of the Tasks extension, answers what it
// is asked, and prints, a line each, what became of the call.
import { withTasks } from "@modelcontextprotocol/ext-tasks/client";
import { filled } from "./filled.mjs";

const [url] = process.argv.slice(2);
const META = "io.modelcontextprotocol/";
const VERSION = "2026-07-28";
const meta = {
  [`${META}protocolVersion`]: VERSION,
  [`${META}clientInfo`]: { name: "official-client", version: "1" },
  [`${META}clientCapabilities`]: {
    elicitation: { form: {}, url: {} },
    sampling: {},
    roots: {},
    extensions: { [`${META}tasks`]: {} },
  },
};

let requests = 0;

// The events of a stream, of which one is the answer and the others are notifications.
function answerAmong(stream) {
  const events = stream.split(/\r?\n\r?\n/).map((event) =>
    event
      .split(/\r?\n/)
      .filter((line) => line.startsWith("data:"))
      .map((line) => line.slice(5))
      .join("\n"),
  );
  const messages = events.filter((data) => data.trim()).map((data) => JSON.parse(data));
  return messages.find((message) => !("method" in message));
}

async function dispatch(request, options) {
  const params = { ...request.params, _meta: { ...request.params?._meta, ...meta } };
  const named = request.method === "tools/call" ? { "Mcp-Name": params.name } : {};
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": VERSION,
      "Mcp-Method": request.method,
      ...named,
      ...options?.context?.headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: ++requests, method: request.method, params }),
  });
  const text = await response.text();
  const streamed = response.headers.get("content-type")?.toLowerCase().includes("event-stream");
  const message = streamed ? answerAmong(text) : JSON.parse(text);
  if ("error" in message) return { kind: "error", error: message.error };
  return { kind: "result", result: message.result };
}

const never = () => () => {};
const port = {
  endpointId: "server-under-test",
  taskCapabilities: { generation: "v2", capabilities: {} },
  invalidated: false,
  dispatch,
  onServerRequest: never,
  onNotification: never,
  onInvalidated: never,
};

async function answer(request) {
  if (request.kind === "roots") return { roots: [{ uri: "file:///official" }] };
  if (request.kind === "sampling")
    return { model: "official", role: "assistant", content: { type: "text", text: "official" } };
  const form = request.params.requestedSchema;
  return form === undefined ? { action: "accept" } : { action: "accept", content: filled(form) };
}

const problems = [];
const session = withTasks(port, {
  onInputRequest: answer,
  onError: (error) => problems.push(error.message),
});
const { result } = await dispatch({ method: "tools/list" });
for (const tool of result.tools) {
  const told = { tool: tool.name };
  try {
    const execution = await session.callTool(tool.name, filled(tool.inputSchema));
    const { outcome } = await execution.settle();
    Object.assign(told, { kind: execution.kind, status: outcome.status });
    told.isError = outcome.result?.isError ?? false;
  } catch (error) {
    told.problem = `${error.name}: ${error.message}`;
  }
  console.log(JSON.stringify(told));
}
for (const problem of problems) console.log(JSON.stringify({ problem }));
await session.close();
