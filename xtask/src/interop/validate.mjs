// Validates glTF files with the Khronos validator, one report per line: {file, errors: [{code, pointer}]}.
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import validator from "gltf-validator";

for (const file of process.argv.slice(2)) {
  const folder = dirname(file);
  const report = await validator.validateBytes(new Uint8Array(readFileSync(file)), {
    uri: file,
    maxIssues: 100000,
    externalResourceFunction: async (uri) => new Uint8Array(readFileSync(join(folder, normalize(decodeURIComponent(uri))))),
  });
  const errors = report.issues.messages.filter((m) => m.severity === 0);
  console.log(JSON.stringify({ file, errors: errors.map(({ code, pointer, message }) => ({ code, pointer: pointer ?? "", message })) }));
}
