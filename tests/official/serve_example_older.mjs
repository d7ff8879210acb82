// Serves the official TypeScript SDK's own example of tasks under 2025-11-25, on a free port, and
// prints its URL. The example takes a port and no address, and says much.
import { createServer } from "node:http";

const say = console.log;
console.log = () => {};
const probe = createServer();
await new Promise((resolve) => probe.listen(0, "127.0.0.1", resolve));
const { port } = probe.address();
await new Promise((resolve) => probe.close(resolve));
process.env.PORT = String(port);
await import("@modelcontextprotocol/sdk/examples/server/simpleTaskInteractive.js");
const url = `http://127.0.0.1:${port}/mcp`;
for (;;) {
  try {
    await fetch(url, { method: "OPTIONS" });
    break;
  } catch {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
say(url);
