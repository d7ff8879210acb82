// Reads a corpus of messages and prints, a line each, those that the official schemas judge
// otherwise than the corpus says.
import fs from "node:fs";
import path from "node:path";
import * as official from "@modelcontextprotocol/ext-tasks/core/v2";

const [folder] = process.argv.slice(2);
for (const file of fs.readdirSync(folder).sort()) {
  for (const line of fs.readFileSync(path.join(folder, file), "utf8").split("\n")) {
    if (!line) continue;
    const { message, valid, why, value } = JSON.parse(line);
    const schema = official[`${message}V2Schema`];
    if (schema === undefined) continue;
    const accepted = schema.safeParse(value).success;
    console.log(JSON.stringify({ message, why: why ?? "", valid, accepted }));
  }
}
