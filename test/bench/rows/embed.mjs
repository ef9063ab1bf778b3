// `import "ollie"` and a kernel with three plugins, as an embedder has them: time, CPU and memory.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "../../../data/scripts/setup.mjs";
import { cost, node } from "../daemon.mjs";

const quoted = (file) => JSON.stringify(pathToFileURL(join(root, file)).href);
const nothing = ["-e", "0"];
const program = `
import { createKernel, definePlugin, leaf, Root, token } from ${quoted("dist/core/index.js")};
const Clock = token("clock");
const clock = definePlugin({ name: "clock", doc: "d", provides: [Clock], setup: ({ provide }) => provide(Clock, () => 7) });
const time = definePlugin({ name: "time", doc: "d", needs: [Clock], setup({ mount, use }) {
  const now = use(Clock);
  mount(Root, leaf("time", { doc: "d", read: () => \`\${now()}\\n\` }));
} });
const note = definePlugin({ name: "note", doc: "d", setup({ mount }) {
  mount(Root, leaf("note", { doc: "d", read: () => "", write() {} }));
} });
const kernel = createKernel({ plugins: [clock(), time(), note()] });
await kernel.start();
if ((await kernel.fs.read("/time")).toString() !== "7\\n") process.exit(1);
await kernel.close();
`;
const embed = ["--input-type=module", "-e", program];
/** What Node itself takes of that. */
const empty = ["--input-type=module", "-e", `import ${quoted("test/bench/empty.mjs")}`];

const common = { against: "node -e 0", rounds: 25 };
const compared =
  (run, measured = embed) =>
  async () => ({ baseline: () => run(nothing), measured: () => run(measured) });
const cpu = async (args) => (await cost(args)).cpu;

export default [
  { ...common, name: 'import "ollie", 3 plugins', goal: 1.3, setup: compared(node) },
  { ...common, name: 'import "ollie", 3 plugins: CPU', goal: 1.3, setup: compared(cpu) },
  { ...common, name: "import of an empty module", goal: 1.3, setup: compared(node, empty) },
  { ...common, name: "import of an empty module: CPU", goal: 1.3, setup: compared(cpu, empty) },
  {
    ...common,
    name: 'import "ollie", 3 plugins: memory',
    unit: "MiB",
    // 8 MB more than the 38 of an empty Node.
    goal: 1.2,
    setup: compared(async (args) => (await cost(args)).rss),
  },
];
