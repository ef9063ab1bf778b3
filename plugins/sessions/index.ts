/** Plugin sessions: session/, and what of it is kept on disk. */
import { join } from "node:path";
import * as z from "zod/mini";
import { dataDir, definePlugin, expandHome, type Principal, Root } from "#core";
import { invalidate } from "#plugins/control";
import { Events } from "#plugins/events";
import { options } from "#plugins/options";
import { ToolRunner } from "#plugins/toolsrv";
import { privateDir } from "./disk.ts";
import { sessionDir } from "./files.ts";
import { openFolder } from "./folder.ts";
import { memoryFolder } from "./memory.ts";
import { registry } from "./sessions.ts";
import { PerSession, Sessions } from "./types.ts";

export default definePlugin({
  name: "sessions",
  doc: "Sessions: made, listed, renamed, killed, and kept over restarts.",
  provides: [Sessions, PerSession],
  wants: [Events, ToolRunner],
  // a second daemon on the same folder must not start
  required: true,
  config: options(
    z.strictObject({
      /** Folder of the saved sessions. Default: {data}/sessions. */
      dir: z.optional(z.string()),
      /** False: nothing is kept over a restart. */
      persist: z._default(z.boolean(), true),
    }),
  ),
  async setup(api) {
    const events = api.tryUse(Events);
    const report = (text: string, id = "", name = id) => {
      api.log.warn(`session ${name}: ${text}`.replace("session : ", ""), id === "" ? {} : { session: id });
      events?.publish(id === "" ? "sessions.error" : `session.${id}.error`, `E session/${name} ${text}`);
    };
    const { dir, persist } = api.config;
    const folder =
      persist && !api.dryRun ? openFolder(dir === undefined ? ownDir() : expandHome(dir), report) : memoryFolder();
    const sessions = registry({
      folder,
      publish: (topic, line) => events?.publish(topic, line),
      report: (session, text) => report(text, session.id, session.name),
      taken: (name) => api.taken(PerSession, name),
      end: (session) => api.end(PerSession, session),
    });
    api.defer(() => sessions.close());
    if (events) api.defer(events.show((agent) => kin(sessions, agent)));
    sessions.adopt(await folder.scan());
    api.on(invalidate, async (what) => {
      if (what === "models") return;
      for (const session of sessions.list()) await sessions.verb(session, "invalidate");
    });
    api.provide(Sessions, sessions);
    api.mount(
      Root,
      sessionDir(sessions, (session) => api.tryUse(ToolRunner)?.sandbox(session.id) ?? "provider=off\n"),
    );
  },
});

/** Topics of an agent's kin outside of its session: sessions that it made, and the agent that made its own. */
function kin(sessions: Sessions, { session = "", agent }: Principal): string[] {
  const made = sessions.list().filter(({ creator }) => creator?.agent === agent);
  const creator = sessions.get(session)?.creator;
  return [
    ...made.map(({ id }) => `session.${id}.*`),
    ...(creator ? [`session.${creator.session}.agent.${creator.agent}.*`] : []),
  ];
}

/** In ollie's data folder, which is closed to others as a whole. What is above a folder of the user's choice is not ollie's. */
function ownDir(): string {
  privateDir(dataDir());
  return join(dataDir(), "sessions");
}
