/** A kernel with sessions alone, a part that keeps notes, and folders that go with the test. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createKernel, definePlugin, type Kernel, type Logger } from "#core";
import { Sessions } from "#plugins/sessions";
import events from "../../../plugins/events/index.ts";
import sessions from "../../../plugins/sessions/index.ts";
import { type Notes, notesPart } from "./part.ts";

export const must = <T>(value: T | undefined): T => {
  if (value === undefined) throw new Error("it is not there");
  return value;
};

export function tempDir(): string {
  const dir = mkdtempSync(join(tmpdir(), "ollie-test-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export interface Rig extends AsyncDisposable {
  kernel: Kernel;
  fs: Kernel["fs"];
  sessions: Sessions;
  part: Notes;
  /** What was logged from warn on. */
  log: string[];
}

/** Starts a kernel whose sessions lie in `dir`; without `dir` in memory. */
export async function start(dir?: string, options: { part?: boolean } = {}): Promise<Rig> {
  const log: string[] = [];
  const put = (text: string) => void log.push(text);
  const logger: Logger = { debug() {}, info() {}, warn: put, error: put, child: () => logger };
  let service: Sessions | undefined;
  const part = notesPart(() => service as Sessions);
  const notes = definePlugin({
    name: "notes",
    doc: "A part of sessions.",
    needs: [Sessions],
    async setup(api) {
      service = api.use(Sessions);
      if (options.part !== false) api.defer(await service.part(part));
    },
  });
  const kernel = createKernel({
    plugins: [events(), sessions(dir === undefined ? { persist: false } : { dir }), notes()],
    log: logger,
  });
  await kernel.start();
  onTestFinished(() => kernel.close());
  const rig = { kernel, fs: kernel.fs, sessions: service as unknown as Sessions, part, log };
  return { ...rig, [Symbol.asyncDispose]: () => kernel.close() };
}
