// Serves the Tasks extension over the official TypeScript server, as somebody would who has read the
// specification: the package has no tasks, so what is here is its own. Prints its URL.
import { createServer } from "node:http";
import { randomUUID } from "node:crypto";
import {
  createMcpHandler,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  Server,
} from "@modelcontextprotocol/server";
import {
  localhostHostValidation,
  localhostOriginValidation,
  toNodeHandler,
} from "@modelcontextprotocol/node";
import { z } from "zod";

const EXTENSION = "io.modelcontextprotocol/tasks";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const INVALID_PARAMS = -32602;
const TTL_MS = 60_000;

const number = { type: "number" };
const TOOLS = [
  {
    name: "add_slowly",
    description: "Adds two numbers after a while.",
    inputSchema: { type: "object", properties: { a: number, b: number }, required: ["a", "b"] },
  },
  { name: "greet", description: "Asks for a name.", inputSchema: { type: "object" } },
  { name: "fail", description: "Has a tool error.", inputSchema: { type: "object" } },
  { name: "answer", description: "Answers at once.", inputSchema: { type: "object" } },
];
const QUESTION = {
  method: "elicitation/create",
  params: {
    mode: "form",
    message: "Your name?",
    requestedSchema: {
      type: "object",
      properties: { name: { type: "string" } },
      required: ["name"],
    },
  },
};

const tasks = new Map();
const text = (words) => ({ content: [{ type: "text", text: words }] });
const hasEnded = (task) => ["completed", "failed", "cancelled"].includes(task.status);

function change(task, members) {
  if (!hasEnded(task)) Object.assign(task, members, { lastUpdatedAt: new Date().toISOString() });
}

const complete = (task, result) => change(task, { status: "completed", result });

const work = {
  add_slowly: (task, { a, b }) => setTimeout(() => complete(task, text(String(a + b))), 700),
  fail: (task) => setTimeout(() => complete(task, { ...text("It failed."), isError: true }), 50),
  greet: (task) =>
    setTimeout(() => {
      change(task, { status: "input_required", inputRequests: { name: QUESTION } });
    }, 50),
};

function begin(name, given) {
  const createdAt = new Date().toISOString();
  const task = {
    taskId: randomUUID(),
    status: "working",
    createdAt,
    lastUpdatedAt: createdAt,
    ttlMs: TTL_MS,
    pollIntervalMs: 50,
  };
  tasks.set(task.taskId, task);
  setTimeout(() => tasks.delete(task.taskId), TTL_MS).unref();
  work[name](task, given);
  return task;
}

async function withoutTask(name, { a, b }) {
  if (name === "greet") return text("Hello, whoever you are.");
  if (name === "fail") return { ...text("It failed."), isError: true };
  if (name === "answer") return text("Here it is.");
  await new Promise((resolve) => setTimeout(resolve, 700));
  return text(String(a + b));
}

const capabilitiesOf = (context) => context.mcpReq.envelope?.[CAPABILITIES] ?? {};
const declares = (context) => capabilitiesOf(context).extensions?.[EXTENSION] !== undefined;

function missing(requiredCapabilities) {
  return new MissingRequiredClientCapabilityError({ requiredCapabilities });
}

function taskOf(taskId, context) {
  if (!declares(context)) throw missing({ extensions: { [EXTENSION]: {} } });
  const task = tasks.get(taskId);
  if (task === undefined) throw new ProtocolError(INVALID_PARAMS, "Task not found");
  return task;
}

async function call(request, context) {
  const { name, arguments: given = {} } = request.params;
  const tool = TOOLS.find((each) => each.name === name);
  if (tool === undefined) throw new ProtocolError(INVALID_PARAMS, "There is no such tool.");
  const absent = (tool.inputSchema.required ?? []).filter((each) => !(each in given));
  if (absent.length) throw new ProtocolError(INVALID_PARAMS, `It needs ${absent.join(", ")}.`);
  if (name === "answer" || !declares(context)) return withoutTask(name, given);
  const { elicitation } = capabilitiesOf(context);
  const takesForms = elicitation && (elicitation.form || !Object.keys(elicitation).length);
  if (name === "greet" && !takesForms) throw missing({ elicitation: { form: {} } });
  return { resultType: "task", ...begin(name, given) };
}

function update({ taskId }, context) {
  const task = taskOf(taskId, context);
  // The package takes these out of the params of every request.
  const { inputResponses } = context.mcpReq;
  if (inputResponses === undefined) throw new ProtocolError(INVALID_PARAMS, "No inputResponses");
  const given = inputResponses.name;
  if (task.status === "input_required" && given !== undefined) {
    delete task.inputRequests;
    change(task, { status: "working" });
    const greeting = text(`Hello, ${given.content?.name ?? given.action}.`);
    setTimeout(() => complete(task, greeting), 50);
  }
  return { resultType: "complete" };
}

function cancel({ taskId }, context) {
  const task = taskOf(taskId, context);
  delete task.inputRequests;
  change(task, { status: "cancelled" });
  return { resultType: "complete" };
}

function newServer() {
  const server = new Server(
    { name: "official-server", version: "1" },
    { capabilities: { tools: {}, extensions: { [EXTENSION]: {} } } },
  );
  const params = z.looseObject({ taskId: z.string() });
  server.setRequestHandler("tools/list", () => ({ tools: TOOLS }));
  server.setRequestHandler("tools/call", call);
  server.setRequestHandler("tasks/get", { params }, ({ taskId }, context) => ({
    resultType: "complete",
    ...taskOf(taskId, context),
  }));
  server.setRequestHandler("tasks/update", { params }, update);
  server.setRequestHandler("tasks/cancel", { params }, cancel);
  return server;
}

const handle = toNodeHandler(createMcpHandler(newServer, { legacy: "reject" }));
const guards = [localhostHostValidation(), localhostOriginValidation()];
const http = createServer((request, response) => {
  if (guards.every((allows) => allows(request, response))) handle(request, response);
});
http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
