import { linkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { postTool, preTool } from "#plugins/agent";
import { ok, startAgent, tempDir, tool } from "./kit.ts";
import { call, calls, say } from "./model.ts";

test("an equal read of the same turn is not run again, and passes the hooks; the next turn reads anew", async () => {
  const seen: string[] = [];
  const { fs, A, model, idle, ran } = await startAgent({
    hooks(api) {
      api.on(preTool, (draft) => void seen.push(`pre ${draft.id}`));
      api.on(postTool, (result, draft) => {
        seen.push(`post ${draft.id}`);
        return result;
      });
    },
  });
  model.replies = [calls(call("look", { a: 1 }, "c1")), calls(call("look", { a: 1 }, "c2")), say("ok")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(ran.map(({ callId }) => callId)).toEqual(["c1"]);
  expect(seen).toEqual(["pre c1", "post c1", "pre c2", "post c2"]);
  const results = model.requests[2]?.messages.filter(({ role }) => role === "tool").map(({ content }) => content);
  expect(results).toEqual(['look did {"a":1}', 'look did {"a":1}']);
  expect((await fs.read(`${A}/chat`)).match(/look did/g)).toHaveLength(2);
  model.replies = [calls(call("look", { a: 1 })), say("ok")];
  await fs.write(`${A}/prompt`, "again");
  await idle();
  expect(ran).toHaveLength(2);
});

test("a write or a global call between them, or beside them, makes a read run again", async () => {
  let version = 1;
  const { fs, A, model, idle, ran } = await startAgent({
    run: async ({ tool, args }) => {
      const before = version;
      if (tool !== "look") version++;
      if (args.slow) await new Promise((resolve) => setTimeout(resolve, 30));
      return ok(`${tool} ${before}`);
    },
  });
  model.replies = [
    calls(call("look")),
    calls(call("touch", { path: "f" })),
    calls(call("look")),
    calls(call("shell")),
    calls(call("look")),
    // The read runs while the write does.
    calls(call("touch", { path: "f", slow: true }), call("look", { n: 1 })),
    calls(call("look", { n: 1 })),
    say("ok"),
  ];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  const looked = (model.requests.at(-1)?.messages ?? []).filter(({ content }) => content.startsWith("look "));
  expect(looked.map(({ content }) => content)).toEqual(["look 1", "look 2", "look 3", "look 4", "look 4"]);
  expect(ran).toHaveLength(8);
});

test("a failed read is tried again, and other arguments or another directory are other reads", async () => {
  let n = 0;
  const rig = await startAgent({ run: () => (n++ === 0 ? { status: "failed", content: "busy" } : ok("fine")) });
  const { fs, A, model, idle, ran } = rig;
  const elsewhere = tempDir();
  model.replies = [
    calls(call("look", { a: 1 })),
    calls(call("look", { a: 1 })),
    calls(call("look", { a: 2 })),
    () => {
      void fs.rdwr(`${A}/ctl`, `cwd ${elsewhere}`);
      return calls(call("look", { a: 2 }));
    },
    say("ok"),
  ];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(ran.map(({ args, cwd }) => [args.a, cwd === elsewhere])).toEqual([
    [1, false],
    [1, false],
    [2, false],
    [2, true],
  ]);
});

/** A runner whose calls end when `n` of them run at the same time; `most` is the highest number that did. */
function gathering(n: number) {
  const state = { most: 0, now: 0 };
  const waiting: (() => void)[] = [];
  const run = async () => {
    state.most = Math.max(state.most, ++state.now);
    if (state.now === n) for (const go of waiting.splice(0)) go();
    else await new Promise<void>((go) => waiting.push(go));
    state.now--;
    return ok("done");
  };
  return { state, run };
}

test("edits of different files and reads run side by side", async () => {
  const { state, run } = gathering(8);
  const { fs, A, model, idle } = await startAgent({ run });
  const edits = Array.from({ length: 4 }, (_, i) => call("touch", { path: `f${i}` }));
  model.replies = [calls(...edits, ...Array.from({ length: 4 }, (_, i) => call("look", { i }))), say("ok")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(state.most).toBe(8);
});

test("many calls side by side are no leak that Node would warn of", async () => {
  const warnings: Error[] = [];
  const warn = (warning: Error) => void warnings.push(warning);
  process.on("warning", warn);
  onTestFinished(() => void process.off("warning", warn));
  const { fs, A, model, idle } = await startAgent({
    hooks: (api) => {
      api.on(preTool, async () => void (await sleep(20)));
      api.on(postTool, async () => void (await sleep(20)));
    },
  });
  model.replies = [calls(...Array.from({ length: 30 }, (_, n) => call("look", { n }))), say("ok")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(warnings).toEqual([]);
});

test("edits of one file under several spellings run one after the other", async () => {
  let now = 0;
  let most = 0;
  const order: unknown[] = [];
  const { fs, A, model, idle, cwd } = await startAgent({
    tools: [tool("touch", { scope: "write" })],
    run: async ({ args }) => {
      most = Math.max(most, ++now);
      order.push(args.path);
      await new Promise((resolve) => setTimeout(resolve, 5));
      now--;
      return ok("done");
    },
  });
  writeFileSync(join(cwd, "f"), "");
  symlinkSync(join(cwd, "f"), join(cwd, "link"));
  symlinkSync(cwd, join(cwd, "here"));
  linkSync(join(cwd, "f"), join(cwd, "other"));
  const spellings = ["f", "./f", "here/f", "link", "other", join(cwd, "f"), `${cwd}/x/../f`];
  model.replies = [calls(...spellings.map((path) => call("touch", { path }))), say("ok")];
  await fs.write(`${A}/prompt`, "go");
  await idle();
  expect(most).toBe(1);
  expect(order).toEqual(spellings);
});
