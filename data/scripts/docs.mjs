// npm run docs: docs/namespace.md from the tree that the package's own config gives, docs/hooks.md from the hook tokens.
// `--check` writes nothing and exits with status 1 where a page is not current.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ensureBuilt, Failure, root, run } from "./setup.mjs";

const sessionPath = "/session";
const agentPath = "/session/{name}/agent/{aname}";

const from = (path) => import(pathToFileURL(join(root, "dist", path)).href);

await run(async () => {
  ensureBuilt();
  const { files, plugins } = await started();
  const pages = {
    "docs/namespace.md": namespacePage(files),
    "docs/hooks.md": hooksPage(await hookTokens(), plugins),
  };
  for (const [page, text] of Object.entries(pages)) {
    const path = join(root, page);
    if (!process.argv.includes("--check")) writeFileSync(path, text);
    else if (readOr(path) !== text) throw new Failure(`${page} is not current: npm run docs writes it anew`);
  }
});

/** What the kernel says of itself with all stock plugins, in folders that are gone afterwards. */
async function started() {
  const { createKernel, definePlugin, KernelView } = await from("core/index.js");
  const home = mkdtempSync(join(tmpdir(), "ollie-docs-"));
  for (const name of Object.keys(process.env)) if (name.startsWith("OLLIE_")) delete process.env[name];
  Object.assign(process.env, { HOME: home, NAMESPACE: join(home, "ns"), OLLIE_LOG: "error" });
  let view;
  const looker = definePlugin({
    name: "docs",
    doc: "Looks at the kernel.",
    needs: [KernelView],
    setup: ({ use }) => {
      view = use(KernelView);
    },
  });
  const { plugins } = (await from("ollie.config.js")).default;
  const kernel = createKernel({ plugins: [...plugins, looker()], user: "user" });
  try {
    await kernel.start();
    const broken = kernel.status().filter(({ state }) => state !== "running");
    if (broken.length > 0) throw new Failure(broken.map(({ name, error }) => `${name}: ${error}`).join("\n"));
    return { files: view.files(), plugins: kernel.status() };
  } finally {
    await kernel.close();
    rmSync(home, { recursive: true, force: true });
  }
}

function note(what) {
  return `<!-- Written by \`npm run docs\` from ${what}: change those, not this page. -->\n`;
}

function namespacePage(files) {
  const group = (wanted) =>
    table(["file", "mode", "kind", "plugin", "rights of agents", "what"], files.filter(wanted).map(fileRow));
  const below = (top) => (file) => file.path === top || file.path.startsWith(`${top}/`);
  const agents = below(agentPath);
  const sessions = (file) => below(sessionPath)(file) && !agents(file);
  return `# The namespace

${note("the `doc` of every file")}
What olliesrv serves with its own config. \`cat help\` shows the same of a running server, with your config. A directory's name ends
in a slash; \`{name}\` stands for a session, \`{aname}\` for an agent.

Kinds: **read** gives one snapshot per open; **write** takes each message as it comes, **write (at close)** all of them when the
file is closed; **rdwr** takes a message and has its reply read next; **request** answers what was written when it is read;
**stream** goes on for as long as the thing lives; **blockOnce** waits for one answer, and for the next one at another read from
the start. Modes do not bind the daemon's own user; agents are bound by them and by the rights given.

## Root

${group((file) => !agents(file) && !sessions(file))}
## ${sessionPath}/

${group(sessions)}
## ${agentPath}/

${group(agents)}`;
}

function fileRow({ path, dir, mode, kinds, plugin, rights, doc }) {
  const name = `\`${path === "/" || !dir ? path : `${path}/`}\``;
  return [name, mode.toString(8).padStart(4, "0"), kinds.join(", "), plugin === "kernel" ? "" : plugin, rights, doc];
}

/** Every hook token that core and the stock plugins export, with the text of its argument list. */
async function hookTokens() {
  const sources = [
    { owner: "kernel", source: "core/kernel-hooks.ts", module: "core/index.js" },
    ...readdirSync(join(root, "plugins")).map((name) => ({
      owner: name,
      source: `plugins/${name}/types.ts`,
      module: `plugins/${name}/types.js`,
    })),
  ];
  const found = [];
  for (const { owner, source, module } of sources) {
    const text = readOr(join(root, source));
    const names = [...(text ?? "").matchAll(/= hook\.\w+<\s*\[(.*?)\]\s*(?:,[^\]>]*)?>\(\s*"(\w+)"/gs)];
    if (names.length === 0) continue;
    const tokens = Object.values(await from(module)).filter((value) => value?.limit !== undefined && value.kind);
    for (const [, args, name] of names) {
      const token = tokens.find((one) => one.name === name);
      if (!token) throw new Failure(`${source}: hook ${name} is not exported`);
      found.push({ owner, source, token, args: args.replace(/\s+/g, " ").trim() });
    }
  }
  return found;
}

function hooksPage(hooks, plugins) {
  const rows = hooks.map(({ owner, token, args }) => {
    const taps = plugins.filter((plugin) => plugin.taps.includes(token.name)).map(({ name }) => name);
    const limit = token.kind === "observe" ? "" : token.limit === 0 ? "none" : `${token.limit / 1000} s`;
    return [
      `\`${token.name}\``,
      owner,
      token.kind,
      args && `\`${args}\``,
      crash(token),
      limit,
      taps.join(", "),
      token.doc,
    ];
  });
  return `# Hooks

${note("the hook tokens in `core/kernel-hooks.ts` and `plugins/*/types.ts`")}
Anyone may listen, alter or refuse: \`on(preTool, (call) => …)\` in a plugin's \`setup\`. Import a token from \`ollie\` where the kernel
owns it, else from \`ollie/PLUGIN\`. Behind the arguments below each tap gets \`{ signal }\`, which aborts when its time is over.

| kind | taps run | a tap gives |
|---|---|---|
| observe | at once, synchronously | nothing |
| series | one after the other | nothing |
| parallel | all at the same time | nothing |
| transform | one after the other | a new first argument, or undefined to keep it |
| gate | until one answers | an answer (\`{ block: why }\`), or undefined |

Order: that of the plugins in the config, then \`stage\` (default 0, lower first), then \`before\`. A call runs the taps that were there
when it began. What a tap throws is logged and kept in \`/plugins/NAME/error\`; the column "a crash" says what it means for the call.

${table(["hook", "owner", "kind", "arguments", "a crash", "limit", "tapped by", "when"], rows)}`;
}

function crash({ kind, onThrow }) {
  if (kind === "gate") return onThrow === "block" ? "blocks" : "passes";
  return kind === "transform" ? "keeps the value" : "rest go on";
}

function table(head, rows) {
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replace(/\s+/g, " ")).join(" | ")} |\n`;
  return `${line(head)}|${"---|".repeat(head.length)}\n${rows.map(line).join("")}`;
}

function readOr(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
